//! Where a series changes its level: E-divisive with means (Matteson & James 2014, "A nonparametric approach for
//! multiple change point analysis of multivariate data", JASA 109), as MongoDB uses it on benchmark results (Daly et
//! al. 2020, "The use of change point detection to identify software performance regressions in a continuous
//! integration system", ICPE).
//!
//! The energy distance between what is before and after a place, with the exponent 1, is greatest where they differ
//! most; each found place divides the series, and the search goes on in the parts. A place counts when so large a
//! distance is rare in series of the same figures in random order, shuffled within the parts found before. As in
//! MongoDB's implementation a part is divided as a whole, and the distances within are those of Székely & Rizzo's
//! V-statistic (2013). What is found so must then be more than what a series makes whose figures follow each other
//! ([`super::followed`]).

use crate::followed;
use crate::order;
use crate::ranks;
use crate::rng::Rng;

/// Shorter series are not searched: the rarest order of so few is not rare.
pub const MIN_SERIES: usize = 10;

/// Beside which series a change must be rare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Null {
    /// The same figures in random order: each depends on none before.
    Shuffled,
    /// Those, and series in which each figure follows the one before as in this one.
    Followed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeOptions {
    pub null: Null,
    /// A change counts when its p-value is at most this.
    pub size: f64,
    /// Series that are drawn for each.
    pub permutations: usize,
    /// Where random numbers come from.
    pub seed: u64,
}

impl Default for ChangeOptions {
    fn default() -> Self {
        Self {
            null: Null::Followed,
            size: 0.05,
            permutations: 999,
            seed: 1,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first figure of the new level.
    pub index: usize,
    /// How rare it is where no level changes (with Phipson & Smyth's correction, 2010): the larger share of so large a
    /// distance in shuffled series and of so much that is explained in series that follow each other as this one.
    pub p: f64,
    /// The median between the change before and this one.
    pub before: f64,
    /// The median between this change and the next.
    pub after: f64,
    /// After divided by before: the Hodges-Lehmann shift of the logarithms; `None` where a figure is not positive.
    pub ratio: Option<f64>,
    /// The 95 % interval of that, with at least four figures on both sides. The place was chosen by the same
    /// figures, so that it is a little narrow.
    pub interval: Option<(f64, f64)>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// In their order.
    pub points: Vec<ChangePoint>,
    /// The correlation from one figure to the next, where changes would count if there were none, and are no more than
    /// what such a correlation makes: then there are no points.
    pub masked_by: Option<f64>,
}

/// The changes of a series. None of a series shorter than [`MIN_SERIES`], nor where a figure is not finite.
pub fn change_points(series: &[f64], options: &ChangeOptions) -> Changes {
    if series.len() < MIN_SERIES || series.iter().any(|value| !value.is_finite()) {
        return Changes::default();
    }
    let mut rng = Rng::new(options.seed);
    let mut found: Vec<(usize, f64)> = Vec::new();
    while let Some(next) = next(series, &found, options, &mut rng) {
        found.push(next);
        found.sort_by_key(|(index, _)| *index);
    }
    if options.null == Null::Followed && !found.is_empty() {
        let rareness = followed::rareness(series, &[], found.len(), options, &mut rng);
        if rareness > options.size {
            return Changes {
                points: Vec::new(),
                masked_by: Some(followed::correlation(series)),
            };
        }
        let places = found.iter().map(|(index, _)| *index).collect();
        let places = followed::pruned(series, places, options, &mut rng);
        found.retain(|(index, _)| places.contains(index));
        found.iter_mut().for_each(|(_, p)| *p = p.max(rareness));
    }
    let ends = ends(&found, series.len());
    let of_change = |(i, (index, p)): (usize, &(usize, f64))| {
        change(
            &series[ends[i]..*index],
            &series[*index..ends[i + 2]],
            *index,
            *p,
        )
    };
    Changes {
        points: found.iter().enumerate().map(of_change).collect(),
        masked_by: None,
    }
}

/// Where the parts begin and end.
fn ends(found: &[(usize, f64)], length: usize) -> Vec<usize> {
    let inner = found.iter().map(|(index, _)| *index);
    std::iter::once(0).chain(inner).chain([length]).collect()
}

/// The next change, if it counts.
fn next(
    series: &[f64],
    found: &[(usize, f64)],
    options: &ChangeOptions,
    rng: &mut Rng,
) -> Option<(usize, f64)> {
    let ends = ends(found, series.len());
    let parts: Vec<(usize, usize)> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let mut best = (0, 0.0);
    for &(from, to) in &parts {
        let (place, distance) = greatest(&Ranked::of(&series[from..to]));
        if distance > best.1 {
            best = (from + place, distance);
        }
    }
    if best.1 <= 0.0 {
        return None;
    }
    let mut shuffled: Vec<Ranked> = parts
        .iter()
        .map(|&(from, to)| Ranked::of(&series[from..to]))
        .collect();
    let mut as_large = 0;
    for _ in 0..options.permutations {
        let distances = shuffled.iter_mut().map(|part| {
            part.shuffle(rng);
            greatest(part).1
        });
        // The same figures in another order give the same sums but for the last digits.
        if distances.fold(0.0, f64::max) >= best.1 * (1.0 - 1e-12) {
            as_large += 1;
        }
    }
    let p = f64::from(as_large + 1) / (options.permutations + 1) as f64;
    (p <= options.size).then_some((best.0, p))
}

/// A series, each figure with its place in the order of all.
struct Ranked {
    figures: Vec<(f64, usize)>,
}

impl Ranked {
    fn of(series: &[f64]) -> Self {
        let sorted = order::sorted(series);
        let rank = |value: &f64| (*value, sorted.partition_point(|other| other < value));
        Self {
            figures: series.iter().map(rank).collect(),
        }
    }

    fn shuffle(&mut self, rng: &mut Rng) {
        for last in (1..self.figures.len()).rev() {
            self.figures.swap(last, rng.below(last + 1));
        }
    }
}

/// Where the distance between what is before a place and what follows is greatest, and how large it is:
/// n m / (n + m) (2 E|X - Y| - E|X - X'| - E|Y - Y'|).
fn greatest(series: &Ranked) -> (usize, f64) {
    let count = series.figures.len();
    let mut after = Sums::new(count);
    let mut within_after = 0.0;
    for &(value, rank) in &series.figures {
        within_after += after.distances(value, rank);
        after.add(value, rank, 1.0);
    }
    let mut before = Sums::new(count);
    let (mut within_before, mut across) = (0.0, 0.0);
    let mut best = (0, 0.0);
    for (n, &(value, rank)) in series.figures.iter().enumerate() {
        if n > 0 {
            let (n, m) = (n as f64, (count - n) as f64);
            let energy = 2.0 * across / (n * m)
                - 2.0 * within_before / (n * n)
                - 2.0 * within_after / (m * m);
            let distance = n * m / (n + m) * energy;
            if distance > best.1 {
                best = (n as usize, distance);
            }
        }
        after.add(value, rank, -1.0);
        let (to_before, to_after) = (before.distances(value, rank), after.distances(value, rank));
        across += to_after - to_before;
        within_before += to_before;
        within_after -= to_after;
        before.add(value, rank, 1.0);
    }
    best
}

/// How many figures of a set lie below a value, and their sum: Fenwick's tree (1994), over the figures' ranks.
struct Sums {
    tree: Vec<(f64, f64)>,
    all: (f64, f64),
}

impl Sums {
    fn new(count: usize) -> Self {
        Self {
            tree: vec![(0.0, 0.0); count + 1],
            all: (0.0, 0.0),
        }
    }

    /// Adds a figure, or takes it away (`times` = -1).
    fn add(&mut self, value: f64, rank: usize, times: f64) {
        self.all = (self.all.0 + times, self.all.1 + times * value);
        let mut at = rank + 1;
        while at < self.tree.len() {
            self.tree[at].0 += times;
            self.tree[at].1 += times * value;
            at += at & at.wrapping_neg();
        }
    }

    /// The sum of the distances from a value to all figures of the set.
    fn distances(&self, value: f64, rank: usize) -> f64 {
        let (mut count, mut sum) = (0.0, 0.0);
        let mut at = rank;
        while at > 0 {
            count += self.tree[at].0;
            sum += self.tree[at].1;
            at &= at - 1;
        }
        (value * count - sum) + (self.all.1 - sum - value * (self.all.0 - count))
    }
}

fn change(before: &[f64], after: &[f64], index: usize, p: f64) -> ChangePoint {
    let is_positive = before.iter().chain(after).all(|value| *value > 0.0);
    let logarithms = |values: &[f64]| values.iter().map(|v| v.ln()).collect::<Vec<f64>>();
    let shift =
        is_positive.then(|| ranks::rank_sum_shift(&logarithms(before), &logarithms(after), 0.95));
    // With three on a side no interval of 95 % ends.
    let is_enough = before.len().min(after.len()) >= 4;
    ChangePoint {
        index,
        p,
        before: order::median(&order::sorted(before)),
        after: order::median(&order::sorted(after)),
        ratio: shift.map(|shift| shift.estimate.exp()),
        interval: shift
            .filter(|_| is_enough)
            .map(|shift| (shift.low.exp(), shift.high.exp())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(levels: &[(usize, f64)], noise: f64, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let part = |&(count, level): &(usize, f64)| vec![level; count];
        let levels = levels.iter().flat_map(part);
        levels
            .map(|level| level * (1.0 + noise * rng.normal()))
            .collect()
    }

    fn indices(series: &[f64]) -> Vec<usize> {
        let found = change_points(series, &ChangeOptions::default()).points;
        found.iter().map(|change| change.index).collect()
    }

    #[test]
    fn changes_are_found_where_they_are() {
        let series = noisy(&[(20, 1000.0), (15, 900.0), (20, 1100.0)], 0.01, 3);
        let found = change_points(&series, &ChangeOptions::default()).points;
        let places: Vec<usize> = found.iter().map(|change| change.index).collect();
        assert_eq!(places, [20, 35]);
        let first = found[0];
        assert!((first.ratio.unwrap() - 0.9).abs() < 0.01, "{first:?}");
        let (low, high) = first.interval.unwrap();
        assert!(low < 0.9 && 0.9 < high && high - low < 0.02, "{first:?}");
        assert!((first.before - 1000.0).abs() < 10.0 && (first.after - 900.0).abs() < 10.0);
        assert!(first.p <= 0.005);
    }

    #[test]
    fn what_is_level_has_none() {
        assert_eq!(indices(&[5.0; 40]), [0; 0], "no distance at all");
        assert_eq!(indices(&noisy(&[(9, 1.0)], 0.1, 1)), [0; 0], "too short");
        let mut broken = noisy(&[(20, 1.0), (20, 2.0)], 0.01, 1);
        broken[3] = f64::NAN;
        assert_eq!(indices(&broken), [0; 0]);
        // By chance in about five of 100.
        let options = |seed| ChangeOptions {
            permutations: 199,
            seed,
            ..ChangeOptions::default()
        };
        let raised = (0..200).filter(|&seed| {
            let series = noisy(&[(30, 1000.0)], 0.05, 100 + seed);
            !change_points(&series, &options(seed)).points.is_empty()
        });
        let raised = raised.count();
        assert!((2..=20).contains(&raised), "{raised} of 200");
    }

    #[test]
    fn the_distance_is_that_of_its_definition() {
        let series = noisy(&[(7, 10.0), (6, 14.0)], 0.2, 9);
        let mean = |a: &[f64], b: &[f64]| {
            let sum: f64 = a
                .iter()
                .flat_map(|x| b.iter().map(move |y| (x - y).abs()))
                .sum();
            sum / (a.len() * b.len()) as f64
        };
        let by_definition = (1..series.len()).map(|place| {
            let (x, y) = series.split_at(place);
            let (n, m) = (x.len() as f64, y.len() as f64);
            n * m / (n + m) * (2.0 * mean(x, y) - mean(x, x) - mean(y, y))
        });
        let by_definition = by_definition.fold(0.0, f64::max);
        let found = greatest(&Ranked::of(&series)).1;
        assert!(
            (found - by_definition).abs() < 1e-9,
            "{found} for {by_definition}"
        );
    }

    #[test]
    fn figures_that_are_not_positive_have_no_ratio() {
        let mut series = noisy(&[(15, 3.0), (15, 9.0)], 0.01, 2);
        series[0] = 0.0;
        let found = change_points(&series, &ChangeOptions::default()).points;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].ratio, found[0].interval), (None, None));
    }
}
