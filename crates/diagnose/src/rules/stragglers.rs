//! A few transactions that outlast all others: the trial waits for them after its time is over, and
//! its clients with them.

use pgdyno_spec::Until;

use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule, check};
use pgdyno_model::document::{Cause, Proof};
use pgdyno_spec::text;

pub const RULE: Rule = Rule {
    cause: Cause::Stragglers,
    code: "stragglers",
    name: "Stragglers",
    is_of_checkpoints: false,
    examine,
};

/// From this share of the measured time behind its end on, figures over all of it mislead.
const DRAIN_SHARE: f64 = 0.1;
/// Of the commits, those behind the end are so few at most.
const COMMITS_MAX: f64 = 0.05;

fn examine(evidence: &Evidence<'_>) -> Examined {
    let Until::Elapsed(asked) = evidence.outcome.spec.until() else {
        return Examined::NotApplicable("the trial ends with its transactions".to_owned());
    };
    let asked_s = asked.as_secs_f64();
    let drain_s = (evidence.elapsed_s - asked_s).max(0.0);
    let share = ratio(drain_s, evidence.elapsed_s);
    let end_us = evidence.measured_us.0 + (asked_s * 1e6) as i64;
    let seconds = evidence.outcome.recording.seconds.iter();
    let late = seconds.filter(|second| second.start_us as i64 >= end_us);
    let late: u64 = late
        .flat_map(|second| &second.scripts)
        .map(|script| script.counts.committed)
        .sum();
    let committed = evidence.all.counts.committed;
    let late_share = ratio(late as f64, committed as f64);
    let figure = format!("{} after the end", text::seconds(drain_s));
    // Where none committed, none is behind the others.
    if share < DRAIN_SHARE || late_share > COMMITS_MAX || committed == 0 {
        return Examined::nothing(evidence, figure);
    }
    Examined::assessed(Assessment {
        shares: evidence.constant(share),
        is_decisive: true,
        figure: Some(figure),
        sentence: format!(
            "Stragglers limited it: the trial waited {} for its last transactions",
            text::seconds(drain_s)
        ),
        proofs: vec![Proof::new(
            text::seconds(drain_s),
            format!(
                "after the requested {} passed until the last transaction ended; {} committed in them",
                text::seconds(asked_s),
                text::plural(late, "transaction")
            ),
        )
        .at("throughput", "Throughput")],
        remedies: vec![
            "see in the worst moments what they waited for; measure longer, so that the end weighs less"
                .to_owned(),
        ],
        checks: vec![check(
            "Hardly any transaction committed after the end",
            true,
            text::roughly(late_share),
        )],
    })
}
