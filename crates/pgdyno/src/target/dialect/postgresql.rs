//! PostgreSQL.

use super::{Dialect, Version, retries};

/// PostgreSQL, all supported versions.
pub const POSTGRESQL: Dialect = Dialect {
    name: "postgresql",
    title: "PostgreSQL",
    // COPY FREEZE is older, but only from 14 on it also marks the pages all-visible, which is what
    // spares the vacuum (release notes of 14); pgbench draws the line there too.
    copy_freeze_since: Some(Version::new(14, 0)),
    after_load: &["VACUUM ANALYZE {table}"],
    try_lock: Some("SELECT pg_try_advisory_lock({key})"),
    unlock: Some("SELECT pg_advisory_unlock({key})"),
    takes_no_writes: "SELECT CASE WHEN pg_is_in_recovery() THEN 'the server is a standby' \
        WHEN current_setting('transaction_read_only') = 'on' THEN 'the session is read only' END",
    has_grown: "SELECT pg_relation_size(to_regclass({literal})) > 0",
    truncate: "TRUNCATE {table}",
    vacuum: Some("VACUUM ANALYZE {table}"),
    // Without track_counts the counters stay at zero and say nothing.
    has_changed: Some(
        "SELECT n_dead_tup > 0 OR n_mod_since_analyze > 0 \
            OR current_setting('track_counts') = 'off' \
         FROM pg_stat_all_tables WHERE relid = to_regclass({literal})",
    ),
    checkpoint: Some("CHECKPOINT"),
    lock_timeout: Some("SET lock_timeout = {ms}"),
    retries: retries::POSTGRESQL,
};
