//! What is measured, each as a point of the experiment.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use pgdyno_database::dialect::Probes;
use pgdyno_spec::{
    Experiment,
    experiment::{Order, POINT_NAME, calibration::Measure, scalar, seconds},
};

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

/// The point of a measurement: what its trial is given. `duration` is the baseline's; `params` are those of its
/// workload, with their values as they were typed.
pub fn point(
    measure: Measure,
    duration: Duration,
    params: &[(String, String)],
    server: &Server,
) -> Vec<(String, Value)> {
    let short = (duration / SHORT_PART).max(SHORT_MIN);
    let (workload, mix) = match measure {
        Measure::RoundTrip => (PROBE, "round-trip"),
        Measure::Commit | Measure::CommitNoWait => (PROBE, "commit"),
        Measure::Baseline | Measure::Clients(_) => YCSB,
    };
    let (measured, warmup) = match measure {
        Measure::Baseline => (duration, (duration / WARMUP_PART).min(WARMUP_MAX)),
        Measure::Clients(_) => (short, (short / WARMUP_PART).min(WARMUP_MAX)),
        _ => (short, Duration::ZERO),
    };
    let mut point = vec![
        (POINT_NAME.to_owned(), Value::from(measure.word())),
        ("workload".to_owned(), Value::from([workload])),
        ("mix".to_owned(), Value::from(mix)),
        (
            "clients".to_owned(),
            Value::from(if measure.is_ycsb() {
                measure.clients()
            } else {
                // Each endpoint has one: what it takes there is distinguished.
                server.endpoints
            }),
        ),
        ("duration".to_owned(), seconds(measured)),
        ("warmup".to_owned(), seconds(warmup)),
    ];
    if measure.is_ycsb() {
        point.push(("max_tries".to_owned(), Value::from(TRIES_MAX)));
        let params = params.iter();
        point.extend(params.map(|(name, value)| (format!("params.{name}"), scalar(value))));
    }
    let settings = settings(measure, server).into_iter();
    point.extend(settings.map(|(name, value)| (format!("settings.{name}"), value.into())));
    point
}

fn settings(measure: Measure, server: &Server) -> BTreeMap<&'static str, &'static str> {
    let wait = server.probes.wait.as_ref().ok();
    let value = match measure {
        Measure::CommitNoWait => wait.map(|wait| (wait.setting, wait.off)),
        Measure::Commit if server.waits_not => wait.map(|wait| (wait.setting, wait.on)),
        _ => None,
    };
    let timing = server.probes.timing;
    let timing = timing.filter(|_| measure == Measure::Commit && server.may_time);
    value.into_iter().chain(timing).collect()
}

/// What the trials depend on.
#[derive(Debug, Clone, Copy)]
pub struct Server {
    pub probes: &'static Probes,
    /// Whether it is set not to wait for the disk.
    pub waits_not: bool,
    /// Whether the role may have it time its syncs.
    pub may_time: bool,
    /// How many endpoints there are.
    pub endpoints: u32,
}

/// The experiment: everything up to the baseline, in this order.
pub fn experiment(
    name: &str,
    duration: Duration,
    params: &[(String, String)],
    server: &Server,
) -> Experiment {
    let all = [
        Measure::RoundTrip,
        Measure::Commit,
        Measure::CommitNoWait,
        Measure::Baseline,
    ];
    let has_wait = server.probes.wait.is_ok();
    let measures = all
        .into_iter()
        .filter(|measure| has_wait || *measure != Measure::CommitNoWait);
    Experiment::named(name)
        // What drivers of applications do with a statement that they send often.
        .fix("query_mode", "prepared")
        .points(measures.map(|measure| point(measure, duration, params, server)))
        .order(Order::Sequential)
        .settle(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::schedule::Slot;
    use crate::experiment::testing::planned;
    use pgdyno_database::dialect::{COCKROACHDB, POSTGRESQL};
    use pgdyno_spec::{
        QueryMode, TargetSpec,
        experiment::{Commented, Comments, point::Point},
    };
    use serde_json::json;

    const SERVER: Server = Server {
        probes: &POSTGRESQL.probes,
        waits_not: false,
        may_time: false,
        endpoints: 1,
    };
    const MINUTE: Duration = Duration::from_secs(60);

    fn made(server: &Server) -> Experiment {
        let params = [("recordcount".to_owned(), "500".to_owned())];
        experiment("c", MINUTE, &params, server)
    }

    #[test]
    fn a_calibration_is_an_experiment_whose_measurements_are_found_again() {
        let all = [
            Measure::RoundTrip,
            Measure::Commit,
            Measure::CommitNoWait,
            Measure::Baseline,
        ];
        let both = [
            (&SERVER, &all[..]),
            (&NEITHER, &[all[0], all[1], all[3]][..]),
        ];
        for (server, want) in both {
            let plan = planned(&Commented {
                experiment: made(server),
                comments: Comments::default(),
            });
            let points = plan.slots.iter().map(|slot| slot.point.to_json());
            let points: Vec<Value> = points.collect();
            let found = points.iter().map(|point| Measure::at(point).unwrap());
            assert_eq!(found.collect::<Vec<_>>(), want);
            assert_eq!(points.last().unwrap()["params"]["recordcount"], 500);
            assert_eq!(points[0].get("params"), None);
        }
        let more = point(Measure::Clients(16), MINUTE, &[], &SERVER);
        let more = Point::new(more.into_iter().collect()).to_json();
        assert_eq!(Measure::at(&more), Some(Measure::Clients(16)));
        for other in [
            json!({ "clients": 4 }),
            json!({ "name": "other", "clients": 1 }),
        ] {
            assert_eq!(Measure::at(&other), None);
        }
    }

    #[test]
    fn only_commit_sessions_set_synchronous_commit() {
        let set = |measure: Measure, server: &Server| {
            let settings = settings(measure, server).into_iter();
            settings
                .map(|(n, v)| format!("{n}={v}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let waits_not = Server {
            waits_not: true,
            may_time: true,
            ..SERVER
        };
        assert_eq!(
            set(Measure::CommitNoWait, &SERVER),
            "synchronous_commit=off"
        );
        assert_eq!(
            set(Measure::Commit, &waits_not),
            "synchronous_commit=on track_wal_io_timing=on"
        );
        assert_eq!(set(Measure::Commit, &SERVER), "");
        assert_eq!(set(Measure::Baseline, &waits_not), "");
        assert_eq!(set(Measure::CommitNoWait, &NEITHER), "");
    }

    const NEITHER: Server = Server {
        probes: &COCKROACHDB.probes,
        ..SERVER
    };

    #[test]
    fn each_endpoint_has_a_client_of_its_own_where_the_parts_are_measured() {
        let three = Server {
            endpoints: 3,
            ..SERVER
        };
        let clients = |measure: Measure, server: &Server| {
            let point: BTreeMap<_, _> = point(measure, MINUTE, &[], server).into_iter().collect();
            point["clients"].clone()
        };
        for part in [Measure::RoundTrip, Measure::Commit, Measure::CommitNoWait] {
            assert_eq!(
                (clients(part, &three), clients(part, &SERVER)),
                (3.into(), 1.into())
            );
        }
        assert_eq!(clients(Measure::Baseline, &three), 1);
        assert_eq!(clients(Measure::Clients(8), &three), 8);
    }

    #[test]
    fn a_minute_and_a_half_is_what_it_takes() {
        let plan = planned(&Commented {
            experiment: made(&SERVER),
            comments: Comments::default(),
        });
        let spec = |slot: &Slot| slot.point.spec(TargetSpec::default(), None, 0).unwrap();
        let time = |slot: &Slot| {
            let spec = spec(slot);
            assert_eq!(spec.query_mode, Some(QueryMode::Prepared));
            spec.duration.unwrap() + spec.warmup.longest()
        };
        let all: Duration = plan.slots.iter().map(time).sum();
        assert_eq!(all, Duration::from_secs(77));
        let tries = |slot: &Slot| spec(slot).retry.tries();
        assert_eq!(
            plan.slots.iter().map(tries).collect::<Vec<_>>(),
            [1, 1, 1, 10]
        );
    }
}
