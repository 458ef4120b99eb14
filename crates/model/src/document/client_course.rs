//! How many clients worked where their number moves, beside how many were asked for.

use pgdyno_measurement::{Recording, Second};
use serde::Serialize;

use super::phases::measured_from_us;
use pgdyno_spec::Clients;

/// What was realised differs from what was asked for by less than this share.
const OFF_SHARE_MAX: f64 = 0.01;

/// Clients over the measured time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientCourse {
    /// How many were asked for, on average.
    pub asked: f64,
    /// How many worked, on average: at a transaction, or waiting for one that they may begin.
    pub working: f64,
    /// By how much both differ, second by second, as a share of those asked for: 0 where each second
    /// had its number.
    pub off_share: f64,
    /// Second by second, warm-up included.
    pub seconds: Vec<ClientSecond>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientSecond {
    /// When it began, in microseconds since clients began to work.
    pub start_us: u64,
    /// How many were asked for, on average.
    pub asked: f64,
    /// How many worked, on average.
    pub working: f64,
}

impl ClientCourse {
    /// Of a trial; `None` where the number does not move, nothing was measured, or it is the part of one
    /// of several generators.
    pub fn of(recording: &Recording, clients: Option<&Clients>) -> Option<Self> {
        let clients = clients.filter(is_followed)?;
        let from_us = measured_from_us(&recording.seconds);
        let asked = |second: &Second| asked(clients, second, from_us);
        let (mut all_s, mut asked_s, mut worked_s, mut off_s) = (0.0, 0.0, 0.0, 0.0);
        let measured = recording.seconds.iter();
        for second in measured.filter(|second| !second.warmup && !second.drain) {
            let length_s = second.length_us as f64 / 1e6;
            let (asked, working) = (asked(second), working(second));
            all_s += length_s;
            asked_s += asked * length_s;
            worked_s += working * length_s;
            off_s += (asked - working).abs() * length_s;
        }
        let seconds = recording.seconds.iter().filter(|second| !second.drain);
        let seconds = seconds.map(|second| ClientSecond {
            start_us: second.start_us,
            asked: asked(second),
            working: working(second),
        });
        (all_s > 0.0 && asked_s > 0.0).then(|| Self {
            asked: asked_s / all_s,
            working: worked_s / all_s,
            off_share: off_s / asked_s,
            seconds: seconds.collect(),
        })
    }

    /// Whether it is what was asked for, to one percent.
    pub fn is_kept(&self) -> bool {
        self.off_share <= OFF_SHARE_MAX
    }
}

/// Whether it can be said how many of these clients were asked for at a time: their number moves, and
/// one of several generators does not know its own.
pub fn is_followed(clients: &&Clients) -> bool {
    clients.moving().is_some() && clients.are_all()
}

/// Clients asked for in a second of a trial whose measured time begins there.
pub fn asked(clients: &Clients, second: &Second, from_us: u64) -> f64 {
    let since = second.start_us as i64 - from_us as i64;
    clients.asked(since, since + second.length_us as i64)
}

/// Clients that worked in a second, on average.
pub fn working(second: &Second) -> f64 {
    match second.length_us {
        0 => 0.0,
        length_us => second.time.working_ns() as f64 / 1000.0 / length_us as f64,
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_measurement::{Activity, ClientTime};

    use super::*;

    /// Seconds in which so many of eight clients worked, after one of warm-up.
    fn recording(working: &[f64]) -> Recording {
        let second = |(at, working): (usize, &f64)| {
            let mut time = ClientTime::default();
            time.at_ns[Activity::Statement as usize] = (working * 1e9) as u64;
            time.at_ns[Activity::Rest as usize] = ((8.0 - working) * 1e9) as u64;
            Second {
                start_us: at as u64 * 1_000_000,
                length_us: 1_000_000,
                warmup: at == 0,
                time,
                drain: false,
                scripts: Vec::new(),
            }
        };
        Recording {
            seconds: working.iter().enumerate().map(second).collect(),
            ..Recording::default()
        }
    }

    #[test]
    fn wanted_and_working_clients_are_given_by_second() {
        let clients: Clients = "2@2s,8@2s".parse().unwrap();
        let kept = recording(&[2.0, 2.0, 2.0, 7.99, 8.0]);
        let course = ClientCourse::of(&kept, Some(&clients)).unwrap();
        assert_eq!((course.asked, course.seconds.len()), (5.0, 5));
        assert!((course.working - 4.9975).abs() < 1e-9 && course.is_kept());
        let (warmup, last) = (&course.seconds[0], &course.seconds[4]);
        assert_eq!((warmup.asked, last.asked, last.working), (2.0, 8.0, 8.0));
        // Too many here do not make up for too few there.
        let off = recording(&[2.0, 2.0, 3.0, 7.0, 8.0]);
        let course = ClientCourse::of(&off, Some(&clients)).unwrap();
        assert_eq!((course.working, course.off_share), (5.0, 0.1));
        assert!(!course.is_kept());
        assert_eq!(ClientCourse::of(&kept, Some(&8.into())), None);
        assert_eq!(ClientCourse::of(&kept, Some(&clients.part(4))), None);
        assert_eq!(
            ClientCourse::of(&Recording::default(), Some(&clients)),
            None
        );
    }
}
