//! The report's page: what the notebook has of a trial, an experiment or a comparison, as the
//! document that web/src/data.ts describes, put into the page that is built from web/.
//!
//! Everything comes from the store, and figures that other reports show as well come from there, so
//! that none is computed in two ways. Not for: how it looks (web/).

mod blocks;
mod compare;
mod environment;
mod experiment;
mod file;
mod histogram;
mod observed;
mod slob;
mod statements;
mod time_per_commit;
mod timeline;
mod trial;
mod words;

pub use compare::{Sides, compare};
pub use experiment::{experiment, set};
pub use file::{Place, write};
pub use trial::trial;

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The version of the document: that of data.ts.
const FORMAT: u32 = 1;

/// What every kind of page has.
fn common(kind: &str, title: &str, facts: Vec<String>, command: &str) -> Value {
    json!({
        "format": FORMAT,
        "kind": kind,
        "pgdyno": env!("CARGO_PKG_VERSION"),
        "written": OffsetDateTime::now_utc().format(&Rfc3339).ok(),
        "title": title,
        "facts": facts,
        "command": command,
        "verdict": null,
        "notes": [],
    })
}
