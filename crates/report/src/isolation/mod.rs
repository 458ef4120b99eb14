//! What `pgdyno lab isolation` found: which anomalies occurred at each level, and whether what the product
//! promises forbids them (docs/isolation.md).
//!
//! Not for: checking histories (`crates/isolation`), what a product promises (`crates/database`).

mod answer;
mod columns;
mod lab;
mod sections;
mod sure;

#[cfg(test)]
pub(crate) mod tests;

pub use lab::{empty, lab};
pub(crate) use sections::{story, story_in_markdown};

use pgdyno_model::document::answer::Answer;
use pgdyno_model::document::isolation_lab::IsolationLab;
use pgdyno_model::document::section::Section;
use pgdyno_spec::text as figures;
use serde_json::{Value, json};

use crate::lab::Lab;

impl Lab for IsolationLab {
    fn facts(&self) -> Option<(&'static str, Value)> {
        Some(("isolation_lab", json!(self)))
    }

    fn title(&self, _: &str) -> String {
        let levels = figures::plural(self.levels.len() as u64, "isolation level");
        let clients = self
            .clients
            .map(|clients| figures::plural(clients.into(), "client"));
        let clients = clients.map_or_else(String::new, |clients| format!(", {clients}"));
        format!("{levels} under load{clients}")
    }

    fn answer(&self) -> Option<Answer> {
        Some(answer::answer(self))
    }

    fn heading(&self) -> String {
        sections::heading(self)
    }

    fn sections(&self) -> Vec<Section> {
        sections::sections(self)
    }

    fn has_points(&self) -> bool {
        true
    }

    fn has_repeats(&self) -> bool {
        true
    }
}
