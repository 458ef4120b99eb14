//! CockroachDB. "Captured" facts come from a real server of February 2019
//! (v19.1.0-alpha.20190219); "documented" ones from CockroachDB's own documentation of the version
//! named.

use super::{Dialect, retries};

/// CockroachDB, from 19.1 on.
pub const COCKROACHDB: Dialect = Dialect {
    name: "cockroachdb",
    title: "CockroachDB",
    // Documented (COPY, v24.3): FREEZE is not supported.
    copy_freeze_since: None,
    // Captured: VACUUM is a syntax error. Statistics are made by the server itself.
    after_load: &[],
    // Captured: pg_try_advisory_lock is no function that 19.1 knows. Documented (v21 and later): it
    // is there and does nothing, which is no lock either.
    try_lock: None,
    unlock: None,
    takes_no_writes: "SELECT CASE current_setting('default_transaction_read_only') \
        WHEN 'on' THEN 'the session is read only' END",
    // There are no files whose size could be asked.
    has_grown: "SELECT CASE WHEN EXISTS (SELECT 1 FROM {table}) THEN 't' ELSE 'f' END",
    truncate: "TRUNCATE {table}",
    // Captured: a syntax error.
    vacuum: None,
    has_changed: None,
    // Captured: a syntax error.
    checkpoint: None,
    lock_timeout: None,
    retries: retries::COCKROACHDB,
};
