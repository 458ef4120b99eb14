//! What is compared. A new row is a new line here; a new kind of work is a new [`Workload`] that
//! the programs learn to do.

/// The rows, in the order in which they are measured and shown.
pub const ROWS: &[Row] = &[
    select_only("select-only, prepared, 1 client", 1),
    select_only("select-only, prepared, 8 clients", 8),
    select_only("select-only, prepared, 64 clients", 64),
    tpcb("tpcb, prepared, 8 clients", QueryMode::Prepared, 8),
    tpcb("tpcb, simple, 8 clients", QueryMode::Simple, 8),
];

/// One comparison.
pub struct Row {
    /// As shown.
    pub name: &'static str,
    /// With whom.
    pub peer: Peer,
    /// What both do.
    pub job: Job,
}

/// With whom pgdyno is compared.
#[derive(Clone, Copy)]
pub enum Peer {
    /// Stock pgbench 18.
    Pgbench,
}

/// The work of one run, in terms that every program has.
#[derive(Clone, Copy)]
pub struct Job {
    /// Which transactions.
    pub workload: Workload,
    /// How statements travel.
    pub mode: QueryMode,
    /// Connections, all busy at the same time.
    pub clients: u32,
    /// Threads that drive them.
    pub threads: u32,
}

/// Which transactions.
#[derive(Clone, Copy)]
pub enum Workload {
    /// pgbench's select-only script.
    SelectOnly,
    /// pgbench's TPC-B-like script.
    Tpcb,
}

/// How statements travel.
#[derive(Clone, Copy)]
pub enum QueryMode {
    /// Values stand in the text.
    Simple,
    /// Parsed once a connection.
    Prepared,
}

impl QueryMode {
    /// The name, which pgdyno and pgbench share.
    pub fn name(self) -> &'static str {
        match self {
            QueryMode::Simple => "simple",
            QueryMode::Prepared => "prepared",
        }
    }
}

const fn select_only(name: &'static str, clients: u32) -> Row {
    let job = Job {
        workload: Workload::SelectOnly,
        mode: QueryMode::Prepared,
        clients,
        threads: 1,
    };
    let peer = Peer::Pgbench;
    Row { name, peer, job }
}

const fn tpcb(name: &'static str, mode: QueryMode, clients: u32) -> Row {
    let job = Job {
        workload: Workload::Tpcb,
        mode,
        clients,
        threads: 1,
    };
    let peer = Peer::Pgbench;
    Row { name, peer, job }
}
