//! Why a try of a transaction has failed, and how a client goes on: pgbench's rules.

use pgdyno_isolation::Status;
use pgdyno_platform::io::Io;
use pgdyno_wire::backend::{ErrorFields, TransactionStatus};
use pgdyno_wire::{ConnectError, ConnectErrorKind, ServerError};

use super::link::Link;
use super::{Client, State};
use crate::clock::nanos;
use crate::context::Context;
use crate::record::{Cause, GivenUp, Then};
use crate::retry;
use crate::rules::{CONNECTION_LOST, ROLLED_BACK};
use pgdyno_measurement::{Failure, Level, Outcome};
use pgdyno_platform::clock::Nanos;
use pgdyno_spec::{ErrorClass, ErrorRule, OnConnectionLoss, OnError, OnLastTry, QueryMode};

/// SQLSTATE of a duplicate key.
const UNIQUE_VIOLATION: [u8; 5] = *b"23505";

const SEND_FAILED: &str = "SQL command send failed";

/// What went wrong in a try.
#[derive(Debug)]
pub(super) struct TransactionError {
    pub(super) failure: Failure,
    /// The number of the query within its command (a command may hold several, or a pipeline).
    pub(super) query: u32,
    /// As libpq prints it; empty when it is not needed.
    pub(super) text: String,
    /// Whether the text has been reported already.
    pub(super) is_reported: bool,
    /// Whether a statement could not be prepared, and has not been executed yet.
    pub(super) is_of_preparing: bool,
    /// What it is known by; `None` for what is not the server's.
    pub(super) cause: Option<Cause>,
}

impl TransactionError {
    fn class(&self) -> Option<ErrorClass> {
        self.cause.map(Cause::class)
    }

    fn is_retryable<I: Io>(&self, cx: &Context<'_, I>) -> bool {
        self.cause.is_some_and(|cause| is_retryable(cx, cause))
    }
}

/// Whether what is known by this may be tried again.
fn is_retryable<I: Io>(cx: &Context<'_, I>, cause: Cause) -> bool {
    let is_open = cause.class() == ErrorClass::Ambiguous;
    let is_duplicate = cx.drive.retries_duplicates && cause.sqlstate == UNIQUE_VIOLATION;
    cause.is_retryable() || is_duplicate || (cx.drive.retries_every_error && !is_open)
}

/// Whether a client goes on after a failed try.
fn survives<I: Io>(cx: &Context<'_, I>, cause: Option<Cause>) -> bool {
    cause.is_some_and(|cause| {
        let is_settled = matches!(
            cause.class(),
            ErrorClass::Ambiguous | ErrorClass::RolledBack
        );
        is_settled || is_retryable(cx, cause) || cx.drive.on_error == OnError::Continue
    })
}

/// What an error of the server is known by.
fn cause_of<I: Io>(cx: &Context<'_, I>, failure: Failure, message: &[u8]) -> Option<Cause> {
    let Failure::Sqlstate(sqlstate) = failure else {
        return None;
    };
    Some(Cause {
        rule: ErrorRule::find(cx.drive.errors, failure.code(), message),
        sqlstate,
    })
}

impl Client {
    /// What goes through `State::Error`: a whole answer has been read and it held an error.
    #[inline(never)]
    pub(super) fn clean_up<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.in_pipeline = false;
        let Some(error) = &self.error else {
            return self.state = State::EndCommand;
        };
        self.failed_at = Some((cx.now, self.place));
        if !survives(cx, error.cause) {
            let (failure, is_reported) = (error.failure, error.is_reported);
            let text = self.aborted_text(cx, error);
            return if is_reported {
                self.end_aborted(cx, failure)
            } else {
                self.abort(cx, failure, &text)
            };
        }
        if cx.drive.verbose_errors {
            let (id, what) = (self.id, &error.text);
            let text = if cx.drive.speaks_as_pgbench {
                format!(
                    "client {id} got an error in command {} (SQL) of script {}; {what}",
                    self.command, self.script
                )
            } else {
                format!("client {id} got an error at {what}")
            };
            cx.say(Level::Info, text);
        }
        let Some(link) = &mut self.link else {
            return self.abort_disconnected(cx, "no connection");
        };
        planted!(12, return self.try_again(cx));
        if link.status() == TransactionStatus::Idle {
            return self.after_rollback(cx);
        }
        let block = cx.program(self.script).block();
        let block =
            block.filter(|block| (block.savepoint + 1..=block.release).contains(&self.command));
        match block {
            Some(block) if self.may_retry(cx) => {
                if let Some(link) = &mut self.link {
                    link.simple(&block.rollback);
                }
                self.transmit_and(cx, State::Restoring);
            }
            _ => self.roll_back(cx),
        }
    }

    /// That the client ends with this error.
    fn aborted_text<I: Io>(&self, cx: &Context<'_, I>, error: &TransactionError) -> String {
        if cx.drive.speaks_as_pgbench {
            format!(
                "script {} aborted in command {} query {}: {}",
                self.script, self.command, error.query, error.text
            )
        } else {
            format!("aborted at {}", error.text)
        }
    }

    fn roll_back<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if let Some(link) = &mut self.link {
            link.simple("ROLLBACK");
        }
        self.transmit_and(cx, State::RollingBack);
    }

    /// The server remarks something. While it commits that may be that the commit is not what was asked
    /// for: PostgreSQL says so in a warning when a wait for synchronous standbys is cancelled, and then
    /// answers COMMIT as always.
    pub(super) fn heed_warning<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        warning: ErrorFields<'_>,
    ) {
        if !self.link.as_ref().is_some_and(Link::may_be_committing) {
            return;
        }
        let failure = Failure::from_sqlstate(warning.sqlstate().unwrap_or_default());
        let cause = cause_of(cx, failure, warning.get(b'M').unwrap_or_default());
        let is_of_rule = |cause: Cause| cause.class() == ErrorClass::Ambiguous;
        if cause.is_some_and(is_of_rule) {
            self.server_error(cx, warning);
        }
    }

    /// The server says that something went wrong.
    pub(super) fn server_error<I: Io>(&mut self, cx: &mut Context<'_, I>, error: ErrorFields<'_>) {
        self.units.forget();
        let failure = Failure::from_sqlstate(error.sqlstate().unwrap_or_default());
        let cause = cause_of(cx, failure, error.get(b'M').unwrap_or_default());
        if self.reply.is_copying {
            // To pgbench's client library it is a remark about the end of COPY.
            let text = ServerError::new(error).libpq_text(None);
            cx.say(Level::Notice, text);
            return self.end_aborted(cx, Failure::Script);
        }
        let query = self.reply.queries();
        let severity = error.get(b'V').or_else(|| error.get(b'S'));
        if matches!(severity, Some(b"FATAL" | b"PANIC")) {
            // The connection ends with these words, and the transaction with the connection.
            let text = ServerError::new(error).libpq_text(None);
            if let Some(cause) = cause {
                cx.recorder.reasons().seen(cause, || text.clone());
                self.last_cause = Some(cause);
            }
            self.last_words = Some((query, text));
            return;
        }
        let is_preparing = matches!(self.state, State::Preparing);
        let survives = survives(cx, cause);
        if let Some(cause) = cause {
            let text = || ServerError::new(error).libpq_text(None);
            cx.recorder.reasons().seen(cause, text);
        }
        // What happens over and over in silence shall not cost memory and formatting.
        let is_silent = !cx.drive.verbose_errors && cx.drive.on_last_try == OnLastTry::FailOnly;
        let text = if survives && is_silent {
            String::new()
        } else {
            self.error_text(cx, &ServerError::new(error))
        };
        match &mut self.link {
            Some(link) if is_preparing && survives => link.not_prepared(),
            _ if is_preparing && cx.drive.speaks_as_pgbench => cx.say(Level::Error, text.clone()),
            _ => {}
        }
        match &mut self.error {
            // What could not be prepared fails once more when it is executed. pgbench tells the
            // second error, but the first one is the reason.
            Some(first) if cx.drive.speaks_as_pgbench && !is_preparing && first.is_of_preparing => {
                (first.text, first.query, first.is_of_preparing) = (text, query, false);
            }
            // The first one is the reason; what follows in a pipeline is its consequence.
            Some(_) => {}
            none => {
                *none = Some(TransactionError {
                    failure,
                    query,
                    text,
                    is_reported: false,
                    is_of_preparing: is_preparing,
                    cause,
                });
            }
        }
    }

    /// An error of the server as messages have it, with its place.
    fn error_text<I: Io>(&self, cx: &Context<'_, I>, error: &ServerError) -> String {
        let command = self.spoken_of(cx);
        if !cx.drive.speaks_as_pgbench {
            return self.placed_error(cx, command.unwrap_or(self.command), error);
        }
        let program = cx.program(self.script);
        // libpq does not know the statement when it executes what was prepared before.
        let is_known =
            matches!(self.state, State::Preparing) || program.mode() != QueryMode::Prepared;
        let command = command.filter(|_| is_known);
        let statement = command.and_then(|command| program.statement_text(command, &self.vars));
        error.libpq_text(statement.as_deref())
    }

    /// The command whose statement the server speaks of.
    fn spoken_of<I: Io>(&self, cx: &Context<'_, I>) -> Option<usize> {
        let program = cx.program(self.script);
        let link = self.link.as_ref()?;
        match self.state {
            State::Preparing => program.prepared(link.being_prepared()?),
            _ if program.statement(self.command).is_some() => Some(self.command),
            _ => link.answered_command(),
        }
    }

    /// All statements that the server was asked to prepare have been answered.
    pub(super) fn after_preparing<I: Io>(&mut self, cx: &Context<'_, I>) {
        self.state = match &self.error {
            Some(error) if survives(cx, error.cause) => State::Error,
            _ if cx.program(self.script).statement(self.command).is_none() => {
                self.enter_pipeline();
                State::EndCommand
            }
            _ => State::Command,
        };
    }

    /// The failed try has been rolled back: once more, or not.
    pub(super) fn after_rollback<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if self.link.as_ref().map(Link::status) != Some(TransactionStatus::Idle) {
            // What comes next would be executed in a block that is not its own.
            let text = "aborted while rolling back the transaction after an error";
            return self.abort(cx, Failure::Script, text);
        }
        self.block_undone(cx);
        if cx.drive.counts_as_pgbench && cx.is_past_end() {
            self.error = None;
            return self.finish(cx);
        }
        self.try_again(cx);
    }

    /// The failed try has been rolled back to its savepoint.
    pub(super) fn after_restoring<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if self.link.as_ref().map(Link::status) != Some(TransactionStatus::InTransaction) {
            let text = "aborted while rolling back to the savepoint after an error";
            return self.abort(cx, Failure::Script, text);
        }
        self.try_again(cx);
    }

    /// What follows a try that has failed and was rolled back.
    pub(super) fn try_again<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.lose_try(cx);
        if std::mem::take(&mut self.is_given_up) || !self.may_retry(cx) {
            self.is_cut_off |= self.has_tries_left(cx) && cx.is_time_up();
            return self.give_transaction_up(cx);
        }
        let backoff = cx.drive.backoff.as_ref();
        let pause = backoff.map_or(0, |backoff| {
            retry::pause(backoff, self.tries, &mut self.pauses)
        });
        let (since, until) = (cx.now, cx.now.saturating_add(pause));
        let is_too_late = |deadline| until.saturating_sub(self.begun) > nanos(deadline);
        if cx.drive.retry_deadline.is_some_and(is_too_late) {
            // There is nothing to wait for.
            self.give_transaction_up(cx);
        } else if until >= cx.end {
            self.is_cut_off = true;
            self.give_transaction_up(cx);
        } else if pause == 0 {
            self.state = State::Retry;
        } else {
            self.state = State::BackingOff { since, until };
        }
    }

    /// The pause before the next try is over, or the run is.
    #[inline(never)]
    pub(super) fn end_pause<I: Io>(&mut self, cx: &mut Context<'_, I>, since: Nanos) {
        cx.recorder.rotate(cx.now);
        cx.recorder
            .paused(self.script, cx.now.saturating_sub(since));
        if cx.is_time_up() {
            self.is_cut_off = true;
            self.give_transaction_up(cx);
        } else {
            self.state = State::Retry;
        }
    }

    /// There is no other try: the transaction has failed when nothing of it is open any more.
    fn give_transaction_up<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        match self.link.as_ref().map(Link::status) {
            Some(TransactionStatus::Idle) => self.state = State::Failed,
            _ => {
                self.is_given_up = true;
                self.roll_back(cx);
            }
        }
    }

    /// Books the present try, if there is one, as thrown away.
    pub(super) fn lose_try<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let is_ambiguous = |error: &TransactionError| error.class() == Some(ErrorClass::Ambiguous);
        // Then it is booked with its transaction.
        if self.error.as_ref().is_some_and(is_ambiguous) || self.is_released(cx) {
            return;
        }
        let Some(tried) = self.tried.take() else {
            return;
        };
        self.observed_ended(cx, Status::Aborted);
        cx.recorder.rotate(cx.now);
        let times = (
            cx.now.saturating_sub(tried),
            cx.now.saturating_sub(self.scheduled),
        );
        cx.recorder.try_lost(self.script, times, self.statements);
    }

    /// The connection is lost with a transaction under way; `words` says how. Whether that is tried
    /// again on the next connection; if not, it is booked. It is only where nothing of it can have been
    /// committed.
    pub(super) fn lose_transaction<I: Io>(&mut self, cx: &mut Context<'_, I>, words: &str) -> bool {
        if !self.is_lost_for_certain(cx) {
            self.count_error(cx, Then::Fail);
            self.book_broken_off(cx, Failure::ConnectionLost);
            return false;
        }
        self.failed_at.get_or_insert((cx.now, self.place));
        let is_known = { self.error.as_ref() }.is_some_and(|error| error.is_retryable(cx));
        if !is_known {
            let reported = self
                .last_cause
                .or(self.error.as_ref().and_then(|error| error.cause));
            let cause = Cause {
                rule: Some(CONNECTION_LOST),
                sqlstate: reported.map_or([0; 5], |reported| reported.sqlstate),
            };
            cx.recorder.reasons().seen(cause, || words.to_owned());
            self.error = Some(TransactionError {
                failure: Failure::ConnectionLost,
                query: self.reply.queries(),
                text: self.reason_text(cx, words),
                is_reported: false,
                is_of_preparing: false,
                cause: Some(cause),
            });
        }
        self.lose_try(cx);
        let is_given_up = std::mem::take(&mut self.is_given_up);
        if is_given_up || !self.may_retry(cx) {
            self.is_cut_off |= self.has_tries_left(cx) && cx.is_time_up();
            self.book_failed(cx);
            return false;
        }
        true
    }

    /// Whether a transaction whose connection is lost may be tried again, as far as the loss goes.
    fn is_lost_for_certain<I: Io>(&self, cx: &Context<'_, I>) -> bool {
        planted!(18, return cx.drive.retries_lost);
        // In a pause between tries it is known already.
        let may_have_committed = !matches!(self.state, State::BackingOff { .. })
            && self.link.as_ref().is_none_or(Link::may_have_committed);
        // What failed for another reason before has failed for that.
        let is_of_loss = self.error.as_ref().is_none_or(|error| {
            error.is_retryable(cx) || error.class() == Some(ErrorClass::Draining)
        });
        cx.drive.retries_lost && !may_have_committed && is_of_loss
    }

    /// pgbench's `doRetry`: only errors that may be tried again, within the tries allowed, the latency
    /// limit (counted from the scheduled start), the deadline of retries (counted from the first
    /// try) and the time of the run.
    fn may_retry<I: Io>(&self, cx: &Context<'_, I>) -> bool {
        self.has_tries_left(cx) && !cx.is_time_up()
    }

    /// The same, were the run not over.
    fn has_tries_left<I: Io>(&self, cx: &Context<'_, I>) -> bool {
        let is_retryable = self
            .error
            .as_ref()
            .is_some_and(|error| error.is_retryable(cx));
        let max_tries = cx.drive.max_tries;
        planted!(8, return is_retryable && self.tries <= max_tries);
        is_retryable
            && !self.is_released(cx)
            && (max_tries == 0 || self.tries < max_tries)
            && cx
                .latency_limit
                .is_none_or(|limit| cx.now.saturating_sub(self.scheduled) <= limit)
            && cx
                .drive
                .retry_deadline
                .is_none_or(|limit| cx.now.saturating_sub(self.begun) <= nanos(limit))
    }

    /// Whether the savepoint of the present try has been released, which has committed it.
    fn is_released<I: Io>(&self, cx: &Context<'_, I>) -> bool {
        let block = cx.program(self.script).block();
        block.is_some_and(|block| self.command > block.release)
    }

    #[inline(never)]
    pub(super) fn retry<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.tell_tries(cx, "repeats the transaction after the error");
        self.count_error(cx, Then::Retry);
        planted!(2, self.tries += 1);
        self.tries += 1;
        if let Some(link) = &mut self.link {
            link.begin_try();
        }
        self.random = self.random_at_begin.clone();
        self.units.restart();
        self.receipts.forget();
        self.stamping.forget();
        (self.error, self.has_missed) = (None, false);
        (self.tried, self.statements) = (Some(cx.now), 0);
        let is_idle = self.link.as_ref().map(Link::status) == Some(TransactionStatus::Idle);
        self.command = match cx.program(self.script).block() {
            Some(block) if !is_idle => {
                self.draws.replay();
                block.savepoint + 1
            }
            _ => {
                planted!(11, self.draws.end());
                self.draws.restart();
                0
            }
        };
        self.state = State::Command;
    }

    #[inline(never)]
    pub(super) fn fail_transaction<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        match self.book_failed(cx) {
            Some(error)
                if error.is_retryable(cx) && cx.drive.on_last_try == OnLastTry::EndClient =>
            {
                self.end_after_last_try(cx, &error);
            }
            _ => self.next_transaction(cx),
        }
    }

    /// Books a transaction whose last try has failed; says why it has.
    pub(super) fn book_failed<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
    ) -> Option<TransactionError> {
        self.tell_tries(cx, "ends the failed transaction");
        self.count_error(cx, Then::Fail);
        let error = self.error.take();
        let is_retryable = error.as_ref().is_some_and(|error| error.is_retryable(cx));
        let outcome = match &error {
            _ if self.is_released(cx) => Outcome::Unknown,
            Some(error) if error.class() == Some(ErrorClass::Ambiguous) => Outcome::Unknown,
            Some(error) => Outcome::Failed(error.failure),
            None => Outcome::Failed(Failure::Script),
        };
        let mut ended = self.ended(cx, outcome);
        ended.given_up = is_retryable.then_some(if self.is_cut_off {
            GivenUp::CutOff
        } else {
            GivenUp::AfterLastTry
        });
        self.book(cx, ended);
        error
    }

    /// The failed transaction is booked already.
    fn end_after_last_try<I: Io>(&mut self, cx: &mut Context<'_, I>, error: &TransactionError) {
        let text = self.aborted_text(cx, error);
        cx.say(Level::Error, format!("client {} {text}", self.id));
        self.disconnect(cx);
        self.state = State::Aborted;
        cx.client_aborted();
    }

    fn tell_tries<I: Io>(&self, cx: &Context<'_, I>, what: &str) {
        if !cx.drive.verbose_errors {
            return;
        }
        let mut text = format!("client {} {what} (try {}", self.id, self.tries);
        if cx.drive.max_tries > 0 {
            text += &format!("/{}", cx.drive.max_tries);
        }
        if let Some(limit) = cx.latency_limit {
            let used = cx.now.saturating_sub(self.scheduled) as f64 * 100.0 / limit as f64;
            text += &format!(", {used:.3}% of the maximum time of tries was used");
        }
        text.push(')');
        cx.say(Level::Info, text);
    }

    /// Counts the present error by what follows it.
    pub(super) fn count_error<I: Io>(&mut self, cx: &mut Context<'_, I>, then: Then) {
        // A lost connection's try is counted on the next one, which may be to another endpoint.
        let (failed_at, place) = self.failed_at.take().unwrap_or((cx.now, self.place));
        let failure = self.present_failure();
        cx.recorder.has_failed(failed_at, place, failure);
        let latency = failed_at.saturating_sub(self.command_begun);
        cx.recorder.error(self.script, self.command, latency, then);
        if then == Then::Retry {
            cx.recorder.retried_after(self.script, failure);
        }
        let cause = self.error.as_ref().and_then(|error| error.cause);
        if let Some(cause) = cause.or(self.last_cause.take()) {
            cx.recorder.reasons().lost(cause, then);
        }
    }

    /// What went wrong: the SQLSTATE that the server has said, also as its last words, or a lost
    /// connection.
    pub(super) fn present_failure(&self) -> Failure {
        let error = self.error.as_ref();
        let cause = error.and_then(|error| error.cause).or(self.last_cause);
        match cause {
            Some(cause) if cause.sqlstate != [0; 5] => Failure::Sqlstate(cause.sqlstate),
            _ => error.map_or(Failure::ConnectionLost, |error| error.failure),
        }
    }

    /// A server that refuses a connection is the reason why its transaction fails.
    pub(super) fn note_refusal<I: Io>(&mut self, cx: &mut Context<'_, I>, error: &ConnectError) {
        let ConnectErrorKind::Refused { error, .. } = error.kind() else {
            return;
        };
        let failure = Failure::from_sqlstate(error.sqlstate());
        let cause = cause_of(cx, failure, error.message().as_bytes());
        if let Some(cause) = cause {
            let text = || error.libpq_text(None);
            cx.recorder.reasons().seen(cause, text);
        }
        self.last_cause = cause;
    }

    /// COMMIT was answered with ROLLBACK.
    pub(super) fn rolled_back<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        planted!(15, return);
        let text = "the server answered COMMIT with ROLLBACK and no error";
        let cause = Cause::of_rule(ROLLED_BACK);
        if self.error.is_none() {
            cx.recorder.reasons().seen(cause, || text.to_owned());
        }
        let text = self.reason_text(cx, text);
        self.error.get_or_insert(TransactionError {
            failure: Failure::RolledBack,
            query: self.reply.queries(),
            text,
            is_reported: false,
            is_of_preparing: false,
            cause: Some(cause),
        });
    }

    /// `\error`: what must hold does not. The transaction has failed, and the run ends.
    pub(super) fn break_invariant<I: Io>(&mut self, cx: &mut Context<'_, I>, text: &str) {
        let script = cx.program(self.script).script();
        let line = script.commands.get(self.command).map_or(0, |c| c.line);
        let text = format!("{}:{line}: {text}", script.name);
        cx.say(
            Level::Error,
            format!("client {} found an invariant broken: {text}", self.id),
        );
        cx.end_run(text);
        self.end_aborted(cx, Failure::Invariant);
    }

    /// What went wrong at the present command, with its place in pgdyno's own words.
    fn reason_text<I: Io>(&self, cx: &Context<'_, I>, reason: &str) -> String {
        if cx.drive.speaks_as_pgbench {
            reason.to_owned()
        } else {
            self.placed(cx, reason)
        }
    }

    /// A command could not be executed; the client ends.
    #[cold]
    pub(super) fn abort_command<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        word: &str,
        reason: &str,
    ) {
        let text = if cx.drive.speaks_as_pgbench {
            format!(
                "aborted in command {} ({word}) of script {}; {reason}",
                self.command, self.script
            )
        } else {
            format!("aborted at {}", self.placed(cx, reason))
        };
        self.abort(cx, Failure::Script, &text);
    }

    /// The client ends with its transaction, and says why.
    #[cold]
    pub(super) fn abort<I: Io>(&mut self, cx: &mut Context<'_, I>, failure: Failure, text: &str) {
        cx.say(Level::Error, format!("client {} {text}", self.id));
        self.end_aborted(cx, failure);
    }

    #[cold]
    pub(super) fn end_aborted<I: Io>(&mut self, cx: &mut Context<'_, I>, failure: Failure) {
        self.count_error(cx, Then::Abort);
        // To pgbench a script that leaves a block open has been processed.
        if cx.drive.counts_as_pgbench && failure != Failure::OpenBlock {
            self.tries = 1;
        }
        self.book_broken_off(cx, failure);
        self.disconnect(cx);
        self.state = State::Aborted;
        cx.client_aborted();
    }

    /// The connection is gone in the middle of a transaction; `reason` says how, if there is more
    /// to say than that the server closed it.
    #[cold]
    pub(super) fn lose_connection<I: Io>(&mut self, cx: &mut Context<'_, I>, reason: Option<&str>) {
        if matches!(self.state, State::Parting(_)) {
            self.disconnect(cx);
            return self.leave(cx);
        }
        if matches!(self.state, State::Cancelled { .. }) {
            return self.end_cancelled(cx);
        }
        cx.recorder.lost(self.place);
        if cx.drive.on_connection_loss == OnConnectionLoss::Reconnect {
            let words = self.last_words.take().map(|(_, words)| words);
            let words = words.as_deref().or(reason);
            return self.begin_outage(cx, words.unwrap_or("the server closed it unexpectedly"));
        }
        let (script, command) = (self.script, self.command);
        let mut died = if cx.drive.speaks_as_pgbench {
            "perhaps the backend died while processing".to_owned()
        } else {
            "the connection is lost".to_owned()
        };
        if let Some(reason) = reason {
            died += &format!(": {reason}");
        }
        let text = match (&self.state, self.last_words.take()) {
            (State::RollingBack, words) if !cx.drive.speaks_as_pgbench => {
                let words = words.map_or(died, |(_, text)| text);
                format!("aborted while rolling back the transaction after an error: {words}")
            }
            (_, words) if !cx.drive.speaks_as_pgbench => {
                // Some servers hang up over an error that they do not call FATAL.
                let answer = self
                    .error
                    .as_ref()
                    .and_then(|error| error.text.lines().next());
                if let Some(answer) = answer {
                    let answer = answer.split_once("ERROR:").map_or(answer, |(_, text)| text);
                    died += &format!(" after \"{}\"", answer.trim());
                    if cx.program(script).mode() != QueryMode::Simple {
                        died += ": -M simple sends no parameters";
                    }
                }
                let words = words.map_or(died, |(_, words)| words);
                format!("aborted at {}", self.placed(cx, &words))
            }
            (State::Preparing, words) => {
                self.lost_while_preparing(cx, words.map(|(_, words)| words));
                let command = self.command;
                format!("aborted in command {command} (SQL) of script {script}; {SEND_FAILED}")
            }
            (State::RollingBack, words) => format!(
                "aborted while rolling back the transaction after an error; {}",
                words.map_or(died, |(_, text)| text)
            ),
            (_, Some((query, words))) => {
                format!("script {script} aborted in command {command} query {query}: {words}")
            }
            (_, None) => format!("aborted in command {command} (SQL) of script {script}; {died}"),
        };
        self.error = None;
        self.is_disconnected = true;
        self.abort(cx, Failure::ConnectionLost, &text);
    }

    /// Preparing a statement is a call of its own to pgbench, with an error of its own. It goes on
    /// until it wants to send a statement.
    fn lost_while_preparing<I: Io>(&mut self, cx: &mut Context<'_, I>, words: Option<String>) {
        let mut text = words.map_or(String::new(), |words| words + "\n");
        text += &ConnectErrorKind::Closed.to_string();
        cx.say(Level::Error, text);
        while self.link.as_mut().is_some_and(Link::prepare_next) {
            self.trace_preparing(cx);
            cx.say(Level::Error, "no connection to the server".to_owned());
        }
        let program = cx.program(self.script);
        while self.command < program.commands() {
            if let Some(statement) = program.statement(self.command) {
                self.trace_sending(cx, statement);
                cx.trace(|| {
                    let text = program.statement_text(self.command, &self.vars);
                    format!(
                        "client {} could not send {}",
                        self.id,
                        text.unwrap_or_default()
                    )
                });
                break;
            }
            self.command += 1;
        }
    }

    /// There is no connection where one is needed.
    #[cold]
    pub(super) fn abort_disconnected<I: Io>(&mut self, cx: &mut Context<'_, I>, reason: &str) {
        self.is_disconnected = true;
        cx.say(Level::Error, reason.to_owned());
        let text = "aborted while establishing connection";
        self.abort(cx, Failure::ConnectionRefused, text);
    }
}
