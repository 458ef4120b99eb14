//! Where caches end, from what reads of sets of several sizes came to: as long as a set fits, none
//! of its reads goes further; beyond, the share that does tells how much the cache keeps.

use crate::order;

/// What reads of a set of one size came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetPoint {
    /// The set's size, in bytes.
    pub size_bytes: f64,
    /// How long a read took, in microseconds.
    pub read_us: f64,
    /// Share of the reads that the first cache did not have, 0 to 1.
    pub missed: f64,
    /// Share of the reads that neither cache had, so that the device was read; `None` where that
    /// is not known. Not more than `missed` is believed: the rest was read ahead.
    pub from_device: Option<f64>,
}

/// From this share on, reads go further than the cache.
pub const LEAK: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CacheEnd {
    /// A set of `fits` bytes fits and one of `spills` does not.
    Between {
        fits: f64,
        /// The next one that was measured.
        spills: f64,
    },
    /// The smallest set, of so many bytes, does not fit.
    Below(f64),
    /// The largest set, of so many bytes, fits.
    Beyond(f64),
}

/// What a series of sizes tells.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CacheFit {
    /// Where the first cache ends.
    pub first_end: Option<CacheEnd>,
    /// So many bytes the first cache keeps, by what larger sets came to: the median.
    pub first_keeps_bytes: Option<f64>,
    /// Where both caches together end; `None` where device reads are not known.
    pub second_end: Option<CacheEnd>,
    /// So many bytes both keep.
    pub second_keeps_bytes: Option<f64>,
    /// A read that the first cache has, in microseconds.
    pub first_us: Option<f64>,
    /// One that the second has.
    pub second_us: Option<f64>,
    pub device_us: Option<f64>,
}

impl CacheFit {
    /// Takes the points in any order; those that are no figures are left out.
    pub fn new(points: &[SetPoint]) -> Self {
        let mut points: Vec<SetPoint> = points.iter().copied().filter(is_figure).collect();
        points.sort_by(|a, b| a.size_bytes.total_cmp(&b.size_bytes));
        let missed = |point: &SetPoint| Some(point.missed);
        let from_device = |point: &SetPoint| Some(point.from_device?.min(point.missed));
        let first_us = median(points.iter().filter(|p| p.missed < LEAK).map(|p| p.read_us));
        let second_us = first_us.and_then(|first_us| {
            let seen = points
                .iter()
                .filter(|p| p.missed >= LEAK && from_device(p).is_some_and(|share| share < LEAK));
            median(seen.map(|p| first_us + (p.read_us - first_us) / p.missed))
        });
        let device_us = first_us.and_then(|first_us| {
            let seen = points.iter().filter_map(|p| {
                let share = from_device(p).filter(|share| *share >= LEAK)?;
                let kept = p.missed - share;
                // What the second cache gave has its own price, if there is one.
                let of_second = match second_us {
                    Some(second_us) => kept * (second_us - first_us),
                    None if kept < LEAK => 0.0,
                    None => return None,
                };
                Some(first_us + (p.read_us - first_us - of_second) / share)
            });
            median(seen)
        });
        Self {
            first_end: end(&points, missed),
            first_keeps_bytes: keeps(&points, missed),
            second_end: end(&points, from_device),
            second_keeps_bytes: keeps(&points, from_device),
            first_us,
            second_us: second_us.filter(|us| *us > 0.0),
            device_us: device_us.filter(|us| *us > 0.0),
        }
    }
}

fn is_figure(point: &SetPoint) -> bool {
    let is_share = |share: f64| (0.0..=1.0).contains(&share);
    point.size_bytes > 0.0
        && point.size_bytes.is_finite()
        && point.read_us > 0.0
        && point.read_us.is_finite()
        && is_share(point.missed)
        // More than all is read ahead, not nonsense.
        && point.from_device.is_none_or(|share| share >= 0.0)
}

/// The end is the first size that spills: a larger one that seems to fit again was not warm.
fn end(points: &[SetPoint], share: impl Fn(&SetPoint) -> Option<f64>) -> Option<CacheEnd> {
    let mut fits = None;
    for point in points {
        if share(point)? >= LEAK {
            return Some(match fits {
                Some(fits) => CacheEnd::Between {
                    fits,
                    spills: point.size_bytes,
                },
                None => CacheEnd::Below(point.size_bytes),
            });
        }
        fits = Some(point.size_bytes);
    }
    fits.map(CacheEnd::Beyond)
}

/// Reads at random find what is kept as often as its share of the set.
fn keeps(points: &[SetPoint], share: impl Fn(&SetPoint) -> Option<f64>) -> Option<f64> {
    let spilling = points.iter().filter_map(|point| {
        let share = share(point).filter(|share| *share >= LEAK)?;
        Some((1.0 - share) * point.size_bytes)
    });
    median(spilling)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let sorted = order::sorted(&values.collect::<Vec<_>>());
    (!sorted.is_empty()).then(|| order::median(&sorted))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1e6;

    /// Reads at random over a first cache of 100 MB and two of 1,000 MB together, which cost 1, 5
    /// and 100 µs.
    fn point(size: f64) -> SetPoint {
        let size_bytes = size * MB;
        let missed = (1.0 - 100.0 / size).max(0.0);
        let from_device = (1.0 - 1000.0 / size).max(0.0);
        SetPoint {
            size_bytes,
            read_us: 1.0 + (missed - from_device) * 4.0 + from_device * 99.0,
            missed,
            from_device: Some(from_device),
        }
    }

    #[track_caller]
    fn about(value: Option<f64>, want: f64) {
        let value = value.expect("a figure");
        assert!((value - want).abs() < want * 1e-6, "{value}, not {want}");
    }

    #[test]
    fn both_ends_and_the_price_of_each_level_are_found() {
        let sizes = [
            4000.0, 25.0, 50.0, 100.0, 125.0, 200.0, 400.0, 800.0, 2000.0,
        ];
        let fit = CacheFit::new(&sizes.map(point));
        let between = |fits, spills| {
            Some(CacheEnd::Between {
                fits: fits * MB,
                spills: spills * MB,
            })
        };
        assert_eq!(fit.first_end, between(100.0, 125.0));
        assert_eq!(fit.second_end, between(800.0, 2000.0));
        about(fit.first_keeps_bytes, 100.0 * MB);
        about(fit.second_keeps_bytes, 1000.0 * MB);
        about(fit.first_us, 1.0);
        about(fit.second_us, 5.0);
        about(fit.device_us, 100.0);
    }

    #[test]
    fn ends_outside_of_what_was_measured_are_said_to_be() {
        let fit = CacheFit::new(&[25.0, 50.0].map(point));
        assert_eq!(fit.first_end, Some(CacheEnd::Beyond(50.0 * MB)));
        assert_eq!((fit.first_keeps_bytes, fit.second_us), (None, None));
        let fit = CacheFit::new(&[200.0, 400.0].map(point));
        assert_eq!(fit.first_end, Some(CacheEnd::Below(200.0 * MB)));
        // Without a read that the first cache had, no price can be distinguished.
        assert_eq!(
            (fit.first_us, fit.second_us, fit.device_us),
            (None, None, None)
        );
        assert_eq!(CacheFit::new(&[]), CacheFit::default());
    }

    #[test]
    fn device_reads_that_are_not_known_leave_the_second_cache_open() {
        let unseen = |size| SetPoint {
            from_device: None,
            ..point(size)
        };
        let fit = CacheFit::new(&[50.0, 200.0, 4000.0].map(unseen));
        assert_eq!((fit.second_end, fit.second_keeps_bytes), (None, None));
        assert_eq!((fit.second_us, fit.device_us), (None, None));
        assert!(matches!(fit.first_end, Some(CacheEnd::Between { .. })));
    }

    #[test]
    fn what_is_no_figure_is_left_out_and_read_ahead_is_no_more_than_all_misses() {
        let broken = SetPoint {
            missed: f64::NAN,
            ..point(50.0)
        };
        let ahead = SetPoint {
            from_device: Some(7.0),
            ..point(200.0)
        };
        let fit = CacheFit::new(&[broken, ahead, point(25.0)]);
        assert_eq!(fit.second_end, fit.first_end);
        about(fit.second_keeps_bytes, 100.0 * MB);
    }
}
