//! What is measured, each as a trial.

use std::collections::BTreeMap;
use std::time::Duration;

use pgdyno_drive::QueryMode;
use serde_json::{Value, json};

use crate::target::dialect::Probes;
use pgdyno_model::TrialSpec;
use pgdyno_model::spec::{RetryPolicy, TargetSpec, Warmup};

/// Short trials take this part of the baseline's time …
const SHORT_PART: u32 = 12;
/// … but at least this, or there are too few transactions for a percentile.
const SHORT_MIN: Duration = Duration::from_millis(500);
/// The warm-up of reads and updates takes this part of their time …
const WARMUP_PART: u32 = 10;
/// … but at most this.
const WARMUP_MAX: Duration = Duration::from_secs(2);
/// Tries of a transaction that the server wants to be tried again: with several clients, on some
/// products that is part of normal work.
const TRIES_MAX: u32 = 10;

/// The pack with the parts.
pub const PROBE: &str = "probe";
/// The pack with reads and updates, and its mix: 95 % reads, 5 % updates.
pub const YCSB: (&str, &str) = ("ycsb", "b");
/// The names of its scripts.
pub const READ: &str = "read";
/// The names of its scripts.
pub const UPDATE: &str = "update";

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// The way there and back.
    RoundTrip,
    /// One row changed and durable.
    Commit,
    /// The same without waiting until it is durable.
    CommitNoWait,
    /// Reads and updates at one client.
    Baseline,
    /// The same with more clients.
    Clients(u32),
}

impl Measure {
    /// Its word in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::RoundTrip => "round-trip",
            Self::Commit => "commit",
            Self::CommitNoWait => "commit-no-wait",
            Self::Baseline => "baseline",
            Self::Clients(_) => "clients",
        }
    }

    /// For people.
    pub fn title(self) -> String {
        match self {
            Self::RoundTrip => "round trip".to_owned(),
            Self::Commit => "durable commit".to_owned(),
            Self::CommitNoWait => "commit that does not wait for the disk".to_owned(),
            Self::Baseline => "YCSB B at one client".to_owned(),
            Self::Clients(clients) => format!("YCSB B at {clients} clients"),
        }
    }

    /// Its place in the experiment.
    pub fn point(self) -> Value {
        json!({ "measure": self.word(), "clients": self.clients() })
    }

    /// What stands at this place; `None` when it is none of a calibration.
    pub fn at(point: &Value) -> Option<Self> {
        let single = [
            Self::RoundTrip,
            Self::Commit,
            Self::CommitNoWait,
            Self::Baseline,
        ];
        let word = point["measure"].as_str()?;
        if let Some(measure) = single.into_iter().find(|measure| measure.word() == word) {
            return Some(measure);
        }
        let clients = u32::try_from(point["clients"].as_u64()?).ok()?;
        (word == Self::Clients(clients).word()).then_some(Self::Clients(clients))
    }

    /// Clients at work.
    pub fn clients(self) -> u32 {
        match self {
            Self::Clients(clients) => clients,
            _ => 1,
        }
    }

    /// Whether it runs the reads and updates.
    pub fn is_ycsb(self) -> bool {
        matches!(self, Self::Baseline | Self::Clients(_))
    }

    /// Its trial, with nothing left open. `duration` is the baseline's; `params` are those of its workload.
    pub fn spec(self, wanted: &TargetSpec, duration: Duration, params: &[String]) -> TrialSpec {
        let short = (duration / SHORT_PART).max(SHORT_MIN);
        let (workload, mix) = match self {
            Self::RoundTrip => (PROBE, self.word()),
            Self::Commit | Self::CommitNoWait => (PROBE, Self::Commit.word()),
            Self::Baseline | Self::Clients(_) => YCSB,
        };
        let (measured, warmup) = match self {
            Self::Baseline => (duration, (duration / WARMUP_PART).min(WARMUP_MAX)),
            Self::Clients(_) => (short, (short / WARMUP_PART).min(WARMUP_MAX)),
            _ => (short, Duration::ZERO),
        };
        TrialSpec {
            mix: Some(mix.to_owned()),
            params: match self.is_ycsb() {
                true => params.to_vec(),
                false => Vec::new(),
            },
            target: wanted.clone(),
            // What drivers of applications do with a statement that they send often.
            query_mode: Some(QueryMode::Prepared),
            clients: Some(self.clients()),
            duration: Some(measured),
            warmup: Warmup::Given(warmup),
            retry: RetryPolicy {
                max_tries: self.is_ycsb().then_some(TRIES_MAX),
                ..RetryPolicy::default()
            },
            ..TrialSpec::of(workload)
        }
        .resolved()
    }

    /// Settings of its sessions. `waits_not` says that the server is set not to wait for the disk.
    pub fn settings(self, probes: &Probes, waits_not: bool) -> BTreeMap<String, String> {
        let wait = probes.wait.as_ref().ok();
        let value = match self {
            Self::CommitNoWait => wait.map(|wait| (wait.setting, wait.off)),
            Self::Commit if waits_not => wait.map(|wait| (wait.setting, wait.on)),
            _ => None,
        };
        let value = value.map(|(name, value)| (name.to_owned(), value.to_owned()));
        value.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::dialect::{COCKROACHDB, POSTGRESQL};

    #[test]
    fn a_measurement_is_found_again_by_its_place() {
        for measure in [
            Measure::RoundTrip,
            Measure::Commit,
            Measure::CommitNoWait,
            Measure::Baseline,
            Measure::Clients(16),
        ] {
            assert_eq!(Measure::at(&measure.point()), Some(measure));
        }
        assert_eq!(Measure::at(&json!({ "clients": 4 })), None);
        assert_eq!(
            Measure::at(&json!({ "measure": "other", "clients": 4 })),
            None
        );
    }

    #[test]
    fn only_the_sessions_of_a_commit_are_told_to_wait_or_not() {
        let probes = &POSTGRESQL.probes;
        let set = |measure: Measure, waits_not| {
            let settings = measure.settings(probes, waits_not).into_iter();
            settings
                .map(|(n, v)| format!("{n}={v}"))
                .collect::<String>()
        };
        assert_eq!(set(Measure::CommitNoWait, false), "synchronous_commit=off");
        assert_eq!(set(Measure::Commit, true), "synchronous_commit=on");
        assert_eq!(set(Measure::Commit, false), "");
        assert_eq!(set(Measure::Baseline, true), "");
        let none = Measure::CommitNoWait.settings(&COCKROACHDB.probes, false);
        assert!(none.is_empty());
    }

    #[test]
    fn a_minute_and_a_half_is_what_it_takes() {
        let time = |measure: Measure| {
            let spec = measure.spec(&TargetSpec::default(), Duration::from_secs(60), &[]);
            spec.duration.unwrap() + spec.warmup.longest()
        };
        let all = [
            Measure::RoundTrip,
            Measure::Commit,
            Measure::CommitNoWait,
            Measure::Baseline,
        ];
        let all: Duration = all.into_iter().map(time).sum();
        assert_eq!(all, Duration::from_secs(77));
    }
}
