//! One client: a state machine that takes scripts through a connection, transaction after
//! transaction. It never blocks: it says what it waits for, and its event loop comes back.

mod block;
mod booking;
mod cancelled;
mod connect;
mod error;
mod history;
#[cfg(test)]
mod inspect;
mod link;
mod meta;
mod outage;
mod parting;
mod place;
mod receipt;
mod reply;
mod roles;
mod stamp;
mod state;
mod units;

use std::time::Duration;

use pgdyno_script::{Draws, Gset, Prng, Vars};
use pgdyno_wire::backend::TransactionStatus;

use crate::context::Context;
use crate::program::{Prepare, Statement};
use crate::record::{Cause, Delay, Ended, Without};
use error::TransactionError;
use history::Observing;
use link::Link;
use outage::Outage;
use pgdyno_measurement::{Activity, ClientUnits, Closing, Failure, Outcome};
use pgdyno_platform::clock::{Nanos, micros};
use pgdyno_platform::io::{Io, Key};
use pgdyno_spec::QueryMode;
use receipt::Receipts;
use reply::Reply;
pub(crate) use roles::Home;
use roles::Parked;
use stamp::Stamping;
use state::State;
pub(crate) use state::Wait;
use units::Units;

/// A start that is less late than this is none of those that were held up.
const CAUGHT_UP_NS: Nanos = 1_000_000;

#[derive(Debug)]
pub(crate) struct Client {
    /// Its number among all clients, as users see it.
    id: usize,
    /// Its number in its event loop.
    key: u32,
    /// Its present connection's number among the sockets of its event loop.
    socket: Key,
    /// The role that its present connection is for.
    role: usize,
    /// Where it is in each role of its scripts; what it uses now is in the fields of the client, and
    /// its place here is empty.
    parked: Vec<Parked>,
    /// Clients of lower ranks work first, where not all do.
    rank: usize,
    state: State,
    link: Option<Link>,
    own: usize,
    /// Of how many endpoints that have joined it knows.
    joined: usize,
    /// Whether its own has joined since, and it was not there yet.
    is_new: bool,
    /// The endpoint that it was connected to last; none yet: its own.
    endpoint: Option<usize>,
    /// Whether that is another than its own, and it is to return.
    is_away: bool,
    /// The place that it was connected to last.
    place: usize,
    /// The candidate of its endpoint that led there.
    candidate: usize,
    vars: Vars,
    random: Prng,
    /// The random state at the beginning of the transaction: retries draw the same numbers.
    random_at_begin: Prng,
    /// What the transaction has drawn from counters; its retries draw the same.
    draws: Draws,
    /// Draws the pauses between tries.
    pauses: Prng,
    script: usize,
    command: usize,
    tries: u32,
    /// When the present try began; `None` when none is under way.
    tried: Option<Nanos>,
    statements: u32,
    /// Whether `\startpipeline` has been executed and `\endpipeline` has not.
    in_pipeline: bool,
    scheduled: Nanos,
    begun: Nanos,
    command_begun: Nanos,
    /// When the request was sent whose answer is waited for.
    sent: Nanos,
    sleep_until: Nanos,
    /// When the first bytes of the answer came that has not come to its end.
    answered_since: Option<Nanos>,
    /// What the generator has added to the present transaction, when that is followed.
    delay: Option<Delay>,
    /// What the bytes that came last have waited for the thread.
    last_delay: Option<Delay>,
    /// What it was at when its event loop turned to others.
    pub(crate) activity: Option<Activity>,
    /// Why the present try has failed.
    error: Option<TransactionError>,
    /// What the server said before it ended the connection, and at which query.
    last_words: Option<(u32, String)>,
    /// What these words are known by.
    last_cause: Option<Cause>,
    /// Whether the transaction has failed as soon as it is rolled back.
    is_given_up: bool,
    /// Whether its statement is being cancelled, and the client waits for that before it leaves.
    is_cancelled: bool,
    /// Whether it would be tried again, were the run not over.
    is_cut_off: bool,
    reply: Reply,
    /// Its work units that are not booked yet.
    units: Units,
    /// The receipts of its transactions.
    receipts: Receipts,
    /// The stamps that they write and read.
    stamping: Stamping,
    /// What of its present transaction goes into the history.
    observing: Observing,
    /// What it has had since its last commit.
    without: Without,
    /// The time without a connection, while it lasts and is to be ended.
    outage: Option<Outage>,
    /// Whether anything was waited for since the present transaction began.
    has_waited: bool,
    /// Whether a statement of the present try has found no row.
    has_missed: bool,
    /// Whether the present command has.
    command_has_missed: bool,
    /// When the present command's error was there, and at which endpoint; `None` when there is none that was
    /// answered.
    failed_at: Option<(Nanos, usize)>,
    /// Transactions of the script that writes ([`crate::Commits`]).
    written: u64,
    /// Transactions that were booked as committed in the block that is open.
    uncommitted: u64,
    /// When it began to take its leave with a statement, and then how long that took.
    parting: Nanos,
    /// For how long it waits until the server has ended its session.
    leaving_max: Nanos,
    /// How it closed its last connection.
    closing: Option<Closing>,
    /// Transactions that count for `-t`.
    ended_transactions: u64,
    /// Those of them that do not count for the end of the run.
    uncounted: u64,
    /// Whether it ended because of its connection.
    pub(crate) is_disconnected: bool,
}

impl Client {
    /// A client that is to connect to its own endpoints: one in each role that its scripts have, of which
    /// there is at least one. `clients` is how many its event loop has.
    pub(crate) fn new(
        id: usize,
        (key, clients): (u32, usize),
        homes: Vec<Home>,
        vars: Vars,
        (random, pauses): (Prng, Prng),
        draws: Draws,
    ) -> Self {
        let parked: Vec<Parked> = (0u32..)
            .zip(&homes)
            .map(|(number, home)| Parked::at(home, key + number * clients as u32))
            .collect();
        let Home { role, own, place } = homes.first().copied().unwrap_or_default();
        Self {
            id,
            key,
            socket: key,
            role,
            parked,
            rank: id,
            state: State::Idle,
            link: None,
            own,
            joined: 0,
            is_new: false,
            endpoint: None,
            is_away: false,
            place,
            candidate: 0,
            vars,
            random_at_begin: random.clone(),
            random,
            draws,
            pauses,
            script: 0,
            command: 0,
            tries: 1,
            tried: None,
            statements: 0,
            in_pipeline: false,
            scheduled: 0,
            begun: 0,
            command_begun: 0,
            sent: 0,
            sleep_until: 0,
            answered_since: None,
            delay: None,
            last_delay: None,
            activity: None,
            error: None,
            last_words: None,
            last_cause: None,
            is_given_up: false,
            is_cancelled: false,
            is_cut_off: false,
            reply: Reply::default(),
            units: Units::default(),
            receipts: Receipts::default(),
            stamping: Stamping::default(),
            observing: Observing::default(),
            without: Without::default(),
            outage: None,
            has_waited: false,
            has_missed: false,
            command_has_missed: false,
            failed_at: None,
            written: 0,
            uncommitted: 0,
            parting: 0,
            leaving_max: parting::LEAVING_MAX_NS,
            closing: None,
            ended_transactions: 0,
            uncounted: 0,
            is_disconnected: false,
        }
    }

    /// The same, whose transactions leave receipts if that is asked for.
    pub(crate) fn with_receipts(mut self, is_asked: bool) -> Self {
        self.receipts = Receipts::of(self.id, is_asked);
        self
    }

    /// The same with this rank.
    pub(crate) fn with_rank(mut self, rank: usize) -> Self {
        self.rank = rank;
        self
    }

    pub(crate) fn begin(&mut self, now: Nanos) {
        self.state = State::Choose;
        self.without.begin(now);
        self.activity = Some(Activity::Statement);
    }

    /// What it is at now: the same until its event loop comes back to it.
    #[inline]
    pub(crate) fn present_activity(&self) -> Option<Activity> {
        // Nearly always, so it is looked at first.
        if matches!(self.state, State::WaitResult) {
            return Some(Activity::Statement);
        }
        match self.state {
            State::Finished | State::Aborted => None,
            State::Throttled(_) => Some(Activity::Schedule),
            State::Resting(_) => Some(Activity::Rest),
            State::Sleeping | State::Thinking => Some(Activity::Think),
            State::Connecting(_) | State::Reconnecting(_) | State::Leaving(_) => {
                Some(Activity::Connect)
            }
            State::BackingOff { .. } => Some(Activity::Backoff),
            _ => Some(Activity::Statement),
        }
    }

    /// Bytes that come now have waited so long for the thread. It adds to the transaction only when
    /// they are the last of their answer.
    #[inline]
    pub(crate) fn comes_late(&mut self, by: Option<Delay>) {
        self.last_delay = by;
    }

    /// What was waited for was there, and has waited so long for the thread.
    #[inline]
    pub(crate) fn was_delayed(&mut self, by: Option<Delay>) {
        if let (Some(delay), Some(by)) = (&mut self.delay, by) {
            delay.add(by);
        }
    }

    pub(crate) fn work_units(&self) -> Option<ClientUnits> {
        let booked = &self.units.booked;
        let has_any = !booked.operations.is_empty();
        has_any.then(|| ClientUnits {
            client: self.id,
            ..booked.clone()
        })
    }

    /// How it closed its last connection.
    pub(crate) fn closing(&self) -> Option<Closing> {
        self.closing
    }

    pub(crate) fn is_aborted(&self) -> bool {
        matches!(self.state, State::Aborted)
    }

    /// Goes on until it has to wait.
    #[inline]
    pub(crate) fn advance<I: Io>(&mut self, cx: &mut Context<'_, I>) -> Wait {
        loop {
            if let Some(wait) = self.go_on(cx) {
                return wait;
            }
        }
    }

    /// Goes on, mostly from one answer to the next statement: these states follow each other. Says what it waits for,
    /// if it has to.
    #[inline(never)]
    fn go_on<I: Io>(&mut self, cx: &mut Context<'_, I>) -> Option<Wait> {
        if matches!(self.state, State::EndCommand) {
            self.end_command(cx);
        }
        if matches!(self.state, State::EndTransaction) {
            self.end_transaction(cx);
            // A script that never waits must not keep the other clients from working.
            if !self.has_waited {
                return Some(Wait::Turn);
            }
        }
        if matches!(self.state, State::Choose) {
            self.choose(cx);
        }
        if matches!(self.state, State::Begin) {
            self.begin_transaction(cx);
        }
        if matches!(self.state, State::Command) {
            self.execute(cx);
        }
        if matches!(self.state, State::WaitResult) {
            self.has_waited = true;
            return Some(Wait::Input);
        }
        self.go_on_otherwise(cx)
    }

    /// Goes on from a state that not every transaction comes through; says what it waits for, if it has to.
    #[inline(never)]
    fn go_on_otherwise<I: Io>(&mut self, cx: &mut Context<'_, I>) -> Option<Wait> {
        match self.state {
            State::Idle
            | State::Beginning
            | State::Committing
            | State::Preparing
            | State::WaitResult
            | State::RollingBack
            | State::Restoring => {
                self.has_waited = true;
                return Some(Wait::Input);
            }
            State::Connecting(ref mut attempt) => {
                self.has_waited = true;
                // No transaction of a client that returns waits for it.
                let ends_in_time = self.outage.is_some() || attempt.is_between();
                if ends_in_time {
                    attempt.end_by(cx.end);
                }
                let wait = attempt.wait();
                if !ends_in_time || !cx.is_time_up() {
                    return Some(wait);
                }
                self.finish(cx);
            }
            State::Reconnecting(at) => {
                self.has_waited = true;
                // Not a wait for a moment that is never over.
                planted!(
                    4,
                    if cx.now >= cx.end {
                        self.finish(cx);
                        return None;
                    }
                );
                if cx.is_time_up() {
                    self.finish(cx);
                } else if cx.now < at {
                    return Some(Wait::Until(at.min(cx.end)));
                } else {
                    self.connect(cx);
                }
            }
            State::Schedule => self.schedule(cx),
            State::Throttled(ref mut until) => {
                // The end may have come nearer since that was scheduled.
                if cx.is_time_up() || cx.ends_before(self.scheduled) {
                    self.finish(cx);
                } else if cx.rests_until(self.rank).is_some() {
                    self.gives_start_back(cx);
                    self.state = State::Choose;
                } else if cx.now < self.scheduled {
                    *until = cx.leaves_at(self.rank).min(self.scheduled);
                    return Some(Wait::Until(*until));
                } else {
                    self.state = State::Begin;
                }
            }
            State::Resting(ref mut until) => match cx.rests_until(self.rank) {
                _ if cx.is_time_up() => self.finish(cx),
                Some(at) => {
                    self.has_waited = true;
                    *until = at;
                    return Some(Wait::Until(at));
                }
                None => {
                    self.without.begin(cx.now);
                    self.choose_next(cx);
                }
            },
            State::Sleeping => {
                if cx.now < self.sleep_until {
                    self.has_waited = true;
                    return Some(Wait::Until(self.sleep_until));
                }
                self.state = State::EndCommand;
            }
            State::Thinking => {
                if cx.is_time_up() {
                    self.finish(cx);
                } else if cx.now < self.sleep_until {
                    self.has_waited = true;
                    // No transaction starts after the end: the run does not wait for this one.
                    self.sleep_until = self.sleep_until.min(cx.end_ahead());
                    return Some(Wait::Until(self.sleep_until));
                } else {
                    self.begin_try(cx);
                    self.state = State::EndCommand;
                }
            }
            State::Error => self.clean_up(cx),
            State::BackingOff { since, until } => {
                self.has_waited = true;
                if !cx.is_time_up() && cx.now < until {
                    return Some(Wait::Until(until));
                }
                self.end_pause(cx, since);
            }
            State::Retry => self.retry(cx),
            State::Failed => self.fail_transaction(cx),
            State::Leaving(until) => {
                // Not a wait for a moment that is never over.
                planted!(
                    4,
                    if cx.now >= cx.end {
                        self.finish(cx);
                        return None;
                    }
                );
                if cx.is_time_up() {
                    self.finish(cx);
                } else if cx.now < until {
                    self.has_waited = true;
                    return Some(Wait::Until(until.min(cx.end)));
                } else {
                    self.gives_up_leaving(cx);
                }
            }
            State::Parting(until) => {
                if cx.now < until {
                    return Some(Wait::Until(until));
                }
                self.leave(cx);
            }
            State::Cancelled { until, .. } => {
                if cx.now < until {
                    return Some(Wait::Until(until));
                }
                self.cancel_in_vain(cx);
            }
            State::Finished | State::Aborted => return Some(Wait::Ended),
            State::Choose
            | State::Begin
            | State::Command
            | State::EndCommand
            | State::EndTransaction => {}
        }
        None
    }

    fn choose<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if let Some(until) = cx.rests_until(self.rank) {
            // It waits for no commit any more.
            self.book_wait(cx, cx.now, false);
            self.without.over(cx.now);
            return self.state = State::Resting(until);
        }
        self.script = cx.choose_script();
        self.turn_to(cx.drive.scripts[self.script].role);
        self.tries = 1;
        if cx.drive.debug {
            self.trace_script(cx);
        }
        if cx.is_time_up() {
            self.finish(cx);
        } else if cx.schedule.is_some() {
            self.state = State::Schedule;
        } else {
            self.state = State::Begin;
        }
    }

    #[inline(never)]
    fn schedule<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let until = cx.leaves_at(self.rank);
        let Some(schedule) = &mut cx.schedule else {
            return self.state = State::Begin;
        };
        self.scheduled = match schedule.returned() {
            Some(start) => start,
            None => {
                let start = schedule.next(until);
                cx.recorder.due(start);
                start
            }
        };
        if cx
            .latency_limit
            .is_some_and(|limit| self.scheduled.saturating_add(limit) < cx.now)
        {
            let (scheduled, at) = (self.scheduled, cx.now);
            let ended = Ended {
                client: self.id,
                place: self.place,
                number: 0,
                outcome: Outcome::Skipped,
                tries: 1,
                given_up: None,
                tried: scheduled,
                statements: 0,
                server_retries: 0,
                scheduled,
                begun: scheduled,
                at,
                delay: None,
            };
            self.book(cx, ended);
            if cx.is_time_up() || self.has_ended_all(cx) {
                self.finish(cx);
            }
        } else if cx.ends_before(self.scheduled) {
            self.finish(cx);
        } else {
            self.state = State::Throttled(until.min(self.scheduled));
        }
    }

    /// A client that waits for its start gives it back, to wait for another or to rest; whether it does.
    pub(crate) fn gives_start_back<I: Io>(&mut self, cx: &mut Context<'_, I>) -> bool {
        let (State::Throttled(_), Some(schedule)) = (&self.state, &mut cx.schedule) else {
            return false;
        };
        schedule.give_back(self.scheduled);
        self.state = State::Schedule;
        true
    }

    fn begin_transaction<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if self.link.is_none() {
            self.begun = cx.now;
            // What goes wrong before its first command does so at none; the number is still one of another script.
            self.command = cx.program(self.script).commands();
            return self.connect(cx);
        }
        if let Some(link) = &mut self.link {
            link.begin_try();
        }
        self.random_at_begin = self.random.clone();
        self.statements = 0;
        (self.is_given_up, self.is_cut_off) = (false, false);
        self.command = 0;
        self.units.restart();
        self.reply.is_looked_into = false;
        self.has_missed = false;
        self.has_waited = false;
        self.number_receipt(cx);
        self.number_stamp(cx);
        self.begin_try(cx);
        self.state = State::Command;
    }

    /// The first try begins now.
    fn begin_try<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.begun = cx.now;
        self.tried = Some(cx.now);
        if cx.schedule.is_none() {
            self.scheduled = cx.now;
        }
        self.follow(cx);
    }

    /// A transaction begins, and may be one of those that are followed.
    fn follow<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if self.delay.take().is_some() {
            cx.recorder.probe.ended();
        }
        let is_followed = cx.recorder.probe.follows(cx.now);
        self.delay = is_followed.then(Delay::default);
        if let Some(stop) = cx.stopped {
            self.starts_behind_stop(cx, stop);
        }
    }

    /// A transaction begins after pgdyno itself did not run: with a rate that may be why it is late.
    #[cold]
    #[inline(never)]
    fn starts_behind_stop<I: Io>(&mut self, cx: &mut Context<'_, I>, stop: (Nanos, Nanos)) {
        if self.scheduled >= stop.1 && cx.now.saturating_sub(self.scheduled) < CAUGHT_UP_NS {
            // The schedule is kept again.
            cx.stopped = None;
        } else if let Some(delay) = &mut self.delay {
            delay.starts_late((self.scheduled, cx.now), stop);
        }
    }

    fn execute<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let program = cx.program(self.script);
        let mut statement = program.statement(self.command);
        if statement.is_none() {
            self.compute(cx);
            statement = program.statement(self.command);
        }
        self.command_begun = cx.now;
        self.command_has_missed = false;
        match (statement, program.op(self.command)) {
            (Some(statement), _) => self.send_statement(cx, statement),
            (None, Some(meta)) => self.execute_meta(cx, meta),
            (None, None) => self.end_script(cx),
        }
    }

    /// There is no command left.
    fn end_script<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if !self.in_pipeline {
            return self.state = State::EndTransaction;
        }
        let text = if cx.drive.speaks_as_pgbench {
            "aborted: end of script reached with pipeline open".to_owned()
        } else {
            let text = "end of script reached with pipeline open: end it with \\endpipeline";
            format!("aborted at {}", self.placed(cx, text))
        };
        self.abort(cx, Failure::Script, &text);
    }

    #[inline]
    fn send_statement<I: Io>(&mut self, cx: &mut Context<'_, I>, statement: &Statement) {
        let Some(link) = &mut self.link else {
            return self.abort_disconnected(cx, "no connection");
        };
        if let (true, Some(gset)) = (self.in_pipeline, &statement.gset) {
            return self.gset_in_pipeline(cx, gset);
        }
        if let Err(error) = statement.check(&self.vars) {
            return self.abort_command(cx, "SQL", &error.to_string());
        }
        if cx.drive.commits.is_some() && link.status() == TransactionStatus::Idle {
            return self.begin_block(cx);
        }
        if let Some(prepare) = &statement.prepare
            && !link.is_prepared(prepare.number)
        {
            return self.prepare(cx, prepare);
        }
        if cx.history.is_some()
            && let Err(error) = self.observe(cx, statement)
        {
            return self.abort_command(cx, "\\observe", &error);
        }
        if cx.drive.debug {
            self.trace_sending(cx, statement);
        }
        let Some(link) = &mut self.link else { return };
        link.statement(statement, &self.vars, !self.in_pipeline);
        if statement.is_watched {
            self.reply.is_looked_into |= statement.is_looked_into();
            self.units.gather(statement);
            self.receipts.sent(statement.leaves_receipt);
            self.stamping.sent(statement, cx.now);
        }
        self.statements += 1;
        if !self.in_pipeline {
            self.reply.may_come_whole = !self.reply.is_looked_into && link.is_asked_once();
            return self.transmit_and(cx, State::WaitResult);
        }
        link.piped(self.command);
        if link.batch_is_large() {
            self.transmit_and(cx, State::EndCommand);
        } else {
            self.state = State::EndCommand;
        }
    }

    #[cold]
    fn gset_in_pipeline<I: Io>(&mut self, cx: &mut Context<'_, I>, gset: &Gset) {
        let word = gset.name();
        let text = format!("\\{word} is not allowed in pipeline mode");
        self.abort_command(cx, word, &text);
    }

    /// Has a statement prepared that is new to the connection.
    #[cold]
    fn prepare<I: Io>(&mut self, cx: &mut Context<'_, I>, prepare: &Prepare) {
        let Some(link) = &mut self.link else { return };
        link.prepare(prepare);
        self.trace_preparing(cx);
        self.transmit_and(cx, State::Preparing);
    }

    fn end_command<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.book_command(cx);
        let program = cx.program(self.script);
        let block = program.block();
        if block.is_some_and(|block| block.savepoint == self.command) {
            // A replay begins behind it.
            self.random_at_begin = self.random.clone();
            self.draws.savepoint();
        }
        self.command += 1;
        self.state = if self.command < program.commands() || self.in_pipeline {
            State::Command
        } else {
            State::EndTransaction
        };
    }

    fn end_transaction<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        match (self.link.as_ref().map(Link::status), cx.drive.commits) {
            (Some(TransactionStatus::Idle), _) => self.uncommitted = 0,
            (Some(TransactionStatus::InTransaction), Some(commits)) => {
                if self.is_commit_due(commits) {
                    return self.commit_block(cx);
                }
                self.uncommitted += 1;
            }
            _ => return self.leaves_block_open(cx),
        }
        if self.is_plain(cx) {
            self.book_plain(cx);
        } else if !self.book_committed(cx) {
            return;
        }
        self.next_transaction(cx);
    }

    /// The script has come to its end within a transaction block.
    #[cold]
    fn leaves_block_open<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        const OPEN: &str = "aborted: end of script reached without completing the last transaction";
        let text = if cx.drive.speaks_as_pgbench {
            OPEN.to_owned()
        } else {
            let text = "end of script reached without completing the last transaction: end it with COMMIT or END";
            // Measured: pgpool-II 4.3 begins one for a write in the extended protocol, and leaves it open.
            let pooler = match cx.program(self.script).mode() {
                QueryMode::Simple => "",
                _ => ", or use -M simple if a pooler (pgpool-II) began it",
            };
            format!("aborted at {}", self.placed(cx, &format!("{text}{pooler}")))
        };
        self.abort(cx, Failure::OpenBlock, &text);
    }

    /// After a transaction has been booked.
    fn next_transaction<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if self.has_ended_all(cx) || cx.is_time_up() {
            self.finish(cx);
        } else if cx.drive.connection_per_transaction {
            self.end_session(cx);
        } else {
            self.choose_next(cx);
        }
    }

    /// Another transaction follows, after the return to its endpoint if that is due.
    fn choose_next<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if self.is_away(cx) && self.may_return(cx) {
            self.go_home(cx);
        } else {
            self.state = State::Choose;
        }
    }

    fn has_ended_all<I: Io>(&self, cx: &Context<'_, I>) -> bool {
        let more = u64::from(self.id < cx.drive.one_more);
        planted!(
            9,
            return cx
                .transactions
                .is_some_and(|count| self.ended_transactions > count.get() + more)
        );
        cx.transactions
            .is_some_and(|count| self.ended_transactions - self.uncounted >= count.get() + more)
    }

    /// Sends what the link has gathered and goes on in `next`.
    #[inline(always)]
    fn transmit_and<I: Io>(&mut self, cx: &mut Context<'_, I>, next: State) {
        self.state = next;
        self.transmit(cx);
    }

    #[inline(never)]
    fn transmit<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.sent = cx.now;
        self.units.send(cx.now);
        cx.recorder.round_trip();
        let Some(link) = &mut self.link else { return };
        match link.transmit(&mut cx.io, self.socket, &mut cx.sealed) {
            Ok(()) => self.trace_receiving(cx),
            Err(reason) => self.not_transmitted(cx, reason),
        }
    }

    #[cold]
    #[inline(never)]
    fn not_transmitted<I: Io>(&mut self, cx: &mut Context<'_, I>, reason: Option<String>) {
        self.lose_connection(cx, reason.as_deref());
    }

    #[cold]
    fn trace_script<I: Io>(&self, cx: &Context<'_, I>) {
        let script = &cx.program(self.script).script().name;
        cx.trace(|| format!("client {} executing script \"{script}\"", self.id));
    }

    #[cold]
    fn trace_sending<I: Io>(&self, cx: &Context<'_, I>, statement: &Statement) {
        cx.trace(|| {
            let program = cx.program(self.script);
            let text = || program.statement_text(self.command, &self.vars);
            let name = statement
                .prepare
                .as_ref()
                .map(|prepare| prepare.name.clone());
            let what = name.or_else(text).unwrap_or_default();
            format!("client {} sending {what}", self.id)
        });
    }

    /// Tells which statement is being prepared. (pgbench asks for one at a time.)
    fn trace_preparing<I: Io>(&self, cx: &Context<'_, I>) {
        cx.trace(|| {
            let number = self.link.as_ref().and_then(Link::being_prepared);
            let program = cx.program(self.script);
            let command = number.and_then(|number| program.prepared(number));
            let statement = command.and_then(|command| program.statement(command));
            let prepare = statement.and_then(|statement| statement.prepare.as_ref());
            let name = prepare.map_or("", |prepare| &prepare.name);
            format!("client {} preparing {name}", self.id)
        });
    }

    /// Tells that the answer to a command is looked for.
    fn trace_receiving<I: Io>(&self, cx: &Context<'_, I>) {
        if cx.drive.debug && matches!(self.state, State::WaitResult | State::RollingBack) {
            cx.trace(|| format!("client {} receiving", self.id));
        }
    }

    #[cold]
    fn finish<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if let Some(outage) = self.outage.take() {
            outage.book(cx, false);
            if outage.holds_transaction() {
                planted!(19, return self.part(cx));
                self.is_cut_off = true;
                self.book_failed(cx);
            }
            if cx.schedule.is_none() {
                self.without.wants(0);
            }
        }
        self.book_wait(cx, cx.now, false);
        // A transaction that is forgotten must not hold up the keys of others.
        self.draws.end();
        self.part(cx);
    }

    pub(crate) fn disconnect<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let begun = self.link.is_some().then(|| cx.clock.now());
        if let Some(mut link) = self.link.take() {
            let _ = link.say_goodbye(&mut cx.io, self.socket, &mut cx.sealed);
        }
        cx.io.close(self.socket);
        self.is_cancelled = false;
        if let Some(begun) = begun {
            self.note_closing(cx, begun);
        }
        self.block_undone(cx);
        cx.deadlines.clear(self.key);
        self.in_pipeline = false;
    }

    /// It has closed a connection, and began to then.
    fn note_closing<I: Io>(&mut self, cx: &Context<'_, I>, begun: Nanos) {
        let closed = cx.clock.now();
        let latency = closed.saturating_sub(begun) + std::mem::take(&mut self.parting);
        self.closing = Some(Closing {
            at_us: cx.recorder.at_us(closed),
            latency_us: micros(latency),
        });
    }

    /// Has the statement cancelled whose answer has not come. That the connection ends is no reason
    /// to the server to end a statement that waits for a lock.
    fn cancel<I: Io>(&self, cx: &mut Context<'_, I>) {
        let (Some(link), Some(endpoint)) = (&self.link, self.endpoint) else {
            return;
        };
        if link.awaited() > 0 {
            let candidate = &cx.drive.all_endpoints().candidates(endpoint)[self.candidate];
            cx.cancels.push(link.cancel_handle(candidate));
        }
    }

    /// Since when it has waited for an answer.
    pub(crate) fn waits_since(&self) -> Option<Nanos> {
        use State::{Beginning, Committing, Preparing, Restoring, RollingBack, WaitResult};
        let waits = matches!(
            self.state,
            Beginning | Committing | Preparing | Restoring | RollingBack | WaitResult
        );
        waits.then_some(self.sent)
    }

    /// The candidate of an endpoint from which it waits for anything, and since when; an answer to a
    /// statement, to its farewell, or a connection.
    pub(crate) fn waits_for(&self) -> Option<((usize, usize), Nanos)> {
        let connected = self.endpoint.map(|endpoint| (endpoint, self.candidate));
        match self.state {
            State::Connecting(ref attempt) => Some(attempt.waits_for()),
            State::Parting(_) => connected.zip(Some(self.parting)),
            _ => connected.zip(self.waits_since()),
        }
    }

    /// The run's time is over, and the server does not answer, nor a new connection.
    pub(crate) fn is_left_alone<I: Io>(&mut self, cx: &mut Context<'_, I>) -> Wait {
        let Some((_, since)) = self.waits_for() else {
            return self.advance(cx);
        };
        let waited = Duration::from_nanos(cx.now.saturating_sub(since));
        let reason = format!(
            "no answer for {:.1} s, and none to a new connection",
            waited.as_secs_f64()
        );
        match self.state {
            State::Connecting(ref attempt) => {
                let is_between = attempt.is_between();
                self.connects_in_vain(cx, (since, is_between), &reason);
            }
            State::Parting(_) => {
                // What comes after the end belongs to no transaction.
                self.disconnect(cx);
                self.leave(cx);
            }
            _ => return self.times_out(cx, reason),
        }
        self.advance(cx)
    }

    /// It has waited too long: the connection is as good as lost.
    pub(crate) fn times_out<I: Io>(&mut self, cx: &mut Context<'_, I>, reason: String) -> Wait {
        self.cancel(cx);
        self.last_words.get_or_insert((0, reason));
        self.lose_connection(cx, None);
        self.advance(cx)
    }

    /// It has waited too long for a statement: that is cancelled first.
    pub(crate) fn loses_patience<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        reason: String,
    ) -> Wait {
        if !self.is_owed() {
            return self.times_out(cx, reason);
        }
        self.cancel(cx);
        self.last_words.get_or_insert((0, reason));
        let was = std::mem::replace(&mut self.state, State::Finished);
        self.await_cancel(cx, Some(Box::new(was)))
    }

    /// The run is stopped: what has not ended is given up.
    pub(crate) fn give_up<I: Io>(&mut self, cx: &mut Context<'_, I>) -> Wait {
        self.stop(cx);
        self.wait_on()
    }

    fn stop<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if let State::Cancelled { was, .. } = &mut self.state {
            let Some(was) = was.take() else { return };
            self.state = *was;
        }
        match self.state {
            State::Finished | State::Aborted => return,
            State::Idle | State::Choose | State::Schedule | State::Begin => {}
            State::Throttled(_) | State::Resting(_) | State::Thinking | State::Leaving(_) => {}
            State::Connecting(ref attempt) if attempt.is_before_run() || attempt.is_between() => {}
            State::Connecting(_) | State::Reconnecting(_) if self.outage.is_some() => {}
            State::Parting(_) => return self.leave(cx),
            _ => {
                self.cancel(cx);
                self.is_cancelled = self.is_owed();
                if cx.drive.counts_as_pgbench {
                    self.tries = 1;
                }
                self.book_broken_off(cx, Failure::Interrupted);
            }
        }
        self.finish(cx);
        if !matches!(self.state, State::Cancelled { .. }) {
            self.leave(cx);
        }
    }
}
