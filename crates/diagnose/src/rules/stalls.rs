//! Checkpoints and vacuums that hold the clients up: seconds in which one is under way commit clearly
//! less than those without.
//!
//! Where checkpoints follow one upon the other there is nothing to compare with: what they cost is not
//! distinguished then, and neither is what shows as their cost, such as the log (`diagnose/mod.rs`).

use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule};
use pgdyno_model::document::{Cause, Proof};
use pgdyno_spec::{text, text::plural};

pub const RULE: Rule = Rule {
    cause: Cause::Stalls,
    code: "stalls",
    name: "Checkpoint or vacuum stalls",
    is_of_checkpoints: false,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    if evidence.budget.is_of_nodes {
        return Examined::NotApplicable("nodes have no checkpoints; see write stalls".to_owned());
    }
    let Some(stalls) = &evidence.stalls else {
        return Examined::NotKnown("checkpoints and vacuums were not observed".to_owned());
    };
    if stalls.checkpoints + stalls.vacuums == 0 {
        return Examined::nothing(evidence, "no checkpoint or vacuum during the measured time");
    }
    let pages = evidence.mean("pg.wal.full_pages");
    let pages = pages.zip(evidence.mean("pg.wal.records"));
    let pages_share = pages.map(|(pages, records)| ratio(pages, records));
    let events = format!(
        "{} and {} by the server itself during the measured time",
        plural(stalls.checkpoints as u64, "checkpoint"),
        plural(stalls.vacuums as u64, "vacuum")
    );
    let mut proofs = vec![
        Proof::new(
            text::roughly(stalls.time_share),
            format!("of the time one was running: {events}"),
        )
        .at("throughput", "Throughput"),
    ];
    if let Some((with, without)) = stalls.goodput {
        proofs.insert(
            0,
            Proof::new(
                text::per_second(with),
                format!(
                    "commits while one was running, {} otherwise",
                    text::per_second(without)
                ),
            )
            .at("throughput", "Throughput"),
        );
    }
    if let Some(share) = pages_share {
        proofs.push(
            Proof::new(
                text::roughly(share),
                "of the WAL records were full-page images, which checkpoints cause",
            )
            .at("instruments", "Server"),
        );
    }
    let share = stalls.share;
    Examined::assessed(Assessment {
        shares: evidence.constant(share),
        figure: Some(format!(
            "{}, {}: {} of the transactions",
            plural(stalls.checkpoints as u64, "checkpoint"),
            plural(stalls.vacuums as u64, "vacuum"),
            text::roughly(share)
        )),
        sentence: "Checkpoints or vacuums limited it: clients waited while they ran".to_owned(),
        proofs,
        remedies: vec![
            "make checkpoints less frequent and spread them out: a larger `max_wal_size` and \
             `checkpoint_timeout`, `checkpoint_completion_target = 0.9`"
                .to_owned(),
        ],
        ..Assessment::default()
    })
}
