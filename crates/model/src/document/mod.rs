//! What came of a trial, of an experiment, of a comparison: documents that are shown. The terminal,
//! `--json`, Markdown and the report's page are renderers of them; the page's types
//! (`web/src/data.ts`) are generated from these ones.
//!
//! - [`Latency`]: times of one kind, as docs/json.md has them.
//! - [`Histogram`], [`Packed`]: all of their values.
//! - [`Verdict`]: what limited a trial, with its evidence.
//! - [`Common`]: what every page begins with.
//!
//! A field is `null` where something is not known, and left out where it was not recorded or there
//! is nothing of the kind. Units are in the names.

mod common;
mod histogram;
mod latency;
mod verdict;

pub use common::{Common, PageNote};
pub use histogram::{Histogram, Packed};
pub use latency::Latency;
pub use verdict::{Gate, GateResult, LimitOf, Link, Proof, RuleRow, RuleState, Verdict};

/// The version of the page's documents. It grows when a field changes its meaning or goes; a page
/// refuses what it does not know.
pub const FORMAT: u32 = 1;
