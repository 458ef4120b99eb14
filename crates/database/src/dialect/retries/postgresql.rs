//! PostgreSQL. The texts are those of its source (`src/backend/utils/errcodes.txt` for SQLSTATEs);
//! servers that speak another language than English are known by the SQLSTATE alone.

use pgdyno_spec::{ErrorClass, ErrorRule};

use super::{Counters, Retries};

pub const POSTGRESQL: Retries = Retries {
    errors: ERRORS,
    // Documented ("Transaction Isolation"): a transaction keeps its snapshot until its end.
    savepoint: Err(
        "PostgreSQL has no such protocol: a savepoint keeps the transaction's snapshot, with which \
         the same conflict comes again",
    ),
    counters: Ok(Counters {
        // Measured. Serialization failures are counted nowhere apart from other rollbacks;
        // `conflicts` are queries that a standby's recovery cancelled.
        query: "SELECT name, value FROM pg_stat_database, LATERAL (VALUES ('deadlocks', deadlocks), \
                ('conflicts', conflicts), ('xact_rollback', xact_rollback)) AS c (name, value) \
                WHERE datname = current_database()",
        source: "pg_stat_database",
        restarts: "",
    }),
    inject: Err("PostgreSQL cannot inject transaction failures"),
};

/// Also where others begin that are made from PostgreSQL.
const ERRORS: &[ErrorRule] = &[
    // Measured: REPEATABLE READ and SERIALIZABLE.
    ErrorRule::retryable(
        "40001",
        "due to concurrent update",
        "concurrent update",
        ErrorClass::Serialization,
    ),
    ErrorRule::retryable(
        "40001",
        "due to concurrent delete",
        "concurrent delete",
        ErrorClass::Serialization,
    ),
    // Measured: SERIALIZABLE alone (its DETAIL is in the message that is kept).
    ErrorRule::retryable(
        "40001",
        "read/write dependencies among transactions",
        "read/write dependencies",
        ErrorClass::Serialization,
    ),
    // Source (procarray, standby): a query that recovery cancels.
    ErrorRule::retryable(
        "40001",
        "conflict with recovery",
        "conflict with recovery",
        ErrorClass::Serialization,
    ),
    ErrorRule::retryable(
        "40001",
        "",
        "serialization failure",
        ErrorClass::Serialization,
    ),
    // Measured.
    ErrorRule::retryable("40P01", "", "deadlock detected", ErrorClass::Deadlock),
    // errcodes.txt: statement_completion_unknown, transaction_resolution_unknown.
    ErrorRule::fatal("40003", "", "result unknown", ErrorClass::Ambiguous),
    ErrorRule::fatal("08007", "", "result unknown", ErrorClass::Ambiguous),
    ErrorRule::fatal("53300", "", "too many connections", ErrorClass::Overload),
    ErrorRule::fatal("53100", "", "disk full", ErrorClass::Overload),
    ErrorRule::fatal("53200", "", "out of memory", ErrorClass::Overload),
    ErrorRule::fatal("53", "", "out of resources", ErrorClass::Overload),
    // Measured (a warning): the same, and the session ends.
    ErrorRule::fatal(
        "57P01",
        "canceling the wait for synchronous replication",
        "committed without its synchronous standby",
        ErrorClass::Ambiguous,
    ),
    // Measured: pg_terminate_backend and a fast shutdown say so.
    ErrorRule::fatal("57P01", "", "administrator command", ErrorClass::Draining),
    ErrorRule::fatal(
        "57P02",
        "",
        "crash of another process",
        ErrorClass::Draining,
    ),
    ErrorRule::fatal(
        "57P03",
        "",
        "takes no connections now",
        ErrorClass::Draining,
    ),
    // Measured.
    ErrorRule::fatal("25006", "", "read-only transaction", ErrorClass::ReadOnly),
    // Measured (a warning, after which COMMIT is answered as always): the wait for synchronous standbys was
    // cancelled, and the transaction is committed here and perhaps nowhere else.
    ErrorRule::fatal(
        "01000",
        "canceling wait for synchronous replication",
        "committed without its synchronous standby",
        ErrorClass::Ambiguous,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_named_from_the_message() {
        for (sqlstate, text, reason, is_retryable) in [
            (
                "40001",
                "could not serialize access due to concurrent update",
                "concurrent update",
                true,
            ),
            (
                "40001",
                "could not serialize access due to read/write dependencies among transactions",
                "read/write dependencies",
                true,
            ),
            (
                "40001",
                "konnte Zugriff nicht serialisieren",
                "serialization failure",
                true,
            ),
            ("40P01", "Verklemmung entdeckt", "deadlock detected", true),
            (
                "53300",
                "sorry, too many clients already",
                "too many connections",
                false,
            ),
            ("53400", "", "out of resources", false),
            ("57P01", "", "administrator command", false),
            (
                "57P01",
                "canceling the wait for synchronous replication and terminating connection due to \
                 administrator command",
                "committed without its synchronous standby",
                false,
            ),
            (
                "01000",
                "canceling wait for synchronous replication due to user request",
                "committed without its synchronous standby",
                false,
            ),
            ("25006", "", "read-only transaction", false),
        ] {
            let rule = ErrorRule::find(ERRORS, sqlstate, text.as_bytes()).unwrap();
            assert_eq!((rule.reason, rule.is_retryable), (reason, is_retryable));
        }
        assert_eq!(ErrorRule::find(ERRORS, "23505", b"duplicate key"), None);
    }
}
