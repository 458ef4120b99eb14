//! What of a client's present transaction goes into the history (`\observe`).
//!
//! It is a transaction of the database: it begins when its first statement is sent, and ends when the
//! server is ready outside of a block, or when the try is lost. A retry is another one.

use pgdyno_isolation::Status;
use pgdyno_platform::io::Io;
use pgdyno_script::{Operand, Value};
use pgdyno_wire::backend::{Frame, Message};

use super::Client;
use crate::context::Context;
use crate::program::Statement;
use crate::record::{Ending, Observed};
use pgdyno_platform::clock::Nanos;

/// A column that is not there, as the answer that no form of a read has.
const NO_COLUMN: &[u8] = b"(no such column)";

#[derive(Debug, Default)]
pub(super) struct Observing {
    /// Times that its process has ended because the end of a transaction is not known.
    lives: u32,
    /// When the transaction began; none is open without it.
    begun: Option<Nanos>,
    /// When the last one ended.
    ended: Nanos,
    is_kept: bool,
    was_rolled_back: bool,
    operations: Vec<Observed>,
    /// How many of them are answered.
    answered: usize,
    answers: Vec<u8>,
}

impl<I: Io> Context<'_, I> {
    fn keeps_history(&self) -> bool {
        let now_ns = self.clock.monotonic_ns(self.now);
        { self.history.as_ref() }.is_some_and(|own| own.keeps(now_ns))
    }
}

impl Client {
    /// A statement is about to be sent: what it does.
    ///
    /// # Errors
    /// A key or value that is no whole number.
    pub(super) fn observe<I: Io>(
        &mut self,
        cx: &Context<'_, I>,
        statement: &Statement,
    ) -> Result<(), String> {
        if cx.history.is_none() {
            return Ok(());
        }
        let observing = &mut self.observing;
        if observing.begun.is_none() {
            // One reading of the clock may end a transaction and begin the next, which is sent later.
            observing.begun = Some(cx.now.max(observing.ended + 1));
            observing.is_kept = cx.keeps_history();
        }
        if !observing.is_kept {
            return Ok(());
        }
        let vars = &self.vars;
        let number = |operand| match operand {
            Operand::Int(number) => Ok(number),
            Operand::Var(slot) => match vars.value(slot) {
                Ok(Value::Int(number)) => Ok(number),
                _ => {
                    let name = vars.name(slot);
                    Err(format!("the variable {name} is no whole number"))
                }
            },
        };
        for observed in &statement.observed {
            observing.operations.push(Observed {
                what: observed.what,
                key: number(observed.key)?,
                value: number(observed.value)?,
                answer: None,
                is_void: false,
            });
        }
        Ok(())
    }

    /// The operations of the statement that is being answered; none where nothing is kept.
    fn observed_now<I: Io>(
        &mut self,
        cx: &Context<'_, I>,
    ) -> Option<(&mut [Observed], &mut Vec<u8>)> {
        if !self.observing.is_kept {
            return None;
        }
        let statement = self.answered_statement(cx)?;
        let Observing {
            operations,
            answered,
            answers,
            ..
        } = &mut self.observing;
        let operations = operations.get_mut(*answered..)?;
        let operations = operations.get_mut(..statement.observed.len())?;
        (!operations.is_empty()).then_some((operations, answers))
    }

    /// Whether rows of the present answer are looked at.
    pub(super) fn is_observed<I: Io>(&mut self, cx: &Context<'_, I>) -> bool {
        self.observed_now(cx).is_some()
    }

    /// A row has come: its columns are the values of the reads, in their order.
    pub(super) fn observed_row<I: Io>(&mut self, cx: &Context<'_, I>, frame: &Frame<'_>) {
        let Some((operations, answers)) = self.observed_now(cx) else {
            return;
        };
        let Ok(Message::DataRow(mut row)) = frame.parse() else {
            return;
        };
        for read in operations.iter_mut().filter(|one| one.what.is_read()) {
            let value = match row.next() {
                Some(Ok(Some(value))) => value,
                Some(_) => continue,
                None => NO_COLUMN,
            };
            let is_of_rows = read.what == pgdyno_script::Observation::Rows;
            let start = match read.answer {
                Some((start, _)) if is_of_rows => start,
                // The first row counts.
                Some(_) => continue,
                None => answers.len(),
            };
            answers.extend_from_slice(value);
            if is_of_rows {
                answers.push(b',');
            }
            read.answer = Some((start, answers.len()));
        }
    }

    /// A statement has been executed, says this tag.
    pub(super) fn observed_done<I: Io>(&mut self, cx: &Context<'_, I>, tag: &[u8]) {
        self.observing.was_rolled_back |= tag.starts_with(b"ROLLBACK");
        let Some((operations, _)) = self.observed_now(cx) else {
            return;
        };
        if tag.ends_with(b" 0") {
            let writes = operations.iter_mut().filter(|one| !one.what.is_read());
            writes.for_each(|one| one.is_void = true);
        }
        let count = operations.len();
        self.observing.answered += count;
    }

    /// The server is ready outside of a block, and has refused nothing.
    pub(super) fn observed_ready<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let status = if self.observing.was_rolled_back {
            Status::Aborted
        } else {
            Status::Committed
        };
        self.observed_ended(cx, status);
    }

    /// The transaction has ended in this way, if one is open.
    pub(super) fn observed_ended<I: Io>(&mut self, cx: &mut Context<'_, I>, status: Status) {
        let observing = &mut self.observing;
        let Some(begun) = observing.begun.take() else {
            return;
        };
        observing.ended = cx.now.max(begun);
        if observing.is_kept && !observing.operations.is_empty() {
            let clients = cx.drive.clients as u32;
            let ending = Ending {
                process: self.id as u32 + observing.lives * clients,
                status,
                begin_ns: cx.clock.monotonic_ns(begun),
                end_ns: cx.clock.monotonic_ns(observing.ended),
                operations: &observing.operations,
                answers: &observing.answers,
            };
            let thread = cx.recorder.thread();
            if let Some(own) = &mut cx.history {
                own.add(&ending, thread, &cx.reports);
            }
            // It may still be at work: what comes now is another's.
            observing.lives += u32::from(status == Status::Unknown);
        }
        (observing.is_kept, observing.was_rolled_back) = (false, false);
        observing.operations.clear();
        observing.answers.clear();
        observing.answered = 0;
    }
}
