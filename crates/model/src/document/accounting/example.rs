//! What a trial's accounting may look like: for tests of what reports make of it.

use std::collections::BTreeMap;

use super::{Accounting, BufferCounters, DeviceUse, Expected, UnitCount};
use crate::Fact;

pub fn counters(pairs: [(&str, u64); 2]) -> BTreeMap<String, u64> {
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Two sessions that read for ten seconds on a server whose every figure is known.
pub fn example() -> Accounting {
    let unknown = || "not requested".to_owned();
    Accounting {
        elapsed_us: 10_000_000,
        sessions: 2,
        cpus: Some(4),
        buffers: Fact::Known(BufferCounters {
            database: "d".to_owned(),
            block_bytes: 8192,
            before: counters([("blks_hit", 1000), ("blks_read", 500)]),
            after: counters([("blks_hit", 751_000), ("blks_read", 250_500)]),
        }),
        io: Fact::Unknown(unknown()),
        wal_bytes: Fact::Known(5_000_000),
        device: Fact::Known(DeviceUse {
            name: "vda".to_owned(),
            reads: 1000,
            read_bytes: 8_192_000,
            writes: 0,
            written_bytes: 0,
        }),
        cpu_us: Fact::Known(16_000_000),
        units: vec![UnitCount {
            kind: "select".to_owned(),
            count: 3900,
            rows_each: 255,
        }],
        expected: Fact::Known(Expected {
            kind: "select".to_owned(),
            count: 100,
            mean: 256.0,
            min: 255,
            max: 260,
            plans: vec![("Index Scan".to_owned(), 100)],
        }),
        nodes: Vec::new(),
    }
}
