//! What `pgdyno slob sweep --json` prints, and the cache fit on an experiment's page.

use pgdyno_spec::experiment::slob_sweep::SlobVary;
use serde::Serialize;

use super::Accounted;
use super::repeats::Spread;

/// Logical reads and what they cost, a row a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlobSweepResult {
    pub sweep: SlobVary,
    pub points: Vec<SlobPoint>,
    /// Where the caches end; `null`: no sizes were swept.
    pub caches: Option<SlobCaches>,
}

/// The repeats of a point; figures are medians over them, `null` where one does not know it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlobPoint {
    /// What varies: blocks of the active set, sessions, or the percentage of updates.
    pub value: u64,
    /// The active set, where sizes are swept.
    pub size_bytes: Option<u64>,
    pub liops: Option<f64>,
    /// Of logical reads, 0 to 1.
    pub hit_ratio: Option<f64>,
    pub misses_per_s: Option<f64>,
    pub device_reads_per_s: Option<f64>,
    /// Time of a session for a logical read.
    pub us_per_logical_read: Option<f64>,
    /// CPU time of the server's processes for a logical read.
    pub cpu_us_per_logical_read: Option<f64>,
    /// Cores of the server's host that its processes kept busy.
    pub cores_busy: Option<f64>,
    /// The log that was written.
    pub wal_bytes_per_s: Option<f64>,
    /// Of the work units of all repeats.
    pub unit_p99_us: Option<u64>,
    /// Trials that failed, and are in no figure.
    pub failed: u32,
    /// What the storage layer did in each trial.
    pub trials: Vec<Accounted>,
}

/// Where the caches end, and what a read costs on each level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlobCaches {
    pub shared_buffers_bytes: u64,
    /// Of the server's host, where pgdyno is on it.
    pub memory_bytes: Option<u64>,
    pub shared_buffers_end: Option<CacheEnd>,
    /// How much of larger sets it keeps.
    pub shared_buffers_keeps_bytes: Option<f64>,
    pub page_cache_end: Option<CacheEnd>,
    /// How much of larger sets it keeps.
    pub page_cache_keeps_bytes: Option<f64>,
    /// What a logical read costs.
    pub read_us: ReadCosts,
}

/// Between which sizes a cache ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CacheEnd {
    /// The largest set that fits; `null`: none that was measured.
    pub fits_bytes: Option<f64>,
    /// The smallest set that does not; `null`: all that were measured fit.
    pub spills_bytes: Option<f64>,
}

impl From<pgdyno_stats::CacheEnd> for CacheEnd {
    fn from(end: pgdyno_stats::CacheEnd) -> Self {
        use pgdyno_stats::CacheEnd::{Below, Between, Beyond};
        let (fits_bytes, spills_bytes) = match end {
            Between { fits, spills } => (Some(fits), Some(spills)),
            Below(spills) => (None, Some(spills)),
            Beyond(fits) => (Some(fits), None),
        };
        Self {
            fits_bytes,
            spills_bytes,
        }
    }
}

/// Microseconds of a logical read, by where it is answered from; `null`: not known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReadCosts {
    pub shared_buffers: Option<f64>,
    pub page_cache: Option<f64>,
    pub device: Option<f64>,
}

/// Cache fit on an experiment's page: logical reads a second against what is swept, with where the
/// caches end.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SlobSweep {
    pub x: SlobAxis,
    pub points: Vec<SlobSweepPoint>,
    /// Vertical marks: where shared_buffers and memory end.
    pub marks: Vec<SlobMark>,
    pub knees: Vec<SlobKnee>,
    /// What it all means; missing where no sizes are swept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub sentences: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SlobAxis {
    /// `active set`, `sessions`, `share of reads`.
    pub title: String,
    pub unit: String,
}

/// A point of the cache fit; figures are medians over its repeats, `null` where one does not know it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SlobSweepPoint {
    /// In the unit of the axis.
    pub x: u64,
    /// Logical reads a second (LIOPS).
    pub liops: Option<Spread>,
    /// Of logical reads, 0 to 1.
    pub hit_share: Option<f64>,
    pub misses_per_s: Option<f64>,
    pub device_reads_per_s: Option<f64>,
    /// Of the work units of all repeats.
    pub p50_us: Option<u64>,
    /// Of the work units of all repeats.
    pub p99_us: Option<u64>,
    /// Time of a session for a logical read.
    pub us_per_read: Option<f64>,
    /// Their numbers in the notebook.
    pub trials: Vec<i64>,
}

/// A place on the axis with a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SlobMark {
    /// In the unit of the axis.
    pub x: u64,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SlobKnee {
    /// The largest set that fits, in the unit of the axis.
    pub x: f64,
    pub sentence: String,
}
