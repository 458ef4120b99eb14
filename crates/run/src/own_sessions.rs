//! pgdyno's own sessions of a trial never take the place of a client's: where there is not room for both, the
//! server is not observed.

use std::collections::BTreeMap;

use pgdyno_database::open::{Endpoint, Target};
use pgdyno_database::room::{Room, Rooms};
use pgdyno_model::document::TargetKind;
use pgdyno_model::{Note, Severity};
use pgdyno_observe::Instruments;
use pgdyno_spec::text;

use crate::beforehand::Beforehand;
use crate::prepare::Prepared;

/// Takes the instruments away that have sessions, where clients need their places; says so in a note.
pub fn give_way(
    instruments: &mut Instruments,
    prepared: &Prepared,
    beforehand: &Beforehand,
    clients: u64,
) -> Vec<Note> {
    let own = { instruments.iter() }
        .filter(|one| has_session(one.name()))
        .count() as u64;
    let target = &prepared.target;
    // A server of pgdyno's own has room for both.
    if own == 0 || target.kind != TargetKind::Named {
        return Vec::new();
    }
    let doors = doors(target, clients);
    let asked = doors.into_iter().map(|(endpoint, clients)| Asked {
        rooms: beforehand.rooms(&endpoint, prepared),
        endpoint: endpoint.name,
        clients,
    });
    let Some(short) = shortest(&asked.collect::<Vec<_>>(), own) else {
        return Vec::new();
    };
    instruments.retain(|one| !has_session(one.name()));
    notes(&short, own)
}

/// An endpoint, what it says, and how many clients come there.
struct Asked {
    endpoint: String,
    rooms: Rooms,
    clients: u64,
}

/// A limit that has not room for clients and pgdyno's own sessions.
#[derive(Debug, PartialEq, Eq)]
struct Short {
    room: Room,
    /// Clients that it is for.
    clients: u64,
    /// Where it is, if there are several endpoints.
    endpoint: Option<String>,
}

/// The endpoints that clients go to, with how many of them at most. Hosts among which each client chooses count as
/// endpoints.
fn doors(target: &Target, clients: u64) -> Vec<(Endpoint, u64)> {
    let roles = target.roles.iter().map(|role| &role.endpoints);
    let groups = std::iter::once(&target.endpoints).chain(roles);
    let mut doors = Vec::new();
    for group in groups {
        let here = clients.div_ceil(group.len() as u64);
        for endpoint in group {
            match endpoint.candidates.len() as u64 {
                hosts @ 2.. if target.load_balances => {
                    let each = endpoint.candidates.iter().map(|candidate| Endpoint {
                        name: candidate.place(),
                        candidates: vec![candidate.clone()],
                        limits: endpoint.limits,
                    });
                    doors.extend(each.map(|host| (host, here.div_ceil(hosts))));
                }
                _ => doors.push((endpoint.clone(), here)),
            }
        }
    }
    doors
}

/// The limit that is exceeded most, if one is. A server's holds for all endpoints that lead there.
fn shortest(asked: &[Asked], own: u64) -> Option<Short> {
    let mut servers: BTreeMap<&str, u64> = BTreeMap::new();
    for one in asked {
        if let Some(server) = &one.rooms.server {
            *servers.entry(server).or_default() += one.clients;
        }
    }
    // Each server is observed by as many sessions.
    let own = own.div_ceil(servers.len().max(1) as u64);
    let all = asked.iter().flat_map(|one| {
        let server = one.rooms.server.as_deref();
        let of_all = server.map_or(one.clients, |server| servers[server]);
        let of_server = one.rooms.of_server.iter().map(move |room| (room, of_all));
        let of_pooler = one.rooms.of_pooler.iter().map(|room| (room, one.clients));
        let both = of_server.chain(of_pooler);
        both.map(move |(room, clients)| (one, room, clients))
    });
    let short = all.filter(|(_, room, clients)| room.sessions < clients + own);
    let (one, room, clients) =
        short.max_by_key(|(_, room, clients)| (clients + own).saturating_sub(room.sessions))?;
    Some(Short {
        room: room.clone(),
        clients,
        endpoint: (asked.len() > 1).then(|| one.endpoint.clone()),
    })
}

/// Whether an instrument keeps a session to the server.
fn has_session(name: &str) -> bool {
    name == "client.ping"
        || ["pg.", "cluster."]
            .iter()
            .any(|group| name.starts_with(group))
}

fn notes(short: &Short, own: u64) -> Vec<Note> {
    let Room { sessions, limit } = &short.room;
    let clients = short.clients;
    let at = short.endpoint.as_ref().map(|place| format!(" at {place}"));
    let limit = format!("{limit}{}", at.unwrap_or_default());
    let left = text::plural(*sessions, "session");
    let own = Note::new(
        "own-sessions",
        Severity::Warning,
        format!(
            "the server was not observed, to leave room for clients: pgdyno's own {} had no room; {limit} \
             left room for {left}",
            text::plural(own, "session")
        ),
        "raise that limit by the number of pgdyno's own sessions",
    );
    let short = (*sessions < clients).then(|| {
        Note::new(
            "clients-outnumber-sessions",
            Severity::Warning,
            format!(
                "{clients} clients had only {left}: the limit is {limit}; the others are refused, or wait \
                 until one ends"
            ),
            "use fewer clients, raise that limit, or pool by transaction",
        )
    });
    short.into_iter().chain([own]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(limit: &str, sessions: u64) -> Room {
        let limit = limit.to_owned();
        Room { sessions, limit }
    }

    fn asked(endpoint: &str, server: &str, sessions: u64, pool: Option<u64>) -> Asked {
        Asked {
            endpoint: endpoint.to_owned(),
            rooms: Rooms {
                server: Some(server.to_owned()),
                of_server: vec![room("max_connections", sessions)],
                of_pooler: pool.map(|size| room("pool_size", size)),
            },
            clients: 4,
        }
    }

    #[test]
    fn dropped_sessions_are_reported_and_too_many_clients_are_an_error() {
        let short = |clients| Short {
            room: room("max_connections", 4),
            clients,
            endpoint: None,
        };
        let codes = |clients| {
            let notes = notes(&short(clients), 3).into_iter();
            notes.map(|note| note.code.into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(codes(4), ["own-sessions"]);
        assert_eq!(codes(5), ["clients-outnumber-sessions", "own-sessions"]);
        assert_eq!(
            notes(&short(4), 3)[0].sentence,
            "the server was not observed, to leave room for clients: pgdyno's own 3 sessions had no room; \
             max_connections left room for 4 sessions"
        );
        let second = Short {
            endpoint: Some("db2:5432".to_owned()),
            ..short(4)
        };
        let said = &notes(&second, 3)[0].sentence;
        assert!(
            said.contains("; max_connections at db2:5432 left room"),
            "{said}"
        );
    }

    #[test]
    fn the_limit_of_each_endpoint_counts_and_that_of_a_server_for_all_that_lead_there() {
        let short = |asked: &[Asked], own| {
            let short = shortest(asked, own)?;
            Some((short.endpoint?, short.room.limit, short.clients))
        };
        let of = |endpoint: &str, limit: &str, clients| {
            Some((endpoint.to_owned(), limit.to_owned(), clients))
        };
        // Two servers, the second one is short of one session.
        let two = |second| [asked("a", "1", 6, None), asked("b", "2", second, None)];
        assert_eq!(short(&two(6), 4), None);
        assert_eq!(short(&two(5), 4), of("b", "max_connections", 4));
        // Two ways to one server, which has the clients of both.
        let one = |sessions| {
            [
                asked("a", "1", sessions, None),
                asked("b", "1", sessions, None),
            ]
        };
        assert_eq!(short(&one(12), 4), None);
        assert!(short(&one(11), 4).is_some_and(|(_, _, clients)| clients == 8));
        // A pool before it has those of its own endpoint.
        let pools = |second| {
            [
                asked("a", "1", 90, Some(8)),
                asked("b", "1", 90, Some(second)),
            ]
        };
        assert_eq!(short(&pools(8), 4), None);
        assert_eq!(short(&pools(7), 4), of("b", "pool_size", 4));
        // What does not say counts for nothing.
        let silent = Asked {
            endpoint: "a".to_owned(),
            rooms: Rooms::default(),
            clients: 4,
        };
        assert_eq!(shortest(&[silent], 4), None);
    }

    #[test]
    fn instruments_of_the_host_have_no_session() {
        let has = [
            "pg.waits",
            "client.ping",
            "cluster.nodes",
            "client",
            "host.cpu",
            "scrape.node",
        ];
        assert_eq!(
            has.map(has_session),
            [true, true, true, false, false, false]
        );
    }
}
