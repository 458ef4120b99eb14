//! pgdyno's own sessions of a trial never take the place of a client's: where there is not room for both, the
//! server is not observed.

use pgdyno_database::room::{self, Room};
use pgdyno_model::document::TargetKind;
use pgdyno_model::{Note, Severity, text};
use pgdyno_observe::Instruments;

use crate::prepare::Prepared;

/// Takes the instruments away that have sessions, where clients need their places; says so in a note.
pub fn give_way(instruments: &mut Instruments, prepared: &Prepared, clients: u64) -> Vec<Note> {
    let own = { instruments.iter() }
        .filter(|one| has_session(one.name()))
        .count() as u64;
    let target = &prepared.target;
    // A server of pgdyno's own has room for both.
    if own == 0 || target.kind != TargetKind::Named {
        return Vec::new();
    }
    let Some(first) = target.endpoints.first() else {
        return Vec::new();
    };
    let here = clients.div_ceil(target.endpoints.len() as u64);
    let Some(room) =
        room::at(first, prepared.product.dialect).filter(|room| room.sessions < here + own)
    else {
        return Vec::new();
    };
    instruments.retain(|one| !has_session(one.name()));
    notes(&room, here, own)
}

/// Whether an instrument keeps a session to the server.
fn has_session(name: &str) -> bool {
    name == "client.ping"
        || ["pg.", "cluster."]
            .iter()
            .any(|group| name.starts_with(group))
}

fn notes(room: &Room, clients: u64, own: u64) -> Vec<Note> {
    let Room { sessions, limit } = room;
    let left = text::plural(*sessions, "session");
    let own = Note::new(
        "own-sessions",
        Severity::Warning,
        format!(
            "pgdyno's own {} gave way to clients, the server was not observed: {limit} left room for {left}",
            text::plural(own, "session")
        ),
        "to observe it, raise that limit by as many as pgdyno's own sessions",
    );
    let short = (*sessions < clients).then(|| {
        Note::new(
            "clients-outnumber-sessions",
            Severity::Warning,
            format!(
                "{limit} left room for {left}, and {clients} clients want one each: the others are refused, or wait \
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

    #[test]
    fn what_gave_way_is_told_and_that_clients_alone_are_too_many() {
        let room = Room {
            sessions: 4,
            limit: "max_connections".to_owned(),
        };
        let codes = |clients| {
            let notes = notes(&room, clients, 3).into_iter();
            notes.map(|note| note.code.into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(codes(4), ["own-sessions"]);
        assert_eq!(codes(5), ["clients-outnumber-sessions", "own-sessions"]);
        assert_eq!(
            notes(&room, 4, 3)[0].sentence,
            "pgdyno's own 3 sessions gave way to clients, the server was not observed: max_connections left room for \
             4 sessions"
        );
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
