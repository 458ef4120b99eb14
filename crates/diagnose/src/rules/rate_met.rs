//! Nothing limited it: a rate was asked for and kept.
//!
//! It is kept when as many transactions were committed as were due, but for the chance in their
//! number (the schedule is a Poisson process: its standard deviation is the root of the number), none
//! was skipped, and they did not queue: on average they started nearly when they were due.

use crate::evidence::Evidence;
use crate::rule::{Assessment, Examined, Rule};
use pgdyno_model::document::{Cause, Proof};
use pgdyno_spec::text;

pub const RULE: Rule = Rule {
    cause: Cause::RateMet,
    code: "rate-met",
    name: "Nothing: the rate was met",
    is_of_checkpoints: false,
    examine,
};

/// Beside chance, a transaction at either end of the time may fall out of it.
const EDGE: f64 = 2.0;
/// From so many service times, and so many microseconds, of waiting for their start on average,
/// transactions queued.
const QUEUE_SERVICES: f64 = 3.0;
const QUEUE_US: f64 = 20_000.0;

fn examine(evidence: &Evidence<'_>) -> Examined {
    let Some(rate) = &evidence.outcome.spec.rate else {
        return Examined::NotApplicable("no rate was set".to_owned());
    };
    let all = &evidence.all;
    let due = rate.due(0, (evidence.elapsed_s * 1e6) as i64);
    let rate = due / evidence.elapsed_s;
    let committed = all.counts.committed as f64;
    let got = committed / evidence.elapsed_s;
    let short = due - committed > 3.0 * due.sqrt() + EDGE;
    let lag_us = all
        .lag
        .as_ref()
        .and_then(|lag| lag.mean_us())
        .unwrap_or(0.0);
    let service_us = all.service.mean_us().unwrap_or(0.0);
    let queues = lag_us > QUEUE_US.max(QUEUE_SERVICES * service_us);
    let figure = format!(
        "{} of {} requested",
        text::per_second(got),
        text::per_second(rate)
    );
    let is_met = !short && !queues && all.counts.skipped == 0 && all.counts.failed_total() == 0;
    if !is_met {
        let figure = if queues && !short {
            format!("{figure}, but transactions queued")
        } else {
            figure
        };
        return Examined::nothing(evidence, figure);
    }
    let mut proofs = vec![
        Proof::new(
            text::per_second(got),
            format!("committed; {} were requested", text::per_second(rate)),
        )
        .at("throughput", "Throughput"),
    ];
    proofs.push(
        Proof::new(
            text::time(lag_us),
            "mean start delay of transactions: they did not queue",
        )
        .at("latency-over-time", "Latency over time"),
    );
    Examined::assessed(Assessment {
        shares: evidence.constant(1.0),
        is_decisive: true,
        figure: Some(figure),
        sentence: format!(
            "Nothing limited it: the requested rate of {} was met",
            text::per_second(rate)
        ),
        proofs,
        remedies: vec![
            "use a higher `--rate`, or no rate, to find the limit of this system".to_owned(),
        ],
        ..Assessment::default()
    })
}
