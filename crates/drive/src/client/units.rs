//! Work units of a client: statements that are each one, and what the server tells of its own.
//!
//! A unit of a statement counts when its transaction is over: what is rolled back was no work. It
//! lasts from the answer before (or from sending, when none was awaited) to its own; the last one
//! of a transaction until the server is ready again, which is after the commit.

use pgdyno_platform::io::Io;
use pgdyno_wire::backend::{Frame, Message, TransactionStatus};

use super::{Client, State};
use crate::clock::{Nanos, micros};
use crate::event_loop::Context;
use crate::program::{Statement, Work};
use crate::record::{ClientUnits, Tally};

/// What of a client's units is not booked yet.
#[derive(Debug, Default)]
pub(super) struct Units {
    /// Gathered, but not sent.
    gathered: u32,
    /// Sent, but not answered.
    awaited: u32,
    /// When the unit that is being answered began.
    from: Nanos,
    /// What the only column of numbers of its answer says.
    told_rows: Option<u64>,
    /// Answered in a transaction that is not over.
    open: Vec<Unit>,
    /// All that were booked.
    pub(super) booked: ClientUnits,
}

#[derive(Debug)]
struct Unit {
    operation: usize,
    rows: u64,
    begun: Nanos,
    ended: Nanos,
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
        self.open.clear();
        self.told_rows = None;
    }

    /// Nothing is under way.
    pub(super) fn restart(&mut self) {
        self.forget();
        (self.gathered, self.awaited) = (0, 0);
    }
}

impl Client {
    /// The operation of the statement that is being answered, if it is a unit.
    fn unit_operation<I: Io>(&self, cx: &Context<'_, I>) -> Option<usize> {
        if !matches!(self.state, State::WaitResult) {
            return None;
        }
        let program = cx.program(self.script);
        let statement = program.statement(self.command).or_else(|| {
            let command = self.link.as_ref()?.answered_command()?;
            program.statement(command)
        })?;
        match statement.units {
            Some(Work::One(operation)) => Some(operation),
            _ => None,
        }
    }

    /// A row has come: of a unit, its first column tells how many rows it found.
    pub(super) fn unit_row<I: Io>(&mut self, cx: &Context<'_, I>, frame: &Frame<'_>) {
        if self.unit_operation(cx).is_none() {
            return;
        }
        if let Ok(Message::DataRow(row)) = frame.parse()
            && let Some(Ok(Some(first))) = row.into_iter().next()
        {
            self.units.told_rows = number(first);
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
        let tagged = tag.strip_suffix(b"\0").unwrap_or(tag);
        let tagged = tagged.rsplit(|byte| *byte == b' ').next().and_then(number);
        let rows = units.told_rows.take().or(tagged).unwrap_or(0);
        let begun = std::mem::replace(&mut units.from, cx.now);
        units.awaited = units.awaited.saturating_sub(1);
        units.open.push(Unit {
            operation,
            rows,
            begun,
            ended: cx.now,
        });
    }

    /// The server is ready: units of a transaction that is over are booked.
    pub(super) fn units_ready<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        status: TransactionStatus,
    ) {
        let Some(last) = self.units.open.last_mut() else {
            return;
        };
        if status != TransactionStatus::Idle {
            return;
        }
        last.ended = cx.now;
        self.units.from = cx.now;
        cx.rotate(cx.now);
        // Taken out while it is read, and put back with its memory.
        let mut open = std::mem::take(&mut self.units.open);
        for unit in open.drain(..) {
            let latency_us = micros(unit.ended.saturating_sub(unit.begun));
            let booked = cx.recorder.units(self.script, unit.operation);
            booked.record(unit.rows, latency_us);
            let tally = Tally {
                count: 1,
                rows: unit.rows,
                max_us: latency_us,
            };
            self.units.booked.add(unit.operation, tally);
        }
        self.units.open = open;
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
