//! What the storage layer did during a trial: logical reads, misses of the buffer pool, reads of
//! the device, log, CPU time, each from whom counts it, and what follows from them. Counters are
//! read when all sessions stand and none works yet, and again when all have gone: the server reports
//! what a session did only when the session says so or ends.
//!
//! Not for: series over time (`observe/`), words (`crates/report`).

mod buffers;
mod cpu;
mod device;
pub mod expected;
mod reader;
#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use expected::fuzz;
pub use reader::Reader;
