//! One thread's transactions one by one, for those who log them. They are gathered in memory that was
//! taken before the run and handed over together.

use std::mem;
use std::sync::mpsc::{Receiver, Sender};

use pgdyno_measurement::LoggedTransaction;
use pgdyno_script::Prng;

use super::Report;

/// So many transactions are handed over at once at most.
const BATCH: usize = 4096;

/// The transactions of one thread that were not handed over yet.
pub(crate) struct TransactionLog {
    share: f64,
    random: Prng,
    transactions: Vec<LoggedTransaction>,
    recycled: Receiver<Vec<LoggedTransaction>>,
}

impl TransactionLog {
    /// `share` of all transactions is logged, drawn from `random`; emptied memory comes back by
    /// `recycled`.
    pub(crate) fn new(
        share: f64,
        random: Prng,
        recycled: Receiver<Vec<LoggedTransaction>>,
    ) -> Self {
        Self {
            share,
            random,
            transactions: Vec::with_capacity(BATCH),
            recycled,
        }
    }

    /// Takes note of a transaction of `thread`, unless it is not drawn.
    pub(crate) fn add(
        &mut self,
        transaction: LoggedTransaction,
        thread: usize,
        reports: &Sender<Report>,
    ) {
        if self.random.double() > self.share {
            return;
        }
        self.transactions.push(transaction);
        if self.transactions.len() == BATCH {
            self.hand_over(thread, reports);
        }
    }

    /// Hands over what there is.
    pub(crate) fn hand_over(&mut self, thread: usize, reports: &Sender<Report>) {
        if self.transactions.is_empty() {
            return;
        }
        let next = self.recycled.try_recv();
        let next = next.unwrap_or_else(|_| Vec::with_capacity(BATCH));
        let transactions = mem::replace(&mut self.transactions, next);
        // The collector outlives the threads; if it is gone, there is no receiver.
        let _ = reports.send(Report::Logged(thread, transactions));
    }
}
