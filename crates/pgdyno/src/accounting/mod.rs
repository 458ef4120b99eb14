//! What the storage layer did during a trial: logical reads, misses of the buffer pool, reads of
//! the device, log, CPU time, each from whom counts it, and what follows from them. Counters are
//! read when all sessions stand and none works yet, and again when all have gone: the server tells
//! what a session did only when the session says so or ends.
//!
//! Not for: series over time (`observe/`), words (`report::accounting`).

mod buffers;
mod cpu;
mod device;
pub mod expected;
mod reader;
#[cfg(test)]
pub mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use device::DeviceUse;
pub use expected::Expected;
pub use reader::Reader;

use pgdyno_model::Fact;

/// What was counted between the barrier and the end, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accounting {
    /// From the barrier to the end of the last transaction, in microseconds.
    pub elapsed_us: u64,
    /// Sessions at work.
    pub sessions: u64,
    /// CPUs of the server's host, where pgdyno is on it.
    pub cpus: Option<u64>,
    /// Counters of the buffer pool.
    pub buffers: Fact<BufferCounters>,
    /// Reads of tables and indexes by who made them, where the server tells.
    pub io: Fact<Vec<IoRow>>,
    /// Bytes of log written.
    pub wal_bytes: Fact<u64>,
    /// What the device under the server's files did, for whomever.
    pub device: Fact<DeviceUse>,
    /// CPU time of all the server's processes, in microseconds.
    pub cpu_us: Fact<u64>,
    /// What the sessions did, by kind of work unit.
    pub units: Vec<Units>,
    /// What a unit is expected to read.
    pub expected: Fact<Expected>,
    /// What the nodes of a distributed database count, under its own names.
    #[serde(default)]
    pub nodes: Vec<NodeFigures>,
}

/// The counters of the session's database before and after.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BufferCounters {
    /// Whose they are: the database.
    pub database: String,
    /// Bytes of a block.
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
pub struct IoRow {
    /// Such as `client backend` or `io worker`.
    pub backend: String,
    /// Such as `normal` or `bulkread`.
    pub context: String,
    /// Reads, of one block or of several.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: u64,
    /// Blocks found in the pool.
    pub hits: u64,
}

/// A figure of a distributed database's nodes: seeks, blocks, read operations. None of them is a
/// logical read as PostgreSQL has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeFigures {
    /// Its name among what is observed, such as `yb.reads`.
    pub name: String,
    /// Its unit, such as `1/s`.
    pub unit: String,
    /// The mean over the measured time, by node.
    pub by_node: BTreeMap<String, f64>,
}

impl NodeFigures {
    /// All nodes together.
    pub fn all(&self) -> f64 {
        self.by_node.values().sum()
    }
}

/// How often the sessions did one kind of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    /// Such as `select`.
    pub kind: String,
    /// How often.
    pub count: u64,
    /// Rows of one.
    pub rows_each: u64,
}

impl Accounting {
    fn per_s(&self, count: u64) -> Option<f64> {
        (self.elapsed_us > 0).then(|| count as f64 / self.elapsed_us as f64 * 1e6)
    }

    fn grown(&self, name: &str) -> Option<u64> {
        self.buffers.seen()?.grown(name)
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

    /// Misses a second.
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
        self.per_s(self.device.seen()?.reads)
    }

    /// Bytes read from the device a second.
    pub fn device_bytes_per_s(&self) -> Option<f64> {
        self.per_s(self.device.seen()?.read_bytes)
    }

    /// Blocks that came from the device as a share of all logical reads; more than all of them
    /// when the kernel reads ahead.
    pub fn device_ratio(&self) -> Option<f64> {
        let reads = self.logical_reads().filter(|reads| *reads > 0)?;
        let block_bytes = self.buffers.seen()?.block_bytes.max(1);
        let blocks = self.device.seen()?.read_bytes as f64 / block_bytes as f64;
        Some(blocks / reads as f64)
    }

    /// Bytes of log a second.
    pub fn wal_bytes_per_s(&self) -> Option<f64> {
        self.per_s(*self.wal_bytes.seen()?)
    }

    /// CPU time of the server for each logical read, in microseconds.
    pub fn cpu_us_per_logical_read(&self) -> Option<f64> {
        let reads = self.logical_reads().filter(|reads| *reads > 0)?;
        Some(*self.cpu_us.seen()? as f64 / reads as f64)
    }

    /// Logical reads for each second that a core of the server was busy.
    pub fn liops_per_core(&self) -> Option<f64> {
        let cpu_us = self.cpu_us.seen().filter(|us| **us > 0)?;
        Some(self.logical_reads()? as f64 / *cpu_us as f64 * 1e6)
    }

    /// How many cores the server kept busy.
    pub fn cores_busy(&self) -> Option<f64> {
        self.per_s(*self.cpu_us.seen()?).map(|us| us / 1e6)
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
        let expected = self.expected.seen()?;
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
