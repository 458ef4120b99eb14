//! Rank tests of two samples, exact at the sizes that repeats have, with the shift between the
//! samples and its interval. What is compared (figures or their logarithms) is the caller's choice.

use crate::{normal, order, select};

/// Up to so many figures together the null distribution is counted out; beyond it the normal
/// approximation is right to the third digit (Hollander, Wolfe & Chicken 2014, 4.1).
const EXACT_MAX: usize = 80;

/// A shift from A to B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shift {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

/// Both sides of a block within which their order was drawn.
#[derive(Debug, Clone)]
pub(crate) struct Stratum {
    pub a: Vec<f64>,
    pub b: Vec<f64>,
}

/// [`stratified_p`] of one stratum.
pub(crate) fn rank_sum_p(a: &[f64], b: &[f64]) -> f64 {
    stratified_p(&whole(a, b))
}

/// [`stratified_shift`] of one stratum.
pub(crate) fn rank_sum_shift(a: &[f64], b: &[f64], level: f64) -> Shift {
    stratified_shift(&whole(a, b), level)
}

fn whole(a: &[f64], b: &[f64]) -> [Stratum; 1] {
    let [a, b] = [a, b].map(<[f64]>::to_vec);
    [Stratum { a, b }]
}

/// Two-sided p-value of the Wilcoxon-Mann-Whitney test (Mann & Whitney 1947): whether A and B come
/// from one distribution, which may be another one in each stratum (van Elteren 1960). Exact, given the ties: the
/// distribution of B's rank sum over all ways to divide the ranks of each, counted by Streitberg & Röhmel's shift
/// algorithm (1986).
pub(crate) fn stratified_p(strata: &[Stratum]) -> f64 {
    let mut ways = vec![1.0];
    let (mut count, mut observed, mut mean, mut variance) = (0, 0, 0.0, 0.0);
    for Stratum { a, b } in strata {
        let ranks = doubled_ranks(&[a.as_slice(), b].concat());
        observed += ranks[a.len()..].iter().sum::<usize>();
        count += ranks.len();
        let (m, n) = (b.len() as f64, ranks.len() as f64);
        mean += m * (n + 1.0) / 2.0;
        if n > 1.0 {
            variance += m * (n - m) / 12.0 * (n + 1.0 - tie_sum(&ranks) / (n * (n - 1.0)));
        }
        if count <= EXACT_MAX {
            ways = added(&ways, &subset_sums(&ranks, b.len()));
        }
    }
    if count <= EXACT_MAX {
        return two_sided(&ways, observed, 2.0 * mean);
    }
    approximate_p(observed as f64 / 2.0 - mean, variance)
}

/// In how many ways two sums add up to each sum.
fn added(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut ways = vec![0.0; one.len() + other.len() - 1];
    let possible = |ways: &[f64]| -> Vec<(usize, f64)> {
        let sums = ways.iter().copied().enumerate();
        sums.filter(|(_, ways)| *ways > 0.0).collect()
    };
    let other = possible(other);
    for (first, ways_of_first) in possible(one) {
        for (second, ways_of_second) in &other {
            ways[first + second] += ways_of_first * ways_of_second;
        }
    }
    ways
}

/// Two-sided p-value of Wilcoxon's signed-rank test (1945): whether differences are symmetric about
/// 0. Zeros are left out, as he did; exact, given the ties.
pub(crate) fn signed_rank_p(differences: &[f64]) -> f64 {
    let differences: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let ranks = doubled_ranks(&sizes);
    let positive = ranks.iter().zip(&differences).filter(|(_, d)| **d > 0.0);
    let observed: usize = positive.map(|(rank, _)| rank).sum();
    let n = ranks.len() as f64;
    if ranks.is_empty() {
        return 1.0;
    }
    if ranks.len() <= EXACT_MAX {
        return two_sided(&signed_sums(&ranks), observed, n * (n + 1.0) / 2.0);
    }
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tie_sum(&ranks) / 48.0;
    approximate_p(observed as f64 / 2.0 - n * (n + 1.0) / 4.0, variance)
}

/// The Hodges-Lehmann shift from A to B: the median of all differences between one of B and one of
/// A in the same stratum, with the interval that inverts the rank sum test (Hodges & Lehmann 1963; Hollander, Wolfe &
/// Chicken 2014, 4.2 and 4.3).
pub(crate) fn stratified_shift(strata: &[Stratum], level: f64) -> Shift {
    let sizes: Vec<[usize; 2]> = strata.iter().map(|of| [of.a.len(), of.b.len()]).collect();
    let sides = strata.iter().map(|of| (of.a.as_slice(), of.b.as_slice()));
    shift(
        &select::differences(&sides.collect::<Vec<_>>()),
        rank_sum_trim(&sizes, level),
    )
}

/// How many of the differences lie outside the rank sum test's interval at each end, of strata with so many of each
/// side.
pub(crate) fn rank_sum_trim(sizes: &[[usize; 2]], level: f64) -> usize {
    if sizes.iter().flatten().sum::<usize>() <= EXACT_MAX {
        let mut ways = vec![1.0];
        for [a, b] in sizes {
            let ranks: Vec<usize> = (1..=a + b).collect();
            // Counted from the least rank sum, this is Mann and Whitney's U.
            ways = added(&ways, &subset_sums(&ranks, *b)[b * (b + 1) / 2..]);
        }
        return trim(&ways, level);
    }
    let (mut mean, mut variance) = (0.0, 0.0);
    for [a, b] in sizes.iter().map(|sizes| sizes.map(|size| size as f64)) {
        mean += a * b / 2.0;
        variance += a * b * (a + b + 1.0) / 12.0;
    }
    approximate_trim(mean, variance, level)
}

/// The same for pairs: the median of all Walsh averages, with the interval that inverts the
/// signed-rank test (Hollander, Wolfe & Chicken 2014, 3.2 and 3.3).
pub(crate) fn signed_rank_shift(differences: &[f64], level: f64) -> Shift {
    shift(
        &select::walsh_averages(differences),
        signed_rank_trim(differences.len(), level),
    )
}

/// How many of the averages lie outside the signed-rank test's interval at each end.
pub(crate) fn signed_rank_trim(pairs: usize, level: f64) -> usize {
    if pairs <= EXACT_MAX {
        return trim(&signed_sums(&(1..=pairs).collect::<Vec<_>>()), level);
    }
    let n = pairs as f64;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0;
    approximate_trim(n * (n + 1.0) / 4.0, variance, level)
}

/// The least p-value that a rank sum test of strata with so many of each side can give.
pub(crate) fn least_rank_sum_p(sizes: &[[usize; 2]]) -> f64 {
    // 2 / (a + b choose b), multiplied out so that nothing overflows.
    let of_stratum =
        |p: f64, [a, b]: &[usize; 2]| (1..=*b).fold(p, |p, k| p * k as f64 / (a + k) as f64);
    sizes.iter().fold(2.0, of_stratum).min(1.0)
}

/// The least p-value that a signed-rank test of so many pairs can give.
pub(crate) fn least_signed_rank_p(pairs: usize) -> f64 {
    (2.0 * 0.5f64.powf(pairs as f64)).min(1.0)
}

/// Twice the rank of each figure, so that the middle rank of ties is a whole number too.
fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let sorted = order::sorted(values);
    let rank = |value: &f64| {
        let below = sorted.partition_point(|v| v < value);
        let up_to = sorted.partition_point(|v| v <= value);
        below + 1 + up_to
    };
    values.iter().map(rank).collect()
}

/// In how many ways `size` of the ranks add up to each sum.
fn subset_sums(ranks: &[usize], size: usize) -> Vec<f64> {
    let total: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; total + 1]; size + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for chosen in (1..=size).rev() {
            for sum in (rank..=total).rev() {
                ways[chosen][sum] += ways[chosen - 1][sum - rank];
            }
        }
    }
    ways.pop().unwrap_or_default()
}

/// In how many ways signs make the positive ranks add up to each sum.
fn signed_sums(ranks: &[usize]) -> Vec<f64> {
    let total: usize = ranks.iter().sum();
    let mut ways = vec![0.0; total + 1];
    ways[0] = 1.0;
    for &rank in ranks {
        for sum in (rank..=total).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways
}

/// The share of ways whose sum lies at least as far from the mean as the observed one.
fn two_sided(ways: &[f64], observed: usize, mean: f64) -> f64 {
    let distance = (observed as f64 - mean).abs();
    let far = ways
        .iter()
        .enumerate()
        .filter(|(sum, _)| (*sum as f64 - mean).abs() >= distance);
    (far.map(|(_, ways)| ways).sum::<f64>() / ways.iter().sum::<f64>()).min(1.0)
}

/// With the correction for continuity.
fn approximate_p(deviation: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    normal::two_sided((deviation.abs() - 0.5).max(0.0) / variance.sqrt())
}

/// Sum of t³ - t over groups of t ties.
fn tie_sum(ranks: &[usize]) -> f64 {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    let groups = ranks
        .chunk_by(|a, b| a == b)
        .map(|group| group.len() as f64);
    groups.map(|t| t.powi(3) - t).sum()
}

/// How many of the ordered differences lie outside the interval at each end. With k of the
/// statistic's values, from the least on, within half of what the level leaves, the interval begins
/// at the k-th difference.
fn trim(ways: &[f64], level: f64) -> usize {
    let allowed = ways.iter().sum::<f64>() * (1.0 - level) / 2.0;
    let mut sum = 0.0;
    let unlikely = ways.iter().take_while(|ways| {
        sum += **ways;
        sum <= allowed
    });
    unlikely.count().saturating_sub(1)
}

fn approximate_trim(mean: f64, variance: f64, level: f64) -> usize {
    let z = normal::z_of_upper_tail((1.0 - level) / 2.0);
    (mean - z * variance.sqrt() - 1.0).max(0.0) as usize
}

/// Of at least one difference.
pub(crate) fn shift(differences: &select::Ordered, trim: usize) -> Shift {
    let count = differences.len();
    let trim = trim.min((count - 1) / 2);
    let middle = [(count - 1) / 2, count / 2].map(|rank| differences.at(rank));
    Shift {
        estimate: order::median(&middle),
        low: differences.at(trim),
        high: differences.at(count - 1 - trim),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn near(actual: f64, expected: f64) {
        assert!(
            (actual - expected).abs() < 1e-4,
            "{actual} is not {expected}"
        );
    }

    /// Hollander, Wolfe & Chicken 2014, example 4.1: permeability of the human chorioamnion.
    const TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const EARLY: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

    #[test]
    fn the_rank_sum_test_gives_the_textbooks_figures() {
        // As R's wilcox.test(x, y, conf.int = TRUE).
        near(rank_sum_p(&EARLY, &TERM), 0.2544);
        let shift = rank_sum_shift(&EARLY, &TERM, 0.95);
        near(shift.estimate, 0.305);
        near(shift.low, -0.15);
        near(shift.high, 0.76);
    }

    #[test]
    #[allow(clippy::approx_constant, reason = "3.14 was measured")]
    fn the_signed_rank_test_gives_the_textbooks_figures() {
        // Hollander, Wolfe & Chicken 2014, example 3.1: a depression scale; V = 40.
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = before.iter().zip(after).map(|(b, a)| b - a).collect();
        near(signed_rank_p(&differences), 0.0390625);
        near(signed_rank_shift(&differences, 0.95).estimate, 0.46);
    }

    #[test]
    fn the_least_p_value_is_that_of_complete_separation() {
        near(
            least_rank_sum_p(&[[5, 5]]),
            rank_sum_p(&[1., 2., 3., 4., 5.], &[6., 7., 8., 9., 10.]),
        );
        near(least_rank_sum_p(&[[4, 6]]), 2.0 / 210.0);
        near(least_rank_sum_p(&[[3, 3], [2, 2]]), 2.0 / 120.0);
        near(
            least_signed_rank_p(6),
            signed_rank_p(&[1., 2., 3., 4., 5., 6.]),
        );
    }

    #[test]
    fn ties_are_counted_and_nothing_but_ties_is_no_difference() {
        near(rank_sum_p(&[5.0; 6], &[5.0; 6]), 1.0);
        near(signed_rank_p(&[0.0; 6]), 1.0);
        // Of the 70 ways to divide 1 1 1 1 2 2 2 2, two are as extreme as all ones against all twos.
        near(rank_sum_p(&[1.0; 4], &[2.0; 4]), 2.0 / 70.0);
    }

    #[test]
    fn counting_and_approximation_agree_where_they_meet() {
        let mut rng = Rng::new(5);
        let mut draw = |n: usize, shift: f64| -> Vec<f64> {
            (0..n)
                .map(|_| ((rng.normal() + shift) * 20.0).round())
                .collect()
        };
        let (a, b) = (draw(40, 0.0), draw(40, 0.4));
        let (more_a, more_b) = (a.repeat(2), b.repeat(2));
        let exact = rank_sum_p(&a, &b);
        let m = 40.0;
        let ranks = doubled_ranks(&a.iter().chain(&b).copied().collect::<Vec<_>>());
        let sum: usize = ranks[40..].iter().sum();
        let variance = m * m / 12.0 * (81.0 - tie_sum(&ranks) / (80.0 * 79.0));
        let approximate = approximate_p(sum as f64 / 2.0 - m * 81.0 / 2.0, variance);
        assert!((exact - approximate).abs() < 0.003, "{exact} {approximate}");
        assert!(rank_sum_p(&more_a, &more_b) < exact);
        let (few, many) = (
            rank_sum_shift(&a, &b, 0.95),
            rank_sum_shift(&more_a, &more_b, 0.95),
        );
        assert!(
            many.low >= few.low && many.high <= few.high,
            "{few:?} {many:?}"
        );
    }

    #[test]
    fn strata_are_compared_within_themselves() {
        let strata = |by: f64| {
            let [mut far] = whole(&[101.0, 103.0, 105.0], &[102.0, 104.0, 106.0]);
            far.b.iter_mut().for_each(|b| *b += by);
            let [near] = whole(&[1.0, 2.0], &[3.0 + by, 4.0 + by]);
            [far, near]
        };
        // U is 6 in the first stratum and 4 in the second: so many of the 20 * 6 divisions have 10 or more.
        let of_three = [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0, 1.0];
        let of_two = [1.0, 1.0, 2.0, 1.0, 1.0];
        let mut at_least = 0.0;
        for (u, ways) in of_three.iter().enumerate() {
            for (v, others) in of_two.iter().enumerate() {
                if u + v >= 10 {
                    at_least += ways * others;
                }
            }
        }
        near(stratified_p(&strata(0.0)), 2.0 * at_least / 120.0);
        // The levels of the strata, 100 apart, do not count.
        let shift = stratified_shift(&strata(0.0), 0.95);
        assert!(shift.low > -4.0 && shift.high < 6.0, "{shift:?}");
        near(stratified_p(&strata(10.0)), 2.0 / 120.0);
        let many =
            |count: usize| -> Vec<Stratum> { (0..count).flat_map(|_| strata(0.0)).collect() };
        // Exact and approximate, on both sides of the limit.
        let (exact, approximate) = (stratified_p(&many(8)), stratified_p(&many(9)));
        assert!(
            approximate < exact && approximate > 0.1 * exact,
            "{exact} {approximate}"
        );
    }
}
