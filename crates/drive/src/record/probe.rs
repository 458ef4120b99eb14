//! What the generator itself adds to latencies: how long answers that were there waited for their
//! thread.
//!
//! The scheduler counts how long a thread could have run and had no CPU. Read at each turn of the
//! event loop, that is how long this turn's answers may have waited before the thread saw them; the
//! first one has waited for all of it, others came at any time meanwhile: half of it is taken. Behind
//! that an answer waits for those before it in its turn, which is known. A transaction followed so from
//! its beginning to its end tells what its latency would have been without.
//!
//! A reading costs half a microsecond. Where turns are few, all transactions are followed; where they
//! are many, those that begin in a window of each second.

use pgdyno_platform::cpu_time::ThreadClock;
use pgdyno_platform::proc::task::Scheduled;

use pgdyno_platform::clock::Nanos;

const SECOND_NS: Nanos = 1_000_000_000;
/// So many turns a second are followed: a tenth of a percent of a CPU.
const TURNS_MAX: f64 = 2_000.0;
/// The window of the first second, when it is not known how many turns there will be.
const WINDOW_FIRST: f64 = 0.1;
/// Windows of successive seconds begin apart by this part of a second (the golden section), so that
/// what happens every second is not always in them, or never.
const STEP: f64 = 0.381_966;

/// What one turn's answers waited before their thread saw them, and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delay {
    pub(crate) estimate_ns: u64,
    pub(crate) max_ns: u64,
    /// Beside it, while pgdyno did not run.
    pub(crate) stopped_ns: u64,
    /// The same with what was held up behind that.
    pub(crate) stopped_max_ns: u64,
}

impl Delay {
    pub(crate) fn add(&mut self, other: Delay) {
        self.estimate_ns += other.estimate_ns;
        self.max_ns += other.max_ns;
        self.stopped_ns += other.stopped_ns;
        self.stopped_max_ns += other.stopped_max_ns;
    }

    /// A transaction that was due at this time starts now, while or after pgdyno did not run. Also what it waits
    /// for those before it may be due to that.
    pub(crate) fn starts_late(
        &mut self,
        (due, now): (Nanos, Nanos),
        (from, until): (Nanos, Nanos),
    ) {
        self.stopped_ns += until.min(now).saturating_sub(from.max(due));
        self.stopped_max_ns += now.saturating_sub(due);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Probe {
    clock: Option<ThreadClock>,
    /// At the last reading; `None` when the last turn was not read.
    read: Option<Scheduled>,
    /// Followed transactions that have not ended.
    open: u32,
    turns: u64,
    seconds: u32,
    window: (Nanos, Nanos),
    /// How long this turn's answers may have waited; `None` when it is not followed.
    turn_ns: Option<u64>,
    /// For how long pgdyno did not run before this turn.
    stopped_ns: u64,
}

impl Probe {
    /// The calling thread's, from now on.
    pub(crate) fn begin(&mut self, now: Nanos) {
        self.clock = ThreadClock::of_this_thread();
        self.open = 0;
        self.place_window(now, WINDOW_FIRST);
    }

    /// What the scheduler has counted.
    pub(crate) fn scheduled(&self) -> Scheduled {
        let read = self.clock.as_ref().and_then(ThreadClock::read);
        read.unwrap_or_default()
    }

    pub(crate) fn second(&mut self, now: Nanos) {
        let turns = std::mem::take(&mut self.turns);
        self.place_window(now, TURNS_MAX / turns.max(1) as f64);
    }

    fn place_window(&mut self, now: Nanos, share: f64) {
        self.seconds = self.seconds.wrapping_add(1);
        let share = share.min(1.0);
        let offset = (f64::from(self.seconds) * STEP).fract() * (1.0 - share);
        let of_second = |share: f64| (share * SECOND_NS as f64) as Nanos;
        let from = now + of_second(offset);
        self.window = (from, from + of_second(share));
    }

    /// Whether a transaction that begins now is followed.
    pub(crate) fn follows(&mut self, now: Nanos) -> bool {
        // Its first turn is known only when the turn before was read.
        let is_followed = self.read.is_some() && (self.window.0..self.window.1).contains(&now);
        self.open += u32::from(is_followed);
        is_followed
    }

    /// One that was followed is over.
    pub(crate) fn ended(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// The thread has come back from waiting, at this time.
    #[inline]
    pub(crate) fn turn(&mut self, now: Nanos) {
        self.turns += 1;
        self.stopped_ns = 0;
        let is_read = self.open > 0 || (self.window.0..self.window.1).contains(&now);
        if !is_read {
            (self.read, self.turn_ns) = (None, None);
            return;
        }
        let read = self.clock.as_ref().and_then(ThreadClock::read);
        self.turn_ns = read
            .zip(self.read)
            .map(|(now, before)| now.waited_ns.saturating_sub(before.waited_ns));
        self.read = read;
    }

    /// pgdyno did not run for so long before this turn.
    pub(crate) fn stopped(&mut self, length: Nanos) {
        self.stopped_ns = length;
    }

    /// What an answer has waited that is attended to `behind` the first one of its turn.
    #[inline]
    pub(crate) fn delay(&self, behind: Nanos, is_first: bool) -> Option<Delay> {
        let turn_ns = self.turn_ns?;
        let seen_ns = if is_first { turn_ns } else { turn_ns / 2 };
        Some(Delay {
            estimate_ns: seen_ns + behind,
            max_ns: turn_ns + behind,
            stopped_ns: self.stopped_ns,
            stopped_max_ns: self.stopped_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_turns_are_all_followed_and_of_many_a_part() {
        let mut probe = Probe::default();
        probe.begin(0);
        let length = |probe: &Probe| probe.window.1 - probe.window.0;
        assert_eq!(length(&probe), SECOND_NS / 10);
        probe.turns = 1_900;
        probe.second(SECOND_NS);
        assert_eq!(probe.window, (SECOND_NS, 2 * SECOND_NS));
        probe.turns = 20_000;
        probe.second(2 * SECOND_NS);
        assert_eq!(length(&probe), SECOND_NS / 10);
        assert!(probe.window.0 >= 2 * SECOND_NS && probe.window.1 <= 3 * SECOND_NS);
    }

    #[test]
    fn the_first_answer_of_a_turn_has_waited_for_all_of_it() {
        let mut probe = Probe::default();
        assert_eq!(probe.delay(5, true), None);
        probe.turn_ns = Some(100);
        let first = Delay {
            estimate_ns: 100,
            max_ns: 100,
            ..Delay::default()
        };
        assert_eq!(probe.delay(0, true), Some(first));
        let later = Delay {
            estimate_ns: 57,
            max_ns: 107,
            ..Delay::default()
        };
        assert_eq!(probe.delay(7, false), Some(later));
        probe.stopped(5000);
        let stopped = Delay {
            stopped_ns: 5000,
            stopped_max_ns: 5000,
            ..later
        };
        assert_eq!(probe.delay(7, false), Some(stopped));
        probe.turn(1);
        assert_eq!(probe.stopped_ns, 0);
    }

    #[test]
    fn a_start_is_late_for_the_time_in_which_the_generator_did_not_run() {
        let late = |due, now| {
            let mut delay = Delay::default();
            delay.starts_late((due, now), (1000, 3000));
            (delay.stopped_ns, delay.stopped_max_ns)
        };
        assert_eq!(late(500, 3100), (2000, 2600));
        assert_eq!(late(2000, 3500), (1000, 1500));
        // Behind those that were due meanwhile.
        assert_eq!(late(3200, 3500), (0, 300));
    }
}
