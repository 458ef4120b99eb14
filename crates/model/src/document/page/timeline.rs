//! The seconds of a trial, column by column.

use serde::Serialize;

use crate::document::Packed;

/// All scripts together, column by column, a row a second; warm-up included and marked.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Timeline {
    pub start_us: Vec<u64>,
    pub length_us: Vec<u64>,
    /// Of the warm-up: 1, else 0. Missing: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub warmup: Option<Vec<u8>>,
    pub committed: Vec<u64>,
    pub failed: Vec<u64>,
    pub skipped: Vec<u64>,
    /// Of which it is not known.
    pub unknown: Vec<u64>,
    /// Committed, but later than the limit.
    pub late: Vec<u64>,
    pub retries: Vec<u64>,
    /// Transactions that the schedule asked for in that second; missing: no rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub due: Option<Vec<f64>>,
    pub service_max_us: Vec<Option<u64>>,
    /// The longest response time, with a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub response_max_us: Option<Vec<Option<u64>>>,
    /// The end of each bucket (highest equivalent value), shared by all histograms of the timeline.
    pub buckets_us: Vec<u64>,
    /// Largest relative error of a bucket: 0.001 as the notebook has them; larger where there were too
    /// many of these for a page.
    pub resolution: f64,
    pub service: Vec<Packed>,
    /// Histograms of response times, with a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub response: Option<Vec<Packed>>,
    /// Retries by reason, most frequent first. No notebook splits them yet: `retries` is drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub retries_by_reason: Option<Vec<NamedCounts>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub failed_by_class: Option<Vec<NamedCounts>>,
    /// Committed by script, in the order of `run.measured.scripts`; two scripts and more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub committed_by_script: Option<Vec<Vec<u64>>>,
}

/// A column with a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NamedCounts {
    pub name: String,
    pub count: Vec<u64>,
}
