//! Where the clients' time went: what the engine counted and what instruments saw, block by block.

use std::collections::BTreeMap;

use pgdyno_measurement::{Activity, ClientTime, GeneratorStop, Second};
use pgdyno_model::Outcome;
use pgdyno_model::document::Part;
use pgdyno_model::observed::{Gap, Observed};

use super::blocks::{self, Block};
use super::nodes::{Nodes, Whole};
use super::path::Way;
use super::ratio::ratio;
use super::sampled::{Sampled, WAITS, Whose};
use super::split::Seen;
use super::waits;

/// So many sessions must have been seen, over all samples, before shares of them say anything: with
/// 30 a share of a half is known to within 18 points (95 %, binomial).
const SEEN_MIN: f64 = 30.0;
/// Sessions of others that have no other name, as a share of all, from which on what is seen is not the trial's.
const OTHERS_MAX_SHARE: f64 = 0.3;
/// How often a second sessions are looked at. A lower rate is reported as a fact of the instrument.
const SAMPLES_PER_S: f64 = 10.0;
/// A reading tells of the second before it: it belongs to the block in which the middle of that is.
const READ_AFTER_US: i64 = 500_000;
/// With fewer sessions than so much of the clients in statements, several clients share one.
const POOLED_SHARE: f64 = 0.9;
/// A round trip that takes so much longer than on an empty way has queued (`client.ping`); less may be
/// wake-ups of busy CPUs.
const QUEUE_MIN_US: f64 = 500.0;
/// With less idle time than this share, CPUs are all in use, and what a round trip waits for may be
/// one of them.
const FULL_IDLE_SHARE: f64 = 0.1;

const CHECKPOINTING: [&str; 2] = ["IPC:CheckpointStart", "IPC:CheckpointDone"];
const CLIENT_READ: &str = "Client:ClientRead";
const RUNNING: &str = "Running";
const CONNECTED: &str = "pg.sessions.connected";

#[derive(Debug, Clone)]
pub struct Budget {
    pub blocks: Vec<Block>,
    pub time: ClientTime,
    /// Sessions by event on average, the most frequent first.
    pub events: Vec<(String, f64)>,
    /// The way to the server.
    pub way: Way,
    /// Whether several clients share a session of the server.
    pub is_pooled: bool,
    /// Why wait events were not seen, where they were not and no nodes tell instead.
    pub unseen: Option<Gap>,
    /// Whether the nodes of a cluster tell where the time went.
    pub is_of_nodes: bool,
}

impl Budget {
    /// Of a trial whose measured time is this on the clock of the seconds.
    pub fn of(outcome: &Outcome, measured_us: (i64, i64)) -> Self {
        let observed = &outcome.observed;
        let time = outcome.recording.measured.time;
        let mut reader = Reader {
            outcome,
            way: Way::of(outcome),
            sampled: Sampled::new(observed),
            has_names: true,
            unseen: None,
            is_pooled: false,
            whole: Whole::of(outcome, measured_us),
        };
        reader.has_names = reader.mean(CONNECTED, measured_us) != Some(0.0);
        reader.unseen = reader.why_unseen(&time, measured_us);
        let is_of_nodes = reader.nodes(measured_us).is_some();
        reader.is_pooled = reader.is_pooled(&time, measured_us);
        let seconds = &outcome.recording.seconds;
        let ranges = blocks::of_seconds(outcome);
        let last = ranges.len().saturating_sub(1);
        let ranges = ranges.into_iter().enumerate();
        let blocks = ranges.map(|(at, range)| {
            let of_block = &seconds[range];
            let mut time = ClientTime::default();
            of_block.iter().for_each(|second| time.merge(&second.time));
            let stopped_s = stopped_s(of_block, &outcome.recording.generator_stops);
            let from_us = of_block[0].start_us as i64;
            let end = &of_block[of_block.len() - 1];
            let to_us = (end.start_us + end.length_us) as i64;
            let until_us = if at == last {
                i64::MAX
            } else {
                to_us + READ_AFTER_US
            };
            let mut seen = reader.seen(time, (from_us, to_us), (from_us + READ_AFTER_US, until_us));
            seen.generator_stopped_s = stopped_s;
            Block {
                from_us,
                to_us,
                parts: seen.split(),
            }
        });
        let blocks = blocks.collect();
        let events = reader.events(measured_us).unwrap_or_default().into_iter();
        let mut events: Vec<(String, f64)> = events
            .map(|(event, sessions)| (event.to_owned(), sessions))
            .collect();
        events.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self {
            blocks,
            time,
            events,
            way: reader.way,
            is_pooled: reader.is_pooled,
            unseen: reader.unseen.filter(|_| !is_of_nodes),
            is_of_nodes,
        }
    }

    pub fn seconds(&self, part: Part) -> f64 {
        let blocks = self.blocks.iter();
        blocks.map(|block| block.parts[part as usize]).sum()
    }

    pub fn all_s(&self) -> f64 {
        Part::ALL.iter().map(|part| self.seconds(*part)).sum()
    }

    /// All client-seconds without those of clients that rested.
    pub fn working_s(&self) -> f64 {
        self.all_s() - self.seconds(Part::Rest)
    }

    /// The share of the clients' time in a part; of that of those that worked.
    pub fn share(&self, part: Part) -> f64 {
        ratio(self.seconds(part), self.working_s())
    }

    /// The events of a part with the sessions in them, the most frequent first.
    pub fn events_of(&self, part: Part) -> impl Iterator<Item = (&str, f64)> {
        let events = self.events.iter();
        let events = events.filter(move |(event, _)| waits::part(event) == part);
        events.map(|(event, sessions)| (event.as_str(), *sessions))
    }
}

struct Reader<'a> {
    outcome: &'a Outcome,
    way: Way,
    sampled: Sampled<'a>,
    /// Whether any session has the name of this trial's clients: a pooler may give them its own.
    has_names: bool,
    unseen: Option<Gap>,
    is_pooled: bool,
    whole: Whole,
}

impl<'a> Reader<'a> {
    /// Whether the server had fewer sessions than clients were in statements. That does not change
    /// from block to block.
    fn is_pooled(&self, time: &ClientTime, (from_us, to_us): (i64, i64)) -> bool {
        let read_us = (from_us + READ_AFTER_US, to_us + READ_AFTER_US);
        let in_statements = ratio(time.at_ns[0] as f64 / 1e3, (to_us - from_us) as f64);
        let is_steady = !self.outcome.spec.connection_per_transaction;
        // Behind a pooler sessions may have any client's name; processes cannot be mistaken.
        let sessions = [CONNECTED, "host.server.sessions"];
        let mut sessions = sessions
            .into_iter()
            .filter_map(|name| self.mean(name, read_us));
        is_steady
            && sessions.any(|sessions| sessions > 0.0 && sessions < POOLED_SHARE * in_statements)
    }

    /// What was seen of a block, read within these times.
    fn seen(&self, time: ClientTime, (from_us, to_us): (i64, i64), read_us: (i64, i64)) -> Seen {
        let length_s = (to_us - from_us) as f64 / 1e6;
        let processes = self
            .mean("host.server.sessions.cpu", read_us)
            .zip(self.mean("host.server.sessions.waited", read_us));
        let processes = processes.map(|(ran, waited)| {
            let kept = self.own_share(ran + waited, (from_us, to_us));
            (kept * ran, kept * waited)
        });
        let there = self.mean("host.server.sessions", read_us);
        let stopped = self.mean("host.server.sessions.stopped", read_us);
        let sessions = self.events((from_us, to_us)).map(|events| {
            let mut sessions = BTreeMap::<Part, f64>::new();
            for (event, count) in events {
                *sessions.entry(waits::part(event)).or_default() += count;
            }
            sessions
        });
        Seen {
            length_s,
            processes,
            sessions,
            nodes: self.nodes(read_us),
            stopped: ratio(stopped.unwrap_or(0.0), there.unwrap_or(0.0)).min(1.0),
            throttled: self.throttled(read_us),
            trip_us: self.way.trip_us(),
            queue_us: self.queue_us(&time, processes, length_s, read_us),
            is_pooled: self.is_pooled,
            time,
            threads: self.outcome.recording.threads.len(),
            generator_stopped_s: (0.0, 0.0),
            held_back: self.mean("host.throttled", read_us).unwrap_or(0.0),
        }
    }

    /// What the nodes of a cluster tell of these times.
    fn nodes(&self, read_us: (i64, i64)) -> Option<Nodes> {
        Nodes::of(&|name| self.mean(name, read_us), &self.whole)
    }

    /// What an empty statement took beyond the way, and beyond what waiting for CPUs explains.
    fn queue_us(
        &self,
        time: &ClientTime,
        processes: Option<(f64, f64)>,
        length_s: f64,
        read_us: (i64, i64),
    ) -> f64 {
        let (Some(ping_us), Some(least_us)) =
            (self.mean("client.ping", read_us), self.way.least_us)
        else {
            return 0.0;
        };
        let idle = [self.idle_share(read_us), self.idle_share((0, i64::MAX))];
        if idle
            .into_iter()
            .flatten()
            .any(|idle| idle <= FULL_IDLE_SHARE)
        {
            return 0.0;
        }
        let trips = time.round_trips.max(1) as f64;
        let waited_s = processes.map_or(0.0, |(_, waited)| waited * length_s);
        let waited_us = (waited_s * 1e6 + time.waited_ns as f64 / 1e3) / trips;
        let queue_us = ping_us - least_us - 2.0 * waited_us;
        if queue_us >= QUEUE_MIN_US {
            queue_us
        } else {
            0.0
        }
    }

    /// The idle share of this host's CPUs.
    fn idle_share(&self, read_us: (i64, i64)) -> Option<f64> {
        let all = self.mean("host.cpu", read_us)?;
        let is_idle = |label: &str| label == "idle" || label == "iowait";
        Some(ratio(self.mean_where("host.cpu", read_us, is_idle)?, all))
    }

    /// The share of periods in which the server's quota was used up.
    fn throttled(&self, read_us: (i64, i64)) -> f64 {
        let of = |which: &'static str| {
            self.mean_where("host.server.periods", read_us, move |label| {
                label.ends_with(which)
            })
        };
        ratio(of("throttled").unwrap_or(0.0), of("all").unwrap_or(0.0))
    }

    /// The trial's sessions by event on average; `None` where that was not seen.
    fn events(&self, within: (i64, i64)) -> Option<BTreeMap<&'a str, f64>> {
        if self.unseen.is_some() {
            return None;
        }
        let mut events = self.sampled.events(Whose::Trials, within)?;
        if !self.has_names {
            for (event, sessions) in self.sampled.events(Whose::Others, within)? {
                *events.entry(event).or_default() += sessions;
            }
        }
        // A session that asks for a checkpoint waits until it is done: that is no client's work. And a
        // session that waits for its client has answered, though its state still says that it is in a
        // statement: the view reads the two one after the other.
        events.retain(|event, _| {
            !CHECKPOINTING.contains(event) && !event.eq_ignore_ascii_case(CLIENT_READ)
        });
        Some(events)
    }

    /// The trial's share of what processes of all sessions used and waited for, so many CPUs: what is left when sessions
    /// of others had as many as were seen running.
    fn own_share(&self, cpus: f64, within: (i64, i64)) -> f64 {
        let others = self.sampled.events(Whose::Others, within);
        let others = others.filter(|_| self.has_names);
        let running = others.and_then(|events| events.get(RUNNING).copied());
        1.0 - ratio(running.unwrap_or(0.0), cpus).min(1.0)
    }

    /// Why what sessions wait for was not seen.
    fn why_unseen(&self, time: &ClientTime, (from_us, to_us): (i64, i64)) -> Option<Gap> {
        let observed = &self.outcome.observed;
        if observed.instruments.is_empty() {
            return Some(Gap::because("the server was not observed (`--observe`)"));
        }
        let measured_us = (from_us, to_us);
        let (Some(own), Some(apart)) = (
            self.sampled.events(Whose::Trials, measured_us),
            self.sampled.events(Whose::Others, measured_us),
        ) else {
            return Some(no_reading(observed));
        };
        let sum = |events: &BTreeMap<&str, f64>| events.values().sum::<f64>();
        let asking = |events: &BTreeMap<&str, f64>| -> f64 {
            let asking = CHECKPOINTING.iter().filter_map(|event| events.get(event));
            asking.sum()
        };
        let in_statements = ratio(time.at_ns[0] as f64 / 1e3, (to_us - from_us) as f64);
        let connected = self.mean(CONNECTED, measured_us).unwrap_or(in_statements);
        let others = self.sampled.others(measured_us);
        // Where the trial has fewer sessions than clients in statements, those of another name may be its own.
        let mixed = if connected < POOLED_SHARE * in_statements {
            others - asking(&apart)
        } else {
            others - sum(&apart)
        };
        let seen = sum(&own) - asking(&own);
        if mixed - asking(&own) > OTHERS_MAX_SHARE * seen.max(in_statements) {
            return Some(Gap::because(
                "other sessions were active, too, and cannot be separated from this trial's",
            ));
        }
        let seconds = (to_us - from_us) as f64 / 1e6;
        (in_statements * seconds * SAMPLES_PER_S < SEEN_MIN)
            .then(|| Gap::because("too few sessions ran statements to sample their waits"))
    }

    fn mean(&self, name: &str, read_us: (i64, i64)) -> Option<f64> {
        self.mean_where(name, read_us, |_| true)
    }

    /// The mean of a series within these times, all such labels together.
    fn mean_where(
        &self,
        name: &str,
        (from_us, to_us): (i64, i64),
        is_wanted: impl Fn(&str) -> bool,
    ) -> Option<f64> {
        let courses = self.outcome.observed.all(name);
        let courses = courses.filter(|course| is_wanted(&course.of.series.label));
        let means = courses.filter_map(|course| course.mean(from_us, to_us, 0));
        means.reduce(|a, b| a + b)
    }
}

/// Client-seconds in statements, and those of late starts, in which the generator did not run. Where clients were
/// is known by second.
fn stopped_s(seconds: &[Second], stops: &[GeneratorStop]) -> (f64, f64) {
    let (mut in_statements, mut late) = (0.0, 0.0);
    for second in seconds {
        let until_us = second.start_us + second.length_us;
        let stopped = stops.iter();
        let stopped = stopped.map(|stop| stop.within_us(second.start_us, until_us));
        let stopped_us: u64 = stopped.sum();
        if stopped_us > 0 {
            let share = ratio(stopped_us as f64, second.length_us as f64).min(1.0);
            in_statements += share * second.time.at(Activity::Statement) as f64 / 1e9;
            late += second.time.late_ns as f64 / 1e9;
        }
    }
    (in_statements, late)
}

fn no_reading(observed: &Observed) -> Gap {
    let gaps = observed.gaps.iter();
    let mut gaps = gaps.filter(|gap| observed.instrument(gap.instrument) == WAITS);
    match gaps.next() {
        Some(span) => Gap {
            reason: format!("wait events were not observed: {}", span.gap.reason),
            remedy: span.gap.remedy.clone(),
        },
        None => Gap::because("wait events were not observed on this server"),
    }
}
