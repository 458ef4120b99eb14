//! What `pgdyno calibrate` measured, judged. How each verdict is computed: `docs/calibrate.md`.
//!
//! - `expect.rs`: what good infrastructure should give.
//! - `read.rs`: a calibration from the notebook. `judge.rs`: verdicts and causes. `growth.rs`: more
//!   clients.
//!
//! Not for: measuring (`crates/run/src/calibrate`).

pub mod expect;
pub mod growth;
pub mod judge;
pub mod read;
