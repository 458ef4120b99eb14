//! Restarts because clocks of nodes may differ (CockroachDB's and YugabyteDB's uncertainty interval): a
//! read meets a value so new that it may have been written before the read began.

use pgdyno_measurement::Reason;

use crate::evidence::Evidence;
use crate::rule::{Assessment, Examined, Rule};
use pgdyno_model::document::{Cause, Proof};
use pgdyno_spec::text;

pub const RULE: Rule = Rule {
    cause: Cause::ClockUncertainty,
    code: "clock-uncertainty",
    name: "Clock uncertainty restarts",
    is_of_checkpoints: false,
    examine,
};

/// Whether the reason speaks of it.
pub fn is_reason(reason: &Reason) -> bool {
    let is_named = |text: &str| text.to_ascii_lowercase().contains("uncertain");
    is_named(&reason.name) || is_named(&reason.message)
}

fn examine(evidence: &Evidence<'_>) -> Examined {
    if !super::cluster::is_cluster(evidence) {
        return Examined::NotApplicable("one node, one clock".to_owned());
    }
    let of_reasons = evidence.share_of_reasons(is_reason);
    let lost = evidence.all.work.lost_time_share().unwrap_or(0.0);
    let share = lost * of_reasons;
    let apart = apart_ms(evidence);
    let reported = match apart {
        Some((node, ms)) => format!(
            "; the others’ clocks are {} from {node}’s",
            text::time(ms * 1e3)
        ),
        None => String::new(),
    };
    let mut proofs = vec![
        Proof::new(
            text::roughly(of_reasons),
            "of the tries thrown away were clock uncertainty restarts",
        )
        .at("retries", "Retries"),
    ];
    proofs.extend(apart.map(|(node, ms)| {
        Proof::new(
            text::time(ms * 1e3),
            format!("the other nodes' clocks are from {node}’s; nodes tolerate 500 ms by default"),
        )
        .at("instruments", "Nodes")
    }));
    Examined::assessed(Assessment {
        shares: evidence.constant(share),
        figure: Some(format!(
            "{} of the clients’ time{reported}",
            text::roughly(share)
        )),
        sentence: "Clock uncertainty limited it: reads met values within the clock uncertainty \
             interval and were restarted"
            .to_owned(),
        proofs,
        remedies: vec![
            "synchronise the nodes’ clocks better and lower `--max-offset` or \
             `max_clock_skew_usec`, or use follower reads"
                .to_owned(),
        ],
        ..Assessment::default()
    })
}

/// The node whose clock is farthest from the others', and how far in milliseconds. Both products bear
/// 500 ms (documented: `--max-offset`, `max_clock_skew_usec`).
fn apart_ms<'a>(evidence: &'a Evidence<'_>) -> Option<(&'a str, f64)> {
    let names = ["crdb.clock.offset", "yb.clock.skew"];
    let all = names.into_iter().flat_map(|name| evidence.by_node(name));
    let apart = all.map(|(node, ms)| (node, ms.abs()));
    apart.max_by(|a, b| a.1.total_cmp(&b.1))
}
