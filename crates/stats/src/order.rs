//! Medians and quantiles of figures that are already in order.

/// In ascending order. All figures are finite ([`crate::Sample`] sees to that) or infinite, never
/// NaN.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The middle one, or the mean of the two in the middle; of at least one figure.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let (below, above) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    if below == above {
        below
    } else {
        0.5 * (below + above)
    }
}

/// Interpolated between neighbours: definition 7 of Hyndman & Fan 1996, "Sample quantiles in
/// statistical packages". `p` is 0 to 1.
pub(crate) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let position = p.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, above) = (
        sorted[position.floor() as usize],
        sorted[position.ceil() as usize],
    );
    if below == above {
        below
    } else {
        below + (above - below) * position.fract()
    }
}

/// The arithmetic mean of at least one figure.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_quantiles_lie_where_they_should() {
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.0), 1.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 1.0), 4.0);
        assert_eq!(median(&[f64::INFINITY, f64::INFINITY]), f64::INFINITY);
    }
}
