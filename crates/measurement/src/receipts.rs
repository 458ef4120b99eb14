//! Which transactions of a client were acknowledged, by the numbers of their receipts: what a database is
//! asked for after a failover.
//!
//! Numbers are consecutive, so only those are listed that were not acknowledged, as runs, in memory that
//! is taken before the run. Beyond [`ClientReceipts::RUNS_MAX`] runs a client's transactions are not
//! followed any more.

/// How a transaction with a number ended that was not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The client does not know whether it was committed.
    Unknown,
    /// It was rolled back, as far as the client knows.
    Failed,
    /// It was to leave no receipt: its script rolled it back, or did not come to the receipt.
    WithoutReceipt,
}

/// Consecutive numbers with the same fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub first: u64,
    pub last: u64,
    pub fate: Fate,
    /// When the first of them ended, in microseconds since clients began to work.
    pub at_us: u64,
}

/// One client's receipts, over the whole run, warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientReceipts {
    pub client: usize,
    /// Transactions that were given a number: from 1 to this.
    pub given: u64,
    /// Those that were not acknowledged, in order.
    pub runs: Vec<Run>,
    /// The fates of these first numbers are known; of the others nothing is.
    pub followed: u64,
    /// Numbers with the time at which they ended, in order, at least [`Self::interval_us`] apart.
    marks: Vec<(u64, u64)>,
    interval_us: u64,
    /// When the last one ended.
    last_us: u64,
    /// Whether the last number has no fate yet.
    is_open: bool,
}

impl ClientReceipts {
    /// So many runs are listed.
    pub const RUNS_MAX: usize = 512;
    /// So many times are kept; when there are more, every other one is dropped.
    const MARKS_MAX: usize = 512;
    /// At first there is a time each second.
    const INTERVAL_US: u64 = 1_000_000;

    pub fn new(client: usize) -> Self {
        Self {
            client,
            runs: Vec::with_capacity(Self::RUNS_MAX),
            marks: Vec::with_capacity(Self::MARKS_MAX),
            interval_us: Self::INTERVAL_US,
            ..Self::default()
        }
    }

    /// The number of the transaction that begins. One before it whose end nothing has booked was given
    /// up, and rolled back.
    pub fn give(&mut self, at_us: u64) -> u64 {
        self.settle(Some(Fate::Failed), at_us);
        self.is_open = true;
        self.given += 1;
        self.given
    }

    /// The transaction has ended: acknowledged, or so.
    pub fn settle(&mut self, fate: Option<Fate>, at_us: u64) {
        if !std::mem::take(&mut self.is_open) || self.followed + 1 != self.given {
            return;
        }
        let number = self.given;
        if let Some(fate) = fate {
            let is_full = self.runs.len() == Self::RUNS_MAX;
            match self.runs.last_mut() {
                Some(run) if run.fate == fate && run.last + 1 == number => run.last = number,
                _ if is_full => return,
                _ => self.runs.push(Run {
                    first: number,
                    last: number,
                    fate,
                    at_us,
                }),
            }
        }
        (self.followed, self.last_us) = (number, at_us);
        let is_due = |(_, last): &(u64, u64)| at_us >= last + self.interval_us;
        if self.marks.last().is_none_or(is_due) {
            self.mark(number, at_us);
        }
    }

    fn mark(&mut self, number: u64, at_us: u64) {
        if self.marks.len() == Self::MARKS_MAX {
            let mut index = 0;
            self.marks.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.interval_us *= 2;
        }
        self.marks.push((number, at_us));
    }

    /// What became of a number that is followed; `None`: it was acknowledged.
    pub fn fate(&self, number: u64) -> Option<Fate> {
        let behind = self.runs.partition_point(|run| run.first <= number);
        let run = self.runs[..behind].last()?;
        (number <= run.last).then_some(run.fate)
    }

    pub fn count(&self, fate: Fate) -> u64 {
        let runs = self.runs.iter().filter(|run| run.fate == fate);
        runs.map(|run| run.last - run.first + 1).sum()
    }

    pub fn acknowledged(&self) -> u64 {
        let runs = self.runs.iter().map(|run| run.last - run.first + 1);
        self.followed - runs.sum::<u64>()
    }

    /// When the transaction of this number had ended at the latest, in microseconds since clients began
    /// to work, and how much earlier it may have been.
    pub fn ended_us(&self, number: u64) -> Option<(u64, u64)> {
        let before = self.marks.partition_point(|(marked, _)| *marked < number);
        let (marked, at_us) = *self.marks.get(before)?;
        let since_us = match before.checked_sub(1) {
            _ if marked == number => at_us,
            Some(last) => self.marks[last].1,
            None => 0,
        };
        Some((at_us, at_us - since_us))
    }

    pub fn finish(mut self, at_us: u64) -> Self {
        self.settle(Some(Fate::Failed), at_us);
        if let Some((marked, _)) = self.marks.last()
            && *marked < self.followed
        {
            self.mark(self.followed, self.last_us);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receipts of transactions that ended so, one a millisecond.
    fn of(fates: &[Option<Fate>]) -> ClientReceipts {
        let mut receipts = ClientReceipts::new(7);
        for (at, fate) in fates.iter().enumerate() {
            receipts.give(at as u64 * 1000);
            receipts.settle(*fate, at as u64 * 1000);
        }
        receipts.finish(fates.len() as u64 * 1000)
    }

    #[test]
    fn what_was_not_acknowledged_is_listed_as_runs() {
        use Fate::{Failed, Unknown};
        let receipts = of(&[None, Some(Failed), Some(Failed), Some(Unknown), None]);
        let runs: Vec<_> = receipts
            .runs
            .iter()
            .map(|r| (r.first, r.last, r.fate))
            .collect();
        assert_eq!(runs, [(2, 3, Failed), (4, 4, Unknown)]);
        assert_eq!(
            (receipts.given, receipts.followed, receipts.acknowledged()),
            (5, 5, 2)
        );
        let fates: Vec<_> = (1..=5).map(|number| receipts.fate(number)).collect();
        assert_eq!(
            fates,
            [None, Some(Failed), Some(Failed), Some(Unknown), None]
        );
        assert_eq!((receipts.count(Failed), receipts.count(Unknown)), (2, 1));
    }

    #[test]
    fn a_number_whose_end_was_never_booked_has_failed() {
        let mut receipts = ClientReceipts::new(0);
        receipts.give(0);
        receipts.give(5);
        let receipts = receipts.finish(9);
        assert_eq!(receipts.count(Fate::Failed), 2);
        assert_eq!(receipts.acknowledged(), 0);
    }

    #[test]
    fn beyond_the_limit_nothing_is_claimed_and_no_memory_is_taken() {
        let mut fates = Vec::new();
        for _ in 0..ClientReceipts::RUNS_MAX + 5 {
            fates.extend([None, Some(Fate::Failed)]);
        }
        let receipts = of(&fates);
        assert_eq!(receipts.runs.capacity(), ClientReceipts::RUNS_MAX);
        let followed = 2 * ClientReceipts::RUNS_MAX as u64 + 1;
        assert_eq!(
            (receipts.followed, receipts.given),
            (followed, fates.len() as u64)
        );
        assert_eq!(receipts.acknowledged(), ClientReceipts::RUNS_MAX as u64 + 1);
    }

    #[test]
    fn times_are_kept_each_second_and_thinned_out() {
        let mut receipts = ClientReceipts::new(0);
        for second in 0..2000_u64 {
            for tenth in 0..10 {
                let at_us = second * 1_000_000 + tenth * 100_000;
                receipts.give(at_us);
                receipts.settle(None, at_us);
            }
        }
        assert!(receipts.marks.capacity() <= ClientReceipts::MARKS_MAX);
        let receipts = receipts.finish(2_000_000_000);
        for number in [1, 2, 777, 12_345, 20_000] {
            let (by_us, within_us) = receipts.ended_us(number).expect("it ended");
            let at_us = (number - 1) * 100_000;
            assert!(
                at_us <= by_us && by_us - within_us <= at_us,
                "{number}: {by_us}"
            );
            assert!(within_us <= 4_100_000, "{within_us}");
        }
        assert_eq!(receipts.ended_us(20_001), None);
    }
}
