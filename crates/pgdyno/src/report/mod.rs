//! Showing what was measured: in the terminal while it happens and afterwards, and as JSON.
//! Everything shown comes from an [`crate::plan::trial::Outcome`].

pub mod capacity;
pub mod comparison;
pub mod csv;
pub mod figures;
pub mod json;
pub mod live;
mod retries;
pub mod retries_lab;
pub mod summary;
pub mod table;
