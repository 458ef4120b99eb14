//! YugabyteDB's YSQL. Every fact rests on documentation and articles: nothing here was run on a real
//! server.

use super::{Dialect, retries};

/// YugabyteDB, from 2.8 on.
pub const YUGABYTEDB: Dialect = Dialect {
    name: "yugabytedb",
    title: "YugabyteDB",
    // Documented (2025.2): COPY FREEZE is ignored with a notice.
    copy_freeze_since: None,
    // Documented: VACUUM does nothing and says so; ANALYZE is what counts rows.
    after_load: &["ANALYZE {table}"],
    // Documented (advisory locks): there from 2025.1 on, off before, where asking is an error.
    try_lock: None,
    unlock: None,
    takes_no_writes: "SELECT CASE WHEN current_setting('transaction_read_only') = 'on' \
        THEN 'the session is read only' END",
    // pg_relation_size knows nothing of what lies in DocDB.
    has_grown: "SELECT EXISTS (SELECT 1 FROM {table})",
    // Documented: since 1.2.
    truncate: "TRUNCATE {table}",
    // Documented: VACUUM does nothing.
    vacuum: None,
    has_changed: None,
    // Documented: storage is not PostgreSQL's; what CHECKPOINT does is not said.
    checkpoint: None,
    // Inherited from PostgreSQL.
    lock_timeout: Some("SET lock_timeout = {ms}"),
    retries: retries::YUGABYTEDB,
};
