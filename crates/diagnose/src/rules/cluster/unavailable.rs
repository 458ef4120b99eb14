//! Ranges that cannot be read or written, because most of their copies are gone.

use pgdyno_model::document::Cause;
use pgdyno_spec::text;

use super::{of_nodes, unread};
use crate::evidence::{Evidence, IN_TRANSACTIONS};
use crate::rule::{Assessment, Examined, Rule, check};

pub const RULE: Rule = Rule {
    cause: Cause::Unavailable,
    code: "unavailable",
    name: "Unavailable ranges",
    is_of_checkpoints: false,
    examine,
};

/// Blocks that commit less than this of the best are held up.
const HELD_UP: f64 = 0.5;
/// A reading tells of the second before it.
const READ_AFTER_US: i64 = 500_000;

fn examine(evidence: &Evidence<'_>) -> Examined {
    if let Some(unknown) = unread(evidence) {
        return unknown;
    }
    let Some(mean) = evidence.mean("crdb.ranges.unavailable") else {
        return Examined::NotKnown("nodes do not report which ranges are unavailable".to_owned());
    };
    let under = evidence.mean("crdb.ranges.underreplicated").unwrap_or(0.0);
    let figure = format!(
        "{} ranges unavailable, {} with too few copies on average",
        text::some(mean),
        text::some(under)
    );
    if mean == 0.0 {
        return Examined::nothing(evidence, figure);
    }
    let rates = commits(evidence);
    let best = rates.iter().copied().fold(0.0, f64::max);
    let blocks = evidence.budget.blocks.iter().zip(&rates);
    let all = evidence.shares(&IN_TRANSACTIONS);
    let held_up: Vec<bool> = blocks
        .map(|(block, rate)| {
            let read_us = (block.from_us + READ_AFTER_US, block.to_us + READ_AFTER_US);
            let courses = evidence.outcome.observed.all("crdb.ranges.unavailable");
            let mut means = courses.filter_map(|course| course.mean(read_us.0, read_us.1, 0));
            means.any(|mean| mean > 0.0) && *rate < HELD_UP * best
        })
        .collect();
    let count = held_up.iter().filter(|is| **is).count();
    let shares = all.iter().zip(&held_up);
    Examined::assessed(Assessment {
        shares: shares
            .map(|(share, is)| if *is { *share } else { 0.0 })
            .collect(),
        figure: Some(figure.clone()),
        sentence: "Unavailable ranges limited it: no client could read or write them".to_owned(),
        proofs: vec![of_nodes(
            text::some(mean),
            "ranges were unavailable on average",
        )],
        remedies: vec![
            "bring the nodes back that have their copies; more copies than three outlive more nodes"
                .to_owned(),
        ],
        checks: vec![check(
            "Commits fell while ranges were unavailable",
            count > 0,
            format!("in {count} of {} blocks; {figure}", held_up.len()),
        )],
        ..Assessment::default()
    })
}

/// Commits a second, by block.
fn commits(evidence: &Evidence<'_>) -> Vec<f64> {
    let seconds = &evidence.outcome.recording.seconds;
    let of_block = |block: &crate::blocks::Block| {
        let within = seconds
            .iter()
            .filter(|second| (block.from_us..block.to_us).contains(&(second.start_us as i64)));
        let committed: u64 = within
            .flat_map(|second| &second.scripts)
            .map(|script| script.counts.committed)
            .sum();
        committed as f64 / block.length_s()
    };
    evidence.budget.blocks.iter().map(of_block).collect()
}
