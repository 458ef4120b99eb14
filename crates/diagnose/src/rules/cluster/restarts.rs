//! Transactions that the server restarts by itself: work that is done twice, and no client sees why.

use std::collections::BTreeMap;

use pgdyno_model::document::Cause;
use pgdyno_spec::text;

use super::{AT_NODES, of_nodes, unread};
use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule};

pub const RULE: Rule = Rule {
    cause: Cause::Restarts,
    code: "restarts",
    name: "Restarts inside the server",
    is_of_checkpoints: false,
    examine,
};

/// Assumed: what is restarted had come half the way.
const DONE: f64 = 0.5;

fn examine(evidence: &Evidence<'_>) -> Examined {
    if let Some(unknown) = unread(evidence) {
        return unknown;
    }
    let by_reason = by_reason(evidence);
    let Some(committed) = evidence
        .mean("crdb.txn.commits")
        .filter(|_| !by_reason.is_empty())
    else {
        return Examined::NotKnown(
            "nodes do not report how often they restart transactions".to_owned(),
        );
    };
    let all: f64 = by_reason.values().sum();
    // Those that clients learned of are their tries.
    let reported = ratio(evidence.all.work.lost_tries as f64, evidence.elapsed_s);
    let own = (all - reported).max(0.0);
    let part = DONE * ratio(own, committed + own);
    let mut reasons: Vec<(&str, f64)> = by_reason
        .into_iter()
        .filter(|(_, rate)| *rate > 0.0)
        .collect();
    reasons.sort_by(|a, b| b.1.total_cmp(&a.1));
    let reasons: Vec<String> = reasons
        .iter()
        .take(3)
        .map(|(reason, rate)| format!("{reason} {}", text::per_second(*rate)))
        .collect();
    let of_which = if reasons.is_empty() {
        String::new()
    } else {
        format!(" ({})", reasons.join(", "))
    };
    let figure = format!(
        "{} restarts inside the server{of_which}",
        text::per_second(own)
    );
    if own == 0.0 {
        return Examined::nothing(evidence, figure);
    }
    let shares = evidence.shares(&AT_NODES).into_iter();
    Examined::assessed(Assessment {
        shares: shares.map(|share| share * part).collect(),
        figure: Some(figure),
        sentence: "Restarts inside the server limited it: transactions met others’ and began again"
            .to_owned(),
        proofs: vec![
            of_nodes(
                text::per_second(own),
                format!("restarts that clients did not see, beside {} commits{of_which}", text::per_second(committed)),
            ),
        ],
        remedies: vec![
            "lock rows early (`SELECT … FOR UPDATE`, where the server has it), write fewer rows in a \
             transaction, or spread the work over more rows"
                .to_owned(),
        ],
        ..Assessment::default()
    })
}

/// Restarts a second of all nodes, by reason: a label is the node's, a space and the reason.
fn by_reason<'a>(evidence: &'a Evidence<'_>) -> BTreeMap<&'a str, f64> {
    let mut by_reason = BTreeMap::new();
    for (label, rate) in evidence.by_node("crdb.restarts") {
        let reason = label.rsplit(' ').next().unwrap_or(label);
        *by_reason.entry(reason).or_insert(0.0) += rate;
    }
    by_reason
}
