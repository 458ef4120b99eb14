//! Read committed, read atomic and causal without a known version order: is there an order of commits that
//! explains what was read?
//!
//! Definitions: R. Biswas & C. Enea, OOPSLA 2019 (arXiv 1908.04509). If t3 reads x from t1, and t3 can see
//! t2, which also writes x, then t2 must commit before t1. What t3 sees: read committed, what it has read from
//! earlier in the transaction; read atomic, what it reads from; causal, that and its session's past, and what these
//! saw too. The level holds if and only if this order with reads (causal: and sessions) has no cycle.
//!
//! Biswas & Enea have the order of sessions in all three. Here read committed and read atomic are without it: Adya's
//! stronger levels imply them so, and do not imply any order of sessions. What sessions add is found as causal.
//!
//! Algorithms: L. Møldrup & A. Pavlogiannis, AWDIT, PLDI 2025 (arXiv 2504.06975): only the smallest
//! order is inferred, by the smaller of two sets of keys (read committed and read atomic), and by
//! the last writer of each session in the causal past (causal).

use crate::Progress;
use crate::cycles::link;
use crate::dependencies::{count, edge};
use crate::finds::{Finds, Link};
use crate::graph::{Edge, Graph, View, Ways, kind};
use crate::hash::{FastMap, FastSet};
use crate::history::Status;
use crate::level::{Anomaly, Level};
use crate::rows;
use crate::story;
use crate::versions::{NONE, Seen, Versions};

/// The causal past of each transaction takes 4 bytes for each session: no more than this many bytes.
const PAST_BYTES_MAX: u64 = 1 << 30;
/// Up to this many reads are gone through without an index.
const FEW: usize = 8;
const CYCLES_MAX: usize = 1_000;

pub(crate) struct Weak<'a, 'h> {
    versions: &'a Versions<'h>,
    seen: &'a [Seen],
    /// By transaction, where its reads begin in `seen`; one more at the end.
    reads: Vec<u32>,
    /// The keys that a transaction wrote, sorted; by transaction, where they begin.
    written: Vec<u32>,
    written_starts: Vec<u32>,
    /// Reads, and the version order of keys whose order is known.
    base: Vec<Edge>,
    sessions: Vec<Edge>,
}

impl<'a, 'h> Weak<'a, 'h> {
    pub fn new(versions: &'a Versions<'h>, seen: &'a [Seen], data: &[Edge]) -> Self {
        let history = versions.history;
        let mut reads = Vec::with_capacity(history.transactions().len() + 1);
        let mut written = Vec::new();
        let mut written_starts = Vec::with_capacity(history.transactions().len() + 1);
        let mut at = 0;
        for by in 0..count(history) {
            while seen.get(at).is_some_and(|read| read.by < by) {
                at += 1;
            }
            reads.push(u32::try_from(at).unwrap_or(NONE));
            let start = written.len();
            written_starts.push(u32::try_from(start).unwrap_or(NONE));
            if versions.effective[by as usize] {
                let operations = history.operations(by).iter();
                let keys = operations.filter(|operation| operation.written().is_some());
                written.extend(keys.map(|operation| operation.key()));
                written[start..].sort_unstable();
            }
        }
        reads.push(u32::try_from(seen.len()).unwrap_or(NONE));
        written_starts.push(u32::try_from(written.len()).unwrap_or(NONE));
        let ordered = data
            .iter()
            .filter(|edge| edge.kind & (kind::WW | kind::WR) != 0);
        let base: Vec<Edge> = ordered.copied().collect();
        let mut sessions = Vec::new();
        crate::dependencies::of_sessions(versions, &mut sessions);
        Self {
            versions,
            seen,
            reads,
            written,
            written_starts,
            base,
            sessions,
        }
    }

    /// Checks a level. An error says why that is not possible.
    pub fn check(
        &self,
        level: Level,
        finds: &mut Finds,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), String> {
        progress(Progress::new(level.name(), 0, 1));
        let mut edges = self.base.clone();
        match level {
            Level::ReadCommitted => self.each(|reader| self.read_committed(reader, &mut edges)),
            Level::ReadAtomic => self.each(|reader| self.read_atomic(reader, &mut edges)),
            _ => {
                edges.extend_from_slice(&self.sessions);
                self.causal(&mut edges)?;
            }
        }
        self.find_cycles(level, edges, finds);
        Ok(())
    }

    fn each(&self, mut of: impl FnMut(u32)) {
        for by in 0..count(self.versions.history) {
            if self.reads[by as usize] < self.reads[by as usize + 1] {
                of(by);
            }
        }
    }

    fn reads(&self, by: u32) -> &[Seen] {
        let span = self.reads[by as usize] as usize..self.reads[by as usize + 1] as usize;
        &self.seen[span]
    }

    fn written(&self, by: u32) -> &[u32] {
        let span = self.written_starts[by as usize] as usize
            ..self.written_starts[by as usize + 1] as usize;
        &self.written[span]
    }

    /// Who wrote what was read, or [`NONE`]: nothing, or a writer that did not commit.
    fn source(&self, read: &Seen) -> u32 {
        read.value.map_or(NONE, |value| {
            self.versions.effective_writer(read.key, value)
        })
    }

    /// `reader` saw `visible`, which wrote the key of `read`: it must come before what was read.
    fn infer(&self, visible: u32, read: &Seen, edges: &mut Vec<Edge>) {
        let source = self.source(read);
        if source == visible || visible == read.by {
            return;
        }
        let place = self.place(visible, read.key);
        if read.len != NONE && place != NONE {
            // Where versions are ordered the reader misses a later one, or nothing is wrong.
            if place >= read.len {
                edges.push(edge(read.by, visible, read.key, kind::RW));
            }
        } else if source != NONE {
            edges.push(edge(visible, source, read.key, kind::COMMIT));
        } else if read.value.is_none() {
            // Nothing was written before all transactions: what is visible would come even before that.
            edges.push(edge(read.by, visible, read.key, kind::RW));
        }
    }

    /// The place of a transaction's last write of a key in the order of its versions, or [`NONE`].
    fn place(&self, by: u32, key: u32) -> u32 {
        let operations = self.versions.history.operations(by).iter().rev();
        let mut written = operations.filter(|operation| operation.key() == key);
        let value = written.find_map(|operation| operation.written());
        value
            .and_then(|value| self.versions.write(key, value))
            .map_or(NONE, |written| written.place)
    }

    /// Whose writes a transaction saw, each once, with the operation that first showed it; in order.
    fn sights(&self, reader: u32) -> Vec<(u32, u32)> {
        let reads = self.reads(reader).iter();
        let mut sights: Vec<(u32, u32)> = reads.map(|read| (read.at, self.source(read))).collect();
        let items = sights.len();
        for read in rows::reads(self.versions.history, reader) {
            sights.extend(rows::writers(self.versions, read).map(|writer| (read.at, writer)));
        }
        if sights.len() > items {
            sights.sort_unstable();
        }
        let mut met = FastSet::default();
        sights.retain(|&(_, of)| of != NONE && of != reader && met.insert(of));
        sights
    }

    fn read_committed(&self, reader: u32, edges: &mut Vec<Edge>) {
        let reads = self.reads(reader);
        let mut of_key: FastMap<u32, Vec<usize>> = FastMap::default();
        if reads.len() > FEW {
            for (at, read) in reads.iter().enumerate() {
                of_key.entry(read.key).or_default().push(at);
            }
        }
        for (at, visible) in self.sights(reader) {
            let first = reads.partition_point(|read| read.at <= at);
            let later = &reads[first..];
            let written = self.written(visible);
            if reads.len() > FEW && written.len() < later.len() {
                let of_written = written.iter().filter_map(|key| of_key.get(key)).flatten();
                for &later in of_written.filter(|&&later| later >= first) {
                    self.infer(visible, &reads[later], edges);
                }
            } else {
                for read in later {
                    if written.binary_search(&read.key).is_ok() {
                        self.infer(visible, read, edges);
                    }
                }
            }
        }
    }

    fn read_atomic(&self, by: u32, edges: &mut Vec<Edge>) {
        let reads = self.reads(by);
        let mut of_key: FastMap<u32, Vec<&Seen>> = FastMap::default();
        for read in reads {
            of_key.entry(read.key).or_default().push(read);
        }
        for (_, visible) in self.sights(by) {
            let written = self.written(visible);
            if written.len() < of_key.len() {
                for read in written.iter().filter_map(|key| of_key.get(key)).flatten() {
                    self.infer(visible, read, edges);
                }
            } else {
                for (key, reads) in &of_key {
                    if written.binary_search(key).is_ok() {
                        for read in reads {
                            self.infer(visible, read, edges);
                        }
                    }
                }
            }
        }
    }

    fn causal(&self, edges: &mut Vec<Edge>) -> Result<(), String> {
        let history = self.versions.history;
        // Sessions by number, and the place of each transaction in its own, from 1.
        let mut numbers: FastMap<u32, u32> = FastMap::default();
        let mut lengths: Vec<u32> = Vec::new();
        let mut place = vec![(0u32, 0u32); history.transactions().len()];
        for (by, transaction) in history.transactions().iter().enumerate() {
            if !self.versions.effective[by] {
                continue;
            }
            // An unknown transaction may take effect after its session's next: it is one of its own.
            let session = if transaction.status == Status::Committed {
                *numbers.entry(transaction.client).or_insert_with(|| {
                    lengths.push(0);
                    u32::try_from(lengths.len() - 1).unwrap_or(NONE)
                })
            } else {
                lengths.push(0);
                u32::try_from(lengths.len() - 1).unwrap_or(NONE)
            };
            lengths[session as usize] += 1;
            place[by] = (session, lengths[session as usize]);
        }
        let sessions = lengths.len();
        let bytes = (sessions as u64) * 4 * (history.transactions().len() as u64);
        if bytes > PAST_BYTES_MAX {
            return Err(format!(
                "the causal past of {} transactions in {sessions} sessions takes {} MiB, more than {}: \
                 check a shorter time or fewer clients",
                history.transactions().len(),
                bytes >> 20,
                PAST_BYTES_MAX >> 20
            ));
        }
        // Who wrote a key in a session, in the session's order.
        let mut writers: FastMap<(u32, u32), Vec<(u32, u32)>> = FastMap::default();
        let mut writing_sessions: FastMap<u32, Vec<u32>> = FastMap::default();
        for by in 0..count(history) {
            let (session, at) = place[by as usize];
            if at == 0 {
                continue;
            }
            for &key in self.written(by) {
                let of_key = writers.entry((session, key)).or_insert_with(|| {
                    writing_sessions.entry(key).or_default().push(session);
                    Vec::new()
                });
                if of_key.last() != Some(&(at, by)) {
                    of_key.push((at, by));
                }
            }
        }
        let graph = self.happens_before();
        // With a cycle there is no past; the search that follows finds it.
        let Some(order) = topological(&graph) else {
            return Ok(());
        };
        let mut past = vec![0u32; sessions * history.transactions().len()];
        for by in order {
            let (session, at) = place[by as usize];
            if at == 0 {
                continue;
            }
            let own = by as usize * sessions..(by as usize + 1) * sessions;
            for read in self.reads(by) {
                for &session in writing_sessions.get(&read.key).into_iter().flatten() {
                    let seen_to = past[own.start + session as usize];
                    let of_key = &writers[&(session, read.key)];
                    let before = of_key.partition_point(|&(at, _)| at <= seen_to);
                    if let Some(&(_, visible)) = before.checked_sub(1).map(|last| &of_key[last]) {
                        self.infer(visible, read, edges);
                    }
                }
            }
            // Rows that it saw absent have no writer in its past.
            for read in rows::reads(history, by) {
                for row in rows::missed(self.versions, read) {
                    let (session, at) = place[row.by as usize];
                    if at <= past[own.start + session as usize] {
                        edges.push(edge(by, row.by, read.key, kind::RWP));
                    }
                }
            }
            let own_session = &mut past[own.start + session as usize];
            *own_session = (*own_session).max(at);
            for next in graph.edges_of(by) {
                let to = next.to as usize * sessions;
                for session in 0..sessions {
                    past[to + session] = past[to + session].max(past[own.start + session]);
                }
            }
        }
        Ok(())
    }

    fn happens_before(&self) -> Graph {
        let causes = self.base.iter().chain(&self.sessions);
        let causes = causes.filter(|edge| edge.kind & (kind::WR | kind::SESSION) != 0);
        let transactions = count(self.versions.history);
        Graph::of(transactions, transactions, causes.copied().collect())
    }

    /// One cycle of each component, named by the least that it takes: a component in which data alone have a
    /// cycle is G0 or G1c, which break the level themselves; one with a cycle without the order of sessions is not
    /// one of sessions. So the names do not depend on how transactions are numbered.
    fn find_cycles(&self, level: Level, edges: Vec<Edge>, finds: &mut Finds) {
        let transactions = count(self.versions.history);
        let graph = Graph::of(transactions, transactions, edges);
        let view = |mask| View {
            graph: &graph,
            mask,
            apart: false,
        };
        let mut ways = Ways::new(view(u8::MAX).states());
        let mut explained: Vec<bool> = view(kind::WW | kind::WR)
            .components()
            .iter()
            .map(|&within| within != NONE)
            .collect();
        for (mask, anomaly) in [
            (!kind::SESSION, Anomaly::CommitOrder(level)),
            (u8::MAX, Anomaly::SessionOrder),
        ] {
            let view = view(mask);
            let component = view.components();
            let mut done: FastSet<u32> = FastSet::default();
            for (&within, explained) in component.iter().zip(&mut explained) {
                if within != NONE && *explained {
                    done.insert(within);
                }
                *explained |= within != NONE;
            }
            let known = done.len();
            for first in graph.edges().iter().filter(|edge| edge.kind & mask != 0) {
                let within = component[first.from as usize];
                let is_in = within != NONE && component[first.to as usize] == within;
                if !is_in || !done.insert(within) || done.len() - known > CYCLES_MAX {
                    continue;
                }
                let inside = |node: u32| component[node as usize] == within;
                if let Some((way, _)) =
                    ways.find(view, first.to, u64::MAX, inside, |node| node == first.from)
                {
                    let links: Vec<Link> = std::iter::once(first).chain(way).map(link).collect();
                    finds.add(anomaly, links.len(), || {
                        story::cycle(self.versions, links.clone())
                    });
                }
            }
        }
    }
}

/// An order in which each edge leads to a later node; nothing if there is a cycle.
fn topological(graph: &Graph) -> Option<Vec<u32>> {
    let mut before = vec![0u32; graph.transactions as usize];
    for edge in graph.edges() {
        before[edge.to as usize] += 1;
    }
    let mut order: Vec<u32> = (0..graph.transactions)
        .filter(|&node| before[node as usize] == 0)
        .collect();
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        at += 1;
        for edge in graph.edges_of(node) {
            before[edge.to as usize] -= 1;
            if before[edge.to as usize] == 0 {
                order.push(edge.to);
            }
        }
    }
    (order.len() == graph.transactions as usize).then_some(order)
}
