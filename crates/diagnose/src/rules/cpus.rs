//! CPUs of the server: what its sessions use of them, and why they wait for one: its quota, others on
//! its host, or themselves.

use crate::blocks;
use crate::evidence::Evidence;
use crate::ratio::ratio;
use crate::rule::{Assessment, Examined, Rule, check};
use crate::split::THROTTLED_SHARE;
use pgdyno_model::document::{Cause, Part, Proof};
use pgdyno_spec::text;

pub const SERVER: Rule = Rule {
    cause: Cause::ServerCpu,
    code: "server-cpu",
    name: "Server CPU",
    is_of_checkpoints: true,
    examine: server,
};
pub const QUOTA: Rule = Rule {
    cause: Cause::CpuQuota,
    code: "cpu-quota",
    name: "The server’s CPU quota",
    is_of_checkpoints: false,
    examine: quota,
};
pub const OTHERS: Rule = Rule {
    cause: Cause::OtherProcesses,
    code: "other-processes",
    name: "Other processes on the host",
    is_of_checkpoints: false,
    examine: others,
};

/// With less idle time than this share, CPUs are all in use.
const FULL_IDLE_SHARE: f64 = 0.1;
/// From this share of the host's CPUs on, it is others that have them.
const OTHERS_SHARE: f64 = 0.25;
/// From this share of its periods on, all that a server does on a CPU is what its quota allows.
const THROTTLED_FULLY: f64 = 0.5;
/// The processes must have used so much of the CPU time that their sessions were seen running for.
const USED_SHARE: f64 = 0.5;

/// What sessions wait for when they could run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Quota,
    Others,
    Own,
}

fn behind(evidence: &Evidence<'_>) -> Behind {
    let is_throttled = evidence
        .throttled_share()
        .is_some_and(|share| share >= THROTTLED_SHARE);
    let is_full = evidence
        .server_idle_share()
        .is_some_and(|idle| idle <= FULL_IDLE_SHARE);
    if is_throttled {
        Behind::Quota
    } else if is_full && others_share(evidence) >= OTHERS_SHARE {
        Behind::Others
    } else {
        Behind::Own
    }
}

/// The share of the host's CPUs that neither pgdyno nor the server used.
fn others_share(evidence: &Evidence<'_>) -> f64 {
    let used = evidence.mean("host.cpu.others").unwrap_or(0.0);
    ratio(used, evidence.mean("host.cpu").unwrap_or(0.0))
}

/// How much of what client and server wait for a CPU is the others'. While one waits, CPUs are used: by
/// others, and by sessions and clients beside it. It is theirs as far as the use is theirs; nothing where
/// they do not have the CPUs.
pub fn share_behind_others(evidence: &Evidence<'_>) -> f64 {
    if behind(evidence) != Behind::Others {
        return 0.0;
    }
    let idle = evidence.server_idle_share().unwrap_or(0.0);
    ratio(others_share(evidence), 1.0 - idle).min(1.0)
}

/// The same for what clients wait for the generator: what its own quota holds back is not theirs. A thread that is held
/// back waits for a CPU, says the scheduler (Linux 6.18), no matter which process has them.
pub fn generator_share_behind_others(evidence: &Evidence<'_>) -> f64 {
    let held_back = evidence.mean("host.throttled").unwrap_or(0.0).min(1.0);
    let threads_s = evidence.outcome.recording.threads.len() as f64 * evidence.elapsed_s;
    let waited = ratio(evidence.budget.time.waited_ns as f64 / 1e9, threads_s);
    if held_back > 0.0 {
        share_behind_others(evidence) * ratio((waited - held_back).max(0.0), waited)
    } else {
        share_behind_others(evidence)
    }
}

fn server(evidence: &Evidence<'_>) -> Examined {
    let budget = &evidence.budget;
    if budget.is_of_nodes {
        return super::cluster::cpu(evidence);
    }
    let is_seen = budget.unseen.is_none() || evidence.mean("host.server.sessions.cpu").is_some();
    if !is_seen {
        let gap = budget.unseen.as_ref();
        return Examined::NotKnown(gap.map(|gap| gap.reason.clone()).unwrap_or_default());
    }
    let behind = behind(evidence);
    let throttled = evidence.throttled_share().unwrap_or(0.0);
    // What misses and temporary files cost on the CPU is theirs.
    let kept = 1.0 - super::reads::cpu_share(evidence) - super::temporary::cpu_share(evidence);
    let kept = if behind == Behind::Quota && throttled >= THROTTLED_FULLY {
        0.0
    } else {
        kept.max(0.0)
    };
    let on_cpu = evidence.shares(&[Part::ServerCpu]);
    let waiting = evidence.shares(&[Part::ServerWait]);
    let kept_waiting = match behind {
        Behind::Quota => 0.0,
        Behind::Own | Behind::Others => 1.0 - share_behind_others(evidence),
    };
    let shares = on_cpu.iter().zip(&waiting);
    let shares = shares.map(|(on_cpu, waiting)| kept * on_cpu + kept_waiting * waiting);
    let idle = evidence.server_idle_share();
    let are_all_busy = idle.is_some_and(|idle| idle <= FULL_IDLE_SHARE);
    let (cpu, wait) = (
        budget.share(Part::ServerCpu),
        budget.share(Part::ServerWait),
    );
    let used = evidence.mean("host.server.sessions.cpu");
    let mut proofs = vec![
        Proof::new(
            text::roughly(cpu + wait),
            format!(
                "of the clients’ time their sessions had work in the server: {} on a CPU, {} waiting \
                 for one",
                text::roughly(cpu),
                text::roughly(wait)
            ),
        )
        .at("time-budget", "Time budget"),
    ];
    proofs.extend(used.map(|cores| {
        Proof::new(
            text::some(cores),
            "CPUs used by the sessions’ processes on average",
        )
        .at("instruments", "Server’s host")
    }));
    proofs.extend(idle.map(|idle| {
        Proof::new(text::roughly(idle), "of its host’s CPU time was idle")
            .at("instruments", "Server’s host")
    }));
    let (sentence, remedy) = if are_all_busy {
        (
            "The server’s CPUs limited it: all of them were busy",
            "give the server more or faster CPUs, or optimise the most expensive statements \
         (`EXPLAIN (ANALYZE, BUFFERS)`)",
        )
    } else {
        (
            "The server’s CPU limited it: each session needs CPU time for its statements",
            "optimise the most expensive statements (`EXPLAIN (ANALYZE, BUFFERS)`); add clients \
         while CPUs are idle",
        )
    };
    let explained = cpu * budget.working_s() / evidence.elapsed_s;
    Examined::assessed(Assessment {
        shares: shares.collect(),
        sentence: sentence.to_owned(),
        proofs,
        remedies: vec![remedy.to_owned()],
        checks: vec![check(
            "CPU time used explains it",
            used.map(|used| used >= USED_SHARE * explained),
            match used {
                Some(used) => format!(
                    "{} CPUs used, {} sessions on one",
                    text::some(used),
                    text::some(explained)
                ),
                None => "the server’s processes were not seen".to_owned(),
            },
        )],
        ..Assessment::default()
    })
}

fn quota(evidence: &Evidence<'_>) -> Examined {
    let Some(throttled) = evidence.throttled_share() else {
        return match evidence.mean("host.server.cpu") {
            Some(_) => Examined::NotApplicable("the server has no CPU quota".to_owned()),
            None => Examined::NotKnown("the server’s control group was not seen".to_owned()),
        };
    };
    let cpus = evidence.mean("host.server.quota").unwrap_or(0.0);
    let figure = format!(
        "its quota of {} CPUs was used up in {} of its periods",
        text::some(cpus),
        text::roughly(throttled)
    );
    if behind(evidence) != Behind::Quota {
        return Examined::nothing(evidence, figure);
    }
    let parts: &[Part] = if throttled >= THROTTLED_FULLY {
        &[Part::ServerCpu, Part::ServerWait]
    } else {
        &[Part::ServerWait]
    };
    let share: f64 = parts.iter().map(|part| evidence.budget.share(*part)).sum();
    let used = evidence.mean("host.server.cpu").unwrap_or(0.0);
    let mut proofs = vec![
        Proof::new(
            text::roughly(throttled),
            format!(
                "of the periods in which it had work the server’s quota of {} CPUs was used up",
                text::some(cpus)
            ),
        )
        .at("instruments", "Server’s host"),
        Proof::new(
            text::roughly(share),
            "of the clients’ time their sessions were on a CPU or throttled",
        )
        .at("time-budget", "Time budget"),
    ];
    proofs.push(
        Proof::new(
            text::some(used),
            "CPUs used by the server’s processes on average",
        )
        .at("instruments", "Server’s host"),
    );
    Examined::assessed(Assessment {
        shares: evidence.shares(parts),
        sentence: format!(
            "The server’s CPU quota limited it: its control group may use {} CPUs",
            text::some(cpus)
        ),
        proofs,
        remedies: vec![
            "raise the container’s CPU limit (`cpu.max`, `--cpus`, `resources.limits.cpu`)"
                .to_owned(),
        ],
        checks: vec![check("The quota was used up", true, figure)],
        ..Assessment::default()
    })
}

fn others(evidence: &Evidence<'_>) -> Examined {
    if evidence.mean("host.cpu.others").is_none() {
        return Examined::NotKnown("who used the server’s CPUs was not seen".to_owned());
    }
    let share = others_share(evidence);
    let figure = format!("others used {} of the host’s CPUs", text::roughly(share));
    let theirs = share_behind_others(evidence);
    if theirs == 0.0 {
        return Examined::nothing(evidence, figure);
    }
    let of_generator = generator_share_behind_others(evidence);
    let of_server = if evidence.budget.is_of_nodes {
        super::cluster::waiting(evidence)
    } else {
        evidence.shares(&[Part::ServerWait])
    };
    let shares = of_server.iter().copied();
    let shares = shares.zip(evidence.shares(&[Part::GeneratorWait]));
    let server_waited = blocks::mean(&of_server).0;
    let generator_waited = evidence.budget.share(Part::GeneratorWait);
    let waited = server_waited + generator_waited;
    let for_others = server_waited * theirs + generator_waited * of_generator;
    let idle = evidence.server_idle_share().unwrap_or(0.0);
    Examined::assessed(Assessment {
        shares: shares
            .map(|(server, generator)| server * theirs + generator * of_generator)
            .collect(),
        sentence: "Other processes on the host limited it: client and server waited for CPUs"
            .to_owned(),
        proofs: vec![
            Proof::new(
                text::roughly(waited),
                format!(
                    "of the clients’ time pgdyno or the server waited for a CPU: {} of that for others",
                    text::roughly(ratio(for_others, waited))
                ),
            )
            .at("time-budget", "Time budget"),
            Proof::new(
                text::roughly(share),
                "of the host’s CPUs were used by other processes",
            )
            .at("instruments", "Server’s host"),
        ],
        remedies: vec!["stop the other processes, or use a host without them".to_owned()],
        checks: vec![check(
            "All CPUs were busy",
            idle <= FULL_IDLE_SHARE,
            format!("{} idle", text::roughly(idle)),
        )],
        ..Assessment::default()
    })
}
