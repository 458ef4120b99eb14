//! Which clients work when their number moves: the client of rank k works while the number, rounded,
//! is greater than k. The others rest, between two transactions.

use std::time::Duration;

use crate::clock::nanos;
use crate::deal::Place;
use pgdyno_platform::clock::Nanos;
use pgdyno_spec::{Profile, load::Side};

/// A client that rests is woken no sooner: a computed time may come a rounding too early.
const REST_MIN_NS: Nanos = 100_000;

/// The number of clients that work, as a thread sees it.
#[derive(Debug)]
pub(crate) struct Crew {
    working: Profile,
    /// The moment of its time 0: the end of the warm-up.
    origin: Nanos,
}

impl Crew {
    pub(crate) fn new(working: Profile) -> Self {
        Self { working, origin: 0 }
    }

    pub(crate) fn begin(&mut self, now: Nanos, warmup: Duration) {
        self.origin = now + nanos(warmup);
    }

    /// The warm-up ends at this moment, earlier than it was said.
    pub(crate) fn warmup_ends(&mut self, at: Nanos) {
        self.origin = at;
    }

    /// Until when the client of this rank rests; `None` if it works.
    pub(crate) fn rests(&self, rank: usize, now: Nanos) -> Option<Nanos> {
        let at = self.next(Side::AtLeast(level(rank)), now);
        (at > now).then(|| at.max(now.saturating_add(REST_MIN_NS)))
    }

    /// When the client of this rank, which works, is to rest.
    pub(crate) fn leaves(&self, rank: usize, now: Nanos) -> Nanos {
        self.next(Side::Below(level(rank)), now)
            .max(now.saturating_add(REST_MIN_NS))
    }

    /// Now, if the number lies on that side, or when it does next.
    fn next(&self, side: Side, now: Nanos) -> Nanos {
        let since_s = (now as f64 - self.origin as f64) / 1e9;
        match self.working.reaches(side, since_s) {
            None => Nanos::MAX,
            Some(at_s) if at_s <= since_s => now,
            // Not before the clock is past it. A number that is too great becomes the greatest.
            Some(at_s) => now.saturating_add(((at_s - since_s) * 1e9).ceil() as u64),
        }
    }
}

/// The number from which the client of this rank works.
pub(crate) fn level(rank: usize) -> f64 {
    rank as f64 + 0.5
}

/// The part of all clients that one thread has, of as many as work the same share on each thread and
/// each endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranks {
    pub(crate) place: Place,
    /// The number, among all clients, of the thread's first one.
    pub(crate) first_id: usize,
    pub(crate) clients: usize,
    /// Client i connects to endpoint i modulo this.
    pub(crate) endpoints: usize,
}

impl Ranks {
    /// The rank of the thread's client with this key.
    pub(crate) fn of(&self, key: usize) -> usize {
        // Threads begin with clients of different endpoints.
        let first =
            (self.place.rank(0) + self.endpoints - self.first_id % self.endpoints) % self.endpoints;
        let first = first % self.clients.max(1);
        let order = (key + self.clients - first) % self.clients.max(1);
        self.place.rank(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_spec::load::{Piece, Then};

    const BEGIN: Nanos = 3_000_000_000;
    const MS: Nanos = 1_000_000;

    fn crew(working: Profile) -> Crew {
        let mut crew = Crew::new(working);
        crew.begin(BEGIN, Duration::from_secs(1));
        crew
    }

    #[test]
    fn a_client_works_while_the_number_is_above_its_rank() {
        let steps = [Piece::level(2.0, 3.0), Piece::level(5.0, 2.0)];
        let crew = crew(Profile::straight(steps, Then::Holds(1.0)));
        let origin = BEGIN + 1000 * MS;
        for (rank, at_ms, until_ms) in [
            (0, 0, None),
            (1, 2999, None),
            (2, 0, Some(3000)),
            (4, 2999, Some(3000)),
            (4, 3000, None),
            (1, 5000, Some(u64::MAX)),
        ] {
            let until = until_ms.map(|ms: u64| match ms {
                u64::MAX => Nanos::MAX,
                ms => origin + ms * MS,
            });
            let found = crew.rests(rank, origin + at_ms * MS);
            assert_eq!(found, until, "{rank} at {at_ms}");
        }
        // In the warm-up as at the beginning.
        assert_eq!(crew.rests(1, BEGIN), None);
        assert_eq!(crew.rests(2, BEGIN), Some(origin + 3000 * MS));
        assert_eq!(crew.leaves(4, origin + 3500 * MS), origin + 5000 * MS);
        assert_eq!(crew.leaves(0, origin + 3500 * MS), Nanos::MAX);
    }

    #[test]
    fn on_a_ramp_as_many_clients_work_as_the_number_rounded() {
        let ramp = Piece {
            from: 8.0,
            to: 64.0,
            length_s: 60.0,
        };
        let crew = crew(Profile::straight([ramp], Then::Holds(64.0)));
        for at_ms in (0..61_000).step_by(77) {
            let now = BEGIN + (1000 + at_ms) * MS;
            let working = (0..64).filter(|rank| crew.rests(*rank, now).is_none());
            let asked = ramp.from + 56.0 * (at_ms as f64 / 60_000.0).min(1.0);
            assert_eq!(working.count() as f64, asked.round(), "{at_ms}");
        }
        // Each is woken once it is its turn, and not before.
        for rank in 9..64 {
            let at = crew.rests(rank, BEGIN).unwrap();
            assert_eq!(crew.rests(rank, at), None, "{rank}");
            assert!(crew.rests(rank, at - 2 * MS).is_some(), "{rank}");
        }
    }

    #[test]
    fn a_warm_up_that_ends_early_lets_the_course_begin_earlier() {
        let steps = [Piece::level(1.0, 2.0)];
        let mut crew = crew(Profile::straight(steps, Then::Holds(4.0)));
        assert_eq!(crew.rests(3, BEGIN), Some(BEGIN + 3000 * MS));
        crew.warmup_ends(BEGIN + 500 * MS);
        assert_eq!(crew.rests(3, BEGIN), Some(BEGIN + 2500 * MS));
    }

    #[test]
    fn ranks_are_each_there_once_and_even_over_threads_generators_and_endpoints() {
        for (clients, threads, generators, endpoints) in [
            (12, 4, 1, 3),
            (64, 3, 1, 1),
            (17, 4, 2, 2),
            (100, 8, 3, 3),
            (60, 4, 2, 5),
        ] {
            let mut all: Vec<(usize, usize, usize)> = Vec::new();
            let mut id = 0_usize;
            for generator in 0..generators {
                let mut left = (clients - id).div_ceil(generators - generator);
                for thread in 0..threads {
                    let count = left.div_ceil(threads - thread);
                    left -= count;
                    let place = Place {
                        thread,
                        threads,
                        generator,
                        generators,
                    };
                    let ranks = Ranks {
                        place,
                        first_id: id,
                        clients: count,
                        endpoints,
                    };
                    for key in 0..count {
                        let place = generator * threads + thread;
                        all.push((ranks.of(key), place, (id + key) % endpoints));
                    }
                    id += count;
                }
            }
            all.sort_unstable();
            let ranks: Vec<usize> = all.iter().map(|one| one.0).collect();
            let whole: Vec<usize> = (0..clients).collect();
            assert_eq!(ranks, whole);
            let most = |first: usize, of: &dyn Fn(&(usize, usize, usize)) -> usize| {
                let mut counts = vec![0; generators * threads + endpoints];
                all[..first].iter().for_each(|one| counts[of(one)] += 1);
                counts.into_iter().max().unwrap_or(0)
            };
            for working in 1..clients {
                let on_thread = most(working, &|one| one.1);
                assert!(on_thread <= working.div_ceil(generators * threads));
                let at_endpoint = most(working, &|one| one.2);
                let even = working.div_ceil(endpoints);
                assert!(
                    at_endpoint <= even + generators * threads,
                    "{clients} {threads} {generators} {endpoints}: {at_endpoint} of {working}"
                );
            }
        }
    }
}
