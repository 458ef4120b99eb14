//! What `pgdyno lab isolation` found: which anomalies occurred at each level, and whether what the product
//! promises forbids them (docs/isolation.md).
//!
//! Not for: checking histories (`crates/isolation`), what a product promises (`crates/database`).

mod answer;
mod columns;
mod lab;
mod sure;
mod text;

#[cfg(test)]
pub(crate) mod tests;

pub use answer::answer;
pub use lab::{empty, lab};
pub use text::text;
pub(crate) use text::words;
