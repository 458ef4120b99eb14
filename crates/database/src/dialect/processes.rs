//! How a product's processes are known again on a host that they share with pgdyno.

/// The facts of one product.
#[derive(Debug, PartialEq, Eq)]
pub struct Processes {
    /// What they call themselves in /proc/PID/stat, at most 15 bytes each.
    pub names: &'static [&'static str],
    /// Query for the process that serves the session: its id, the second since 1970 in which it
    /// started, and the client's port as the server sees it (NULL over a Unix socket). `None` where
    /// sessions have no process of their own.
    pub of_session: Option<&'static str>,
    /// Options of the server's command line that name its data directory.
    pub data_options: &'static [&'static str],
}

/// PostgreSQL: documented (system information functions, pg_stat_activity; a role always sees its own
/// row), and measured on 13 to 18 under Linux. EnterpriseDB's server calls itself edb-postgres.
pub const POSTGRESQL: Processes = Processes {
    names: &["postgres", "postmaster", "edb-postgres"],
    // The function under the view, which joins what is not asked for, of this session alone.
    of_session: Some(
        "SELECT pid, extract(epoch FROM backend_start), inet_client_port() \
         FROM pg_stat_get_activity(pg_backend_pid())",
    ),
    data_options: &["-D"],
};

/// CockroachDB: one process a node with threads for all sessions (measured, 19.1; pg_backend_pid()
/// gives no process there). Its `--store` is documented (cockroach start): a directory, or fields of
/// which `path` is one.
pub const COCKROACHDB: Processes = Processes {
    names: &["cockroach"],
    of_session: None,
    data_options: &["--store", "-s"],
};

/// YugabyteDB: documented (architecture): PostgreSQL's processes serve sessions, and are children of
/// the tablet server, which does the work and has the data.
pub const YUGABYTEDB: Processes = Processes {
    names: &["postgres", "yb-tserver"],
    of_session: Some(
        "SELECT pg_backend_pid(), extract(epoch FROM backend_start), inet_client_port() \
         FROM pg_stat_activity WHERE pid = pg_backend_pid()",
    ),
    data_options: &["--fs_data_dirs"],
};
