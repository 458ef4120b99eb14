//! Flags of the smaller workloads, in alphabetical order each. A flag is a parameter of the pack by the same
//! name, with `_` for `-`, unless `options/others.rs` says otherwise.
//! (Facts: pkg/workload/{movr,ledger,queue,indexes,conflict,insights,connectionlatency,querybench}.)

use super::flag::{Flag, Kind, On, flag, idle};
use crate::generator::TransactionGenerator;

/// cockroach's default mix of ledger, and the pack's.
const LEDGER_MIX: &str = "balance=50,withdrawal=37,deposit=12,reversal=0";

const fn int(name: &'static str, default: &'static str, usage: &'static str) -> Flag {
    flag(On::All, name, Kind::Int, default, usage)
}

const fn bool(name: &'static str, default: &'static str, usage: &'static str) -> Flag {
    flag(On::All, name, Kind::Bool, default, usage)
}

const fn string(name: &'static str, default: &'static str, usage: &'static str) -> Flag {
    flag(On::All, name, Kind::String, default, usage)
}

static CONFLICT: &[Flag] = &[
    int("conflicts", "10", "Rows that workers contend for"),
    string("table", "conflict", "Name of the table (another: refused)"),
];

static CONNECTIONLATENCY: &[Flag] = &[string(
    "locality",
    "",
    "Where the workload runs: east, west, central (refused)",
)];

static INDEXES: &[Flag] = &[
    flag(
        On::All,
        "cycle-length",
        Kind::Uint,
        "18446744073709551615",
        "Number of different keys; at most 9223372036854775807 here",
    ),
    int("payload", "64", "Bytes of the column without an index"),
    int(
        "secondary-indexes",
        "1",
        "Indexes beside the primary key, 0 to 99",
    ),
    bool("unique-indexes", "", "Whether they are UNIQUE"),
];

static INSIGHTS: &[Flag] = &[
    idle(
        On::All,
        "batch-size",
        Kind::Int,
        "Rows of a batch of initial data",
        "rows are loaded by COPY; see --data-loader",
    ),
    int("payload-bytes", "100", "Bytes of payload in each row"),
    int(
        "ranges",
        "10",
        "Ranges of each table (another number: refused)",
    ),
    int("rows", "1000", "Rows of each table"),
    bool(
        "scaleStats",
        "",
        "A name of its own for each operation's session (refused)",
    ),
    int("table-count", "2", "Tables"),
];

static LEDGER: &[Flag] = &[
    int("customers", "1000", "Customers"),
    bool("fks", "true", "Whether entries have foreign keys"),
    bool(
        "historical-balance",
        "",
        "Read balances of the past (refused)",
    ),
    bool("inline-args", "", "Values within the statements (refused)"),
    bool("interleaved", "", "Interleaved tables (refused)"),
    string("mix", LEDGER_MIX, "Weights of the transactions"),
    bool("parallel-stmts", "", "Statements in parallel (refused)"),
    int("splits", "", "Splits of the tables (refused)"),
];

static MOVR: &[Flag] = &[
    bool(
        "infer-crdb-region-column",
        "true",
        "Whether rows have the region of their city, with --multi-region",
    ),
    bool("multi-region", "", "Tables of several regions (refused)"),
    int("num-histories", "1000", "Places of rides"),
    int("num-promo-codes", "1000", "Promo codes"),
    int(
        "num-ranges",
        "9",
        "Ranges of each table (another number: refused)",
    ),
    int("num-rides", "500", "Rides"),
    int("num-users", "50", "Users"),
    int("num-vehicles", "15", "Vehicles"),
    string(
        "survive",
        "az",
        "What tables of several regions survive (refused)",
    ),
];

static QUERYBENCH: &[Flag] = &[
    int(
        "num-runs",
        "",
        "How often each worker runs each query at most; 0: without end",
    ),
    idle(
        On::All,
        "optimizer",
        Kind::String,
        "CockroachDB's optimizer",
        "only CockroachDB has had one that can be switched",
    ),
    string(
        "query-file",
        "",
        "File of queries, one a line, or several with semicolons",
    ),
    idle(
        On::All,
        "use-opt",
        Kind::Bool,
        "CockroachDB's cost-based optimizer",
        "only CockroachDB has had one that can be switched",
    ),
    string(
        "vectorize",
        "",
        "CockroachDB's setting of this name (refused)",
    ),
    bool(
        "verbose",
        "true",
        "Whether each query has rows of its own in the output",
    ),
];

static QUEUE: &[Flag] = &[int("batch", "1", "Rows of an INSERT")];

/// The flags of such a workload; none of those that have a list of their own.
pub fn own(generator: TransactionGenerator) -> &'static [Flag] {
    match generator {
        TransactionGenerator::Conflict => CONFLICT,
        TransactionGenerator::Connectionlatency => CONNECTIONLATENCY,
        TransactionGenerator::Indexes => INDEXES,
        TransactionGenerator::Insights => INSIGHTS,
        TransactionGenerator::Ledger => LEDGER,
        TransactionGenerator::Movr => MOVR,
        TransactionGenerator::Querybench => QUERYBENCH,
        TransactionGenerator::Queue => QUEUE,
        TransactionGenerator::Bank
        | TransactionGenerator::Kv
        | TransactionGenerator::Tpcc
        | TransactionGenerator::Ycsb => &[],
    }
}
