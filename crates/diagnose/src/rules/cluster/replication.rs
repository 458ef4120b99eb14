//! The way to other copies and back, which each commit waits for.

use pgdyno_model::document::{Cause, Part};
use pgdyno_spec::text;

use super::{alone, of_budget, of_nodes};
use crate::evidence::Evidence;
use crate::nodes::Whole;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule, check};

pub const RULE: Rule = Rule {
    cause: Cause::Replication,
    code: "replication",
    name: "Replication between nodes",
    is_of_checkpoints: false,
    examine,
};

/// How long one way to the others and back takes, in seconds, and how that is known.
fn trip_s(evidence: &Evidence<'_>) -> Option<(f64, &'static str)> {
    let whole = Whole::of(evidence.outcome, evidence.measured_us);
    let timed = whole.round_trip_s;
    let timed = timed.map(|trip_s| (trip_s, "the least round trip between nodes, on average"));
    timed.or_else(|| {
        let time = evidence.mean("yb.consensus.time")?;
        let count = evidence
            .mean("yb.consensus.updates")
            .filter(|count| *count > 0.0)?;
        Some((
            ratio(time, count),
            "mean time of a follower for what its leader sent",
        ))
    })
}

fn examine(evidence: &Evidence<'_>) -> Examined {
    if let Some(unknown) = alone(evidence) {
        return unknown;
    }
    let Some((trip_s, what)) = trip_s(evidence) else {
        return Examined::NotKnown("no round trip between nodes was timed".to_owned());
    };
    let share = evidence.budget.share(Part::Replication);
    let each_s = ratio(
        evidence.budget.seconds(Part::Replication),
        evidence.all.counts.committed as f64,
    );
    Examined::assessed(Assessment {
        shares: evidence.shares(&[Part::Replication]),
        figure: Some(format!(
            "{} of the clients’ time; {} from node to node and back",
            text::roughly(share),
            text::time(trip_s * 1e6)
        )),
        sentence: "Replication limited it: commits waited for other nodes".to_owned(),
        proofs: vec![
            of_budget(
                text::roughly(share),
                format!(
                    "of the clients’ time at least, commits were on the way to other copies: {} of each \
                     transaction",
                    text::time(each_s * 1e6)
                ),
            ),
            of_nodes(text::time(trip_s * 1e6), what),
        ],
        remedies: vec![
            "have a majority of the copies, and the leaders, closer to each other and to the clients \
             (zone configurations, preferred regions)"
                .to_owned(),
            "write with fewer commits: several rows in a transaction".to_owned(),
        ],
        checks: vec![check(
            "A way between nodes was timed",
            trip_s > 0.0,
            format!("{}: {what}", text::time(trip_s * 1e6)),
        )],
        ..Assessment::default()
    })
}
