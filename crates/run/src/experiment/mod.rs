//! Experiments: a file that describes a matrix of trials, its unfolding into a plan, and carrying
//! the plan out, trial by trial, into a notebook.
//!
//! Not for: what a trial is and how one is measured (`plan::trial`), what happens between trials
//! (`plan::hygiene`, `plan::settings`).

pub mod capacity;
mod check;
pub mod conduct;
pub mod estimate;
pub mod matrix;
pub mod notebook;
pub mod parameter;
pub mod pgbench_tools;
pub mod plan;
pub mod point;
pub mod presets;
pub mod reader;
pub mod retries_lab;
pub mod schedule;
pub mod slob_sweep;
pub mod study;
pub mod suggest;
#[cfg(test)]
pub mod testing;
pub mod toml_text;

pub use suggest::nearest;
