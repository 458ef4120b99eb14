//! The server's CPUs: sessions that work, or wait for a CPU, without waiting for anything else.

use crate::evidence::Evidence;
use crate::rule::{Examined, Found, Rule};
use crate::waits::Class;
use pgdyno_model::document::Proof;
use pgdyno_model::text;

/// The rule.
pub const RULE: Rule = Rule {
    code: "server-cpu",
    name: "Server CPU",
    is_of_checkpoints: true,
    examine,
};

fn examine(evidence: &Evidence<'_>) -> Examined {
    let (Some(running), Some(budget)) = (evidence.class_share(Class::Running), &evidence.budget)
    else {
        return Examined::NotKnown(evidence.blind.clone().unwrap_or_default());
    };
    // What blocks cost on the CPU is theirs.
    let mut share = running - super::buffer_misses::cpu_share(evidence);
    if evidence.do_sessions_wait_for_cpus() {
        // Sessions that wait for a CPU before they are seen to be active.
        let outside = evidence.outside_share().unwrap_or(0.0);
        share += outside * (1.0 - evidence.clients_part_of_outside());
    }
    let sessions = budget.sessions(Class::Running);
    let mut proofs = vec![
        Proof::new(
            text::roughly(running),
            format!(
                "of the clients’ time their sessions were running in the server: {} at a time on \
                 average",
                text::some(sessions)
            ),
        )
        .at("sessions", "What sessions were doing"),
    ];
    if let Some(cores) = evidence.mean("host.server.cpu") {
        proofs.push(
            Proof::new(
                text::some(cores),
                "CPUs used by the server’s processes on average",
            )
            .at("instruments", "Server’s host"),
        );
    }
    let are_all_busy = evidence.do_sessions_wait_for_cpus();
    if let Some(idle) = evidence.server_idle_share() {
        proofs.push(
            Proof::new(text::roughly(idle), "of its host’s CPU time was idle")
                .at("instruments", "Server’s host"),
        );
    }
    let (sentence, remedy) = match are_all_busy {
        true => (
            "The server’s CPUs limited it: all of them were busy",
            "give the server more or faster CPUs, or optimise the most expensive statements \
             (`EXPLAIN (ANALYZE, BUFFERS)`)",
        ),
        false => (
            "The server’s CPU limited it: each session needs CPU time for its statements",
            "optimise the most expensive statements (`EXPLAIN (ANALYZE, BUFFERS)`); add clients \
             while CPUs are idle",
        ),
    };
    Examined::Found(Found {
        share: share.max(0.0),
        figure: None,
        sentence: sentence.to_owned(),
        proofs,
        remedies: vec![remedy.to_owned()],
    })
}
