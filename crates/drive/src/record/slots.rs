//! What became of transactions by the time at which they were to start, in slots of 100 ms: of a
//! service that goes away and comes back, a second says too little.
//!
//! A thread's slots lie in memory that is taken before the run; booking is an addition. Slots of
//! threads and generators are added up.

use super::Outcome;
use crate::clock::{Nanos, micros};

/// The length of a slot.
pub const SLOT_US: u64 = 100_000;
/// So many slots at most: ten hours.
const SLOTS_MAX: usize = 360_000;

/// Response times are counted up to these bounds, in microseconds: six in a factor of ten, from
/// 100 µs to 100 s. A limit that is one of them is counted exactly.
pub const BOUNDS_US: [u64; 37] = bounds();

const fn bounds() -> [u64; 37] {
    let steps = [10, 15, 20, 30, 50, 70];
    let mut bounds = [0; 37];
    let (mut at, mut decade) = (0, 10);
    while at < bounds.len() {
        bounds[at] = steps[at % steps.len()] * decade;
        at += 1;
        if at % steps.len() == 0 {
            decade *= 10;
        }
    }
    bounds
}

/// Counts by response time: up to each of [`BOUNDS_US`], and beyond.
const BUCKETS: usize = BOUNDS_US.len() + 1;

/// What happened in, or became of, 100 ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Transactions that were to start in it.
    pub due: u32,
    /// Of these: skipped, because they were too late already.
    pub skipped: u32,
    pub failed: u32,
    /// Of these: those whose commit is unknown.
    pub unknown: u32,
    /// Of these: committed within the limit that was given.
    pub within: u32,
    /// Of these: committed, by response time.
    committed: [u32; BUCKETS],
    /// Transactions that were committed in it, whenever they were to start.
    pub commits: u32,
    /// Tries that failed in it, and connections that were lost or refused.
    pub errors: u32,
    /// The first commit, in microseconds since its beginning.
    first_commit_us: u32,
    /// The first error, in the same way.
    first_error_us: u32,
}

/// No moment of a slot.
const NEVER: u32 = u32::MAX;

impl Default for Slot {
    fn default() -> Self {
        Self {
            due: 0,
            skipped: 0,
            failed: 0,
            unknown: 0,
            within: 0,
            committed: [0; BUCKETS],
            commits: 0,
            errors: 0,
            first_commit_us: NEVER,
            first_error_us: NEVER,
        }
    }
}

impl Slot {
    /// Transactions that were to start in it and were committed at last.
    pub fn committed(&self) -> u64 {
        self.committed.iter().map(|count| u64::from(*count)).sum()
    }

    /// Those that were committed within this bound of response time, in microseconds: exact if it is
    /// one of [`BOUNDS_US`], else those within the greatest of them that is not longer.
    pub fn committed_within(&self, bound_us: u64) -> u64 {
        let buckets = BOUNDS_US.partition_point(|bound| *bound <= bound_us);
        let within = self.committed[..buckets].iter();
        within.map(|count| u64::from(*count)).sum()
    }

    /// Transactions that were to start in it and never did: the run was over before.
    pub fn never_started(&self) -> u64 {
        let ended = self.committed()
            + [self.skipped, self.failed, self.unknown]
                .iter()
                .map(|count| u64::from(*count))
                .sum::<u64>();
        u64::from(self.due).saturating_sub(ended)
    }

    /// The first commit, in microseconds since the beginning of the slot.
    pub fn first_commit_us(&self) -> Option<u64> {
        (self.first_commit_us != NEVER).then_some(self.first_commit_us.into())
    }

    /// The first error, in the same way.
    pub fn first_error_us(&self) -> Option<u64> {
        (self.first_error_us != NEVER).then_some(self.first_error_us.into())
    }

    fn counts(&self) -> [u32; 7] {
        [
            self.due,
            self.skipped,
            self.failed,
            self.unknown,
            self.within,
            self.commits,
            self.errors,
        ]
    }

    fn counts_mut(&mut self) -> [&mut u32; 7] {
        [
            &mut self.due,
            &mut self.skipped,
            &mut self.failed,
            &mut self.unknown,
            &mut self.within,
            &mut self.commits,
            &mut self.errors,
        ]
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts_mut().into_iter().zip(other.counts()) {
            *mine = mine.saturating_add(theirs);
        }
        for (mine, theirs) in self.committed.iter_mut().zip(other.committed) {
            *mine = mine.saturating_add(theirs);
        }
        self.first_commit_us = self.first_commit_us.min(other.first_commit_us);
        self.first_error_us = self.first_error_us.min(other.first_error_us);
    }
}

/// The slots of a run, from when clients began to work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// The limit of [`Slot::within`] in microseconds, where one was given.
    pub within_us: Option<u64>,
    pub slots: Vec<Slot>,
}

/// A slot to be kept: its number, its counts, its first commit and first error, and the buckets of
/// response time that are not empty.
pub type PackedSlot = (usize, [u32; 7], [Option<u64>; 2], Vec<(usize, u32)>);

impl Slots {
    /// Those that have something in them.
    pub fn pack(&self) -> Vec<PackedSlot> {
        let slots = self.slots.iter().enumerate();
        let slots = slots.filter(|(_, slot)| **slot != Slot::default());
        let pack = |(number, slot): (usize, &Slot)| {
            let moments = [slot.first_commit_us(), slot.first_error_us()];
            let buckets = slot.committed.iter().copied().enumerate();
            let buckets = buckets.filter(|(_, count)| *count > 0).collect();
            (number, slot.counts(), moments, buckets)
        };
        slots.map(pack).collect()
    }

    pub fn unpack(within_us: Option<u64>, packed: Vec<PackedSlot>) -> Self {
        let count = packed.iter().map(|(number, ..)| number + 1).max();
        let mut slots = vec![Slot::default(); count.unwrap_or(0).min(SLOTS_MAX)];
        for (number, counts, moments, buckets) in packed {
            let Some(slot) = slots.get_mut(number) else {
                continue;
            };
            for (mine, theirs) in slot.counts_mut().into_iter().zip(counts) {
                *mine = theirs;
            }
            let moment = |us: Option<u64>| us.and_then(|us| us.try_into().ok()).unwrap_or(NEVER);
            (slot.first_commit_us, slot.first_error_us) = (moment(moments[0]), moment(moments[1]));
            for (bucket, count) in buckets {
                if let Some(mine) = slot.committed.get_mut(bucket) {
                    *mine = count;
                }
            }
        }
        Self { within_us, slots }
    }

    /// Adds those of another thread or generator of the same run.
    pub fn merge(&mut self, other: &Self) {
        self.within_us = self.within_us.or(other.within_us);
        let count = self.slots.len().max(other.slots.len());
        self.slots.resize_with(count, Slot::default);
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            mine.merge(theirs);
        }
    }

    /// Moves them later by whole slots.
    pub(super) fn begin_late(&mut self, by_us: u64) {
        let count = (by_us / SLOT_US) as usize;
        let before = std::iter::repeat_n(Slot::default(), count);
        self.slots.splice(..0, before);
    }
}

/// One thread's slots at work.
#[derive(Debug)]
pub(crate) struct OwnSlots {
    slots: Slots,
    begin: Nanos,
    within: Option<Nanos>,
    /// Without a schedule a transaction is due when it begins.
    with_rate: bool,
}

impl OwnSlots {
    /// With memory for a run of this length, and some more for what ends later.
    pub(crate) fn new(length: Nanos, within: Option<Nanos>, with_rate: bool) -> Self {
        let count = (micros(length) / SLOT_US) as usize + 600;
        Self {
            slots: Slots {
                within_us: within.map(micros),
                slots: vec![Slot::default(); count.min(SLOTS_MAX)],
            },
            begin: 0,
            within,
            with_rate,
        }
    }

    pub(crate) fn begin(&mut self, at: Nanos) {
        self.begin = at;
    }

    /// The slot of a moment, the last one of those that come later, and how far within it is.
    #[inline]
    fn at(&mut self, at: Nanos) -> Option<(&mut Slot, u32)> {
        let us = micros(at.saturating_sub(self.begin));
        let last = self.slots.slots.len().checked_sub(1)?;
        let number = ((us / SLOT_US) as usize).min(last);
        Some((&mut self.slots.slots[number], (us % SLOT_US) as u32))
    }

    /// A transaction is to start then.
    #[inline]
    pub(crate) fn due(&mut self, scheduled: Nanos) {
        if let Some((slot, _)) = self.at(scheduled) {
            slot.due += 1;
        }
    }

    /// A transaction that was to start then has ended.
    #[inline]
    pub(crate) fn ended(&mut self, scheduled: Nanos, at: Nanos, outcome: Outcome) {
        let (with_rate, within) = (self.with_rate, self.within);
        let response = at.saturating_sub(scheduled);
        let Some((slot, _)) = self.at(scheduled) else {
            return;
        };
        slot.due += u32::from(!with_rate);
        match outcome {
            Outcome::Skipped => slot.skipped += 1,
            Outcome::Unknown => slot.unknown += 1,
            Outcome::Failed(_) => slot.failed += 1,
            Outcome::Committed => {
                let response_us = micros(response);
                let bucket = BOUNDS_US.partition_point(|bound| *bound < response_us);
                slot.committed[bucket] += 1;
                slot.within += u32::from(within.is_some_and(|within| response <= within));
                if let Some((slot, us)) = self.at(at) {
                    slot.commits += 1;
                    slot.first_commit_us = slot.first_commit_us.min(us);
                }
            }
        }
    }

    /// A try has failed, or a connection was lost or refused.
    #[cold]
    pub(crate) fn error(&mut self, at: Nanos) {
        if let Some((slot, us)) = self.at(at) {
            slot.errors += 1;
            slot.first_error_us = slot.first_error_us.min(us);
        }
    }

    /// Hands them over, without those at the end in which nothing was.
    pub(crate) fn finish(mut self) -> Slots {
        let is_empty = |slot: &Slot| *slot == Slot::default();
        let used = self.slots.slots.iter().rposition(|slot| !is_empty(slot));
        self.slots.slots.truncate(used.map_or(0, |last| last + 1));
        self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Failure;

    const MS: Nanos = 1_000_000;

    fn own() -> OwnSlots {
        let mut own = OwnSlots::new(1000 * MS, Some(50 * MS), true);
        own.begin(7000 * MS);
        own
    }

    #[test]
    fn bounds_are_round_and_in_order() {
        assert_eq!(BOUNDS_US[..7], [100, 150, 200, 300, 500, 700, 1000]);
        assert_eq!(BOUNDS_US[36], 100_000_000);
        assert!(BOUNDS_US.is_sorted());
    }

    #[test]
    fn a_transaction_counts_where_it_was_to_start_and_its_commit_where_it_came() {
        let mut own = own();
        for at in [0, 10, 20, 30, 99] {
            own.due(7000 * MS + at * MS);
        }
        let at = |ms: u64| 7000 * MS + ms * MS;
        own.ended(at(0), at(50), Outcome::Committed);
        own.ended(at(10), at(330), Outcome::Committed);
        own.ended(at(20), at(40), Outcome::Failed(Failure::DEADLOCK));
        own.ended(at(30), at(90), Outcome::Unknown);
        own.error(at(40));
        own.error(at(35));
        let slots = own.finish();
        assert_eq!(slots.slots.len(), 4);
        let (first, last) = (&slots.slots[0], &slots.slots[3]);
        assert_eq!((first.due, first.failed, first.unknown), (5, 1, 1));
        assert_eq!((first.committed(), first.within, first.commits), (2, 1, 1));
        // The one at 99 ms never started.
        assert_eq!(first.never_started(), 1);
        assert_eq!(first.first_commit_us(), Some(50_000));
        assert_eq!((first.errors, first.first_error_us()), (2, Some(35_000)));
        let within = [49_999, 50_000, 300_000, 500_000].map(|us| first.committed_within(us));
        assert_eq!(within, [0, 1, 1, 2]);
        assert_eq!((last.due, last.commits), (0, 1));
        assert_eq!(last.first_commit_us(), Some(30_000));
        assert_eq!(last.first_error_us(), None);
        // What comes after the last slot counts there.
        let mut own = super::OwnSlots::new(0, None, false);
        own.ended(0, 3_600_000 * MS, Outcome::Committed);
        let slots = own.finish();
        assert_eq!((slots.slots[0].due, slots.slots[599].commits), (1, 1));
    }

    #[test]
    fn slots_are_kept_and_added_up() {
        let mut own = own();
        own.due(7250 * MS);
        own.ended(7250 * MS, 7260 * MS, Outcome::Committed);
        own.error(7010 * MS);
        let one = own.finish();
        assert_eq!(Slots::unpack(one.within_us, one.pack()), one);
        let mut two = one.clone();
        two.begin_late(1_000_000);
        assert_eq!(two.slots.len(), 13);
        two.merge(&one);
        two.merge(&one);
        assert_eq!((two.slots[2].due, two.slots[12].due), (2, 1));
        assert_eq!(two.slots[2].committed_within(10_000), 2);
        assert_eq!(two.slots[0].first_error_us(), Some(10_000));
        assert_eq!(two.within_us, Some(50_000));
    }
}
