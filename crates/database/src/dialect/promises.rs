//! What products document about their isolation levels: which level of the literature a level in effect promises, and
//! which anomalies are documented as possible at it. Not what they do: `pgdyno-isolation` checks that.

use pgdyno_isolation::{Anomaly, Level};

use super::{Dialect, Version};

/// What a product documents of one of its levels.
#[derive(Debug, PartialEq, Eq)]
pub struct Promise {
    /// The level in effect, by its name in SQL, as in [`super::Cluster::isolation`]'s answers.
    pub in_effect: &'static str,
    /// The first version of which this is documented; 0.0: all.
    pub since: Version,
    /// The strongest level that is promised.
    pub level: Level,
    pub source: &'static str,
    /// What is documented as possible.
    pub possible: &'static [Possible],
    /// What is documented about the order of time and about reads elsewhere than on the primary, with its source.
    pub time: &'static str,
}

/// An anomaly that is documented as possible.
#[derive(Debug, PartialEq, Eq)]
pub struct Possible {
    /// In the words of the documentation.
    pub what: &'static str,
    /// Names of anomalies ([`Anomaly::name`]) that it shows as.
    pub anomalies: &'static [&'static str],
    pub source: &'static str,
}

/// A level that runs as another one.
#[derive(Debug, PartialEq, Eq)]
pub struct Substitute {
    /// Asked for, by its name in SQL.
    pub asked: &'static str,
    pub runs_as: &'static str,
    /// The first version in which that depends on `unless`; nothing: in all it does.
    pub always_before: Option<Version>,
    /// What makes it run as what was asked for; nothing: never.
    pub unless: Option<&'static str>,
    pub source: &'static str,
}

/// What a product documents of isolation.
#[derive(Debug, PartialEq, Eq)]
pub struct Promises {
    pub levels: &'static [Promise],
    /// Levels that are, or may be, not what was asked for.
    pub substitutes: &'static [Substitute],
    /// What is documented as possible, although the level forbids it, where transactions also read from standbys
    /// that replay the primary's log; nothing: it has none.
    pub standbys: Option<&'static Possible>,
}

impl Promise {
    /// Whether an anomaly contradicts it.
    pub fn forbids(&self, anomaly: Anomaly) -> bool {
        self.level.forbids(anomaly)
    }

    /// Where this anomaly is documented as possible, if it is by name.
    pub fn documents(&self, anomaly: Anomaly) -> Option<&'static Possible> {
        let names = |possible: &&Possible| possible.anomalies.contains(&anomaly.name());
        self.possible.iter().find(names)
    }
}

impl Dialect {
    /// What is documented of a level in effect (`read committed`), in this version; nothing if no documentation was found.
    pub fn promise(&self, version: Version, in_effect: &str) -> Option<&'static Promise> {
        let levels = self.promises.levels.iter().rev();
        levels
            .filter(|promise| promise.since <= version)
            .find(|promise| promise.in_effect == in_effect)
    }

    /// What reads from standbys show besides: see [`Promises::standbys`].
    pub fn standbys_show(&self) -> Option<&'static Possible> {
        self.promises.standbys
    }

    /// Why a level that is asked for runs, or may run, as another one in this version.
    pub fn substitute(&self, version: Version, asked: &str) -> Option<(&'static Substitute, bool)> {
        let mut all = self.promises.substitutes.iter();
        let found = all.find(|substitute| substitute.asked == asked)?;
        let always =
            found.unless.is_none() || found.always_before.is_some_and(|before| version < before);
        Some((found, always))
    }
}

const ALL_VERSIONS: Version = Version::new(0, 0);

/// What a new snapshot for each statement lets happen between two of them.
const BETWEEN_STATEMENTS: &[&str] = &[
    "non-repeatable-read",
    "phantom",
    "fractured-read",
    "fractured-rows",
    "lost-update",
    "G-single-item",
    "G-nonadjacent-item",
    "G2-item",
    "G-single",
    "G-nonadjacent",
    "G2",
];
const WRITE_SKEW: &[&str] = &["G2-item", "G2"];

/// Documented: each entry says where.
pub const POSTGRESQL: Promises = Promises {
    levels: &[
        Promise {
            in_effect: "read committed",
            since: ALL_VERSIONS,
            level: Level::ReadCommitted,
            source: "PostgreSQL manual, 13.2.1: a query sees only data committed before it began; table 13.1: no dirty reads",
            possible: &[Possible {
                what: "nonrepeatable read, phantom read, serialization anomaly",
                anomalies: BETWEEN_STATEMENTS,
                source: "PostgreSQL manual, 13.2, table 13.1",
            }],
            time: NO_TIME,
        },
        Promise {
            in_effect: "repeatable read",
            since: ALL_VERSIONS,
            level: Level::SnapshotIsolation,
            source: "PostgreSQL manual, 13.2.2: implemented using Snapshot Isolation",
            possible: &[Possible {
                what: "serialization anomaly",
                anomalies: WRITE_SKEW,
                source: "PostgreSQL manual, 13.2, table 13.1, and 13.2.2",
            }],
            time: NO_TIME,
        },
        Promise {
            in_effect: "serializable",
            since: ALL_VERSIONS,
            level: Level::Serializable,
            source: "PostgreSQL manual, 13.2.3: consistent with some serial order",
            possible: &[],
            time: "no promise of real time; refused on a hot standby (PostgreSQL manual, 13.2.3 and 27.4)",
        },
    ],
    substitutes: &[Substitute {
        asked: "read uncommitted",
        runs_as: "read committed",
        always_before: None,
        unless: None,
        source: "PostgreSQL manual, 13.2: READ UNCOMMITTED behaves like READ COMMITTED",
    }],
    standbys: Some(&Possible {
        what: "a standby shows less than the primary, and commits in another order",
        anomalies: &["long-fork", "G-nonadjacent-item", "G-nonadjacent"],
        source: "PostgreSQL manual, 27.4.1: it is eventually consistent with the primary; order of commits: \
                 Jepsen, Amazon RDS for PostgreSQL 17.4, and AWS's reply for PostgreSQL itself, 2025",
    }),
};

const NO_TIME: &str =
    "no promise of real time between sessions; a standby replays later (PostgreSQL manual, 27.4)";

/// Documented: each entry says where.
pub const COCKROACHDB: Promises = Promises {
    levels: &[
        Promise {
            in_effect: "serializable",
            since: ALL_VERSIONS,
            level: Level::Serializable,
            source: "CockroachDB docs, transactions: SERIALIZABLE is the default",
            possible: &[],
            time: "serializable with limits on the order of time, not strictly serializable (Jepsen, CockroachDB, 2017)",
        },
        Promise {
            in_effect: "read committed",
            since: Version::new(23, 2),
            level: Level::ReadCommitted,
            source: "CockroachDB docs v23.2, read-committed: each statement reads of its own snapshot",
            possible: &[Possible {
                what: "write skew, lost update, non-repeatable and phantom reads",
                anomalies: BETWEEN_STATEMENTS,
                source: "CockroachDB docs v23.2, read-committed",
            }],
            time: "none is documented for this level",
        },
    ],
    substitutes: &[
        Substitute {
            asked: "read committed",
            runs_as: "serializable",
            always_before: Some(Version::new(23, 2)),
            unless: Some("sql.txn.read_committed_isolation.enabled is on (by default since 24.1)"),
            source: "CockroachDB docs v20.2, transactions: weaker levels are upgraded; docs v23.2, read-committed",
        },
        Substitute {
            asked: "read uncommitted",
            runs_as: "serializable",
            always_before: Some(Version::new(23, 2)),
            unless: Some(
                "sql.txn.read_committed_isolation.enabled is on (by default since 24.1): then read committed",
            ),
            source: "CockroachDB docs v20.2, transactions: weaker levels are upgraded; docs v23.2, read-committed",
        },
        Substitute {
            asked: "repeatable read",
            runs_as: "serializable",
            always_before: Some(Version::new(24, 3)),
            unless: Some("sql.txn.repeatable_read_isolation.enabled is on"),
            source: "CockroachDB docs v24.3, transactions",
        },
    ],
    standbys: None,
};

/// Documented: each entry says where.
pub const YUGABYTEDB: Promises = Promises {
    levels: &[
        Promise {
            in_effect: "read committed",
            since: ALL_VERSIONS,
            level: Level::ReadCommitted,
            source: "YugabyteDB docs, architecture/transactions/read-committed: a consistent snapshot for each statement",
            possible: &[Possible {
                what: "what PostgreSQL's READ COMMITTED permits",
                anomalies: BETWEEN_STATEMENTS,
                source: "YugabyteDB docs, architecture/transactions/read-committed",
            }],
            time: "none is documented for this level",
        },
        Promise {
            in_effect: "repeatable read",
            since: ALL_VERSIONS,
            level: Level::SnapshotIsolation,
            source: "YugabyteDB docs, explore/transactions/isolation-levels: REPEATABLE READ is Snapshot Isolation",
            possible: &[Possible {
                what: "write skew",
                anomalies: WRITE_SKEW,
                source: "YugabyteDB docs, explore/transactions/isolation-levels",
            }],
            time: "none is documented for this level",
        },
        Promise {
            in_effect: "serializable",
            since: ALL_VERSIONS,
            level: Level::Serializable,
            source: "YugabyteDB docs, explore/transactions/isolation-levels: SERIALIZABLE locks reads, too",
            possible: &[],
            time: "none is documented for this level",
        },
    ],
    substitutes: &[
        Substitute {
            asked: "read committed",
            runs_as: "repeatable read",
            always_before: None,
            unless: Some(YB_READ_COMMITTED),
            source: YB_SOURCE,
        },
        Substitute {
            asked: "read uncommitted",
            runs_as: "repeatable read",
            always_before: None,
            unless: Some(YB_READ_COMMITTED),
            source: YB_SOURCE,
        },
    ],
    standbys: None,
};

const YB_READ_COMMITTED: &str =
    "the servers' flag yb_enable_read_committed_isolation is on: then read committed";
const YB_SOURCE: &str = "YugabyteDB docs v2.20 to v2025.2, explore/transactions/isolation-levels: the flag is on by default only in \
    new universes from v2025.2 on, made by yugabyted, Anywhere or Aeon";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{COCKROACHDB, POSTGRESQL, YUGABYTEDB};

    const DIALECTS: [&Dialect; 3] = [&POSTGRESQL, &COCKROACHDB, &YUGABYTEDB];

    #[test]
    fn nothing_that_is_documented_as_possible_breaks_the_level_that_is_promised() {
        use pgdyno_isolation::{Closing, Cycle, CycleClass};
        let classes = [
            CycleClass::GSingle,
            CycleClass::GNonadjacent,
            CycleClass::G2,
        ];
        let cycles = classes.into_iter().flat_map(|class| {
            [false, true].map(|predicate| {
                let closing = Closing::Data;
                Anomaly::Cycle(Cycle {
                    class,
                    closing,
                    predicate,
                })
            })
        });
        let others = [
            Anomaly::NonRepeatableRead,
            Anomaly::Phantom,
            Anomaly::FracturedRead,
            Anomaly::FracturedRows,
            Anomaly::LostUpdate,
        ];
        let known: Vec<Anomaly> = cycles.chain(others).collect();
        for promise in DIALECTS.iter().flat_map(|dialect| dialect.promises.levels) {
            for name in promise
                .possible
                .iter()
                .flat_map(|possible| possible.anomalies)
            {
                let anomaly = known.iter().find(|anomaly| anomaly.name() == *name);
                let anomaly = *anomaly.unwrap_or_else(|| panic!("no anomaly {name}"));
                assert!(!promise.forbids(anomaly), "{name}: {promise:?}");
                assert!(promise.documents(anomaly).is_some());
            }
        }
    }

    const DOCS: &str = include_str!("../../../../docs/isolation.md");

    #[test]
    fn the_documentation_has_what_is_promised_and_what_runs_as_what() {
        let mut rows = Vec::new();
        for dialect in DIALECTS {
            let title = dialect.title;
            for promise in dialect.promises.levels {
                let possible: Vec<&str> = promise.possible.iter().map(|of| of.what).collect();
                let possible = if possible.is_empty() {
                    "nothing".to_owned()
                } else {
                    possible.join("; ")
                };
                let (asked, is, source) = (promise.in_effect, promise.level, promise.source);
                rows.push(format!(
                    "| {title} | {asked} | {is} | {possible} | {source} |"
                ));
            }
            for of in dialect.promises.substitutes {
                let before = of
                    .always_before
                    .map(|before| format!("always before {before}"));
                let unless = of.unless.map(|unless| format!("unless {unless}"));
                let when: Vec<String> = before.into_iter().chain(unless).collect();
                let when = if when.is_empty() {
                    "always".to_owned()
                } else {
                    when.join(", then ")
                };
                let (asked, runs_as, source) = (of.asked, of.runs_as, of.source);
                rows.push(format!(
                    "| {title} | {asked} | {runs_as} | {when} | {source} |"
                ));
            }
        }
        let missing: Vec<&String> = rows.iter().filter(|row| !DOCS.contains(*row)).collect();
        assert!(missing.is_empty(), "docs/isolation.md lacks\n{missing:#?}");
    }

    #[test]
    fn repeatable_read_of_postgresql_promises_snapshots_and_cites_write_skew() {
        let promise = POSTGRESQL
            .promise(Version::new(18, 0), "repeatable read")
            .unwrap();
        assert_eq!(promise.level, Level::SnapshotIsolation);
        assert!(promise.forbids(Anomaly::LostUpdate));
        assert_eq!(promise.possible[0].anomalies, WRITE_SKEW);
    }

    #[test]
    fn a_level_that_a_version_does_not_have_promises_nothing_and_says_what_it_runs_as() {
        let old = Version::new(22, 1);
        assert_eq!(COCKROACHDB.promise(old, "read committed"), None);
        let (substitute, always) = COCKROACHDB.substitute(old, "read committed").unwrap();
        assert_eq!((substitute.runs_as, always), ("serializable", true));
        let new = Version::new(24, 1);
        assert!(COCKROACHDB.promise(new, "read committed").is_some());
        let (substitute, always) = COCKROACHDB.substitute(new, "read committed").unwrap();
        assert!(!always && substitute.unless.is_some());
        let (substitute, always) = YUGABYTEDB
            .substitute(Version::new(2024, 2), "read committed")
            .unwrap();
        assert_eq!((substitute.runs_as, always), ("repeatable read", false));
        assert_eq!(POSTGRESQL.substitute(new, "serializable"), None);
    }
}
