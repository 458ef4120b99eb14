//! The stamp of a client (`crate::stamps`): what its transactions write, when that is acknowledged, and what
//! its reads show of it.

use pgdyno_platform::io::Io;
use pgdyno_script::Value;
use pgdyno_wire::backend::{Frame, Message};

use super::Client;
use crate::context::Context;
use crate::program::Statement;
use crate::stamps::Use;
use pgdyno_measurement::StampEvent;
use pgdyno_platform::clock::Nanos;

/// Where a client is with its stamp.
#[derive(Debug, Default)]
pub(super) struct Stamping {
    /// The number that the present transaction writes, if it writes one.
    number: u64,
    /// Whether the present try has sent it.
    is_sent: bool,
    /// When the read was sent that is not answered.
    reading_since: Option<Nanos>,
}

impl Stamping {
    /// A try begins, or what it did was rolled back.
    pub(super) fn forget(&mut self) {
        (self.is_sent, self.reading_since) = (false, None);
    }

    #[inline]
    pub(super) fn sent(&mut self, statement: &Statement, now: Nanos) {
        match statement.stamp {
            None => {}
            Some(Use::Write) => self.is_sent = true,
            // Of several in a pipeline the first: what is read later shows no less.
            Some(Use::Read) => self.reading_since = self.reading_since.or(Some(now)),
        }
    }
}

impl Client {
    /// A transaction begins: it has a number of its own.
    #[inline]
    pub(super) fn number_stamp<I: Io>(&mut self, cx: &Context<'_, I>) {
        let Some(slot) = cx.drive.stamps else { return };
        self.stamping.forget();
        self.stamping.number += 1;
        let number = self.stamping.number as i64;
        self.vars.set(slot, Value::Int(number));
    }

    /// The server is ready, outside of a block and without an error.
    #[inline]
    pub(super) fn stamp_committed<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if !std::mem::take(&mut self.stamping.is_sent) {
            return;
        }
        let event = StampEvent::Acknowledged {
            client: self.id,
            number: self.stamping.number,
            at_us: cx.recorder.at_us(cx.now),
        };
        cx.stamped(event);
    }

    /// A row has come, which may be a stamp.
    #[inline]
    pub(super) fn stamp_row<I: Io>(&mut self, cx: &mut Context<'_, I>, frame: &Frame<'_>) {
        let Some(since) = self.stamping.reading_since else {
            return;
        };
        let statement = self.answered_statement(cx);
        if statement.is_none_or(|statement| statement.stamp != Some(Use::Read)) {
            return;
        }
        self.stamping.reading_since = None;
        let Ok(Message::DataRow(mut row)) = frame.parse() else {
            return;
        };
        let Some(Ok(Some(text))) = row.next() else {
            return;
        };
        let shown = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse().ok());
        let Some(shown) = shown else { return };
        cx.rotate(cx.now);
        let event = StampEvent::Read {
            client: self.id,
            shown,
            began_us: cx.recorder.at_us(since),
            ended_us: cx.recorder.at_us(cx.now),
            role: self.role,
            place: self.place,
            is_measured: cx.recorder.counts(),
        };
        cx.stamped(event);
    }
}
