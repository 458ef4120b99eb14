//! Times without service: nothing was committed while clients waited.
//!
//! Each thread notes its own gaps, from one commit to the next. Where all threads have a gap, there
//! is no commit at all: the times without service are where the gaps of all threads overlap, exact
//! to the clock, without a word between the threads.

use pgdyno_platform::clock::{Nanos, micros};
use pgdyno_spec::Profile;

use super::Phase;

/// Shorter gaps are not kept.
pub const GAP_MIN: Nanos = 100_000_000;
/// Nor are shorter ones of an endpoint among several.
pub const ENDPOINT_GAP_MIN: Nanos = 1_000_000_000;
/// More than end in one interval of a thread: a second, and one that began before.
pub const GAPS_MAX: usize = 12;

/// A gap lasts at least so many times as long as a transaction usually takes: clients may all be at
/// work at the same time.
const OF_A_TRANSACTION: f64 = 3.0;
/// A script is usual when it takes at least this share of the clients' time.
const USUAL_SHARE: f64 = 0.1;
/// Chance makes such gaps in one of so many trials.
const TRIALS_PER_CHANCE: f64 = 100.0;

/// From a commit to the next, on the run's clock.
pub type Gap = (Nanos, Nanos);
/// A thread's gaps of the measured phase, in order.
pub type GapsOfThread = Vec<Gap>;

/// A time without service: from one commit to the next, or to the end of the asked duration, of all
/// clients together.
///
/// It is 100 ms or longer, and longer than what is usual: three times the median latency of the
/// scripts that take a tenth of the clients' time or more, and the longest gap that a Poisson process
/// of the trial's rate has in one of a hundred trials: ln(100 n) / rate for n commits, with the rate
/// of the time outside of stalls. Where the load moves, so does that rate: a time in which little or
/// nothing was asked for is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When it began, in microseconds since clients began to work.
    pub start_us: u64,
    pub length_us: u64,
    /// Whether a commit ended it; else the end of the asked duration did.
    pub is_over: bool,
}

impl Stall {
    /// Those of the measured phase: the gaps of all threads, on a clock by which clients began to
    /// work at `begin`, `phase_us` before the phase. `loads` are what is asked for, transactions a
    /// second and clients, where that moves: a gap that one of them explains is no stall.
    pub fn find(
        threads: &[GapsOfThread],
        phase: &Phase,
        (begin, phase_us): (Nanos, u64),
        loads: &[&Profile],
    ) -> Vec<Self> {
        let scripts = phase.scripts.iter();
        let committed: u64 = scripts.map(|script| script.counts.committed).sum();
        let drained = phase.drain.committed_total();
        Self::longer(
            threads,
            phase,
            (begin, phase_us),
            committed.saturating_sub(drained),
            loads,
        )
    }

    /// The same of one endpoint, where so many were committed: times of a second and longer.
    pub fn find_at(
        threads: &[GapsOfThread],
        phase: &Phase,
        when: (Nanos, u64),
        committed: u64,
        loads: &[&Profile],
    ) -> Vec<Self> {
        let mut stalls = Self::longer(threads, phase, when, committed, loads);
        stalls.retain(|stall| stall.length_us >= micros(ENDPOINT_GAP_MIN));
        stalls
    }

    fn longer(
        threads: &[GapsOfThread],
        phase: &Phase,
        (begin, phase_us): (Nanos, u64),
        committed: u64,
        loads: &[&Profile],
    ) -> Vec<Self> {
        let origin = begin + phase_us * 1000;
        let end = origin + phase.asked_us() * 1000;
        let gaps = common(threads, end);
        let limit = usual(phase).max(GAP_MIN as f64);
        let committed = committed as f64;
        // Of what is asked for; of a load that does not move its length says it.
        let asked = |load: Option<&Profile>, gap: &Gap| match load {
            None => length(gap) as f64,
            Some(load) => {
                let area = |at: Nanos| load.area((at as f64 - origin as f64) / 1e9);
                area(gap.1) - area(gap.0)
            }
        };
        // What is left out makes the rate higher and the limit lower: until nothing changes.
        let under = |load: Option<&Profile>| {
            let whole = asked(load, &(origin, end));
            let mut stalls = Vec::new();
            loop {
                let without: f64 = stalls.iter().map(|gap| asked(load, gap)).sum();
                let by_chance = if committed >= 1.0 && whole > without {
                    (TRIALS_PER_CHANCE * committed).ln() * (whole - without) / committed
                } else {
                    return stalls;
                };
                let longer =
                    |gap: &&Gap| length(gap) as f64 >= limit && asked(load, gap) >= by_chance;
                let found: Vec<Gap> = gaps.iter().filter(longer).copied().collect();
                if found.len() == stalls.len() {
                    return stalls;
                }
                stalls = found;
            }
        };
        let mut stalls = under(loads.first().copied());
        for load in loads.iter().skip(1) {
            let found = under(Some(load));
            stalls.retain(|gap| found.contains(gap));
        }
        let stall = |gap: &Gap| Self {
            start_us: micros(gap.0.saturating_sub(begin)),
            length_us: micros(length(gap)),
            is_over: gap.1 < end,
        };
        stalls.iter().map(stall).collect()
    }
}

fn length(gap: &Gap) -> Nanos {
    gap.1 - gap.0
}

/// How long a gap is still one that ordinary transactions make, in nanoseconds.
fn usual(phase: &Phase) -> f64 {
    let all_us: u64 = phase.scripts.iter().map(|s| s.service.sum_us()).sum();
    let usual = phase.scripts.iter().filter(|script| {
        let sum_us = script.service.sum_us();
        sum_us > 0 && sum_us as f64 >= USUAL_SHARE * all_us as f64
    });
    let medians = usual.filter_map(|script| script.service.histogram().quantile_us(0.5));
    medians.max().unwrap_or(0) as f64 * 1000.0 * OF_A_TRANSACTION
}

/// Where all threads have a gap, until `end`; those that are long enough.
fn common(threads: &[GapsOfThread], end: Nanos) -> Vec<Gap> {
    let Some((first, others)) = threads.split_first() else {
        return Vec::new();
    };
    let both = |mine: GapsOfThread, theirs: &GapsOfThread| {
        let (mut common, mut a, mut b) = (Vec::new(), 0, 0);
        while let (Some(x), Some(y)) = (mine.get(a), theirs.get(b)) {
            let (from, to) = (x.0.max(y.0), x.1.min(y.1));
            if from.saturating_add(GAP_MIN) <= to {
                common.push((from, to));
            }
            // The one that ends first has no more to give.
            if x.1 <= y.1 { a += 1 } else { b += 1 }
        }
        common
    };
    let mut all = others.iter().fold(first.clone(), both);
    all.iter_mut().for_each(|gap| gap.1 = gap.1.min(end));
    all.retain(|gap| gap.0.saturating_add(GAP_MIN) <= gap.1);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientTime, Drain, Outcome, ScriptInterval};
    use pgdyno_spec::load::{Piece, Then};

    const MS: Nanos = 1_000_000;

    /// The gaps of a thread with commits at these times.
    fn gaps_between(commits: impl IntoIterator<Item = Nanos>) -> GapsOfThread {
        let (mut since, mut gaps) = (0, Vec::new());
        for at in commits {
            if at - since >= GAP_MIN {
                gaps.push((since, at));
            }
            since = at;
        }
        gaps.push((since, Nanos::MAX));
        gaps
    }

    /// The same of commits at these milliseconds.
    fn thread(commits_ms: &[u64]) -> GapsOfThread {
        gaps_between(commits_ms.iter().map(|at_ms| at_ms * MS))
    }

    /// So long a phase with so many transactions of one latency.
    fn phase(asked_ms: u64, committed: u64, latency_us: u64) -> Phase {
        let mut script = ScriptInterval::default();
        for _ in 0..committed {
            script.counts.book(Outcome::Committed, 1);
            script.service.record(latency_us);
        }
        Phase {
            time: ClientTime::default(),
            elapsed_us: asked_ms * 1000,
            scripts: vec![script],
            drain: Drain::default(),
        }
    }

    fn stalls_ms(threads: &[GapsOfThread], phase: &Phase) -> Vec<(u64, u64)> {
        stalls_ms_under(&[], threads, phase)
    }

    fn stalls_ms_under(
        loads: &[&Profile],
        threads: &[GapsOfThread],
        phase: &Phase,
    ) -> Vec<(u64, u64)> {
        let stalls = Stall::find(threads, phase, (0, 0), loads);
        let in_ms = |s: &Stall| (s.start_us / 1000, s.length_us / 1000);
        stalls.iter().map(in_ms).collect()
    }

    fn every(step_ms: usize, from_ms: u64, to_ms: u64) -> Vec<u64> {
        (from_ms..=to_ms).step_by(step_ms).collect()
    }

    #[test]
    fn a_stall_is_where_no_thread_commits() {
        let busy = [every(5, 0, 1000), every(5, 2000, 5000)].concat();
        // Its gap is longer at both ends.
        let other = [every(10, 0, 950), every(10, 2050, 5000)].concat();
        let phase = phase(5000, 1600, 4000);
        assert_eq!(stalls_ms(&[thread(&busy)], &phase), [(1000, 1000)]);
        assert_eq!(
            stalls_ms(&[thread(&busy), thread(&other)], &phase),
            [(1000, 1000)]
        );
        // One thread that goes on is service.
        let steady = every(50, 0, 5000);
        let all = [thread(&busy), thread(&other), thread(&steady)];
        assert_eq!(stalls_ms(&all, &phase), []);
        // A thread whose clients have all ended does not commit either.
        let gone = thread(&every(10, 0, 900));
        assert_eq!(stalls_ms(&[thread(&busy), gone], &phase), [(1000, 1000)]);
    }

    #[test]
    fn a_stall_at_the_end_lasts_until_the_asked_duration_is_over() {
        let busy = every(5, 0, 4000);
        let mut phase = phase(7000, 800, 4000);
        phase.drain.add(2_000_000, [8].into_iter());
        assert_eq!(stalls_ms(&[thread(&busy)], &phase), [(4000, 1000)]);
        // And one at the beginning is one.
        let late = thread(&every(5, 300, 5000));
        assert_eq!(stalls_ms(&[late], &phase), [(0, 300)]);
    }

    #[test]
    fn gaps_from_a_tenth_of_a_second_on_count() {
        let with =
            |gap_ms: u64| thread(&[every(5, 0, 1000), every(5, 1000 + gap_ms, 5000)].concat());
        let phase = phase(5000, 900, 4000);
        assert_eq!(stalls_ms(&[with(99)], &phase), []);
        assert_eq!(stalls_ms(&[with(100)], &phase), [(1000, 100)]);
    }

    #[test]
    fn slow_transactions_and_few_of_them_are_no_stall() {
        // Of a client whose transactions take 400 ms all gaps are longer than 100 ms.
        let slow = thread(&every(400, 0, 20_000));
        assert_eq!(stalls_ms(&[slow], &phase(20_000, 50, 400_000)), []);
        // Five a second, at random: the schedule of a rate.
        let rare = thread(&every(200, 0, 20_000));
        assert_eq!(stalls_ms(&[rare], &phase(20_000, 100, 2000)), []);
        // But 3 s are none of theirs.
        let rare = thread(&[every(200, 0, 8_000), every(200, 11_000, 20_000)].concat());
        assert_eq!(
            stalls_ms(&[rare], &phase(20_000, 85, 2000)),
            [(8_000, 3_000)]
        );
    }

    #[test]
    fn a_time_in_which_nothing_is_asked_for_is_no_stall() {
        // 200 a second, nothing for 2 s, 200 again; what is missing within the last is missed.
        let busy = [
            every(5, 0, 1000),
            every(5, 3000, 4000),
            every(5, 4500, 5000),
        ]
        .concat();
        let levels = [(200.0, 1.0), (0.0, 2.0)].map(|(rate, s)| Piece::level(rate, s));
        let load = Profile::straight(levels, Then::Holds(200.0));
        let phase = phase(5000, 500, 4000);
        let found = stalls_ms_under(&[&load], &[thread(&busy)], &phase);
        assert_eq!(found, [(4000, 500)]);
        // With clients that move, too: none of them works in the second half of the last.
        let clients = [(8.0, 4.0), (0.0, 0.5)].map(|(clients, s)| Piece::level(clients, s));
        let clients = Profile::straight(clients, Then::Holds(8.0));
        let found = stalls_ms_under(&[&load, &clients], &[thread(&busy)], &phase);
        assert_eq!(found, []);
    }

    #[test]
    fn a_slow_script_counts_when_clients_spend_their_time_in_it() {
        let gaps = [thread(&[every(5, 0, 1000), every(5, 2000, 5000)].concat())];
        let mut phase = phase(5000, 800, 1000);
        let mut slow = ScriptInterval::default();
        slow.service.record(80_000);
        phase.scripts.push(slow.clone());
        assert_eq!(stalls_ms(&gaps, &phase).len(), 1);
        for _ in 0..2 {
            slow.service.record(900_000);
        }
        phase.scripts[1] = slow;
        assert_eq!(stalls_ms(&gaps, &phase), []);
    }

    #[test]
    fn a_steady_poisson_process_has_no_stalls() {
        // 20/s: of its gaps of 50 ms one in seven is longer than 100 ms.
        let mut state = 1_u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let mut trials = 0;
        for _ in 0..500 {
            let mut at = 0.0;
            let commits = std::iter::from_fn(|| {
                at += -uniform().ln() / 20.0 * 1e9;
                (at <= 30e9).then_some(at as Nanos)
            });
            let commits: Vec<Nanos> = commits.collect();
            let phase = phase(30_000, commits.len() as u64, 2000);
            let gaps = gaps_between(commits);
            trials += usize::from(!stalls_ms(&[gaps], &phase).is_empty());
        }
        assert!(trials <= 15, "{trials} of 500");
    }

    #[test]
    fn a_trial_without_commits_has_no_stalls_to_tell_from_the_rest() {
        assert_eq!(stalls_ms(&[thread(&[])], &phase(5000, 0, 0)), []);
        assert_eq!(stalls_ms(&[], &phase(5000, 10, 10)), []);
    }
}
