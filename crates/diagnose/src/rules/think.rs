//! The scripts' own pauses.

use crate::evidence::Evidence;
use crate::rule::{Assessment, Examined, Rule, check};
use pgdyno_model::document::{Cause, Part, Proof};
use pgdyno_spec::text;

pub const RULE: Rule = Rule {
    cause: Cause::ThinkTime,
    code: "think-time",
    name: "Think time",
    is_of_checkpoints: false,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    let seconds = evidence.budget.seconds(Part::Think);
    if seconds == 0.0 {
        return Examined::nothing(evidence, "no \\sleep in the scripts");
    }
    let share = evidence.budget.share(Part::Think);
    Examined::assessed(Assessment {
        shares: evidence.shares(&[Part::Think]),
        sentence: "Think time limited it: clients spent their time in `\\sleep`".to_owned(),
        proofs: vec![
            Proof::new(
                text::roughly(share),
                "of the clients’ time was spent in `\\sleep`",
            )
            .at("time-budget", "Time budget"),
        ],
        remedies: vec![
            "use more clients, or shorter pauses, to put more load on the server".to_owned(),
        ],
        checks: vec![check(
            "Counted, not sampled",
            true,
            format!(
                "{} of client time, by the engine’s clock",
                text::seconds(seconds)
            ),
        )],
        ..Assessment::default()
    })
}
