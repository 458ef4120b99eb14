//! `pgdyno calibrate`: checks whether the infrastructure is as fast as expected: the simplest
//! measurements first (a round trip, a durable commit, reads and updates by primary key at one
//! client), each judged; then, when the baseline is met, where throughput stops growing.
//!
//! Every measurement is a trial of an experiment in the notebook, and everything that is said of a
//! calibration is read from there: what was measured a minute ago and what was measured a year ago
//! go the same way.
//!
//! - `measure.rs`: its experiment. `conduct.rs`: carrying it out by the runner of all experiments.
//!   `host.rs`: what the host can do without a database. `server_side.rs`: what the server counts meanwhile.
//!
//! Not for: what the figures mean (`diagnose::calibration`).

pub mod conduct;
mod host;
pub mod measure;
mod server_side;
