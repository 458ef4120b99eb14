//! Staleness by second: reads of several threads come about in order, and a percentile needs all of its second.

use std::collections::BTreeMap;

use pgdyno_measurement::Latencies;
use pgdyno_model::document::StaleSecond;

/// So many seconds are open at the same time.
const OPEN_MAX: usize = 16;
const SECONDS_MAX: usize = 24 * 3600;

/// The seconds of one server.
#[derive(Debug, Default)]
pub struct Seconds {
    open: BTreeMap<u64, Open>,
    closed: BTreeMap<u64, StaleSecond>,
}

#[derive(Debug, Default)]
struct Open {
    stale: u64,
    staleness: Latencies,
    replay_us: Option<u64>,
}

impl Seconds {
    /// Counts a read that began in this second.
    pub fn read(&mut self, at_s: u64, stale_us: u64) {
        // It comes too late for the percentiles.
        if let Some(closed) = self.closed.get_mut(&at_s) {
            closed.reads += 1;
            closed.stale += u64::from(stale_us > 0);
            closed.max_us = closed.max_us.max(stale_us);
            (closed.p50_us, closed.p99_us) = (None, None);
            return;
        }
        let open = self.open(at_s);
        open.stale += u64::from(stale_us > 0);
        open.staleness.record(stale_us);
    }

    /// The replay was so far behind in this second.
    pub fn replayed(&mut self, at_s: u64, behind_us: u64) {
        if !self.closed.contains_key(&at_s) {
            let open = self.open(at_s);
            open.replay_us = open.replay_us.max(Some(behind_us));
        }
    }

    fn open(&mut self, at_s: u64) -> &mut Open {
        if !self.open.contains_key(&at_s)
            && self.open.len() == OPEN_MAX
            && let Some((at_s, open)) = self.open.pop_first()
            && self.closed.len() < SECONDS_MAX
        {
            self.closed.insert(at_s, open.close(at_s));
        }
        self.open.entry(at_s).or_default()
    }

    /// All of them with reads, in order, counted from this one.
    pub fn finish(mut self, first_s: u64) -> Vec<StaleSecond> {
        for (at_s, open) in self.open {
            self.closed.insert(at_s, open.close(at_s));
        }
        let seconds = self.closed.into_values();
        let seconds = seconds.filter(|second| second.reads > 0);
        let since = |second: StaleSecond| StaleSecond {
            at_s: second.at_s.saturating_sub(first_s),
            ..second
        };
        seconds.map(since).collect()
    }
}

impl Open {
    fn close(&self, at_s: u64) -> StaleSecond {
        StaleSecond {
            at_s,
            reads: self.staleness.count(),
            stale: self.stale,
            p50_us: self.staleness.percentile_us(50.0),
            p99_us: self.staleness.percentile_us(99.0),
            max_us: self.staleness.max_us(),
            replay_us: self.replay_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_its_percentiles_and_one_that_gets_a_read_too_late_has_none() {
        let mut seconds = Seconds::default();
        for at_s in 5..5 + OPEN_MAX as u64 + 1 {
            (0..1000).for_each(|us| seconds.read(at_s, us));
            seconds.replayed(at_s, 70);
        }
        seconds.read(5, 2_000);
        seconds.replayed(5, 90);
        let reported = seconds.finish(4);
        assert_eq!(reported.len(), OPEN_MAX + 1);
        let [late, next, ..] = reported.as_slice() else {
            panic!("{reported:?}")
        };
        assert_eq!((late.at_s, late.reads, late.stale), (1, 1001, 1000));
        assert_eq!(
            (late.p50_us, late.max_us, late.replay_us),
            (None, 2_000, Some(70))
        );
        assert_eq!((next.at_s, next.reads, next.max_us), (2, 1000, 999));
        assert!(next.p50_us.is_some() && next.p99_us.is_some());
    }
}
