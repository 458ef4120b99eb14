//! The servers that candidates lead to, each distinguished by the name its user gave it: what a run
//! counts by endpoint is counted by these.

use pgdyno_wire::Candidate;

/// Every server that some client may connect to, once.
#[derive(Debug)]
pub(crate) struct Places {
    /// By place.
    names: Vec<String>,
    /// The place of each candidate, by endpoint.
    of_candidates: Vec<Vec<usize>>,
}

impl Places {
    pub(crate) fn of(endpoints: &[Vec<Candidate>]) -> Self {
        let mut names = Vec::new();
        let mut number = |candidate: &Candidate| {
            let name = candidate.place();
            let known = names.iter().position(|known| *known == name);
            known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        let endpoints = endpoints.iter();
        let of_candidates =
            endpoints.map(|candidates| candidates.iter().map(&mut number).collect());
        Self {
            of_candidates: of_candidates.collect(),
            names,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// The place that a candidate of an endpoint leads to.
    pub(crate) fn number(&self, endpoint: usize, candidate: usize) -> usize {
        self.of_candidates[endpoint][candidate]
    }

    /// The place that the clients of each endpoint try first, and all that its candidates lead to.
    pub(crate) fn by_endpoint(&self) -> impl Iterator<Item = (usize, &[usize])> + Clone {
        let endpoints = self.of_candidates.iter();
        endpoints.map(|places| (places[0], places.as_slice()))
    }

    /// [`Candidate::place`].
    pub(crate) fn name(&self, number: usize) -> &str {
        self.names.get(number).map_or("", String::as_str)
    }
}

/// The endpoint that a client tries at `step`: its own at 0, then each of the others once, with a
/// different one first for each client of the same endpoint. `None` when none is left.
pub(crate) fn endpoint_at(client: usize, endpoints: usize, step: usize) -> Option<usize> {
    let own = client % endpoints;
    match step {
        0 => Some(own),
        _ if step < endpoints => {
            let others = endpoints - 1;
            let offset = (client / endpoints + step - 1) % others;
            Some((own + 1 + offset) % endpoints)
        }
        _ => None,
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
        let places = Places::of(&endpoints);
        let names: Vec<&str> = (0..places.count())
            .map(|place| places.name(place))
            .collect();
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
    }

    #[test]
    fn the_clients_of_one_endpoint_spread_evenly_over_the_others() {
        for endpoints in 1..6 {
            for client in 0..60 {
                let mut tried: Vec<usize> = (0..endpoints)
                    .map(|step| endpoint_at(client, endpoints, step).unwrap())
                    .collect();
                assert_eq!(tried[0], client % endpoints);
                assert_eq!(endpoint_at(client, endpoints, endpoints), None);
                tried.sort_unstable();
                assert_eq!(tried, (0..endpoints).collect::<Vec<_>>());
            }
        }
        // The twelve clients of endpoint 1 of 4, when it is lost.
        let mut arrived = [0; 4];
        for client in (0..48).filter(|client| client % 4 == 1) {
            arrived[endpoint_at(client, 4, 1).unwrap()] += 1;
        }
        assert_eq!(arrived, [4, 0, 4, 4]);
    }
}
