//! What is compared, and what is hoped for. A new row is a new line here; a new kind of work is a new
//! [`Workload`] that the programs learn to do.

use crate::figures::BenchFigure;

/// The rows, in the order in which they are measured and shown.
pub const ROWS: &[Row] = &[
    Row {
        goals: &[
            NO_MORE_THAN_PGBENCH,
            by_bare(BenchFigure::Cpu, 1.10),
            at_least(BenchFigure::Throughput, 1.10),
        ],
        bare: true,
        ..select_only(
            "select-only, prepared, 64 clients, Unix socket",
            64,
            RowVia::Socket,
        )
    },
    Row {
        goals: &[
            NO_MORE_THAN_PGBENCH,
            by_bare(BenchFigure::Cpu, 1.10),
            at_least(BenchFigure::Throughput, 1.10),
        ],
        bare: true,
        ..select_only(
            "select-only, prepared, 64 clients, TCP loopback",
            64,
            RowVia::Tcp,
        )
    },
    Row {
        goals: &[
            NO_MORE_THAN_PGBENCH,
            Goal {
                figure: BenchFigure::Cpu,
                bound: RowBound::ByPlain(1.5),
            },
        ],
        ..select_only(
            "select-only, prepared, 64 clients, TCP loopback with TLS",
            64,
            RowVia::Tls,
        )
    },
    Row {
        goals: &[NO_MORE_THAN_PGBENCH, by_bare(BenchFigure::Cpu, 1.10)],
        bare: true,
        ..select_only(
            "select-only, prepared, 8 clients, Unix socket",
            8,
            RowVia::Socket,
        )
    },
    Row {
        goals: &[
            NO_MORE_THAN_PGBENCH,
            by_bare(BenchFigure::Cpu, 1.08),
            by_bare(BenchFigure::Latency, 1.02),
        ],
        bare: true,
        ..select_only(
            "select-only, prepared, 1 client, Unix socket",
            1,
            RowVia::Socket,
        )
    },
    tpcb("tpcb-like, prepared, 8 clients", RowMode::Prepared),
    tpcb("tpcb-like, simple, 8 clients", RowMode::Simple),
    Row {
        name: "1,000 connections, 2,000 transactions/s by --rate",
        peer: Some(Peer::Pgbench),
        job: Job {
            rate: Some(2000),
            ..SELECT_ONLY.of(1000)
        },
        goals: &[
            at_most(BenchFigure::Cpu, 0.42),
            at_most(BenchFigure::LagMean, 0.1),
            at_most(BenchFigure::LagWorst, 0.1),
        ],
        bare: true,
    },
    Row {
        name: "a server that answers at once, 64 clients, one thread",
        peer: Some(Peer::Pgbench),
        job: Job {
            via: RowVia::Stub,
            workload: Workload::Script,
            ..SELECT_ONLY.of(64)
        },
        goals: &[at_least(BenchFigure::Throughput, 1.9)],
        bare: true,
    },
    Row {
        name: "YCSB B, 16 clients, TCP",
        peer: Some(Peer::GoYcsb),
        job: Job {
            via: RowVia::Tcp,
            workload: Workload::YcsbB,
            ..SELECT_ONLY.of(16)
        },
        goals: &[at_most(BenchFigure::Cpu, 0.30)],
        bare: false,
    },
    Row {
        name: "point select, 64 clients, TCP",
        peer: Some(Peer::Sysbench),
        job: Job {
            via: RowVia::Tcp,
            workload: Workload::PointSelect,
            ..SELECT_ONLY.of(64)
        },
        goals: &[at_most(BenchFigure::Cpu, 0.60)],
        bare: false,
    },
    Row {
        name: "recording a history, a server that answers at once, 16 clients, one thread",
        peer: Some(Peer::Without),
        job: Job {
            via: RowVia::Stub,
            workload: Workload::History,
            ..SELECT_ONLY.of(16)
        },
        goals: &[at_most(BenchFigure::OwnCpu, 1.10)],
        bare: false,
    },
    loading("whole -i -I dtgvp, scale 100", Workload::Load),
    loading(
        "load tpcb, scale 100, beside -i -I dtgvp",
        Workload::PackLoad,
    ),
    Row {
        goals: &[CPU_BY_SERVER],
        ..loading("COPY alone, -i -I dtg, scale 100", Workload::Copy)
    },
    Row {
        name: "TPC-C, load of 10 warehouses without foreign keys",
        peer: Some(Peer::GoTpc),
        job: Job {
            via: RowVia::Tcp,
            workload: Workload::TpccLoad,
            ..SELECT_ONLY.of(1)
        },
        goals: &[at_most(BenchFigure::Wall, 1.5)],
        bare: false,
    },
    tpcc(
        "TPC-C, 1 warehouse, 8 clients, lines at once",
        Peer::GoTpc,
        Workload::TpccBatch,
    ),
    tpcc(
        "TPC-C, 1 warehouse, 8 clients, line by line",
        Peer::SysbenchTpcc,
        Workload::Tpcc,
    ),
    Row {
        name: "1,000 clients with per-second histograms",
        peer: None,
        job: Job {
            workload: Workload::Memory,
            ..SELECT_ONLY.of(1000)
        },
        goals: &[Goal {
            figure: BenchFigure::PeakMemory,
            bound: RowBound::Most(64.0),
        }],
        bare: false,
    },
];

/// One comparison.
#[derive(Clone, Copy)]
pub struct Row {
    /// As shown.
    pub name: &'static str,
    /// With whom; none: only what pgdyno itself needs.
    pub peer: Option<Peer>,
    /// What both do.
    pub job: Job,
    /// What is hoped for.
    pub goals: &'static [Goal],
    /// Whether the bare loop does it too.
    pub bare: bool,
}

/// What a figure is hoped to be.
#[derive(Clone, Copy)]
pub struct Goal {
    /// Which one.
    pub figure: BenchFigure,
    /// And what.
    pub bound: RowBound,
}

/// A bound of a figure.
#[derive(Clone, Copy)]
pub enum RowBound {
    /// pgdyno's by the peer's is no more than this.
    RatioAtMost(f64),
    /// pgdyno's by the peer's is no less than this.
    RatioAtLeast(f64),
    /// pgdyno's alone is no more than this.
    Most(f64),
    /// pgdyno's with TLS by its own without is no more than this.
    ByPlain(f64),
    /// pgdyno's by that of the better bare loop, which has less, is no more than this.
    ByBare(f64),
}

/// With whom pgdyno is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Stock pgbench 18.
    Pgbench,
    /// pgdyno itself, which leaves out what the row is about.
    Without,
    /// sysbench.
    Sysbench,
    /// go-ycsb.
    GoYcsb,
    /// go-tpc.
    GoTpc,
    /// sysbench with sysbench-tpcc's scripts.
    SysbenchTpcc,
}

/// The work of one run, in terms that every program has.
#[derive(Clone, Copy)]
pub struct Job {
    /// Which transactions.
    pub workload: Workload,
    /// How statements travel.
    pub mode: RowMode,
    /// Connections, all busy at the same time.
    pub clients: u32,
    /// Threads that drive them.
    pub threads: u32,
    /// How the server is reached.
    pub via: RowVia,
    /// Transactions a second by schedule.
    pub rate: Option<u32>,
}

/// Which transactions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// pgbench's select-only script.
    SelectOnly,
    /// pgbench's TPC-B-like script.
    Tpcb,
    /// The select-only statement as a script file: pgbench asks the server nothing then.
    Script,
    /// YCSB's mix B: 95 % reads, 5 % updates.
    YcsbB,
    /// The select-only statement as a script that says what it observes.
    History,
    /// One row of sysbench's table by its key.
    PointSelect,
    /// Making and filling pgbench's tables.
    Load,
    /// The same by the pack `tpcb`, whose tables they are; pgbench as in [`Workload::Load`].
    PackLoad,
    /// Making and filling them without keys and vacuum.
    Copy,
    /// TPC-C's five transactions by its mix, without think times.
    Tpcc,
    /// The same with one statement for all lines of an order.
    TpccBatch,
    /// Making and filling TPC-C's tables.
    TpccLoad,
    /// Select-only for longer.
    Memory,
}

impl Workload {
    /// Whether tables are made and filled: then the whole run is one piece of work.
    pub fn is_load(self) -> bool {
        self.is_of_pgbench() || self == Workload::TpccLoad
    }

    /// Whether these are pgbench's tables.
    pub fn is_of_pgbench(self) -> bool {
        matches!(self, Workload::Load | Workload::PackLoad | Workload::Copy)
    }
}

/// How the server is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RowVia {
    /// Its Unix socket.
    Socket,
    /// TCP on 127.0.0.1.
    Tcp,
    /// The same to another server, encrypted. Each program then runs unencrypted on that server too.
    Tls,
    /// As the last one, unencrypted.
    TlsOff,
    /// Not at all: the stub answers, on a Unix socket.
    Stub,
}

/// How statements travel.
#[derive(Clone, Copy)]
pub enum RowMode {
    /// Values stand in the text.
    Simple,
    /// Parsed once a connection.
    Prepared,
}

impl RowMode {
    /// The name, which pgdyno and pgbench share.
    pub fn name(self) -> &'static str {
        match self {
            RowMode::Simple => "simple",
            RowMode::Prepared => "prepared",
        }
    }
}

const SELECT_ONLY: Job = Job {
    workload: Workload::SelectOnly,
    mode: RowMode::Prepared,
    clients: 1,
    threads: 1,
    via: RowVia::Socket,
    rate: None,
};

impl Job {
    const fn of(self, clients: u32) -> Self {
        Self { clients, ..self }
    }
}

const fn at_most(figure: BenchFigure, ratio: f64) -> Goal {
    let bound = RowBound::RatioAtMost(ratio);
    Goal { figure, bound }
}

const fn by_bare(figure: BenchFigure, ratio: f64) -> Goal {
    let bound = RowBound::ByBare(ratio);
    Goal { figure, bound }
}

/// No row costs the client more than this.
const NO_MORE_THAN_PGBENCH: Goal = at_most(BenchFigure::Cpu, 0.95);

const fn at_least(figure: BenchFigure, ratio: f64) -> Goal {
    let bound = RowBound::RatioAtLeast(ratio);
    Goal { figure, bound }
}

const fn select_only(name: &'static str, clients: u32, via: RowVia) -> Row {
    Row {
        name,
        peer: Some(Peer::Pgbench),
        job: Job {
            via,
            ..SELECT_ONLY.of(clients)
        },
        goals: &[],
        bare: false,
    }
}

const CPU_BY_SERVER: Goal = Goal {
    figure: BenchFigure::CpuByServer,
    bound: RowBound::Most(0.05),
};

const LOAD_GOALS: &[Goal] = &[at_most(BenchFigure::Wall, 0.90), CPU_BY_SERVER];

const fn loading(name: &'static str, workload: Workload) -> Row {
    Row {
        name,
        peer: Some(Peer::Pgbench),
        job: Job {
            workload,
            ..SELECT_ONLY.of(1)
        },
        goals: LOAD_GOALS,
        bare: false,
    }
}

const TPCB_GOALS: &[Goal] = &[NO_MORE_THAN_PGBENCH, by_bare(BenchFigure::Cpu, 1.10)];

const fn tpcb(name: &'static str, mode: RowMode) -> Row {
    Row {
        name,
        peer: Some(Peer::Pgbench),
        job: Job {
            workload: Workload::Tpcb,
            mode,
            ..SELECT_ONLY.of(8)
        },
        goals: TPCB_GOALS,
        bare: true,
    }
}

const TPCC_GOALS: &[Goal] = &[at_most(BenchFigure::Cpu, 0.5)];

const fn tpcc(name: &'static str, peer: Peer, workload: Workload) -> Row {
    Row {
        name,
        peer: Some(peer),
        job: Job {
            via: RowVia::Tcp,
            workload,
            ..SELECT_ONLY.of(8)
        },
        goals: TPCC_GOALS,
        bare: false,
    }
}

impl RowBound {
    /// As shown.
    pub fn text(self) -> String {
        match self {
            RowBound::RatioAtMost(ratio) => format!("≤ {ratio:.2} ×"),
            RowBound::RatioAtLeast(ratio) => format!("≥ {ratio:.2} ×"),
            RowBound::Most(value) => format!("≤ {value}"),
            RowBound::ByPlain(ratio) => format!("≤ {ratio:.2} × without TLS"),
            RowBound::ByBare(ratio) => format!("≤ {ratio:.2} × bare loop"),
        }
    }

    /// Whether it is kept.
    pub fn holds(self, ours: f64, ratio: f64) -> bool {
        match self {
            RowBound::RatioAtMost(bound) | RowBound::ByPlain(bound) | RowBound::ByBare(bound) => {
                ratio <= bound
            }
            RowBound::RatioAtLeast(bound) => ratio >= bound,
            RowBound::Most(bound) => ours <= bound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_kept_up_to_itself() {
        assert!(
            RowBound::RatioAtMost(0.5).holds(9.0, 0.5)
                && !RowBound::RatioAtMost(0.5).holds(0.1, 0.51)
        );
        assert!(
            RowBound::RatioAtLeast(1.1).holds(0.0, 1.1)
                && !RowBound::RatioAtLeast(1.1).holds(9.0, 1.0)
        );
        assert!(RowBound::Most(64.0).holds(64.0, 9.0) && !RowBound::Most(64.0).holds(65.0, 0.1));
        assert!(RowBound::ByPlain(1.5).holds(9.0, 1.5) && !RowBound::ByPlain(1.5).holds(0.1, 1.51));
        assert!(RowBound::ByBare(1.1).holds(9.0, 1.1) && !RowBound::ByBare(1.1).holds(0.1, 1.11));
        assert!(!RowBound::RatioAtMost(0.5).holds(1.0, f64::NAN));
    }
}
