//! Shares and changes as percent.

use super::DASH;
use super::number::fixed;

/// A share of 1 as percent: `33.3 %`, `0.25 %`.
///
/// Never rounded up to 100 % or down to 0 %: `99.998 %`, `> 99.999 %`, `< 0.001 %`. What may be more
/// than all, such as CPUs of several, is shown as it is.
pub fn share(share: f64) -> String {
    if !share.is_finite() {
        return DASH.to_owned();
    }
    let percent = share * 100.0;
    let size = percent.abs();
    if percent == 0.0 || percent == 100.0 {
        return format!("{percent:.0} %");
    }
    if size < 0.001 {
        let sign = if percent < 0.0 { "> -" } else { "< " };
        return format!("{sign}0.001 %");
    }
    if (99.95..100.0).contains(&percent) {
        return if percent > 99.999 {
            "> 99.999 %".to_owned()
        } else {
            // Rounded down.
            format!("{} %", fixed((percent * 1000.0).floor() / 1000.0, 3))
        };
    }
    let decimals = match size {
        size if size >= 1.0 => 1,
        size if size >= 0.1 => 2,
        _ => 3,
    };
    format!("{} %", fixed(percent, decimals))
}

/// A part of a whole as percent, `0 %` of nothing.
pub fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => share(0.0),
        whole => share(part as f64 / whole as f64),
    }
}

/// A share in a sentence, as whole percent; never rounded to nothing or all: `< 1 %`, `50 %`,
/// `> 99 %`. More than all is shown as it is: the share must be right where it is made.
pub fn roughly(share: f64) -> String {
    match share * 100.0 {
        p if p <= 0.0 => "0 %".to_owned(),
        p if p < 1.0 => "< 1 %".to_owned(),
        p if p > 99.0 && p < 100.0 => "> 99 %".to_owned(),
        p => format!("{} %", fixed(p, 0)),
    }
}

/// A difference as a share of what it was before: `+10.6 %`, `-39.0 %`, `±0 %`.
pub fn change(share: f64) -> String {
    if !share.is_finite() {
        return DASH.to_owned();
    }
    let percent = share * 100.0;
    let decimals = if percent.abs() >= 1000.0 { 0 } else { 1 };
    let size = fixed(percent.abs(), decimals);
    match size.as_str() {
        "0.0" => "±0 %".to_owned(),
        size if percent < 0.0 => format!("-{size} %"),
        size => format!("+{size} %"),
    }
}

/// Of a percentile in percent: `p50`, `p99.9`.
pub fn percentile_name(percent: f64) -> String {
    if percent < 100.0 {
        format!("p{percent}")
    } else {
        "max".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hundredth_percentile_is_the_maximum() {
        assert_eq!(percentile_name(99.9), "p99.9");
        assert_eq!(percentile_name(100.0), "max");
    }

    #[test]
    fn parts_of_nothing_are_nothing() {
        assert_eq!(percent(0, 0), "0 %");
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(1, 1_000_000), "< 0.001 %");
    }

    #[test]
    fn shares_in_sentences_are_never_rounded_to_nothing_or_all() {
        let reported = [0.0, 0.001, 0.012, 0.5, 0.994, 0.999, 1.0].map(roughly);
        assert_eq!(
            reported,
            ["0 %", "< 1 %", "1 %", "50 %", "> 99 %", "> 99 %", "100 %"]
        );
    }
}
