//! Histograms as Prometheus' text has them: counts of what was at most so long, since the server
//! started. What happened between two readings is in their difference.

use std::collections::BTreeMap;

/// A histogram at one moment, of one part (a store, a tablet).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    pub sum: f64,
    pub count: f64,
    /// Upper bounds, and how many values were at most that; in any order. A server may leave out
    /// those in which nothing has changed since the one before (captured: CockroachDB 19.1 does).
    pub buckets: Vec<(f64, f64)>,
}

/// What came between two readings, of all parts together.
#[derive(Debug, Default, PartialEq)]
pub struct Between {
    sum: f64,
    count: f64,
    /// Upper bounds, and how many values came in the bucket below each; in order.
    buckets: Vec<(f64, f64)>,
}

impl Between {
    /// The difference of two readings. A part that is in one alone, or that was reset, is left out.
    pub fn of(now: &BTreeMap<String, Histogram>, then: &BTreeMap<String, Histogram>) -> Between {
        let mut all = Between::default();
        let parts = now
            .iter()
            .filter_map(|(part, now)| Some((now, then.get(part)?)));
        for (now, then) in parts {
            if now.count < then.count || now.sum < then.sum {
                continue;
            }
            all.sum += now.sum - then.sum;
            all.count += now.count - then.count;
            all.buckets.extend(came(&now.buckets, &then.buckets));
        }
        all.buckets
            .sort_by(|(one, _), (other, _)| one.total_cmp(other));
        all
    }

    /// The mean of what came.
    pub fn mean(&self) -> Option<f64> {
        let mean = self.sum / self.count;
        (self.count >= 1.0 && mean.is_finite()).then_some(mean)
    }

    /// The upper bound of the bucket in which the `percent`ile of what came lies, if at least ten
    /// values lie beyond it and it has a bound.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let count: f64 = self.buckets.iter().map(|(_, came)| came).sum();
        if count * (1.0 - percent / 100.0) + 1e-6 < 10.0 {
            return None;
        }
        let mut seen = 0.0;
        let of_bucket = |(bound, came): &(f64, f64)| {
            seen += came;
            (seen >= count * percent / 100.0).then_some(*bound)
        };
        let bound = self.buckets.iter().find_map(of_bucket)?;
        bound.is_finite().then_some(bound)
    }
}

/// How many values came in each bucket.
fn came(now: &[(f64, f64)], then: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let sorted = |buckets: &[(f64, f64)]| {
        let numbers = buckets.iter().copied();
        let mut buckets: Vec<_> = numbers.filter(|(bound, _)| !bound.is_nan()).collect();
        buckets.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        buckets
    };
    let (now, then) = (sorted(now), sorted(then));
    let before = |bound: f64| {
        // A bound that is not there has as many below it as the one before.
        let at = then.partition_point(|(other, _)| *other <= bound);
        at.checked_sub(1).map_or(0.0, |at| then[at].1)
    };
    let mut last = 0.0;
    let bucket = |(bound, count): (f64, f64)| {
        let grown = count - before(bound);
        let came = (grown - last).max(0.0);
        last = grown;
        (bound, came)
    };
    now.into_iter().map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(histogram: Histogram) -> BTreeMap<String, Histogram> {
        [("1".to_owned(), histogram)].into()
    }

    #[test]
    fn differences_are_exact_though_buckets_come_and_go() {
        let then = parts(Histogram {
            sum: 5000.0,
            count: 100.0,
            buckets: vec![(10.0, 40.0), (100.0, 100.0), (f64::INFINITY, 100.0)],
        });
        // 1000 values at most 20, 20 at most 50, 5 at most 1000.
        let now = parts(Histogram {
            sum: 26_000.0,
            count: 1125.0,
            buckets: vec![
                (f64::INFINITY, 1125.0),
                (10.0, 40.0),
                (20.0, 1040.0),
                (50.0, 1060.0),
                (100.0, 1120.0),
                (1000.0, 1125.0),
            ],
        });
        let between = Between::of(&now, &then);
        assert_eq!(between.mean(), Some(21_000.0 / 1025.0));
        assert_eq!(between.percentile(50.0), Some(20.0));
        assert_eq!(between.percentile(98.0), Some(50.0));
        // Fewer than ten lie beyond it.
        assert_eq!(between.percentile(99.5), None);
        // Nothing came.
        let nothing = Between::of(&then, &then);
        assert_eq!((nothing.mean(), nothing.percentile(50.0)), (None, None));
    }

    #[test]
    fn what_was_reset_or_is_new_is_left_out() {
        let then = parts(Histogram {
            sum: 5000.0,
            count: 100.0,
            buckets: vec![(10.0, 100.0)],
        });
        let mut now = parts(Histogram {
            sum: 10.0,
            count: 50.0,
            buckets: vec![(10.0, 50.0)],
        });
        now.insert("2".to_owned(), then["1"].clone());
        assert_eq!(Between::of(&now, &then), Between::default());
    }

    #[test]
    fn strange_bounds_give_no_figure() {
        let then = parts(Histogram::default());
        let now = parts(Histogram {
            sum: f64::NAN,
            count: 1000.0,
            buckets: vec![(f64::NAN, 1000.0), (f64::INFINITY, 1000.0)],
        });
        let between = Between::of(&now, &then);
        assert_eq!((between.mean(), between.percentile(50.0)), (None, None));
    }
}
