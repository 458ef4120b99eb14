//! Showing what was measured: in the terminal while it happens and afterwards, as JSON, as Markdown,
//! as a page. A trial is shown from its document ([`pgdyno_model::document::Trial`]), which `documents`
//! makes from its [`pgdyno_model::Outcome`]; several from the store.

pub mod accounting;
pub mod answer;
mod budget;
pub mod calibration;
pub mod capacity;
pub mod ceiling;
mod checks;
pub mod ci;
pub mod cluster;
pub mod comparison;
pub mod csv;
pub mod disturb;
pub mod documents;
mod figures_of_pack;
mod findings;
pub mod first_screen;
mod generators;
pub mod glance;
pub mod growing;
pub mod history;
pub mod isolation;
pub mod lab;
pub mod latency_table;
pub mod markdown;
pub mod notes;
pub mod observed;
pub mod over;
pub mod page;
mod phases;
pub mod points;
pub mod retries;
pub mod retries_lab;
pub mod sections;
pub mod slob_sweep;
pub mod sparkline;
mod staleness;
pub mod summary;
pub mod table;
mod together;
mod truth;
pub mod units;
mod verdict;
pub mod wrap;
