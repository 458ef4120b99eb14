//! Two sets of trials beside each other: what `pgdyno compare A B --json` prints.

use std::collections::BTreeMap;

use pgdyno_stats::Direction;
use serde::Serialize;

use super::Interval;
use super::answer::Answer;
use super::repeats::Summary;
use crate::NoteOfTrials;

/// What a change is estimated by.
pub const ESTIMATOR: &str = "Hodges-Lehmann shift of the logarithms";

/// The figures that are to be decided; the others are exploratory.
pub const HEADLINE: [&str; 3] = ["goodput", "p50", "p99"];

/// Two sets of trials, point by point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Comparison {
    /// What comes of all points together; of one point what comes of that.
    pub answer: Answer,
    /// Those that both sides have.
    pub points: Vec<ComparedPoint>,
    /// Points that one side lacks.
    pub lacking: Vec<Lacking>,
    /// Validity notes on the trials, warnings and serious ones.
    pub notes: Vec<NoteOfTrials>,
    /// What differs in how the first trials of both sides were measured.
    pub differences: Vec<Differing>,
    /// How many more values differ that only name the server itself (port, paths).
    pub left_out: usize,
}

/// What the headline's figures say of B, seen from A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Says {
    /// All that differ are better.
    Better,
    /// All that differ are worse.
    Worse,
    /// Some are better and some are worse.
    Mixed,
    NoDifference,
    CannotTell,
}

/// A point that one side lacks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Lacking {
    /// What was measured, for people.
    pub point: String,
    /// `A` or `B`: the side without it.
    pub side: &'static str,
}

/// The repeats of one workload at one point on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ComparedPoint {
    /// What was measured, for people.
    pub point: String,
    /// Which way its headline's figures point.
    pub says: Says,
    /// What came of it: the sentence, its figures, its checks, what would tell.
    pub answer: Answer,
    /// Numbers of A's trials in the notebook.
    pub a: Vec<i64>,
    /// Numbers of B's trials in the notebook.
    pub b: Vec<i64>,
    /// `goodput` (1/s), `p50`, `p90`, `p95`, `p99`, `p99.9` (µs).
    pub figures: BTreeMap<String, ComparedFigure>,
}

/// What came of comparing a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(untagged)]
pub enum ComparedFigure {
    Not { not_compared: String },
    Compared(Box<Compared>),
}

/// A figure of B vs. A's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Compared {
    pub a: Summary,
    pub b: Summary,
    /// The 95 % interval of the percentile of all of A's transactions together, from the whole seconds of its trials;
    /// left out of other figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub a_within: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub b_within: Option<Interval>,
    /// Whether repeats were compared in pairs.
    pub paired: bool,
    /// What it was judged with.
    pub family: Family,
    /// B to A as a share, by the Hodges-Lehmann shift: 0.106 is +10.6 %; `null` where a figure is not
    /// positive, and where there is no verdict.
    pub change: Option<f64>,
    /// What the change is: `null` where there is none.
    pub estimator: Option<&'static str>,
    /// The interval of the change: those of the primary family hold together at 95 %.
    pub change_interval: Option<[f64; 2]>,
    /// From A's median to B's, as a share: what was measured, without an interval.
    pub change_of_medians: Option<f64>,
    /// The smallest change that so many repeats with this noise show in 80 of 100 cases.
    pub smallest_change: Option<f64>,
    /// Two-sided p-value of this figure alone; `null` without a verdict.
    pub p: Option<f64>,
    /// The same among its family.
    pub adjusted_p: Option<f64>,
    /// What time has to do with it; `null`: not tested.
    pub drift: Option<Drift>,
    pub verdict: Verdict,
    /// How many repeats a side it takes, where there are not enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub repeats_needed: Option<usize>,
}

impl From<&pgdyno_stats::Comparison> for Compared {
    fn from(comparison: &pgdyno_stats::Comparison) -> Self {
        let interval = comparison.ratio.map(|ratio| ratio.interval);
        Self {
            a: (&comparison.a).into(),
            b: (&comparison.b).into(),
            a_within: None,
            b_within: None,
            paired: comparison.paired,
            change: comparison.change(),
            estimator: comparison.change().map(|_| ESTIMATOR),
            family: comparison.family.into(),
            change_interval: interval.map(|i| [i.low - 1.0, i.high - 1.0]),
            change_of_medians: comparison.change_of_medians(),
            smallest_change: comparison.smallest_change(),
            p: comparison.p,
            adjusted_p: comparison.adjusted_p,
            drift: Drift::of(comparison),
            verdict: comparison.verdict.into(),
            repeats_needed: match comparison.verdict {
                pgdyno_stats::Verdict::NotEnoughRepeats { need, .. } => Some(need),
                _ => None,
            },
        }
    }
}

/// What a figure is judged with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// What was to be decided: no false alarm among all of it in 95 of 100 comparisons (Holm).
    Primary,
    /// What else was seen (Benjamini-Hochberg).
    Exploratory,
}

impl From<pgdyno_stats::Family> for Family {
    fn from(family: pgdyno_stats::Family) -> Self {
        match family {
            pgdyno_stats::Family::Primary => Self::Primary,
            pgdyno_stats::Family::Exploratory => Self::Exploratory,
        }
    }
}

/// What time has to do with a difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Drift {
    /// Whether the sides took turns.
    pub by_turns: bool,
    /// Whether the order of the turns was drawn; where it was not, noise with the turns' own period (A B B A: four
    /// trials) looks like a difference.
    pub drawn: bool,
    /// From the middle of A's starts to the middle of B's.
    pub apart_s: f64,
    /// From the first repeat to the last, as a share.
    pub first_to_last: f64,
    /// Its interval, at the level of the figure's own.
    pub first_to_last_interval: [f64; 2],
    /// What that foretells for B from A, as a share.
    pub foretold: f64,
    /// Its interval, of repeats that do not depend on one another.
    pub foretold_interval: [f64; 2],
    /// From A's first repeat to its last, by a line through A alone, as a share.
    pub within_a: Option<f64>,
    pub within_b: Option<f64>,
    /// The figure at the first and at the last start, by one line through all repeats with no step
    /// between A and B.
    pub line: [f64; 2],
    /// The share of the repeats' spread that a line over time explains.
    pub time_explains: f64,
    /// The share that a step between A and B explains.
    pub change_explains: f64,
}

impl Drift {
    /// That of a comparison; `None` where time was not tested.
    pub fn of(comparison: &pgdyno_stats::Comparison) -> Option<Self> {
        let drift = comparison.drift?;
        Some(Self {
            by_turns: drift.by_turns,
            drawn: comparison.is_drawn,
            apart_s: drift.apart_s,
            first_to_last: drift.first_to_last,
            first_to_last_interval: drift.first_to_last_interval,
            foretold: drift.foretold,
            foretold_interval: drift.foretold_interval,
            within_a: drift.within_a,
            within_b: drift.within_b,
            line: comparison.line_over_time()?,
            time_explains: drift.time_explains,
            change_explains: drift.change_explains,
        })
    }
}

/// Where B lies as seen from A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "DifferenceVerdict"))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Higher,
    Lower,
    /// What there is of a difference may be chance.
    NoSignificantDifference,
    /// Cannot tell: too few for a test.
    NotEnoughRepeats,
    /// Cannot tell: time explains as much as the change.
    TimeExplains,
    /// Cannot tell: they differ, but did not run by turns.
    NotByTurns,
}

impl From<pgdyno_stats::Verdict> for Verdict {
    fn from(verdict: pgdyno_stats::Verdict) -> Self {
        use pgdyno_stats::Verdict as Of;
        match verdict {
            Of::NotEnoughRepeats { .. } => Self::NotEnoughRepeats,
            Of::TimeExplains => Self::TimeExplains,
            Of::NotByTurns => Self::NotByTurns,
            Of::NoSignificantDifference => Self::NoSignificantDifference,
            Of::Different {
                direction: Direction::Higher,
            } => Self::Higher,
            Of::Different {
                direction: Direction::Lower,
            } => Self::Lower,
        }
    }
}

/// Something that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Differing {
    pub kind: DifferingKind,
    /// A setting's name, or words: `clients`, `server version`.
    pub what: String,
    /// A's value; `–` where it has none.
    pub a: String,
    pub b: String,
    /// What it does, in some words; missing: pgdyno has none for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub does: Option<&'static str>,
}

/// What something that differs belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum DifferingKind {
    /// A setting of the server.
    Setting,
    /// The version of the server, or of pgdyno.
    Version,
    /// How the load was asked for.
    Trial,
    /// What else is known of the server.
    Server,
    Host,
}
