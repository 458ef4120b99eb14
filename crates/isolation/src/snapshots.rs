//! Snapshot isolation where the order of some appends is not recorded: is there an order of them that explains
//! everything? If one is found the level holds; if none is found that proves nothing.
//!
//! Snapshot isolation holds if and only if begins and commits of transactions can be put in one order: what a
//! transaction depends on commits before it begins, what it does not see (rw) commits after it begins, and of
//! two that write one key one commits before the other begins (A. Adya 1999, PL-SI; A. Cerone & A. Gotsman, JACM 2018).

use crate::dependencies::edge;
use crate::graph::{Edge, kind};
use crate::versions::{NONE, Versions};

/// Whether an order of the unread appends is found with which edges of the kinds in `mask` keep snapshot isolation.
/// `nodes`: transactions, then moments.
pub(crate) fn explained(versions: &Versions<'_>, edges: &[Edge], nodes: u32, mask: u8) -> bool {
    let transactions = versions.history.transactions();
    let count = u32::try_from(transactions.len()).unwrap_or(NONE);
    let edges = edges.iter().filter(|edge| edge.kind & mask != 0);
    let edges: Vec<Edge> = edges.copied().collect();
    let Some(places) = places(&edges, count, nodes) else {
        return false;
    };
    let by_commit = |by: u32| places[by as usize * 2 + 1];
    let by_begin = |by: u32| places[by as usize * 2];
    let by_end = |by: u32| transactions[by as usize].end_place;
    let tries: [&dyn Fn(u32) -> u32; 3] = [&by_commit, &by_begin, &by_end];
    tries.iter().any(|place| {
        let mut ordered = edges.clone();
        for (key, unread) in (0u32..).zip(&versions.unread) {
            let mut writers: Vec<u32> = unread.iter().map(|version| version.by).collect();
            writers.sort_by_key(|&by| (place(by), by));
            writers.dedup();
            let pairs = writers.windows(2);
            ordered.extend(pairs.map(|two| edge(two[0], two[1], key, kind::WW)));
        }
        self::places(&ordered, count, nodes).is_some()
    })
}

/// The place of each begin (even) and commit (odd) in an order of them; nothing if there is none. A moment has one
/// event, the even one.
fn places(edges: &[Edge], transactions: u32, nodes: u32) -> Option<Vec<u32>> {
    let commit = |node: u32| node * 2 + u32::from(node < transactions);
    let begin = |node: u32| node * 2;
    let steps = edges.iter().map(|edge| {
        if edge.kind & kind::ANTI == 0 {
            (commit(edge.from), begin(edge.to))
        } else {
            (begin(edge.from), commit(edge.to))
        }
    });
    let own = (0..transactions).map(|node| (begin(node), commit(node)));
    let mut steps: Vec<(u32, u32)> = steps.chain(own).collect();
    steps.sort_unstable();
    let mut waits = vec![0u32; nodes as usize * 2];
    for &(_, to) in &steps {
        waits[to as usize] += 1;
    }
    let mut order: Vec<u32> = (0..nodes * 2)
        .filter(|&event| waits[event as usize] == 0)
        .collect();
    let mut places = vec![0; nodes as usize * 2];
    let mut at = 0;
    while let Some(&event) = order.get(at) {
        places[event as usize] = u32::try_from(at).unwrap_or(NONE);
        at += 1;
        let first = steps.partition_point(|&(from, _)| from < event);
        let next = steps[first..].iter();
        for &(_, to) in next.take_while(|&&(from, _)| from == event) {
            waits[to as usize] -= 1;
            if waits[to as usize] == 0 {
                order.push(to);
            }
        }
    }
    (order.len() == nodes as usize * 2).then_some(places)
}
