//! The workloads: those that pgdyno has, and cockroach's others with what to use instead.

/// A workload that pgdyno has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generator {
    /// Reads and writes by key, the Yahoo! Cloud Serving Benchmark.
    Ycsb,
    /// Reads and upserts of one narrow table.
    Kv,
    /// Transfers between accounts.
    Bank,
    /// Orders and payments of warehouses, derived from TPC-C.
    Tpcc,
}

impl Generator {
    /// All of them, by name.
    pub const ALL: [Self; 4] = [Self::Bank, Self::Kv, Self::Tpcc, Self::Ycsb];

    /// Its name, which its pack and its database have too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ycsb => "ycsb",
            Self::Kv => "kv",
            Self::Bank => "bank",
            Self::Tpcc => "tpcc",
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
        match self {
            Self::Ycsb => "YCSB, the Yahoo! Cloud Serving Benchmark, on SQL",
            Self::Kv => "reads and writes of one narrow table by keys spread at random",
            Self::Bank => "transfers between accounts whose balances always add up to 0",
            Self::Tpcc => {
                "derived from TPC-C (not a TPC result): orders and payments of warehouses"
            }
        }
    }

    /// Its tables, for people: the first of them where there are several.
    pub fn tables(self) -> &'static str {
        match self {
            Self::Ycsb => "usertable",
            Self::Tpcc => "warehouse",
            name => name.name(),
        }
    }
}

/// cockroach's other workloads, and what pgdyno has for the same question.
const OTHERS: &[(&str, &str)] = &[
    ("bulkingest", "load rows by COPY: pgdyno load PACK --jobs N"),
    ("conflict", "contended transactions: pgdyno lab retries"),
    ("connectionlatency", "round trips: pgdyno run probe"),
    ("debug", "it has no load"),
    ("examples", "it has no load"),
    ("geospatial", "a script of your own: pgdyno run mine.sql"),
    (
        "indexes",
        "a pack of your own: pgdyno pack show kv --to mine",
    ),
    ("insights", "a script of your own: pgdyno run mine.sql"),
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
    (
        "ledger",
        "money that moves: workload run bank, or pgdyno run tpcb",
    ),
    (
        "movr",
        "a pack of your own: pgdyno pack show tpcb --to mine",
    ),
    ("querybench", "queries of a file: pgdyno run queries.sql"),
    ("querylog", "queries of a file: pgdyno run queries.sql"),
    ("queue", "a script of your own: pgdyno run mine.sql"),
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
        "a pack of your own: pgdyno pack show kv --to mine",
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
            assert_eq!(Generator::named(other), None);
            assert!(!instead.is_empty());
        }
        for generator in Generator::ALL {
            assert_eq!(Generator::named(generator.name()), Some(generator));
            assert_eq!(instead_of(generator.name()), None);
        }
        assert_eq!(instead_of("nosuch"), None);
    }
}
