//! Histograms as the page has them: buckets by their highest equivalent value.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use pgdyno_measurement::Latencies;
use pgdyno_model::document;

/// More pairs than this make a page that is slow to open.
const PAIRS_MAX: usize = 600_000;
/// Buckets of the notebook: three significant digits.
const FINE: f64 = 0.001;
/// Buckets when there are too many of those.
const COARSE: f64 = 0.01;
const COARSE_DIGITS: u8 = 2;
const LATENCY_US_MAX: u64 = 3_600_000_000;

/// One histogram with buckets of its own.
pub fn whole(latencies: &Latencies) -> document::Histogram {
    let (value_us, count) = buckets(latencies).into_iter().unzip();
    document::Histogram {
        value_us,
        count,
        max_us: (latencies.count() > 0).then(|| latencies.max_us()),
    }
}

/// Histograms that share their buckets, a list each: those of all seconds.
pub struct Shared {
    /// The ends of the buckets, ascending.
    pub buckets_us: Vec<u64>,
    /// The largest relative error of a bucket.
    pub resolution: f64,
    /// By list and second: pairs of the distance to the bucket before and its count.
    pub lists: Vec<Vec<Vec<u64>>>,
}

impl Shared {
    pub fn of(lists: &[Vec<Latencies>]) -> Self {
        let is_fine = fits(lists);
        let resolution = if is_fine { FINE } else { COARSE };
        let counted = if is_fine { buckets } else { coarser };
        // A day has tens of millions of pairs: each is kept once, and becomes in place what the page has.
        let of = |latencies: &Latencies| pairs(&counted(latencies));
        let lists = lists.iter().map(|list| list.iter().map(of).collect());
        let mut lists: Vec<Vec<Vec<u64>>> = lists.collect();
        let mut buckets_us = BTreeSet::new();
        for pairs in lists.iter().flatten() {
            buckets_us.extend(pairs.iter().step_by(2).copied());
        }
        let buckets_us: Vec<u64> = buckets_us.into_iter().collect();
        for pairs in lists.iter_mut().flatten() {
            set_distances(pairs, &buckets_us);
        }
        Self {
            lists,
            buckets_us,
            resolution,
        }
    }
}

/// Whether there are few enough pairs with the notebook's buckets.
fn fits(lists: &[Vec<Latencies>]) -> bool {
    let mut left = PAIRS_MAX;
    lists.iter().flatten().all(|latencies| {
        let rest = left.checked_sub(latencies.histogram().buckets().count());
        left = rest.unwrap_or_default();
        rest.is_some()
    })
}

/// Each bucket's end and its count, one after the other.
fn pairs(counts: &BTreeMap<u64, u64>) -> Vec<u64> {
    let mut pairs = Vec::with_capacity(counts.len() * 2);
    for (value, count) in counts {
        pairs.extend([*value, *count]);
    }
    pairs
}

/// Instead of each bucket's end its distance to the bucket before.
fn set_distances(pairs: &mut [u64], buckets_us: &[u64]) {
    let mut last = 0;
    for value in pairs.iter_mut().step_by(2) {
        let at = buckets_us.partition_point(|bucket| *bucket < *value) as u64;
        *value = at - last;
        last = at;
    }
}

/// All buckets that there can be: whatever comes later fits in.
#[derive(Debug, Clone)]
pub struct Grid(Vec<u64>);

impl Grid {
    pub fn new() -> Self {
        let empty = empty_coarse();
        let mut ends_us = Vec::new();
        let mut next = 1;
        while next <= LATENCY_US_MAX {
            let end = empty.highest_equivalent(next);
            ends_us.push(end);
            next = end + 1;
        }
        Self(ends_us)
    }

    /// Lists of histograms in these buckets.
    pub fn shared(&self, lists: &[Vec<Latencies>]) -> Shared {
        let pack = |latencies: &Latencies| {
            let mut pairs = pairs(&coarser(latencies));
            set_distances(&mut pairs, &self.0);
            pairs
        };
        let lists = lists.iter().map(|list| list.iter().map(pack).collect());
        Shared {
            lists: lists.collect(),
            buckets_us: self.0.clone(),
            resolution: COARSE,
        }
    }
}

/// One histogram in the coarser buckets.
pub fn whole_coarse(latencies: &Latencies) -> document::Histogram {
    let (value_us, count) = coarser(latencies).into_iter().unzip();
    document::Histogram {
        value_us,
        count,
        max_us: (latencies.count() > 0).then(|| latencies.max_us()),
    }
}

/// Counts by the bucket's highest equivalent value.
fn buckets(latencies: &Latencies) -> BTreeMap<u64, u64> {
    let buckets = latencies.histogram().buckets();
    buckets.map(|b| (b.highest_us, b.count)).collect()
}

fn empty_coarse() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, COARSE_DIGITS)
        .expect("bounds are constants that satisfy the constructor")
}

fn coarser(latencies: &Latencies) -> BTreeMap<u64, u64> {
    let mut coarse = empty_coarse();
    for bucket in latencies.histogram().buckets() {
        coarse.saturating_record_n(bucket.highest_us, bucket.count);
    }
    let recorded = coarse.iter_recorded();
    recorded
        .map(|step| (step.value_iterated_to(), step.count_at_value()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        values.iter().for_each(|us| latencies.record(*us));
        latencies
    }

    #[test]
    fn seconds_share_their_buckets_and_lose_no_value() {
        let seconds = vec![
            latencies(&[5, 5, 9]),
            latencies(&[]),
            latencies(&[9, 70_000]),
        ];
        let shared = Shared::of(&[seconds]);
        assert_eq!(shared.buckets_us.len(), 3);
        assert_eq!(shared.buckets_us[..2], [5, 9]);
        assert!((70_000..70_070).contains(&shared.buckets_us[2]));
        assert_eq!(
            shared.lists,
            [vec![vec![0, 2, 1, 1], vec![], vec![1, 1, 1, 1]]]
        );
    }

    #[test]
    fn many_seconds_have_coarser_buckets_and_as_many_values() {
        let second = latencies(&(1..2000).map(|i| i * 7).collect::<Vec<_>>());
        let few = PAIRS_MAX / buckets(&second).len();
        let fine = Shared::of(&[vec![second.clone(); few]]);
        assert_eq!(fine.resolution, FINE);
        let seconds = [vec![second.clone()], vec![second.clone(); few]];
        let shared = Shared::of(&seconds);
        assert_eq!(shared.resolution, COARSE);
        let ends: Vec<u64> = coarser(&second).into_keys().collect();
        assert_eq!(shared.buckets_us, ends);
        for pairs in shared.lists.iter().flatten() {
            assert_eq!(pairs.iter().skip(1).step_by(2).sum::<u64>(), second.count());
            let at: u64 = pairs.iter().step_by(2).sum();
            assert_eq!(at as usize, ends.len() - 1);
        }
    }

    #[test]
    fn coarser_buckets_have_the_same_number_of_values() {
        let fine = latencies(&(1..5000).map(|i| i * 7).collect::<Vec<_>>());
        let coarse = coarser(&fine);
        assert_eq!(coarse.values().sum::<u64>(), fine.count());
        assert!(coarse.len() < buckets(&fine).len() / 4);
    }

    #[test]
    fn what_comes_later_fits_into_the_grid() {
        let grid = Grid::new();
        let (early, late) = (
            latencies(&[5, 900]),
            latencies(&[5, 7_000_000, 3_599_999_999]),
        );
        let both = grid.shared(&[vec![early.clone(), late.clone()]]);
        let tail = grid.shared(&[vec![late]]);
        assert_eq!(both.lists[0][1], tail.lists[0][0]);
        let ends: Vec<u64> = coarser(&early).into_keys().collect();
        assert!(
            ends.iter().all(|end| both.buckets_us.contains(end)),
            "{ends:?}"
        );
    }

    #[test]
    fn a_histogram_without_values_has_no_maximum() {
        assert_eq!(whole(&latencies(&[])).max_us, None);
        assert_eq!(whole(&latencies(&[3])).max_us, Some(3));
    }
}
