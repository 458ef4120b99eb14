//! Several comparisons at once: the more figures are tested, the more differ by chance.
//!
//! The primary family is what was to be decided: Holm's procedure keeps the chance of one false alarm
//! among all of it at 5 %. All else is exploratory: of what Benjamini and Hochberg's procedure calls
//! different, 5 % are expected to be false.

/// Which figures are judged together, and how strictly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// What was to be decided: no false alarm among all of it, in 95 of 100 comparisons.
    Primary,
    /// What else was seen: at most 5 % of what is called different is expected not to be.
    Exploratory,
}

/// Adjusted p-values (Holm 1979): a figure differs when its own is at most the level's rest.
pub(crate) fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut greatest = 0.0_f64;
    for (place, index) in ascending(p).into_iter().enumerate() {
        greatest = greatest.max((p.len() - place) as f64 * p[index]).min(1.0);
        adjusted[index] = greatest;
    }
    adjusted
}

/// Adjusted p-values (Benjamini & Hochberg 1995), which holds for figures that rise and fall together
/// as well (Benjamini & Yekutieli 2001).
pub(crate) fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 1.0_f64;
    for (place, index) in ascending(p).into_iter().enumerate().rev() {
        least = least.min(p.len() as f64 / (place + 1) as f64 * p[index]);
        adjusted[index] = least;
    }
    adjusted
}

/// Places of the values from the least to the greatest.
fn ascending(p: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..p.len()).collect();
    places.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(actual: &[f64], expected: &[f64]) {
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        assert!(actual.iter().zip(expected).all(close), "{actual:?}");
    }

    #[test]
    fn p_values_are_adjusted_as_r_does() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm"), and "BH".
        let p = [0.01, 0.04, 0.03, 0.005];
        near(&holm(&p), &[0.03, 0.06, 0.06, 0.02]);
        near(&benjamini_hochberg(&p), &[0.02, 0.04, 0.04, 0.02]);
        near(&holm(&[0.4]), &[0.4]);
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
    }
}
