//! One range or tablet that all clients want. Which ranges were hot is not told by the metrics that
//! are read beside a trial, so the rule says what it would need.

use crate::evidence::Evidence;
use crate::rule::{Examined, Rule};

/// The rule.
pub const RULE: Rule = Rule {
    code: "hot-range",
    name: "A hot range or tablet",
    is_of_checkpoints: false,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    match super::leaders::is_cluster(evidence) {
        false => Examined::NotApplicable("one node".to_owned()),
        true => Examined::NotKnown("requests by range or tablet were not observed".to_owned()),
    }
}
