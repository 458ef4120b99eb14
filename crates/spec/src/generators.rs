//! A trial of several generators: how many, and how they find each other.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use pgdyno_platform::io::Choice;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{TrialSpec, duration};
use crate::{Exit, Failure};

/// How long generators wait for each other by default.
const JOIN_DEADLINE: &str = "2m";

/// What part of a trial one of several generators does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub generator: u32,
    pub generators: u32,
    /// Clients of the generators before it: the number of its first client.
    pub clients_before: usize,
    pub clients_total: usize,
}

/// How several pgdynos measure one trial together (docs/scale-out.md).
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Several generators")]
pub struct GeneratorsSpec {
    /// Work together with others: so many pgdynos run this same command line, here or on other
    /// hosts, with the same --store. Clients and rate are those of all together, and missing tables
    /// are loaded by all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub generators: Option<u32>,

    /// Which of them this is, from 0 [default: as Kubernetes, Slurm or MPI number it, else the first
    /// that is free]
    #[arg(long, value_name = "I", requires = "generators")]
    pub generator: Option<u32>,

    /// Names the trial that they join [default: the scheduler's job, else the trial of the same load
    /// that waits for more]
    #[arg(long, value_name = "KEY", requires = "generators")]
    pub join: Option<String>,

    /// Begin without those that have not arrived by then
    #[arg(long, value_name = "TIME", value_parser = duration::parse_positive, default_value = JOIN_DEADLINE, requires = "generators")]
    pub join_deadline: Duration,

    /// A signal ends this generator alone, not all of them
    #[arg(long, requires = "generators")]
    pub leave: bool,
}

/// The share of a generator (from 0) of so many: clients are dealt as evenly as they go, the first
/// generators get one more.
///
/// # Errors
/// There are fewer clients than generators, or no such generator.
pub fn share(spec: &TrialSpec, generator: u32, generators: u32) -> Result<Share, Failure> {
    let clients = spec.clients();
    if generator >= generators {
        return Err(none_such(generator, generators));
    }
    if clients < generators {
        let text = format!("{generators} generators cannot share {clients} clients");
        return Err(Failure::with(Exit::Usage, text)
            .hint("-c says how many clients all generators have together"));
    }
    let before = |generator: u32| {
        let (each, more) = (clients / generators, clients % generators);
        (generator * each + generator.min(more)) as usize
    };
    Ok(Share {
        generator,
        generators,
        clients_before: before(generator),
        clients_total: clients as usize,
    })
}

/// A number that no generator has.
pub fn none_such(generator: u32, generators: u32) -> Failure {
    let text = format!("there is no generator {generator} of {generators}: the first is 0");
    Failure::with(Exit::Usage, text).hint("--generator I is below --generators N")
}

/// The trial that a generator with this share runs itself.
pub fn part(spec: &TrialSpec, share: &Share) -> TrialSpec {
    let (clients, generators) = (share.clients_total as u32, share.generators);
    let more = u32::from(share.generator < clients % generators);
    let own = clients / generators + more;
    TrialSpec {
        clients: spec.clients.as_ref().map(|clients| clients.part(own)),
        threads: spec.threads.map(|threads| threads.min(own)),
        rate: spec
            .rate
            .as_ref()
            .map(|rate| rate.times(f64::from(own) / f64::from(clients))),
        ..spec.clone()
    }
}

/// What tells the load of a trial from others, as it was asked for: not how this host does it, nor a seed
/// that was not given. In hexadecimal.
pub fn load_sha256(asked: &TrialSpec, content_sha256: &str) -> String {
    let (seed, all) = (asked.seed, asked.clone().resolved());
    let load = TrialSpec {
        seed,
        threads: None,
        io: Choice::default(),
        pin: false,
        ..all
    };
    let hash = Sha256::digest(format!("{} {content_sha256}", load.load_sha256()));
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// In what two trials, as JSON, are another load: `clients 8 there, 4 here`.
pub fn differences(there: &str, here: &str) -> Vec<String> {
    let fields =
        |text: &str| -> Map<String, Value> { serde_json::from_str(text).unwrap_or_default() };
    let (there, here) = (fields(there), fields(here));
    let names: BTreeSet<&String> = there.keys().chain(here.keys()).collect();
    let is_of_load = |name: &&&String| !NO_LOAD.contains(&name.as_str());
    let differs = |name: &&String| there.get(*name) != here.get(*name);
    let shown = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "not set".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let names = names.iter().filter(is_of_load).copied().filter(differs);
    let words = |name: &String| {
        let (there, here) = (shown(there.get(name)), shown(here.get(name)));
        format!("{name} {there} there, {here} here")
    };
    names.map(words).collect()
}

/// Fields of a trial that say nothing of its load.
const NO_LOAD: [&str; 6] = ["seed", "threads", "io", "pin", "target", "observe"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clients;

    #[test]
    fn shares_are_all_clients_and_all_of_the_rate() {
        for (clients, generators) in [(10, 3), (4, 4), (4000, 16), (17, 16)] {
            let whole = TrialSpec {
                clients: Some(clients.into()),
                rate: Some(1000.0.into()),
                ..TrialSpec::of("tpcb")
            };
            let mut next = 0;
            let mut rate = 0.0;
            for generator in 0..generators {
                let share = share(&whole, generator, generators).unwrap();
                assert_eq!(share.clients_before, next);
                let part = part(&whole, &share);
                next += part.clients() as usize;
                rate += part.rate.and_then(|rate| rate.constant()).unwrap();
            }
            assert_eq!(next, clients as usize);
            assert!((rate - 1000.0).abs() < 1e-6, "{rate}");
        }
    }

    #[test]
    fn more_generators_than_clients_are_refused() {
        let whole = TrialSpec {
            clients: Some(3.into()),
            ..TrialSpec::of("tpcb")
        };
        let e = share(&whole, 0, 4).unwrap_err();
        assert!(
            e.message.contains("cannot share 3 clients"),
            "{}",
            e.message
        );
        let e = share(&whole, 2, 2).unwrap_err();
        assert!(e.message.contains("no generator 2 of 2"), "{}", e.message);
    }

    #[test]
    fn a_load_is_the_same_on_hosts_with_other_cpus_and_says_what_differs() {
        let of = |clients, threads, seed| TrialSpec {
            clients: Some(Clients::from(clients)),
            threads,
            seed,
            ..TrialSpec::of("tpcb")
        };
        let hash = |spec: &TrialSpec| load_sha256(spec, "content");
        assert_eq!(hash(&of(8, Some(2), None)), hash(&of(8, Some(4), None)));
        let pinned = TrialSpec {
            pin: true,
            ..of(8, None, None)
        };
        assert_eq!(hash(&pinned), hash(&of(8, None, None)));
        assert_ne!(hash(&of(8, None, None)), hash(&of(4, None, None)));
        assert_ne!(hash(&of(8, None, Some(1))), hash(&of(8, None, None)));
        assert_ne!(
            hash(&of(8, None, None)),
            load_sha256(&of(8, None, None), "other")
        );
        let json = |spec: TrialSpec| serde_json::to_string(&spec.resolved()).unwrap();
        let there = TrialSpec {
            rate: Some(100.0.into()),
            ..of(8, Some(2), None)
        };
        assert_eq!(
            differences(&json(there), &json(of(4, None, None))),
            [
                "clients 8 there, 4 here",
                "rate_per_s 100.0 there, not set here"
            ]
        );
    }
}
