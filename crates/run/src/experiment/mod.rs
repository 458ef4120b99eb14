//! Experiments: a file that describes a matrix of trials, its unfolding into a plan, and carrying
//! the plan out, trial by trial, into a notebook.
//!
//! Not for: what a trial is and how one is measured (`crate::trial`), what happens between trials
//! (`crate::reset`, `crate::settings`).

pub mod capacity;
mod check;
pub mod conduct;
pub mod estimate;
mod file;
pub mod matrix;
pub mod mentioned;
pub mod notebook;
pub mod parameter;
pub mod pgbench_tools;
pub mod plan;
pub mod presets;
pub mod reader;
pub mod schedule;
pub mod study;
pub mod tables_there;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod toml_text;

pub use pgdyno_spec::suggest::nearest;
