//! Which of two points is ahead: by the tests of `pgdyno-stats`, all pairs of an answer judged together.
//! What did not take turns is never called different: time may be what differs.

use pgdyno_model::notebook::TrialRow;
use pgdyno_stats::{
    CompareOptions, Comparison, Direction, Drawn, MIN_REPEATS_TO_COMPARE, Row, Sample, Starts,
    Verdict, compare_all, repeats_needed,
};

use super::planned::Planned;
use crate::comparison::{Metric, Pair};

/// No false alarm among all pairs of an answer in so many of 100 experiments.
pub const LEVEL: f64 = 0.95;

/// Two points and the figure that they are compared in.
pub struct Duel<'a> {
    pub a: Vec<&'a TrialRow>,
    pub b: Vec<&'a TrialRow>,
    pub metric: &'static Metric,
}

/// What may be said of B beside A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuelResult {
    Higher,
    Lower,
    /// No more than chance explains.
    Same,
    /// Too few repeats: so many a side are needed.
    Few {
        need: usize,
    },
    /// They ran one after the other.
    NotByTurns,
    /// A trial does not have the figure.
    Lacking,
}

/// The same with its figures.
pub struct Judged {
    pub result: DuelResult,
    pub comparison: Option<Comparison>,
}

pub fn judge(planned: &Planned, duels: &[Duel<'_>]) -> Vec<Judged> {
    let samples: Vec<Option<(Sample, Sample)>> = duels.iter().map(Duel::samples).collect();
    let starts: Vec<Option<Starts>> = duels.iter().map(Duel::starts).collect();
    let drawn = duels.iter().map(|duel| planned.drawn(&duel.a, &duel.b));
    let drawn: Vec<Option<Drawn>> = drawn.collect();
    let compared = samples.iter().flatten().count();
    let need = repeats_needed(compared, false, LEVEL);
    let all = samples.iter().zip(&starts).zip(&drawn);
    let rows = all.filter_map(|((of, starts), drawn)| {
        let (a, b) = of.as_ref()?;
        Some(Row {
            a,
            b,
            starts: starts.as_ref(),
            drawn: drawn.as_ref(),
            family: pgdyno_stats::Family::Primary,
        })
    });
    let rows: Vec<Row<'_>> = rows.collect();
    let options = CompareOptions {
        level: LEVEL,
        paired: are_paired(&rows),
        ..CompareOptions::default()
    };
    let found = compare_all(&rows, &options).unwrap_or_default();
    let mut found = found.into_iter();
    let judged = samples.iter().map(|sample| {
        let comparison = sample.as_ref().and_then(|_| found.next());
        Judged {
            result: comparison
                .as_ref()
                .map_or(DuelResult::Lacking, |of| duel_result(of, need)),
            comparison,
        }
    });
    judged.collect()
}

/// In pairs, so that what both met cancels out: where all took turns in an order that was not drawn, and are enough
/// for that test.
fn are_paired(rows: &[Row<'_>]) -> bool {
    let need = repeats_needed(rows.len(), true, LEVEL);
    !rows.is_empty()
        && rows.iter().all(|row| {
            let are_pairs = row.drawn.is_none() && row.starts.is_some_and(Starts::are_pairs);
            row.a.values().len() >= need && are_pairs
        })
}

fn duel_result(of: &Comparison, need: usize) -> DuelResult {
    if let Verdict::NotEnoughRepeats { need, .. } = of.verdict {
        return DuelResult::Few { need };
    }
    if of.a.n.min(of.b.n) < MIN_REPEATS_TO_COMPARE {
        return DuelResult::Few { need };
    }
    if !of.drift.is_some_and(|drift| drift.by_turns) {
        return DuelResult::NotByTurns;
    }
    match of.verdict {
        Verdict::Different {
            direction: Direction::Higher,
        } => DuelResult::Higher,
        Verdict::Different {
            direction: Direction::Lower,
        } => DuelResult::Lower,
        Verdict::TimeExplains | Verdict::NotByTurns => DuelResult::NotByTurns,
        _ => DuelResult::Same,
    }
}

impl Duel<'_> {
    fn samples(&self) -> Option<(Sample, Sample)> {
        self.pair().samples(self.metric).ok()
    }

    fn starts(&self) -> Option<Starts> {
        self.pair().starts()
    }

    fn pair(&self) -> Pair<'_> {
        Pair {
            title: String::new(),
            a: self.a.clone(),
            b: self.b.clone(),
            drawn: None,
        }
    }
}
