//! What can be typed after `workload VERB WORKLOAD`, and reading it: flags as cockroach's program takes
//! them, which follow Go's pflag. Not here: what they mean.

mod bank;
mod common;
pub mod go_values;
mod kv;
pub mod node;
mod parser;
mod table;
mod ycsb;

pub use parser::{End, Parsed, parse};
pub use table::{Flag, Verb, default_concurrency};
