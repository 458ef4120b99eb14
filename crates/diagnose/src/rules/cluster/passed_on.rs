//! Requests that the node of a session passes on, because another one leads the range.

use pgdyno_model::document::{Cause, Part};
use pgdyno_spec::text;

use super::{alone, of_budget, of_nodes};
use crate::evidence::Evidence;
use crate::nodes::Whole;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule};

pub const RULE: Rule = Rule {
    cause: Cause::PassedOn,
    code: "passed-on",
    name: "Requests passed on",
    is_of_checkpoints: false,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    if let Some(unknown) = alone(evidence) {
        return unknown;
    }
    let sent = evidence
        .mean("crdb.rpc.sent")
        .zip(evidence.mean("crdb.rpc.local"));
    let Some((sent, local)) = sent.filter(|(sent, _)| *sent > 0.0) else {
        return Examined::NotKnown("nodes do not report which requests they passed on".to_owned());
    };
    let passed_on = ratio((sent - local).max(0.0), sent);
    let figure = format!(
        "{} of the requests went to another node",
        text::roughly(passed_on)
    );
    let trip_s = Whole::of(evidence.outcome, evidence.measured_us).round_trip_s;
    let Some(trip_s) = trip_s else {
        return Examined::NotKnown(format!("{figure}; no round trip between nodes was timed"));
    };
    let missed = evidence.mean("crdb.rpc.not_leaseholder").unwrap_or(0.0);
    Examined::assessed(Assessment {
        shares: evidence.shares(&[Part::PassedOn]),
        figure: Some(format!(
            "{} of the clients’ time; {figure}",
            text::roughly(evidence.budget.share(Part::PassedOn))
        )),
        sentence: "Requests passed on limited it: the nodes that clients are connected to had to ask \
                   others"
            .to_owned(),
        proofs: vec![
            of_budget(
                text::roughly(evidence.budget.share(Part::PassedOn)),
                "of the clients’ time at least, requests were on the way between nodes",
            ),
            of_nodes(
                text::roughly(passed_on),
                format!(
                    "of {} requests went to another node, {} to one that was no longer the leader",
                    text::per_second(sent),
                    text::per_second(missed)
                ),
            ),
            of_nodes(
                text::time(trip_s * 1e6),
                "the least round trip between nodes, on average",
            ),
        ],
        remedies: vec![
            "connect clients to the nodes that lead what they need (regions, `lease_preferences`), or \
             read from the nearest copy (`AS OF SYSTEM TIME follower_read_timestamp()`, \
             `yb_read_from_followers`)"
                .to_owned(),
        ],
        ..Assessment::default()
    })
}
