//! Hops between nodes: a statement that reaches a node without the rows it needs is passed on. How
//! often that happened is not told by the metrics that are read beside a trial.

use crate::evidence::Evidence;
use crate::rule::{Examined, Rule};

/// The rule.
pub const RULE: Rule = Rule {
    code: "hops",
    name: "Hops between nodes",
    is_of_checkpoints: false,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    match super::leaders::is_cluster(evidence) {
        false => Examined::NotApplicable("one node".to_owned()),
        true => Examined::NotKnown("requests between nodes were not observed".to_owned()),
    }
}
