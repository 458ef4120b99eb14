//! What the storage layer did during a trial: logical reads, misses of the buffer pool, reads of the
//! device, log, CPU time, each from whom counts it, and what follows from them.

pub mod example;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Fact;

/// From so large a unit on, the server's count is within [`TOLERANCE`] of what is expected. In
/// smaller ones the index's upper pages weigh more, whose number differs from key to key.
const UNIT_MIN_ROWS: u64 = 255;
/// How far the server's count may be from what is expected, as a share.
const TOLERANCE: f64 = 0.02;

/// What was counted between the barrier and the end, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Accounting {
    /// From the barrier to the end of the last transaction, in microseconds.
    pub elapsed_us: u64,
    pub sessions: u64,
    /// CPUs of the server's host, where pgdyno is on it.
    pub cpus: Option<u64>,
    /// Counters of the buffer pool.
    pub buffers: Fact<BufferCounters>,
    /// Reads of tables and indexes by who made them, where the server reports.
    pub io: Fact<Vec<IoRow>>,
    pub wal_bytes: Fact<u64>,
    /// What the device under the server's files did (all processes).
    pub device: Fact<DeviceUse>,
    /// CPU time of all the server's processes, in microseconds.
    pub cpu_us: Fact<u64>,
    /// What the sessions did, by kind of work unit.
    pub units: Vec<UnitCount>,
    /// What a unit is expected to read.
    pub expected: Fact<Expected>,
    /// What the nodes of a distributed database count, under its own names.
    #[serde(default)]
    pub nodes: Vec<NodeFigures>,
}

/// The counters of the session's database before and after.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BufferCounters {
    /// Whose they are: the database.
    pub database: String,
    pub block_bytes: u64,
    /// By name, at the barrier.
    pub before: BTreeMap<String, u64>,
    /// By name, when all sessions had gone.
    pub after: BTreeMap<String, u64>,
}

impl BufferCounters {
    /// How much a counter has grown; `None` where there is none, or where it was reset.
    pub fn grown(&self, name: &str) -> Option<u64> {
        self.after.get(name)?.checked_sub(*self.before.get(name)?)
    }
}

/// Reads of tables and indexes by one kind of process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IoRow {
    /// Such as `client backend` or `io worker`.
    pub backend: String,
    /// Such as `normal` or `bulkread`.
    pub context: String,
    /// Reads, of one block or of several.
    pub reads: u64,
    pub read_bytes: u64,
    /// Blocks found in the pool.
    pub hits: u64,
}

/// A figure of a distributed database's nodes: seeks, blocks, read operations. None of them is a
/// logical read as PostgreSQL has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NodeFigures {
    /// Its name among what is observed, such as `yb.reads`.
    pub name: String,
    /// Its unit, such as `1/s`.
    pub unit: String,
    /// The mean over the measured time, by node.
    pub by_node: BTreeMap<String, f64>,
}

impl NodeFigures {
    pub fn all(&self) -> f64 {
        self.by_node.values().sum()
    }
}

/// How often the sessions did one kind of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "AccountedUnits"))]
pub struct UnitCount {
    pub kind: String,
    pub count: u64,
    pub rows_each: u64,
}

impl Accounting {
    /// The share by which the server counted more (or, below zero, fewer) logical reads than its units
    /// explain, where that is more than it may be and units are large enough to tell.
    pub fn is_off(&self) -> Option<f64> {
        let large = self.units.first()?.rows_each >= UNIT_MIN_ROWS;
        let off = self.counted_by_expected()? - 1.0;
        (large && off.abs() > TOLERANCE).then_some(off)
    }

    fn per_s(&self, count: u64) -> Option<f64> {
        (self.elapsed_us > 0).then(|| count as f64 / self.elapsed_us as f64 * 1e6)
    }

    fn grown(&self, name: &str) -> Option<u64> {
        self.buffers.known()?.grown(name)
    }

    /// Logical reads: blocks asked for, wherever they were.
    pub fn logical_reads(&self) -> Option<u64> {
        self.grown("blks_hit")?.checked_add(self.misses()?)
    }

    /// Blocks that were not in the buffer pool. The kernel may have had them.
    pub fn misses(&self) -> Option<u64> {
        self.grown("blks_read")
    }

    /// Logical reads a second (LIOPS).
    pub fn liops(&self) -> Option<f64> {
        self.per_s(self.logical_reads()?)
    }

    pub fn misses_per_s(&self) -> Option<f64> {
        self.per_s(self.misses()?)
    }

    /// Share of the logical reads that the pool had, from 0 to 1.
    pub fn hit_ratio(&self) -> Option<f64> {
        self.miss_ratio().map(|ratio| 1.0 - ratio)
    }

    /// Share of the logical reads that the pool did not have.
    pub fn miss_ratio(&self) -> Option<f64> {
        let reads = self.logical_reads().filter(|reads| *reads > 0)?;
        Some(self.misses()? as f64 / reads as f64)
    }

    /// Reads of the device a second.
    pub fn device_reads_per_s(&self) -> Option<f64> {
        self.per_s(self.device.known()?.reads)
    }

    /// Bytes read from the device a second.
    pub fn device_bytes_per_s(&self) -> Option<f64> {
        self.per_s(self.device.known()?.read_bytes)
    }

    /// Blocks that came from the device as a share of all logical reads; more than all of them
    /// when the kernel reads ahead.
    pub fn device_ratio(&self) -> Option<f64> {
        let reads = self.logical_reads().filter(|reads| *reads > 0)?;
        let block_bytes = self.buffers.known()?.block_bytes.max(1);
        let blocks = self.device.known()?.read_bytes as f64 / block_bytes as f64;
        Some(blocks / reads as f64)
    }

    /// Bytes of log a second.
    pub fn wal_bytes_per_s(&self) -> Option<f64> {
        self.per_s(*self.wal_bytes.known()?)
    }

    /// CPU time of the server for each logical read, in microseconds.
    pub fn cpu_us_per_logical_read(&self) -> Option<f64> {
        let reads = self.logical_reads().filter(|reads| *reads > 0)?;
        Some(*self.cpu_us.known()? as f64 / reads as f64)
    }

    /// Logical reads for each second that a core of the server was busy.
    pub fn liops_per_core(&self) -> Option<f64> {
        let cpu_us = self.cpu_us.known().filter(|us| **us > 0)?;
        Some(self.logical_reads()? as f64 / *cpu_us as f64 * 1e6)
    }

    /// How many cores the server kept busy.
    pub fn cores_busy(&self) -> Option<f64> {
        self.per_s(*self.cpu_us.known()?).map(|us| us / 1e6)
    }

    /// The cores that were busy as a share of those that the sessions can keep busy: one each, and
    /// no more than there are. About 1 where nothing but logical reads is done.
    pub fn busy_share(&self) -> Option<f64> {
        let can = self
            .cpus
            .map_or(self.sessions, |cpus| self.sessions.min(cpus));
        (can > 0).then_some(self.cores_busy()? / can as f64)
    }

    /// How long a session takes for a logical read on average, in microseconds.
    pub fn us_per_logical_read(&self) -> Option<f64> {
        let reads = self.logical_reads().filter(|reads| *reads > 0)?;
        Some(self.elapsed_us as f64 * self.sessions as f64 / reads as f64)
    }

    /// What the server counted, as a multiple of what was expected of the units that were done:
    /// within 2 % of 1 where units are large. Only of SELECTs: an UPDATE's buffers depend on what
    /// others did to the page before.
    pub fn counted_by_expected(&self) -> Option<f64> {
        let expected = self.expected.known()?;
        let [only] = self.units.as_slice() else {
            return None;
        };
        let due = only.count as f64 * expected.mean;
        let is_due = only.kind == expected.kind && due > 0.0;
        is_due.then_some(self.logical_reads()? as f64 / due)
    }

    /// How much of a node's figure there was for each unit; of rates, and one kind of units, only.
    pub fn per_unit(&self, figures: &NodeFigures) -> Option<f64> {
        let [only] = self.units.as_slice() else {
            return None;
        };
        let units_per_s = self.per_s(only.count).filter(|rate| *rate > 0.0)?;
        figures
            .unit
            .ends_with("/s")
            .then(|| figures.all() / units_per_s)
    }

    /// Buffers for each unit by the server's count; of one kind of units only.
    pub fn buffers_per_unit(&self) -> Option<f64> {
        let [only] = self.units.as_slice() else {
            return None;
        };
        (only.count > 0).then_some(self.logical_reads()? as f64 / only.count as f64)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DeviceUse {
    /// Its name, such as `nvme0n1`.
    pub name: String,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
}

/// What units are expected to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Expected {
    /// The kind of unit, such as `select`.
    pub kind: String,
    pub count: u64,
    /// Buffers of one, on average.
    pub mean: f64,
    /// The fewest that one read.
    pub min: u64,
    pub max: u64,
    /// The plan, node by node from the top, with the number of units that had it; most had the
    /// first.
    pub plans: Vec<(String, u64)>,
}

impl Expected {
    /// Whether the plan is the one that the method is about: random rows one by one by the index.
    pub fn is_by_index(&self) -> bool {
        self.plans.iter().all(|(plan, _)| {
            let mut nodes = plan.split(" > ");
            nodes.any(|node| node.starts_with("Index Scan "))
        })
    }

    /// The plan that most units had.
    pub fn plan(&self) -> &str {
        self.plans.first().map_or("", |(plan, _)| plan)
    }
}

/// The accounting with what follows from it; `null` where that is not known.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Accounted {
    #[serde(flatten)]
    pub accounting: Accounting,
    pub figures: AccountingFigures,
}

/// What follows from an accounting: see the methods of [`Accounting`] of the same names.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AccountingFigures {
    pub logical_reads: Option<u64>,
    pub liops: Option<f64>,
    pub misses: Option<u64>,
    pub misses_per_s: Option<f64>,
    pub hit_ratio: Option<f64>,
    pub device_reads_per_s: Option<f64>,
    pub device_bytes_per_s: Option<f64>,
    /// Blocks that came from the device as a share of all logical reads.
    pub device_blocks_per_logical_read: Option<f64>,
    pub wal_bytes_per_s: Option<f64>,
    pub cpu_us_per_logical_read: Option<f64>,
    pub liops_per_core: Option<f64>,
    pub cores_busy: Option<f64>,
    pub busy_share: Option<f64>,
    pub us_per_logical_read: Option<f64>,
    pub buffers_per_unit: Option<f64>,
    pub counted_by_expected: Option<f64>,
}

impl From<&Accounting> for Accounted {
    fn from(it: &Accounting) -> Self {
        Self {
            figures: AccountingFigures {
                logical_reads: it.logical_reads(),
                liops: it.liops(),
                misses: it.misses(),
                misses_per_s: it.misses_per_s(),
                hit_ratio: it.hit_ratio(),
                device_reads_per_s: it.device_reads_per_s(),
                device_bytes_per_s: it.device_bytes_per_s(),
                device_blocks_per_logical_read: it.device_ratio(),
                wal_bytes_per_s: it.wal_bytes_per_s(),
                cpu_us_per_logical_read: it.cpu_us_per_logical_read(),
                liops_per_core: it.liops_per_core(),
                cores_busy: it.cores_busy(),
                busy_share: it.busy_share(),
                us_per_logical_read: it.us_per_logical_read(),
                buffers_per_unit: it.buffers_per_unit(),
                counted_by_expected: it.counted_by_expected(),
            },
            accounting: it.clone(),
        }
    }
}
