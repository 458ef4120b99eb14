//! CockroachDB. "Captured" is what a real server of February 2019 answered
//! (v19.1.0-alpha.20190219); "documented" is its transaction retry error reference, v26.2, unless
//! another page is named.

use pgdyno_spec::{ErrorClass, ErrorRule};

use super::super::Version;
use super::{Counters, Inject, Retries};

pub const COCKROACHDB: Retries = Retries {
    errors: ERRORS,
    // Captured: goes back, replays, and RELEASE commits. Measured on 19.1 in all query modes: tpcb with
    // conflicts at RELEASE leaves balances that agree. Documented: all versions.
    savepoint: Ok(()),
    counters: Ok(Counters {
        // Captured: the names, in what the server's metrics page shows (with `_` for `.`). Measured on
        // 19.1: their sum is the clients' retries and the transactions they gave up, to the last one.
        // Names that a version does not have are not there. Documented (crdb_internal): from 26.1 on the
        // table is closed unless `allow_unsafe_internals` is on, which the server then says.
        query: "SELECT name, sum(value)::INT FROM crdb_internal.node_metrics \
                WHERE name LIKE 'txn.restarts.%' GROUP BY name ORDER BY name",
        source: "crdb_internal.node_metrics",
        // Captured, as above.
        restarts: "txn.restarts.",
    }),
    // Documented (session variables, v22.1; not on the page of v21.2): every statement of an
    // explicit transaction fails, and after the third error one that has gone back to the savepoint
    // is let through. Never run: no such version was at hand.
    inject: Ok(Inject {
        setting: "inject_retry_errors_enabled",
        since: Version::new(22, 1),
    }),
};

const fn restart(text: &'static str) -> ErrorRule {
    ErrorRule::retryable("40001", text, text, ErrorClass::Serialization)
}

const ERRORS: &[ErrorRule] = &[
    // Captured.
    restart("RETRY_WRITE_TOO_OLD"),
    restart("RETRY_SERIALIZABLE"),
    restart("ABORT_REASON_PUSHER_ABORTED"),
    restart("ABORT_REASON_ABORT_SPAN"),
    // Documented.
    restart("RETRY_ASYNC_WRITE_FAILURE"),
    restart("RETRY_COMMIT_DEADLINE_EXCEEDED"),
    restart("ReadWithinUncertaintyInterval"),
    restart("ABORT_REASON_ABORTED_RECORD_FOUND"),
    restart("ABORT_REASON_CLIENT_REJECT"),
    restart("ABORT_REASON_NEW_LEASE_PREVENTS_TXN"),
    restart("ABORT_REASON_TIMESTAMP_CACHE_REJECTED"),
    ErrorRule::retryable("40001", "inject", "injected", ErrorClass::Serialization),
    // Captured: deadlocks too are 40001. Reasons that are not listed here.
    ErrorRule::retryable(
        "40001",
        "",
        "transaction restart",
        ErrorClass::Serialization,
    ),
    // Documented (common errors, v25.4): "result is ambiguous".
    ErrorRule::fatal("40003", "", "result is ambiguous", ErrorClass::Ambiguous),
    // An article: "memory budget exceeded".
    ErrorRule::fatal("53200", "", "memory budget exceeded", ErrorClass::Overload),
    // Documented (common errors, v25.4). Its SQLSTATE is not reported.
    ErrorRule::fatal(
        "",
        "split failed while applying backpressure",
        "backpressure of a hot row",
        ErrorClass::Overload,
    ),
    // Source: the licence's limit; SQLSTATE not documented.
    ErrorRule::fatal(
        "",
        "maximum number of concurrently open transactions",
        "throttled by the licence",
        ErrorClass::Overload,
    ),
    ErrorRule::fatal("53", "", "out of resources", ErrorClass::Overload),
    // Captured (19.1, node-drained): with 57P01 at the start of a session; what an existing session gets is
    // "context canceled", with 57P01 too.
    ErrorRule::fatal(
        "",
        "server is not accepting clients",
        "draining",
        ErrorClass::Draining,
    ),
    ErrorRule::fatal(
        "",
        "server is shutting down",
        "draining",
        ErrorClass::Draining,
    ),
    ErrorRule::fatal("57P01", "", "draining", ErrorClass::Draining),
    ErrorRule::fatal("25006", "", "read-only transaction", ErrorClass::ReadOnly),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of the captured server, shortened behind what tells the reason.
    const CAPTURED: &[(&str, &str)] = &[
        (
            "restart transaction: TransactionRetryWithProtoRefreshError: TransactionRetryError: \
             retry txn (RETRY_WRITE_TOO_OLD): \"sql txn\" id=57f1c297 key=/Table/73/1/1/0 rw=true",
            "RETRY_WRITE_TOO_OLD",
        ),
        (
            "restart transaction: TransactionRetryWithProtoRefreshError: TransactionRetryError: \
             retry txn (RETRY_SERIALIZABLE): \"sql txn\" id=39bdcf37 key=/Table/73/1/2/0 rw=true",
            "RETRY_SERIALIZABLE",
        ),
        (
            "restart transaction: TransactionRetryWithProtoRefreshError: \
             TransactionAbortedError(ABORT_REASON_PUSHER_ABORTED): \"sql txn\" id=79498a21",
            "ABORT_REASON_PUSHER_ABORTED",
        ),
        (
            "restart transaction: TransactionRetryWithProtoRefreshError: \
             TransactionAbortedError(ABORT_REASON_ABORT_SPAN): \"sql txn\" id=ca521a54",
            "ABORT_REASON_ABORT_SPAN",
        ),
    ];

    #[test]
    fn the_conflicts_of_a_real_server_have_their_reasons() {
        for (text, reason) in CAPTURED {
            let rule = ErrorRule::find(ERRORS, "40001", text.as_bytes()).unwrap();
            assert_eq!((rule.reason, rule.is_retryable), (*reason, true));
        }
    }

    #[test]
    fn what_is_not_to_be_tried_again_is_not() {
        for (sqlstate, text, class) in [
            (
                "40003",
                "result is ambiguous (error=rpc error)",
                ErrorClass::Ambiguous,
            ),
            ("XX000", "server is shutting down", ErrorClass::Draining),
            (
                "XXUUU",
                "split failed while applying backpressure; are rows updated in a tight loop?",
                ErrorClass::Overload,
            ),
        ] {
            let rule = ErrorRule::find(ERRORS, sqlstate, text.as_bytes()).unwrap();
            assert_eq!((rule.class, rule.is_retryable), (class, false));
        }
        // Captured: a duplicate key is nothing special.
        assert_eq!(
            ErrorRule::find(ERRORS, "23505", b"duplicate key value"),
            None
        );
    }

    #[test]
    fn an_unknown_reason_is_still_retried() {
        let rule = ErrorRule::find(ERRORS, "40001", b"restart transaction: (RETRY_NEW)").unwrap();
        assert_eq!(
            (rule.reason, rule.is_retryable),
            ("transaction restart", true)
        );
    }
}
