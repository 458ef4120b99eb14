//! Causes that a cluster of several nodes has, and those whose figures its nodes tell: what the rules
//! have in common.

mod admission;
mod cpu;
mod log;
mod passed_on;
mod reads;
mod replication;
mod restarts;
mod slow_node;
mod unavailable;
mod uneven;
mod write_stalls;

pub use admission::RULE as ADMISSION;
pub use cpu::{examine as cpu, waiting};
pub use log::examine as log;
pub use passed_on::RULE as PASSED_ON;
pub use reads::examine as reads;
pub use replication::RULE as REPLICATION;
pub use restarts::RULE as RESTARTS;
pub use slow_node::RULE as SLOW_NODE;
pub use unavailable::RULE as UNAVAILABLE;
pub use uneven::{HOT_RANGE, LEADERS};
pub use write_stalls::RULE as WRITE_STALLS;

use std::collections::BTreeMap;

use pgdyno_model::document::{Part, Proof};

use crate::evidence::Evidence;
use crate::rule::Examined;

/// Parts in which nodes have a statement in their hands.
const AT_NODES: [Part; 8] = [
    Part::Sql,
    Part::PassedOn,
    Part::Admission,
    Part::KeyValue,
    Part::RowLocks,
    Part::Wal,
    Part::Replication,
    Part::DataReads,
];
/// Those in which they need their CPUs.
const AT_WORK: [Part; 2] = [Part::Sql, Part::KeyValue];

/// From this share on, a node's CPUs are busy: what comes queues for them. Documented (CockroachDB's
/// guides to alerts and to sizing call more than 80 % high).
const BUSY_SHARE: f64 = 0.8;
/// With less idle time than this share, the CPUs of a host are all in use.
const FULL_IDLE_SHARE: f64 = 0.1;

/// Whether the server is a cluster of several nodes.
pub fn is_cluster(evidence: &Evidence<'_>) -> bool {
    let nodes = evidence.outcome.facts.nodes.known();
    nodes.is_some_and(|nodes| nodes.len() > 1) || requests(evidence).len() > 1
}

/// The answer of a rule that needs what nodes tell, where they tell nothing.
fn unread(evidence: &Evidence<'_>) -> Option<Examined> {
    if evidence.budget.is_of_nodes {
        return None;
    }
    Some(if is_cluster(evidence) {
        Examined::NotKnown("the nodes’ own figures were not read".to_owned())
    } else {
        Examined::NotApplicable("one node".to_owned())
    })
}

/// The same of a rule that needs several nodes.
fn alone(evidence: &Evidence<'_>) -> Option<Examined> {
    let is_alone = || Examined::NotApplicable("one node".to_owned());
    unread(evidence).or_else(|| (!is_cluster(evidence)).then(is_alone))
}

/// The answer of a rule about what sessions of PostgreSQL wait for, where that was not seen.
pub fn no_waits(evidence: &Evidence<'_>) -> Option<Examined> {
    if evidence.budget.is_of_nodes {
        let why = "the nodes of a cluster have no such wait";
        return Some(Examined::NotApplicable(why.to_owned()));
    }
    let gap = evidence.budget.unseen.as_ref();
    gap.map(|gap| Examined::NotKnown(gap.reason.clone()))
}

/// Means by node of the first of these sets of series that was read, those of a set added up.
fn summed<'a>(evidence: &'a Evidence<'_>, sets: &[&[&str]]) -> BTreeMap<&'a str, f64> {
    for set in sets {
        let mut sum = BTreeMap::new();
        for name in *set {
            for (node, mean) in evidence.by_node(name) {
                *sum.entry(node).or_insert(0.0) += mean;
            }
        }
        if !sum.is_empty() {
            return sum;
        }
    }
    BTreeMap::new()
}

/// Key-value requests a second, by the node that did them.
fn requests<'a>(evidence: &'a Evidence<'_>) -> BTreeMap<&'a str, f64> {
    summed(evidence, &crate::nodes::REQUESTS.map(|(_, counts)| counts))
}

/// The node with the most.
fn most<'a>(by_node: &BTreeMap<&'a str, f64>) -> Option<(&'a str, f64)> {
    let most = by_node.iter().max_by(|a, b| a.1.total_cmp(b.1));
    most.map(|(node, most)| (*node, *most))
}

/// The share of its CPUs that each node used.
fn cpu_shares<'a>(evidence: &'a Evidence<'_>) -> BTreeMap<&'a str, f64> {
    summed(evidence, &[&["crdb.cpu.share"]])
}

/// The mean of a log's commits by node, in seconds.
fn log_commits<'a>(evidence: &'a Evidence<'_>) -> BTreeMap<&'a str, f64> {
    let counts = summed(evidence, &[&["crdb.raft.log.commits"]]);
    let times = summed(evidence, &[&["crdb.raft.log.time"]]).into_iter();
    let mean = |(node, time)| {
        let count = counts.get(node).filter(|count| **count > 0.0)?;
        Some((node, time / count))
    };
    times.filter_map(mean).collect()
}

/// A figure that nodes tell.
fn of_nodes(figure: impl Into<String>, sentence: impl Into<String>) -> Proof {
    Proof::new(figure, sentence).at("instruments", "Nodes")
}

/// A figure of the budget.
fn of_budget(figure: impl Into<String>, sentence: impl Into<String>) -> Proof {
    Proof::new(figure, sentence).at("time-budget", "Time budget")
}
