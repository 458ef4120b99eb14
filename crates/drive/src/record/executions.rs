//! One thread's executions of commands one by one, on their way to the collector, which has the one
//! histogram of each command. A histogram for each command on each thread would take memory for
//! commands times threads; here it is a few batches a thread, however long the scripts are.
//!
//! They are gathered in memory that was taken before the run and comes back when it has been read.

use std::mem;
use std::sync::mpsc::{Receiver, Sender};

use super::{Report, StatementTotals, Then};

/// So many are handed over at once: 48 KB, which stays in the cache.
const BATCH: usize = 2048;

/// A command that was executed, or went wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Execution {
    pub(crate) script: u32,
    pub(crate) command: u32,
    pub(crate) ended: HowEnded,
}

/// How the execution of a command ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HowEnded {
    /// Well, after so long.
    Well { latency_us: u64 },
    /// Without an error, and without a row where there must be one.
    Missing { latency_us: u64 },
    /// With an error, and what followed.
    Wrong { latency_us: u64, then: Then },
}

/// Those that were not handed over yet.
pub(crate) struct Executions {
    batch: Vec<Execution>,
    recycled: Receiver<Vec<Execution>>,
}

impl Executions {
    /// Emptied memory comes back by `recycled`.
    pub(crate) fn new(recycled: Receiver<Vec<Execution>>) -> Self {
        Self {
            batch: Vec::with_capacity(BATCH),
            recycled,
        }
    }

    /// Takes note of one on `thread`.
    #[inline]
    pub(crate) fn add(&mut self, execution: Execution, thread: usize, reports: &Sender<Report>) {
        self.batch.push(execution);
        if self.batch.len() == BATCH {
            self.hand_over(thread, reports);
        }
    }

    /// Hands over what there is. Memory is only taken when the collector has not given any back yet.
    pub(crate) fn hand_over(&mut self, thread: usize, reports: &Sender<Report>) {
        if self.batch.is_empty() {
            return;
        }
        let next = self.recycled.try_recv();
        let next = next.unwrap_or_else(|_| Vec::with_capacity(BATCH));
        let batch = mem::replace(&mut self.batch, next);
        // The collector outlives the threads; if it is gone, the run is over.
        let _ = reports.send(Report::Executed(thread, batch));
    }
}

/// Adds executions to the totals, by script and command.
pub(crate) fn add_up(totals: &mut [Vec<StatementTotals>], executions: &[Execution]) {
    for execution in executions {
        let commands = totals.get_mut(execution.script as usize);
        let totals = commands.and_then(|all| all.get_mut(execution.command as usize));
        // A script may also go wrong at its end, which is no command.
        let Some(totals) = totals else { continue };
        match execution.ended {
            HowEnded::Well { latency_us } => totals.latencies.record(latency_us),
            HowEnded::Missing { latency_us } => totals.missing.record(latency_us),
            HowEnded::Wrong { latency_us, then } => {
                totals.failed.record(latency_us);
                *match then {
                    Then::Retry => &mut totals.retries,
                    Then::Fail => &mut totals.failures,
                    Then::Abort => &mut totals.aborts,
                } += 1;
            }
        }
    }
}
