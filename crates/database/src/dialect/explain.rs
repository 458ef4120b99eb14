//! What a product tells of one statement's time: how much of it is its storage layer's, and how much it
//! waited for other transactions.

use super::Version;

/// A form of EXPLAIN that runs a statement, and what the lines of its answer are called. Of several names the
/// first that is there counts; lines of one name add up, but for `execution`, whose first line counts.
#[derive(Debug, PartialEq, Eq)]
pub struct Times {
    /// The first version whose answer has these lines.
    pub since: Version,
    /// Runs `{statement}` and tells, a line a row.
    pub statement: &'static str,
    pub execution: &'static str,
    /// What the storage layer is called.
    pub layer: &'static str,
    /// Time in the storage layer, of all its requests together: those that run side by side add up to more
    /// than the execution.
    pub storage: &'static [&'static str],
    /// Time spent waiting for other transactions.
    pub contention: &'static [&'static str],
    /// Rows that the storage layer read.
    pub rows: &'static [&'static str],
}

/// Documented (EXPLAIN, 18): it tells times of a plan's nodes, and has no layer of storage apart.
pub const POSTGRESQL: Option<Times> = None;

/// Documented (EXPLAIN ANALYZE, v21.1 to v25.4).
pub const COCKROACHDB: Option<Times> = Some(Times {
    // Documented (EXPLAIN ANALYZE, v20.2): before, it answers with a link to a picture of the plan.
    since: Version::new(21, 1),
    statement: "EXPLAIN ANALYZE {statement}",
    execution: "execution time",
    layer: "KV",
    storage: &["cumulative time spent in KV", "KV time"],
    // Documented: the sum is reported where there was any, and each scan tells its own.
    contention: &[
        "cumulative time spent due to contention",
        "KV contention time",
    ],
    // Documented: `read` in the first versions, `decoded` in later ones.
    rows: &[
        "rows decoded from KV",
        "rows read from KV",
        "KV rows decoded",
        "KV rows read",
    ],
});

/// Documented (EXPLAIN, v2.20 to v2025.2).
pub const YUGABYTEDB: Option<Times> = Some(Times {
    // Documented (yugabyte-db issue 12676, whose last part came with 2.20): before, lines are missing.
    since: Version::new(2, 20),
    statement: "EXPLAIN (ANALYZE, DIST) {statement}",
    execution: "Execution Time",
    layer: "storage",
    // Documented: the second has reads of the catalog in it.
    storage: &["Storage Read Execution Time", "Storage Execution Time"],
    // Documented: no line tells it.
    contention: &[],
    rows: &["Storage Rows Scanned"],
});
