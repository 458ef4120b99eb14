//! Making commits durable: sessions that wait for the log to be written and synced, or for standbys
//! to confirm it.

use crate::evidence::Evidence;
use crate::rule::{Examined, Found, Rule};
use crate::waits::Class;
use pgdyno_model::document::Proof;
use pgdyno_model::text;

/// The rule.
pub const RULE: Rule = Rule {
    code: "durable-commit",
    name: "Durable commit",
    is_of_checkpoints: true,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    let (Some(share), Some(budget)) = (evidence.class_share(Class::Durability), &evidence.budget)
    else {
        return Examined::NotKnown(evidence.blind.clone().unwrap_or_default());
    };
    let events: Vec<(&str, f64)> = budget.events_of(Class::Durability).collect();
    let mut proofs = vec![
        Proof::new(
            text::roughly(share),
            match events.first() {
                Some((event, _)) => {
                    format!("of the clients’ time was spent syncing the WAL, mostly in {event}")
                }
                None => "of the clients’ time was spent syncing the WAL".to_owned(),
            },
        )
        .at("sessions", "What sessions were doing"),
    ];
    let syncs = evidence.mean("pg.wal.syncs");
    let flush_ms = evidence.mean("host.disk.flush_await");
    if let Some(flush_ms) = flush_ms {
        proofs.push(
            Proof::new(text::time(flush_ms * 1e3), "mean time of a disk flush")
                .at("instruments", "Server’s host"),
        );
    }
    if let Some(syncs) = syncs.filter(|syncs| *syncs > 0.0) {
        let committed = evidence.all.counts.committed as f64 / evidence.elapsed_s;
        proofs.push(
            Proof::new(
                text::per_second(syncs),
                format!(
                    "WAL syncs for {} commits: {} commits per sync",
                    text::per_second(committed),
                    text::some(committed / syncs)
                ),
            )
            .at("instruments", "Server"),
        );
    }
    let waits_for_standby = events.iter().any(|(event, _)| event.ends_with("SyncRep"));
    let mut remedies = vec![
        "use storage with faster syncs, or more clients, so that commits share syncs".to_owned(),
        "`synchronous_commit = off` shows what would be gained, at the price of the last commits \
         when the server crashes"
            .to_owned(),
    ];
    if waits_for_standby {
        remedies.insert(0, "check the standbys: commits wait for them".to_owned());
    }
    Examined::Found(Found {
        share,
        figure: None,
        sentence: "Durable commits limited it: sessions waited for the WAL to be written to disk"
            .to_owned(),
        proofs,
        remedies,
    })
}
