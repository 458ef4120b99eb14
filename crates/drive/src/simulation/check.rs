//! What must hold after each step, and at the end: the engine's books against what the server saw.

use std::sync::mpsc::Receiver;

use pgdyno_script::Counters;

use super::Passed;
use super::plan::{Fault, Plan};
use super::world::World;
use crate::client::Client;
use crate::control::{Control, Stop};
use crate::event_loop::EventLoop;
use crate::record::Report;
use pgdyno_measurement::{Counts, Failure, Recording};
use pgdyno_platform::clock::Nanos;

const SECOND_NS: Nanos = 1_000_000_000;
const LONGEST_NS: Nanos = 1000 * SECOND_NS;
/// A client that is to work is woken within this time.
const WOKEN_NS: Nanos = 200_000;
/// Grace of [`crate::Drive`], the longest clock step, and some more.
const STOPPING_NS: Nanos = 8 * SECOND_NS;

pub(super) struct Checks<'run> {
    plan: &'run Plan,
    inbox: &'run Receiver<Report>,
    pub(super) reports: Vec<Report>,
    /// Of the intervals that were handed over.
    counts: Counts,
    /// Up to when they go.
    until: Nanos,
    stopped: Option<Nanos>,
}

/// What a run has left.
pub(super) struct Taken {
    pub(super) reports: Vec<Report>,
    pub(super) passed: Passed,
    counts: Counts,
    is_stopped: bool,
}

fn must(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}

fn drawn(counters: &Counters) -> u64 {
    counters.drawn().map(|(_, count)| count).sum()
}

impl<'run> Checks<'run> {
    pub(super) fn new(plan: &'run Plan, inbox: &'run Receiver<Report>) -> Self {
        Self {
            plan,
            inbox,
            reports: Vec::new(),
            counts: Counts::default(),
            until: 0,
            stopped: None,
        }
    }

    fn take_reports(&mut self) -> Result<(), String> {
        while let Ok(report) = self.inbox.try_recv() {
            if let Report::Interval(_, interval) = &report {
                must(interval.start_ns == self.until, || {
                    format!(
                        "a second begins at {}, not {}",
                        interval.start_ns, self.until
                    )
                })?;
                self.until += interval.length_ns;
                self.counts.merge(&interval.all().counts);
            }
            self.reports.push(report);
        }
        Ok(())
    }

    /// Every transaction is booked once or in flight, and those in the database are those committed.
    fn books(
        &self,
        counts: &Counts,
        in_flight: u64,
        drawn: u64,
        rows: &World,
    ) -> Result<(), String> {
        let failed = |failure| counts.failed.get(&failure).copied().unwrap_or(0);
        // Without a connection a transaction ends before it draws.
        let undrawn = counts.skipped + failed(Failure::ConnectionRefused);
        let started = drawn + undrawn;
        let accounted = counts.total() + in_flight;
        let may_be_undrawn = match self.plan.connect_each {
            1 => failed(Failure::Interrupted) + failed(Failure::ConnectionLost),
            _ => 0,
        };
        must(
            (started..=started + may_be_undrawn).contains(&accounted),
            || format!("started {started}, but booked {counts:?} and {in_flight} in flight"),
        )?;
        let in_failed_block = failed(Failure::from_sqlstate("25P02"));
        must(in_failed_block == 0, || {
            format!("statements were sent in a failed block: {counts:?}")
        })?;
        let rows = &rows.rows;
        let twice = rows.iter().find(|(_, count)| **count > 1);
        must(twice.is_none(), || format!("committed twice: {twice:?}"))?;
        let stored = rows.len() as u64;
        let most = counts.committed + counts.unknown + in_flight;
        must((counts.committed..=most).contains(&stored), || {
            format!("{stored} rows, but booked {counts:?} and {in_flight} in flight")
        })
    }

    /// After a step of the event loop.
    pub(super) fn step(
        &mut self,
        event_loop: &mut EventLoop<'_, World>,
        clients: &[Client],
        counters: &Counters,
        control: &Control,
        begin: Nanos,
    ) -> Result<(), String> {
        self.take_reports()?;
        let now = event_loop.cx.now;
        let mut counts = self.counts.clone();
        counts.merge(&event_loop.cx.recorder.present_counts());
        let in_flight = clients
            .iter()
            .filter(|client| client.is_in_flight())
            .count() as u64;
        self.books(&counts, in_flight, drawn(counters), &event_loop.cx.io)?;
        if event_loop.goes_on() {
            let ready = &event_loop.ready;
            let missed = (0u32..).zip(clients).find(|(key, client)| {
                client.wakes_at().is_some_and(|at| at <= now) && !ready.contains(key)
            });
            must(missed.is_none(), || {
                let text = missed.map(|(_, client)| client.describe());
                format!(
                    "a deadline was missed at {now}: {}",
                    text.unwrap_or_default()
                )
            })?;
        }
        self.crew(event_loop, clients)?;
        self.goes_on(event_loop, clients, control, begin, now)
    }

    /// Where not all clients are to work, none begins a transaction while it is to rest, and none rests
    /// when it is to work.
    fn crew(&self, event_loop: &EventLoop<'_, World>, clients: &[Client]) -> Result<(), String> {
        let (cx, ready) = (&event_loop.cx, &event_loop.ready);
        let Some(crew) = cx.crew.as_ref().filter(|_| event_loop.goes_on()) else {
            return Ok(());
        };
        for (key, client) in (0u32..).zip(clients) {
            let begun = client.begun().filter(|_| self.plan.connect_each == 0);
            let begins = begun.is_none_or(|begun| crew.rests(client.rank(), begun).is_none());
            must(begins, || format!("it works: {}", client.describe()))?;
            let is_to_work = crew.rests(client.rank(), cx.now).is_none();
            let is_woken = client.rests_until().is_none_or(|until| {
                !is_to_work || until <= cx.now + WOKEN_NS || ready.contains(&key)
            });
            must(is_woken, || format!("it rests: {}", client.describe()))?;
        }
        Ok(())
    }

    /// Nothing waits for ever, and a run that is to stop does.
    fn goes_on(
        &mut self,
        event_loop: &EventLoop<'_, World>,
        clients: &[Client],
        control: &Control,
        begin: Nanos,
        now: Nanos,
    ) -> Result<(), String> {
        let world = &event_loop.cx.io;
        let waits = || clients.iter().any(|client| client.wakes_at().is_some());
        let is_stuck = event_loop.goes_on()
            && world.is_idle()
            && event_loop.ready.is_empty()
            && !event_loop.cx.end_has_moved
            && control.stop() == Stop::No
            && !waits();
        must(!is_stuck || world.is_silent, || {
            let clients: Vec<String> = clients.iter().map(Client::describe).collect();
            format!("all wait for ever: {clients:?}")
        })?;
        let stop_ns = self.plan.stop_ms * 1_000_000;
        let is_time = self.plan.stop_ms > 0 && now - begin >= stop_ns;
        if self.stopped.is_none() && (is_stuck || is_time) {
            self.stopped = Some(now);
            if self.plan.stops_now == 1 {
                control.stop_now();
            } else {
                control.finish();
            }
        }
        let is_late = self.stopped.is_some_and(|at| now > at + STOPPING_NS);
        must(!is_late || !event_loop.goes_on(), || {
            "a run that was stopped goes on".to_owned()
        })?;
        must(now - begin < LONGEST_NS, || {
            "the run does not end".to_owned()
        })
    }

    /// After all clients have ended.
    pub(super) fn finish(
        mut self,
        mut world: World,
        counters: &Counters,
        has_begun: bool,
    ) -> Result<Taken, String> {
        self.take_reports()?;
        world.settle();
        if !has_begun {
            must(drawn(counters) == 0 && self.counts.total() == 0, || {
                "a transaction without a run".to_owned()
            })?;
        }
        self.books(&self.counts, 0, drawn(counters), &world)?;
        let counts = &self.counts;
        let is_open = world.has_lost || self.plan.has(Fault::Ambiguous) || self.stopped.is_some();
        must(counts.unknown == 0 || is_open, || {
            format!("nothing can be unknown: {counts:?}")
        })?;
        let is_whole = !world.has_lost && self.stopped.is_none() && self.plan.goes_on == 1;
        must(!is_whole || counts.retries == world.retries(), || {
            format!("{} retries were sent, booked {counts:?}", world.retries())
        })?;
        must(
            self.stopped.is_some() || counts.retries >= world.retries(),
            || format!("{} retries were sent, booked {counts:?}", world.retries()),
        )?;
        // Cancelling would open real sockets.
        for report in &mut self.reports {
            match report {
                Report::Finished(_, end) => end.cancels.clear(),
                Report::Cancel(cancels) => cancels.clear(),
                _ => {}
            }
        }
        Ok(Taken {
            reports: self.reports,
            passed: Passed {
                trace: world.trace,
                counts: self.counts.clone(),
            },
            counts: self.counts,
            is_stopped: self.stopped.is_some(),
        })
    }
}

impl Taken {
    /// What the collector has made of it.
    pub(super) fn recording(&self, plan: &Plan, recording: &Recording) -> Result<(), String> {
        let measured = recording.measured.all().counts;
        let mut all = measured.clone();
        if let Some(warmup) = &recording.warmup {
            all.merge(&warmup.all().counts);
        }
        must(all == self.counts, || {
            format!("recorded {all:?}, handed over {:?}", self.counts)
        })?;
        let mut seconds = Counts::default();
        let of_measured = recording.seconds.iter().filter(|second| !second.warmup);
        for script in of_measured.flat_map(|second| &second.scripts) {
            seconds.merge(&script.counts);
        }
        must(seconds == measured, || {
            format!("seconds sum to {seconds:?}, the total is {measured:?}")
        })?;
        let outages = &recording.outages;
        must(
            outages.count == outages.lengths.count() + outages.unended,
            || format!("outages do not add up: {outages:?}"),
        )?;
        let aborted = recording.clients.aborted;
        must(plan.goes_on == 0 || aborted == 0, || {
            format!("{aborted} clients ended before their time")
        })?;
        // Clients that wait for their start wait until the end.
        let lasted_ms = recording.measured.asked_us().div_ceil(1000);
        let is_whole = !self.is_stopped && aborted == 0 && plan.duration_ms > 0;
        must(!is_whole || lasted_ms >= plan.duration_ms, || {
            format!(
                "{} ms were asked for, it lasted {lasted_ms}",
                plan.duration_ms
            )
        })?;
        if plan.duration_ms == 0 && !self.is_stopped && aborted == 0 {
            let asked = plan.clients * plan.transactions;
            must(measured.total() == asked, || {
                format!("{asked} transactions were asked for: {measured:?}")
            })?;
        }
        Ok(())
    }
}
