//! A node that takes far longer than the others for the same: its CPU is taken away, its disk is slow,
//! it hangs now and then.

use std::collections::BTreeMap;

use pgdyno_model::document::{Cause, Part};
use pgdyno_spec::text;

use super::{AT_NODES, AT_WORK, alone, cpu_shares, log_commits, of_nodes, summed};
use crate::evidence::Evidence;
use crate::nodes::{REQUESTS, STATEMENTS};
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule, check};

pub const RULE: Rule = Rule {
    cause: Cause::SlowNode,
    code: "slow-node",
    name: "A slow node",
    is_of_checkpoints: false,
    examine,
};

/// So many times as long as on the others is slow: requests that differ from node to node may well take
/// twice as long.
const SLOW: f64 = 3.0;
/// The others must have done so much of what the node did, each: else they did something else.
const COMPARABLE: f64 = 0.2;
/// Less than this of the clients' time is nothing to them.
const EXCESS_MIN: f64 = 0.05;
/// Fewer a second say little.
const RATE_MIN: f64 = 1.0;

/// A node, and what it takes longer.
pub struct Slow<'a> {
    node: &'a str,
    what: &'static str,
    mean_s: f64,
    others_s: f64,
    /// Seconds of requests for each second that the others would not have taken.
    excess: f64,
}

impl<'a> Slow<'a> {
    /// The slowest of the nodes, where it is slow.
    pub fn of(evidence: &'a Evidence<'_>) -> Option<Self> {
        let kinds = [
            ("a key-value request", &REQUESTS),
            ("a statement", &STATEMENTS),
        ];
        let all = kinds.into_iter().flat_map(|(what, kind)| {
            let times = summed(evidence, &kind.map(|(times, _)| times));
            let counts = summed(evidence, &kind.map(|(_, counts)| counts));
            let nodes: Vec<&str> = times.keys().copied().collect();
            nodes
                .into_iter()
                .filter_map(move |node| compared(node, what, &times, &counts))
        });
        // A node that does little but for itself may take as long as it likes.
        let all = all.filter(|slow| slow.excess >= EXCESS_MIN * evidence.busy_clients());
        all.max_by(|a, b| a.excess.total_cmp(&b.excess))
    }

    /// The share of the nodes' parts that it represents.
    fn part_of(&self, evidence: &Evidence<'_>, parts: &[Part]) -> f64 {
        let seconds: f64 = parts
            .iter()
            .map(|part| evidence.budget.seconds(*part))
            .sum();
        ratio(self.excess * evidence.elapsed_s, seconds).min(1.0)
    }

    /// The share of the nodes' work that it represents.
    pub fn part_of_work(&self, evidence: &Evidence<'_>) -> f64 {
        self.part_of(evidence, &AT_WORK)
    }
}

fn compared<'a>(
    node: &'a str,
    what: &'static str,
    times: &BTreeMap<&'a str, f64>,
    counts: &BTreeMap<&'a str, f64>,
) -> Option<Slow<'a>> {
    let nodes = counts.len() as f64;
    let (time, count) = (times.get(node)?, counts.get(node)?);
    let others_time = times.values().sum::<f64>() - time;
    let others_count = counts.values().sum::<f64>() - count;
    let is_comparable = nodes > 1.0
        && *count >= RATE_MIN
        && others_count >= RATE_MIN
        && others_count / (nodes - 1.0) >= COMPARABLE * count;
    let (mean_s, others_s) = (time / count, others_time / others_count);
    (is_comparable && mean_s >= SLOW * others_s).then(|| Slow {
        node,
        what,
        mean_s,
        others_s,
        excess: count * (mean_s - others_s),
    })
}

/// What a figure of the node is beside that of the others.
fn beside(
    by_node: &BTreeMap<&str, f64>,
    node: &str,
    show: impl Fn(f64) -> String,
) -> Option<[String; 2]> {
    let of_node = by_node.get(node)?;
    let others = by_node.iter().filter(|(of, _)| **of != node);
    let others: Vec<f64> = others.map(|(_, value)| *value).collect();
    let mean = others.iter().sum::<f64>() / others.len() as f64;
    (!others.is_empty()).then(|| [show(*of_node), show(mean)])
}

fn examine(evidence: &Evidence<'_>) -> Examined {
    if let Some(unknown) = alone(evidence) {
        return unknown;
    }
    let Some(slow) = Slow::of(evidence) else {
        return Examined::nothing(
            evidence,
            "no node took three times as long as the others, for what mattered",
        );
    };
    let Slow { node, what, .. } = slow;
    let part = slow.part_of(evidence, &AT_NODES);
    let times = ratio(slow.mean_s, slow.others_s);
    let mut proofs = vec![of_nodes(
        format!("{} ×", text::some(times)),
        format!(
            "as long took {what} on {node}: {}, {} on the others",
            text::time(slow.mean_s * 1e6),
            text::time(slow.others_s * 1e6)
        ),
    )];
    if let Some([of_node, others]) = beside(&cpu_shares(evidence), node, text::roughly) {
        proofs.push(of_nodes(
            of_node,
            format!("of its CPUs were used by {node}, {others} by each of the others"),
        ));
    }
    let log = beside(&log_commits(evidence), node, |mean_s| {
        text::time(mean_s * 1e6)
    });
    if let Some([of_node, others]) = log {
        proofs.push(of_nodes(
            of_node,
            format!("to make the log durable on {node}, {others} on the others"),
        ));
    }
    let figures = format!("{what} took {} times as long on {node}", text::some(times));
    Examined::assessed(Assessment {
        shares: evidence
            .shares(&AT_NODES)
            .into_iter()
            .map(|share| share * part)
            .collect(),
        figure: Some(figures.clone()),
        sentence: format!(
            "A slow node limited it: {node} took far longer than the others for the same"
        ),
        proofs,
        remedies: vec![format!(
            "check the host of {node}: CPUs taken by others or by a quota, its disk, its network; or move its \
             leaders and clients away"
        )],
        checks: vec![check(
            "The others did the same work faster",
            times >= SLOW,
            figures,
        )],
        ..Assessment::default()
    })
}
