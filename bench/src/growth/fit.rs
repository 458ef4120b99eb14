//! How a cost grows: the exponent k of cost = a + b·stepᵏ.

/// The last step must cost so many times the cheapest small one, else what grows cannot be distinguished from what the machine does.
const GROWN_MIN: f64 = 1.5;
/// Exponents that are tried.
const TRIED: std::ops::RangeInclusive<u32> = 1..=400;
const TRIED_PER_ONE: f64 = 100.0;

/// Least squares of the logarithms over the upper half of the points, of which at least two count. What a process
/// costs of itself is taken off: of cost = a + b·stepᵏ, a is such that the cheapest point of the lower half lies on the
/// curve. Points of less than [`GROWN_MIN`] times that one then do not count, as far as two are left; where that is true
/// of the last, or the one before is below it, nothing is taken off. `None` where there are fewer points, or where a cost is not above zero.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let upper = &points[points.len() / 2..];
    let used = match upper.len() {
        0 | 1 => points.get(points.len().checked_sub(2)?..)?,
        _ => upper,
    };
    of(cheapest(points)?, used)
}

/// The exponent between the last two points alone.
pub fn last_exponent(points: &[(f64, f64)]) -> Option<f64> {
    let last = points.get(points.len().checked_sub(2)?..)?;
    of(cheapest(points)?, last)
}

/// Of the lower half.
fn cheapest(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let lower = points.iter().take((points.len() / 2).max(1));
    lower.copied().min_by(|(_, a), (_, b)| a.total_cmp(b))
}

fn of(base: (f64, f64), used: &[(f64, f64)]) -> Option<f64> {
    if used.iter().any(|(x, y)| *x <= 0.0 || *y <= 0.0) {
        return None;
    }
    let has_grown = |(x, y): &&(f64, f64)| *x > base.0 && *y >= GROWN_MIN * base.1;
    if base.0 <= 0.0 || !used.last().as_ref().is_some_and(has_grown) {
        return slope(used);
    }
    let mut above: Vec<_> = used.iter().filter(has_grown).copied().collect();
    if above.len() < 2 {
        let last = &used[used.len().saturating_sub(2)..];
        above = last.iter().filter(|(_, y)| *y > base.1).copied().collect();
    }
    if above.len() < 2 {
        return slope(used);
    }
    // How much ln b differs from point to point.
    let spread = |exponent: f64| {
        let factors = above.iter().map(|(x, y)| {
            let steps = x.powf(exponent) - base.0.powf(exponent);
            ((y - base.1) / steps).ln()
        });
        let factors: Vec<f64> = factors.collect();
        let mean = factors.iter().sum::<f64>() / factors.len() as f64;
        factors.iter().map(|f| (f - mean).powi(2)).sum::<f64>()
    };
    TRIED
        .map(|tried| f64::from(tried) / TRIED_PER_ONE)
        .min_by(|a, b| spread(*a).total_cmp(&spread(*b)))
}

fn slope(used: &[(f64, f64)]) -> Option<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn growing(cost: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let steps = [1.0, 10.0, 100.0, 1000.0, 10_000.0];
        steps.map(|step| (step, cost(step))).to_vec()
    }

    fn close(found: Option<f64>, wanted: f64) -> bool {
        found.is_some_and(|found| (found - wanted).abs() < 0.01)
    }

    #[test]
    fn a_power_is_found() {
        for wanted in [0.0, 0.5, 1.0, 2.0] {
            assert!(close(exponent(&growing(|n| 3.0 * n.powf(wanted))), wanted));
        }
    }

    #[test]
    fn what_a_process_costs_of_itself_does_not_hide_what_grows() {
        for wanted in [0.5, 1.0, 2.0] {
            let points = growing(|n| 2e3 + 3.0 * (n * 100.0).powf(wanted));
            assert!(close(exponent(&points), wanted), "{wanted}");
            assert!(close(last_exponent(&points), wanted), "{wanted}");
        }
        // A small step may cost more than the next: what is done for few and not for many.
        let mut points = growing(|n| 100.0 + n);
        points[0].1 = 500.0;
        assert!(close(exponent(&points), 1.0));
        // The first step may be a large one.
        let points = [1e5, 2e5, 5e5, 1e6].map(|n| (n, 30.0 + n / 6000.0));
        assert!(close(exponent(&points), 1.0));
    }

    #[test]
    fn what_grows_by_less_than_half_is_not_magnified() {
        let points = [(1.0, 20.0), (10.0, 20.0), (100.0, 21.0), (1000.0, 25.0)];
        assert!(exponent(&points).unwrap() < 0.1);
        // Nor the noise of steps that are hardly above start-up.
        let points = [
            (1.0, 50.0),
            (10.0, 51.0),
            (30.0, 51.0),
            (100.0, 53.0),
            (300.0, 90.0),
        ];
        let points = [&points[..], &[(1000.0, 180.0), (3000.0, 440.0)]].concat();
        assert!((exponent(&points).unwrap() - 1.0).abs() < 0.1);
        // Nor where one of the upper half was cheaper than all small ones.
        let points = [(1.0, 20.0), (10.0, 25.0), (100.0, 19.0), (1000.0, 40.0)];
        assert!(close(exponent(&points), (40.0_f64 / 19.0).log10()));
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
