//! When transactions ought to start under a rate: a Poisson process a thread, so that arrivals do not
//! depend on how fast the server answers.
//!
//! A constant rate is drawn as pgbench draws it (`getPoissonRand` over `throttle_delay`). A rate that
//! moves is drawn exactly, by a change of time: where the integral of the rate reaches the sums of
//! exponential variables of mean 1, transactions start (E. Çinlar, Introduction to Stochastic
//! Processes, 1975, p. 94-96; L. Devroye, Non-Uniform Random Variate Generation, 1986, p. 248-251).
//! Threads and generators draw processes of a share of the rate, whose sum is one of all of it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use pgdyno_script::Prng;

use crate::clock::nanos;
use crate::deal::{Deal, Place};
use pgdyno_platform::clock::Nanos;
use pgdyno_spec::Profile;

/// So many starts missed by all clients are drawn to be counted; more are as many as the rate
/// says, within a thousandth by chance.
const DRAWN_MAX: f64 = 1e6;

/// One thread's series of scheduled starts, shared by its clients.
#[derive(Debug)]
pub(crate) struct Schedule {
    rate: Profile,
    threads: f64,
    random: Prng,
    /// Who has which start, where the number of clients that work moves.
    deal: Option<Deal>,
    last: Nanos,
    /// The moment of the rate's time 0: the end of the warm-up.
    origin: Nanos,
    /// From then on starts count for so long.
    duration: Option<Duration>,
    due: u64,
    /// Its integral up to the last start.
    area: f64,
    /// Drawn, and given back by clients that are to rest.
    returned: BinaryHeap<Reverse<Nanos>>,
    /// Whether clients wait for later ones than those.
    is_to_be_dealt: bool,
}

impl Schedule {
    /// `rate` is in transactions a second over all `threads`.
    pub(crate) fn new(rate: Profile, threads: usize, random: Prng) -> Self {
        Self {
            rate,
            threads: threads as f64,
            random,
            deal: None,
            last: 0,
            origin: 0,
            duration: None,
            due: 0,
            area: 0.0,
            returned: BinaryHeap::new(),
            is_to_be_dealt: false,
        }
    }

    /// `rate` is in transactions a second over all threads of all generators, whose starts are dealt.
    pub(crate) fn dealt(rate: Profile, place: Place, deal: Deal) -> Self {
        let random = Prng::seed(0);
        Self {
            deal: Some(deal),
            ..Self::new(rate, place.threads * place.generators, random)
        }
    }

    /// Clients begin to work; a rate that moves does so when the warm-up is over.
    pub(crate) fn begin(&mut self, now: Nanos, warmup: Duration, duration: Option<Duration>) {
        self.last = now;
        self.duration = duration;
        self.warmup_ends(now + nanos(warmup));
    }

    /// The warm-up ends at this moment, earlier than it was said. What was drawn before stays.
    pub(crate) fn warmup_ends(&mut self, at: Nanos) {
        self.origin = at;
        let since_s = (self.last as f64 - at as f64) / 1e9;
        self.area = self.rate.area(since_s);
        self.due = 0;
        if let Some(deal) = &mut self.deal {
            deal.begin(&self.rate, since_s);
        }
    }

    /// When starts no longer count.
    fn end(&self) -> Nanos {
        let after = |duration| self.origin.saturating_add(nanos(duration));
        self.duration.map_or(Nanos::MAX, after)
    }

    /// How many starts it has in the measured time, at most until `now`: those that clients had, and
    /// those missed by all clients. `None` where that time has no asked length.
    pub(crate) fn due(mut self, now: Nanos) -> Option<u64> {
        self.duration?;
        let end = self.end().min(now);
        let since_s = |at: Nanos| (at as f64 - self.origin as f64) / 1e9;
        let from_s = since_s(self.last.max(self.origin));
        let left = (self.rate.area(since_s(end)) - self.rate.area(from_s)) / self.threads;
        let drawn = match self.deal {
            Some(_) => left * self.threads,
            None => left,
        };
        if drawn > DRAWN_MAX {
            return Some(self.due + left as u64);
        }
        while self.last < end && self.next(end) < Nanos::MAX {}
        Some(self.due)
    }

    /// A client that waits for this start is to rest: it is another's.
    pub(crate) fn give_back(&mut self, start: Nanos) {
        if start < Nanos::MAX {
            self.returned.push(Reverse(start));
            self.is_to_be_dealt = true;
        }
    }

    /// Whether a start has been given back since all were dealt.
    pub(crate) fn is_to_be_dealt(&self) -> bool {
        self.is_to_be_dealt
    }

    /// Nothing waits for a start: those that wait take theirs in their order.
    pub(crate) fn all_are_back(&mut self) {
        self.is_to_be_dealt = false;
    }

    /// The earliest of the starts that were given back.
    pub(crate) fn returned(&mut self) -> Option<Nanos> {
        self.returned.pop().map(|Reverse(start)| start)
    }

    /// So many seconds after time 0.
    fn at(&self, since_s: f64) -> Nanos {
        let since_ns = since_s * 1e9;
        // A number that is too great becomes the greatest.
        if since_ns < 0.0 {
            self.origin.saturating_sub(-since_ns as u64)
        } else {
            self.origin.saturating_add(since_ns as u64)
        }
    }

    /// The start of the next transaction; never where the rate has come to 0 for good, or where starts
    /// are dealt and this thread has none before `until`.
    pub(crate) fn next(&mut self, until: Nanos) -> Nanos {
        let since_s = |at: Nanos| (at as f64 - self.origin as f64) / 1e9;
        self.last = match (&mut self.deal, &self.rate) {
            (Some(deal), rate) => {
                let Some(at_s) = deal.next(rate, since_s(until)) else {
                    return Nanos::MAX;
                };
                self.at(at_s).max(self.last)
            }
            (None, Profile::Constant(rate)) => {
                let delay_us = 1e6 / *rate * self.threads;
                self.last + self.random.poisson(delay_us) as u64 * 1000
            }
            (None, rate) => {
                self.area += self.random.waiting() * self.threads;
                let at_s = rate.when(self.area);
                self.at(at_s).max(self.last)
            }
        };
        self.due += u64::from((self.origin..self.end()).contains(&self.last));
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_spec::load::{Piece, Then};

    const BEGIN: Nanos = 5_000_000;
    const SECOND: f64 = 1e9;

    fn starts(seed: u64, count: usize) -> Vec<Nanos> {
        let mut schedule = Schedule::new(1000.0.into(), 2, Prng::seed(seed));
        schedule.begin(BEGIN, Duration::from_secs(3), None);
        (0..count).map(|_| schedule.next(Nanos::MAX)).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_starts() {
        assert_eq!(starts(1, 100), starts(1, 100));
        assert_ne!(starts(1, 100), starts(2, 100));
    }

    #[test]
    fn starts_of_a_thread_come_at_its_share_of_the_rate() {
        let starts = starts(3, 10_000);
        assert!(starts.is_sorted() && starts[0] >= BEGIN);
        // The mean distance is 2 ms, and 10 000 of them have a standard deviation of 1 %.
        let mean_ns = (starts[9_999] - BEGIN) as f64 / 10_000.0;
        assert!((1.9e6..2.1e6).contains(&mean_ns), "{mean_ns}");
    }

    #[test]
    fn a_constant_rate_is_drawn_as_pgbench_draws_it() {
        // Distances of pgbench's getPoissonRand for the same generator, rounded to microseconds.
        let mut random = Prng::seed(11);
        let mut at = BEGIN;
        let mut schedule = Schedule::new(1000.0.into(), 2, Prng::seed(11));
        schedule.begin(BEGIN, Duration::ZERO, None);
        for _ in 0..1000 {
            at += random.poisson(2000.0) as u64 * 1000;
            assert_eq!(schedule.next(Nanos::MAX), at);
        }
    }

    fn moving() -> [Profile; 3] {
        let ramp = Piece {
            from: 0.0,
            to: 2000.0,
            length_s: 40.0,
        };
        let bursts = [Piece::level(200.0, 18.0), Piece::level(1700.0, 2.0)];
        [
            Profile::straight([ramp, Piece::level(500.0, 20.0)], Then::Holds(100.0)),
            Profile::straight(bursts, Then::Repeats),
            Profile::Sine {
                mean: 1000.0,
                amplitude: 1000.0,
                period_s: 30.0,
            },
        ]
    }

    /// The starts of four threads within two minutes of a rate that begins after a second.
    fn of_threads(rate: &Profile) -> Vec<Nanos> {
        let mut all = Vec::new();
        for thread in 0..4 {
            let mut schedule = Schedule::new(rate.clone(), 4, Prng::seed(40 + thread));
            schedule.begin(BEGIN, Duration::from_secs(1), None);
            let until = BEGIN + (121.0 * SECOND) as u64;
            all.extend(
                std::iter::from_fn(|| Some(schedule.next(Nanos::MAX))).take_while(|at| *at < until),
            );
        }
        all.sort();
        all
    }

    #[test]
    fn a_rate_that_moves_has_its_own_mean_everywhere_and_is_poisson() {
        for rate in moving() {
            let starts = of_threads(&rate);
            let mut squares = 0.0;
            let mut bins = 0.0;
            for second in -1..120 {
                let from = BEGIN as f64 + f64::from(second + 1) * SECOND;
                let within = |at: &&Nanos| (from..from + SECOND).contains(&(**at as f64));
                let counted = starts.iter().filter(within).count() as f64;
                let due = rate.area(f64::from(second + 1)) - rate.area(f64::from(second));
                assert!(
                    (counted - due).abs() <= 5.0 * due.sqrt() + 1.0,
                    "{rate}: {counted} of {due} in second {second}"
                );
                if due > 10.0 {
                    squares += (counted - due).powi(2) / due;
                    bins += 1.0;
                }
            }
            // Chi-squared: its mean is the number of bins, its variance twice that.
            let deviation = (squares - bins) / (2.0_f64 * bins).sqrt();
            assert!(deviation.abs() < 4.0, "{rate}: {squares} of {bins}");
        }
    }

    #[test]
    fn distances_in_the_changed_time_are_exponential() {
        // Kolmogorov and Smirnov: the greatest distance between both distributions, for 5 %.
        for rate in moving() {
            let starts = of_threads(&rate);
            let area = |at: Nanos| rate.area((at - BEGIN) as f64 / SECOND - 1.0);
            let mut last = rate.area(-1.0);
            let mut found: Vec<f64> = Vec::new();
            for at in starts {
                found.push(1.0 - (last - area(at)).exp());
                last = area(at);
            }
            found.sort_by(f64::total_cmp);
            let count = found.len() as f64;
            let distance = |(at, share): (usize, &f64)| {
                (share - at as f64 / count)
                    .abs()
                    .max((share - (at + 1) as f64 / count).abs())
            };
            let greatest = found.iter().enumerate().map(distance).fold(0.0, f64::max);
            assert!(
                greatest < 1.36 / count.sqrt(),
                "{rate}: {greatest} of {count}"
            );
        }
    }

    #[test]
    fn missed_starts_stay_due() {
        let rates = moving().into_iter().chain([Profile::Constant(300.0)]);
        for rate in rates {
            let schedule = |asked: usize| {
                let mut schedule = Schedule::new(rate.clone(), 2, Prng::seed(9));
                let duration = Some(Duration::from_secs(20));
                schedule.begin(BEGIN, Duration::from_secs(2), duration);
                let starts: Vec<Nanos> = (0..asked).map(|_| schedule.next(Nanos::MAX)).collect();
                (schedule, starts)
            };
            let (_, starts) = schedule(100_000);
            let measured = BEGIN + 2_000_000_000..BEGIN + 22_000_000_000;
            let within = starts.iter().filter(|at| measured.contains(at)).count() as u64;
            assert!(within > 1000, "{rate}: {within}");
            for asked in [0, 700, 20_000] {
                let (schedule, _) = schedule(asked);
                assert_eq!(schedule.due(Nanos::MAX), Some(within), "{rate} {asked}");
            }
        }
    }

    #[test]
    fn a_warm_up_that_ends_early_lets_the_rate_begin_earlier() {
        let steps = [Piece::level(100.0, 10.0), Piece::level(1000.0, 10.0)];
        let rate = Profile::straight(steps, Then::Holds(0.0));
        let mut schedule = Schedule::new(rate, 1, Prng::seed(5));
        schedule.begin(0, Duration::from_secs(60), None);
        let mut starts: Vec<Nanos> = Vec::new();
        while starts.last().is_none_or(|at| *at < 4_000_000_000) {
            starts.push(schedule.next(Nanos::MAX));
        }
        schedule.warmup_ends(4_000_000_000);
        while starts.last().is_none_or(|at| *at < Nanos::MAX) {
            starts.push(schedule.next(Nanos::MAX));
        }
        assert!(starts.is_sorted());
        let between = |from_s: u64, to_s: u64| {
            let within = |at: &&Nanos| (from_s * 1_000_000_000..to_s * 1_000_000_000).contains(*at);
            starts.iter().filter(within).count() as i64
        };
        assert!((between(0, 14) - 1400).abs() < 150, "{}", between(0, 14));
        assert!(
            (between(14, 24) - 10_000).abs() < 400,
            "{}",
            between(14, 24)
        );
        assert_eq!(between(24, 100), 0);
    }
}
