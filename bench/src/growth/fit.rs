//! How a cost grows: the exponent k of cost ∝ stepᵏ.

/// Least squares of the logarithms over the upper half of the points, of which at least two count: at the
/// small steps what a process costs of itself hides what grows. `None` where there are fewer, or where a cost
/// is not above zero.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let upper = &points[points.len() / 2..];
    let used = match upper.len() {
        0 | 1 => points.get(points.len().checked_sub(2)?..)?,
        _ => upper,
    };
    if used.iter().any(|(x, y)| *x <= 0.0 || *y <= 0.0) {
        return None;
    }
    let count = used.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| used.iter().map(of).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(&|(x, _)| x.ln()), mean(&|(_, y)| y.ln()));
    let (mut covariance, mut variance) = (0.0, 0.0);
    for (x, y) in used {
        covariance += (x.ln() - x_mean) * (y.ln() - y_mean);
        variance += (x.ln() - x_mean).powi(2);
    }
    (variance > 0.0).then(|| covariance / variance)
}

/// The exponent between the last two points alone.
pub fn last_exponent(points: &[(f64, f64)]) -> Option<f64> {
    exponent(points.get(points.len().checked_sub(2)?..)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cost: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let steps = [1.0, 10.0, 100.0, 1000.0, 10_000.0];
        steps.map(|step| (step, cost(step))).to_vec()
    }

    fn close(found: Option<f64>, wanted: f64) -> bool {
        found.is_some_and(|found| (found - wanted).abs() < 0.01)
    }

    #[test]
    fn a_power_is_found() {
        for wanted in [0.0, 0.5, 1.0, 2.0] {
            assert!(close(exponent(&of(|n| 3.0 * n.powf(wanted))), wanted));
        }
    }

    #[test]
    fn what_a_process_costs_of_itself_does_not_hide_what_grows() {
        let points = of(|n| 20.0 + n.powi(2) / 100.0);
        assert!(exponent(&points).unwrap() > 1.8);
        assert!(last_exponent(&points).unwrap() > 1.98);
    }

    #[test]
    fn two_points_are_enough_and_one_is_not() {
        assert!(close(exponent(&[(1.0, 1.0), (2.0, 4.0)]), 2.0));
        assert!(close(exponent(&[(1.0, 9.0), (2.0, 1.0), (4.0, 4.0)]), 2.0));
        assert_eq!(exponent(&[(1.0, 1.0)]), None);
        assert_eq!(last_exponent(&[]), None);
        assert_eq!(exponent(&[(1.0, 0.0), (2.0, 1.0)]), None);
    }
}
