//! The nodes of a distributed database: what each reports about itself over HTTP, in Prometheus' text, and
//! what becomes of them and of leaders. Which figures, under which names, the dialect knows
//! (`crates/database/src/dialect/metrics`).

mod explain;
mod histogram;
mod joining;
mod moves;
mod node;
mod page;
mod place;

pub use explain::PlainRead;
pub use joining::{AddEndpoint, Joining};
pub use moves::{NAME as NODES, instrument as nodes};

use super::{Instrument, Scene};
use pgdyno_database::dialect::metrics::{
    COCKROACHDB_VARS, Metric, Taken, YUGABYTEDB_MASTER, YUGABYTEDB_SQL, YUGABYTEDB_TSERVER,
};
use pgdyno_model::observed::{Chapter, Kind, Row};

/// The names of the instruments; but for the last two, each of one kind of page.
pub const INSTRUMENTS: &[&str] = &[
    "crdb.vars",
    "yb.master",
    "yb.tserver",
    "yb.ysql",
    moves::NAME,
    explain::NAME,
];

/// Nodes beyond are left out: each is a request and some fifty figures a second.
const NODES_MAX: usize = 32;

pub const CHAPTERS: [Chapter; 4] = [
    Chapter {
        title: "CockroachDB: each node, /_status/vars",
        rows: &rows(&COCKROACHDB_VARS),
    },
    Chapter {
        title: "YugabyteDB: each node's tablet server (documentation only: never run against one)",
        rows: &rows(&YUGABYTEDB_TSERVER),
    },
    Chapter {
        title: "YugabyteDB: each node's SQL layer (documentation only)",
        rows: &rows(&YUGABYTEDB_SQL),
    },
    Chapter {
        title: "YugabyteDB: masters (documentation only)",
        rows: &rows(&YUGABYTEDB_MASTER),
    },
];

const fn rows<const COUNT: usize>(metrics: &[Metric; COUNT]) -> [Row; COUNT] {
    let mut rows = [row(&metrics[0]); COUNT];
    let mut at = 1;
    while at < COUNT {
        rows[at] = row(&metrics[at]);
        at += 1;
    }
    rows
}

/// A series as the list has it.
const fn row(metric: &Metric) -> Row {
    Row {
        name: metric.series,
        unit: metric.unit,
        kind: match metric.taken {
            Taken::Counter | Taken::CounterOfAll | Taken::CounterByEnd => Kind::Counter,
            Taken::Sum | Taken::Largest | Taken::Mean | Taken::P99 => Kind::Gauge,
        },
        source: metric.versions,
        what: metric.what,
    }
}

/// One for each page of each node, one for what becomes of nodes and leaders, and one for the parts of
/// statements' times.
pub fn instruments(scene: &Scene<'_>) -> Vec<Box<dyn Instrument>> {
    let dialect = scene.product.dialect;
    let places = place::Places::new(scene.target, dialect);
    let nodes = place::nodes(scene.target, scene.facts);
    let mut all: Vec<Box<dyn Instrument>> = moves::instrument(scene).into_iter().collect();
    all.extend(explain::instrument(scene));
    for page in dialect.metrics.pages {
        if let Some(joining) = scene.joining {
            let joined = joining::JoinedPages::new(page, dialect, joining.clone());
            all.push(Box::new(joined));
        }
        for node in nodes.iter().take(NODES_MAX) {
            let places = places.clone();
            all.push(Box::new(node::NodePage::new(page, node.clone(), places)));
        }
    }
    all
}
