//! What is asked right before a trial on the session that reads the server's counters, which saves sessions: how many
//! more the server has room for, and where it is.

use std::collections::BTreeMap;

use pgdyno_database::locate::{self, Located};
use pgdyno_database::open::{Endpoint, Target};
use pgdyno_database::room::{self, Rooms};
use pgdyno_model::document::TargetKind;
use pgdyno_session::Session;

use crate::prepare::Prepared;

/// The answers, as far as endpoints were asked.
#[derive(Debug, Default)]
pub struct Beforehand {
    rooms: BTreeMap<String, Rooms>,
    located: Located,
}

impl Beforehand {
    pub fn ask(&mut self, endpoint: &Endpoint, session: &mut Session, prepared: &Prepared) {
        let dialect = prepared.product.dialect;
        if let Some(place) = locate::of_session(session, dialect) {
            self.located.places.push((endpoint.name.clone(), place));
        }
        // A server of pgdyno's own has room for all.
        if prepared.target.kind == TargetKind::Named {
            let rooms = room::of(session, dialect);
            self.rooms.insert(endpoint.name.clone(), rooms);
        }
    }

    /// The room at an endpoint, which is asked if it was not yet.
    pub fn rooms(&self, endpoint: &Endpoint, prepared: &Prepared) -> Rooms {
        let known = self.rooms.get(&endpoint.name).cloned();
        known.unwrap_or_else(|| room::at(endpoint, prepared.product.dialect))
    }

    /// Where all servers of a target are, if each endpoint was asked.
    pub fn located(&self, target: &Target) -> Option<&Located> {
        (self.located.places.len() == target.endpoints.len()).then_some(&self.located)
    }
}
