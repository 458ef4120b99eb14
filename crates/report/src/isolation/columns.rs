//! The kinds of anomalies that a table shows: each anomaly is of one kind.

use pgdyno_isolation::{Anomaly, Closing, Cycle, CycleClass, Level};
use pgdyno_model::document::isolation::{IsolationCheck, IsolationPromise};
use pgdyno_model::document::isolation_lab::IsolationColumn;
use pgdyno_spec::text as figures;

/// Why nothing could have read what was rolled back.
pub const NOTHING_ABORTED: &str = "no recorded transaction was aborted";

pub struct Column {
    pub name: &'static str,
    pub title: &'static str,
    pub code: &'static str,
    pub meaning: &'static str,
    /// Names of the anomalies of this kind; one that ends with `*` is a beginning or, before it, an end.
    names: &'static [&'static str],
    /// The one that says which levels forbid the kind.
    of: Anomaly,
    /// The weakest level that forbids it: if that is not known, the history does not tell.
    needs: Level,
    of_what: Of,
}

/// What could show an anomaly.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// Two transactions that ran at the same time and conflicted.
    Overlaps,
    Dependencies,
    /// An acknowledged write of a list or row whose key was read after all of its writes.
    Writes,
}

const fn cycle(class: CycleClass, closing: Closing, predicate: bool) -> Anomaly {
    Anomaly::Cycle(Cycle {
        class,
        closing,
        predicate,
    })
}

use Closing::{Data, RealTime, Session};

/// What a failover loses: every level promises that what was acknowledged stays.
pub const LOST_WRITE: &str = "lost-write";

/// All of them, from the weakest level that forbids one.
pub const COLUMNS: [Column; 13] = [
    Column {
        name: LOST_WRITE,
        title: "Lost write",
        code: "",
        meaning: "an acknowledged write is missing in the final read",
        names: &["lost-write"],
        of: Anomaly::LostWrite,
        needs: Level::ReadUncommitted,
        of_what: Of::Writes,
    },
    Column {
        name: "dirty-write",
        title: "Dirty write",
        code: "G0",
        meaning: "writes of two transactions in opposite orders",
        names: &["G0", "duplicate-elements"],
        of: cycle(CycleClass::G0, Data, false),
        needs: Level::ReadUncommitted,
        of_what: Of::Overlaps,
    },
    Column {
        name: "aborted-read",
        title: "Aborted read",
        code: "G1a",
        meaning: "read what a transaction wrote that did not commit",
        names: &["G1a"],
        of: Anomaly::AbortedRead,
        needs: Level::ReadCommitted,
        of_what: Of::Overlaps,
    },
    Column {
        name: "intermediate-read",
        title: "Intermediate read",
        code: "G1b",
        meaning: "read a value that its writer then changed",
        names: &["G1b"],
        of: Anomaly::IntermediateRead,
        needs: Level::ReadCommitted,
        of_what: Of::Overlaps,
    },
    Column {
        name: "circular-flow",
        title: "Circular flow",
        code: "G1c",
        meaning: "each of two saw the other's write, or versions have no order",
        names: &[
            "G1c",
            "incompatible-order",
            "unwritten-value",
            "no-read-committed-order",
        ],
        of: cycle(CycleClass::G1c, Data, false),
        needs: Level::ReadCommitted,
        of_what: Of::Overlaps,
    },
    Column {
        name: "non-repeatable-read",
        title: "Non-repeatable read",
        code: "",
        meaning: "read a key twice and found two versions, or not its own write",
        names: &["non-repeatable-read", "phantom", "internal"],
        of: Anomaly::NonRepeatableRead,
        needs: Level::ReadAtomic,
        of_what: Of::Overlaps,
    },
    Column {
        name: "read-skew",
        title: "Read skew",
        code: "G-single",
        meaning: "saw one write of a transaction and missed another",
        names: &[
            "fractured-read",
            "fractured-rows",
            "G-single-item",
            "G-single",
            "no-read-atomic-order",
            "no-causal-order",
        ],
        of: cycle(CycleClass::GSingle, Data, false),
        needs: Level::SnapshotIsolation,
        of_what: Of::Overlaps,
    },
    Column {
        name: "lost-update",
        title: "Lost update",
        code: "",
        meaning: "two read the same version of a key and both wrote it",
        names: &["lost-update"],
        of: Anomaly::LostUpdate,
        needs: Level::SnapshotIsolation,
        of_what: Of::Overlaps,
    },
    Column {
        name: "long-fork",
        title: "Long fork",
        code: "G-nonadjacent",
        meaning: "two readers saw two writes in opposite orders",
        names: &["long-fork", "G-nonadjacent-item", "G-nonadjacent"],
        of: Anomaly::LongFork,
        needs: Level::SnapshotIsolation,
        of_what: Of::Overlaps,
    },
    Column {
        name: "write-skew",
        title: "Write skew",
        code: "G2-item",
        meaning: "each of two read what the other then wrote",
        names: &["G2-item"],
        of: cycle(CycleClass::G2, Data, false),
        needs: Level::Serializable,
        of_what: Of::Overlaps,
    },
    Column {
        name: "predicate",
        title: "Predicate write skew",
        code: "G2",
        meaning: "each of two read rows without the one that the other inserted",
        names: &["G2"],
        of: cycle(CycleClass::G2, Data, true),
        needs: Level::Serializable,
        of_what: Of::Overlaps,
    },
    Column {
        name: "session",
        title: "Session order",
        code: "",
        meaning: "a session did not see its own earlier writes or reads",
        names: &[
            "*-process",
            "non-monotonic-read",
            "non-monotonic-write",
            "missed-own-write",
            "write-before-read",
        ],
        of: cycle(CycleClass::GSingle, Session, false),
        needs: Level::StrongSessionSerializable,
        of_what: Of::Dependencies,
    },
    Column {
        name: "stale-read",
        title: "Stale read",
        code: "",
        meaning: "did not see what had been acknowledged before it began",
        names: &["*-realtime"],
        of: cycle(CycleClass::GSingle, RealTime, false),
        needs: Level::StrictSerializable,
        of_what: Of::Dependencies,
    },
];

/// Where anomalies go that are of no other kind.
pub const OTHER: &str = "circular-flow";

impl Column {
    /// Whether an anomaly is of this kind.
    pub fn has(&self, anomaly: &str) -> bool {
        let listed = |column: &Column| {
            column
                .names
                .iter()
                .any(|name| match name.strip_prefix('*') {
                    Some(end) => anomaly.ends_with(end),
                    None => *name == anomaly,
                })
        };
        listed(self) || (self.name == OTHER && !COLUMNS.iter().any(listed))
    }

    /// Whether what is promised forbids it; `None`: there is no such level.
    pub fn forbidden_by(&self, promise: &IsolationPromise) -> Option<bool> {
        let level = promise.level.as_str();
        let level = Level::ALL.into_iter().find(|known| known.name() == level)?;
        let is_possible = promise.except.iter().any(|name| name == self.of.name());
        Some(self.name == LOST_WRITE || (level.forbids(self.of) && !is_possible))
    }

    /// Why a history does not show it, if it does not.
    pub fn hidden_in(&self, check: &IsolationCheck) -> Option<String> {
        if self.name == "predicate" && !check.has_predicates {
            return Some("no rows were read by predicates".to_owned());
        }
        if let Some(why) = &check.not_whole {
            return Some(why.clone());
        }
        if self.of_what == Of::Writes {
            return match (check.acknowledged_writes, check.writes_read_at_end) {
                (0, _) => Some(
                    "nothing was appended or inserted, and registers do not show it".to_owned(),
                ),
                (_, 0) => Some("no key was read after its last write had ended".to_owned()),
                // A reading of all keys that are there passes over a key that is gone.
                (all, read) if read < all => Some(format!(
                    "the keys of {} of {} acknowledged writes were not in the final read: a deleted key is not",
                    figures::count(all - read),
                    figures::count(all)
                )),
                _ => None,
            };
        }
        if self.name == "aborted-read" && check.aborted == 0 {
            return Some(NOTHING_ABORTED.to_owned());
        }
        // Where no key is overwritten, as in histories of rows alone, none of these can be seen.
        let overwrites = ["lost-update", "write-skew"].contains(&self.name);
        let needed = [self.needs, Level::ReadUncommitted];
        let mut needed = needed[..1 + usize::from(overwrites)].iter();
        needed.find_map(|level| {
            let kept = check.levels.iter().find(|kept| kept.level == level.name());
            match kept {
                Some(kept) => kept.unknown.clone(),
                None => Some(format!("{level} was not checked")),
            }
        })
    }

    /// In how many pairs of a history it could have occurred.
    pub fn pairs(&self, check: &IsolationCheck) -> u64 {
        match self.of_what {
            Of::Overlaps => check.conflicting_pairs,
            Of::Dependencies => check.dependencies,
            Of::Writes => check.writes_read_at_end,
        }
    }

    /// As a document has it.
    pub fn document(&self) -> IsolationColumn {
        IsolationColumn {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            code: self.code.to_owned(),
            meaning: self.meaning.to_owned(),
            of: match self.of_what {
                Of::Overlaps => "overlapping conflicting pairs",
                Of::Dependencies => "dependencies",
                Of::Writes => "acknowledged writes that were read at the end",
            }
            .to_owned(),
        }
    }
}

/// The largest share of `pairs` in which something that was not seen in any of them may occur, with 95 %
/// confidence: 1 − 0.05^(1/n) (Clopper & Pearson 1934 for no event).
pub fn at_most(pairs: u64) -> Option<f64> {
    (pairs > 0).then(|| -(0.05_f64.ln() / pairs as f64).exp_m1())
}
