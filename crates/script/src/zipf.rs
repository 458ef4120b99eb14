//! Zipf's law: the k-th most frequent of n things is drawn with a probability proportional to
//! 1 / k^theta.
//!
//! Two ways to draw from it. [`Zipf`] follows the law exactly, for any theta above 0, and needs
//! neither tables nor sums: rejection-inversion (W. Hörmann, G. Derflinger, "Rejection-inversion to
//! generate variates from monotone discrete distributions", ACM TOMACS 6 (1996), p. 169-184).
//! [`Gray`] is the approximation that YCSB uses, for theta below 1 (J. Gray et al., "Quickly
//! Generating Billion-Record Synthetic Databases", SIGMOD 1994, p. 243-252).

use crate::Prng;

/// The first terms of [`zeta`] are added one by one, the rest by a formula.
const TERMS: u64 = 64;

/// The sum of 1 / k^theta for k from 1 to `count`, in constant time: beyond 64 terms by the
/// Euler-Maclaurin formula, whose error here is below 1e-12. `theta` above 0.
pub fn zeta(count: u64, theta: f64) -> f64 {
    let term = |k: f64| k.powf(-theta);
    let first: f64 = (1..=count.min(TERMS)).map(|k| term(k as f64)).sum();
    if count <= TERMS {
        return first;
    }
    let (from, to) = (TERMS as f64, count as f64);
    // The integral, written so that theta = 1 (a logarithm) is no exception.
    let integral = integral_of_power(to, theta) - integral_of_power(from, theta);
    // Half the ends, then the odd derivatives times B2/2!, B4/4!, B6/6!.
    let mut derivative = theta;
    let mut power = -theta - 1.0;
    let mut corrections = (term(to) - term(from)) / 2.0;
    for factor in [1.0 / 12.0, -1.0 / 720.0, 1.0 / 30240.0] {
        corrections += factor * derivative * (from.powf(power) - to.powf(power));
        derivative *= (1.0 - power) * (-power);
        power -= 2.0;
    }
    first + integral + corrections
}

/// The integral of t^-theta from 1 to `x`.
fn integral_of_power(x: f64, theta: f64) -> f64 {
    let log = x.ln();
    let exponent = (1.0 - theta) * log;
    if exponent.abs() > 1e-8 {
        exponent.exp_m1() / (1.0 - theta)
    } else {
        log * (1.0 + exponent / 2.0)
    }
}

/// What `x` has that integral.
fn integral_inverse(integral: f64, theta: f64) -> f64 {
    // Rounding may lead out of the domain of the logarithm.
    let product = (integral * (1.0 - theta)).max(-1.0);
    if product.abs() > 1e-8 {
        (product.ln_1p() / (1.0 - theta)).exp()
    } else {
        (integral * (1.0 - product / 2.0)).exp()
    }
}

/// Draws by Zipf's law, exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct Zipf {
    theta: f64,
    /// The integral's value where the first rank's share begins.
    from: f64,
    /// So close to a rank from above everything is accepted at once.
    squeeze: f64,
    count: u64,
    /// The integral's value behind the last rank.
    to: f64,
}

impl Zipf {
    /// What is the same for all counts. `theta` above 0.
    pub fn new(theta: f64) -> Self {
        let second = integral_of_power(2.5, theta) - 2_f64.powf(-theta);
        Self {
            theta,
            from: integral_of_power(1.5, theta) - 1.0,
            squeeze: 2.0 - integral_inverse(second, theta),
            count: 1,
            to: integral_of_power(1.5, theta),
        }
    }

    pub(crate) fn theta(&self) -> f64 {
        self.theta
    }

    /// Draws a rank from 1 to `count`, which is at least 1. Another count than the last time costs
    /// a logarithm and an exponential.
    pub fn draw(&mut self, count: u64, prng: &mut Prng) -> u64 {
        if count != self.count {
            self.count = count;
            self.to = integral_of_power(count as f64 + 0.5, self.theta);
        }
        loop {
            let area = self.to + prng.double() * (self.from - self.to);
            let x = integral_inverse(area, self.theta);
            let rank = (x + 0.5).floor().clamp(1.0, count as f64);
            let is_accepted = rank - x <= self.squeeze
                || area >= integral_of_power(rank + 0.5, self.theta) - rank.powf(-self.theta);
            if is_accepted {
                return (rank as u64).min(count);
            }
        }
    }
}

/// Draws as YCSB's zipfian generator does.
#[derive(Debug, Clone, PartialEq)]
pub struct Gray {
    begin: u64,
    count: u64,
    items: f64,
    theta: f64,
    zeta: f64,
    eta: f64,
    alpha: f64,
    zeta_of_two: f64,
    /// Where the share of the second rank ends, in the scale of `zeta`.
    second: f64,
    /// What YCSB takes from the count at the beginning, and leaves so when the count grows.
    power_of_begin: f64,
}

impl Gray {
    /// For `count` things; `theta` above 0 and below 1; `zeta` of both.
    pub fn new(count: u64, theta: f64, zeta_of_count: f64) -> Self {
        let mut gray = Self {
            begin: count,
            count,
            items: count as f64,
            theta,
            zeta: zeta_of_count,
            eta: 0.0,
            alpha: 1.0 / (1.0 - theta),
            zeta_of_two: zeta(2, theta),
            second: 1.0 + 0.5_f64.powf(theta),
            power_of_begin: (2.0 / count as f64).powf(1.0 - theta),
        };
        gray.set_eta();
        gray
    }

    fn set_eta(&mut self) {
        self.eta = (1.0 - self.power_of_begin) / (1.0 - self.zeta_of_two / self.zeta);
    }

    /// There are `count` things now, at least 1. A few more than the last time cost a power each,
    /// any other change as many as [`zeta`] needs.
    pub fn grow(&mut self, count: u64) {
        if count == self.count {
            return;
        }
        if count > self.count && count - self.count <= TERMS {
            let more = self.count + 1..=count;
            self.zeta += more.map(|k| (k as f64).powf(-self.theta)).sum::<f64>();
        } else {
            self.zeta = zeta(count, self.theta);
        }
        (self.count, self.items) = (count, count as f64);
        self.set_eta();
    }

    pub(crate) fn begin(&self) -> u64 {
        self.begin
    }

    pub(crate) fn theta(&self) -> f64 {
        self.theta
    }

    /// Draws a rank, from 0 (the most frequent).
    #[inline]
    pub fn draw(&self, prng: &mut Prng) -> u64 {
        self.rank(prng.double())
    }

    /// The rank that a uniform number in `[0, 1)` represents; it grows with the number.
    #[inline]
    pub fn rank(&self, uniform: f64) -> u64 {
        let scaled = uniform * self.zeta;
        if scaled < 1.0 {
            0
        } else if scaled < self.second {
            1
        } else {
            let rank = self.items * (self.eta * uniform - self.eta + 1.0).powf(self.alpha);
            // It is not below 0, and converting to a signed integer takes half the instructions.
            rank as i64 as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_is_its_sum() {
        for theta in [0.2, 0.5, 0.99, 1.0, 1.0 + 1e-12, 1.2, 3.0] {
            for count in [1, 2, 63, 64, 65, 100, 10_000, 200_000] {
                // The smallest terms first, for the least error.
                let sum: f64 = (1..=count).rev().map(|k| (k as f64).powf(-theta)).sum();
                let error = (zeta(count, theta) / sum - 1.0).abs();
                assert!(error < 1e-12, "{count} {theta}: {error:e}");
            }
        }
    }

    #[test]
    fn zeta_is_ycsbs_constant_for_its_theta_and_ten_thousand_million_items() {
        let error = (zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02).abs();
        assert!(error < 1e-6, "{error:e}");
    }

    #[test]
    fn a_count_that_has_grown_keeps_ycsbs_constant_of_the_beginning() {
        let theta = 0.99;
        let sum = |count: u64| zeta(count, theta);
        let mut by_ones = Gray::new(1000, theta, sum(1000));
        (1001..=2000).for_each(|count| by_ones.grow(count));
        let mut at_once = Gray::new(1000, theta, sum(1000));
        at_once.grow(2000);
        let error = (by_ones.zeta / at_once.zeta - 1.0).abs();
        assert!(error < 1e-12, "{error:e}");
        // The third rank begins where the second ends; YCSB's begins at the fifth then.
        let third = sum(2) / sum(2000) + 1e-9;
        assert_eq!((by_ones.rank(third), at_once.rank(third)), (4, 4));
        assert_eq!(Gray::new(2000, theta, sum(2000)).rank(third), 2);
        at_once.grow(1000);
        assert_eq!(at_once, Gray::new(1000, theta, sum(1000)));
    }

    #[test]
    fn the_inverse_undoes_the_integral() {
        for theta in [0.1, 0.99, 1.0, 1.000_000_000_1, 2.5] {
            for x in [1.0, 1.5, 7.0, 1e6, 1e9] {
                let back = integral_inverse(integral_of_power(x, theta), theta);
                // Where theta is large the integral hardly grows any more.
                let tolerance = 1e-9 * x.powf((theta - 1.0).max(0.0)).max(1.0);
                assert!((back / x - 1.0).abs() < tolerance, "{theta} {x}: {back}");
            }
        }
    }

    #[test]
    fn a_single_thing_is_always_drawn() {
        let mut prng = Prng::seed(1);
        for theta in [0.001, 0.99, 1.0, 50.0] {
            let mut zipf = Zipf::new(theta);
            assert!((0..1000).all(|_| zipf.draw(1, &mut prng) == 1));
            assert!((0..1000).all(|_| (1..=2).contains(&zipf.draw(2, &mut prng))));
        }
    }

    #[test]
    fn the_largest_counts_stay_in_range() {
        let mut prng = Prng::seed(2);
        for theta in [0.01, 0.99, 1.0, 1.5] {
            let mut zipf = Zipf::new(theta);
            for _ in 0..1000 {
                assert!((1..=1 << 63).contains(&zipf.draw(1 << 63, &mut prng)));
            }
        }
    }
}
