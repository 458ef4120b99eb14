//! A trial of several generators: how many, and how they find each other.

use std::time::Duration;

use clap::Args;
use pgdyno_drive::Share;

use super::{TrialSpec, duration};
use crate::{Exit, Failure};

/// How long generators wait for each other when nobody says.
const JOIN_DEADLINE: &str = "2m";

/// How several pgdynos measure one trial together (docs/scale-out.md).
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Several generators")]
pub struct GeneratorsSpec {
    /// Measure together with others: so many pgdynos run this same command line, here or on other
    /// hosts, with the same --store. Clients and rate are those of all together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000), conflicts_with = "no_store")]
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
        let text = format!("there is no generator {generator} of {generators}: the first is 0");
        return Err(Failure::with(Exit::Usage, text).hint("--generator I is below --generators N"));
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

/// The trial that a generator with this share runs itself.
pub fn part(spec: &TrialSpec, share: &Share) -> TrialSpec {
    let (clients, generators) = (share.clients_total as u32, share.generators);
    let more = u32::from(share.generator < clients % generators);
    let own = clients / generators + more;
    TrialSpec {
        clients: Some(own),
        threads: spec.threads.map(|threads| threads.min(own)),
        rate: spec.rate.map(|rate| rate * f64::from(own) / f64::from(clients)),
        ..spec.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_clients_and_all_of_the_rate() {
        for (clients, generators) in [(10, 3), (4, 4), (4000, 16), (17, 16)] {
            let whole = TrialSpec {
                clients: Some(clients),
                rate: Some(1000.0),
                ..TrialSpec::of("tpcb")
            };
            let mut next = 0;
            let mut rate = 0.0;
            for generator in 0..generators {
                let share = share(&whole, generator, generators).unwrap();
                assert_eq!(share.clients_before, next);
                let part = part(&whole, &share);
                next += part.clients() as usize;
                rate += part.rate.unwrap();
            }
            assert_eq!(next, clients as usize);
            assert!((rate - 1000.0).abs() < 1e-6, "{rate}");
        }
    }

    #[test]
    fn more_generators_than_clients_are_refused() {
        let whole = TrialSpec {
            clients: Some(3),
            ..TrialSpec::of("tpcb")
        };
        let e = share(&whole, 0, 4).unwrap_err();
        assert!(e.message.contains("cannot share 3 clients"), "{}", e.message);
        let e = share(&whole, 2, 2).unwrap_err();
        assert!(e.message.contains("no generator 2 of 2"), "{}", e.message);
    }
}
