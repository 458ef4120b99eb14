//! Where the clients' time went, and what limited a trial, in one sentence with its evidence.
//!
//! The clients' time is divided into parts ([`budget`], [`split`]): what the engine counted is exact,
//! the server's part comes from samples and from the kernel, and what no source explains stays apart.
//! Each rule in `rules/` names a cause for some of it. The largest is the limit when an interval over
//! blocks of the trial says that it is larger than the next, when what is not attributed could not turn
//! that, and when it passes its own checks; else it is not known, and what would tell is said. A verdict
//! is computed from a recorded trial whenever it is shown, so that better rules judge old trials too.
//!
//! Not for: what a reader must know before believing a figure (`crates/run/src/validity.rs`).

mod added;
mod blocks;
mod budget;
pub mod calibration;
pub mod capacity;
mod document;
mod evidence;
mod judge;
mod nodes;
mod path;
mod ratio;
mod rule;
mod rules;
mod sampled;
mod split;
mod stalls;
#[cfg(test)]
mod tests;
mod waits;

pub use added::{added, too_much};
pub use evidence::Evidence;

use pgdyno_model::Outcome;
use pgdyno_model::document::{TimeBudget, Verdict};

use rules::RULES;

/// The verdict on a trial, and where its time went; `None` when nothing was measured that could be
/// judged.
pub fn diagnose(outcome: &Outcome) -> Option<(TimeBudget, Verdict)> {
    let evidence = Evidence::of(outcome)?;
    Some((document::of(&evidence), judge::of(&evidence)))
}

/// The name of a limit for people, by its code.
pub fn name(code: &str) -> &str {
    let mut rules = RULES.iter();
    let rule = rules.find(|rule| rule.code == code);
    rule.map_or("not known", |rule| rule.name)
}
