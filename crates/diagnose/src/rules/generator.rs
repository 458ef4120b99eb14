//! pgdyno itself: its threads were busy, or did not get the CPU that they needed.

use crate::evidence::Evidence;
use crate::rule::{Assessment, Examined, Rule, check};
use pgdyno_model::document::{Cause, Part, Proof};
use pgdyno_spec::text;

pub const RULE: Rule = Rule {
    cause: Cause::Client,
    code: "client",
    name: "The client",
    is_of_checkpoints: false,
    examine,
};

/// A thread that has work less than this share of the time makes an answer wait for one other and a
/// half at most (queueing theory: share / (1 - share)): it waits for the server, not the server for it.
const BUSY_SHARE: f64 = 0.6;

/// From this share of the clients' time on that they waited for pgdyno to get a CPU, it was starved.
const STARVED_SHARE: f64 = 0.2;

/// From so many CPUs on that its own quota held back, that is why.
const HELD_BACK_CPUS: f64 = 0.1;

fn examine(evidence: &Evidence<'_>) -> Examined {
    let Some(busiest) = evidence.busiest_thread() else {
        return Examined::NotKnown("pgdyno’s own CPU time was not recorded".to_owned());
    };
    let budget = &evidence.budget;
    let (worked, waited) = (
        budget.share(Part::GeneratorCpu),
        budget.share(Part::GeneratorWait),
    );
    let stopped_share = budget.share(Part::GeneratorStopped);
    let is_stopped = stopped_share >= worked.max(waited) && stopped_share >= STARVED_SHARE;
    let is_starved = waited > worked && waited >= STARVED_SHARE;
    let on_cpu = evidence.shares(&[Part::GeneratorCpu]);
    let waiting = evidence.shares(&[Part::GeneratorWait]);
    let stopped = evidence.shares(&[Part::GeneratorStopped]);
    // What the others take from both is theirs.
    let kept = 1.0 - super::cpus::generator_share_behind_others(evidence);
    let shares = on_cpu.iter().zip(&waiting);
    let shares = shares.zip(&stopped);
    let shares = shares.map(|((on_cpu, waiting), stopped)| on_cpu + kept * waiting + stopped);
    let threads = &evidence.outcome.recording.threads;
    let lag_us = threads.iter().filter_map(|thread| thread.lag_p99_us).max();
    let mut proofs = vec![
        Proof::new(
            text::roughly(worked + waited),
            format!(
                "of the clients’ time went into pgdyno: {} waiting for a CPU or for other clients, {} \
                 on one",
                text::roughly(waited),
                text::roughly(worked)
            ),
        )
        .at("time-budget", "Time budget"),
        Proof::new(
            text::roughly(busiest),
            "of the time pgdyno’s busiest thread was on a CPU or waited for one",
        )
        .at("instruments", "Load generator"),
    ];
    proofs.extend(lag_us.map(|us| Proof::new(text::time(us as f64), "event-loop delay p99")));
    let held_back = evidence.mean("host.throttled").unwrap_or(0.0);
    let is_held_back = is_starved && held_back >= HELD_BACK_CPUS;
    if is_held_back {
        proofs.push(
            Proof::new(
                text::some(held_back),
                "CPUs were taken by the quota of pgdyno’s control group",
            )
            .at("instruments", "Load generator"),
        );
    }
    if stopped_share > 0.0 {
        proofs.push(
            Proof::new(
                text::roughly(stopped_share),
                "of the clients’ time pgdyno itself did not run: it was stopped, frozen or suspended",
            )
            .at("time-budget", "Time budget"),
        );
    }
    let (sentence, remedy) = match is_starved {
        _ if is_stopped => (
            "The client limited it: pgdyno itself did not run for part of the time",
            "measure again on a host that does not stop pgdyno",
        ),
        true if is_held_back => (
            "The client limited it: the CPU quota of pgdyno’s control group was used up",
            "raise the CPU limit of pgdyno’s container, or run pgdyno outside of it",
        ),
        true => (
            "The client limited it: pgdyno did not get the CPU time it needed",
            "stop other processes on the load generator, or run pgdyno on a separate machine",
        ),
        false => (
            "The client limited it: pgdyno’s threads were busy",
            "use more threads (`--threads`), or run pgdyno on a separate machine",
        ),
    };
    Examined::assessed(Assessment {
        shares: shares.collect(),
        sentence: sentence.to_owned(),
        proofs,
        remedies: vec![remedy.to_owned()],
        checks: vec![check(
            "A thread had work most of the time",
            is_stopped || is_starved || busiest >= BUSY_SHARE,
            format!("the busiest {}", text::roughly(busiest)),
        )],
        ..Assessment::default()
    })
}
