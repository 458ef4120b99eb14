//! Times without service, and what they would mean for requests that come by themselves.

use std::collections::BTreeMap;

use pgdyno_measurement::{EndpointRecord, EndpointSeconds, Failure, Recording, Second};
use pgdyno_stats::Arrival;
use serde::Serialize;

use super::Latency;

const SECOND_US: u64 = 1_000_000;
const LISTED_MAX: usize = 1000;
/// So many seconds before a stall say what the rate was.
const BEFORE_MAX: usize = 10;
/// Of the rate before, when it is back.
const BACK_SHARE: f64 = 0.9;

/// Times without service within the asked duration: from 100 ms on nothing was committed, and that is
/// not usual for the trial (docs/results.md).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Stalls {
    pub count: usize,
    pub total_us: u64,
    pub longest_us: u64,
    /// The share of the asked duration, 0 to 1.
    pub share: f64,
    pub each: Vec<Stall>,
    /// The longest times in which one client wanted to commit and did not, ten at most, the longest
    /// first: failures, connections lost and waits for locks, from 100 ms on.
    pub clients: Vec<ClientStall>,
    /// Times in which pgdyno itself did not run: stopped, frozen or suspended. They are none of the above.
    pub generator: Vec<GeneratorStop>,
    /// What a request at a random moment would have taken; `null` without stalls, and with a rate,
    /// where response times say it.
    pub random_arrival: Option<Latency>,
}

/// A time without service, of all or of an endpoint; of an endpoint what failed there, and its own rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Stall {
    /// When it began, in microseconds since clients began to work.
    pub start_us: u64,
    /// Its length: from the last commit before to the first after.
    pub length_us: u64,
    /// Whether a commit ended it; else the end of the asked duration did.
    pub is_over: bool,
    /// Transactions that failed in the seconds that it touches, by class.
    pub failed: BTreeMap<String, u64>,
    /// Those whose commit is unknown.
    pub unknown: u64,
    /// From its end to the end of the first second that had 90 % of the rate of the ten seconds before
    /// it; `null` where there is no such second, before or after.
    pub recovered_us: Option<u64>,
}

/// A time in which pgdyno itself did not run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct GeneratorStop {
    /// When it began, in microseconds since clients began to work.
    pub start_us: u64,
    pub length_us: u64,
}

/// A time in which a client wanted to commit something and did not.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientStall {
    pub client: usize,
    /// When it began, in microseconds since clients began to work: with its last commit, or when what it
    /// wanted next was scheduled.
    pub start_us: u64,
    pub length_us: u64,
    /// Whether a commit ended it; else the run did, or the client's end.
    pub is_over: bool,
    /// Its transactions that failed meanwhile, by class.
    pub failed: BTreeMap<String, u64>,
    /// Those whose commit is unknown.
    pub unknown: u64,
}

impl From<&Recording> for Stalls {
    fn from(recording: &Recording) -> Self {
        let stalls = &recording.stalls;
        let total_us = stalls.iter().map(|stall| stall.length_us).sum();
        let asked_us = recording.measured.asked_us();
        Self {
            count: stalls.len(),
            total_us,
            longest_us: stalls.iter().map(|s| s.length_us).max().unwrap_or(0),
            share: match asked_us {
                0 => 0.0,
                asked_us => total_us as f64 / asked_us as f64,
            },
            each: {
                let listed = stalls.iter().take(LISTED_MAX);
                listed.map(|stall| Stall::of(stall, recording)).collect()
            },
            clients: recording
                .client_stalls
                .iter()
                .take(pgdyno_measurement::CLIENT_STALLS_MAX)
                .map(ClientStall::from)
                .collect(),
            generator: {
                let stops = recording.generator_stops.iter().take(LISTED_MAX);
                let stops = stops.map(|stop| GeneratorStop {
                    start_us: stop.start_us,
                    length_us: stop.length_us,
                });
                stops.collect()
            },
            random_arrival: random_arrival(recording),
        }
    }
}

impl Stall {
    fn of(stall: &pgdyno_measurement::Stall, recording: &Recording) -> Self {
        let end_us = stall.start_us + stall.length_us;
        let touches = |second: &&Second| {
            let until_us = second.start_us + second.length_us;
            second.start_us < end_us && until_us > stall.start_us && !second.warmup
        };
        let touched = || recording.seconds.iter().filter(touches);
        let counts = || touched().flat_map(|second| second.scripts.iter().map(|one| &one.counts));
        let mut failed = BTreeMap::new();
        for (class, count) in counts().flat_map(|counts| &counts.failed) {
            *failed.entry(class.code().to_owned()).or_default() += count;
        }
        Self {
            start_us: stall.start_us,
            length_us: stall.length_us,
            is_over: stall.is_over,
            failed,
            unknown: counts().map(|counts| counts.unknown).sum(),
            recovered_us: if stall.is_over {
                recovered_us(stall, &recording.stalls, whole_seconds(recording))
            } else {
                None
            },
        }
    }

    /// Those of an endpoint among several.
    pub fn at(endpoint: &EndpointRecord) -> Vec<Self> {
        let seconds = &endpoint.seconds;
        let of = |stall: &pgdyno_measurement::Stall| {
            let end_us = stall.start_us + stall.length_us;
            let (mut failed, mut unknown) = (BTreeMap::new(), 0);
            for wrong in &seconds.wrong {
                let start_us = seconds.from_us + wrong.second * SECOND_US;
                if start_us >= end_us || start_us + SECOND_US <= stall.start_us {
                    continue;
                }
                match wrong.failure {
                    Some(class) => {
                        *failed.entry(class.code().to_owned()).or_default() += wrong.count;
                    }
                    None => unknown += wrong.count,
                }
            }
            Self {
                start_us: stall.start_us,
                length_us: stall.length_us,
                is_over: stall.is_over,
                failed,
                unknown,
                recovered_us: if stall.is_over {
                    recovered_us(stall, &endpoint.stalls, seconds_at(seconds))
                } else {
                    None
                },
            }
        };
        endpoint.stalls.iter().map(of).collect()
    }
}

/// A whole second: when it began, its length, and what was committed in it.
type Whole = (u64, u64, u64);

fn whole_seconds(recording: &Recording) -> impl Iterator<Item = Whole> + Clone {
    let seconds = recording.seconds.iter();
    let whole =
        seconds.filter(|second| !second.warmup && !second.drain && second.length_us >= 999_000);
    whole.map(|second| {
        let committed = second.scripts.iter().map(|one| one.counts.committed);
        (second.start_us, second.length_us, committed.sum())
    })
}

/// The last of them may be shorter: it may look like less.
fn seconds_at(seconds: &EndpointSeconds) -> impl Iterator<Item = Whole> + Clone {
    let starts = (0..).map(|second| seconds.from_us + second * SECOND_US);
    let committed = seconds.committed.iter();
    starts
        .zip(committed)
        .map(|(start_us, committed)| (start_us, SECOND_US, *committed))
}

/// Seconds are judged whole: those that a stall of a second touches are no rate before.
fn recovered_us(
    stall: &pgdyno_measurement::Stall,
    stalls: &[pgdyno_measurement::Stall],
    seconds: impl Iterator<Item = Whole> + Clone,
) -> Option<u64> {
    let end_us = stall.start_us + stall.length_us;
    let is_stalled = |(start_us, length_us, _): &Whole| {
        stalls.iter().any(|stall| {
            stall.length_us >= SECOND_US
                && *start_us < stall.start_us + stall.length_us
                && start_us + length_us > stall.start_us
        })
    };
    let rate_per_s = |(_, length_us, committed): Whole| committed as f64 * 1e6 / length_us as f64;
    let before = seconds.clone().filter(|second| {
        let (start_us, length_us, _) = second;
        start_us + length_us <= stall.start_us && !is_stalled(second)
    });
    let before: Vec<f64> = before.map(rate_per_s).collect();
    let before = &before[before.len().saturating_sub(BEFORE_MAX)..];
    let mean_per_s = before.iter().sum::<f64>() / before.len() as f64;
    // Not a number where there is none before: nothing is as much.
    let mut after = seconds.filter(|(start_us, ..)| *start_us >= end_us);
    let back = after.find(|second| rate_per_s(*second) >= BACK_SHARE * mean_per_s)?;
    Some(back.0 + back.1 - end_us)
}

impl From<&pgdyno_measurement::ClientStall> for ClientStall {
    fn from(stall: &pgdyno_measurement::ClientStall) -> Self {
        let failed = stall.failed.iter();
        let by_code = |(class, count): &(Failure, u64)| (class.code().to_owned(), *count);
        Self {
            client: stall.client,
            start_us: stall.start_us,
            length_us: stall.length_us,
            is_over: stall.is_over,
            failed: failed.map(by_code).collect(),
            unknown: stall.unknown,
        }
    }
}

fn random_arrival(recording: &Recording) -> Option<Latency> {
    let measured = recording.measured.all();
    if recording.stalls.is_empty() || measured.response.is_some() {
        return None;
    }
    let buckets = measured.service.histogram().buckets();
    let stalls = recording.stalls.iter().map(|stall| stall.length_us as f64);
    let arrival = Arrival::new(
        buckets.map(|bucket| (bucket.middle_us() as f64, bucket.count)),
        &stalls.collect::<Vec<_>>(),
        recording.measured.asked_us() as f64,
        recording.working_clients().round() as u64,
    )?;
    let count = measured.service.count();
    // As of those that it is computed from.
    let percentile = |percent: f64| {
        let is_supported = measured.service.percentile_us(percent).is_some();
        is_supported.then(|| arrival.percentile(percent).round() as u64)
    };
    Some(Latency {
        count,
        mean_us: Some(arrival.mean()),
        stddev_us: None,
        p50_us: percentile(50.0),
        p90_us: percentile(90.0),
        p95_us: percentile(95.0),
        p99_us: percentile(99.0),
        p99_9_us: percentile(99.9),
        max_us: Some(arrival.max().round() as u64),
        intervals: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_measurement::Wrong;

    #[test]
    fn an_outage_of_an_endpoint_has_its_errors_by_class_and_its_own_recovery() {
        let wrong = |second, failure, count| Wrong {
            second,
            failure,
            count,
        };
        let stall = pgdyno_measurement::Stall {
            start_us: 7_000_000,
            length_us: 3_000_000,
            is_over: true,
        };
        let mut endpoint = EndpointRecord {
            stalls: vec![stall],
            seconds: EndpointSeconds {
                from_us: 2_000_000,
                committed: vec![100, 100, 100, 100, 100, 0, 0, 0, 50, 95, 100],
                wrong: vec![
                    wrong(3, Some(Failure::DEADLOCK), 9),
                    wrong(5, Some(Failure::ConnectionLost), 2),
                    wrong(6, Some(Failure::ConnectionLost), 1),
                    wrong(7, None, 1),
                    wrong(8, Some(Failure::SERIALIZATION), 4),
                ],
                ..EndpointSeconds::default()
            },
            ..EndpointRecord::default()
        };
        let [reported] = Stall::at(&endpoint).try_into().unwrap();
        assert_eq!(reported.failed, [("connection-lost".to_owned(), 3)].into());
        assert_eq!(
            (reported.unknown, reported.recovered_us),
            (1, Some(2_000_000))
        );
        // Never at nine tenths again; and not over.
        endpoint.seconds.committed.truncate(9);
        assert_eq!(Stall::at(&endpoint)[0].recovered_us, None);
        endpoint.stalls[0].is_over = false;
        assert_eq!(Stall::at(&endpoint)[0].recovered_us, None);
    }
}
