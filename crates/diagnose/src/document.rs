//! The time budget as a document.

use pgdyno_model::document::{BudgetPart, BudgetPhase, Part, TimeBudget};

use super::added::{added, added_by_stops};
use super::blocks::{self, Block};
use super::evidence::Evidence;
use super::ratio::ratio;

/// Parts below this share have no interval: it rests on too few samples.
const INTERVAL_SHARE_MIN: f64 = 0.02;
/// A phase needs so many blocks.
const PHASE_BLOCKS_MIN: usize = 1;

pub fn of(evidence: &Evidence<'_>) -> TimeBudget {
    let budget = &evidence.budget;
    let all_s = budget.all_s();
    let committed = evidence.all.counts.committed;
    let parts = Part::ALL
        .into_iter()
        .filter(|part| budget.seconds(*part) > 0.0);
    let parts: Vec<Part> = parts.collect();
    let of_part = |part: &Part| {
        let client_s = budget.seconds(*part);
        let share = ratio(client_s, all_s);
        let shares: Vec<f64> = budget
            .blocks
            .iter()
            .map(|block| share_of(block, *part))
            .collect();
        let half = blocks::mean(&shares).1;
        let half = half.filter(|_| share >= INTERVAL_SHARE_MIN && *part != Part::NotAttributed);
        BudgetPart {
            part: *part,
            name: part.name().to_owned(),
            share,
            interval: half.map(|half| ((share - half).max(0.0), (share + half).min(1.0))),
            client_s,
            us_per_commit: (committed > 0).then(|| client_s * 1e6 / committed as f64),
            source: source(evidence, *part),
        }
    };
    TimeBudget {
        clients: evidence.outcome.recording.clients.total as u64,
        elapsed_s: evidence.elapsed_s,
        client_seconds: all_s,
        blocks: budget.blocks.len(),
        phases: phases(evidence, &parts),
        parts: parts.iter().map(of_part).collect(),
        unseen: budget.unseen.as_ref().map(|gap| gap.reason.clone()),
        added: {
            let recording = &evidence.outcome.recording;
            let mut rows = added(&recording.added);
            rows.extend(added_by_stops(recording));
            rows
        },
    }
}

fn share_of(block: &Block, part: Part) -> f64 {
    ratio(block.parts[part as usize], block.parts.iter().sum())
}

/// What a part is known from.
fn source(evidence: &Evidence<'_>, part: Part) -> String {
    let budget = &evidence.budget;
    let has_processes = evidence.mean("host.server.sessions.cpu").is_some();
    match part {
        Part::Rest | Part::Schedule | Part::Think | Part::Between => {
            "the engine’s clock".to_owned()
        }
        Part::GeneratorCpu => "schedstat of pgdyno’s threads".to_owned(),
        Part::GeneratorWait => "run-queue wait of pgdyno’s threads".to_owned(),
        Part::GeneratorStopped => "a thread of pgdyno’s that looks at the clock".to_owned(),
        Part::Wire => "an empty statement’s round trip, answers’ bytes".to_owned(),
        Part::Queued if budget.is_pooled => "fewer sessions than clients".to_owned(),
        Part::Queued => "an empty statement’s wait, stopped processes".to_owned(),
        Part::Sql | Part::KeyValue => "the nodes’ own clocks, all requests together".to_owned(),
        Part::PassedOn => "requests passed on × least round trip of the nodes".to_owned(),
        Part::Replication => "commits that wait × least round trip of the nodes".to_owned(),
        Part::Admission => "the nodes’ own clocks".to_owned(),
        Part::Wal if budget.is_of_nodes => "commits that wait × mean log commit".to_owned(),
        Part::RowLocks | Part::DataReads if budget.is_of_nodes => {
            "the nodes’ own clocks".to_owned()
        }
        Part::ServerCpu | Part::ServerWait if has_processes => {
            "schedstat of its processes".to_owned()
        }
        Part::ServerCpu => "wait events; on a CPU or waiting for one".to_owned(),
        Part::NotAttributed => "time that no source explains".to_owned(),
        _ => "wait events".to_owned(),
    }
}

/// Before, during and after checkpoints where there were any; else the two halves.
fn phases(evidence: &Evidence<'_>, parts: &[Part]) -> Vec<BudgetPhase> {
    let blocks = &evidence.budget.blocks;
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else {
        return Vec::new();
    };
    let (from_us, to_us) = (first.from_us, last.to_us);
    let spans = checkpoints(evidence, (from_us, to_us));
    let bounds: Vec<(&str, i64, i64)> = match (spans.first(), spans.last()) {
        (Some((begin_us, _)), Some((_, end_us))) => vec![
            ("before", from_us, *begin_us),
            ("checkpoint", *begin_us, *end_us),
            ("after", *end_us, to_us),
        ],
        _ => {
            let middle_us = blocks[blocks.len() / 2].from_us;
            vec![
                ("first half", from_us, middle_us),
                ("second half", middle_us, to_us),
            ]
        }
    };
    let phases = bounds.into_iter().filter_map(|(name, from_us, to_us)| {
        let is_in =
            |block: &&Block| (from_us..to_us).contains(&i64::midpoint(block.from_us, block.to_us));
        let within: Vec<&Block> = blocks.iter().filter(is_in).collect();
        (within.len() >= PHASE_BLOCKS_MIN).then_some(())?;
        let seconds = |part: Part| {
            within
                .iter()
                .map(|block| block.parts[part as usize])
                .sum::<f64>()
        };
        let all_s: f64 = Part::ALL.into_iter().map(seconds).sum();
        Some(BudgetPhase {
            name: name.to_owned(),
            from_us,
            to_us,
            shares: parts
                .iter()
                .map(|part| ratio(seconds(*part), all_s))
                .collect(),
        })
    });
    let phases: Vec<BudgetPhase> = phases.collect();
    if phases.len() > 1 { phases } else { Vec::new() }
}

/// When checkpoints were under way, within these times.
fn checkpoints(evidence: &Evidence<'_>, (from_us, to_us): (i64, i64)) -> Vec<(i64, i64)> {
    let events = evidence.outcome.observed.events.iter();
    let events = events.filter(|event| event.kind == "checkpoint");
    let spans = events.map(|event| {
        let end_us = event.at_us + event.length_us.unwrap_or(0).cast_signed();
        (event.at_us.max(from_us), end_us.min(to_us))
    });
    let mut spans: Vec<(i64, i64)> = spans.filter(|(from, to)| from < to).collect();
    spans.sort_unstable();
    spans
}
