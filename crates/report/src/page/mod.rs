//! The report's page: what the notebook has of a trial, an experiment or a comparison, as the
//! document that web/src/data.ts describes, put into the page that is built from web/.
//!
//! Everything comes from the store, and figures that other reports show as well come from there, so
//! that none is computed in two ways. Not for: how it looks (web/).

pub(crate) mod compare;
mod connections;
pub mod delta;
mod environment;
mod experiment;
mod file;
mod histogram;
pub mod live;
pub mod notebook;
mod observed;
mod slob;
pub(crate) mod slob_sweep;
mod statements;
mod time_per_commit;
mod timeline;
mod trial;
mod words;

pub use compare::{Sides, compare};
pub(crate) use experiment::limit_in;
pub use experiment::{experiment, set};
pub use file::{BEGIN, END, Place, served, write};
pub use trial::trial;
pub use words::{asked, clients, title};

use pgdyno_model::document::Common;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What every page begins with: without a verdict, and without notes.
fn begin(title: String, facts: Vec<String>, command: &str) -> Common {
    let written = OffsetDateTime::now_utc().format(&Rfc3339);
    let version = env!("CARGO_PKG_VERSION");
    let mut common = Common::new(version, written.unwrap_or_default(), title, facts);
    command.clone_into(&mut common.command);
    common
}
