//! What a product tells of the parts of a commit and of the work behind a statement: which setting
//! leaves out the wait for the disk, and which of its counters to look at.

use super::Version;

/// The facts of one product.
#[derive(Debug, PartialEq, Eq)]
pub struct Probes {
    /// The setting that decides whether a commit waits until it is durable, or why there is none.
    pub wait: Result<Wait, &'static str>,
    /// Setting under which the server takes the time of its syncs (name, value); not every role may
    /// set it. `None` where there is none.
    pub timing: Option<(&'static str, &'static str)>,
    /// Counters by version, the latest first.
    pub counters: &'static [Counters],
    pub without_counters: &'static str,
    /// The series, in milliseconds by node, that says how long making a log durable takes, where an
    /// instrument reads one.
    pub sync_series: Option<&'static str>,
    /// What a read by primary key may take on good hardware beside the way there and back, in
    /// microseconds, where one server does it alone; `None`: nodes that agree do it, which no single
    /// host is a yardstick for.
    pub work_us: Option<u32>,
}

/// A setting of the session.
#[derive(Debug, PartialEq, Eq)]
pub struct Wait {
    pub setting: &'static str,
    /// The value with which a commit is durable when it is answered.
    pub on: &'static str,
    /// The value with which it becomes durable a moment later.
    pub off: &'static str,
}

/// A query for counters: a row each, name and whole number. `syncs` and `sync_us` (of the log, by
/// sessions of clients as far as the product tells them apart), `blocks_read` and `blocks_hit` (of
/// the session's database; read: not found in the server's own cache), `scans` and `rows_scanned`
/// (sequential scans of its users' tables).
#[derive(Debug, PartialEq, Eq)]
pub struct Counters {
    /// The first version that has them.
    pub since: Version,
    /// Where they are from, for people.
    pub source: &'static str,
    pub sql: &'static str,
}

impl Probes {
    /// The counters of this version.
    pub fn counters(&self, version: Version) -> Result<&'static Counters, &'static str> {
        let mut counters = self.counters.iter();
        counters
            .find(|counters| version >= counters.since)
            .ok_or(self.without_counters)
    }
}

/// What every version counts of the session's database.
macro_rules! of_database {
    () => {
        "SELECT 'blocks_read', blks_read FROM pg_stat_database \
         WHERE datname = current_database() \
         UNION ALL SELECT 'blocks_hit', blks_hit FROM pg_stat_database \
         WHERE datname = current_database() \
         UNION ALL SELECT 'scans', coalesce(sum(seq_scan), 0)::bigint \
         FROM pg_stat_user_tables \
         UNION ALL SELECT 'rows_scanned', coalesce(sum(seq_tup_read), 0)::bigint \
         FROM pg_stat_user_tables"
    };
}

/// Documented (the cumulative statistics system), and measured on 15 and 18.
pub const POSTGRESQL: Probes = Probes {
    // Documented (Asynchronous Commit): everything else is done as ever.
    wait: Ok(Wait {
        setting: "synchronous_commit",
        on: "on",
        off: "off",
    }),
    // Documented: since 14; before, connecting with it fails. For superusers, and from 15 on for
    // whom it was granted to.
    timing: Some(("track_wal_io_timing", "on")),
    counters: &[
        // Documented (release notes of 18): the times of WAL have moved there. By 18 the sync of a
        // commit is counted for the backend that makes it.
        Counters {
            since: Version::new(18, 0),
            source: "pg_stat_io",
            sql: concat!(
                "SELECT 'syncs', coalesce(sum(fsyncs), 0)::bigint FROM pg_stat_io \
                  WHERE object = 'wal' AND backend_type = 'client backend' \
                  UNION ALL SELECT 'sync_us', (coalesce(sum(fsync_time), 0) * 1000)::bigint \
                  FROM pg_stat_io WHERE object = 'wal' AND backend_type = 'client backend' \
                  UNION ALL ",
                of_database!()
            ),
        },
        Counters {
            since: Version::new(14, 0),
            source: "pg_stat_wal",
            sql: concat!(
                "SELECT 'syncs', wal_sync FROM pg_stat_wal \
                  UNION ALL SELECT 'sync_us', (wal_sync_time * 1000)::bigint FROM pg_stat_wal \
                  UNION ALL ",
                of_database!()
            ),
        },
        Counters {
            since: Version::new(0, 0),
            source: "pg_stat_database",
            sql: of_database!(),
        },
    ],
    without_counters: "this version has none",
    sync_series: None,
    // Measured: 0.02 to 0.1 ms on the hosts of 2020 to 2025; the rest is for a busy one.
    work_us: Some(500),
};

/// Documented: a commit is answered when a majority of the range's copies have synced it.
pub const COCKROACHDB: Probes = Probes {
    wait: Err("CockroachDB has no setting for a commit that does not wait"),
    timing: None,
    counters: &[],
    without_counters: "CockroachDB tells nothing of its syncs over SQL that could be asked by any role",
    // Captured (19.1): raft.process.logcommit.latency, by store, on a node's page of metrics.
    sync_series: Some("crdb.raft.log.mean"),
    work_us: None,
};

/// Documented: synchronous_commit is taken and means nothing, as DocDB has a log of its own.
pub const YUGABYTEDB: Probes = Probes {
    wait: Err("in YugabyteDB synchronous_commit means nothing: rows are not in PostgreSQL's log"),
    timing: None,
    counters: &[],
    without_counters: "YugabyteDB's syncs are counted by its tablet servers, not in SQL",
    sync_series: None,
    work_us: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_the_latest_counters_that_it_knows() {
        let source = |major| {
            let counters = POSTGRESQL.counters(Version::new(major, 2));
            counters.unwrap().source
        };
        assert_eq!(source(18), "pg_stat_io");
        assert_eq!(source(17), "pg_stat_wal");
        assert_eq!(source(13), "pg_stat_database");
        assert!(COCKROACHDB.counters(Version::new(25, 1)).is_err());
    }
}
