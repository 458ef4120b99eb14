//! Figures in sentences of the verdict.

use crate::report::figures;

/// A share as whole percent; never rounded to nothing or all.
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p <= 0.0 => "0 %".to_owned(),
        p if p < 1.0 => "< 1 %".to_owned(),
        p if p >= 100.0 => "100 %".to_owned(),
        p if p > 99.0 => "> 99 %".to_owned(),
        p => format!("{p:.0} %"),
    }
}

/// A time with three digits and its unit.
pub fn time(us: f64) -> String {
    match us {
        us if us < 0.9995 => format!("{us:.2} µs"),
        us if us < 999.5 => format!("{} µs", three(us)),
        us if us < 999_500.0 => format!("{} ms", three(us / 1e3)),
        us => format!("{} s", three(us / 1e6)),
    }
}

/// Something a second.
pub fn per_second(rate: f64) -> String {
    match rate {
        rate if rate < 100.0 => format!("{}/s", three(rate)),
        rate => format!("{}/s", figures::count(rate.round() as u64)),
    }
}

/// A number of sessions or cores.
pub fn some(number: f64) -> String {
    three(number)
}

fn three(number: f64) -> String {
    match number {
        n if n < 9.995 => format!("{n:.2}"),
        n if n < 99.95 => format!("{n:.1}"),
        n => figures::count(n.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_never_rounded_to_nothing_or_all() {
        let told = [0.0, 0.001, 0.012, 0.5, 0.994, 0.999, 1.0].map(share);
        assert_eq!(
            told,
            ["0 %", "< 1 %", "1 %", "50 %", "> 99 %", "> 99 %", "100 %"]
        );
    }

    #[test]
    fn times_and_rates_have_three_digits_and_a_unit() {
        let told = [0.5, 12.34, 999.6, 45_600.0, 1_234_000.0].map(time);
        assert_eq!(told, ["0.50 µs", "12.3 µs", "1.00 ms", "45.6 ms", "1.23 s"]);
        assert_eq!(per_second(12.345), "12.3/s");
        assert_eq!(per_second(12_345.6), "12,346/s");
        assert_eq!(some(1.234), "1.23");
    }
}
