//! What repeats of one thing came to in one figure.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Summary {
    pub n: usize,
    /// Their median, in the unit of the figure.
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// The 95 % interval of the median, from six repeats on: low and high end.
    pub interval: Option<[f64; 2]>,
}

impl From<&pgdyno_stats::Summary> for Summary {
    fn from(summary: &pgdyno_stats::Summary) -> Self {
        Self {
            n: summary.n,
            median: summary.median,
            min: summary.min,
            max: summary.max,
            interval: summary
                .interval
                .map(|interval| [interval.low, interval.high]),
        }
    }
}

/// A figure over repeats, with that of each.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Spread {
    #[serde(flatten)]
    pub over: Summary,
    /// Of each repeat, in the order of the trials; `null`: it does not have the figure.
    pub values: Vec<Option<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum LatencyKind {
    /// From a transaction's start: where there is no rate.
    Service,
    /// From when a transaction was to start: under a rate.
    Response,
}

/// A trial among the repeats of its point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Repeat {
    /// Its number in the notebook.
    pub trial: i64,
    /// Which repeat it is, from 1; `null`: none.
    pub repeat: Option<u32>,
}
