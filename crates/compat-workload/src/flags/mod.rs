//! What can be typed after `workload VERB ycsb`, and reading it: flags as cockroach's program takes
//! them, which follow Go's pflag. Not here: what they mean.

pub mod go_values;
mod parser;
mod table;

pub use parser::{End, Parsed, parse};
pub use table::{Flag, Verb, default_concurrency};
