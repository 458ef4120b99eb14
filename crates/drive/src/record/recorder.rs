//! One thread's books. Nothing here locks; memory is exchanged with the collector once a second.

use std::mem;
use std::sync::mpsc::{Receiver, Sender};

use pgdyno_measurement::{
    Activity, Added, ClientStall, ENDPOINT_GAP_MIN, EndpointRecord, Failure, GapsOfThread,
    Interval, Lags, Latencies, LoggedTransaction, Outages, Outcome, Reason, Slots, SlowTransaction,
    ThreadUse, Units, client_stalls_max,
};
use pgdyno_platform::clock::{Nanos, micros};

use super::{
    Delay, Executions, HowEnded, Longest, OwnGaps, OwnSlots, Probe, Reasons, Report,
    TransactionLog, Whereabouts, Without, Worst,
};
use crate::control::Control;
use pgdyno_platform::proc::task::Scheduled;

const SECOND_NS: Nanos = 1_000_000_000;

/// One thread's books of the present second, and executions that were not handed over yet.
pub(crate) struct Recorder {
    thread: usize,
    interval: Box<Interval>,
    executions: Executions,
    whereabouts: Whereabouts,
    pub(crate) probe: Probe,
    added: Added,
    /// As it was reported for the interval before.
    scheduled: Scheduled,
    connects: Latencies,
    outages: Outages,
    undone: u64,
    missing_rows: u64,
    /// By place; nothing is kept of transactions where there is one place only.
    endpoints: Vec<EndpointRecord>,
    reasons: Reasons,
    log: Option<TransactionLog>,
    worst: Worst,
    /// Only where they are asked for.
    slots: Option<OwnSlots>,
    lag_max_ns: Nanos,
    /// Those of the phase's intervals that were handed over.
    lags: Lags,
    with_rate: bool,
    with_retries: bool,
    latency_limit_us: Option<u64>,
    /// The thread's CPU time at the beginning of the measured phase.
    used: ThreadUse,
    /// When clients began to work; intervals are counted from here.
    begin: Nanos,
    /// When the present phase began.
    phase_begin: Nanos,
    /// The latest end of the warm-up; an earlier one is reported by the control.
    warmup_end: Nanos,
    /// The asked duration, where it is a time.
    duration: Option<Nanos>,
    gaps: OwnGaps,
    /// By place, where there are several.
    endpoint_gaps: Vec<(OwnGaps, GapsOfThread)>,
    client_stalls: Longest,
    control: Control,
    /// When the present interval ends.
    pub(crate) boundary: Nanos,
    reports: Sender<Report>,
    recycled: Receiver<Box<Interval>>,
}

/// What a thread hands over when all of its clients have ended.
pub(crate) struct Finished {
    pub(crate) connects: Latencies,
    pub(crate) outages: Outages,
    pub(crate) undone: u64,
    pub(crate) missing_rows: u64,
    pub(crate) endpoints: Vec<EndpointRecord>,
    pub(crate) endpoint_gaps: Vec<GapsOfThread>,
    pub(crate) client_stalls: Vec<ClientStall>,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) worst: Worst,
    pub(crate) slots: Option<Slots>,
    pub(crate) used: ThreadUse,
    pub(crate) added: Added,
}

impl Recorder {
    pub(crate) fn new(
        thread: usize,
        (scripts, places): (usize, usize),
        (with_rate, with_retries): (bool, bool),
        latency_limit_us: Option<u64>,
        log: Option<TransactionLog>,
        executions: Executions,
        (reports, recycled): (Sender<Report>, Receiver<Box<Interval>>),
    ) -> Self {
        Self {
            thread,
            interval: Box::new(Interval::for_scripts(scripts, with_rate, with_retries)),
            executions,
            whereabouts: Whereabouts::default(),
            probe: Probe::default(),
            added: Added::default(),
            scheduled: Scheduled::default(),
            connects: Latencies::default(),
            outages: Outages::default(),
            undone: 0,
            missing_rows: 0,
            endpoints: vec![EndpointRecord::with_rate(with_rate); places],
            reasons: Reasons::default(),
            log,
            worst: Worst::default(),
            slots: None,
            lag_max_ns: 0,
            lags: Lags::default(),
            with_rate,
            with_retries,
            latency_limit_us,
            used: ThreadUse::default(),
            begin: 0,
            phase_begin: 0,
            warmup_end: 0,
            duration: None,
            gaps: OwnGaps::default(),
            endpoint_gaps: match places {
                0 | 1 => Vec::new(),
                _ => vec![(OwnGaps::from(ENDPOINT_GAP_MIN), Vec::with_capacity(64)); places],
            },
            client_stalls: Longest::with_limit(client_stalls_max(false)),
            control: Control::default(),
            boundary: Nanos::MAX,
            reports,
            recycled,
        }
    }

    /// Also keeps slots, and with them the times without a commit of many clients.
    pub(crate) fn with_slots(self, slots: Option<OwnSlots>) -> Self {
        Self {
            client_stalls: Longest::with_limit(client_stalls_max(slots.is_some())),
            slots,
            ..self
        }
    }

    /// A transaction is to start then.
    #[inline]
    pub(crate) fn due(&mut self, scheduled: Nanos) {
        if let Some(slots) = &mut self.slots {
            slots.due(scheduled);
        }
    }

    /// Whether it is to know of transactions that will never start.
    pub(crate) fn has_slots(&self) -> bool {
        self.slots.is_some()
    }

    /// A try has failed in this way at an endpoint, or a connection to it was lost or refused.
    pub(crate) fn has_failed(&mut self, at: Nanos, place: usize, failure: Failure) {
        let Some(slots) = &mut self.slots else { return };
        slots.error(at);
        if !self.interval.drain {
            let after = at.saturating_sub(self.phase_begin);
            self.endpoints[place].seconds.book_error(after, failure);
        }
    }

    /// Clients begin to work at `begin`, at most the first `warmup` of it for warming up: less when
    /// `control` says so. The thread that works is the one that calls.
    /// `control` says so. What follows the warm-up is asked to take `duration`.
    pub(crate) fn begin(
        &mut self,
        clients: usize,
        begin: Nanos,
        warmup: Nanos,
        duration: Option<Nanos>,
        control: &Control,
    ) {
        self.whereabouts.begin(clients, begin);
        self.probe.begin(begin);
        self.scheduled = self.probe.scheduled();
        self.duration = duration;
        if self.endpoints.len() > 1 || self.slots.is_some() {
            let seconds = self.endpoints.iter_mut().map(|one| &mut one.seconds);
            seconds.for_each(|seconds| seconds.reserve(duration));
        }
        self.begin = begin;
        self.begin_gaps(begin);
        self.control = control.clone();
        if let Some(slots) = &mut self.slots {
            slots.begin(begin);
        }
        self.phase_begin = begin;
        self.warmup_end = begin + warmup;
        self.interval.warmup = warmup > 0;
        self.interval.start_ns = 0;
        self.interval.clear();
        self.boundary = self.next_boundary(begin);
        self.used = self.cpu_now();
    }

    /// What the present interval has counted.
    #[cfg(test)]
    pub(crate) fn present_counts(&self) -> pgdyno_measurement::Counts {
        self.interval.all().counts
    }

    /// The number of the thread it belongs to.
    pub(crate) fn thread(&self) -> usize {
        self.thread
    }

    pub(crate) fn is_measuring(&self) -> bool {
        !self.interval.warmup
    }

    /// Whether the present interval is of the measured time, not before or after it.
    pub(crate) fn counts(&self) -> bool {
        !self.interval.warmup && !self.interval.drain
    }

    /// Whether all is booked of a transaction without tries that failed with [`Recorder::committed`],
    /// [`Recorder::took`] and [`Recorder::follow`].
    pub(crate) fn books_plainly(&self) -> bool {
        let keeps_less = self.log.is_none() && self.slots.is_none() && self.endpoints.len() <= 1;
        keeps_less && !self.with_rate && self.latency_limit_us.is_none()
    }

    /// Books a transaction that is committed with its first try, which began and ended then; returns how
    /// many microseconds it took.
    #[inline(always)]
    pub(crate) fn committed(
        &mut self,
        script: usize,
        (begun, at): (Nanos, Nanos),
        statements: u32,
    ) -> u64 {
        let service_us = micros(at - begun);
        self.gaps.committed(at, &mut self.interval.gaps);
        let interval = &mut self.interval.scripts[script];
        interval.counts.committed += 1;
        interval.record_commit(service_us, service_us, statements);
        service_us
    }

    /// Books the end of a transaction that ended in the present interval (see
    /// [`Recorder::rotate`]). All times are on the run's clock.
    pub(crate) fn transaction(&mut self, script: usize, end: &Ended) {
        if self.log.is_some() && self.is_measuring() {
            self.log(script, end);
        }
        let response_us = micros(end.at.saturating_sub(end.scheduled));
        let is_late = self
            .latency_limit_us
            .is_some_and(|limit_us| response_us > limit_us);
        if self.endpoints.len() > 1 {
            let endpoint = &mut self.endpoints[end.place];
            book(endpoint, end, response_us, is_late);
            if !self.interval.drain {
                let after = end.at.saturating_sub(self.phase_begin);
                endpoint.seconds.book(after, end.outcome);
            }
        }
        if let Some(slots) = &mut self.slots {
            slots.ended(end.scheduled, end.at, end.outcome);
        }
        let interval = &mut self.interval.scripts[script];
        interval.counts.book(end.outcome, end.tries);
        match end.given_up {
            Some(GivenUp::AfterLastTry) => interval.work.given_up += 1,
            Some(GivenUp::CutOff) => interval.work.cut_off += 1,
            None => {}
        }
        let attempt_us = micros(end.at.saturating_sub(end.tried));
        match end.outcome {
            Outcome::Committed => {}
            Outcome::Failed(Failure::RowMissing) => {
                return interval.missing.record(attempt_us, response_us);
            }
            Outcome::Unknown => return interval.failed.record(attempt_us, response_us),
            // Booked with its last try.
            Outcome::Failed(_) | Outcome::Skipped => return,
        }
        let service_us = micros(end.at - end.begun);
        interval.record_commit(service_us, attempt_us, end.statements);
        interval.work.server_retries += end.server_retries;
        if let Some(response) = &mut interval.response {
            response.record(response_us);
        }
        if let Some(lag) = &mut interval.lag {
            lag.record(micros(end.begun.saturating_sub(end.scheduled)));
        }
        interval.counts.late += u64::from(is_late);
        self.gaps.committed(end.at, &mut self.interval.gaps);
        if let Some((own, gaps)) = self.endpoint_gaps.get_mut(end.place) {
            own.committed(end.at, gaps);
        }
        let latency_us = if self.with_rate {
            response_us
        } else {
            service_us
        };
        if let Some(delay) = end.delay {
            self.follow(service_us, latency_us, delay);
        }
        self.took(latency_us, (script, end.client, end.at));
    }

    /// A transaction of a script and a client that was committed then took so long: it is kept if it is
    /// one of the longest.
    #[inline]
    pub(crate) fn took(&mut self, latency_us: u64, (script, client, at): (usize, usize, Nanos)) {
        if self.worst.takes(latency_us) && !self.interval.warmup {
            self.worst.keep(SlowTransaction {
                script,
                client,
                ended_us: micros(at.saturating_sub(self.begin)),
                latency_us,
            });
        }
    }

    /// A client that waited for a commit `since` has got it, or will get none any more.
    #[inline]
    pub(crate) fn client_waited(
        &mut self,
        client: (usize, &Without),
        (since, at): (Nanos, Nanos),
        is_over: bool,
    ) {
        // Few wait so long; what of it lies before the phase makes it no longer.
        if self.client_stalls.takes(at.saturating_sub(since)) {
            self.client_stalled(client, (since, at), is_over);
        }
    }

    #[cold]
    fn client_stalled(
        &mut self,
        client: (usize, &Without),
        (since, at): (Nanos, Nanos),
        is_over: bool,
    ) {
        let since = since.max(self.phase_begin);
        let length = at.saturating_sub(since);
        if self.client_stalls.takes(length) && !self.interval.warmup {
            let start_us = micros(since - self.begin);
            self.client_stalls.keep(client, (start_us, length), is_over);
        }
    }

    fn begin_gaps(&mut self, at: Nanos) {
        self.gaps.begin(at);
        for (own, gaps) in &mut self.endpoint_gaps {
            own.begin(at);
            gaps.clear();
        }
        let from_us = micros(at.saturating_sub(self.begin));
        let endpoints = self.endpoints.iter_mut();
        endpoints.for_each(|one| one.seconds.begin(from_us));
        self.client_stalls.clear();
    }

    fn end_gaps(&mut self) {
        self.gaps.end(&mut self.interval.gaps);
        for (own, gaps) in &mut self.endpoint_gaps {
            own.end(gaps);
        }
    }

    /// Books what the generator has added to a transaction that was followed.
    #[inline(never)]
    pub(crate) fn follow(&mut self, service_us: u64, latency_us: u64, delay: Delay) {
        let time = &mut self.interval.time;
        time.followed_ns += service_us * 1000;
        // Two clocks: a thread cannot have added more than there was.
        time.added_ns += delay.estimate_ns.min(service_us * 1000);
        time.added_max_ns += delay.max_ns.min(service_us * 1000);
        if self.interval.warmup {
            return;
        }
        let without = |added: Nanos| latency_us.saturating_sub(micros(added));
        self.added.shown.record(latency_us);
        let Delay {
            stopped_ns,
            stopped_max_ns,
            ..
        } = delay;
        self.added
            .without
            .record(without(delay.estimate_ns + stopped_ns));
        let max_ns = delay.max_ns + stopped_max_ns;
        self.added.without_max.record(without(max_ns));
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.boundary < Nanos::MAX
    }

    /// A client goes from one activity to another in the present interval; `None` when it has ended, or has not begun.
    #[inline]
    pub(crate) fn goes(&mut self, from: Option<Activity>, to: Option<Activity>, now: Nanos) {
        self.whereabouts.book(now, &mut self.interval.time);
        self.whereabouts.go(from, to);
    }

    /// Bytes are sent, and an answer is waited for.
    #[inline]
    pub(crate) fn round_trip(&mut self) {
        self.interval.time.round_trips += 1;
    }

    #[inline]
    pub(crate) fn came(&mut self, bytes: usize) {
        self.interval.time.received_bytes += bytes as u64;
    }

    /// An answer has come in several parts, the last one so long after the first.
    #[inline]
    pub(crate) fn received_for(&mut self, time: Nanos) {
        self.interval.time.receiving_ns += time;
    }

    fn log(&mut self, script: usize, end: &Ended) {
        let Some(log) = &mut self.log else { return };
        // To pgbench a transaction that leaves a block open has been processed.
        let is_processed = matches!(
            end.outcome,
            Outcome::Committed | Outcome::Failed(Failure::OpenBlock)
        );
        let lasted_us = |from: Nanos, to: Nanos| {
            if is_processed {
                micros(to.saturating_sub(from))
            } else {
                0
            }
        };
        let transaction = LoggedTransaction {
            client: end.client,
            number: end.number,
            script,
            outcome: end.outcome,
            tries: end.tries,
            latency_us: lasted_us(end.scheduled, end.at),
            lag_us: lasted_us(end.scheduled, end.begun),
            took_us: micros(end.at.saturating_sub(end.begun)),
            waited_us: micros(end.begun.saturating_sub(end.scheduled)),
            at_us: micros(end.at.saturating_sub(self.begin)),
        };
        log.add(transaction, self.thread, &self.reports);
    }

    /// Books one execution of a command without an error.
    #[inline]
    pub(crate) fn command(
        &mut self,
        script: usize,
        command: usize,
        latency: Nanos,
        is_missing: bool,
    ) {
        let ended = if is_missing {
            HowEnded::Missing
        } else {
            HowEnded::Well
        };
        self.executed((script, command), latency, ended);
    }

    /// Books an error in a command.
    pub(crate) fn error(&mut self, script: usize, command: usize, latency: Nanos, then: Then) {
        self.executed((script, command), latency, HowEnded::Wrong(then));
    }

    /// Only those of the measured phase count.
    #[inline]
    fn executed(&mut self, command: (usize, usize), latency: Nanos, ended: HowEnded) {
        if self.is_measuring() {
            let to = (self.thread, &self.reports);
            self.executions.add(command, (micros(latency), ended), to);
        }
    }

    /// Books a try that came to nothing after so many statements, and how long it took: itself, and
    /// since the schedule.
    pub(crate) fn try_lost(
        &mut self,
        script: usize,
        (time, since_schedule): (Nanos, Nanos),
        statements: u32,
    ) {
        let interval = &mut self.interval.scripts[script];
        let lost_us = micros(time);
        interval.work.lost_tries += 1;
        interval.work.lost_us += lost_us;
        interval.work.lost_statements += u64::from(statements);
        interval.failed.record(lost_us, micros(since_schedule));
    }

    /// Books why a try failed that another one follows.
    pub(crate) fn retried_after(&mut self, script: usize, failure: Failure) {
        let interval = &mut self.interval.scripts[script];
        *interval.retried_after.entry(failure).or_default() += 1;
    }

    /// Books a pause between tries.
    pub(crate) fn paused(&mut self, script: usize, time: Nanos) {
        self.interval.scripts[script].work.backoff_us += micros(time);
    }

    /// Books that so many transactions that were booked as committed have been rolled back with their
    /// block.
    pub(crate) fn undone(&mut self, count: u64) {
        self.undone += count;
    }

    /// Books that a transaction which is committed found no row.
    pub(crate) fn missed_rows(&mut self) {
        self.missing_rows += 1;
    }

    /// Work units of an operation.
    pub(crate) fn units(&mut self, script: usize, operation: usize) -> &mut Units {
        self.interval.scripts[script].units(operation)
    }

    /// Why tries fail on this thread.
    pub(crate) fn reasons(&mut self) -> &mut Reasons {
        &mut self.reasons
    }

    /// Books a connection that took so long to make.
    pub(crate) fn connected(&mut self, place: usize, latency: Nanos) {
        self.connects.record(micros(latency));
        self.endpoints[place].connections += 1;
    }

    /// Books that a connection broke.
    pub(crate) fn lost(&mut self, place: usize) {
        self.endpoints[place].lost += 1;
    }

    /// Books that a client came from another endpoint, and whether this one is its own.
    pub(crate) fn arrived(&mut self, place: usize, is_own: bool) {
        self.endpoints[place].arrived += 1;
        self.endpoints[place].returned += u64::from(is_own);
    }

    /// A moment in microseconds since clients began to work; 0 before.
    pub(crate) fn at_us(&self, at: Nanos) -> u64 {
        let has_begun = self.boundary < Nanos::MAX;
        if has_begun {
            micros(at.saturating_sub(self.begin))
        } else {
            0
        }
    }

    /// Books that a client is without a connection.
    pub(crate) fn outage_begun(&mut self) {
        self.outages.count += 1;
    }

    /// Books an attempt to end an outage.
    pub(crate) fn outage_attempt(&mut self) {
        self.outages.attempts += 1;
    }

    /// Books that an outage which began at `begun` is over at `now`: the client is connected again,
    /// or ends without.
    pub(crate) fn outage_over(&mut self, begun: Nanos, now: Nanos, is_connected: bool) {
        if is_connected {
            let length = now.saturating_sub(begun);
            self.outages.lengths.record(micros(length));
        } else {
            self.outages.unended += 1;
        }
        if !self.interval.warmup {
            let begun = begun.max(self.phase_begin);
            self.outages.measured_us += micros(now.saturating_sub(begun));
        }
    }

    /// Books that the event loop was so late for a deadline of a client that is at this.
    pub(crate) fn lagged(&mut self, activity: Option<Activity>, now: Nanos, lag: Nanos) {
        self.lag_max_ns = self.lag_max_ns.max(lag);
        self.attended(lag);
        if let Some(activity) = activity {
            self.whereabouts.book(now, &mut self.interval.time);
            let time = &mut self.interval.time;
            let at_ns = &mut time.at_ns[activity as usize];
            // What was late before this second is this second's.
            let late_ns = lag.min(*at_ns);
            *at_ns -= late_ns;
            time.late_ns += late_ns;
        }
    }

    /// Books that something that was due waited so long for its turn.
    #[inline]
    pub(crate) fn attended(&mut self, lag: Nanos) {
        // There is always the one of this thread.
        if let Some(own) = self.interval.loops.first_mut() {
            own.lags.record(lag);
        }
    }

    /// Hands over the intervals that have ended by `now`; gives the end of the warm-up if that is
    /// among them.
    pub(crate) fn rotate(&mut self, now: Nanos) -> Option<Nanos> {
        let mut warmup_end = None;
        while now >= self.boundary {
            let end = self.boundary;
            if self.measured_end() == Some(end) {
                self.end_gaps();
            }
            self.hand_over(end);
            self.interval.drain |= self.measured_end() == Some(end);
            if self.interval.warmup && self.is_warmup_over(end) {
                self.end_warmup(end);
                warmup_end = Some(end);
            }
            self.boundary = self.next_boundary(end);
        }
        warmup_end
    }

    fn is_warmup_over(&self, end: Nanos) -> bool {
        end == self.warmup_end || self.control.is_warmup_over((end - self.begin) / SECOND_NS)
    }

    /// Hands over what there is; all clients of the thread have ended.
    pub(crate) fn finish(mut self, now: Nanos) -> Finished {
        let has_begun = self.boundary < Nanos::MAX;
        if has_begun {
            self.rotate(now);
            self.end_gaps();
            self.hand_over(now);
        }
        self.executions.hand_over(self.thread, &self.reports);
        let used = self.cpu_now();
        let used = ThreadUse {
            wall_us: micros(now.saturating_sub(self.phase_begin)),
            user_us: used.user_us.saturating_sub(self.used.user_us),
            system_us: used.system_us.saturating_sub(self.used.system_us),
            waited_us: used.waited_us.saturating_sub(self.used.waited_us),
            lag_max_us: micros(self.lag_max_ns),
            lag_p99_us: self.lags.percentile_us(99.0).map(|us| us.round() as u64),
        };
        Finished {
            connects: self.connects,
            outages: self.outages,
            undone: self.undone,
            missing_rows: self.missing_rows,
            endpoints: self.endpoints,
            endpoint_gaps: self
                .endpoint_gaps
                .into_iter()
                .map(|(_, gaps)| gaps)
                .collect(),
            client_stalls: self.client_stalls.finish(),
            reasons: self.reasons.finish().collect(),
            worst: self.worst,
            slots: self.slots.map(OwnSlots::finish),
            used,
            added: self.added,
        }
    }

    fn hand_over(&mut self, end: Nanos) {
        if let Some(log) = &mut self.log {
            log.hand_over(self.thread, &self.reports);
        }
        self.whereabouts.book(end, &mut self.interval.time);
        let scheduled = self.probe.scheduled();
        let before = std::mem::replace(&mut self.scheduled, scheduled);
        self.interval.time.ran_ns += scheduled.ran_ns.saturating_sub(before.ran_ns);
        self.interval.time.waited_ns += scheduled.waited_ns.saturating_sub(before.waited_ns);
        self.probe.second(end);
        let start_ns = self.interval.start_ns;
        let (warmup, drain) = (self.interval.warmup, self.interval.drain);
        for own in &mut self.interval.loops {
            own.thread = self.thread;
            self.lags.merge(&own.lags);
        }
        self.interval.length_ns = (end - self.begin).saturating_sub(start_ns);
        // Empty: the collector clears what it gives back, not the thread that has clients waiting.
        let next = self.recycled.try_recv().unwrap_or_else(|_| {
            Box::new(Interval::for_scripts(
                self.interval.scripts.len(),
                self.with_rate,
                self.with_retries,
            ))
        });
        let ended = mem::replace(&mut self.interval, next);
        self.interval.start_ns = end - self.begin;
        self.interval.warmup = warmup;
        self.interval.drain = drain;
        planted!(
            7,
            if start_ns == SECOND_NS {
                return;
            }
        );
        // The collector outlives the threads; if it is gone, there is no receiver.
        let _ = self.reports.send(Report::Interval(self.thread, ended));
    }

    fn end_warmup(&mut self, now: Nanos) {
        self.interval.warmup = false;
        self.begin_gaps(now);
        self.phase_begin = now;
        self.used = self.cpu_now();
        self.lag_max_ns = 0;
        self.lags.clear();
        self.endpoints
            .iter_mut()
            .for_each(EndpointRecord::end_warmup);
        self.reasons.restart();
    }

    fn cpu_now(&self) -> ThreadUse {
        let cpu = pgdyno_platform::cpu_time::thread();
        ThreadUse {
            user_us: cpu.user_us,
            system_us: cpu.system_us,
            waited_us: self.probe.scheduled().waited_ns / 1000,
            ..ThreadUse::default()
        }
    }

    /// Seconds are counted from the beginning of a phase; the warm-up's end is a boundary, and so is
    /// that of the asked duration.
    fn next_boundary(&self, now: Nanos) -> Nanos {
        let second = now + SECOND_NS;
        let end = if self.interval.warmup {
            Some(self.warmup_end)
        } else {
            self.measured_end().filter(|end| *end > now)
        };
        end.map_or(second, |end| second.min(end))
    }

    /// When the asked duration is over, once it has begun.
    fn measured_end(&self) -> Option<Nanos> {
        let duration = self.duration.filter(|_| !self.interval.warmup)?;
        Some(self.phase_begin.saturating_add(duration))
    }
}

/// Books the end of a transaction at an endpoint.
fn book(endpoint: &mut EndpointRecord, end: &Ended, response_us: u64, is_late: bool) {
    endpoint.counts.book(end.outcome, end.tries);
    if end.outcome != Outcome::Committed {
        return;
    }
    endpoint.service.record(micros(end.at - end.begun));
    if let Some(response) = &mut endpoint.response {
        response.record(response_us);
    }
    endpoint.counts.late += u64::from(is_late);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The transaction is tried again.
    Retry,
    /// The transaction has failed; its client goes on.
    Fail,
    Abort,
}

/// Why a transaction is not tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// There are no more tries, or no more time for it.
    AfterLastTry,
    CutOff,
}

/// How and when a transaction ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) client: usize,
    /// Where the client is connected, or was last.
    pub(crate) place: usize,
    /// The client's transactions that have ended, this one included.
    pub(crate) number: u64,
    pub(crate) outcome: Outcome,
    pub(crate) tries: u32,
    /// Why it is not tried again, where it failed with an error that might be.
    pub(crate) given_up: Option<GivenUp>,
    /// When the last try began, and the statements sent in it.
    pub(crate) tried: Nanos,
    pub(crate) statements: u32,
    pub(crate) server_retries: u64,
    pub(crate) scheduled: Nanos,
    pub(crate) begun: Nanos,
    pub(crate) at: Nanos,
    /// What the generator has added, where it was followed.
    pub(crate) delay: Option<Delay>,
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn recorder(with_retries: bool) -> Recorder {
        let executions = Executions::new([1].into_iter(), channel().1);
        let with = (false, with_retries);
        let channels = (channel().0, channel().1);
        let mut recorder = Recorder::new(0, (1, 1), with, None, None, executions, channels);
        recorder.begin(2, 1_000, 0, None, &Control::default());
        recorder
    }

    /// What it has booked, all that a transaction goes into.
    fn books(recorder: Recorder) -> impl PartialEq + std::fmt::Debug {
        let Recorder {
            interval,
            added,
            worst,
            gaps,
            ..
        } = recorder;
        let all = interval.all();
        let added = [added.shown, added.without, added.without_max];
        let latencies = [all.service, all.attempt.unwrap_or_default()];
        (
            (all.counts, all.work, latencies.map(|of| of.pack())),
            (added.map(|of| of.pack()), interval.time),
            (worst.finish().collect::<Vec<_>>(), interval.gaps, gaps),
        )
    }

    #[test]
    fn the_short_way_books_what_the_long_one_does() {
        for with_retries in [false, true] {
            let (mut short, mut long) = (recorder(with_retries), recorder(with_retries));
            assert!(short.books_plainly());
            let mut at = 2_000;
            for i in 0..500_u64 {
                let begun = at;
                // Up to 3 ms, and some that are gaps.
                at += (i * i * 7_919 % 3_000_017) + if i % 100 == 7 { 200_000_000 } else { 0 };
                let delay = (i % 3 == 0).then_some(Delay {
                    estimate_ns: i * 100,
                    max_ns: i * 200,
                    ..Delay::default()
                });
                long.transaction(
                    0,
                    &Ended {
                        client: i as usize % 2,
                        place: 0,
                        number: i,
                        outcome: Outcome::Committed,
                        tries: 1,
                        given_up: None,
                        tried: begun,
                        statements: 3,
                        server_retries: 0,
                        scheduled: begun,
                        begun,
                        at,
                        delay,
                    },
                );
                let service_us = short.committed(0, (begun, at), 3);
                if let Some(delay) = delay {
                    short.follow(service_us, service_us, delay);
                }
                short.took(service_us, (0, i as usize % 2, at));
            }
            assert_eq!(short.present_counts().committed, 500);
            assert_eq!(books(short), books(long));
        }
    }
}
