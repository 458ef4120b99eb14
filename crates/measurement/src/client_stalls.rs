//! Times in which one client got no commit: the longest of them, with what went wrong meanwhile.

use std::cmp::Reverse;

use super::Failure;

pub const CLIENT_STALLS_MAX: usize = 10;
/// So many where slots are kept ([`super::Slots`]): each client's, when all of many lose their server.
pub const CLIENT_STALLS_OF_SLOTS_MAX: usize = 4096;

/// How many are kept of a run, with slots or without.
pub fn client_stalls_max(with_slots: bool) -> usize {
    if with_slots {
        CLIENT_STALLS_OF_SLOTS_MAX
    } else {
        CLIENT_STALLS_MAX
    }
}

/// A time in which a client wanted to commit something and did not: from its last commit, or from when
/// what it wanted next was scheduled, to its next commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientStall {
    pub client: usize,
    /// When it began, in microseconds since clients began to work.
    pub start_us: u64,
    pub length_us: u64,
    /// Whether a commit ended it; else the run did, or the client's end.
    pub is_over: bool,
    /// Transactions that failed meanwhile, by class.
    pub failed: Vec<(Failure, u64)>,
    /// Those whose commit is unknown.
    pub unknown: u64,
}

/// Brings those of several threads into order, the longest first, and leaves the rest out.
pub fn order_client_stalls(stalls: &mut Vec<ClientStall>, limit: usize) {
    stalls.sort_by_key(|stall| (Reverse(stall.length_us), stall.start_us, stall.client));
    stalls.truncate(limit);
}
