//! When pgdyno itself limits what it measures.

use pgdyno_measurement::ThreadUse;

/// From this share of the time on, pgdyno's busiest thread is taken to slow its clients down: a
/// thread that has work four fifths of the time makes an event wait for others as often as not
/// (queueing theory: waiting grows as share / (1 - share), here 4 events).
pub const CLIENT_BOUND_SHARE: f64 = 0.8;

/// A thread that has work less often, but that waits for a CPU from this share of the time on, slows
/// its clients down too: an answer that comes finds it without a CPU as often as not.
pub const CLIENT_STARVED_SHARE: f64 = 0.5;

/// The thread of pgdyno that was the limit, if one was; the worst of several.
pub fn limiting(threads: &[ThreadUse]) -> Option<&ThreadUse> {
    let is_limit = |thread: &&ThreadUse| {
        thread.wanted_share() >= CLIENT_BOUND_SHARE || thread.waited_share() >= CLIENT_STARVED_SHARE
    };
    let limits = threads.iter().filter(is_limit);
    limits.max_by(|a, b| a.wanted_share().total_cmp(&b.wanted_share()))
}
