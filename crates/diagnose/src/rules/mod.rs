//! The rules, a file each: what would limit a trial in this way, and how that shows.

mod buffer_misses;
mod client;
mod clock_uncertainty;
mod connections;
mod contention;
mod durable_commit;
mod hops;
mod hot_range;
mod leaders;
mod network;
mod rate_met;
mod server_cpu;
mod stalls;

use super::rule::Rule;

/// All of them, in the order in which they are shown. Of equal shares the first wins.
pub const RULES: &[Rule] = &[
    rate_met::RULE,
    client::RULE,
    network::RULE,
    connections::RULE,
    server_cpu::RULE,
    durable_commit::RULE,
    contention::RULE,
    buffer_misses::BUFFERS,
    buffer_misses::DEVICE,
    stalls::RULE,
    clock_uncertainty::RULE,
    leaders::RULE,
    hot_range::RULE,
    hops::RULE,
];
