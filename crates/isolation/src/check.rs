//! Checks a history: which anomalies it shows, which levels these break, and what cannot be said.

use std::fmt;

use crate::builder::HistoryError;
use crate::cycles::Search;
use crate::dependencies;
use crate::finds::{Finds, Occurrences};
use crate::graph::{Edge, Graph, kind};
use crate::history::{History, Status};
use crate::keys::KeyKind;
use crate::level::{Anomaly, Level};
use crate::versions::{Seen, Versions};
use crate::weak::Weak;
use crate::{lost, reads, sessions, snapshots, updates};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Only what read committed forbids: linear time, the least memory.
    ReadCommitted,
    /// All levels and session guarantees.
    All,
}

/// How far a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub phase: &'static str,
    /// Of `of`: the part of the phase that is done.
    pub done: u64,
    pub of: u64,
}

impl Progress {
    pub(crate) const fn new(phase: &'static str, done: u64, of: u64) -> Self {
        Self { phase, done, of }
    }
}

/// Whether a level was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LevelVerdict {
    /// The history shows nothing that the level forbids. Not a proof: the next one may.
    NoViolation,
    Broken(Vec<Anomaly>),
    /// Why nothing can be said.
    NotKnown(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub committed: u64,
    pub aborted: u64,
    /// Transactions of which that is not known, and no read shows it.
    pub unknown: u64,
    pub dependencies: u64,
    /// Pairs of transactions that ran at the same time, of which one overwrote what the other read or wrote (of
    /// registers whose order is not known: read what it wrote): each could have shown an anomaly.
    pub conflicting_overlaps: u64,
    /// Appends and inserts of transactions that committed.
    pub acknowledged_writes: u64,
    /// Of them, those whose key was read after all of its writes had ended: a lost one would be missed there.
    pub writes_read_at_end: u64,
}

impl Counts {
    /// The largest share of conflicting overlaps in which an anomaly that was not seen may occur, with 95 %
    /// confidence: 1 − 0.05^(1/n) (Clopper & Pearson 1934 for no event; near 3/n). Nothing if there were none.
    pub fn at_most(&self) -> Option<f64> {
        at_most(self.conflicting_overlaps)
    }

    /// The same of dependencies: anomalies of the order of sessions and of time need no overlap.
    pub fn at_most_of_dependencies(&self) -> Option<f64> {
        at_most(self.dependencies)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn at_most(pairs: u64) -> Option<f64> {
    (pairs > 0).then(|| -(0.05_f64.ln() / pairs as f64).exp_m1())
}

/// What was not seen, and in which share it may occur all the same.
fn bounds(counts: Counts) -> Option<String> {
    let of = |share: f64, n: u64, what: &str| format!("{} of {n} {what}", percent(share));
    let overlaps = counts.at_most().map(|share| {
        let n = counts.conflicting_overlaps;
        of(share, n, "overlapping conflicting pairs")
    });
    let dependencies = counts.at_most_of_dependencies()?;
    let dependencies = of(dependencies, counts.dependencies, "dependencies");
    Some(match overlaps {
        Some(overlaps) => format!(
            "What was not seen occurs in at most {overlaps}, against the order of sessions or of time in at most \
             {dependencies} (95 % confidence)."
        ),
        None => format!(
            "What was not seen of the order of sessions or of time occurs in at most {dependencies} (95 % confidence)."
        ),
    })
}

/// An upper limit: never rounded down.
fn percent(share: f64) -> String {
    let digits = (-(share * 100.0).log10().floor()).clamp(0.0, 12.0) + 1.0;
    let unit = 10_f64.powf(digits);
    let rounded = (share * 100.0 * unit).ceil() / unit;
    format!("{rounded} %")
}

#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// How much there was to find.
    pub counts: Counts,
    pub found: Vec<Occurrences>,
    /// Every level and session guarantee.
    pub levels: Vec<(Level, LevelVerdict)>,
    /// What a reader must know to believe it.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether a level was kept.
    pub fn verdict(&self, level: Level) -> &LevelVerdict {
        let found = self.levels.iter().find(|(of, _)| *of == level);
        // `levels` has all of them.
        found.map_or(&LevelVerdict::NoViolation, |(_, kept)| kept)
    }

    /// The find of this name, such as "G2-item".
    pub fn anomaly(&self, name: &str) -> Option<&Occurrences> {
        self.found.iter().find(|found| found.anomaly.name() == name)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts;
        writeln!(
            f,
            "transactions: {} committed, {} aborted, {} unknown; {} dependencies, {} overlapping conflicting pairs",
            counts.committed,
            counts.aborted,
            counts.unknown,
            counts.dependencies,
            counts.conflicting_overlaps
        )?;
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        writeln!(f)?;
        for (level, kept) in &self.levels {
            write!(f, "{:<36}", level.name())?;
            match kept {
                LevelVerdict::NoViolation => writeln!(f, "no violation seen")?,
                LevelVerdict::NotKnown(why) => writeln!(f, "not known: {why}")?,
                LevelVerdict::Broken(by) => {
                    let names: Vec<&str> = by.iter().map(|anomaly| anomaly.name()).collect();
                    writeln!(f, "broken: {}", names.join(", "))?;
                }
            }
        }
        if let Some(bounds) = bounds(counts) {
            writeln!(f, "\n{bounds}")?;
        }
        for found in &self.found {
            let least = if found.at_least { "at least " } else { "" };
            let times = if found.count == 1 { "once" } else { "times" };
            let count = if found.count == 1 {
                times.to_owned()
            } else {
                format!("{least}{} {times}", found.count)
            };
            writeln!(f)?;
            writeln!(
                f,
                "{} ({}), {count}",
                found.anomaly,
                found.anomaly.meaning()
            )?;
            for line in &found.example.story {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}

/// What was too much to be compared.
#[derive(Clone, Copy)]
struct TooMany {
    /// Reads by predicates with rows.
    rows: bool,
    /// Reads of lists with appends that no read shows.
    unread: bool,
}

/// Why snapshot isolation is not known.
const UNDECIDED: &str =
    "it depends on the order of appends that no read shows: end a workload by reading every key";

/// Why read uncommitted is not known of histories such as those of rows alone.
pub const NOTHING_OVERWRITTEN: &str =
    "no two transactions wrote the same key: nothing could have shown a violation";

/// Checks a history.
///
/// # Errors
/// A value is written twice: then nothing can be said.
pub fn check(
    history: &History,
    depth: Depth,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, HistoryError> {
    progress(Progress::new("versions", 0, 1));
    let versions = Versions::of(history)?;
    let mut finds = Finds::default();
    let notes = notes(history);
    progress(Progress::new("reads", 0, 1));
    let seen = reads::check(&versions, &mut finds);
    progress(Progress::new("dependencies", 0, 1));
    let (edges, too_many_unread) = dependencies::of_data(&versions, &seen);
    let too_many = TooMany {
        rows: versions.too_many_rows,
        unread: too_many_unread,
    };
    let registers = registers(&versions);
    let mut counts = counts(&versions, &edges, registers);
    let overwritten = edges.iter().any(|edge| edge.kind & kind::WW != 0);
    let timed = history
        .clock_step()
        .is_none_or(|clock_step| clock_step.order_known);
    lost::check(history, timed, &mut finds, &mut counts);
    let mut causal_not_known = None;
    let mut undecided = Vec::new();
    match depth {
        Depth::ReadCommitted => {
            if registers {
                let weak = Weak::new(&versions, &seen, &edges);
                // Only causal consistency can be refused.
                let _ = weak.check(Level::ReadCommitted, &mut finds, progress);
            }
            let graph = Graph::of(
                dependencies::count(history),
                dependencies::count(history),
                edges,
            );
            Search::new(&versions, &graph, &mut finds, progress, timed).read_committed();
        }
        Depth::All => {
            causal_not_known =
                weak_levels(&versions, &seen, &edges, registers, &mut finds, progress);
            progress(Progress::new("pairs", 0, 1));
            updates::lost(&versions, &seen, &mut finds);
            updates::fractured(&versions, &seen, &mut finds);
            sessions::check(&versions, &seen, &mut finds);
            let graph = graph(&versions, edges, timed);
            Search::new(&versions, &graph, &mut finds, progress, timed).all();
            if versions.unread.iter().any(|unread| !unread.is_empty()) {
                undecided = undecided_snapshots(&versions, &graph, &finds);
            }
        }
    }
    let found = finds.into_vec();
    let broken_by = |level: Level| {
        let anomalies = found.iter().map(|found| found.anomaly);
        anomalies.filter(move |&anomaly| level.forbids(anomaly))
    };
    let levels = Level::ALL.map(|level| {
        let by: Vec<Anomaly> = broken_by(level).collect();
        let kept = if by.is_empty() {
            let unknown = why_not_known(level, depth, counts, timed, registers, too_many);
            // Rows are never overwritten, and keys may have one writer each.
            let is_writes = level == Level::ReadUncommitted && !overwritten;
            let unknown = unknown.or_else(|| is_writes.then(|| NOTHING_OVERWRITTEN.to_owned()));
            let unknown =
                unknown.or_else(|| undecided.contains(&level).then(|| UNDECIDED.to_owned()));
            let unknown = unknown.or_else(|| {
                let causal = causal_not_known.clone();
                causal.filter(|_| level == Level::Causal)
            });
            unknown.map_or(LevelVerdict::NoViolation, LevelVerdict::NotKnown)
        } else {
            LevelVerdict::Broken(by)
        };
        (level, kept)
    });
    Ok(Report {
        counts,
        found,
        levels: levels.into(),
        notes,
    })
}

/// The levels of Biswas & Enea. Where versions are ordered, dependencies say more about read committed and read
/// atomic. Returns why causal consistency cannot be checked.
fn weak_levels(
    versions: &Versions<'_>,
    seen: &[Seen],
    edges: &[Edge],
    registers: bool,
    finds: &mut Finds,
    progress: &mut dyn FnMut(Progress),
) -> Option<String> {
    let weak = Weak::new(versions, seen, edges);
    if registers {
        for level in [Level::ReadCommitted, Level::ReadAtomic] {
            let _ = weak.check(level, finds, progress);
        }
    }
    weak.check(Level::Causal, finds, progress).err()
}

/// Levels of snapshots that nothing breaks, and for which no order of the appends that no read shows is found.
fn undecided_snapshots(versions: &Versions<'_>, graph: &Graph, finds: &Finds) -> Vec<Level> {
    let data = kind::WW | kind::WR | kind::ANTI;
    // A serial order is also one of snapshots.
    let levels = [
        (Level::SnapshotIsolation, Level::Serializable, data),
        (
            Level::StrongSessionSnapshotIsolation,
            Level::StrongSessionSerializable,
            data | kind::SESSION,
        ),
        (
            Level::StrongSnapshotIsolation,
            Level::StrictSerializable,
            data | kind::SESSION | kind::TIME,
        ),
    ];
    let open = levels.into_iter().filter(|&(level, serial, mask)| {
        !finds.has(|anomaly| level.forbids(anomaly))
            && finds.has(|anomaly| serial.forbids(anomaly))
            && !snapshots::explained(versions, graph.edges(), graph.nodes(), mask)
    });
    open.map(|(level, ..)| level).collect()
}

fn graph(versions: &Versions<'_>, mut edges: Vec<Edge>, timed: bool) -> Graph {
    let transactions = dependencies::count(versions.history);
    dependencies::of_sessions(versions, &mut edges);
    let moments = if timed {
        dependencies::of_time(versions, &mut edges)
    } else {
        0
    };
    Graph::of(transactions, transactions + moments, edges)
}

/// Whether there are registers whose version order is not known.
fn registers(versions: &Versions<'_>) -> bool {
    let history = versions.history;
    (0u32..)
        .zip(&versions.ordered)
        .any(|(key, &ordered)| history.kind(key) == KeyKind::Register && !ordered)
}

fn counts(versions: &Versions<'_>, edges: &[Edge], registers: bool) -> Counts {
    let transactions = versions.history.transactions();
    let mut counts = Counts {
        dependencies: edges.len() as u64,
        ..Counts::default()
    };
    for (transaction, &effective) in transactions.iter().zip(&versions.effective) {
        match transaction.status {
            _ if effective => counts.committed += 1,
            Status::Aborted => counts.aborted += 1,
            Status::Committed | Status::Unknown => counts.unknown += 1,
        }
    }
    // Which write of a register came first is not known, so that only its reads show conflicts.
    let conflicts = edges
        .iter()
        .filter(|edge| registers || edge.kind & kind::WR == 0);
    let history = versions.history;
    let overlaps = conflicts.filter(|edge| {
        !history.ended_before(edge.from, edge.to) && !history.ended_before(edge.to, edge.from)
    });
    // Two that conflict in several keys, or by several reads of one, are one pair: bounds are of pairs.
    let mut pairs: Vec<(u32, u32)> = overlaps
        .map(|edge| (edge.from.min(edge.to), edge.from.max(edge.to)))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    counts.conflicting_overlaps = pairs.len() as u64;
    counts
}

fn notes(history: &History) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(cut_off) = history.cut_off() {
        notes.push(format!(
            "the history is cut off in line {}: {} transactions had begun and count as unknown",
            cut_off.line, cut_off.open
        ));
    }
    if let Some(step) = history.clock_step() {
        let order = if step.order_known {
            "the order of events is that of the file"
        } else {
            "real-time order is not checked"
        };
        notes.push(format!(
            "the clock went back {} times, by {} ns at most: {order}",
            step.times, step.largest_ns
        ));
    }
    notes
}

fn why_not_known(
    level: Level,
    depth: Depth,
    counts: Counts,
    timed: bool,
    registers: bool,
    too_many: TooMany,
) -> Option<String> {
    let shallow = !matches!(level, Level::ReadUncommitted | Level::ReadCommitted);
    let why = if counts.committed == 0 {
        "no transaction committed"
    } else if too_many.rows && (level != Level::ReadUncommitted || counts.dependencies == 0) {
        "reads by predicates are too many to be compared with all rows: use more predicates of fewer rows"
    } else if counts.dependencies == 0 {
        "no transaction depends on another"
    } else if too_many.unread && shallow {
        "too many reads are to be compared with appends that no read shows: end a workload by reading every key"
    } else if counts.conflicting_overlaps == 0 && level.is_of_concurrency() {
        "no two transactions that ran at the same time conflicted: nothing could have shown a violation"
    } else if depth == Depth::ReadCommitted && shallow {
        "only read committed was asked for"
    } else if registers && level.needs_version_order() {
        "the order of a register's versions is not recorded; lists show it"
    } else if !timed && level.is_real_time() {
        "the clock went back"
    } else {
        return None;
    };
    Some(why.to_owned())
}
