//! What one client's draws rest on besides its random numbers: the shared counters, what the
//! present transaction has drawn from them, and the constants of Zipf's law.

use std::sync::Arc;

use crate::counter::{Counter, CounterId, Counters};
use crate::zipf::{Gray, Zipf, zeta};
use crate::{EvalError, Prng};

/// YCSB's scrambled zipfian draws from so many items, whatever the number of keys.
pub const SCRAMBLED_ITEMS: u64 = 10_000_000_000;

pub const YCSB_THETA: f64 = 0.99;

/// The sum for [`SCRAMBLED_ITEMS`] and [`YCSB_THETA`] as YCSB has it.
const YCSB_ZETA: f64 = 26.469_028_201_783_02;

/// So many thetas, and beginnings of ranges, are remembered; scripts use one or two.
const REMEMBERED: usize = 4;

/// What was seen of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Draw,
    /// It was asked how much is settled.
    Settled,
}

/// One look at a counter in the present transaction.
#[derive(Debug, Clone, Copy)]
struct Seen {
    counter: CounterId,
    look: Look,
    value: u64,
    /// Whether the present try has come to it.
    used: bool,
    /// Whether it lies before the savepoint that a replay goes back to.
    kept: bool,
}

/// One client's draws.
///
/// A transaction that is tried again sees the same: its looks at counters are remembered and given
/// again in their order. When it ends, in whatever way, all its numbers are settled.
#[derive(Debug, Clone, Default)]
pub struct Draws {
    counters: Arc<Counters>,
    seen: Vec<Seen>,
    /// How many of these the present try has not come to.
    unused: usize,
    zipfs: Vec<Zipf>,
    grays: Vec<Gray>,
    /// Those of ranges, by what their counts were at the beginning.
    ranges: Vec<Gray>,
    /// Whether a number was drawn from a counter: there is something to settle.
    has_drawn: bool,
}

impl Draws {
    /// Of a client that shares these counters with the others.
    pub fn new(counters: Arc<Counters>) -> Self {
        Self {
            counters,
            seen: Vec::with_capacity(16),
            unused: 0,
            zipfs: Vec::with_capacity(REMEMBERED),
            grays: Vec::with_capacity(REMEMBERED),
            ranges: Vec::with_capacity(REMEMBERED),
            has_drawn: false,
        }
    }

    /// The transaction has ended: committed, failed, given up or unknown. Numbers of one that has
    /// not been committed are settled too: they block no client, and nothing is found there.
    #[inline]
    pub fn end(&mut self) {
        if self.has_drawn {
            self.settle();
        }
        self.unused = 0;
        self.seen.clear();
    }

    fn settle(&mut self) {
        self.has_drawn = false;
        for seen in &self.seen {
            if seen.look == Look::Draw
                && let Some(counter) = self.counters.get(seen.counter)
            {
                counter.settle(seen.value);
            }
        }
    }

    /// The transaction begins once more from its first command.
    pub fn restart(&mut self) {
        for seen in &mut self.seen {
            (seen.used, seen.kept) = (false, false);
        }
        self.unused = self.seen.len();
    }

    /// A replay will come back to here.
    pub fn savepoint(&mut self) {
        for seen in &mut self.seen {
            seen.kept = seen.used;
        }
    }

    /// The transaction goes back to the savepoint.
    pub fn replay(&mut self) {
        for seen in &mut self.seen {
            seen.used = seen.kept;
        }
        self.unused = self.seen.iter().filter(|seen| !seen.used).count();
    }

    /// `None` if there is no such counter.
    #[inline]
    fn look(&mut self, counter: CounterId, look: Look) -> Option<u64> {
        if self.unused > 0
            && let Some(value) = self.look_again(counter, look)
        {
            return Some(value);
        }
        let shared = self.counters.get(counter)?;
        let value = match look {
            Look::Draw => Counter::draw(shared),
            Look::Settled => Counter::settled(shared),
        };
        self.has_drawn |= look == Look::Draw;
        self.seen.push(Seen {
            counter,
            look,
            value,
            used: true,
            kept: false,
        });
        Some(value)
    }

    /// What an earlier try of the transaction has seen, if it has looked there.
    #[cold]
    fn look_again(&mut self, counter: CounterId, look: Look) -> Option<u64> {
        let mut again = self.seen.iter_mut();
        let its = |seen: &&mut Seen| !seen.used && seen.counter == counter && seen.look == look;
        let seen = again.find(its)?;
        seen.used = true;
        self.unused -= 1;
        Some(seen.value)
    }

    /// The next number, from 0.
    pub(crate) fn next(&mut self, counter: CounterId) -> Result<u64, EvalError> {
        self.look(counter, Look::Draw).ok_or(EvalError::NoCounter)
    }

    /// The next number, from 0, which no other try draws, not even one of the same transaction. It is
    /// settled at once: what becomes of the try says nothing about it.
    pub(crate) fn fresh(&self, counter: CounterId) -> Result<u64, EvalError> {
        let counter = self.counters.get(counter).ok_or(EvalError::NoCounter)?;
        let number = counter.draw();
        counter.settle(number);
        Ok(number)
    }

    /// How many numbers are settled without a gap; `None` if there is no such counter.
    #[inline]
    pub(crate) fn settled(&mut self, counter: CounterId) -> Option<u64> {
        self.look(counter, Look::Settled)
    }

    /// The number nearest to this one that is drawn by this generator, see [`Counter::own`]; `None` if
    /// there is no such counter.
    #[inline]
    pub(crate) fn own(&self, counter: CounterId, number: u64) -> Option<u64> {
        Some(self.counters.get(counter)?.own(number))
    }

    /// Whether there is such a counter.
    pub(crate) fn has(&self, counter: CounterId) -> Result<(), EvalError> {
        let counter = self.counters.get(counter);
        counter.map(|_| ()).ok_or(EvalError::NoCounter)
    }

    pub(crate) fn counter_name(&self, counter: CounterId) -> &str {
        self.counters.name(counter)
    }

    /// A rank from 0, of `count` things; exact.
    pub(crate) fn zipfian(&mut self, count: u64, theta: f64, prng: &mut Prng) -> u64 {
        let known = self.zipfs.iter().position(|zipf| zipf.theta() == theta);
        let at = known.unwrap_or_else(|| remember(&mut self.zipfs, Zipf::new(theta)));
        self.zipfs[at].draw(count, prng) - 1
    }

    /// A rank from 0, of [`SCRAMBLED_ITEMS`], as YCSB draws it.
    pub(crate) fn ycsb_rank(&mut self, theta: f64, prng: &mut Prng) -> u64 {
        if theta >= 1.0 {
            return self.zipfian(SCRAMBLED_ITEMS, theta, prng);
        }
        let known = self.grays.iter().position(|gray| gray.theta() == theta);
        let at = known.unwrap_or_else(|| remember(&mut self.grays, scrambled_ranks(theta)));
        self.grays[at].draw(prng)
    }

    /// A rank from 0, of `count` things that were `begin` at the beginning (both at least 1), as
    /// YCSB draws it.
    pub(crate) fn ycsb_rank_of(&mut self, count: u64, begin: u64, prng: &mut Prng) -> u64 {
        let known = self.ranges.iter().position(|gray| gray.begin() == begin);
        let at = known.unwrap_or_else(|| {
            let sum = zeta(begin, YCSB_THETA);
            remember(&mut self.ranges, Gray::new(begin, YCSB_THETA, sum))
        });
        let gray = &mut self.ranges[at];
        gray.grow(count);
        // Rounding, or a beginning with a single thing, may lead beyond the last one.
        gray.draw(prng).min(count - 1)
    }
}

/// YCSB's ranks of [`SCRAMBLED_ITEMS`]; `theta` above 0 and below 1.
pub(crate) fn scrambled_ranks(theta: f64) -> Gray {
    let sum = if theta == YCSB_THETA {
        YCSB_ZETA
    } else {
        zeta(SCRAMBLED_ITEMS, theta)
    };
    Gray::new(SCRAMBLED_ITEMS, theta, sum)
}

/// Keeps a new entry, in the oldest one's place when there are many; says where it is.
fn remember<T>(entries: &mut Vec<T>, new: T) -> usize {
    if entries.len() >= REMEMBERED {
        entries.remove(0);
    }
    entries.push(new);
    entries.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Names;

    fn two_counters() -> (Draws, CounterId, CounterId, Arc<Counters>) {
        let mut names = Names::new();
        let (a, b) = (names.counter("a"), names.counter("b"));
        let counters = Counters::new(&names);
        (Draws::new(Arc::clone(&counters)), a, b, counters)
    }

    #[test]
    fn a_transaction_that_is_tried_again_sees_the_same_numbers() {
        let (mut draws, a, b, counters) = two_counters();
        let mut other = Draws::new(Arc::clone(&counters));
        assert_eq!(draws.next(a), Ok(0));
        assert_eq!(draws.settled(a), Some(0));
        assert_eq!((draws.next(b), draws.next(a)), (Ok(0), Ok(1)));
        // Meanwhile others go on.
        assert_eq!(other.next(a), Ok(2));
        draws.restart();
        assert_eq!((draws.next(a), draws.next(a)), (Ok(0), Ok(1)));
        // It takes another way now, and draws one more.
        assert_eq!(draws.next(a), Ok(3));
        assert_eq!(draws.settled(a), Some(0));
        assert_eq!(counters.find("a").unwrap().settled(), 0);
        draws.end();
        // The number of b, which only the first try used, is settled too.
        assert_eq!(counters.find("b").unwrap().settled(), 1);
        assert_eq!(counters.find("a").unwrap().settled(), 2);
        other.end();
        assert_eq!(counters.find("a").unwrap().settled(), 4);
        assert_eq!(draws.next(a), Ok(4));
        assert_eq!(draws.settled(a), Some(4));
    }

    #[test]
    fn a_replay_keeps_what_lies_before_the_savepoint() {
        let (mut draws, a, ..) = two_counters();
        assert_eq!(draws.next(a), Ok(0));
        draws.savepoint();
        assert_eq!(draws.next(a), Ok(1));
        draws.replay();
        assert_eq!((draws.next(a), draws.next(a)), (Ok(1), Ok(2)));
        draws.restart();
        assert_eq!(draws.next(a), Ok(0));
        draws.savepoint();
        draws.replay();
        assert_eq!(draws.next(a), Ok(1));
    }

    #[test]
    fn many_thetas_push_each_other_out_and_are_found_again() {
        let mut draws = Draws::default();
        let mut prng = Prng::seed(1);
        for round in 0..3 {
            for theta in [0.1, 0.2, 0.3, 0.4, 0.5, 1.5] {
                assert!(draws.zipfian(10, theta, &mut prng) < 10, "{round}");
                assert!(draws.ycsb_rank(theta, &mut prng) <= SCRAMBLED_ITEMS);
            }
        }
        assert_eq!((draws.zipfs.len(), draws.grays.len()), (4, 4));
    }

    #[test]
    fn ycsbs_ranks_stay_in_their_range_however_it_grows_and_nothing_is_allocated() {
        let mut draws = Draws::new(Counters::new(&Names::new()));
        let (room, mut prng) = (draws.ranges.capacity(), Prng::seed(2));
        for begin in 1..20 {
            for count in [begin, begin + 1, 100_000, 1, 2, 3] {
                for _ in 0..100 {
                    let rank = draws.ycsb_rank_of(count, begin, &mut prng);
                    assert!(rank < count, "{rank} of {count}, {begin} at the beginning");
                }
            }
        }
        assert_eq!((draws.ranges.len(), draws.ranges.capacity()), (4, room));
    }

    #[test]
    fn a_counter_of_other_scripts_is_not_there() {
        let (_, a, ..) = two_counters();
        assert_eq!(Draws::default().next(a), Err(EvalError::NoCounter));
    }
}
