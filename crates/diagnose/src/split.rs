//! How a stretch of the clients' time is divided into parts: from what was seen of it, without knowing
//! from where.
//!
//! What the engine has counted itself is exact: think time, the schedule, what lies between
//! transactions, and the time in statements. Of that, the generator's own part comes first. Then come
//! the sessions that were seen in statements. What is left lies outside of them, and goes to what is
//! known to be there, each to its measure and no further: the way, CPU time of the server's processes
//! before and behind their statements, a queue. What is left then is not attributed.

use std::collections::BTreeMap;

use pgdyno_measurement::{Activity, ClientTime};
use pgdyno_model::document::Part;

use super::nodes::Nodes;

pub type Parts = [f64; Part::ALL.len()];

/// From this share of its periods in which its quota was used up, a server that could run and did not
/// was held back by it.
pub const THROTTLED_SHARE: f64 = 0.1;
/// An answer of fewer bytes fits a few packets: that its parts come one by one is the server's way of
/// sending, not the wire's.
pub const ANSWER_BYTES_MIN: f64 = 16_384.0;
/// Sessions seen running may be so much more than what the scheduler counts: sampling, and what the
/// kernel does in between.
const RUNNING_SLACK: f64 = 1.25;

/// Threads of the generator that have work for so much of the time are hardly ever idle: in a closed
/// system with a saturated station, clients that are nowhere else queue there.
const SATURATED_SHARE: f64 = 0.9;

/// What was seen of a stretch of the trial.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub length_s: f64,
    pub time: ClientTime,
    pub threads: usize,
    /// Client-seconds in statements and late starts in which the generator did not run.
    pub generator_stopped_s: (f64, f64),
    /// CPUs that the generator's own quota held back: a thread on no run queue waits for those.
    pub held_back: f64,
    /// Sessions in statements on average, by what they were at: `ServerCpu` represents running; `None`
    /// where that was not seen.
    pub sessions: Option<BTreeMap<Part, f64>>,
    /// What the nodes of a cluster tell; `None` elsewhere, or where they were not read.
    pub nodes: Option<Nodes>,
    /// CPUs that processes of sessions used, and how many of them waited for one; `None` where that was
    /// not seen.
    pub processes: Option<(f64, f64)>,
    /// The share of these processes that were stopped.
    pub stopped: f64,
    /// The share of periods in which the server's quota was used up.
    pub throttled: f64,
    /// How long a round trip takes on the way alone.
    pub trip_us: f64,
    /// How long one waits on the way beyond that.
    pub queue_us: f64,
    /// Whether there are fewer sessions than clients in statements.
    pub is_pooled: bool,
}

impl Seen {
    /// Client-seconds by part; all of them together are the clients' time.
    pub fn split(&self) -> Parts {
        let mut parts = [0.0; Part::ALL.len()];
        let time = &self.time;
        let s = |ns: u64| ns as f64 / 1e9;
        let at = |activity| s(time.at(activity));
        parts[Part::Rest as usize] = at(Activity::Rest);
        parts[Part::Schedule as usize] = at(Activity::Schedule);
        parts[Part::Think as usize] = at(Activity::Think);
        parts[Part::Between as usize] = at(Activity::Connect) + at(Activity::Backoff);
        let mut rest = Rest(at(Activity::Statement));
        let (in_statements_s, late_s) = self.generator_stopped_s;
        let late_s = late_s.min(s(time.late_ns));
        parts[Part::GeneratorStopped as usize] = rest.take(in_statements_s) + late_s;
        parts[Part::GeneratorCpu as usize] = rest.take(s(time.ran_ns));
        parts[Part::GeneratorWait as usize] =
            s(time.late_ns) - late_s + rest.take(self.added_s(time.added_ns));
        // A stopped process does nothing, whatever it was at.
        parts[Part::Queued as usize] = rest.take(rest.0 * self.stopped);
        let (running, working) = match &self.nodes {
            Some(nodes) => {
                nodes.split(self.length_s, &mut parts, &mut rest);
                (0.0, None)
            }
            None => self.of_sessions(&mut parts, &mut rest),
        };
        self.outside(&mut parts, &mut rest, running, working);
        parts[Part::NotAttributed as usize] += rest.0;
        parts
    }

    /// What answers waited for the generator, an estimate or the most: as much of all time in transactions as of that of the
    /// transactions that were followed.
    fn added_s(&self, added_ns: u64) -> f64 {
        let time = &self.time;
        let in_transactions = time.at(Activity::Statement) + time.at(Activity::Think);
        match time.followed_ns {
            0 => time.waited_ns as f64 / 1e9,
            followed => in_transactions as f64 / 1e9 * added_ns as f64 / followed as f64,
        }
    }

    fn is_generator_saturated(&self) -> bool {
        let had_work_s =
            (self.time.ran_ns + self.time.waited_ns) as f64 / 1e9 + self.held_back * self.length_s;
        self.threads > 0 && had_work_s >= SATURATED_SHARE * self.length_s * self.threads as f64
    }

    /// Takes what sessions were seen at; gives the time in which they ran, and the CPU time and
    /// waiting that are left.
    fn of_sessions(&self, parts: &mut Parts, rest: &mut Rest) -> (f64, Option<(f64, f64)>) {
        let worked = self.processes;
        let worked = worked.map(|(ran, waited)| (ran * self.length_s, waited * self.length_s));
        let Some(sessions) = &self.sessions else {
            return (0.0, worked);
        };
        let all_s = sessions.values().sum::<f64>() * self.length_s;
        // Samples may find more than there can be, and workers of parallel statements are sessions too.
        let fits = if all_s > rest.0 { rest.0 / all_s } else { 1.0 };
        let mut running = 0.0;
        for (part, sessions) in sessions {
            let taken = rest.take(sessions * self.length_s * fits);
            match part {
                Part::ServerCpu => running = taken,
                _ => parts[*part as usize] += taken,
            }
        }
        let Some((ran, waited)) = worked else {
            parts[Part::ServerCpu as usize] += running;
            return (running, None);
        };
        let all = ran + waited;
        let known = running.min(all * RUNNING_SLACK);
        let cpu = if all > 0.0 { known * ran / all } else { 0.0 };
        parts[Part::ServerCpu as usize] += cpu;
        parts[Part::ServerWait as usize] += known - cpu;
        // It runs, says the server, and it does not, says the scheduler: it is held back, or it is a
        // worker of a parallel statement, whose leader waits for it.
        let unknown = running - known;
        let has_workers = sessions.get(&Part::Ipc).is_some_and(|count| *count > 0.0);
        let part = if self.throttled >= THROTTLED_SHARE {
            Part::ServerWait
        } else if has_workers && fits < 1.0 {
            Part::Ipc
        } else {
            Part::NotAttributed
        };
        parts[part as usize] += unknown;
        (running, Some((ran, waited)))
    }

    /// Takes what is known to lie outside of statements.
    fn outside(
        &self,
        parts: &mut Parts,
        rest: &mut Rest,
        running: f64,
        worked: Option<(f64, f64)>,
    ) {
        let trips = self.time.round_trips as f64;
        let wire = trips * self.trip_us / 1e6;
        parts[Part::Wire as usize] += rest.take(wire);
        // Answers that came bit by bit while no session worked on them.
        let is_large = self.time.received_bytes as f64 >= trips * ANSWER_BYTES_MIN;
        let receiving = if is_large { self.time.receiving_ns } else { 0 } as f64 / 1e9;
        let sending = parts[Part::ClientIo as usize];
        parts[Part::Wire as usize] += rest.take(receiving - sending);
        // A session is on a CPU before the server says so, and behind.
        if let Some((ran, waited)) = worked {
            let all = ran + waited;
            let beyond = rest.take(all - running);
            let cpu = if all > 0.0 { beyond * ran / all } else { 0.0 };
            parts[Part::ServerCpu as usize] += cpu;
            parts[Part::ServerWait as usize] += beyond - cpu;
        }
        let queued = if self.is_pooled {
            rest.0
        } else {
            trips * self.queue_us / 1e6
        };
        parts[Part::Queued as usize] += rest.take(queued);
        // Answers of clients that share a thread come together: then each has waited for more than half
        // of what its thread waited for a CPU, up to all of it.
        let more = if self.is_generator_saturated() {
            rest.0
        } else {
            self.added_s(self.time.added_max_ns) - self.added_s(self.time.added_ns)
        };
        parts[Part::GeneratorWait as usize] += rest.take(more);
    }
}

/// Time that is not given to any part yet.
pub struct Rest(pub f64);

impl Rest {
    /// So much of it, as far as there is.
    pub fn take(&mut self, seconds: f64) -> f64 {
        let taken = seconds.clamp(0.0, self.0);
        self.0 -= taken;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight clients for ten seconds, all in statements.
    fn seen() -> Seen {
        let mut time = ClientTime::default();
        time.at_ns[Activity::Statement as usize] = 80_000_000_000;
        time.round_trips = 10_000;
        Seen {
            length_s: 10.0,
            time,
            ..Seen::default()
        }
    }

    fn of(parts: &Parts, part: Part) -> f64 {
        (parts[part as usize] * 1000.0).round() / 1000.0
    }

    fn assert_adds_up(seen: &Seen) -> Parts {
        let parts = seen.split();
        let all: f64 = parts.iter().sum();
        let expected = seen.time.all_ns() as f64 / 1e9;
        assert!((all - expected).abs() < 1e-6, "{all} {expected}");
        assert!(parts.iter().all(|part| *part >= 0.0), "{parts:?}");
        parts
    }

    #[test]
    fn what_nothing_explains_is_not_attributed() {
        let parts = assert_adds_up(&seen());
        assert_eq!(of(&parts, Part::NotAttributed), 80.0);
    }

    #[test]
    fn what_the_engine_counts_is_exact() {
        let mut seen = seen();
        let at = &mut seen.time.at_ns;
        at[Activity::Think as usize] = 5_000_000_000;
        at[Activity::Schedule as usize] = 3_000_000_000;
        at[Activity::Connect as usize] = 1_000_000_000;
        at[Activity::Backoff as usize] = 1_000_000_000;
        seen.time.late_ns = 500_000_000;
        let parts = assert_adds_up(&seen);
        assert_eq!(of(&parts, Part::Think), 5.0);
        assert_eq!(of(&parts, Part::Schedule), 3.0);
        assert_eq!(of(&parts, Part::Between), 2.0);
        assert_eq!(of(&parts, Part::GeneratorWait), 0.5);
    }

    #[test]
    fn what_the_generator_slept_through_is_none_of_the_servers() {
        let mut seen = seen();
        seen.sessions = Some([(Part::ServerCpu, 8.0)].into());
        seen.time.late_ns = 3_000_000_000;
        seen.generator_stopped_s = (32.0, 2.0);
        let parts = assert_adds_up(&seen);
        assert_eq!(of(&parts, Part::GeneratorStopped), 34.0);
        assert_eq!(of(&parts, Part::GeneratorWait), 1.0);
        assert_eq!(of(&parts, Part::ServerCpu), 48.0);
        // No more than there was.
        seen.generator_stopped_s = (99.0, 99.0);
        let parts = assert_adds_up(&seen);
        assert_eq!(of(&parts, Part::GeneratorStopped), 83.0);
    }

    #[test]
    fn running_sessions_are_divided_as_the_scheduler_counts() {
        let mut seen = seen();
        seen.sessions = Some([(Part::ServerCpu, 6.0), (Part::RowLocks, 2.0)].into());
        seen.processes = Some((2.0, 4.0));
        let parts = assert_adds_up(&seen);
        assert_eq!(of(&parts, Part::ServerCpu), 20.0);
        assert_eq!(of(&parts, Part::ServerWait), 40.0);
        assert_eq!(of(&parts, Part::RowLocks), 20.0);
    }

    #[test]
    fn a_throttled_server_waits_for_a_cpu_whatever_the_scheduler_says() {
        let mut seen = seen();
        seen.sessions = Some([(Part::ServerCpu, 8.0)].into());
        seen.processes = Some((0.2, 0.2));
        seen.throttled = 0.97;
        let parts = assert_adds_up(&seen);
        assert!(of(&parts, Part::ServerWait) > 75.0);
        // It is not known why else it would not run.
        seen.throttled = 0.0;
        let parts = assert_adds_up(&seen);
        assert!(of(&parts, Part::NotAttributed) > 70.0);
    }

    #[test]
    fn a_stopped_server_queues() {
        let mut seen = seen();
        seen.sessions = Some([(Part::ServerCpu, 8.0)].into());
        seen.stopped = 0.5;
        let parts = assert_adds_up(&seen);
        assert_eq!(of(&parts, Part::Queued), 40.0);
        assert_eq!(of(&parts, Part::ServerCpu), 40.0);
    }

    #[test]
    fn the_way_takes_what_it_takes_and_a_pool_what_is_left() {
        let mut seen = seen();
        seen.sessions = Some([(Part::ServerCpu, 1.0)].into());
        seen.trip_us = 1000.0;
        let parts = assert_adds_up(&seen);
        assert_eq!(of(&parts, Part::Wire), 10.0);
        assert_eq!(of(&parts, Part::NotAttributed), 60.0);
        seen.queue_us = 2000.0;
        assert_eq!(of(&assert_adds_up(&seen), Part::Queued), 20.0);
        seen.is_pooled = true;
        assert_eq!(of(&assert_adds_up(&seen), Part::Queued), 60.0);
    }

    #[test]
    fn answers_that_come_bit_by_bit_are_on_the_wire_when_no_session_works() {
        let mut seen = seen();
        seen.time.receiving_ns = 70_000_000_000;
        assert_eq!(of(&assert_adds_up(&seen), Part::Wire), 0.0);
        seen.time.received_bytes = seen.time.round_trips * 1_000_000;
        seen.sessions = Some([(Part::ServerCpu, 0.5)].into());
        assert_eq!(of(&assert_adds_up(&seen), Part::Wire), 70.0);
        seen.sessions = Some([(Part::ServerCpu, 1.0), (Part::ClientIo, 7.0)].into());
        let parts = assert_adds_up(&seen);
        assert_eq!(of(&parts, Part::Wire), 0.0);
        assert_eq!(of(&parts, Part::ClientIo), 70.0);
    }

    #[test]
    fn what_is_nowhere_else_queues_for_a_generator_without_idle_threads() {
        let mut seen = seen();
        seen.threads = 1;
        seen.time.ran_ns = 6_000_000_000;
        seen.time.waited_ns = 2_000_000_000;
        seen.sessions = Some([(Part::ServerCpu, 1.0)].into());
        let parts = assert_adds_up(&seen);
        assert_eq!(of(&parts, Part::GeneratorWait), 2.0);
        assert_eq!(of(&parts, Part::NotAttributed), 62.0);
        seen.time.waited_ns = 3_700_000_000;
        let parts = assert_adds_up(&seen);
        assert_eq!(of(&parts, Part::GeneratorWait), 64.0);
        assert_eq!(of(&parts, Part::NotAttributed), 0.0);
        // Held back by its quota it is on no run queue.
        (seen.time.waited_ns, seen.held_back) = (0, 0.35);
        assert_eq!(of(&assert_adds_up(&seen), Part::NotAttributed), 0.0);
        // One of two threads is idle.
        seen.threads = 2;
        assert!(of(&assert_adds_up(&seen), Part::NotAttributed) > 60.0);
    }

    #[test]
    fn workers_that_run_are_what_their_leader_waits_for() {
        let mut seen = seen();
        seen.time.at_ns[Activity::Statement as usize] = 10_000_000_000;
        seen.sessions = Some([(Part::ServerCpu, 2.0), (Part::Ipc, 1.0)].into());
        // Workers are not among the processes that serve clients.
        seen.processes = Some((0.0, 0.0));
        assert_eq!(of(&assert_adds_up(&seen), Part::Ipc), 10.0);
    }

    #[test]
    fn what_the_generator_takes_comes_first() {
        let mut seen = seen();
        seen.time.ran_ns = 8_000_000_000;
        seen.time.followed_ns = 40_000_000_000;
        seen.time.added_ns = 20_000_000_000;
        seen.time.added_max_ns = 30_000_000_000;
        seen.sessions = Some([(Part::ServerCpu, 8.0)].into());
        let parts = assert_adds_up(&seen);
        assert_eq!(of(&parts, Part::GeneratorCpu), 8.0);
        assert_eq!(of(&parts, Part::GeneratorWait), 40.0);
        // More sessions were seen than there is time for.
        assert_eq!(of(&parts, Part::ServerCpu), 32.0);
        // What nothing else explains may be up to the most that the generator can have added.
        seen.sessions = Some([(Part::ServerCpu, 1.0)].into());
        let parts = assert_adds_up(&seen);
        assert_eq!(of(&parts, Part::GeneratorWait), 60.0);
        assert_eq!(of(&parts, Part::NotAttributed), 2.0);
    }
}
