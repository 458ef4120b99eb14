//! Instruments for servers that have PostgreSQL's statistics views, 13 to 18. Sessions of their own,
//! differences and never resets, no privilege and no extension taken for granted.
//!
//! Not for: which product has them (`crates/database/src/dialect/server_views.rs`).

mod autovacuum;
mod checkpoints;
mod clock;
mod counters;
mod events;
mod figure;
mod figures;
mod locks;
mod notes;
mod place;
mod residency;
mod segments;
mod sizes;
mod standbys;
mod statements;
#[cfg(test)]
mod tests;
mod waits;

use std::collections::BTreeSet;

use self::counters::Counters;
use self::events::Events;
use self::locks::Locks;
use self::place::Place;
use self::residency::Residency;
use self::sizes::Sizes;
use self::statements::Statements;
use self::waits::Waits;
use super::{Instrument, Scene};
use pgdyno_database::dialect::ServerView;
use pgdyno_model::observed::Chapter;

pub const INSTRUMENTS: &[&str] = &[
    "pg.counters",
    "pg.events",
    "pg.locks",
    "pg.residency",
    "pg.sizes",
    "pg.statements",
    "pg.waits",
];

/// How the document lists their series.
pub const CHAPTERS: [Chapter; 10] = {
    let [database, checkpoints, io, wal, relations] = figures::CHAPTERS;
    [
        database,
        checkpoints,
        io,
        wal,
        relations,
        Chapter {
            title: "PostgreSQL: what sessions wait for",
            rows: waits::ROWS,
        },
        Chapter {
            title: "PostgreSQL: locks",
            rows: locks::ROWS,
        },
        Chapter {
            title: "PostgreSQL: standbys",
            rows: standbys::ROWS,
        },
        Chapter {
            title: "PostgreSQL: sizes, before and after",
            rows: sizes::ROWS,
        },
        Chapter {
            title: "PostgreSQL: shared buffers, before and after",
            rows: residency::ROWS,
        },
    ]
};

/// The instruments for this scene: all that the product has, at each of its nodes that clients meet.
pub fn instruments(scene: &Scene<'_>) -> Vec<Box<dyn Instrument>> {
    let views = scene.product.dialect.server_views;
    let places = places(scene);
    let all = places.iter().flat_map(|place| {
        let aside = place.alone();
        { views.iter() }
            .map(move |view| instrument(*view, place.clone(), aside.clone(), scene.clients))
    });
    all.collect()
}

/// `aside` has the session of what is asked before and after only, and may take long.
fn instrument(view: ServerView, place: Place, aside: Place, clients: usize) -> Box<dyn Instrument> {
    match view {
        ServerView::Counters => Box::new(Counters::new(place)),
        ServerView::Waits => Box::new(Waits::new(place, clients)),
        ServerView::Locks => Box::new(Locks::new(place)),
        ServerView::Events => Box::new(Events::new(place)),
        ServerView::Statements => Box::new(Statements::new(aside)),
        ServerView::Sizes => Box::new(Sizes::new(aside)),
        ServerView::Residency => Box::new(Residency::new(aside)),
    }
}

/// An endpoint for each node; one whose node is not reported is taken for a node of its own.
fn places(scene: &Scene<'_>) -> Vec<Place> {
    let mut met = BTreeSet::new();
    let endpoints = scene.target.endpoints.iter().filter(|endpoint| {
        let mut reached = scene.facts.reached.iter();
        let reached = reached.find(|reached| reached.endpoint == endpoint.name);
        let node = reached.and_then(|reached| reached.node.known());
        node.is_none_or(|node| met.insert(node.clone()))
    });
    let endpoints: Vec<_> = endpoints.cloned().collect();
    let is_one = endpoints.len() == 1;
    let place = |endpoint: pgdyno_database::open::Endpoint| {
        let node = if is_one {
            String::new()
        } else {
            endpoint.name.clone()
        };
        Place::new(endpoint, &node)
    };
    endpoints.into_iter().map(place).collect()
}
