//! What a disturbance did: of one trial, and of the trials of `pgdyno lab disturb`.

mod answer;
mod figures;
mod lab;
mod migrate;
mod sections;
mod text;

#[cfg(test)]
mod tests;

pub use lab::lab;
pub use migrate::outage_us;
pub use text::brief;

use pgdyno_model::Outcome;
use pgdyno_model::document::answer::Answer;
use pgdyno_model::document::disturb_lab::DisturbLab;
use pgdyno_model::document::section::Section;
use pgdyno_model::document::{Disturbed, DisturbedTrial};
use pgdyno_spec::text as words;
use serde_json::{Value, json};

use crate::lab::Lab;

/// The command that kills a primary and promotes its standby.
const FAILOVER: &str = "pgdyno:failover";

impl Lab for DisturbLab {
    fn facts(&self) -> Option<(&'static str, Value)> {
        Some(("disturb_lab", json!(self)))
    }

    fn title(&self, _: &str) -> String {
        let clients = self
            .clients
            .map(|clients| words::plural(clients.into(), "client"));
        let parts = [self.workload.clone(), clients, self.offered.clone()];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let is_failover = self
            .commands
            .iter()
            .any(|command| command.contains(FAILOVER));
        let what = match (self.lab.as_str(), is_failover) {
            ("migrate", _) => "a migration",
            (_, true) => "failover",
            (_, false) => "disturbed",
        };
        format!("{}: {what}", parts.join(", "))
    }

    fn answer(&self) -> Option<Answer> {
        answer::answer(self)
    }

    fn heading(&self) -> String {
        sections::heading(self)
    }

    fn sections(&self) -> Vec<Section> {
        sections::sections(self)
    }
}

/// A disturbed trial as it is shown; `None` of others.
pub fn document(outcome: &Outcome) -> Option<DisturbedTrial> {
    let disturbed = outcome.findings.get::<Disturbed>()?;
    Some(DisturbedTrial {
        troubles: disturbed.troubles(),
        figures: figures::figures(outcome),
        disturbed,
    })
}
