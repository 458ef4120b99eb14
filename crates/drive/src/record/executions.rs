//! One thread's executions of commands one by one, on their way to the collector, which has the one
//! histogram of each command. A histogram for each command on each thread would take memory for
//! commands times threads; here it is a few batches a thread, however long the scripts are.
//!
//! They are gathered in memory that was taken before the run and comes back when it has been read.

use std::mem;
use std::sync::mpsc::{Receiver, Sender};

use pgdyno_measurement::StatementTotals;

use super::{Report, Then};

/// So many are handed over at once: 32 KB, which stays in the cache.
const BATCH: usize = 2048;

/// A command that was executed, or went wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Execution {
    latency_us: u64,
    /// Its number among all of the run ([`numbers`]).
    command: u32,
    ended: HowEnded,
}

/// How the execution of a command ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HowEnded {
    Well,
    /// Without an error, and without a row where there must be one.
    Missing,
    /// With an error, and what followed.
    Wrong(Then),
}

/// The number of each script's first command among all of the run, and how many numbers there are. The
/// end of a script has one too: there it may go wrong, though it is no command.
fn numbers(commands: impl Iterator<Item = usize>) -> (Vec<u32>, usize) {
    let mut count = 0;
    let mut first = Vec::new();
    for commands in commands {
        first.push(count as u32);
        count += commands + 1;
    }
    (first, count)
}

/// Those that were not handed over yet.
pub(crate) struct Executions {
    batch: Vec<Execution>,
    /// By script, the number of its first command.
    first: Vec<u32>,
    recycled: Receiver<Vec<Execution>>,
}

impl Executions {
    /// Of scripts with so many commands. Emptied memory comes back by `recycled`.
    pub(crate) fn new(
        commands: impl Iterator<Item = usize>,
        recycled: Receiver<Vec<Execution>>,
    ) -> Self {
        Self {
            batch: Vec::with_capacity(BATCH),
            first: numbers(commands).0,
            recycled,
        }
    }

    /// Takes note of one on `thread`.
    #[inline]
    pub(crate) fn add(
        &mut self,
        (script, command): (usize, usize),
        (latency_us, ended): (u64, HowEnded),
        (thread, reports): (usize, &Sender<Report>),
    ) {
        let execution = Execution {
            latency_us,
            command: self.first[script] + command as u32,
            ended,
        };
        if self.batch.len() == self.batch.capacity() {
            return self.add_next(execution, thread, reports);
        }
        self.batch.push(execution);
    }

    /// The first one of the next batch.
    #[cold]
    #[inline(never)]
    fn add_next(&mut self, execution: Execution, thread: usize, reports: &Sender<Report>) {
        self.hand_over(thread, reports);
        self.batch.push(execution);
    }

    /// Hands over what there is. Memory is only taken when the collector has not given any back yet.
    #[cold]
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

/// All executions of a run, added up.
pub(crate) struct Totals {
    all: Vec<StatementTotals>,
}

impl Totals {
    /// Of scripts with so many commands.
    pub(crate) fn new(commands: impl Iterator<Item = usize>) -> Self {
        let (_, count) = numbers(commands);
        Self {
            all: vec![StatementTotals::default(); count],
        }
    }

    pub(crate) fn add(&mut self, executions: &[Execution]) {
        for execution in executions {
            let Some(totals) = self.all.get_mut(execution.command as usize) else {
                continue;
            };
            match execution.ended {
                HowEnded::Well => totals.latencies.record(execution.latency_us),
                HowEnded::Missing => totals.missing.record(execution.latency_us),
                HowEnded::Wrong(then) => add_failed(totals, execution.latency_us, then),
            }
        }
    }

    /// By script and command: of scripts with so many commands.
    pub(crate) fn finish(self, commands: impl Iterator<Item = usize>) -> Vec<Vec<StatementTotals>> {
        let mut all = self.all.into_iter();
        let script = |commands| {
            let totals = all.by_ref().take(commands).collect();
            all.next();
            totals
        };
        commands.map(script).collect()
    }
}

#[inline(never)]
fn add_failed(totals: &mut StatementTotals, latency_us: u64, then: Then) {
    totals.failed.record(latency_us);
    *match then {
        Then::Retry => &mut totals.retries,
        Then::Fail => &mut totals.failures,
        Then::Abort => &mut totals.aborts,
    } += 1;
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// The end of the first script is no command of the second one.
    #[test]
    fn executions_are_added_up_by_script_and_command() {
        let commands = || [2, 1].into_iter();
        let (recycle, recycled) = channel();
        let (reports, inbox) = channel();
        let (mut own, mut totals) = (
            Executions::new(commands(), recycled),
            Totals::new(commands()),
        );
        let mut taken = 0;
        let mut take = |totals: &mut Totals| {
            while let Ok(Report::Executed(7, mut batch)) = inbox.try_recv() {
                taken += batch.len();
                totals.add(&batch);
                batch.clear();
                recycle.send(batch).unwrap();
            }
        };
        for at in 0..2 * BATCH as u64 {
            own.add((0, 1), (at % 5, HowEnded::Well), (7, &reports));
            own.add((1, 0), (9, HowEnded::Missing), (7, &reports));
            take(&mut totals);
        }
        for then in [Then::Retry, Then::Fail, Then::Fail, Then::Abort] {
            own.add((0, 2), (3, HowEnded::Wrong(then)), (7, &reports));
            own.add((1, 0), (3, HowEnded::Wrong(then)), (7, &reports));
        }
        own.hand_over(7, &reports);
        take(&mut totals);
        assert_eq!(taken, 4 * BATCH + 8);
        let all = totals.finish(commands());
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        let count = 2 * BATCH as u64;
        assert_eq!(
            (all[0][0].latencies.count(), all[0][1].latencies.count()),
            (0, count)
        );
        assert_eq!(all[0][1].failed.count(), 0);
        let second = &all[1][0];
        assert_eq!(
            (second.missing.count(), second.missing.sum_us()),
            (count, 9 * count)
        );
        let wrong = (second.retries, second.failures, second.aborts);
        assert_eq!((wrong, second.failed.sum_us()), ((1, 2, 1), 12));
    }
}
