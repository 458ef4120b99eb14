//! What can go wrong hours later is found before the first table is loaded: servers that cannot be
//! reached, settings that they do not take, connections that they do not have, tables that are in the
//! way. Nothing is changed here.

use std::collections::BTreeSet;

use pgdyno_database::open::Target;
use pgdyno_database::trouble;
use pgdyno_model::event::Notice;
use pgdyno_platform::limits;
use pgdyno_spec::Failure;
use pgdyno_workload::loader;

use super::{Place, Sweep, leave};

/// The setting that decides how many connections a server has.
const CONNECTIONS: &str = "max_connections";

impl Sweep<'_> {
    /// Opens the targets of all trials that are not done, and checks each.
    ///
    /// # Errors
    /// What a trial would fail with.
    pub(super) fn look_ahead(&mut self) -> Result<(), Failure> {
        // By the name of the target, in the order of the trials.
        let mut places: Vec<(String, Vec<usize>)> = Vec::new();
        for slot in &self.slots {
            if self.done.contains_key(&slot.key()) {
                continue;
            }
            let name = slot.point.target().unwrap_or_default();
            match places.iter_mut().find(|(known, _)| known == name) {
                Some((_, points)) => points.push(slot.index),
                None => places.push((name.to_owned(), vec![slot.index])),
            }
        }
        for (name, mut points) in places {
            points.sort_unstable();
            points.dedup();
            let spec = &self.plan.points[points[0]].spec;
            self.open(&name, &spec.target.clone())?;
            let Some(place) = self.places.get(&name) else {
                continue;
            };
            // How many there are is not known before the setting is set.
            let ordinary = points.iter().map(|point| &self.plan.points[*point]);
            let ordinary =
                ordinary.filter(|planned| !planned.point.settings().contains_key(CONNECTIONS));
            let clients = ordinary.map(|planned| planned.spec.clients()).max();
            has_connections(&place.target, clients.unwrap_or(0))?;
            for text in self.tables_ahead(place, &points)? {
                self.means.observer.notice(&Notice::Note(text));
            }
        }
        Ok(())
    }

    /// What will be dropped here.
    fn tables_ahead(&self, place: &Place, points: &[usize]) -> Result<BTreeSet<String>, Failure> {
        let mut dropped = BTreeSet::new();
        if self.means.study.keeps_tables() {
            return Ok(dropped);
        }
        let mut session = place.target.connect()?;
        let leave = leave(self.plan, self.means.replace);
        let mut seen = BTreeSet::new();
        let planned = points.iter().map(|point| &self.plan.points[*point]);
        for tables in planned.filter_map(|planned| planned.tables.as_ref()) {
            if !seen.insert((tables.pack.name(), &tables.made_with)) {
                continue;
            }
            let (pack, chosen) = (&tables.pack, &tables.chosen);
            if let Some(tables) = loader::look_ahead(&mut session, pack, chosen, leave)? {
                let names = tables.names.join(", ");
                dropped.insert(format!("will drop {names}: {}", tables.loaded));
            }
        }
        session.close();
        Ok(dropped)
    }
}

/// Opens as many connections as the trial with the most clients, and closes them: what the server says
/// of its limit is not all, there are poolers, roles and databases with limits of their own.
fn has_connections(target: &Target, clients: u32) -> Result<(), Failure> {
    // Where it cannot be raised, connecting tells.
    let _ = limits::raise_open_files();
    let mut sessions = Vec::new();
    for endpoint in target.endpoints.iter().cycle().take(clients as usize) {
        match endpoint.connect() {
            Ok(session) => sessions.push(session),
            Err(error) => {
                let opened = sessions.len();
                return Err(trouble::connect(&error, target.kind).detail(format!(
                    "a trial has {clients} clients, and {opened} of their connections could be opened"
                )));
            }
        }
    }
    Ok(())
}
