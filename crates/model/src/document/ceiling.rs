//! The most round trips that a machine's load generator can make, and a trial's share of it.

use pgdyno_measurement::Recording;
use serde::{Deserialize, Serialize};

use super::Host;
use crate::Note;

/// A row of `pgdyno calibrate --self`: what the generator did against a server that answers at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CeilingRow {
    pub threads: usize,
    pub clients: usize,
    /// How statements travelled: `simple`, `extended`, `prepared`.
    pub query_mode: String,
    /// Round trips a second that were measured: less than the ceiling where the built-in server took CPUs
    /// from the generator.
    pub measured_per_s: f64,
    /// CPU time of the generator's threads for each round trip.
    pub cpu_us_per_round_trip: f64,
    /// Round trips a second that its threads make when each has a CPU for itself.
    pub ceiling_per_s: f64,
    /// Median latency; `null` with too few.
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
}

/// What `pgdyno calibrate --self` finds and keeps on its host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelfCalibration {
    /// Grows when a field changes its meaning or goes.
    pub format: u32,
    pub pgdyno: String,
    pub calibrated: String,
    pub host: Host,
    /// How sockets were waited for: `io_uring`, `epoll`.
    pub io: String,
    /// By threads, clients and query mode.
    pub rows: Vec<CeilingRow>,
    /// What a reader must know.
    pub notes: Vec<Note>,
}

impl SelfCalibration {
    /// The version that is written and read.
    pub const FORMAT: u32 = 1;

    /// What it says of a trial: the row with its query mode, with the nearest number of threads, and of
    /// these with the most clients that are not more than the trial's, else the fewest.
    pub fn ceiling(&self, threads: usize, clients: usize, query_mode: &str) -> Option<Ceiling> {
        let rows = self.rows.iter().filter(|row| row.query_mode == query_mode);
        let nearest = rows.min_by_key(|row| {
            let beyond = row.clients > clients;
            (
                row.threads.abs_diff(threads),
                beyond,
                row.clients.abs_diff(clients),
            )
        })?;
        Some(Ceiling {
            calibrated: self.calibrated.clone(),
            threads: nearest.threads,
            clients: nearest.clients,
            query_mode: nearest.query_mode.clone(),
            cpu_us_per_round_trip: nearest.cpu_us_per_round_trip,
            measured_per_s: nearest.measured_per_s,
        })
    }
}

/// The row of a machine's self-calibration that is nearest to a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Ceiling {
    /// When `pgdyno calibrate --self` began, UTC.
    pub calibrated: String,
    pub threads: usize,
    pub clients: usize,
    pub query_mode: String,
    /// CPU time of the generator's threads for each round trip.
    pub cpu_us_per_round_trip: f64,
    /// Round trips a second that were measured.
    pub measured_per_s: f64,
}

/// Round trips a second that so many threads make when each has a CPU for itself.
pub fn per_s(threads: usize, cpu_us_per_round_trip: f64) -> f64 {
    threads as f64 * 1e6 / cpu_us_per_round_trip
}

/// How much of what its generator can do a trial asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct GeneratorShare {
    /// Round trips of the measured time, a second.
    pub round_trips_per_s: f64,
    /// The most that the trial's threads can make.
    pub ceiling_per_s: f64,
    /// The first of the second, 0 to 1; above 1 where the trial did better than the calibration.
    pub share: f64,
    /// The trial's threads that had a CPU: no more than the host has.
    pub threads: usize,
    /// Where the ceiling comes from: the row of `pgdyno calibrate --self`. `null`: it is an estimate, the
    /// round trips divided by the share of a CPU that the busiest thread used.
    pub calibration: Option<Ceiling>,
}

impl GeneratorShare {
    /// Of a trial; `None` where nothing was measured, or its threads' CPU time is not known. Several
    /// generators are on several machines: for them it is an estimate.
    pub fn of(recording: &Recording, host: &Host, is_several: bool) -> Option<Self> {
        let measured = &recording.measured;
        let (trips, elapsed_us) = (measured.time.round_trips, measured.elapsed_us);
        if trips == 0 || elapsed_us == 0 {
            return None;
        }
        let round_trips_per_s = trips as f64 * 1e6 / elapsed_us as f64;
        let threads = recording.threads.len();
        let known = host.ceiling.as_ref().filter(|_| !is_several);
        let known = known.filter(|known| known.cpu_us_per_round_trip > 0.0);
        let (threads, ceiling_per_s) = match known {
            Some(known) => {
                let threads = threads.clamp(1, host.cpus.max(1));
                (threads, per_s(threads, known.cpu_us_per_round_trip))
            }
            None => {
                let busy = recording.threads.iter().map(|thread| thread.busy_share());
                let busiest = busy.fold(0.0, f64::max);
                if busiest <= 0.0 {
                    return None;
                }
                (threads, round_trips_per_s / busiest)
            }
        };
        Some(Self {
            round_trips_per_s,
            ceiling_per_s,
            share: round_trips_per_s / ceiling_per_s,
            threads,
            calibration: known.cloned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_measurement::ThreadUse;

    fn host(ceiling: Option<Ceiling>) -> Host {
        Host {
            cpus: 2,
            ceiling,
            ..Host::read()
        }
    }

    fn row(threads: usize, clients: usize, query_mode: &str) -> CeilingRow {
        CeilingRow {
            threads,
            clients,
            query_mode: query_mode.to_owned(),
            measured_per_s: 1000.0,
            cpu_us_per_round_trip: 10.0,
            ceiling_per_s: per_s(threads, 10.0),
            p50_us: None,
            p99_us: None,
        }
    }

    fn calibration() -> SelfCalibration {
        SelfCalibration {
            format: SelfCalibration::FORMAT,
            pgdyno: String::new(),
            calibrated: "2026-11-23T00:00:00Z".to_owned(),
            host: host(None),
            io: "epoll".to_owned(),
            rows: vec![
                row(1, 1, "simple"),
                row(1, 8, "simple"),
                row(2, 8, "simple"),
                row(2, 64, "simple"),
            ],
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_row_nearest_to_a_trial_speaks_for_it() {
        let all = calibration();
        let got = |threads, clients| {
            let found = all.ceiling(threads, clients, "simple").unwrap();
            (found.threads, found.clients)
        };
        assert_eq!(got(1, 7), (1, 1));
        assert_eq!(got(1, 8), (1, 8));
        assert_eq!(got(1, 1000), (1, 8));
        assert_eq!(got(2, 2), (2, 8));
        assert_eq!(got(16, 100), (2, 64));
        assert_eq!(all.ceiling(1, 1, "prepared"), None);
    }

    #[test]
    fn a_trial_is_compared_with_the_calibration_or_else_with_its_busiest_thread() {
        let mut recording = Recording::default();
        assert_eq!(GeneratorShare::of(&recording, &host(None), false), None);
        recording.measured.elapsed_us = 2_000_000;
        recording.measured.time.round_trips = 20_000;
        // It is not known what the threads used.
        assert_eq!(GeneratorShare::of(&recording, &host(None), false), None);
        let thread = |user_us| ThreadUse {
            wall_us: 2_000_000,
            user_us,
            ..ThreadUse::default()
        };
        recording.threads = vec![thread(200_000), thread(400_000), thread(0)];
        let estimate = GeneratorShare::of(&recording, &host(None), false).unwrap();
        assert_eq!(estimate.round_trips_per_s, 10_000.0);
        assert_eq!(estimate.ceiling_per_s, 50_000.0);
        assert_eq!((estimate.share, estimate.calibration), (0.2, None));
        // Three threads on two CPUs: 10 µs a round trip.
        let known = host(calibration().ceiling(2, 8, "simple"));
        let share = GeneratorShare::of(&recording, &known, false).unwrap();
        assert_eq!((share.threads, share.ceiling_per_s), (2, 200_000.0));
        assert_eq!(share.share, 0.05);
        assert_eq!(share.calibration.unwrap().clients, 8);
        // Other generators have other machines.
        let several = GeneratorShare::of(&recording, &known, true).unwrap();
        assert_eq!(several.calibration, None);
    }
}
