//! The normal distribution, as far as tests at large sample sizes need it.

/// P(Z > z). Abramowitz & Stegun 1964, 7.1.26: the absolute error is below 1e-7.
pub(crate) fn upper_tail(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial = t
        * (0.254_829_592
            + t * (-0.284_496_736
                + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let tail = 0.5 * polynomial * (-x * x).exp();
    if z < 0.0 { 1.0 - tail } else { tail }
}

pub(crate) fn two_sided(z: f64) -> f64 {
    (2.0 * upper_tail(z.abs())).min(1.0)
}

/// The z with P(Z > z) = `tail`, for a tail below a half; by bisection of [`upper_tail`].
pub(crate) fn z_of_upper_tail(tail: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if upper_tail(middle) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_tables() {
        assert!((upper_tail(1.959_964) - 0.025).abs() < 1e-6);
        assert!((upper_tail(-1.0) - 0.841_345).abs() < 1e-6);
        assert!((two_sided(-2.575_829) - 0.01).abs() < 1e-6);
        assert!((z_of_upper_tail(0.025) - 1.959_964).abs() < 1e-4);
    }
}
