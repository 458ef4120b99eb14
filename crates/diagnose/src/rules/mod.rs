//! The rules, a file for each kind: which causes a share of the clients' time has, and how that shows.
//! docs/verdict.md has each with its check and what it cannot see, bench/VERDICT.md where thresholds come from.

mod clock_uncertainty;
mod cluster;
mod connections;
mod cpus;
mod generator;
mod rate_met;
mod reads;
mod stalls;
mod standby;
mod stragglers;
mod temporary;
mod think;
mod waits;
mod wal;
mod way;

pub use clock_uncertainty::is_reason as is_of_clocks;

use super::rule::Rule;

/// All of them, in the order in which they are shown. Of equal shares the first wins.
pub const RULES: &[Rule] = &[
    rate_met::RULE,
    think::RULE,
    connections::RULE,
    generator::RULE,
    cpus::OTHERS,
    way::NETWORK,
    way::BANDWIDTH,
    way::POOLER,
    way::STOPPED,
    cpus::SERVER,
    cpus::QUOTA,
    waits::CONTENTION,
    waits::LIGHTWEIGHT,
    wal::RULE,
    reads::BUFFERS,
    reads::DEVICE,
    waits::WRITES,
    temporary::RULE,
    waits::SLRU,
    waits::EXTENSION,
    waits::IPC,
    waits::OTHERS,
    stalls::RULE,
    stragglers::RULE,
    clock_uncertainty::RULE,
    cluster::LEADERS,
    cluster::HOT_RANGE,
    cluster::SLOW_NODE,
    cluster::PASSED_ON,
    cluster::REPLICATION,
    cluster::RESTARTS,
    cluster::ADMISSION,
    cluster::WRITE_STALLS,
    cluster::UNAVAILABLE,
];
