//! The experiments of `pgdyno slob sweep`: the active set from what surely fits in
//! shared_buffers to what fits nowhere, or the sessions, or the share of reads.
//!
//! Not for: carrying them out (`run/experiment/conduct.rs`), what came of it (`report::slob_sweep`).

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{Commented, Comments, Experiment, Kind, Order, scalar, seconds};
use crate::text;

/// What varies in a sweep of slob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlobVary {
    Size,
    Sessions,
    /// How much of the work is reads.
    Reads,
}

impl SlobVary {
    /// What varies in a point, as records have it.
    pub fn of(self, point: &Value) -> &Value {
        match self {
            Self::Size => &point["params"]["active"],
            Self::Sessions => &point["clients"],
            Self::Reads => &point["params"]["update_pct"],
        }
    }

    /// What varies in the points of a sweep, as its definition has them; `None` when they are not
    /// those of a sweep.
    pub fn in_points(points: &[Value]) -> Option<Self> {
        let first = points.first()?;
        let is_ours = |point: &Value| {
            let names = point["workload"].as_array().map(Vec::as_slice);
            names.is_some_and(|names| names == ["slob"]) && point["params"]["tab_prefix"] == PREFIX
        };
        let all = [Self::Size, Self::Sessions, Self::Reads];
        let vary = all.into_iter().find(|vary| {
            let is_it = |point: &Value| vary.of(point).is_u64();
            points.iter().all(is_it) && points.iter().any(|point| vary.of(point) != vary.of(first))
        });
        // A sweep of one size names it all the same.
        let vary = vary.or_else(|| first["params"]["active"].is_u64().then_some(Self::Size));
        vary.filter(|_| points.iter().all(is_ours))
    }
}

/// What is known of the server before anything is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub shared_buffers: u64,
    pub block: u64,
    /// Memory of its host, where pgdyno is on it.
    pub memory: Option<u64>,
    /// What its disk has room for, where pgdyno is on it.
    pub disk_free: Option<u64>,
    /// CPUs of its host, where pgdyno is on it.
    pub cpus: Option<usize>,
}

/// The largest set, and why it is no larger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Largest {
    pub bytes: u64,
    /// What a reader must know of it.
    pub remark: Option<String>,
}

/// Of the disk's free space this share may be filled.
const DISK_SHARE: f64 = 0.5;
/// So far beyond memory the largest set goes: a third of its reads are then the device's at least.
const BEYOND_MEMORY: f64 = 1.5;
/// Where the memory is not known, the largest set is so many times shared_buffers.
const BEYOND_BUFFERS: u64 = 8;
/// Multiples of shared_buffers, close where the end is expected.
const LADDER: [f64; 9] = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0];

impl Room {
    /// The largest set that is worth its time, at most `asked`.
    pub fn largest(&self, asked: Option<u64>) -> Largest {
        let wanted = match self.memory {
            Some(memory) => {
                let beyond = (memory as f64 * BEYOND_MEMORY) as u64;
                beyond.max(4 * self.shared_buffers)
            }
            None => BEYOND_BUFFERS * self.shared_buffers,
        };
        let bytes = asked.unwrap_or(wanted);
        if let Some(free) = self.disk_free.map(|free| (free as f64 * DISK_SHARE) as u64)
            && free < bytes
        {
            return Largest {
                bytes: free,
                remark: Some(format!(
                    "the largest set is {} instead of {}: it may use half of the disk's free space",
                    text::bytes(free as f64),
                    text::bytes(bytes as f64)
                )),
            };
        }
        let remark = match (asked, self.memory) {
            (None, None) => Some(format!(
                "pgdyno does not see the memory of the server's host, so the largest set is {}: \
                 give --max-size to go beyond its page cache",
                text::bytes(bytes as f64)
            )),
            (Some(_), Some(memory)) if bytes < memory => Some(format!(
                "the largest set is {} and memory {}: where the page cache ends will not be seen",
                text::bytes(bytes as f64),
                text::bytes(memory as f64)
            )),
            _ => None,
        };
        Largest { bytes, remark }
    }

    /// The sets' sizes, in blocks of one row each, the smallest first.
    pub fn sizes(&self, largest: u64) -> Vec<u64> {
        let mut sizes: Vec<u64> = LADDER
            .iter()
            .map(|times| (self.shared_buffers as f64 * times) as u64)
            .collect();
        let mut size = 8 * self.shared_buffers.max(1 << 20);
        while size < largest {
            sizes.push(size);
            size = size.saturating_mul(2);
        }
        if let Some(memory) = self.memory {
            let around = [0.75, 1.0, 1.25];
            sizes.extend(around.map(|times| (memory as f64 * times) as u64));
        }
        sizes.push(largest);
        sizes.retain(|size| *size <= largest);
        let mut blocks: Vec<u64> = sizes
            .into_iter()
            .map(|size| (size / self.block.max(1)).max(BLOCKS_MIN))
            .collect();
        blocks.sort_unstable();
        // Neighbours too close to differ.
        blocks.dedup_by(|next, before| *next as f64 <= *before as f64 * 1.05);
        blocks
    }
}

/// A smaller table is none that the method is about.
const BLOCKS_MIN: u64 = 1024;

#[derive(Debug, Clone)]
pub struct SlobSweep {
    pub vary: SlobVary,
    /// Rows of the table, a block each.
    pub blocks: u64,
    /// Rows that are touched, where that does not vary.
    pub active: u64,
    /// The sizes, in rows, where they vary.
    pub sizes: Vec<u64>,
    /// Sessions, or those that are compared.
    pub sessions: Vec<u64>,
    /// Shares of updates among the statements, in percent, where they vary.
    pub updates: Vec<u64>,
    /// How long a trial measures.
    pub duration: Duration,
    /// How long sessions work before.
    pub warmup: Duration,
    pub repeats: u32,
    /// Where random numbers come from.
    pub seed: Option<i64>,
    /// Other parameters of the pack, with their values as they were typed.
    pub params: Vec<(String, String)>,
}

/// Tables of the sweep's own: those that a user has loaded are not touched.
pub const PREFIX: &str = "slob_sweep";

impl SlobSweep {
    pub fn experiment(&self) -> Commented {
        let (name, heading) = match self.vary {
            SlobVary::Size => (
                "slob-size",
                "How far the caches reach, and what a read costs on each level.",
            ),
            SlobVary::Sessions => (
                "slob-sessions",
                "How logical reads grow with the sessions that make them.",
            ),
            SlobVary::Reads => ("slob-reads", "What updates among the reads cost."),
        };
        let mut experiment = Experiment::named(name)
            .kind(Kind::Slob)
            .fix("workload", ["slob"])
            .fix("duration", seconds(self.duration))
            .fix("warmup", seconds(self.warmup))
            .fix("params.tab_prefix", PREFIX)
            .fix("params.scale", self.blocks)
            .repeats(self.repeats)
            .order(Order::Sequential)
            .seed(self.seed)
            .settle(Duration::ZERO);
        for (name, value) in &self.params {
            experiment = experiment.fix(format!("params.{name}"), scalar(value));
        }
        if self.vary != SlobVary::Sessions {
            let sessions = self.sessions.first().copied().unwrap_or(1);
            experiment = experiment.fix("clients", sessions);
        }
        if self.vary != SlobVary::Size {
            experiment = experiment.fix("params.active", self.active);
        }
        experiment = match self.vary {
            SlobVary::Size => experiment.axis("params.active", self.sizes.clone()),
            SlobVary::Sessions => experiment.axis("clients", self.sessions.clone()),
            SlobVary::Reads => experiment.axis("params.update_pct", self.updates.clone()),
        };
        Commented {
            experiment,
            comments: Comments::heading(heading)
                .on(
                    "order",
                    "the smallest set first: what is in memory for it serves the next one too",
                )
                .on("params.scale", "loaded once"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1 << 30;

    fn room() -> Room {
        Room {
            shared_buffers: GB / 8,
            block: 8192,
            memory: Some(16 * GB),
            disk_free: Some(100 * GB),
            cpus: Some(4),
        }
    }

    #[test]
    fn sizes_go_from_a_quarter_of_shared_buffers_to_beyond_memory() {
        let largest = room().largest(None);
        assert_eq!(
            largest,
            Largest {
                bytes: 24 * GB,
                remark: None
            }
        );
        let sizes = room().sizes(largest.bytes);
        assert_eq!(sizes[..4], [4096, 8192, 12_288, 16_384]);
        assert_eq!(sizes.last(), Some(&(24 * GB / 8192)));
        assert!(
            sizes.contains(&(16 * GB / 8192)) && sizes.is_sorted(),
            "{sizes:?}"
        );
        assert!(sizes.len() < 24, "{sizes:?}");
    }

    #[test]
    fn the_cap_of_the_largest_set_is_named() {
        let reported = |room: Room, asked| {
            let largest = room.largest(asked);
            (largest.bytes, largest.remark.unwrap_or_default())
        };
        let full = Room {
            disk_free: Some(10 * GB),
            ..room()
        };
        let (bytes, why) = reported(full, None);
        assert_eq!(bytes, 5 * GB);
        assert!(
            why.contains("5 GB instead of 24 GB: it may use half"),
            "{why}"
        );
        let (bytes, why) = reported(room(), Some(GB));
        assert_eq!(bytes, GB);
        assert!(
            why.contains("the page cache ends will not be seen"),
            "{why}"
        );
        let remote = Room {
            memory: None,
            disk_free: None,
            cpus: None,
            ..room()
        };
        let (bytes, why) = reported(remote, None);
        assert_eq!(bytes, GB);
        assert!(why.contains("--max-size"), "{why}");
        assert_eq!(reported(remote, Some(3 * GB)), (3 * GB, String::new()));
        // A cap below the ladder leaves what fits under it.
        assert_eq!(room().sizes(GB / 16), [4096, 8192]);
        assert_eq!(
            Room {
                shared_buffers: 0,
                ..remote
            }
            .sizes(1),
            [1024]
        );
    }
}
