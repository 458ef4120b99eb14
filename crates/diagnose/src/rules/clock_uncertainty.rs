//! Restarts because clocks of nodes may differ (CockroachDB's and YugabyteDB's uncertainty interval): a
//! read meets a value so new that it may have been written before the read began.

use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Examined, Found, Rule};
use pgdyno_model::document::Proof;
use pgdyno_model::text;

/// The rule.
pub const RULE: Rule = Rule {
    code: "clock-uncertainty",
    name: "Clock uncertainty restarts",
    is_of_checkpoints: false,
    examine,
};

/// Of all tries thrown away, those whose reason speaks of it.
pub fn share_of_reasons(evidence: &Evidence<'_>) -> f64 {
    let reasons = &evidence.outcome.recording.reasons;
    let all: u64 = reasons.iter().map(|reason| reason.tries()).sum();
    let of_clocks = reasons.iter().filter(|reason| {
        let is_named = |text: &str| text.to_ascii_lowercase().contains("uncertain");
        is_named(&reason.name) || is_named(&reason.message)
    });
    let of_clocks: u64 = of_clocks.map(|reason| reason.tries()).sum();
    ratio(of_clocks as f64, all as f64)
}

fn examine(evidence: &Evidence<'_>) -> Examined {
    if !super::leaders::is_cluster(evidence) {
        return Examined::NotApplicable("one node, one clock".to_owned());
    }
    let of_reasons = share_of_reasons(evidence);
    let share = evidence.lost_share() * of_reasons;
    Examined::Found(Found {
        share,
        figure: None,
        sentence: "Clock uncertainty limited it: reads met values within the clock uncertainty \
             interval and were restarted"
            .to_owned(),
        proofs: vec![
            Proof::new(
                text::roughly(of_reasons),
                "of the tries thrown away were clock uncertainty restarts",
            )
            .at("retries", "Retries"),
        ],
        remedies: vec![
            "synchronise the nodes’ clocks better and lower `--max-offset` or \
             `max_clock_skew_usec`, or use follower reads"
                .to_owned(),
        ],
    })
}
