//! What a client books: commands that were executed, transactions that ended.
//!
//! Most transactions are committed with their first try, and nothing is to be said of them but how long
//! they took. They are booked in a short way of their own.

use pgdyno_isolation::Status;
use pgdyno_platform::io::Io;
use pgdyno_script::Value;

use super::Client;
use super::link::Link;
use crate::context::Context;
use crate::record::Ended;
use pgdyno_measurement::{Failure, Outcome};
use pgdyno_platform::clock::Nanos;

impl Client {
    /// Books that the present command has been executed.
    #[inline(always)]
    pub(super) fn book_command<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let script = &cx.drive.scripts[self.script];
        if cx.drive.time_every_command {
            self.read_clock(cx);
        } else if !script.program.is_timed(self.command) {
            return;
        }
        // With the second of its end, as the transaction: the warm-up may end between the two.
        cx.rotate(cx.now);
        let latency = cx.now.saturating_sub(self.command_begun);
        let is_missing = self.command_has_missed && script.must_find;
        cx.recorder
            .command(self.script, self.command, latency, is_missing);
    }

    /// Only the answers to statements come with a time.
    #[cold]
    #[inline(never)]
    fn read_clock<I: Io>(&self, cx: &mut Context<'_, I>) {
        if cx.program(self.script).statement(self.command).is_none() {
            cx.now = cx.clock_now();
        }
    }

    /// The same, where there is seldom anything to book.
    #[inline(never)]
    pub(super) fn book_computed<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.book_command(cx);
    }

    /// Whether the present transaction, which is committed, is booked by [`Client::book_plain`].
    #[inline]
    pub(super) fn is_plain<I: Io>(&self, cx: &Context<'_, I>) -> bool {
        cx.books_plainly && self.tries == 1 && !self.has_missed && !self.without.has_lost()
    }

    /// Books a transaction that is committed with its first try, the client's first one since its last
    /// commit, where [`Context::books_plainly`]: as [`Client::book`] does, without what cannot be.
    #[inline]
    pub(super) fn book_plain<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let at = cx.now;
        self.tried = None;
        self.draws.end();
        cx.rotate(at);
        self.ended_transactions += u64::from(cx.recorder.is_measuring());
        let times = (self.begun, at);
        let service_us = cx.recorder.committed(self.script, times, self.statements);
        if let Some(delay) = self.delay.take() {
            cx.recorder.probe.ended();
            cx.recorder.follow(service_us, service_us, delay);
        }
        cx.recorder.took(service_us, (self.script, self.id, at));
        let waited = (self.without.committed(), at);
        cx.recorder
            .client_waited((self.id, &self.without), waited, true);
        self.without.over(at);
    }

    /// Books that the present transaction is committed; whether the client goes on.
    #[inline(never)]
    pub(super) fn book_committed<I: Io>(&mut self, cx: &mut Context<'_, I>) -> bool {
        let mut ended = self.ended(cx, Outcome::Committed);
        let script = &cx.drive.scripts[self.script];
        if let Some(slot) = script.server_retries {
            let reported = self.vars.value(slot);
            let Ok(Value::Int(retries @ 0..)) = reported else {
                let text = format!(
                    "aborted: the variable {} should hold the number of the server's retries, \
                     but is not a count",
                    self.vars.name(slot)
                );
                self.abort(cx, Failure::Script, &text);
                return false;
            };
            ended.server_retries = retries as u64;
        }
        if script.must_find && self.has_missed {
            ended.outcome = Outcome::Failed(Failure::RowMissing);
        }
        if script.counts_missing && self.has_missed {
            cx.recorder.missed_rows();
        }
        self.tried = None;
        self.book(cx, ended);
        true
    }

    pub(super) fn ended<I: Io>(&self, cx: &Context<'_, I>, outcome: Outcome) -> Ended {
        let Self {
            tries,
            scheduled,
            begun,
            statements,
            ..
        } = *self;
        Ended {
            client: self.id,
            place: self.place,
            number: 0,
            outcome,
            tries,
            given_up: None,
            tried: self.tried.unwrap_or(begun),
            statements,
            server_retries: 0,
            scheduled,
            begun,
            at: cx.now,
            delay: None,
        }
    }

    /// Books the end of a transaction.
    #[inline(never)]
    pub(super) fn book<I: Io>(&mut self, cx: &mut Context<'_, I>, mut ended: Ended) {
        self.draws.end();
        match ended.outcome {
            Outcome::Unknown => self.observed_ended(cx, Status::Unknown),
            Outcome::Failed(_) => self.observed_ended(cx, Status::Aborted),
            Outcome::Committed | Outcome::Skipped => {}
        }
        cx.rotate(ended.at);
        if cx.recorder.is_measuring() {
            self.ended_transactions += 1;
            let is_done = matches!(
                ended.outcome,
                Outcome::Committed | Outcome::Failed(Failure::RowMissing)
            );
            self.uncounted += u64::from(cx.drive.counts_committed && !is_done);
        }
        ended.number = self.ended_transactions;
        self.book_receipt(cx, ended.outcome, ended.at);
        ended.delay = self.delay.take();
        if ended.delay.is_some() {
            cx.recorder.probe.ended();
        }
        cx.recorder.transaction(self.script, &ended);
        let wanted = match cx.schedule {
            Some(_) => ended.scheduled,
            None => 0,
        };
        if ended.outcome != Outcome::Committed {
            return self.without.lost(wanted, ended.outcome);
        }
        self.without.wants(wanted);
        self.book_wait(cx, ended.at, true);
        self.without.over(ended.at);
    }

    /// Books how long it has waited for a commit that has come, or will not come any more.
    pub(super) fn book_wait<I: Io>(&self, cx: &mut Context<'_, I>, at: Nanos, is_over: bool) {
        if let Some(since) = self.without.since() {
            let waited = (since, at);
            cx.recorder
                .client_waited((self.id, &self.without), waited, is_over);
        }
    }

    /// Books a transaction that ends before all of its answers have come: failed, unless the server
    /// may be committing it.
    pub(super) fn book_broken_off<I: Io>(&mut self, cx: &mut Context<'_, I>, failure: Failure) {
        let may_be_committed = self.link.as_ref().is_some_and(Link::may_be_committing);
        let outcome = if may_be_committed {
            Outcome::Unknown
        } else {
            Outcome::Failed(failure)
        };
        planted!(6, let outcome = Outcome::Failed(failure); let ended = self.ended(cx, outcome); return self.book(cx, ended););
        let ended = self.ended(cx, outcome);
        if may_be_committed || failure == Failure::Interrupted {
            self.tried = None;
        }
        self.lose_try(cx);
        self.book(cx, ended);
    }
}
