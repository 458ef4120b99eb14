//! One thread's transactions one by one, for those who log them. They are gathered in memory that was
//! taken before the run and handed over together.

use std::mem;
use std::sync::mpsc::{Receiver, Sender};

use pgdyno_script::Prng;

use super::{Outcome, Report};

/// So many transactions are handed over at once at most.
const BATCH: usize = 4096;

/// One transaction that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedTransaction {
    pub client: usize,
    /// How many transactions of this client have ended by now, this one included.
    pub number: u64,
    pub script: usize,
    pub outcome: Outcome,
    /// How often it was tried, the first try included.
    pub tries: u32,
    /// From its scheduled start to its end in microseconds; 0 unless it was committed, or ended in
    /// an open block ([`super::Failure::OpenBlock`]).
    pub latency_us: u64,
    /// How late it started in microseconds; 0 where the latency is.
    pub lag_us: u64,
    /// From its begin to its end in microseconds, whatever came of it, pauses between tries included.
    pub took_us: u64,
    /// How late it began in microseconds, whatever came of it.
    pub waited_us: u64,
    /// When it ended, in microseconds since clients began to work.
    pub at_us: u64,
}

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
