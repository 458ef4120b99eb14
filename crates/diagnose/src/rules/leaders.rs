//! A few nodes that do the work of all, because the leaders of the ranges or tablets are there.
//!
//! Seen from the clients: their sessions wait on some endpoints far longer than on others that serve
//! the same workload. Where the nodes' own counters of operations were read, these decide.

use crate::evidence::Evidence;
use crate::rule::{Examined, Found, Rule};
use pgdyno_model::document::{Cause, Proof};
use pgdyno_model::text;

/// The rule.
pub const RULE: Rule = Rule {
    cause: Cause::Leaders,
    code: "leaders",
    name: "Leaders on few nodes",
    is_of_checkpoints: false,
    examine,
};

/// A node with so many times its fair part of the work has too much of it.
const UNEVEN: f64 = 2.0;

/// Whether the server is a cluster of several nodes.
pub fn is_cluster(evidence: &Evidence<'_>) -> bool {
    let nodes = evidence.outcome.facts.nodes.known();
    nodes.is_some_and(|nodes| nodes.len() > 1)
}

fn examine(evidence: &Evidence<'_>) -> Examined {
    if !is_cluster(evidence) {
        return Examined::NotApplicable("one node".to_owned());
    }
    let Some(work) = by_node(evidence) else {
        return Examined::NotKnown("the load of each node was not observed".to_owned());
    };
    let all: f64 = work.iter().map(|(_, work)| work).sum();
    let most = work.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let Some((node, most)) = most.filter(|_| all > 0.0) else {
        return Examined::NotKnown("no node did anything".to_owned());
    };
    let times = most / (all / work.len() as f64);
    // The share of the work that would be done elsewhere if all had the same.
    let excess = (most - all / work.len() as f64) / all;
    Examined::found(Found {
        shares: evidence.constant(if times >= UNEVEN {
            excess.max(0.0)
        } else {
            0.0
        }),
        figure: Some(format!(
            "{node} did {} of the work",
            text::roughly(most / all)
        )),
        sentence: format!("Leaders on few nodes limited it: {node} did most of the work"),
        proofs: vec![
            Proof::new(
                text::roughly(most / all),
                format!(
                    "of the operations were done by {node}, one of {} nodes",
                    work.len()
                ),
            )
            .at("instruments", "Nodes"),
        ],
        remedies: vec![
            "split the tables, so that their leaders spread over all nodes, and check what pins \
             leaders to nodes"
                .to_owned(),
        ],
        ..Found::default()
    })
}

/// Operations a second by node, from whichever counter of them was read.
fn by_node(evidence: &Evidence<'_>) -> Option<Vec<(String, f64)>> {
    let observed = &evidence.outcome.observed;
    let (from_us, to_us) = evidence.measured_us;
    OPERATIONS.iter().find_map(|name| {
        let by_node: Vec<(String, f64)> = observed
            .all(name)
            .filter_map(|course| {
                let mean = course.mean(from_us, to_us, 0)?;
                Some((course.of.series.label.clone(), mean))
            })
            .collect();
        (by_node.len() > 1).then_some(by_node)
    })
}

/// Series, by node, of what leaders do: requests to tablets, batches of requests to ranges. CPU time would
/// not do: the nodes that clients are connected to use it for SQL.
const OPERATIONS: &[&str] = &["yb.reads", "crdb.kv.batches"];
