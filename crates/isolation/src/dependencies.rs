//! The dependencies between transactions, as edges: ww, wr and rw (Adya 1999), the order of sessions,
//! and real time.

use crate::graph::{Edge, kind};
use crate::hash::FastMap;
use crate::history::{History, Operation, Status};
use crate::versions::{NONE, Seen, Versions};

/// Reads by predicates are compared with every row of their group, and each comparison is an edge: where
/// there were more, none is made.
const ROW_COMPARISONS_MAX: u64 = 20_000_000;

/// Edges of data. The flag says that reads by predicates were too many: they have none.
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
    }
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
    }
    let too_many = of_rows(versions, &mut edges);
    (edges, too_many)
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

/// Whether they were too many.
fn of_rows(versions: &Versions<'_>, edges: &mut Vec<Edge>) -> bool {
    let history = versions.history;
    let committed = (0u32..).zip(history.transactions());
    let committed = committed.filter(|(_, transaction)| transaction.status == Status::Committed);
    let reads = committed.flat_map(|(by, _)| {
        let operations = history.operations(by).iter();
        operations.filter_map(move |&operation| match operation {
            Operation::ReadRows { key, start, len } => Some((by, key, history.rows(start, len))),
            _ => None,
        })
    });
    let rows_of = |key: u32| &versions.rows[key as usize];
    let comparisons = reads.clone().map(|(_, key, _)| rows_of(key).len() as u64);
    if comparisons.sum::<u64>() > ROW_COMPARISONS_MAX {
        return true;
    }
    for (by, key, found) in reads {
        for row in rows_of(key).iter().filter(|row| row.by != by) {
            if found.binary_search(&row.value).is_ok() {
                edges.push(edge(row.by, by, key, kind::WR));
            } else {
                edges.push(edge(by, row.by, key, kind::RWP));
            }
        }
    }
    false
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
