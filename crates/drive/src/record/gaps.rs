//! The gaps between the commits of a thread, of which times without service are made.

use pgdyno_measurement::{GAP_MIN, Gap};
use pgdyno_platform::clock::Nanos;

/// A thread's eye on its own commits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OwnGaps {
    /// The last commit, or when the phase began; [`Nanos::MAX`] when gaps do not matter any more.
    since: Nanos,
    /// No shorter one is noted.
    min: Nanos,
}

impl Default for OwnGaps {
    fn default() -> Self {
        Self::from(GAP_MIN)
    }
}

impl OwnGaps {
    /// Notes gaps that take so long or longer.
    pub(crate) fn from(min: Nanos) -> Self {
        Self {
            since: Nanos::MAX,
            min,
        }
    }

    pub(crate) fn begin(&mut self, at: Nanos) {
        self.since = at;
    }

    #[inline]
    pub(crate) fn committed(&mut self, at: Nanos, gaps: &mut Vec<Gap>) {
        let Some(length) = at.checked_sub(self.since) else {
            return;
        };
        if length >= self.min {
            note(gaps, (self.since, at));
        }
        self.since = at;
    }

    /// The asked duration is over, or the thread has no client any more: no commit follows that
    /// would count.
    pub(crate) fn end(&mut self, gaps: &mut Vec<Gap>) {
        if self.since < Nanos::MAX {
            gaps.push((self.since, Nanos::MAX));
            self.since = Nanos::MAX;
        }
    }
}

/// Few gaps are long enough.
#[cold]
#[inline(never)]
fn note(gaps: &mut Vec<Gap>, gap: Gap) {
    gaps.push(gap);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_noted_up_to_the_end_and_not_after_it() {
        let (mut own, mut gaps) = (OwnGaps::default(), Vec::new());
        own.begin(5);
        for at in [6, 6 + GAP_MIN, 5 + 2 * GAP_MIN] {
            own.committed(at, &mut gaps);
        }
        own.end(&mut gaps);
        own.committed(Nanos::MAX / 2, &mut gaps);
        let end = (5 + 2 * GAP_MIN, Nanos::MAX);
        assert_eq!(gaps, [(6, 6 + GAP_MIN), end]);
    }
}
