//! Student's t, as far as intervals of a few steps or blocks need it.

/// The t with P(|T| <= t) = `level` at `df` degrees of freedom, one or more; by bisection.
pub(crate) fn two_sided_t(level: f64, df: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1_000.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if within(middle, df) < level {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// P(|T| > t), either way from 0.
pub(crate) fn two_sided_p(t: f64, df: usize) -> f64 {
    1.0 - within(t.abs(), df)
}

/// P(|T| <= t): Abramowitz & Stegun 1964, 26.7.3 and 26.7.4.
fn within(t: f64, df: usize) -> f64 {
    let angle = (t / (df as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let is_odd = df % 2 == 1;
    // The terms of the series differ by a factor each.
    let (mut term, mut sum) = if is_odd { (cos, cos) } else { (1.0, 1.0) };
    let first = if is_odd { 3 } else { 2 };
    for k in (first..df.saturating_sub(1)).step_by(2) {
        term *= cos * cos * (k as f64 - 1.0) / k as f64;
        sum += term;
    }
    match (is_odd, df) {
        (true, 1) => 2.0 / std::f64::consts::PI * angle,
        (true, _) => 2.0 / std::f64::consts::PI * (angle + sin * sum),
        (false, _) => sin * sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (df, want) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (6, 2.447),
            (7, 2.365),
            (10, 2.228),
            (29, 2.045),
            (120, 1.980),
        ] {
            let t = two_sided_t(0.95, df);
            assert!((t - want).abs() < 6e-4, "{df}: {t}");
        }
    }
}
