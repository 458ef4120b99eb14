//! What became of transactions by the time at which they were to start, in slots of 100 ms: of a
//! service that goes away and comes back, a second says too little.
//!
//! A thread's slots lie in memory that is taken before the run; booking is an addition. Slots of
//! threads and generators are added up.

/// The length of a slot.
pub const SLOT_US: u64 = 100_000;
/// So many slots at most: ten hours.
pub const SLOTS_MAX: usize = 360_000;

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

    /// Counts one that was to start in it and was committed after so long.
    #[inline]
    pub fn book_committed(&mut self, response_us: u64) {
        let bucket = BOUNDS_US.partition_point(|bound| *bound < response_us);
        self.committed[bucket] += 1;
    }

    /// Counts a commit so long after its beginning.
    #[inline]
    pub fn book_commit(&mut self, at_us: u32) {
        self.commits += 1;
        self.first_commit_us = self.first_commit_us.min(at_us);
    }

    /// Counts an error so long after its beginning.
    pub fn book_error(&mut self, at_us: u32) {
        self.errors += 1;
        self.first_error_us = self.first_error_us.min(at_us);
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
    pub fn begin_late(&mut self, by_us: u64) {
        let count = (by_us / SLOT_US) as usize;
        let before = std::iter::repeat_n(Slot::default(), count);
        self.slots.splice(..0, before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_round_and_in_order() {
        assert_eq!(BOUNDS_US[..7], [100, 150, 200, 300, 500, 700, 1000]);
        assert_eq!(BOUNDS_US[36], 100_000_000);
        assert!(BOUNDS_US.is_sorted());
    }
}
