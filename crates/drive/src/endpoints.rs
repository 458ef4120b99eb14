//! The endpoints of a run: those that it begins with, and those that join while it goes on.
//!
//! Not for: what is known of an endpoint that clients have lost (`homes.rs`).

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pgdyno_wire::Candidate;

/// Endpoints that join a run. Clones share them; only additions take a lock.
#[derive(Clone, Debug, Default)]
pub struct Newcomers(Arc<Slots>);

#[derive(Debug, Default)]
struct Slots {
    list: [OnceLock<Newcomer>; Newcomers::MAX],
    count: AtomicUsize,
    adding: Mutex<()>,
}

#[derive(Debug)]
struct Newcomer {
    name: String,
    candidates: Vec<Candidate>,
}

impl Newcomers {
    /// A run takes no more of them: each has its books from the beginning.
    pub const MAX: usize = 8;

    /// Adds an endpoint; clients whose number says so go there from now on. False when there is no room
    /// for it, or nothing to connect to.
    pub fn add(&self, candidates: Vec<Candidate>) -> bool {
        let slots = &*self.0;
        let _adding = slots.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(first), count) = (candidates.first(), self.count()) else {
            return false;
        };
        let newcomer = Newcomer {
            name: first.place(),
            candidates,
        };
        let slot = slots.list.get(count);
        let is_taken = slot.is_some_and(|slot| slot.set(newcomer).is_ok());
        slots
            .count
            .store(count + usize::from(is_taken), Ordering::Release);
        is_taken
    }

    #[inline]
    pub fn count(&self) -> usize {
        self.0.count.load(Ordering::Acquire)
    }

    /// The place of the newcomer with this number, from 0; empty when there is none.
    pub(crate) fn name(&self, number: usize) -> &str {
        self.get(number).map_or("", |newcomer| &newcomer.name)
    }

    fn get(&self, number: usize) -> Option<&Newcomer> {
        self.0.list.get(number)?.get()
    }
}

/// All endpoints of a run at this moment.
#[derive(Clone, Copy)]
pub(crate) struct Endpoints<'run> {
    pub(crate) first: &'run [Vec<Candidate>],
    pub(crate) joined: Option<&'run Newcomers>,
    /// How many of the last of `first` each role has, in their order; the others are those without a role.
    pub(crate) roles: &'run [usize],
}

impl<'run> Endpoints<'run> {
    pub(crate) fn count(self) -> usize {
        self.first.len() + self.joined.map_or(0, Newcomers::count)
    }

    /// How many there can ever be.
    pub(crate) fn count_max(self) -> usize {
        self.first.len() + self.joined.map_or(0, |_| Newcomers::MAX)
    }

    /// The candidates of an endpoint that is there.
    pub(crate) fn candidates(self, endpoint: usize) -> &'run [Candidate] {
        let joined = || {
            let newcomer = self.joined?.get(endpoint - self.first.len())?;
            Some(newcomer.candidates.as_slice())
        };
        match self.first.get(endpoint) {
            Some(candidates) => candidates,
            None => joined().unwrap_or_default(),
        }
    }

    /// The endpoints of a role; 0: those without one.
    fn of_role(self, role: usize) -> Range<usize> {
        let of_roles: usize = self.roles.iter().sum();
        let first = self.first.len() - of_roles;
        match role.checked_sub(1) {
            None if self.roles.is_empty() => 0..self.count(),
            None => 0..first,
            Some(role) => {
                let start = first + self.roles[..role].iter().sum::<usize>();
                start..start + self.roles[role]
            }
        }
    }

    /// A client's own endpoint in a role: its number modulo that of endpoints at the start; of the *n* that
    /// there are when one joins, that one takes every *n*th client, and the others stay where they belong.
    pub(crate) fn own(self, client: usize, role: usize) -> usize {
        if !self.roles.is_empty() {
            let own = self.of_role(role);
            return own.start + client % own.len().max(1);
        }
        let first = self.first.len();
        let mut joined = (first..self.count()).rev();
        let taken = joined.find(|endpoint| client % (endpoint + 1) == *endpoint);
        taken.unwrap_or(client % first)
    }

    /// The endpoint that a client tries at `step`: its own at 0, then each of the others of its role once,
    /// with a different one first for each client of the same endpoint. `None` when none is left.
    pub(crate) fn at(self, client: usize, own: usize, step: usize) -> Option<usize> {
        let mut roles = (0..=self.roles.len()).map(|role| self.of_role(role));
        let of_role = roles.find(|of_role| of_role.contains(&own))?;
        let endpoints = of_role.len();
        match step {
            0 => Some(own),
            _ if step < endpoints => {
                let others = endpoints - 1;
                let offset = (client / endpoints + step - 1) % others;
                Some(of_role.start + (own - of_role.start + 1 + offset) % endpoints)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use pgdyno_wire::{Addr, Login};

    use super::*;

    fn endpoint(name: &str) -> Vec<Candidate> {
        let login = Arc::new(Login::new("me", "bench"));
        vec![Candidate::new(Addr::Unix(PathBuf::from(name)), login)]
    }

    fn first(count: usize) -> Vec<Vec<Candidate>> {
        vec![endpoint("/first"); count]
    }

    #[test]
    fn the_clients_of_one_endpoint_spread_evenly_over_the_others() {
        for count in 1..6 {
            let first = first(count);
            let endpoints = Endpoints {
                first: &first,
                joined: None,
                roles: &[],
            };
            for client in 0..60 {
                let own = endpoints.own(client, 0);
                let mut tried: Vec<usize> = (0..count)
                    .map(|step| endpoints.at(client, own, step).unwrap())
                    .collect();
                assert_eq!(tried[0], client % count);
                assert_eq!(endpoints.at(client, own, count), None);
                tried.sort_unstable();
                assert_eq!(tried, (0..count).collect::<Vec<_>>());
            }
        }
        // The twelve clients of endpoint 1 of 4, when it is lost.
        let first = first(4);
        let endpoints = Endpoints {
            first: &first,
            joined: None,
            roles: &[],
        };
        let mut arrived = [0; 4];
        for client in (1..48).step_by(4) {
            arrived[endpoints.at(client, 1, 1).unwrap()] += 1;
        }
        assert_eq!(arrived, [4, 0, 4, 4]);
    }

    #[test]
    fn an_endpoint_that_joins_takes_its_share_and_the_others_keep_theirs() {
        let (first, joined) = (first(3), Newcomers::default());
        let endpoints = Endpoints {
            first: &first,
            joined: Some(&joined),
            roles: &[],
        };
        let own = || {
            (0..24)
                .map(|client| endpoints.own(client, 0))
                .collect::<Vec<_>>()
        };
        let before = own();
        assert_eq!((endpoints.count(), endpoints.count_max()), (3, 11));
        assert!(joined.add(endpoint("/fourth")));
        let now = own();
        let moved: Vec<usize> = (0..24).filter(|c| before[*c] != now[*c]).collect();
        assert_eq!(moved, [3, 7, 11, 15, 19, 23]);
        // As many from each.
        let from: Vec<usize> = moved.iter().map(|client| before[*client]).collect();
        assert_eq!(from, [0, 1, 2, 0, 1, 2]);
        assert!(moved.iter().all(|client| now[*client] == 3));
        assert_eq!(endpoints.candidates(3)[0].place(), joined.name(0));
        // Where it is not there, its clients go to the others, and the others' clients to it too.
        let tried = |client, own| (1..4).map(move |step| endpoints.at(client, own, step));
        assert!(tried(3, 3).all(|endpoint| endpoint.is_some_and(|at| at < 3)));
        assert!(tried(0, 0).any(|endpoint| endpoint == Some(3)));
    }

    #[test]
    fn clients_of_a_role_stay_within_its_endpoints() {
        let first = first(5);
        let endpoints = Endpoints {
            first: &first,
            joined: None,
            roles: &[3, 1],
        };
        let own = |role| (0..6).map(|c| endpoints.own(c, role)).collect::<Vec<_>>();
        assert_eq!(own(0), [0; 6]);
        assert_eq!(own(1), [1, 2, 3, 1, 2, 3]);
        assert_eq!(own(2), [4; 6]);
        assert_eq!(endpoints.at(0, 0, 1), None, "it has no other to go to");
        let mut tried: Vec<_> = (0..3)
            .map(|step| endpoints.at(4, 2, step).unwrap())
            .collect();
        assert_eq!(tried[0], 2);
        tried.sort_unstable();
        assert_eq!(tried, [1, 2, 3]);
        assert_eq!(endpoints.at(4, 2, 3), None);
    }

    #[test]
    fn no_more_join_than_there_is_room_for() {
        let joined = Newcomers::default();
        assert!(!joined.add(Vec::new()));
        for _ in 0..Newcomers::MAX {
            assert!(joined.add(endpoint("/one")));
        }
        assert!(!joined.add(endpoint("/more")));
        assert_eq!(joined.count(), Newcomers::MAX);
    }
}
