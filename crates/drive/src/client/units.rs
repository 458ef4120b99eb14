//! Work units of a client: statements that are each one, and what the server reports of its own.
//!
//! A unit of a statement counts when its transaction is over: what is rolled back was no work. It
//! lasts from the answer before (or from sending, when none was awaited) to its own; the last one
//! of a transaction until the server is ready again, which is after the commit. Answers that come
//! together share the time that they took.

use pgdyno_platform::io::Io;
use pgdyno_wire::backend::{Frame, Message, TransactionStatus};

use super::{Client, State};
use crate::context::Context;
use crate::program::{Statement, Work};
use pgdyno_measurement::{ClientUnits, Tally};
use pgdyno_platform::clock::{Nanos, micros};

/// What of a client's units is not booked yet.
#[derive(Debug, Default)]
pub(super) struct Units {
    gathered: u32,
    awaited: u32,
    /// When the unit that is being answered began.
    from: Nanos,
    /// What the first column of its answer says.
    reported_rows: Option<u64>,
    /// Answered and not booked yet, in order.
    answered: Vec<Unit>,
    /// How many of these are of transactions that are over.
    committed: usize,
    /// Whether one more of these is since units were timed last.
    has_committed: bool,
    pub(super) booked: ClientUnits,
}

#[derive(Debug)]
struct Unit {
    operation: usize,
    rows: u64,
    /// How long it took; `None` until all is read that has come with its answer.
    took: Option<Nanos>,
}

impl Units {
    /// A statement has been gathered.
    pub(super) fn gather(&mut self, statement: &Statement) {
        self.gathered += u32::from(matches!(statement.units, Some(Work::One(_))));
    }

    /// All that was gathered is sent.
    pub(super) fn send(&mut self, now: Nanos) {
        if self.awaited == 0 {
            self.from = now;
        }
        self.awaited += std::mem::take(&mut self.gathered);
    }

    /// What was not committed is no work.
    pub(super) fn forget(&mut self) {
        self.answered.truncate(self.committed);
        self.reported_rows = None;
    }

    pub(super) fn restart(&mut self) {
        self.forget();
        (self.gathered, self.awaited) = (0, 0);
    }
}

impl Client {
    /// The statement that is being answered.
    pub(super) fn answered_statement<'run, I: Io>(
        &self,
        cx: &Context<'run, I>,
    ) -> Option<&'run Statement> {
        if !matches!(self.state, State::WaitResult) {
            return None;
        }
        let program = cx.program(self.script);
        program.statement(self.command).or_else(|| {
            let command = self.link.as_ref()?.answered_command()?;
            program.statement(command)
        })
    }

    /// The operation of the statement that is being answered, if it is a unit.
    fn unit_operation<I: Io>(&self, cx: &Context<'_, I>) -> Option<usize> {
        match self.answered_statement(cx)?.units {
            Some(Work::One(operation)) => Some(operation),
            _ => None,
        }
    }

    /// Whether what is being answered is a unit.
    pub(super) fn is_unit<I: Io>(&self, cx: &Context<'_, I>) -> bool {
        self.unit_operation(cx).is_some()
    }

    /// A row has come: of a unit, its first column tells how many rows it found.
    pub(super) fn unit_row<I: Io>(&mut self, cx: &Context<'_, I>, frame: &Frame<'_>) {
        if self.unit_operation(cx).is_none() {
            return;
        }
        if let Ok(Message::DataRow(row)) = frame.parse()
            && let Some(Ok(Some(first))) = row.into_iter().next()
        {
            self.units.reported_rows = number(first);
        }
    }

    /// A statement has been executed, says this tag: if it is a unit, it is done.
    pub(super) fn unit_done<I: Io>(&mut self, cx: &Context<'_, I>, tag: &[u8]) {
        if tag.starts_with(b"ROLLBACK") {
            return self.units.forget();
        }
        let Some(operation) = self.unit_operation(cx) else {
            return;
        };
        let units = &mut self.units;
        let tagged = tag.rsplit(|byte| *byte == b' ').next().and_then(number);
        let rows = units.reported_rows.take().or(tagged).unwrap_or(0);
        units.awaited = units.awaited.saturating_sub(1);
        units.answered.push(Unit {
            operation,
            rows,
            took: None,
        });
    }

    /// The server is ready: units of a transaction that is over are done.
    pub(super) fn units_ready(&mut self, status: TransactionStatus) {
        let units = &mut self.units;
        if status == TransactionStatus::Idle && units.committed < units.answered.len() {
            units.committed = units.answered.len();
            units.has_committed = true;
        }
    }

    /// All is read that has come: books the units that are done.
    pub(super) fn book_units<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let units = &mut self.units;
        if units.answered.is_empty() {
            return;
        }
        let lasted = cx.now.saturating_sub(units.from);
        let untimed = units.answered.iter().filter(|unit| unit.took.is_none());
        let share = lasted.checked_div(untimed.count() as u64);
        match (share, units.answered.last_mut()) {
            (None, Some(last)) if units.has_committed => {
                last.took = last.took.map(|took| took + lasted);
                units.from = cx.now;
            }
            (None, _) => {}
            (Some(share), _) => {
                let untimed = units.answered.iter_mut();
                let untimed = untimed.filter(|unit| unit.took.is_none());
                untimed.for_each(|unit| unit.took = Some(share));
                units.from = cx.now;
            }
        }
        units.has_committed = false;
        cx.rotate(cx.now);
        for unit in units.answered.drain(..std::mem::take(&mut units.committed)) {
            let latency_us = micros(unit.took.unwrap_or(0));
            let booked = cx.recorder.units(self.script, unit.operation);
            booked.record(unit.rows, latency_us);
            let tally = Tally {
                count: 1,
                rows: unit.rows,
                max_us: latency_us,
            };
            units.booked.add(unit.operation, tally);
        }
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
