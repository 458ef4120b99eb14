//! One thread's slots of 100 ms, in memory that is taken before the run; booking is an addition.

use pgdyno_measurement::{Outcome, SLOT_US, SLOTS_MAX, Slot, Slots};
use pgdyno_platform::clock::{Nanos, micros};

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
                slot.book_committed(response_us);
                slot.within += u32::from(within.is_some_and(|within| response <= within));
                if let Some((slot, us)) = self.at(at) {
                    slot.book_commit(us);
                }
            }
        }
    }

    /// A try has failed, or a connection was lost or refused.
    #[cold]
    pub(crate) fn error(&mut self, at: Nanos) {
        if let Some((slot, us)) = self.at(at) {
            slot.book_error(us);
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
    use pgdyno_measurement::Failure;

    const MS: Nanos = 1_000_000;

    fn own() -> OwnSlots {
        let mut own = OwnSlots::new(1000 * MS, Some(50 * MS), true);
        own.begin(7000 * MS);
        own
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
