//! When a warm-up may end, decided while it runs.

use crate::order;
use crate::trend::{self, Seconds};

/// Trends less sure than this do not hold a warm-up up. A loose test: to wait without success costs
/// seconds, to start too soon costs the figure.
const SIGNIFICANCE: f64 = 0.1;

/// However sure, a smaller change over the window does not hold a warm-up up.
const MIN_CHANGE: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmUpState {
    /// Throughput still changes, or too little of it was seen.
    Warming,
    /// Throughput has been steady during the later half: measuring may begin.
    Steady {
        /// Seconds that the warm-up took.
        after_s: usize,
    },
    /// The limit came first: measure, and say that throughput was not steady.
    LimitReached {
        /// Seconds that the warm-up took: the limit.
        after_s: usize,
        /// Change over the later half, as a share of its median: what was still going on. `None`
        /// where it makes no share, or fewer than ten seconds were allowed.
        change: Option<f64>,
    },
}

/// Watches throughput second by second until it is steady.
///
/// It is when the later half of all seconds so far, at least ten, shows no trend: Mann and
/// Kendall's test at 10 %, or Sen's slope below 2 % over that half. That at most half is cut is the
/// rule of MSER (White 1997), and lets the window grow with what is watched: a cache that fills for
/// minutes is not called steady for ten quiet seconds. Seconds are taken as independent, which
/// errs towards waiting.
#[derive(Debug, Clone)]
pub struct WarmUp {
    seconds: Vec<f64>,
    limit_s: usize,
    ended: Option<WarmUpState>,
}

impl WarmUp {
    /// Fewer seconds are never called steady.
    pub const SECONDS_MIN: usize = 10;

    /// Ends after `limit_s` seconds at the latest.
    pub fn new(limit_s: usize) -> Self {
        Self {
            seconds: Vec::new(),
            limit_s,
            ended: None,
        }
    }

    /// Takes the throughput of one more whole second, or another figure that is positive when
    /// something was done. A figure that is not finite counts as 0:
    /// nothing was done. Once it has ended it stays ended.
    pub fn push(&mut self, throughput: f64) -> WarmUpState {
        if let Some(ended) = self.ended {
            return ended;
        }
        self.seconds.push(if throughput.is_finite() {
            throughput
        } else {
            0.0
        });
        let state = self.judge();
        if state != WarmUpState::Warming {
            self.ended = Some(state);
        }
        state
    }

    fn judge(&self) -> WarmUpState {
        let after_s = self.seconds.len();
        let mut change = None;
        if after_s >= Self::SECONDS_MIN {
            let window = &self.seconds[after_s - (after_s.div_ceil(2)).max(Self::SECONDS_MIN)..];
            let median = order::median(&order::sorted(window));
            let trend = trend::trend(window, Seconds::Independent);
            change = (median > 0.0).then(|| trend.change / median);
            // A server that does nothing yet is not steady.
            let still = change.is_some_and(|c| c.abs() < MIN_CHANGE) || trend.p > SIGNIFICANCE;
            if median > 0.0 && still {
                return WarmUpState::Steady { after_s };
            }
        }
        if after_s >= self.limit_s {
            return WarmUpState::LimitReached { after_s, change };
        }
        WarmUpState::Warming
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn run(seed: u64, limit_s: usize, noise: f64, level: impl Fn(f64) -> f64) -> WarmUpState {
        let mut rng = Rng::new(seed);
        let mut warmup = WarmUp::new(limit_s);
        let mut second = 0.0;
        loop {
            let state = warmup.push(level(second) * (1.0 + noise * rng.normal()));
            if state != WarmUpState::Warming {
                return state;
            }
            second += 1.0;
        }
    }

    fn seconds_taken(state: WarmUpState) -> usize {
        match state {
            WarmUpState::Steady { after_s } => after_s,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_warm_server_is_recognised_within_seconds() {
        let mut taken: Vec<usize> = (0..200)
            .map(|seed| seconds_taken(run(seed, 120, 0.05, |_| 1000.0)))
            .collect();
        taken.sort_unstable();
        assert_eq!(taken[0], 10);
        assert!(taken[180] <= 20, "{}", taken[180]);
    }

    #[test]
    fn a_rise_is_waited_for() {
        let early = (0..200).filter(|&seed| {
            let rise = |s: f64| 1000.0 * (0.3 + 0.7 * (s / 40.0).min(1.0));
            seconds_taken(run(seed, 300, 0.05, rise)) < 40
        });
        let early = early.count();
        assert!(early <= 4, "{early} of 200 ended during the rise");
    }

    #[test]
    fn a_cache_that_fills_for_minutes_is_not_called_steady_for_ten_quiet_seconds() {
        let fill = |s: f64| 1000.0 * (1.0 - 0.7 * (-s / 60.0).exp());
        let mut levels: Vec<f64> = (0..200)
            .map(|seed| fill(seconds_taken(run(seed, 900, 0.02, fill)) as f64))
            .collect();
        levels.sort_unstable_by(f64::total_cmp);
        assert!(levels[20] > 900.0, "{}", levels[20]);
    }

    #[test]
    fn the_limit_ends_a_warm_up_that_never_settles_and_says_what_went_on() {
        let WarmUpState::LimitReached {
            after_s: 30,
            change: Some(change),
        } = run(1, 30, 0.0, |s| 100.0 + 10.0 * s)
        else {
            panic!("not ended by the limit");
        };
        assert!((0.3..0.6).contains(&change), "{change}");
        assert_eq!(
            run(1, 3, 0.0, |_| 5.0),
            WarmUpState::LimitReached {
                after_s: 3,
                change: None
            }
        );
        let ended = run(1, 0, 0.0, |_| 5.0);
        assert_eq!(
            ended,
            WarmUpState::LimitReached {
                after_s: 1,
                change: None
            }
        );
    }

    #[test]
    fn a_server_that_does_nothing_is_not_steady() {
        let nothing = run(1, 20, 0.0, |_| f64::NAN);
        assert_eq!(
            nothing,
            WarmUpState::LimitReached {
                after_s: 20,
                change: None
            }
        );
    }

    #[test]
    fn what_has_ended_stays_ended() {
        let mut warmup = WarmUp::new(60);
        let states: Vec<_> = (0..10).map(|_| warmup.push(100.0)).collect();
        assert_eq!(states[8], WarmUpState::Warming);
        assert_eq!(warmup.push(1.0), WarmUpState::Steady { after_s: 10 });
    }
}
