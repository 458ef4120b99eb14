//! PostgreSQL.

use super::Dialect;

/// PostgreSQL, all supported versions.
pub const POSTGRESQL: Dialect = Dialect {
    name: "postgresql",
    title: "PostgreSQL",
    // COPY FREEZE is older, but only from 14 on it also marks the pages all-visible, which is what
    // spares the vacuum (release notes of 14); pgbench draws the line there too.
    copy_freeze_since: Some(140_000),
    after_load: &["VACUUM ANALYZE {table}"],
    try_lock: Some("SELECT pg_try_advisory_lock({key})"),
    unlock: Some("SELECT pg_advisory_unlock({key})"),
};
