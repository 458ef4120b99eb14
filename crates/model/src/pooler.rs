//! What is said of a pooler between pgdyno and the server.

/// What to do where statements that a client has prepared are not there, or are another client's.
pub const PREPARED_WAY_OUT: &str = "a pooler in transaction mode: -M extended (pgdyno workload: --method noprepare), or PgBouncer 1.21 with \
     max_prepared_statements";

/// Words of the error of a pooler that takes single statements only (PgBouncer's).
pub const STATEMENT_MODE: &str = "statement pooling mode";

/// What to do where a pooler takes single statements only.
const STATEMENTS_WAY_OUT: &str =
    "a pooler in statement mode: pool_mode=transaction, or scripts of your own without BEGIN";

/// Words of the error of a pooler that does not pass on what a session is to have from its start (PgBouncer's).
pub const PARAMETER_REFUSED: &str = "unsupported startup parameter";

/// What to do then.
pub const PARAMETER_WAY_OUT: &str = "a pooler does not pass a session's settings on (--isolation, settings., PGOPTIONS): name the server itself, or \
     ALTER ROLE … SET …";

/// What cannot be seen through one, and the way out.
pub const UNSEEN: &str = "a pooler in between: its sessions, processes and host are not the server's; observe the server directly with \
     --observe-url postgresql://HOST/DATABASE";

const POOL_WAY_OUT: &str = "the pooler has fewer sessions than clients: fewer clients (-c), or a larger default_pool_size in PgBouncer";

const CLIENTS_WAY_OUT: &str = "fewer clients (-c), or a larger max_client_conn in PgBouncer";

/// Cause and way out of an error that a pooler makes, by its SQLSTATE and its message; `None` for others.
pub fn way_out(sqlstate: &str, message: &str) -> Option<&'static str> {
    match sqlstate {
        "26000" | "42P05" => Some(PREPARED_WAY_OUT),
        // PgBouncer's own errors have it, and parameters for another statement of that name.
        "08P01" if message.contains("prepared statement") => Some(PREPARED_WAY_OUT),
        "08P01" if message.contains(STATEMENT_MODE) => Some(STATEMENTS_WAY_OUT),
        "08P01" if message.contains(PARAMETER_REFUSED) => Some(PARAMETER_WAY_OUT),
        "08P01" if message.contains("query_wait_timeout") => Some(POOL_WAY_OUT),
        "08P01" | "53300" if message.contains("max_client_conn") => Some(CLIENTS_WAY_OUT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_poolers_have_a_way_out_and_others_do_not() {
        let gone = "prepared statement \"p0_1\" does not exist";
        let other =
            "bind message supplies 1 parameters, but prepared statement \"p0_1\" requires 2";
        for (sqlstate, message, expected) in [
            ("26000", gone, Some(PREPARED_WAY_OUT)),
            (
                "42P05",
                "prepared statement \"p0_1\" already exists",
                Some(PREPARED_WAY_OUT),
            ),
            ("08P01", other, Some(PREPARED_WAY_OUT)),
            (
                "08P01",
                "transaction blocks not allowed in statement pooling mode",
                Some(STATEMENTS_WAY_OUT),
            ),
            (
                "08P01",
                "unsupported startup parameter: options",
                Some(PARAMETER_WAY_OUT),
            ),
            ("08P01", "query_wait_timeout", Some(POOL_WAY_OUT)),
            (
                "08P01",
                "no more connections allowed (max_client_conn)",
                Some(CLIENTS_WAY_OUT),
            ),
            ("08P01", "invalid message format", None),
            ("42P01", gone, None),
        ] {
            assert_eq!(way_out(sqlstate, message), expected, "{sqlstate} {message}");
        }
    }
}
