//! The servers that candidates lead to, each told apart by the name its user gave it: what a run
//! counts by endpoint is counted by these.

use pgdyno_wire::Candidate;

/// Every server that some client may connect to, once.
#[derive(Debug)]
pub(crate) struct Places(Vec<String>);

impl Places {
    pub(crate) fn of(endpoints: &[Vec<Candidate>]) -> Self {
        let mut places = Vec::new();
        for candidate in endpoints.iter().flatten() {
            let place = candidate.place();
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Self(places)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The number of the place that a candidate leads to.
    pub(crate) fn number(&self, candidate: &Candidate) -> usize {
        let wanted = candidate.place();
        // All candidates there are were seen by `of`.
        let found = self.0.iter().position(|place| *place == wanted);
        found.unwrap_or(0)
    }

    /// [`Candidate::place`].
    pub(crate) fn name(&self, number: usize) -> &str {
        self.0.get(number).map_or("", String::as_str)
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
        let numbers = endpoints.iter().map(|ways| places.number(&ways[0]));
        assert_eq!(numbers.collect::<Vec<_>>(), [0, 1, 2, 3, 0]);
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
