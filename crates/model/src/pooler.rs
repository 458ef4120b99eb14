//! What is said of a pooler between pgdyno and the server.

/// What to do where statements that a client has prepared are not there, or are another client's.
pub const PREPARED_WAY_OUT: &str =
    "a pooler in transaction mode: -M extended, or PgBouncer 1.21 with max_prepared_statements";

/// What cannot be seen through one, and the way out.
pub const UNSEEN: &str = "a pooler in between: its sessions, processes and host are not the server's; observe the server directly with \
     --observe-url postgresql://HOST/DATABASE";
