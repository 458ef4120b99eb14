//! YugabyteDB's YSQL. Everything here rests on documentation and on articles: nothing was run on a
//! real server.

use pgdyno_spec::{ErrorClass, ErrorRule};

use super::Retries;

pub const YUGABYTEDB: Retries = Retries {
    errors: ERRORS,
    // Documented (concurrency control): in REPEATABLE READ and SERIALIZABLE a transaction that has
    // failed so is begun again as a whole; READ COMMITTED retries statements by itself.
    savepoint: Err(
        "YugabyteDB has no such protocol: a transaction with a conflict is restarted from BEGIN",
    ),
    // Documented: pg_stat_statements has conflict_retries, read_restart_retries and total_retries by
    // statement, in versions that are not reported.
    counters: Err("YugabyteDB counts its retries by statement only, in pg_stat_statements"),
    // Documented (parameter page): the nearest thing is yb_max_query_layer_retries = 0, which shows
    // the conflicts that are there.
    inject: Err("YugabyteDB cannot inject transaction failures; with \
         yb_max_query_layer_retries = 0 it shows the conflicts that it would retry itself"),
};

const fn conflict(text: &'static str, reason: &'static str) -> ErrorRule {
    ErrorRule::retryable("40001", text, reason, ErrorClass::Serialization)
}

const ERRORS: &[ErrorRule] = &[
    conflict("Restart read required", "Restart read required"),
    conflict(
        "expired or aborted by a conflict",
        "expired or aborted by a conflict",
    ),
    conflict("kConflict", "conflict"),
    conflict("onflicts with higher priority transaction", "conflict"),
    conflict("MISMATCHED_SCHEMA", "schema version mismatch"),
    conflict("Catalog Version Mismatch", "schema version mismatch"),
    // Documented without its SQLSTATE.
    ErrorRule::retryable(
        "",
        "schema version mismatch",
        "schema version mismatch",
        ErrorClass::Serialization,
    ),
    conflict("due to concurrent update", "concurrent update"),
    conflict("", "serialization failure"),
    // A code of the product's own that leaked to clients before 2.31.0.0-b146.
    ErrorRule::retryable("YB003", "", "conflict (YB003)", ErrorClass::Serialization),
    ErrorRule::retryable("40P01", "", "deadlock detected", ErrorClass::Deadlock),
    ErrorRule::fatal("40003", "", "result unknown", ErrorClass::Ambiguous),
    ErrorRule::fatal("08007", "", "result unknown", ErrorClass::Ambiguous),
    ErrorRule::fatal("53", "", "out of resources", ErrorClass::Overload),
    ErrorRule::fatal("57P0", "", "administrator command", ErrorClass::Draining),
    ErrorRule::fatal("25006", "", "read-only transaction", ErrorClass::ReadOnly),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_have_their_reasons() {
        for (sqlstate, text, reason) in [
            (
                "40001",
                "All transparent retries exhausted. Restart read required at: read: { … }",
                "Restart read required",
            ),
            (
                "40001",
                "Transaction 6fa6 expired or aborted by a conflict",
                "expired or aborted by a conflict",
            ),
            (
                "40001",
                "Value write after transaction start: … kConflict",
                "conflict",
            ),
            (
                "40001",
                "The catalog snapshot used for this transaction has been invalidated: \
                 MISMATCHED_SCHEMA",
                "schema version mismatch",
            ),
            (
                "XX000",
                "schema version mismatch for table 000033e8",
                "schema version mismatch",
            ),
            ("YB003", "", "conflict (YB003)"),
            ("40P01", "deadlock detected", "deadlock detected"),
        ] {
            let rule = ErrorRule::find(ERRORS, sqlstate, text.as_bytes()).unwrap();
            assert_eq!((rule.reason, rule.is_retryable), (reason, true), "{text}");
        }
    }
}
