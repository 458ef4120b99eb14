//! Admission control: a node that is overloaded has requests wait before it does them.

use pgdyno_model::document::{Cause, Part};
use pgdyno_spec::text;

use super::{most, of_budget, of_nodes, summed, unread};
use crate::evidence::Evidence;
use crate::rule::{Assessment, Examined, Rule};

pub const RULE: Rule = Rule {
    cause: Cause::Admission,
    code: "admission",
    name: "Admission control",
    is_of_checkpoints: false,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    if let Some(unknown) = unread(evidence) {
        return unknown;
    }
    let waited = summed(evidence, &[&["crdb.admission.waited"]]);
    let Some((node, most)) = most(&waited) else {
        let why = "this version has no admission control, or does not report it";
        return Examined::NotApplicable(why.to_owned());
    };
    Examined::assessed(Assessment {
        shares: evidence.shares(&[Part::Admission]),
        sentence: format!(
            "Admission control limited it: requests waited until {node} had CPU or its store was less busy"
        ),
        proofs: vec![
            of_budget(
                text::roughly(evidence.budget.share(Part::Admission)),
                "of the clients’ time requests waited to be admitted",
            ),
            of_nodes(text::some(most), format!("requests waited at {node} on average")),
        ],
        remedies: vec![
            "the node is overloaded: see its CPUs, the sublevels of its store’s level 0 and its disk; \
             fewer clients, or more nodes"
                .to_owned(),
        ],
        ..Assessment::default()
    })
}
