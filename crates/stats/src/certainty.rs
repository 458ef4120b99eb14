//! How sure a percentile of one trial is, in the percentile's own unit: its 95 % interval, and
//! whether the figure must carry the mark of doubt.
//!
//! Not for whether a percentile is shown: ten plain values beyond it decide that
//! ([`crate::MIN_BEYOND`]).

use crate::blocks::{Block, Dependence};
use crate::percentile::MIN_BEYOND;

/// An interval is never narrower than this share of the value on either side: how even the seconds
/// of a trial are says nothing of a slow drift.
pub const FLOOR: f64 = 0.01;
/// An end that is farther away than this share of the value makes it uncertain.
pub const WIDE: f64 = 0.25;

/// The 95 % interval of a percentile of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certainty {
    /// The lower end, in the unit of the value; `None`: the trial is too short for an interval.
    pub low: Option<f64>,
    /// The upper end; `None`: above all that was measured, or the trial is too short.
    pub high: Option<f64>,
    /// So many independent transactions would show it as surely; `None`: the trial is too short.
    pub effective: Option<f64>,
    /// Whether the figure is of this run only: an end is more than [`WIDE`] away or open, fewer than
    /// ten effective values lie beyond it, or the trial has less than ten seconds.
    pub is_uncertain: bool,
}

impl Certainty {
    /// Of the percentile `percent` (0 to 100) with this value, from the trial's whole seconds in
    /// their order. `at` gives the value at a share (0 to 1) of all `count` values.
    pub fn of(
        percent: f64,
        value: f64,
        seconds: &[Block],
        count: u64,
        at: impl Fn(f64) -> f64,
    ) -> Self {
        let Some(dependence) = Dependence::of(percent, seconds) else {
            return Self {
                low: None,
                high: None,
                effective: None,
                is_uncertain: true,
            };
        };
        let (low, high) = dependence.shares;
        let is_reached = (1.0 - high) * count as f64 >= 1.0;
        let low = at(low).min(value * (1.0 - FLOOR));
        let high = is_reached.then(|| at(high).max(value * (1.0 + FLOOR)));
        Self {
            low: Some(low),
            high,
            effective: Some(dependence.effective),
            is_uncertain: dependence.effective * (1.0 - percent / 100.0) < MIN_BEYOND as f64 - 1e-6
                || low < value * (1.0 - WIDE)
                || high.is_none_or(|high| high > value * (1.0 + WIDE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(beyond: &[u64]) -> Vec<Block> {
        let of = |beyond: &u64| Block {
            count: 1_000,
            beyond: *beyond,
        };
        beyond.iter().map(of).collect()
    }

    #[test]
    fn even_seconds_of_a_narrow_distribution_keep_the_floor() {
        let found = Certainty::of(99.0, 500.0, &seconds(&[10; 20]), 20_000, |_| 500.0);
        assert_eq!((found.low, found.high), (Some(495.0), Some(505.0)));
        assert!(!found.is_uncertain);
    }

    #[test]
    fn an_end_that_is_far_away_or_open_is_doubt() {
        let even = seconds(&[10; 20]);
        let wide = |share: f64| if share < 0.99 { 300.0 } else { 510.0 };
        assert!(Certainty::of(99.0, 500.0, &even, 20_000, wide).is_uncertain);
        let mut together = [0; 20];
        together[3] = 200;
        let found = Certainty::of(99.0, 500.0, &seconds(&together), 100, |_| 500.0);
        assert_eq!((found.high, found.is_uncertain), (None, true));
    }

    #[test]
    fn bursts_that_are_few_are_doubt_however_narrow_the_interval() {
        let mut together = [0; 20];
        together[3] = 200;
        let found = Certainty::of(99.0, 500.0, &seconds(&together), 1_000_000, |_| 500.0);
        assert_eq!((found.high, found.is_uncertain), (Some(505.0), true));
    }

    #[test]
    fn less_than_ten_seconds_have_no_interval() {
        let found = Certainty::of(50.0, 500.0, &seconds(&[500; 9]), 9_000, |_| 500.0);
        assert_eq!((found.low, found.is_uncertain), (None, true));
    }
}
