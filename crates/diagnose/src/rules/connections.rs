//! Connections: making them takes the time, or the server has none left.

use pgdyno_measurement::{Activity, Failure};

use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule};
use pgdyno_model::document::{Cause, Proof};
use pgdyno_spec::text;

pub const RULE: Rule = Rule {
    cause: Cause::Connections,
    code: "connections",
    name: "Connections",
    is_of_checkpoints: false,
    examine,
};

/// Refused and lost connections are counted, not sampled: from this share of transactions, clients or
/// time on, they decide whatever else the time went into.
const LOST_SHARE: f64 = 0.5;

fn examine(evidence: &Evidence<'_>) -> Examined {
    let recording = &evidence.outcome.recording;
    let counts = &evidence.all.counts;
    let refused = counts.failed.get(&Failure::ConnectionRefused).copied();
    let refused = refused.unwrap_or(0);
    let started = counts.total() - counts.skipped;
    let refused_share = ratio(refused as f64, started as f64);
    // Clients that found no connection and ended are gone for all of the time.
    let gone = ratio(
        recording.clients.disconnected as f64,
        recording.clients.total as f64,
    );
    let making = ratio(
        evidence.budget.time.at(Activity::Connect) as f64 / 1e9,
        evidence.budget.working_s(),
    );
    let without = without_share(evidence);
    let mut proofs = Vec::new();
    if refused > 0 {
        proofs.push(
            Proof::new(
                text::roughly(refused_share),
                format!(
                    "of the transactions found no connection: {}",
                    pgdyno_spec::text::count(refused)
                ),
            )
            .at("retries", "Failures"),
        );
    }
    if gone > 0.0 {
        proofs.push(Proof::new(
            text::roughly(gone),
            "of the clients ended without a connection",
        ));
    }
    if without > 0.0 {
        let outages = &recording.outages;
        proofs.push(Proof::new(
            text::roughly(without),
            format!(
                "of the clients’ time they had no connection, and made {} attempts to connect",
                pgdyno_spec::text::count(outages.attempts)
            ),
        ));
    }
    if making > 0.0 {
        let mean_us = recording.connections.latencies.mean_us().unwrap_or(0.0);
        proofs.push(Proof::new(
            text::roughly(making),
            format!(
                "of the clients’ time was spent connecting, {} each",
                text::time(mean_us)
            ),
        ));
    }
    let is_refusing = refused > 0;
    let is_lost = !is_refusing && (gone > 0.0 || without > 0.0);
    let max = evidence.outcome.facts.max_connections.known();
    if let Some(max) = max.filter(|_| !is_lost) {
        proofs.push(Proof::new(
            max.to_string(),
            "is the server’s `max_connections`",
        ));
    }
    let (sentence, remedy) = if is_refusing {
        (
            "Connections limited it: the server refused further connections",
            "use fewer clients, a connection pooler, or a higher `max_connections`",
        )
    } else if is_lost {
        (
            "Connections limited it: clients lost the server",
            "look in the server's log why it closed its connections or stopped",
        )
    } else {
        (
            "Connections limited it: clients spent their time connecting",
            "keep connections open, or use a connection pooler",
        )
    };
    Examined::assessed(Assessment {
        shares: evidence.constant(making.max(refused_share).max(gone).max(without)),
        is_decisive: refused_share.max(gone).max(without) >= LOST_SHARE,
        figure: (making == 0.0 && !is_refusing && !is_lost)
            .then(|| "none refused, none made during the run".to_owned()),
        sentence: sentence.to_owned(),
        proofs,
        remedies: vec![remedy.to_owned()],
        ..Assessment::default()
    })
}

/// The share of all clients' time in which they were without a connection.
fn without_share(evidence: &Evidence<'_>) -> f64 {
    let recording = &evidence.outcome.recording;
    let outages = &recording.outages;
    if outages.unended > 0 && evidence.all.counts.committed == 0 {
        return 1.0;
    }
    let all_us = recording.working_clients() * recording.measured.elapsed_us as f64;
    // An outage that ended in the measured time may have begun in the warm-up: no client was without a
    // connection for longer than all of the time.
    ratio(outages.lengths.sum_us() as f64, all_us).min(1.0)
}
