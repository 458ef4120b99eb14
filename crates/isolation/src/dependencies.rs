//! The dependencies between transactions, as edges: ww, wr and rw (Adya 1999), the order of sessions,
//! and real time.

use crate::graph::{Edge, kind};
use crate::hash::FastMap;
use crate::history::{History, Status};
use crate::rows;
use crate::versions::{NONE, Seen, Versions};

/// Each read that ends a list's known order is compared with every append that no read shows, and each comparison is an
/// edge: where there were more, none is made.
const UNREAD_COMPARISONS_MAX: u64 = 5_000_000;

/// Edges of data, and whether reads of lists that have many appends that no read shows were too many: these have none.
pub(crate) fn of_data(versions: &Versions<'_>, seen: &[Seen]) -> (Vec<Edge>, bool) {
    let mut edges = Vec::with_capacity(seen.len() * 2);
    for (key, order) in (0u32..).zip(&versions.order) {
        let mut last = NONE;
        for version in order {
            let by = versions.effective_or_none(version.by);
            if by == NONE {
                continue;
            }
            if last != NONE && last != by {
                edges.push(edge(last, by, key, kind::WW));
            }
            last = by;
        }
        for unread in &versions.unread[key as usize] {
            if last != NONE && last != unread.by {
                edges.push(edge(last, unread.by, key, kind::WW));
            }
        }
    }
    let mut comparisons = 0;
    for read in seen {
        let writer = read
            .value
            .map_or(NONE, |value| versions.effective_writer(read.key, value));
        if writer != NONE && writer != read.by {
            edges.push(edge(writer, read.by, read.key, kind::WR));
        }
        let next = overwriter(versions, read);
        if next != NONE && next != read.by {
            edges.push(edge(read.by, next, read.key, kind::RW));
        }
        let unread = &versions.unread[read.key as usize];
        if next != NONE || read.len == NONE {
            continue;
        }
        comparisons += unread.len() as u64;
        if comparisons <= UNREAD_COMPARISONS_MAX {
            let others = unread.iter().filter(|version| version.by != read.by);
            edges.extend(others.map(|version| edge(read.by, version.by, read.key, kind::RW)));
        }
    }
    of_rows(versions, &mut edges);
    (edges, comparisons > UNREAD_COMPARISONS_MAX)
}

/// Who installed the version after the one that was read, or [`NONE`].
fn overwriter(versions: &Versions<'_>, read: &Seen) -> u32 {
    let later = versions.order[read.key as usize].get(read.len as usize..);
    later
        .unwrap_or_default()
        .iter()
        .map(|version| versions.effective_or_none(version.by))
        .find(|&by| by != NONE)
        .unwrap_or(NONE)
}

/// A row that a read by a predicate found is a dependency, and one that it saw absent an rw.
fn of_rows(versions: &Versions<'_>, edges: &mut Vec<Edge>) {
    for by in 0..count(versions.history) {
        for read in rows::reads(versions.history, by) {
            for (row, found) in rows::of_others(versions, read) {
                edges.push(if found {
                    edge(row.by, by, read.key, kind::WR)
                } else {
                    edge(by, row.by, read.key, kind::RWP)
                });
            }
        }
    }
}

/// Each client's transactions, one after the other. An unknown one may take effect after the next.
pub(crate) fn of_sessions(versions: &Versions<'_>, edges: &mut Vec<Edge>) {
    let mut last: FastMap<u32, u32> = FastMap::default();
    for (number, transaction) in (0..).zip(versions.history.transactions()) {
        if !versions.effective[number as usize] {
            continue;
        }
        if let Some(&before) = last.get(&transaction.client) {
            edges.push(edge(before, number, NONE, kind::SESSION));
        }
        if transaction.status == Status::Committed {
            last.insert(transaction.client, number);
        }
    }
}

/// Real time, by moments instead of pairs: a transaction leads to the moment of its end, a moment to the
/// next one, and the last moment before a transaction's begin to the transaction. Returns the number of
/// moments; they are numbered after the transactions.
pub(crate) fn of_time(versions: &Versions<'_>, edges: &mut Vec<Edge>) -> u32 {
    let history = versions.history;
    let transactions = count(history);
    let mut events: Vec<(u32, bool, u32)> = Vec::new();
    for (number, transaction) in (0..).zip(history.transactions()) {
        if versions.effective[number as usize] {
            events.push((transaction.begin_place, false, number));
            if transaction.status == Status::Committed {
                events.push((transaction.end_place, true, number));
            }
        }
    }
    events.sort_unstable();
    let mut moments = 0;
    for (_, is_end, number) in events {
        let moment = transactions + moments;
        if is_end {
            edges.push(edge(number, moment, NONE, kind::TIME));
            if moments > 0 {
                edges.push(edge(moment - 1, moment, NONE, kind::TIME));
            }
            moments += 1;
        } else if moments > 0 {
            edges.push(edge(moment - 1, number, NONE, kind::TIME));
        }
    }
    moments
}

pub(crate) fn count(history: &History) -> u32 {
    u32::try_from(history.transactions().len()).unwrap_or(NONE)
}

pub(crate) const fn edge(from: u32, to: u32, key: u32, kind: u8) -> Edge {
    Edge {
        from,
        to,
        key,
        kind,
    }
}
