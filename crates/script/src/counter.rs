//! Numbers that all clients of a run draw from, and how far what was drawn has been settled.
//!
//! Nothing here locks: a draw is one atomic addition, settling a number as a rule two
//! exchanges.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::Names;

/// A number that is so far behind the newest settled one does not hold up the others any more: a
/// transaction that hangs for ever must not keep all later keys from being read.
pub const WINDOW: u64 = 1 << 16;

/// The place of a counter among those of a run: what its name becomes when a script is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CounterId(pub(crate) u32);

/// One counter. It counts from 0; scripts add a start of their own.
///
/// Of several generators of one trial each draws numbers that no other draws: the first of three 0, 3,
/// 6…, so that all together draw what one would. How far the others have come is not known here: they
/// are taken to be as far as this one, and what is read is a number of its own ([`Counter::own`]).
#[derive(Debug)]
pub struct Counter {
    /// Which generator draws from it, counted from 0, and how many there are.
    share: (u64, u64),
    next: AtomicU64,
    /// How many numbers, from 0 on, are settled without a gap.
    settled: AtomicU64,
    /// At `number % WINDOW`: `number + 1` once that number is settled.
    marks: Box<[AtomicU64]>,
}

impl Default for Counter {
    fn default() -> Self {
        Self {
            share: (0, 1),
            next: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            marks: (0..WINDOW).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Counter {
    pub fn draw(&self) -> u64 {
        let (first, step) = self.share;
        first + step * self.next.fetch_add(1, SeqCst)
    }

    /// How many numbers were drawn.
    pub fn drawn(&self) -> u64 {
        self.next.load(SeqCst)
    }

    /// How many numbers, from 0 on, are settled without a gap: all below it.
    pub fn settled(&self) -> u64 {
        self.settled.load(SeqCst) * self.share.1
    }

    /// The number nearest to this one that is drawn here: of the three generators' 6, 7 and 8 the own one.
    /// Below [`Counter::settled`] it is settled, wherever the other generators are.
    pub fn own(&self, number: u64) -> u64 {
        let (first, step) = self.share;
        (number - number % step).saturating_add(first)
    }

    /// Settles a number: its transaction has ended, well or not.
    pub fn settle(&self, number: u64) {
        self.settle_own(number / self.share.1);
    }

    /// The same of the numbers that are drawn here, counted.
    fn settle_own(&self, number: u64) {
        let settled = self.settled.load(SeqCst);
        if number < settled {
            return;
        }
        // Far ahead its place may still be another's: that one has had its time.
        if number - settled >= WINDOW {
            self.settled.fetch_max(number - WINDOW + 1, SeqCst);
        }
        // The larger number stays, should its place be another's by now.
        self.mark(number).fetch_max(number + 1, SeqCst);
        // The mark comes before this load, and in the thread that settles the number before, the exchange
        // before the load of our mark: one of both sees the other's (they are all in one order).
        let mut at = self.settled.load(SeqCst);
        while self.mark(at).load(SeqCst) == at + 1 {
            at = match self.settled.compare_exchange(at, at + 1, SeqCst, SeqCst) {
                Ok(_) => at + 1,
                Err(now) => now,
            };
        }
    }

    fn mark(&self, number: u64) -> &AtomicU64 {
        &self.marks[(number % WINDOW) as usize]
    }
}

/// The counters of a run, shared by all its clients.
#[derive(Debug, Default)]
pub struct Counters {
    list: Vec<(Box<str>, Counter)>,
}

impl Counters {
    /// A counter for each name that the scripts mention, all at 0.
    pub fn new(names: &Names) -> Arc<Self> {
        Self::shared(names, 0, 1)
    }

    /// The same for one of several generators, counted from 0, and how many there are (at least one).
    pub fn shared(names: &Names, generator: u64, generators: u64) -> Arc<Self> {
        let counter = |name: &str| {
            let counter = Counter {
                share: (generator, generators.max(1)),
                ..Counter::default()
            };
            (name.into(), counter)
        };
        Arc::new(Self {
            list: names.counters().iter().map(|name| counter(name)).collect(),
        })
    }

    /// The counter of this name.
    pub fn find(&self, name: &str) -> Option<&Counter> {
        let found = self.list.iter().find(|(its, _)| &**its == name);
        found.map(|(_, counter)| counter)
    }

    /// How many numbers were drawn, by counter.
    pub fn drawn(&self) -> impl Iterator<Item = (&str, u64)> {
        self.list
            .iter()
            .map(|(name, counter)| (&**name, counter.drawn()))
    }

    pub(crate) fn get(&self, id: CounterId) -> Option<&Counter> {
        self.list.get(id.0 as usize).map(|(_, counter)| counter)
    }

    pub(crate) fn name(&self, id: CounterId) -> &str {
        self.list.get(id.0 as usize).map_or("", |(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_holds_up_what_comes_behind_it_until_it_is_settled() {
        let counter = Counter::default();
        let numbers: Vec<_> = (0..5).map(|_| counter.draw()).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        assert_eq!(counter.settled(), 0);
        counter.settle(1);
        counter.settle(2);
        assert_eq!(counter.settled(), 0);
        counter.settle(0);
        assert_eq!(counter.settled(), 3);
        counter.settle(0);
        counter.settle(4);
        assert_eq!(counter.settled(), 3);
        counter.settle(3);
        assert_eq!(counter.settled(), 5);
    }

    #[test]
    fn generators_draw_together_what_one_would() {
        let counter = |generator| Counter {
            share: (generator, 3),
            ..Counter::default()
        };
        let counters = [0, 1, 2].map(counter);
        let mut all: Vec<u64> = counters.iter().flat_map(|c| [c.draw(), c.draw()]).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4, 5]);
        assert_eq!(counters[1].drawn(), 2);
        counters[1].settle(4);
        assert_eq!(counters[1].settled(), 0);
        counters[1].settle(1);
        assert_eq!(counters[1].settled(), 6);
        assert_eq!([3, 4, 5].map(|n| counters[1].own(n)), [4, 4, 4]);
        assert_eq!([0, 1, 5].map(|n| Counter::default().own(n)), [0, 1, 5]);
        assert_eq!(counters[2].own(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_thread_a_whole_window_behind_blocks_no_other() {
        let counter = Counter::default();
        for number in 1..WINDOW {
            counter.settle(number);
        }
        assert_eq!(counter.settled(), 0);
        counter.settle(WINDOW);
        assert_eq!(counter.settled(), WINDOW + 1);
        // It comes at last, and its place belongs to another.
        counter.settle(0);
        assert_eq!(counter.settled(), WINDOW + 1);
    }

    #[test]
    fn threads_draw_each_number_once_and_settle_all_of_them() {
        const EACH: u64 = 50_000;
        let counter = Counter::default();
        let mut drawn: Vec<u64> = std::thread::scope(|scope| {
            let draw = |thread: u64| {
                let counter = &counter;
                move || {
                    let mut mine: Vec<u64> = Vec::new();
                    for round in 0..EACH {
                        mine.push(counter.draw());
                        // In bursts, so that gaps are there and close again.
                        if round % (thread + 2) == 0 || round == EACH - 1 {
                            let from = mine.len().saturating_sub(thread as usize + 2);
                            mine[from..].iter().rev().for_each(|n| counter.settle(*n));
                        }
                        let (last, settled) = (mine[mine.len() - 1], counter.settled());
                        assert!(settled <= counter.drawn(), "{last}");
                    }
                    mine
                }
            };
            let threads: Vec<_> = (0..4).map(|thread| scope.spawn(draw(thread))).collect();
            threads
                .into_iter()
                .flat_map(|t| t.join().unwrap())
                .collect()
        });
        drawn.sort_unstable();
        assert!(drawn.iter().copied().eq(0..4 * EACH));
        assert_eq!(counter.settled(), 4 * EACH);
    }
}
