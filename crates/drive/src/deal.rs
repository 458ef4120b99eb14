//! How starts are dealt to threads where the number of clients that work moves: a thread whose clients
//! all rest could not serve a fixed share of them.
//!
//! Every thread of every generator draws the same Poisson process, and takes the starts of its own
//! clients: each start has a rank, drawn evenly from those that work at that moment. The parts of a
//! Poisson process that is split so are Poisson processes (E. Çinlar, Introduction to Stochastic
//! Processes, 1975, p. 87-90). The process is drawn second by second, each from a seed of its own, as
//! it may be: what it does in one has nothing to do with the others. So a thread leaves out the seconds
//! in which none of its clients works.

use pgdyno_script::Prng;

use crate::crew::level;
use pgdyno_spec::{Profile, load::Side};

/// The process is drawn anew each second.
const WINDOW_S: f64 = 1.0;
/// Between the seeds of two of them: 2^64 divided by the golden ratio, as splitmix64 steps.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// Apart from all other random numbers of the same seed.
const SEED_OF_STARTS: u64 = 0x7374_6172_7473;

/// A thread among all of a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Its number among those of its generator.
    pub(crate) thread: usize,
    pub(crate) threads: usize,
    pub(crate) generator: usize,
    pub(crate) generators: usize,
}

impl Place {
    /// The rank of the thread's client that is so many-th in its order.
    pub(crate) fn rank(&self, order: usize) -> usize {
        (order * self.threads + self.thread) * self.generators + self.generator
    }

    /// Whether the client of this rank is one of the thread's.
    fn has(&self, rank: usize) -> bool {
        let is_here = rank % self.generators == self.generator;
        is_here && rank / self.generators % self.threads == self.thread
    }
}

/// The starts that one thread takes.
#[derive(Debug)]
pub(crate) struct Deal {
    place: Place,
    /// How many clients work, of all generators.
    working: Profile,
    seed: u64,
    /// The number of the present second.
    window: f64,
    random: Prng,
    /// The integral of the rate at the last start that was drawn.
    area: f64,
    /// Starts before this are not wanted.
    from_s: f64,
}

impl Deal {
    /// For a thread; all threads have the same seed.
    pub(crate) fn new(place: Place, working: Profile, seed: u64) -> Self {
        Self {
            place,
            working,
            seed: seed ^ SEED_OF_STARTS,
            window: 0.0,
            random: Prng::seed(0),
            area: 0.0,
            from_s: 0.0,
        }
    }

    pub(crate) fn begin(&mut self, rate: &Profile, from_s: f64) {
        self.from_s = from_s;
        self.open(rate, (from_s / WINDOW_S).floor());
    }

    /// The next start, in seconds; `None` if there is none before this second.
    pub(crate) fn next(&mut self, rate: &Profile, until_s: f64) -> Option<f64> {
        while self.window * WINDOW_S < until_s {
            self.area += self.random.waiting();
            if self.area >= rate.area((self.window + 1.0) * WINDOW_S) {
                let next = self.next_window();
                self.open(rate, next);
                continue;
            }
            let at_s = rate.when(self.area);
            // Where no client works they are the first one's.
            let working = self.working.value(at_s).round().max(1.0);
            let rank = self.random.range_u64(0, working as u64 - 1);
            if self.place.has(rank as usize) && at_s >= self.from_s {
                return Some(at_s);
            }
        }
        None
    }

    /// The next second in which a client of this thread may work.
    fn next_window(&self) -> f64 {
        let next = self.window + 1.0;
        let first = self.place.rank(0);
        if first == 0 {
            return next;
        }
        let works = Side::AtLeast(level(first));
        let works_s = self.working.reaches(works, next * WINDOW_S);
        works_s.map_or(f64::INFINITY, |at_s| (at_s / WINDOW_S).floor().max(next))
    }

    fn open(&mut self, rate: &Profile, window: f64) {
        self.window = window;
        if window.is_finite() {
            let step = (window as i64 as u64).wrapping_mul(SEED_STEP);
            self.random = Prng::seed(self.seed.wrapping_add(step));
            self.area = rate.area(window * WINDOW_S);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_spec::load::{Piece, Then};

    /// Three threads of the first generator and two of the second.
    fn places() -> Vec<Place> {
        let place = |generator: usize, threads: usize, thread: usize| Place {
            thread,
            threads,
            generator,
            generators: 2,
        };
        let first = (0..3).map(|thread| place(0, 3, thread));
        first
            .chain((0..2).map(|thread| place(1, 2, thread)))
            .collect()
    }

    fn working() -> Profile {
        let ramp = Piece {
            from: 0.0,
            to: 12.0,
            length_s: 30.0,
        };
        Profile::straight([ramp, Piece::level(1.0, 30.0)], Then::Holds(12.0))
    }

    fn starts(place: Place, rate: &Profile, step_s: f64) -> Vec<f64> {
        let mut deal = Deal::new(place, working(), 7);
        deal.begin(rate, -2.5);
        let (mut all, mut until_s) = (Vec::new(), -2.0);
        loop {
            let next = || deal.next(rate, until_s);
            all.extend(std::iter::from_fn(next).take_while(|at_s| *at_s < 90.0));
            if until_s >= 90.0 {
                break;
            }
            until_s = f64::min(until_s + step_s, 90.0);
        }
        all
    }

    #[test]
    fn together_threads_have_a_poisson_process_and_each_what_its_clients_can_do() {
        for rate in [
            Profile::Constant(100.0),
            Profile::Sine {
                mean: 100.0,
                amplitude: 100.0,
                period_s: 40.0,
            },
        ] {
            let mut all: Vec<f64> = Vec::new();
            for place in places() {
                let own = starts(place, &rate, 0.7);
                assert!(own == starts(place, &rate, 1000.0), "{place:?}");
                assert!(own.is_sorted());
                for at_s in &own {
                    let working = working().value(*at_s).round().max(1.0) as usize;
                    assert!(place.rank(0) < working, "{place:?} at {at_s}");
                }
                all.extend(own);
            }
            all.sort_by(f64::total_cmp);
            assert!(all[0] >= -2.5 && all.windows(2).all(|pair| pair[0] < pair[1]));
            let mut squares = 0.0;
            for second in -2..90 {
                let (from_s, to_s) = (f64::from(second), f64::from(second + 1));
                let counted = all.iter().filter(|s| (from_s..to_s).contains(s)).count() as f64;
                let due = rate.area(to_s) - rate.area(from_s);
                assert!(
                    (counted - due).abs() <= 5.0 * due.sqrt() + 1.0,
                    "{rate} {second}"
                );
                squares += (counted - due).powi(2) / due.max(1.0);
            }
            // Chi-squared of 92 seconds: its variance is twice their number.
            assert!((squares - 92.0).abs() < 4.0 * 184.0_f64.sqrt(), "{squares}");
        }
    }

    #[test]
    fn each_client_that_works_has_an_equal_part() {
        let rate = Profile::Constant(1000.0);
        let counts: Vec<f64> = places()
            .into_iter()
            .map(|place| {
                let own = starts(place, &rate, 1000.0);
                own.iter().filter(|s| **s >= 60.0).count() as f64
            })
            .collect();
        // Of twelve: two on each thread of the first generator, three on each of the second.
        for (count, clients) in counts.into_iter().zip([2.0, 2.0, 2.0, 3.0, 3.0]) {
            let due = 30_000.0 * clients / 12.0;
            assert!(
                (count - due).abs() < 5.0 * f64::sqrt(due),
                "{count} of {due}"
            );
        }
    }
}
