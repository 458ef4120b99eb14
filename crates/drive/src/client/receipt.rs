//! The receipt of a client's present transaction: whether it was written, and whether what it represents
//! was committed.

use pgdyno_script::Value;

use super::Client;
use crate::context::Context;
use crate::receipts::Receipt;
use pgdyno_measurement::{ClientReceipts, Fate, Outcome};
use pgdyno_platform::clock::Nanos;
use pgdyno_platform::io::Io;

/// A client's receipts, where transactions leave some.
#[derive(Debug, Default)]
pub(super) struct Receipts {
    all: Option<Box<ClientReceipts>>,
    /// Whether the present try has sent its own.
    is_sent: bool,
    /// Whether the server was ready after it, outside of a block and without an error.
    is_committed: bool,
}

impl Receipts {
    pub(super) fn of(client: usize, is_asked: bool) -> Self {
        Self {
            all: is_asked.then(|| Box::new(ClientReceipts::new(client))),
            ..Self::default()
        }
    }

    /// A try begins, or what it did was rolled back.
    pub(super) fn forget(&mut self) {
        self.is_sent = false;
    }

    /// A statement is sent, which may write it.
    pub(super) fn sent(&mut self, is_one: bool) {
        self.is_sent |= is_one;
    }

    /// The server is ready, outside of a block and without an error.
    pub(super) fn committed(&mut self) {
        self.is_committed |= self.is_sent;
    }
}

impl Client {
    /// A transaction begins: it gets its number.
    pub(super) fn number_receipt<I: Io>(&mut self, cx: &Context<'_, I>) {
        let (Some(all), Some(asked)) = (&mut self.receipts.all, cx.drive.receipts) else {
            return;
        };
        let receipt = Receipt {
            mark: asked.mark,
            client: self.id,
            number: all.give(cx.recorder.at_us(cx.now)),
        };
        self.vars.set(asked.slot, Value::Int(receipt.code()));
        (self.receipts.is_sent, self.receipts.is_committed) = (false, false);
    }

    /// The transaction with the present number has ended.
    #[inline]
    pub(super) fn book_receipt<I: Io>(&mut self, cx: &Context<'_, I>, outcome: Outcome, at: Nanos) {
        let receipts = &mut self.receipts;
        let Some(all) = &mut receipts.all else { return };
        let fate = match outcome {
            // It has no number.
            Outcome::Skipped => return,
            Outcome::Unknown if receipts.is_sent && !receipts.is_committed => Some(Fate::Unknown),
            _ if receipts.is_committed => None,
            Outcome::Failed(_) => Some(Fate::Failed),
            Outcome::Committed | Outcome::Unknown => Some(Fate::WithoutReceipt),
        };
        all.settle(fate, cx.recorder.at_us(at));
    }

    /// What is known of them when the client has ended.
    pub(crate) fn take_receipts(&mut self, at_us: u64) -> Option<ClientReceipts> {
        let all = self.receipts.all.take()?;
        Some(all.finish(at_us))
    }
}
