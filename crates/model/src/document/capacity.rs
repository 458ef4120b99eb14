//! How much load a system takes while p99 keeps a limit.

use super::Interval as PercentileInterval;
use serde::Serialize;
use serde_json::Value;

/// Latency against load, and what follows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Capacity {
    /// The limit of p99 of response times, µs.
    pub slo_us: f64,
    /// How narrow the capacity's interval was to be: its half as a share of the capacity.
    pub width: f64,
    /// How long the search was allowed to take for each ladder, seconds.
    pub time_s: f64,
    /// A ladder for each point that has rates.
    pub ladders: Vec<Ladder>,
}

/// Trials that differ in nothing but their rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Ladder {
    /// The point without its rate and duration.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub point: Value,
    /// What distinguishes it from the others, as text.
    pub title: String,
    /// By rate, the lowest first.
    pub loads: Vec<Load>,
    /// The highest load that keeps the limit; `null`: not known, as no step is surely within the limit,
    /// and not all are over it, or as steps contradict each other.
    pub capacity: Option<Estimate>,
    pub search: Search,
    /// The search's steps, in the order in which they were made.
    pub steps: Vec<SearchStep>,
    /// Beyond which load latency grows faster than load; `null`: there is no curve.
    pub knee: Option<Estimate>,
    /// Which rates were left out of the curve, and why.
    pub gaps: Vec<String>,
    /// Why there is no curve.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub no_curve: Option<String>,
}

/// How a capacity was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Search {
    pub steps: u64,
    /// What they took together, warm-ups included, seconds.
    pub took_s: f64,
    /// Whether the interval is as narrow as asked.
    pub is_narrow: bool,
    /// Steps of the line that gives the estimate: how the share of transactions over the limit grows with the rate; 0:
    /// the rates within and over the limit give it.
    pub line_steps: u64,
    /// By what share the capacity changed during these steps; `null`: no more than chance.
    pub drift: Option<f64>,
    /// Steps that contradict each other, as of a machine that changes from step to step: where they agree on rates that
    /// are near each other, these give the interval; else this is why there is no capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub contradiction: Option<Contradiction>,
}

/// What steps that contradict each other agree on, by their p99.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Contradiction {
    /// The highest rate up to which all steps were within the limit; `null`: none.
    pub within_up_to_per_s: Option<f64>,
    /// The lowest rate from which on all steps were over it; `null`: none.
    pub over_from_per_s: Option<f64>,
}

impl From<pgdyno_stats::search::Contradiction> for Contradiction {
    fn from(contradiction: pgdyno_stats::search::Contradiction) -> Self {
        Self {
            within_up_to_per_s: contradiction.within_up_to,
            over_from_per_s: contradiction.over_from,
        }
    }
}

/// A trial as a step of the search.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SearchStep {
    /// Its number in the notebook.
    pub trial: i64,
    /// Transactions a second that were to start.
    pub rate_per_s: f64,
    /// When measuring began, seconds since the first step began.
    pub from_s: f64,
    /// How long it was measured, seconds.
    pub seconds: f64,
    /// Of response times; `null` with too few transactions, or when the server fell behind.
    pub response_p99_us: Option<f64>,
    /// The lower end of its 95 % interval; `null`: not known.
    pub low_us: Option<f64>,
    /// The upper end; `null`: not known.
    pub high_us: Option<f64>,
    /// The share of its transactions over the limit, without the beginning of a step that has no warm-up; `null`
    /// without any.
    pub share_over: Option<f64>,
    /// On which side of the limit it lies, by its interval.
    pub side: LimitSide,
    /// The server did less than was due: response times grow as long as the step lasts.
    pub falls_behind: bool,
}

/// On which side of the limit a step lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum LimitSide {
    /// All of its interval is within the limit.
    Within,
    /// All of its interval is over the limit.
    Over,
    /// The interval crosses the limit, or is not known.
    CannotTell,
}

impl SearchStep {
    /// A trial of this number as a step of the search within a limit (µs).
    pub fn new(trial: i64, step: &pgdyno_stats::search::Step, limit_us: f64) -> Self {
        use pgdyno_stats::search;
        let finite = |us: f64| us.is_finite().then_some(us);
        Self {
            trial,
            rate_per_s: step.rate,
            from_s: step.at_s - step.seconds / 2.0,
            seconds: step.seconds,
            response_p99_us: finite(step.latency),
            low_us: finite(step.between.0).filter(|us| *us > 0.0),
            high_us: finite(step.between.1),
            share_over: finite(step.over.share()),
            side: match step.side(limit_us) {
                search::Side::Within => LimitSide::Within,
                search::Side::Over => LimitSide::Over,
                search::Side::CannotTell => LimitSide::CannotTell,
            },
            falls_behind: step.latency == f64::INFINITY,
        }
    }
}

/// The repeats at one rate, in the order of their trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Load {
    /// Transactions a second that were to start.
    pub rate_per_s: f64,
    /// Their numbers in the notebook.
    pub trials: Vec<i64>,
    /// Transactions a second that were committed.
    pub goodput_per_s: Vec<Option<f64>>,
    pub response_p50_us: Vec<Option<u64>>,
    /// Of response times; `null` with too few transactions.
    pub response_p99_us: Vec<Option<u64>>,
    /// Of the response times of all of them together, as among the points of the experiment; `null` with too few
    /// transactions.
    pub p50_together_us: Option<u64>,
    pub p99_together_us: Option<u64>,
    /// The 95 % interval of that p99.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub p99_interval: Option<PercentileInterval>,
    pub failed: Vec<Option<u64>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Estimate {
    pub is: EstimateIs,
    pub per_s: f64,
    /// Of what is `at` a load: `null` with fewer than six repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub interval: Option<Option<Interval>>,
}

/// Where a load lies as seen from a rate that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum EstimateIs {
    At,
    /// The capacity is below the lowest rate.
    Below,
    /// No rate broke the limit.
    AtLeast,
    /// The curve bends at the lowest rate or below.
    AtOrBelow,
    /// The curve does not bend up to the highest rate.
    Above,
}

/// What else the repeats are compatible with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Interval {
    /// Its lower end; `null`: not known.
    pub low: Option<f64>,
    /// Its upper end; `null`: not known.
    pub high: Option<f64>,
    /// Its confidence, 0 to 1.
    pub level: f64,
}

impl Estimate {
    /// With its interval, as far as the repeats give one.
    pub fn at(estimate: &pgdyno_stats::Estimate) -> Self {
        let interval = estimate.interval.map(|interval| Interval {
            low: Some(interval.low),
            high: Some(interval.high),
            level: interval.level,
        });
        Self {
            is: EstimateIs::At,
            per_s: estimate.load,
            interval: Some(interval),
        }
    }

    /// On one side of a rate that was measured.
    pub fn beside(is: EstimateIs, per_s: f64) -> Self {
        Self {
            is,
            per_s,
            interval: None,
        }
    }
}

impl Estimate {
    /// What a search has found; `None` where no step says surely on which side of it the capacity
    /// lies: an interval without ends is no answer.
    pub fn of_search(answer: &pgdyno_stats::search::Answer) -> Option<Self> {
        let interval = Interval {
            // Far from the steps a line says nothing: no rate is below 0.
            low: answer.low.filter(|low| *low > 0.0),
            high: answer.high,
            level: 0.95,
        };
        match (answer.rate, answer.low, answer.high) {
            (_, None, None) => None,
            (Some(per_s), _, _) => Some(Self {
                is: EstimateIs::At,
                per_s,
                interval: Some(Some(interval)),
            }),
            (None, Some(low), None) => Some(Self::beside(EstimateIs::AtLeast, low)),
            (None, _, Some(high)) => Some(Self::beside(EstimateIs::Below, high)),
        }
    }
}

impl From<pgdyno_stats::Knee> for Estimate {
    fn from(knee: pgdyno_stats::Knee) -> Self {
        use pgdyno_stats::Knee::{AboveHighest, At, AtOrBelow};
        match knee {
            At(estimate) => Self::at(&estimate),
            AtOrBelow(load) => Self::beside(EstimateIs::AtOrBelow, load),
            AboveHighest(load) => Self::beside(EstimateIs::Above, load),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_stats::search::Answer;

    #[test]
    fn a_lower_end_below_zero_is_not_known() {
        let answer = Answer {
            rate: Some(90.0),
            low: Some(-4_278.0),
            high: Some(100.0),
            line: None,
            contradiction: None,
        };
        let found = Estimate::of_search(&answer).and_then(|found| found.interval?);
        let ends = found.map(|interval| (interval.low, interval.high));
        assert_eq!(ends, Some((None, Some(100.0))));
    }

    #[test]
    fn an_interval_without_ends_is_no_answer() {
        let found = |rate, low, high| {
            let answer = Answer {
                rate,
                low,
                high,
                line: None,
                contradiction: None,
            };
            Estimate::of_search(&answer).map(|found| (found.is, found.per_s))
        };
        let (one, two) = (Some(1.0), Some(2.0));
        assert_eq!(found(one, None, None), None);
        assert_eq!(found(None, None, None), None);
        assert_eq!(found(one, None, two), Some((EstimateIs::At, 1.0)));
        assert_eq!(found(one, one, None), Some((EstimateIs::At, 1.0)));
        assert_eq!(found(None, one, None), Some((EstimateIs::AtLeast, 1.0)));
        assert_eq!(found(None, None, two), Some((EstimateIs::Below, 2.0)));
    }
}
