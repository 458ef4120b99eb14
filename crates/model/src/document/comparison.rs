//! Two sets of trials beside each other: what `pgdyno compare A B --json` prints.

use std::collections::BTreeMap;

use pgdyno_stats::Direction;
use serde::Serialize;

use super::repeats::Summary;

/// Two sets of trials, point by point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Those that both sides have.
    pub points: Vec<ComparedPoint>,
    /// What differs in how the first trials of both sides were measured.
    pub differences: Vec<Differing>,
}

/// The repeats of one workload at one point on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedPoint {
    /// What was measured, for people.
    pub point: String,
    /// Numbers of A's trials in the notebook.
    pub a: Vec<i64>,
    /// Numbers of B's trials in the notebook.
    pub b: Vec<i64>,
    /// `goodput` (1/s), `p50`, `p90`, `p95`, `p99`, `p99.9` (µs).
    pub figures: BTreeMap<String, ComparedFigure>,
}

/// What came of comparing a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ComparedFigure {
    /// It was not compared.
    Not {
        /// Why.
        not_compared: String,
    },
    /// B vs. A.
    Compared(Compared),
}

/// A figure of B vs. A's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// A alone.
    pub a: Summary,
    /// B alone.
    pub b: Summary,
    /// Whether repeats were compared in pairs.
    pub paired: bool,
    /// B to A as a share: 0.106 is +10.6 %; `null` where a figure is not positive.
    pub change: Option<f64>,
    /// The 95 % interval of the change.
    pub change_interval: Option<[f64; 2]>,
    /// Two-sided p-value; `null` without enough repeats.
    pub p: Option<f64>,
    /// What may be said.
    pub verdict: Verdict,
    /// How many repeats a side it takes, where there are not enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats_needed: Option<usize>,
}

impl From<&pgdyno_stats::Comparison> for Compared {
    fn from(comparison: &pgdyno_stats::Comparison) -> Self {
        let interval = comparison.ratio.and_then(|ratio| ratio.interval);
        Self {
            a: (&comparison.a).into(),
            b: (&comparison.b).into(),
            paired: comparison.paired,
            change: comparison.change(),
            change_interval: interval.map(|i| [i.low - 1.0, i.high - 1.0]),
            p: comparison.p,
            verdict: comparison.verdict.into(),
            repeats_needed: match comparison.verdict {
                pgdyno_stats::Verdict::NotEnoughRepeats { need, .. } => Some(need),
                _ => None,
            },
        }
    }
}

/// Where B lies as seen from A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(rename = "DifferenceVerdict"))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// B's figures are higher.
    Higher,
    /// B's figures are lower.
    Lower,
    /// What there is of a difference may be chance.
    NoSignificantDifference,
    /// Too few for a test.
    NotEnoughRepeats,
}

impl From<pgdyno_stats::Verdict> for Verdict {
    fn from(verdict: pgdyno_stats::Verdict) -> Self {
        use pgdyno_stats::Verdict as Of;
        match verdict {
            Of::NotEnoughRepeats { .. } => Self::NotEnoughRepeats,
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Differing {
    /// Its position: `server.version`.
    pub what: String,
    /// A's value; `–` where it has none.
    pub a: String,
    /// B's value.
    pub b: String,
}
