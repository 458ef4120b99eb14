//! The servers that candidates lead to, each distinguished by the name its user gave it: what a run
//! counts by endpoint is counted by these.

use std::ops::Range;

use pgdyno_wire::Candidate;

use crate::endpoints::{Endpoints, Newcomers};

/// Every server that some client may connect to, once.
#[derive(Debug)]
pub(crate) struct Places {
    names: Vec<String>,
    /// The place of each candidate, by endpoint.
    of_candidates: Vec<Vec<usize>>,
    /// Each endpoint that joins has the next place, whatever its candidates.
    joined: Option<Newcomers>,
}

impl Places {
    /// Of the endpoints that a run begins with, and room for those that join it.
    pub(crate) fn of(endpoints: Endpoints<'_>) -> Self {
        let mut names = Vec::new();
        let mut number = |candidate: &Candidate| {
            let name = candidate.place();
            let known = names.iter().position(|known| *known == name);
            known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        let first = endpoints.first.iter();
        let of_candidates = first.map(|candidates| candidates.iter().map(&mut number).collect());
        Self {
            of_candidates: of_candidates.collect(),
            names,
            joined: endpoints.joined.cloned(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.names.len() + self.joined.as_ref().map_or(0, |_| Newcomers::MAX)
    }

    /// The place that a candidate of an endpoint leads to.
    pub(crate) fn number(&self, endpoint: usize, candidate: usize) -> usize {
        match self.of_candidates.get(endpoint) {
            Some(places) => places[candidate],
            None => self.names.len() + (endpoint - self.of_candidates.len()),
        }
    }

    /// The places of the endpoints that have joined by now.
    pub(crate) fn joined(&self) -> Range<usize> {
        let first = self.names.len();
        first..first + self.joined.as_ref().map_or(0, Newcomers::count)
    }

    /// Of each endpoint that the run began with, the place that its clients try first, and all that its
    /// candidates lead to.
    pub(crate) fn by_endpoint(&self) -> impl Iterator<Item = (usize, &[usize])> + Clone {
        let endpoints = self.of_candidates.iter();
        endpoints.map(|places| (places[0], places.as_slice()))
    }

    pub(crate) fn name(&self, number: usize) -> &str {
        let joined = self.joined.as_ref();
        match self.names.get(number) {
            Some(name) => name,
            None => joined.map_or("", |joined| joined.name(number - self.names.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::path::PathBuf;
    use std::sync::Arc;

    use pgdyno_wire::{Addr, Login};

    use super::*;

    fn candidate(host: &str, addr: Addr) -> Candidate {
        let login = Arc::new(Login::new("me", "bench"));
        Candidate {
            host: host.to_owned(),
            ..Candidate::new(addr, login)
        }
    }

    fn tcp(host: &str, address: &str) -> Candidate {
        let address: SocketAddr = address.parse().unwrap();
        candidate(host, Addr::Tcp(address))
    }

    #[test]
    fn a_place_is_a_name_and_a_port_whatever_its_addresses() {
        let endpoints = [
            vec![
                tcp("localhost", "[::1]:5432"),
                tcp("localhost", "127.0.0.1:5432"),
            ],
            vec![tcp("localhost", "127.0.0.1:5433")],
            vec![tcp("::1", "[::1]:5432")],
            vec![candidate(
                "/run",
                Addr::Unix(PathBuf::from("/run/.s.PGSQL.1")),
            )],
            vec![tcp("localhost", "127.0.0.1:5432")],
        ];
        let joined = Newcomers::default();
        let places = Places::of(Endpoints {
            first: &endpoints,
            joined: Some(&joined),
            roles: &[],
        });
        let names = (0..places.count()).map(|place| places.name(place));
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        assert_eq!(
            names,
            [
                "localhost:5432",
                "localhost:5433",
                "[::1]:5432",
                "/run/.s.PGSQL.1"
            ]
        );
        let first = places.by_endpoint().map(|(first, _)| first);
        assert_eq!(first.collect::<Vec<_>>(), [0, 1, 2, 3, 0]);
        assert_eq!(places.number(0, 1), 0);
        assert_eq!(places.joined(), 4..4);
        joined.add(vec![tcp("db6", "127.0.0.1:5436"), tcp("db6", "[::1]:5436")]);
        assert_eq!(places.joined(), 4..5);
        assert_eq!((places.number(5, 0), places.number(5, 1)), (4, 4));
        assert_eq!(places.name(4), "db6:5436");
    }
}
