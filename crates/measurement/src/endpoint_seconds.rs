//! What was committed at an endpoint in each second, and what went wrong there: by it an outage of one of
//! several endpoints has its errors and its recovery.

use super::{Failure, Outcome};
use pgdyno_platform::clock::Nanos;

const SECOND_US: u64 = 1_000_000;
const SECOND_NS: Nanos = 1_000_000_000;
/// So many seconds have their memory from the beginning; longer runs get more now and then.
const SECONDS_RESERVED: u64 = 1 << 13;
/// As many entries of what went wrong.
const WRONG_RESERVED: usize = 256;

/// The seconds of the measured time, up to its asked end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointSeconds {
    /// When the first began, in microseconds since clients began to work.
    pub from_us: u64,
    /// What was committed, by second; none after the last commit.
    pub committed: Vec<u64>,
    /// What went wrong, in no order.
    pub wrong: Vec<Wrong>,
    /// Tries that failed, also those that were tried again, and connections that were lost or refused,
    /// in no order; only where slots are kept ([`super::Slots`]).
    pub errors: Vec<Wrong>,
}

/// What went wrong in a second in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub second: u64,
    /// Why transactions failed; `None` for those whose commit is unknown.
    pub failure: Option<Failure>,
    pub count: u64,
}

impl EndpointSeconds {
    /// With memory for so many seconds, as far as that is known.
    pub fn reserve(&mut self, duration: Option<Nanos>) {
        let seconds = duration.map_or(SECONDS_RESERVED, |ns| ns / SECOND_NS + 1);
        self.committed
            .reserve(seconds.min(SECONDS_RESERVED) as usize);
        self.wrong.reserve(WRONG_RESERVED);
        self.errors.reserve(WRONG_RESERVED);
    }

    pub fn begin(&mut self, from_us: u64) {
        self.from_us = from_us;
        self.committed.clear();
        self.wrong.clear();
        self.errors.clear();
    }

    /// Books a transaction that ended so long after the beginning.
    #[inline]
    pub fn book(&mut self, after: Nanos, outcome: Outcome) {
        // Not rounded: it is the second in which it ended.
        let second = after / SECOND_NS;
        match outcome {
            Outcome::Committed => self.commit(second, 1),
            Outcome::Failed(failure) => add(&mut self.wrong, second, Some(failure), 1),
            Outcome::Unknown => add(&mut self.wrong, second, None, 1),
            Outcome::Skipped => {}
        }
    }

    /// Books an error so long after the beginning.
    #[cold]
    pub fn book_error(&mut self, after: Nanos, failure: Failure) {
        add(&mut self.errors, after / SECOND_NS, Some(failure), 1);
    }

    #[inline]
    fn commit(&mut self, second: u64, count: u64) {
        let second = second as usize;
        if self.committed.len() <= second {
            self.committed.resize(second + 1, 0);
        }
        self.committed[second] += count;
    }

    /// Adds those of another thread or generator.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            return self.clone_from(other);
        }
        let seconds_after = |late_us: u64, early_us: u64| {
            let late_us = late_us.saturating_sub(early_us);
            (late_us + SECOND_US / 2) / SECOND_US
        };
        let mine_moves = seconds_after(self.from_us, other.from_us);
        let theirs_moves = seconds_after(other.from_us, self.from_us);
        if mine_moves > 0 {
            let gap = std::iter::repeat_n(0, mine_moves as usize);
            self.committed.splice(0..0, gap);
            let wrong = self.wrong.iter_mut().chain(&mut self.errors);
            wrong.for_each(|one| one.second += mine_moves);
            self.from_us = other.from_us;
        }
        for (second, count) in (theirs_moves..).zip(&other.committed) {
            if *count > 0 {
                self.commit(second, *count);
            }
        }
        let both = [
            (&mut self.wrong, &other.wrong),
            (&mut self.errors, &other.errors),
        ];
        for (mine, theirs) in both {
            for one in theirs {
                add(mine, one.second + theirs_moves, one.failure, one.count);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.committed.is_empty() && self.wrong.is_empty() && self.errors.is_empty()
    }
}

fn add(all: &mut Vec<Wrong>, second: u64, failure: Option<Failure>, count: u64) {
    // Of the same second only the last ones can be.
    let mut same = all.iter_mut().rev();
    let same = same.find(|one| one.second == second && one.failure == failure);
    match same {
        Some(one) => one.count += count,
        None => all.push(Wrong {
            second,
            failure,
            count,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Nanos = 1_000_000_000;

    #[test]
    fn seconds_of_threads_and_of_a_generator_that_began_later_add_up() {
        let mut mine = EndpointSeconds::default();
        mine.reserve(Some(9 * S));
        mine.begin(5_000_000);
        mine.book(S / 2, Outcome::Committed);
        mine.book(2 * S, Outcome::Committed);
        mine.book(2 * S, Outcome::Failed(Failure::ConnectionLost));
        mine.book(3 * S - 1, Outcome::Failed(Failure::ConnectionLost));
        mine.book(3 * S, Outcome::Unknown);
        mine.book(3 * S, Outcome::Skipped);
        mine.book_error(2 * S, Failure::DEADLOCK);
        mine.book_error(3 * S - 1, Failure::DEADLOCK);
        assert_eq!(mine.committed, [1, 0, 1]);
        let wrong = |second, failure, count| Wrong {
            second,
            failure,
            count,
        };
        let lost = Some(Failure::ConnectionLost);
        assert_eq!(mine.wrong, [wrong(2, lost, 2), wrong(3, None, 1)]);
        let deadlock = Some(Failure::DEADLOCK);
        assert_eq!(mine.errors, [wrong(2, deadlock, 2)]);
        let mut late = EndpointSeconds::default();
        late.begin(7_000_000);
        late.book(0, Outcome::Committed);
        late.book(0, Outcome::Failed(Failure::ConnectionLost));
        late.book_error(0, Failure::DEADLOCK);
        late.book_error(S, Failure::DEADLOCK);
        let mut sum = mine.clone();
        sum.merge(&late);
        assert_eq!(
            (sum.from_us, sum.committed.as_slice()),
            (5_000_000, &[1, 0, 2][..])
        );
        assert_eq!(sum.wrong[0], wrong(2, lost, 3));
        let errors = [wrong(2, deadlock, 3), wrong(3, deadlock, 1)];
        assert_eq!(sum.errors, errors);
        let mut other_way = late.clone();
        other_way.merge(&mine);
        assert_eq!(
            (other_way.from_us, &other_way.committed),
            (5_000_000, &sum.committed)
        );
        other_way.merge(&EndpointSeconds::default());
        assert_eq!(other_way.committed, sum.committed);
    }
}
