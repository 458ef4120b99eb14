//! pgdyno itself: a thread of it had no time left, so that answers waited for their turn.
//!
//! Only a thread that had work most of the time counts: on a CPU, or waiting for one that others had.
//! Then the time in which the server had nothing to do for a client is the generator's, all of it when
//! the thread had work nearly all the time.

use crate::evidence::Evidence;
use crate::rule::{Examined, Found, Rule};
use pgdyno_model::document::Proof;
use pgdyno_model::text;

/// The rule.
pub const RULE: Rule = Rule {
    code: "client",
    name: "The client",
    is_of_checkpoints: false,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    let Some(busiest) = evidence.busiest_thread() else {
        return Examined::NotKnown("pgdyno’s own CPU time was not recorded".to_owned());
    };
    let figure = Some(format!(
        "its busiest thread had work for {} of the time",
        text::roughly(busiest)
    ));
    // What is not seen of the server cannot have been its.
    let outside = evidence
        .outside_share()
        .unwrap_or_else(|| evidence.of_all(busiest));
    let share = outside * evidence.clients_part_of_outside();
    let threads = &evidence.outcome.recording.threads;
    let used: u64 = threads.iter().map(|t| t.user_us + t.system_us).sum();
    let waited: u64 = threads.iter().map(|t| t.waited_us).sum();
    let wall = threads.iter().map(|t| t.whole_us()).sum::<u64>() as f64;
    let mut proofs = vec![
        Proof::new(
            text::roughly(busiest),
            "of the time pgdyno’s busiest thread was on a CPU or waited for one",
        )
        .at("instruments", "Load generator"),
    ];
    let waited_share = waited as f64 / wall.max(1.0);
    let is_starved = waited > used;
    if is_starved {
        proofs.push(
            Proof::new(
                text::roughly(waited_share),
                "of the time its threads waited for a CPU that other processes used",
            )
            .at("instruments", "Load generator"),
        );
    }
    if let Some(lag_us) = threads.iter().filter_map(|t| t.lag_p99_us).max() {
        proofs.push(Proof::new(
            text::time(lag_us as f64),
            "event-loop delay p99",
        ));
    }
    let remedies = match is_starved {
        true => vec![
            "stop other processes on the load generator, or run pgdyno on a separate machine"
                .to_owned(),
        ],
        false => {
            vec!["use more threads (`--threads`), or run pgdyno on a separate machine".to_owned()]
        }
    };
    Examined::Found(Found {
        share,
        figure,
        sentence: match is_starved {
            true => "The client limited it: pgdyno did not get the CPU time it needed".to_owned(),
            false => "The client limited it: pgdyno’s threads were busy".to_owned(),
        },
        proofs,
        remedies,
    })
}
