//! What the clients of a thread share: the time, the deadlines, the books, and what they say.

use std::num::NonZeroU64;
use std::sync::mpsc::Sender;

use pgdyno_platform::io::Io;
use pgdyno_script::Prng;
use pgdyno_session::CancelHandle;
use pgdyno_wire::{ServerError, redact};

use crate::clock::{Clock, nanos};
use crate::control::{Control, Stop};
use crate::crew::Crew;
use crate::deadlines::Deadlines;
use crate::drive::Drive;
use crate::homes::Homes;
use crate::places::Places;
use crate::program::Program;
use crate::record::{OwnHistory, OwnStamps, Recorder, Report};
use crate::schedule::Schedule;
use crate::watchdog::{STOP_MIN_NS, Watchdog};
use pgdyno_measurement::{Activity, DriveError, Event, EventKind, Level, Message, StampEvent};
use pgdyno_platform::clock::Nanos;
use pgdyno_spec::Until;

/// Bytes of notices that a thread passes on; beyond them notices are counted. A server may send them
/// for ever.
const NOTICE_BYTES_MAX: usize = 1 << 20;

/// What a thread needs to begin, beside its clients.
pub(crate) struct Setup<'run> {
    pub(crate) drive: &'run Drive,
    pub(crate) places: &'run Places,
    pub(crate) homes: Option<&'run Homes>,
    pub(crate) clock: Clock,
    pub(crate) watchdog: Option<&'run Watchdog>,
    pub(crate) control: Control,
    pub(crate) choose: Prng,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) recorder: Recorder,
    pub(crate) history: Option<OwnHistory>,
    pub(crate) stamps: Option<OwnStamps>,
    pub(crate) reports: Sender<Report>,
}

/// What clients share with their event loop.
pub(crate) struct Context<'run, I> {
    pub(crate) drive: &'run Drive,
    pub(crate) places: &'run Places,
    /// Where clients return to their endpoints.
    pub(crate) homes: Option<&'run Homes>,
    pub(crate) io: I,
    pub(crate) clock: Clock,
    /// The time, as of the last event; read once for all that follows from it.
    pub(crate) now: Nanos,
    watchdog: Option<&'run Watchdog>,
    /// When the thread looked last whether anything had happened.
    turned: Nanos,
    /// The last time in which pgdyno did not run, while transactions that were due then still start.
    pub(crate) stopped: Option<(Nanos, Nanos)>,
    /// No transaction starts after this. A warm-up that ends before its time brings it nearer.
    pub(crate) end: Nanos,
    /// It has come nearer, and clients that wait may have to end.
    pub(crate) end_has_moved: bool,
    pub(crate) latency_limit: Option<Nanos>,
    pub(crate) transactions: Option<NonZeroU64>,
    pub(crate) schedule: Option<Schedule>,
    /// Which clients work, if not all do.
    pub(crate) crew: Option<Crew>,
    pub(crate) recorder: Recorder,
    /// Whether there is nothing to be said of a transaction that is committed with its first try but how
    /// long it took: no schedule, no receipt, and so on.
    pub(crate) books_plainly: bool,
    pub(crate) history: Option<OwnHistory>,
    /// Where clients write and read stamps.
    stamps: Option<OwnStamps>,
    pub(crate) deadlines: Deadlines,
    /// Bytes on their way to the socket that are not a link's own.
    pub(crate) sealed: Vec<u8>,
    /// Decrypted bytes that are being read.
    pub(crate) opened: Vec<u8>,
    /// Cancel the statements that were given up; empty until then.
    pub(crate) cancels: Vec<CancelHandle>,
    /// Whether it was said that a cancelled statement may still run.
    pub(crate) has_cancelled_in_vain: bool,
    choose: Prng,
    /// By script, its weight and those of all before it; they ascend.
    weights: Vec<u64>,
    pub(crate) stop: Stop,
    /// What all threads of the run share.
    pub(crate) control: Control,
    /// A client's end has ended the run: nothing more is said.
    pub(crate) is_over: bool,
    pub(crate) reports: Sender<Report>,
    /// Bytes of notices that are still passed on.
    notice_bytes: usize,
    notices_unsaid: u64,
    /// Clients of the thread that are connected, before the run.
    pub(crate) connected: usize,
    pub(crate) connect_error: Option<DriveError>,
}

impl<'run, I: Io> Context<'run, I> {
    pub(crate) fn new(setup: Setup<'run>, io: I, clients: usize) -> Self {
        let drive = setup.drive;
        let transactions = match drive.until {
            Until::Transactions(count) => Some(count),
            Until::Elapsed(_) => drive.transactions_max,
        };
        Self {
            drive,
            places: setup.places,
            homes: setup.homes,
            clock: setup.clock,
            now: setup.clock.since(io.now_ns()),
            watchdog: setup.watchdog,
            turned: Nanos::MAX,
            stopped: None,
            io,
            end: Nanos::MAX,
            end_has_moved: false,
            latency_limit: drive.latency_limit.map(nanos),
            transactions,
            schedule: setup.schedule,
            crew: drive.working.clone().map(Crew::new),
            books_plainly: setup.recorder.books_plainly() && drive.is_plain(),
            recorder: setup.recorder,
            history: setup.history,
            stamps: setup.stamps,
            deadlines: Deadlines::for_clients(clients),
            sealed: Vec::new(),
            opened: Vec::new(),
            cancels: Vec::new(),
            has_cancelled_in_vain: false,
            choose: setup.choose,
            weights: {
                let weights = drive.scripts.iter().map(|script| script.weight);
                let up_to = weights.scan(0, |sum, weight| {
                    *sum += weight;
                    Some(*sum)
                });
                up_to.collect()
            },
            stop: Stop::No,
            control: setup.control,
            is_over: false,
            reports: setup.reports,
            notice_bytes: NOTICE_BYTES_MAX,
            notices_unsaid: 0,
            connected: 0,
            connect_error: None,
        }
    }

    #[inline]
    pub(crate) fn clock_now(&self) -> Nanos {
        self.clock.since(self.io.now_ns())
    }

    /// The thread looks whether anything has happened, and has last done so some time ago.
    #[inline]
    pub(crate) fn turns(&mut self, now: Nanos) {
        let before = std::mem::replace(&mut self.turned, now);
        if now.saturating_sub(before) >= STOP_MIN_NS {
            self.looks_for_stop(before, now);
        }
    }

    /// Nothing has happened for so long: the server was slow, or pgdyno did not run.
    #[cold]
    #[inline(never)]
    fn looks_for_stop(&mut self, before: Nanos, now: Nanos) {
        let found = self.watchdog.and_then(|dog| dog.stop_within(before, now));
        if let Some((from, until)) = found {
            self.stopped = found;
            self.recorder.probe.stopped(until - from);
        }
    }

    pub(crate) fn program(&self, script: usize) -> &'run Program {
        &self.drive.scripts[script].program
    }

    /// A script, by weight; drawn as pgbench draws it.
    pub(crate) fn choose_script(&mut self) -> usize {
        let [.., _, sum] = self.weights[..] else {
            return 0;
        };
        let drawn = self.choose.range(0, sum as i64 - 1) as u64;
        // The first that reaches beyond it, without looking at all of thousands.
        let found = self.weights.partition_point(|up_to| *up_to <= drawn);
        found.min(self.weights.len() - 1)
    }

    /// Closes the books of the seconds that are over by `now`.
    #[inline]
    pub(crate) fn rotate(&mut self, now: Nanos) {
        if now >= self.recorder.boundary {
            self.close_seconds(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn close_seconds(&mut self, now: Nanos) {
        let warmup_end = self.recorder.rotate(now);
        self.hand_over_stamps();
        if let (Some(at), Some(schedule)) = (warmup_end, &mut self.schedule) {
            schedule.warmup_ends(at);
        }
        if let (Some(at), Some(crew)) = (warmup_end, &mut self.crew) {
            crew.warmup_ends(at);
        }
        if let (Some(at), Until::Elapsed(duration)) = (warmup_end, self.drive.until) {
            let end = at + nanos(duration);
            self.end_has_moved = end < self.end;
            self.end = end;
        }
    }

    /// Takes note of a client's stamp.
    #[inline]
    pub(crate) fn stamped(&mut self, event: StampEvent) {
        let thread = self.recorder.thread();
        if let Some(own) = &mut self.stamps {
            own.add(event, thread, &self.reports);
        }
    }

    /// Hands over what clients' stamps have come to.
    pub(crate) fn hand_over_stamps(&mut self) {
        let thread = self.recorder.thread();
        if let Some(own) = &mut self.stamps {
            own.hand_over(thread, &self.reports);
        }
    }

    /// Until when a client of this rank rests, at most until the end; `None` if it works.
    #[inline]
    pub(crate) fn rests_until(&self, rank: usize) -> Option<Nanos> {
        let until = self.crew.as_ref()?.rests(rank, self.now)?;
        Some(until.min(self.end_ahead()))
    }

    /// When a client of this rank, which works, is to rest, at the latest the end.
    #[inline]
    pub(crate) fn leaves_at(&self, rank: usize) -> Nanos {
        let leaves = self
            .crew
            .as_ref()
            .map_or(Nanos::MAX, |crew| crew.leaves(rank, self.now));
        leaves.min(self.end_ahead())
    }

    /// Whether a client whose next start this is ends at once. Only pgbench's do: a trial that ends with
    /// its last transaction would have a goodput that is too high, as the time without any is left out.
    pub(crate) fn ends_before(&self, start: Nanos) -> bool {
        self.drive.counts_as_pgbench && self.crew.is_none() && start > self.end
    }

    /// The end, and not this moment: who waited for that would be woken for ever.
    pub(crate) fn end_ahead(&self) -> Nanos {
        self.end.max(self.now.saturating_add(1))
    }

    /// Books that a client goes from one activity to another.
    #[inline(never)]
    pub(crate) fn goes(&mut self, from: Option<Activity>, to: Option<Activity>) {
        if from != to && self.recorder.has_begun() {
            self.rotate(self.now);
            self.recorder.goes(from, to, self.now);
        }
    }

    /// Whether the time that [`Until::Elapsed`] gives is over.
    pub(crate) fn is_past_end(&self) -> bool {
        planted!(4, return self.now > self.end);
        self.now >= self.end
    }

    /// Whether no transaction may start any more.
    pub(crate) fn is_time_up(&self) -> bool {
        self.is_past_end() || self.stop > Stop::No
    }

    pub(crate) fn say(&self, level: Level, text: String) {
        if self.is_over {
            return;
        }
        // The collector outlives the threads; if it is gone, there is no receiver.
        let _ = self.reports.send(Report::Message(Message { level, text }));
    }

    /// Passes a notice of the server on, as long as there are not too many.
    pub(crate) fn notice(&mut self, notice: impl FnOnce() -> ServerError) {
        if self.notice_bytes == 0 {
            self.notices_unsaid += 1;
            return;
        }
        let text = notice().libpq_notice_text();
        match self.notice_bytes.checked_sub(text.len()) {
            Some(left) => {
                self.notice_bytes = left;
                self.say(Level::Notice, text);
            }
            None => (self.notice_bytes, self.notices_unsaid) = (0, 1),
        }
    }

    /// Says how many notices were not passed on.
    pub(crate) fn tell_unsaid(&self) {
        if self.notices_unsaid > 0 {
            let text = format!(
                "{} notices of the server are not shown: those before had {NOTICE_BYTES_MAX} bytes; \
                 client_min_messages keeps the server from sending them",
                self.notices_unsaid
            );
            self.say(Level::Notice, text);
        }
    }

    /// Tells what has happened to a connection.
    pub(crate) fn happened(&self, kind: EventKind, text: String) {
        self.happened_at(self.now, kind, text);
    }

    /// The same of another moment than the present one.
    pub(crate) fn happened_at(&self, at: Nanos, kind: EventKind, text: String) {
        if self.is_over {
            return;
        }
        let at_us = self.recorder.at_us(at);
        let event = Event { at_us, kind, text };
        let _ = self.reports.send(Report::Event(event));
    }

    /// Tells a step, when all steps are asked for.
    #[inline]
    pub(crate) fn trace(&self, text: impl FnOnce() -> String) {
        if self.drive.debug {
            self.trace_it(text);
        }
    }

    /// Apart, so that what nearly no run asks for is not among the instructions of every transaction.
    #[cold]
    #[inline(never)]
    fn trace_it(&self, text: impl FnOnce() -> String) {
        // Logged statements have no passwords either.
        self.say(Level::Trace, redact::without_secrets(text()));
    }

    /// A client has ended before its time.
    pub(crate) fn client_aborted(&mut self) {
        if self.drive.exit_on_abort && !self.is_over {
            let thread = self.recorder.thread();
            let _ = self.reports.send(Report::ClientAborted(thread));
            self.is_over = true;
            self.control.stop_now();
        }
    }

    /// A script says that the run must end.
    pub(crate) fn end_run(&mut self, reason: String) {
        if !self.is_over {
            let _ = self.reports.send(Report::InvariantBroken(reason));
            self.is_over = true;
            self.control.stop_now();
        }
    }

    pub(crate) fn client_connected(&mut self) {
        self.connected += 1;
    }

    pub(crate) fn client_not_connected(&mut self, error: DriveError) {
        self.connect_error.get_or_insert(error);
    }
}
