//! Showing what was measured: in the terminal while it happens and afterwards, and as JSON.
//! A trial is shown from its [`crate::plan::trial::Outcome`], several from the store.

pub mod accounting;
pub mod calibration;
pub mod capacity;
pub mod comparison;
pub mod csv;
pub mod json;
pub mod live;
pub mod markdown;
pub mod observed;
pub mod over;
pub mod page;
pub mod points;
pub mod retries;
pub mod retries_lab;
pub mod slob_sweep;
pub mod sparkline;
pub mod summary;
pub mod table;
pub mod units;
mod verdict;
