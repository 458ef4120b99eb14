//! Reading the server's answers: checked and counted, not decoded, unless the script asks for values.

use std::io;

use pgdyno_platform::io::Io;
use pgdyno_script::{Gset, GsetKind};
use pgdyno_wire::ServerError;
use pgdyno_wire::answer::{Answer, Ending, LongRow};
use pgdyno_wire::backend::{self, Frame, Message, ProtocolError, TransactionStatus, tag};
use pgdyno_wire::limits::ROW_KEPT_BYTES_MAX;

use super::error::TransactionError;
use super::link::{Link, broken};
use super::{Client, State, Wait};
use crate::context::Context;
use crate::program::{Program, Work};
use pgdyno_measurement::{Failure, Level, Units};
use pgdyno_spec::OnConnectionLoss;

/// What the CommandComplete of a ROLLBACK begins with.
const ROLLBACK: &[u8] = b"ROLLBACK";

/// What of an answer has been seen so far. Rows are kept only while a script asks for values, and
/// then as they came, in buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// Whether it is one at all.
    answer: Answer,
    /// A row that is passing by.
    long_row: Option<LongRow>,
    queries: u32,
    /// The present or last result.
    has_columns: bool,
    columns: Vec<u8>,
    rows: u64,
    last_row: Vec<u8>,
    /// Whether a result has ended since the last columns came.
    is_over: bool,
    /// Whether the next bytes may be all of the answer to one statement, of which nothing is looked into.
    pub(super) may_come_whole: bool,
    /// Whether anything of the present transaction's answers is asked for but that they come.
    pub(super) is_looked_into: bool,
    /// Answers of ROLLBACK in the present answer.
    rollbacks: u32,
    /// Whether the end of a COPY is awaited, and with it the client's.
    pub(super) is_copying: bool,
}

impl Reply {
    /// The number of the query that is being answered, as pgbench counts within what its client
    /// library takes for one answer.
    pub(super) fn queries(&self) -> u32 {
        self.queries
    }
}

impl Client {
    /// Bytes have come on the present connection.
    pub(crate) fn received<I: Io>(&mut self, cx: &mut Context<'_, I>, bytes: &[u8]) -> Wait {
        if matches!(self.state, State::Connecting(_)) {
            self.connecting_received(cx, bytes);
            return self.advance(cx);
        }
        if matches!(self.state, State::Finished | State::Leaving(_)) {
            return self.wait_on();
        }
        self.trace_arrival(cx);
        cx.recorder.came(bytes.len());
        let came = cx.now;
        if self.read(cx, bytes) {
            self.was_delayed(self.last_delay);
            if let Some(since) = self.answered_since.take() {
                cx.recorder.received_for(came.saturating_sub(since));
            }
            self.advance(cx)
        } else {
            self.answered_since.get_or_insert(came);
            self.wait_on()
        }
    }

    /// The connection has ended, with an error or without.
    #[cold]
    pub(crate) fn closed<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        error: Option<&io::Error>,
    ) -> Wait {
        if self.connection_ended(cx, error) {
            self.advance(cx)
        } else {
            self.wait_on()
        }
    }

    /// The connection has ended; whether the client goes on, which it else does when its time comes.
    #[cold]
    fn connection_ended<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        error: Option<&io::Error>,
    ) -> bool {
        match self.state {
            State::Connecting(_) => self.connecting_closed(cx, error),
            State::Finished | State::Aborted => self.disconnect(cx),
            State::Leaving(_) => self.has_left(cx),
            State::Cancelled { .. } => self.end_cancelled(cx),
            State::Parting(_) => {
                self.disconnect(cx);
                self.leave(cx);
            }
            // As in pgbench it is the next statement that finds out.
            State::Idle => cx.io.close(self.socket),
            State::Choose
            | State::Schedule
            | State::Throttled(_)
            | State::Resting(_)
            | State::Begin
            | State::Sleeping
            | State::Thinking
            | State::BackingOff { .. }
                if cx.drive.on_connection_loss == OnConnectionLoss::EndClient =>
            {
                cx.io.close(self.socket);
                return false;
            }
            _ => {
                if self.last_words.is_none() {
                    self.trace_arrival(cx);
                }
                let reason = error.and_then(|error| broken(error, "receive data from"));
                self.lose_connection(cx, reason.as_deref());
            }
        }
        true
    }

    /// What the server sends is no answer: the connection ends here, and what was under way has
    /// failed. True when the client goes on.
    #[cold]
    fn answer_is_none<I: Io>(&mut self, cx: &mut Context<'_, I>, error: &ProtocolError) -> bool {
        self.last_words = Some((self.reply.queries, error.to_string()));
        if matches!(self.state, State::Preparing) {
            // Not what pgbench does when the server hangs up there: it has not.
            self.state = State::WaitResult;
        }
        self.connection_ended(cx, None)
    }

    pub(crate) fn due<I: Io>(&mut self, cx: &mut Context<'_, I>) -> Wait {
        if matches!(self.state, State::Connecting(_)) {
            self.connecting_due(cx);
        }
        self.advance(cx)
    }

    /// Tells that pgbench would look at what has come: once the first result of an answer is there,
    /// it waits for the rest without a word.
    #[inline]
    fn trace_arrival<I: Io>(&self, cx: &Context<'_, I>) {
        if !cx.drive.debug {
            return;
        }
        let has_begun = self.has_failed_answer() || self.reply.queries > 0;
        if !has_begun || matches!(self.state, State::RollingBack) {
            self.trace_receiving(cx);
        }
    }

    /// Whether the answer that is being read holds an error.
    fn has_failed_answer(&self) -> bool {
        let is_of_answer = |error: &TransactionError| !error.is_of_preparing;
        self.error.as_ref().is_some_and(is_of_answer)
    }

    pub(super) fn wait_on(&self) -> Wait {
        match self.state {
            State::Throttled(until) | State::Resting(until) => Wait::Until(until),
            State::Sleeping | State::Thinking => Wait::Until(self.sleep_until),
            State::BackingOff { until, .. }
            | State::Parting(until)
            | State::Leaving(until)
            | State::Cancelled { until, .. } => Wait::Until(until),
            State::Finished | State::Aborted => Wait::Ended,
            _ => Wait::Input,
        }
    }

    /// What came with the end of the start-up is looked at before anything is asked for: an answer
    /// among it is none to what is asked next.
    pub(super) fn read_leftover<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let has_any = self
            .link
            .as_ref()
            .is_some_and(|link| !link.partial.is_empty());
        if has_any {
            self.read_plain(cx, &[]);
        }
    }

    /// Takes messages apart; true when what the client waits for is complete.
    #[inline]
    pub(super) fn read<I: Io>(&mut self, cx: &mut Context<'_, I>, bytes: &[u8]) -> bool {
        if self.link.as_ref().is_some_and(Link::is_plain) {
            self.read_plain(cx, bytes)
        } else {
            self.read_sealed(cx, bytes)
        }
    }

    /// The same of bytes that are not what they say.
    #[inline(never)]
    fn read_sealed<I: Io>(&mut self, cx: &mut Context<'_, I>, bytes: &[u8]) -> bool {
        let Some(link) = &mut self.link else {
            return false;
        };
        let mut opened = std::mem::take(&mut cx.opened);
        let is_complete = match link.open(bytes, &mut opened) {
            Ok(bytes) => self.read_plain(cx, bytes),
            Err(reason) => {
                self.lose_connection(cx, Some(&reason));
                true
            }
        };
        cx.opened = opened;
        is_complete
    }

    /// Takes messages apart that stand in `bytes` after what is left of the last ones.
    #[inline(never)]
    fn read_plain<I: Io>(&mut self, cx: &mut Context<'_, I>, mut bytes: &[u8]) -> bool {
        let Some(link) = &mut self.link else {
            return false;
        };
        let mut is_complete = false;
        if std::mem::take(&mut self.reply.may_come_whole)
            && matches!(self.state, State::WaitResult)
            && self.error.is_none()
            && self.last_words.is_none()
        {
            let (used, ending) = self.reply.answer.take_whole(bytes);
            if let Some(ending) = ending {
                self.answered_whole(cx, ending);
                return true;
            }
            bytes = &bytes[used..];
        }
        if link.partial.is_empty() {
            let used = self.read_frames(cx, bytes, &mut is_complete);
            if used < bytes.len()
                && let Some(link) = &mut self.link
            {
                link.partial.extend_from_slice(&bytes[used..]);
                planted!(10, link.partial.clear());
            }
        } else {
            let mut partial = std::mem::take(&mut link.partial);
            partial.extend_from_slice(bytes);
            let used = self.read_frames(cx, &partial, &mut is_complete);
            partial.drain(..used);
            planted!(10, partial.clear());
            if let Some(link) = &mut self.link {
                link.partial = partial;
            }
        }
        self.book_units(cx);
        is_complete
    }

    /// Takes the whole messages at the beginning of `bytes` and says how long they are.
    fn read_frames<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        bytes: &[u8],
        is_complete: &mut bool,
    ) -> usize {
        let mut used = match self.pass_on(bytes) {
            Ok(used) => used,
            Err(error) => {
                *is_complete |= self.answer_is_none(cx, &error);
                return bytes.len();
            }
        };
        loop {
            if self.passes_over() {
                used += self.reply.answer.pass_over(&bytes[used..]);
            }
            match backend::split(&bytes[used..]) {
                Ok(Some(frame)) => {
                    used += frame.len;
                    if let Err(error) = self.check(&frame) {
                        *is_complete |= self.answer_is_none(cx, &error);
                        return bytes.len();
                    }
                    let says_nothing = match frame.tag {
                        tag::BIND_COMPLETE | tag::NO_DATA => true,
                        tag::ROW_DESCRIPTION | tag::DATA_ROW => !self.reply.is_looked_into,
                        _ => false,
                    };
                    if says_nothing {
                        continue;
                    }
                    *is_complete |= self.frame(cx, frame);
                    if self.link.is_none() {
                        return bytes.len();
                    }
                }
                Ok(None) => match self.pass_by(cx, &bytes[used..]) {
                    Ok(0) => return used,
                    Ok(passed) => used += passed,
                    Err(error) => {
                        *is_complete |= self.answer_is_none(cx, &error);
                        return bytes.len();
                    }
                },
                Err(error) => {
                    *is_complete |= self.answer_is_none(cx, &error);
                    return bytes.len();
                }
            }
        }
    }

    /// Whether an answer is due of which nothing is asked but that it comes: most of its messages are
    /// passed over.
    #[inline]
    fn passes_over(&self) -> bool {
        let is_due = self.link.as_ref().is_some_and(Link::is_asked);
        let is_over = matches!(self.state, State::Parting(_) | State::Cancelled { .. });
        is_due && !self.reply.is_looked_into && !is_over
    }

    /// Whether a message can stand where it is.
    #[inline(always)]
    fn check(&mut self, frame: &Frame<'_>) -> Result<(), ProtocolError> {
        let Some(link) = self.link.as_ref() else {
            return Ok(());
        };
        // What a client that leaves is still sent counts for nothing.
        if matches!(self.state, State::Parting(_) | State::Cancelled { .. }) {
            return Ok(());
        }
        self.reply.answer.take(frame)?;
        match frame.tag {
            tag::NOTICE_RESPONSE
            | tag::ERROR_RESPONSE
            | tag::PARAMETER_STATUS
            | tag::NOTIFICATION_RESPONSE => Ok(()),
            _ if !link.is_asked() => Err(ProtocolError::Unasked { tag: frame.tag }),
            tag::READY_FOR_QUERY => self.reply.answer.ready(link.due()),
            tag::COMMAND_COMPLETE | tag::EMPTY_QUERY_RESPONSE if link.pipeline_is_answered() => {
                Err(ProtocolError::Unasked { tag: frame.tag })
            }
            _ => Ok(()),
        }
    }

    /// Takes what has come of a row that is too long to be kept and whose values nothing asks for;
    /// says how much that was.
    fn pass_by<I: Io>(
        &mut self,
        cx: &Context<'_, I>,
        bytes: &[u8],
    ) -> Result<usize, ProtocolError> {
        let Some((mut row, head)) = LongRow::begin(bytes, &self.reply.answer)? else {
            return Ok(0);
        };
        let is_asked_for = self.gset(cx.program(self.script)).is_some()
            || self.is_unit(cx)
            || self.is_observed(cx);
        if is_asked_for {
            let (tag, limit) = (tag::DATA_ROW, ROW_KEPT_BYTES_MAX);
            let bytes = bytes.len() + backend::missing(bytes);
            return if bytes > limit {
                Err(ProtocolError::TooLong { tag, bytes, limit })
            } else {
                Ok(0)
            };
        }
        let used = head + row.take(&bytes[head..])?;
        self.reply.long_row = Some(row).filter(|row| !row.is_over());
        Ok(used)
    }

    /// Takes the part of `bytes` that is left of a long row, and says how long it is.
    fn pass_on(&mut self, bytes: &[u8]) -> Result<usize, ProtocolError> {
        let Some(row) = &mut self.reply.long_row else {
            return Ok(0);
        };
        let used = row.take(bytes)?;
        if row.is_over() {
            self.reply.long_row = None;
        }
        Ok(used)
    }

    /// One message; true when what the client waits for is complete.
    fn frame<I: Io>(&mut self, cx: &mut Context<'_, I>, frame: Frame<'_>) -> bool {
        match frame.tag {
            _ if matches!(self.state, State::Cancelled { .. }) => {
                return self.cancelled_frame(cx, &frame);
            }
            // FATAL means that the session has ended, whatever the server says then.
            tag::READY_FOR_QUERY if self.last_words.is_some() => {
                return self.connection_ended(cx, None);
            }
            tag::READY_FOR_QUERY => match frame.status() {
                Ok(status) => return self.ready(cx, status),
                // It has been checked.
                Err(_) => return false,
            },
            tag::COMMAND_COMPLETE | tag::EMPTY_QUERY_RESPONSE => {
                let done = frame.body.strip_suffix(b"\0").unwrap_or(frame.body);
                self.completed(cx, done);
            }
            _ => return self.other_frame(cx, frame),
        }
        false
    }

    /// A statement has been executed, says this text of its CommandComplete.
    fn completed<I: Io>(&mut self, cx: &mut Context<'_, I>, done: &[u8]) {
        let is_rollback = done.starts_with(ROLLBACK);
        if is_rollback {
            self.receipts.forget();
            self.stamping.forget();
            if cx.drive.checks_commit {
                self.answered_rollback(cx);
            }
        }
        self.heed_rows(done);
        if matches!(self.state, State::Parting(_)) && done.starts_with(b"COMMIT") {
            self.uncommitted = 0;
        }
        if is_rollback || self.reply.is_looked_into {
            self.unit_done(cx, done);
            self.observed_done(cx, done);
        }
        self.result_ended(cx);
    }

    /// The number of rows is the last word of a tag that has one.
    #[inline]
    fn heed_rows(&mut self, done: &[u8]) {
        let is_none = done.ends_with(b" 0");
        self.has_missed |= is_none;
        self.command_has_missed |= is_none;
    }

    /// The server is ready for more; true when that was what the client waits for.
    fn ready<I: Io>(&mut self, cx: &mut Context<'_, I>, status: TransactionStatus) -> bool {
        let has_failed = self.has_failed_answer();
        self.units_ready(status);
        let Some(link) = &mut self.link else {
            return true;
        };
        let is_reported = !has_failed && link.answers_sync();
        let syncs = link.awaited();
        let is_last = link.ready(status);
        if is_reported {
            let text = "pipeline ending, ongoing syncs";
            cx.trace(|| format!("client {} {text}: {syncs}", self.id));
        }
        if is_last {
            self.answered(cx);
            return true;
        }
        if matches!(self.state, State::Preparing) {
            self.trace_preparing(cx);
        }
        // To pgbench a synchronisation within a pipeline is a query of the next answer.
        self.reply.queries += 1;
        false
    }

    /// One message of those that few answers have, or whose rows are asked for; as [`Client::frame`].
    #[inline(never)]
    fn other_frame<I: Io>(&mut self, cx: &mut Context<'_, I>, frame: Frame<'_>) -> bool {
        match frame.tag {
            tag::ERROR_RESPONSE if matches!(self.state, State::Parting(_)) => {
                if let Ok(Message::ErrorResponse(fields)) = frame.parse() {
                    self.parting_error(cx, fields);
                }
            }
            tag::ERROR_RESPONSE => {
                if let Ok(Message::ErrorResponse(fields)) = frame.parse() {
                    self.server_error(cx, fields);
                }
            }
            tag::ROW_DESCRIPTION | tag::DATA_ROW => {
                if frame.tag == tag::DATA_ROW {
                    self.unit_row(cx, &frame);
                    self.observed_row(cx, &frame);
                    self.stamp_row(cx, &frame);
                }
                self.rows(cx, frame);
            }
            tag::NOTICE_RESPONSE => {
                if let Ok(Message::NoticeResponse(fields)) = frame.parse() {
                    self.heed_warning(cx, fields);
                    cx.notice(|| ServerError::new(fields));
                }
            }
            tag::COPY_IN_RESPONSE | tag::COPY_OUT_RESPONSE | tag::COPY_BOTH_RESPONSE => {
                let text = if cx.drive.speaks_as_pgbench {
                    "COPY is not supported in pgbench, aborting".to_owned()
                } else {
                    let text =
                        "COPY is not supported in scripts, but from and to files of the server";
                    format!("client {} aborted at {}", self.id, self.placed(cx, text))
                };
                cx.say(Level::Error, text);
                if frame.tag == tag::COPY_IN_RESPONSE && self.end_copy_of_pipeline(cx) {
                    return false;
                }
                self.end_aborted(cx, Failure::Script);
                return true;
            }
            // Everything else tells nothing that a script could ask for.
            _ => {}
        }
        false
    }

    /// Ends a COPY from the client within a pipeline, as pgbench does, so that the server says what
    /// it thinks of the statements behind it; false where none can be.
    fn end_copy_of_pipeline<I: Io>(&mut self, cx: &mut Context<'_, I>) -> bool {
        let Some(link) = self.link.as_mut().filter(|link| link.answers_sync()) else {
            return false;
        };
        self.reply.is_copying = true;
        link.end_copy();
        link.transmit(&mut cx.io, self.socket, &mut cx.sealed)
            .is_ok()
    }

    /// Where the present command's values go, if the script asks for them.
    fn gset<'run>(&self, program: &'run Program) -> Option<&'run Gset> {
        match self.state {
            State::WaitResult => program.statement(self.command)?.gset.as_ref(),
            _ => None,
        }
    }

    /// Columns or a row of a result.
    fn rows<I: Io>(&mut self, cx: &Context<'_, I>, frame: Frame<'_>) {
        if self.gset(cx.program(self.script)).is_none() {
            return;
        }
        let reply = &mut self.reply;
        let kept = if frame.tag == tag::ROW_DESCRIPTION {
            (reply.has_columns, reply.rows, reply.is_over) = (true, 0, false);
            &mut reply.columns
        } else {
            reply.rows += 1;
            &mut reply.last_row
        };
        kept.clear();
        kept.extend_from_slice(frame.body);
    }

    /// The server has rolled something back. Unless it was asked to, that was a COMMIT.
    fn answered_rollback<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if !matches!(self.state, State::WaitResult) {
            return;
        }
        let program = cx.program(self.script);
        let piped = || self.link.as_ref()?.answered_command();
        let (statement, rollbacks) = match program.statement(self.command) {
            Some(statement) => {
                self.reply.rollbacks += 1;
                (Some(statement), self.reply.rollbacks)
            }
            None => (piped().and_then(|command| program.statement(command)), 1),
        };
        let asked_for = statement.and_then(|statement| statement.rollbacks);
        if asked_for.is_some_and(|asked_for| rollbacks > asked_for) {
            self.rolled_back(cx);
        }
    }

    fn result_ended<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if self.reply.is_copying {
            return self.end_aborted(cx, Failure::Script);
        }
        let program = cx.program(self.script);
        let Some(gset) = self.gset(program) else {
            // In a pipeline each query is an answer of its own.
            let is_of_pipeline = program.statement(self.command).is_none();
            if is_of_pipeline {
                self.reply.queries = 0;
                if let Some(link) = &mut self.link {
                    link.piped_answered();
                }
                if !self.has_failed_answer() {
                    self.trace_receiving(cx);
                }
            } else {
                self.reply.queries += 1;
            }
            return;
        };
        if self.reply.is_over {
            // This one had no columns; those kept are of a result before it.
            (self.reply.has_columns, self.reply.rows) = (false, 0);
        }
        self.reply.is_over = true;
        // The first that cannot be stored ends it.
        if gset.kind == GsetKind::Aset && self.reply.rows > 0 && self.error.is_none() {
            self.store_row(cx, gset);
        }
        self.reply.queries += 1;
    }

    /// The answer to a statement has come as nearly all do: whole, with nothing in it that is looked into. The same as
    /// `completed` and `ready` would do, without what only other answers need.
    #[inline]
    fn answered_whole<I: Io>(&mut self, cx: &mut Context<'_, I>, ending: Ending<'_>) {
        if ending.done.starts_with(ROLLBACK) {
            self.completed(cx, ending.done);
            self.ready(cx, ending.status);
            return;
        }
        self.heed_rows(ending.done);
        if let Some(link) = &mut self.link {
            link.is_ready(ending.status);
        }
        if ending.status == TransactionStatus::Idle {
            if cx.history.is_some() {
                self.observed_ready(cx);
            }
            self.receipts.committed();
            self.stamp_committed(cx);
        }
        self.state = State::EndCommand;
    }

    /// The last ReadyForQuery of the answer has come.
    fn answered<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let program = cx.program(self.script);
        let is_idle = self.link.as_ref().map(Link::status) == Some(TransactionStatus::Idle);
        // What is only wrong with values was executed all the same.
        if is_idle && self.error.as_ref().is_none_or(|error| error.is_reported) {
            self.observed_ready(cx);
        }
        // What could not be prepared was executed all the same: behind a pooler that shares sessions another
        // client has prepared it. pgbench goes on.
        if cx.drive.speaks_as_pgbench
            && matches!(self.state, State::WaitResult)
            && self
                .error
                .as_ref()
                .is_some_and(|error| error.is_of_preparing)
        {
            self.error = None;
        }
        if self.error.is_none()
            && self.reply.is_looked_into
            && let Some(gset) = self.gset(program)
            && gset.kind == GsetKind::Gset
        {
            self.reply.queries = self.reply.queries.saturating_sub(1);
            let rows = if self.reply.has_columns {
                self.reply.rows
            } else {
                0
            };
            if rows == 1 {
                self.store_row(cx, gset);
            } else {
                self.gset_error(cx, &format!("expected one row, got {rows}"));
            }
        }
        if is_idle && self.error.is_none() {
            self.receipts.committed();
            self.stamp_committed(cx);
        }
        (self.reply.queries, self.reply.rollbacks) = (0, 0);
        (self.reply.has_columns, self.reply.rows, self.reply.is_over) = (false, 0, false);
        let has_failed = self.error.is_some();
        self.state = match self.state {
            State::Parting(_) => return self.leave(cx),
            State::Preparing => return self.after_preparing(cx),
            State::WaitResult | State::Beginning | State::Committing if has_failed => State::Error,
            State::WaitResult => State::EndCommand,
            State::Beginning => State::Command,
            State::Committing => State::EndTransaction,
            State::RollingBack => return self.after_rollback(cx),
            State::Restoring => return self.after_restoring(cx),
            _ => return,
        };
    }

    #[inline(never)]
    fn store_row<I: Io>(&mut self, cx: &mut Context<'_, I>, gset: &Gset) {
        let work = cx.program(self.script).statement(self.command);
        let reported: &[(String, usize)] = match work.and_then(|statement| statement.units.as_ref())
        {
            Some(Work::Reported(reported)) => reported,
            _ => &[],
        };
        let mut found = 0;
        let columns = Frame {
            tag: tag::ROW_DESCRIPTION,
            body: &self.reply.columns,
            len: 0,
        };
        let row = Frame {
            tag: tag::DATA_ROW,
            body: &self.reply.last_row,
            len: 0,
        };
        let (Ok(Message::RowDescription(columns)), Ok(Message::DataRow(row))) =
            (columns.parse(), row.parse())
        else {
            return self.gset_error(cx, "the server sent a malformed row");
        };
        for (column, value) in columns.flatten().zip(row.flatten()) {
            let name = pgdyno_script::escape(column.name);
            if let Some((name, operation)) = reported.iter().find(|(reported, _)| *reported == name)
            {
                found += 1;
                cx.rotate(cx.now);
                // Without a value there was no unit of it.
                let Some(array) = value else { continue };
                let mut reported = Units::default();
                if !reported.add_reported(array) {
                    let text = format!("column \"{name}\" is not about work units");
                    return self.gset_error(cx, &text);
                }
                cx.recorder.units(self.script, *operation).merge(&reported);
                self.units.booked.add(*operation, reported.tally());
                continue;
            }
            match gset.variable(&name, &cx.drive.names) {
                Ok(Some(slot)) => self.vars.set_text(slot, value.unwrap_or_default()),
                Ok(None) => {}
                Err(error) => {
                    cx.say(Level::Error, error.to_string());
                    let text = format!("error storing into variable {}{name}", gset.prefix);
                    return self.gset_error(cx, &text);
                }
            }
        }
        if found < reported.len() {
            let names: Vec<&str> = reported.iter().map(|(name, _)| name.as_str()).collect();
            let text = format!("expected columns {}, got {found} of them", names.join(", "));
            self.gset_error(cx, &text);
        }
    }

    #[cold]
    fn gset_error<I: Io>(&mut self, cx: &mut Context<'_, I>, text: &str) {
        let query = self.reply.queries;
        let (id, script, command) = (self.id, self.script, self.command);
        let text = if cx.drive.speaks_as_pgbench {
            format!("client {id} script {script} command {command} query {query}: {text}")
        } else {
            format!("client {id} aborted at {}", self.placed(cx, text))
        };
        cx.say(Level::Error, text.clone());
        let failure = Failure::Script;
        self.error.get_or_insert(TransactionError {
            failure,
            query,
            text,
            is_reported: true,
            is_of_preparing: false,
            cause: None,
        });
    }
}
