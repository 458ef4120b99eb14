//! `pgdyno calibrate --self`: the most that this machine's load generator can do, measured by the engine
//! of all trials against a server that answers at once.
//!
//! - `measure.rs`: the measurement. `answering.rs`: that server, a process of its own, so that its CPU time
//!   is not counted as the generator's. `kept.rs`: the file of this host that has the result.
//!
//! Not for: anything about a database.

pub mod answering;
pub mod kept;
pub mod measure;
