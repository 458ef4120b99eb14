//! The workloads: those that pgdyno has, and cockroach's others with what to use instead.

/// A workload that pgdyno has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionGenerator {
    /// Reads and writes by key, the Yahoo! Cloud Serving Benchmark.
    Ycsb,
    /// Reads and upserts of one narrow table.
    Kv,
    Bank,
    /// Orders and payments of warehouses, derived from TPC-C.
    Tpcc,
    /// Few rows that all workers change.
    Conflict,
    /// A connection for each query.
    Connectionlatency,
    Indexes,
    /// Slow queries and waits for locks.
    Insights,
    Ledger,
    Movr,
    Querybench,
    /// Rows added in order, and deleted behind it.
    Queue,
}

impl TransactionGenerator {
    /// All of them, by name.
    pub const ALL: [Self; 12] = [
        Self::Bank,
        Self::Conflict,
        Self::Connectionlatency,
        Self::Indexes,
        Self::Insights,
        Self::Kv,
        Self::Ledger,
        Self::Movr,
        Self::Querybench,
        Self::Queue,
        Self::Tpcc,
        Self::Ycsb,
    ];

    /// Its name, its first table (the others of several have no name here) and what it does, in one line.
    fn facts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Bank => (
                "bank",
                "bank",
                "transfers between accounts whose balances always add up to 0",
            ),
            Self::Conflict => (
                "conflict",
                "conflict",
                "upserts and deletes of few rows that all workers share",
            ),
            Self::Connectionlatency => (
                "connectionlatency",
                "",
                "a connection for each SELECT 1, and what it costs",
            ),
            Self::Indexes => (
                "indexes",
                "indexes",
                "upserts of a table with any number of secondary indexes",
            ),
            Self::Insights => (
                "insights",
                "insights_workload_table_0",
                "queries that are slow on purpose, and waits for locks",
            ),
            Self::Kv => (
                "kv",
                "kv",
                "reads and writes of one narrow table by keys spread at random",
            ),
            Self::Ledger => (
                "ledger",
                "customer",
                "balances, deposits and withdrawals in double-entry bookkeeping",
            ),
            Self::Movr => ("movr", "users", "users who rent vehicles in nine cities"),
            Self::Querybench => (
                "querybench",
                "",
                "the queries of a file, one after the other in each worker",
            ),
            Self::Queue => (
                "queue",
                "queue",
                "rows added in the order of a sequence, and deleted behind it",
            ),
            Self::Tpcc => (
                "tpcc",
                "warehouse",
                "derived from TPC-C (not a TPC result): orders and payments of warehouses",
            ),
            Self::Ycsb => (
                "ycsb",
                "usertable",
                "YCSB, the Yahoo! Cloud Serving Benchmark, on SQL",
            ),
        }
    }

    /// Its name, which its database has too.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// The name of its pack; querybench has none.
    pub fn pack(self) -> &'static str {
        match self {
            // The pack queue is another one.
            Self::Queue => "fifo",
            other => other.name(),
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|generator| generator.name() == name)
    }

    /// What it does, in one line.
    pub fn summary(self) -> &'static str {
        self.facts().2
    }

    /// The first of its tables, or none.
    pub fn table(self) -> Option<&'static str> {
        Some(self.facts().1).filter(|name| !name.is_empty())
    }

    /// Whether `check` knows what its tables ought to hold.
    pub fn has_check(self) -> bool {
        matches!(self, Self::Bank | Self::Tpcc | Self::Ycsb)
    }
}

/// cockroach's other workloads, and what pgdyno has for the same question.
const OTHERS: &[(&str, &str)] = &[
    ("bulkingest", "load rows by COPY: pgdyno load PACK --jobs N"),
    ("debug", "it has no load"),
    ("examples", "it has no load"),
    ("geospatial", "a script of your own: pgdyno run mine.sql"),
    (
        "interleavebench",
        "a pack of your own: pgdyno pack show tpcb --to mine",
    ),
    (
        "interleavedpartitioned",
        "a pack of your own: pgdyno pack show tpcb --to mine",
    ),
    ("intro", "it has no load"),
    ("json", "a pack of your own: pgdyno pack show kv --to mine"),
    (
        "jsonload",
        "a pack of your own: pgdyno pack show kv --to mine",
    ),
    ("kvtoolong", "workload run kv"),
    ("querylog", "queries of a file: pgdyno run queries.sql"),
    ("rand", "a pack of your own: pgdyno pack show kv --to mine"),
    (
        "roachmart",
        "a pack of your own: pgdyno pack show tpcb --to mine",
    ),
    (
        "schemachange",
        "DDL beside a load: a script of your own, pgdyno run mine.sql",
    ),
    ("sqlsmith", "it tests a server and measures nothing"),
    ("sqlstats", "a script of your own: pgdyno run mine.sql"),
    ("startrek", "it has no load"),
    ("tpcds", "queries of a file: pgdyno run queries.sql"),
    ("tpch", "queries of a file: pgdyno run queries.sql"),
    (
        "ttlbench",
        "row-level TTL is CockroachDB's alone: delete expired rows by a script of your own, pgdyno run mine.sql",
    ),
    (
        "ttllogger",
        "a pack of your own: pgdyno pack show kv --to mine",
    ),
    (
        "workload_generator",
        "queries of a file: pgdyno run queries.sql",
    ),
];

/// What to use instead of a workload that cockroach has and pgdyno has not; `None` for what is no
/// workload at all.
pub fn instead_of(name: &str) -> Option<&'static str> {
    let found = OTHERS.iter().find(|(other, _)| *other == name);
    found.map(|(_, instead)| *instead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_either_here_or_named_with_another_way() {
        assert!(OTHERS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (other, instead) in OTHERS {
            assert_eq!(TransactionGenerator::named(other), None);
            assert!(!instead.is_empty());
        }
        for generator in TransactionGenerator::ALL {
            assert_eq!(
                TransactionGenerator::named(generator.name()),
                Some(generator)
            );
            assert_eq!(instead_of(generator.name()), None);
        }
        assert_eq!(instead_of("nosuch"), None);
    }
}
