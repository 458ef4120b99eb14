//! The way between client and server: round trips, one for each statement, while the server idles.
//!
//! What is neither in the server nor due to a client without time is on its way. A wakeup and a
//! system call at each end are part of it, so on one host a statement that costs the server nothing
//! is limited by this too.

use crate::evidence::Evidence;
use crate::rule::{Examined, Found, Rule};
use pgdyno_model::document::Proof;
use pgdyno_model::text;

/// The rule.
pub const RULE: Rule = Rule {
    code: "network",
    name: "The network",
    is_of_checkpoints: true,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    let (Some(outside), Some(budget)) = (evidence.outside_share(), &evidence.budget) else {
        return Examined::NotKnown(evidence.blind.clone().unwrap_or_default());
    };
    if evidence.do_sessions_wait_for_cpus() {
        return Examined::Found(Found {
            share: 0.0,
            figure: Some("client and server shared CPUs that were all busy".to_owned()),
            sentence: String::new(),
            proofs: Vec::new(),
            remedies: Vec::new(),
        });
    }
    let outside = outside * (1.0 - evidence.clients_part_of_outside());
    if outside == 0.0 {
        return Examined::Found(Found {
            share: 0.0,
            figure: Some(
                "pgdyno’s threads were busy, so network time cannot be separated".to_owned(),
            ),
            sentence: String::new(),
            proofs: Vec::new(),
            remedies: Vec::new(),
        });
    }
    let mut proofs = vec![
        Proof::new(
            text::roughly(outside),
            format!(
                "of the clients’ time they and the server both waited: {} of {} sessions were in a \
                     statement on average",
                text::some(budget.active()),
                text::some(evidence.busy_clients()),
            ),
        )
        .at("sessions", "What sessions were doing"),
    ];
    let statements = evidence.statements_per_transaction();
    if let (Some(statements), Some(quickest_us)) = (statements, evidence.quickest_answer_us()) {
        proofs.push(
            Proof::new(
                text::time(statements * quickest_us),
                format!(
                    "of each transaction is round-trip time: {} statements, fastest answer {}",
                    text::some(statements),
                    text::time(quickest_us)
                ),
            )
            .at("statements", "Statements"),
        );
    }
    Examined::Found(Found {
        share: outside,
        figure: None,
        sentence: "The network limited it: round trips between client and server, while the server \
                   had nothing to do"
            .to_owned(),
        proofs,
        remedies: vec![
            "reduce round trips: fewer statements per transaction, a pipeline, or a procedure on the server"
                .to_owned(),
            "move the client closer to the server, or use more clients to overlap the waiting"
                .to_owned(),
        ],
    })
}
