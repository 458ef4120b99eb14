//! Servers that speak PostgreSQL's protocol and are neither PostgreSQL nor another product that pgdyno knows. Scripts
//! run on them; of their catalogues nothing is asked, and what they say of them is not acted on.

use super::cluster::Cluster;
use super::{Dialect, POSTGRESQL, Processes, Storage, TableFacts, Version};
use super::{Probes, Promises, Retries, metrics::Metrics};

/// A query that tells nothing.
const NOTHING: &str = "SELECT NULL";
const NOT_KNOWN: &str = "what this server has of it is not known";

/// How to speak to all of them.
pub const OTHER: Dialect = Dialect {
    name: "other",
    title: "this server",
    tried_until: Some(Version::new(0, 0)),
    tables: TableFacts {
        transactional_ddl: false,
        has_fillfactor: false,
        copy_freeze_since: None,
        load_settings: &[],
        splits_need: None,
        ..POSTGRESQL.tables
    },
    find_tables: NOTHING,
    find_table: NOTHING,
    table_shape: None,
    after_load: &[],
    after_settled_load: &[],
    rows_and_blocks: None,
    try_lock: None,
    unlock: None,
    takes_no_writes: NOTHING,
    is_standby: None,
    database_size: None,
    has_postgresqls_settings: false,
    changed_settings: NOTHING,
    has_grown: NOTHING,
    vacuum: None,
    vacuum_unless_locked: None,
    has_changed: None,
    flush_statistics: None,
    checkpoint: None,
    disturbances: super::disturbances::OTHER,
    lock_timeout: None,
    gives_up_lost_clients: &[],
    waits_for: None,
    session_limits: None,
    lacks: &[],
    cluster: Cluster {
        nodes: &[],
        without_nodes: NOT_KNOWN,
        this_node: NOTHING,
        identity: NOTHING,
        replication: &[],
        without_replication: NOT_KNOWN,
        standbys: None,
        primary: None,
        wal_position: None,
        wal_replayed: None,
        follower_reads: Err(NOT_KNOWN),
        isolation: &[],
        isolation_is: &[],
        views: &[],
        differs: &[],
        ..super::cluster::POSTGRESQL
    },
    probes: Probes {
        wait: Err(NOT_KNOWN),
        timing: None,
        counters: &[],
        without_counters: NOT_KNOWN,
        sync_series: None,
        work_us: None,
    },
    server_views: &[],
    retries: Retries {
        savepoint: Err(NOT_KNOWN),
        counters: Err(NOT_KNOWN),
        inject: Err(NOT_KNOWN),
        ..super::retries::POSTGRESQL
    },
    storage: Storage {
        buffers: Err(NOT_KNOWN),
        nodes: &[],
    },
    explain: None,
    processes: Processes {
        names: &[],
        of_session: None,
        data_options: &[],
    },
    metrics: Metrics {
        pages: &[],
        command_lines: None,
    },
    promises: Promises {
        levels: &[],
        substitutes: &[],
        standbys: None,
    },
    ..POSTGRESQL
};

/// A product, the words in `version()` by which it is known, and the word before its own version.
struct Known {
    name: &'static str,
    word: &'static str,
    version_after: &'static str,
}

/// Measured: H2 2.5, QuestDB 9.0. Documented, each in its source or its manual: immudb, Materialize, CrateDB,
/// Redshift. DuckDB says no name of its own (measured: buenavista with 1.1) and is asked for it.
const KNOWN: &[Known] = &[
    Known {
        name: "QuestDB",
        word: "QuestDB",
        version_after: "QuestDB ",
    },
    Known {
        name: "H2",
        word: " using H2 ",
        version_after: " using H2 ",
    },
    Known {
        name: "immudb",
        word: "immudb",
        version_after: "immudb ",
    },
    Known {
        name: "Materialize",
        word: "(Materialize ",
        version_after: "(Materialize v",
    },
    Known {
        name: "CrateDB",
        word: "CrateDB ",
        version_after: "CrateDB ",
    },
    Known {
        name: "Redshift",
        word: "Redshift ",
        version_after: "Redshift ",
    },
    Known {
        name: "DuckDB",
        word: "DuckDB",
        version_after: "DuckDB v",
    },
];

/// Name and version of the product that says this of itself; `None` where it is none of these.
pub(super) fn named(text: &str) -> Option<String> {
    let known = KNOWN.iter().find(|known| text.contains(known.word))?;
    let version = text.split_once(known.version_after);
    let version = version.map_or("", |(_, rest)| rest);
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
    let version = version[..end.unwrap_or(version.len())].trim_end_matches('.');
    match version {
        "" => Some(known.name.to_owned()),
        version => Some(format!("{} {version}", known.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_named_by_what_they_say() {
        for (text, name) in [
            (
                "PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB",
                Some("QuestDB"),
            ),
            (
                "PostgreSQL 8.2.23 server protocol using H2 2.5.252 (2026-09-23)",
                Some("H2 2.5.252"),
            ),
            ("PostgreSQL 14.0 (immudb compatible)", Some("immudb")),
            (
                "PostgreSQL 9.5 on x86_64-unknown-linux-gnu (Materialize v0.130.1)",
                Some("Materialize 0.130.1"),
            ),
            (
                "CrateDB 5.5.0 (built 1a2b3c/NA, Linux 5.10 amd64, OpenJDK)",
                Some("CrateDB 5.5.0"),
            ),
            (
                "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc, Redshift 1.0.12103",
                Some("Redshift 1.0.12103"),
            ),
            ("DuckDB v1.1.3", Some("DuckDB 1.1.3")),
            ("PostgreSQL 18.1 on x86_64-pc-linux-gnu", None),
            ("v1.1.3", None),
        ] {
            assert_eq!(named(text).as_deref(), name, "{text}");
        }
    }
}
