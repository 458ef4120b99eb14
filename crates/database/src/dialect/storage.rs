//! What a product counts of its storage layer: which views tell it, from which version on, and
//! when they do.

use super::Version;

/// The facts of one product.
#[derive(Debug, PartialEq, Eq)]
pub struct Storage {
    /// Blocks in a buffer pool of the server's own, whose reads can be counted; or what the product
    /// counts instead.
    pub buffers: Result<Buffers, &'static str>,
    /// What its nodes count instead, under the names that the product's figures have among what is
    /// observed; the first is what a statement is made of there.
    pub nodes: &'static [&'static str],
}

/// A buffer pool, its counters and how to ask for them.
#[derive(Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Query for the counters of the session's database: name and number a row. `blks_hit` and
    /// `blks_read` (found in the pool, not found) are among them.
    pub database: &'static str,
    /// Query for reads of tables and indexes: backend type, context, reads, bytes read, hits; by
    /// version, the latest first.
    pub io: &'static [Since],
    /// Why there is none of it.
    pub without_io: &'static str,
    /// Query for the bytes of log written so far, by version, the latest first.
    pub wal: &'static [Since],
    /// Statement after which this session's own counters are reported, from this version on; before,
    /// and without it, they come when it pleases the server.
    pub flush: Since,
    /// From this version on a query sees what has been counted; before, what it sees may be
    /// `stale_ms` old.
    pub current_since: Version,
    pub stale_ms: u64,
    /// Query for the bytes of a block.
    pub block_bytes: &'static str,
    /// Query for other client sessions in this database, this one left out.
    pub other_sessions: &'static str,
    /// Statement that runs `{statement}` and tells its plan and buffers, as JSON.
    pub explain: &'static str,
}

/// Something that there is from a version on.
#[derive(Debug, PartialEq, Eq)]
pub struct Since {
    pub since: Version,
    pub sql: &'static str,
}

impl Since {
    /// The latest that this version knows.
    pub fn of(list: &'static [Since], version: Version) -> Option<&'static str> {
        let known = list.iter().find(|entry| version >= entry.since);
        known.map(|entry| entry.sql)
    }
}

/// Documented (the cumulative statistics system); measured on 13, 15 and 18.
pub const POSTGRESQL: Storage = Storage {
    buffers: Ok(Buffers {
        database: "SELECT c.name, c.value FROM pg_stat_database d, LATERAL (VALUES \
            ('blks_hit', d.blks_hit), ('blks_read', d.blks_read), \
            ('tup_returned', d.tup_returned), ('tup_fetched', d.tup_fetched), \
            ('tup_updated', d.tup_updated), ('deadlocks', d.deadlocks)) AS c(name, value) \
            WHERE d.datname = current_database()",
        io: &[
            // Documented (release notes of 18): op_bytes has gone, and several blocks are one read.
            Since {
                since: Version::new(18, 0),
                sql: "SELECT backend_type, context, reads, read_bytes::bigint, hits \
                    FROM pg_stat_io WHERE object = 'relation' AND reads IS NOT NULL",
            },
            // Documented: new in 16; a read is of op_bytes.
            Since {
                since: Version::new(16, 0),
                sql: "SELECT backend_type, context, reads, reads * op_bytes, hits \
                    FROM pg_stat_io WHERE object = 'relation' AND reads IS NOT NULL",
            },
        ],
        without_io: "pg_stat_io came with PostgreSQL 16",
        wal: &[
            // Documented: new in 14. Sessions report it when they end, as they do the others.
            Since {
                since: Version::new(14, 0),
                sql: "SELECT wal_bytes::bigint FROM pg_stat_wal",
            },
            // Documented: new in 10 under this name. What the server has written for all sessions.
            Since {
                since: Version::new(10, 0),
                sql: "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint",
            },
        ],
        // Documented: new in 15.
        flush: Since {
            since: Version::new(15, 0),
            sql: "SELECT pg_stat_force_next_flush()",
        },
        // Documented (release notes of 15): they are in shared memory. Before, a process collects
        // them and writes them out when asked, at most every 500 ms.
        current_since: Version::new(15, 0),
        stale_ms: 600,
        block_bytes: "SELECT current_setting('block_size')",
        other_sessions: "SELECT pid FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid() \
            AND backend_type = 'client backend'",
        // TIMING OFF: times are not needed, and taking them is expensive on some hosts.
        explain: "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}",
    }),
    nodes: &[],
};

/// Documented: rows lie in an LSM tree (Pebble), whose counters are each node's own metrics.
pub const COCKROACHDB: Storage = Storage {
    buffers: Err(
        "CockroachDB has no buffer pool of PostgreSQL's: its storage counts seeks and blocks of an \
         LSM tree, in the metrics of its nodes",
    ),
    nodes: &[
        "crdb.seeks",
        "crdb.steps",
        "crdb.blocks.loaded",
        "crdb.blocks.cached",
        "crdb.cache.hits",
        "crdb.cache.misses",
        "crdb.disk.reads",
    ],
};

/// Documented: rows lie in DocDB, an LSM tree in the tablet servers; the counters of the layer that
/// comes from PostgreSQL say nothing of it.
pub const YUGABYTEDB: Storage = Storage {
    buffers: Err(
        "YugabyteDB's rows are not in PostgreSQL's buffers: its storage counts seeks and blocks of \
         an LSM tree, in the metrics of its tablet servers",
    ),
    // Read operations are requests to tablets: for a SELECT by the index one to the index's leader
    // and one to each leader of the table (the article's 58, 58 and 117 a second for 56 SELECTs).
    nodes: &[
        "yb.reads",
        "yb.leaders",
        "yb.seeks",
        "yb.nexts",
        "yb.cache.hits",
        "yb.cache.misses",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_asked_for_what_it_has() {
        let buffers = POSTGRESQL.buffers.as_ref().unwrap();
        let io = |major| Since::of(buffers.io, Version::new(major, 3));
        assert!(io(18).unwrap().contains("read_bytes"));
        assert!(io(17).unwrap().contains("op_bytes"));
        assert_eq!(io(15), None);
        let wal = |major| Since::of(buffers.wal, Version::new(major, 3)).unwrap();
        assert!(wal(14).contains("pg_stat_wal") && wal(13).contains("pg_current_wal_lsn"));
        assert!(COCKROACHDB.buffers.is_err() && YUGABYTEDB.buffers.is_err());
    }
}
