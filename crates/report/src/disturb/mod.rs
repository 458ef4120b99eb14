//! What a disturbance did: of one trial, and of the trials of `pgdyno lab disturb`.

mod answer;
mod figures;
mod lab;
mod migrate;
mod text;

#[cfg(test)]
mod tests;

pub use answer::answer;
pub use lab::lab;
pub use migrate::outage_us;
pub use text::{brief, text};

use pgdyno_model::Outcome;
use pgdyno_model::document::{Disturbed, DisturbedTrial};

/// A disturbed trial as it is shown; `None` of others.
pub fn document(outcome: &Outcome) -> Option<DisturbedTrial> {
    let disturbed = outcome.findings.get::<Disturbed>()?;
    Some(DisturbedTrial {
        troubles: disturbed.troubles(),
        figures: figures::figures(outcome),
        disturbed,
    })
}
