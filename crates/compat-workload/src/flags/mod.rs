//! What can be typed after `workload VERB WORKLOAD`, and reading it: flags as cockroach's program takes
//! them, which follow Go's pflag. Not here: what they mean.

mod bank;
mod common;
mod flag;
pub mod go_values;
mod kv;
pub mod node;
mod others;
mod parser;
mod table;
mod tpcc;
mod ycsb;

pub use flag::{Flag, Kind, Verb, default_concurrency};
pub use others::own;
pub use parser::{End, ParsedFlags, parse};
pub use table::all;
