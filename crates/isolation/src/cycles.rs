//! Cycles of dependencies: whether there are any, which kind, and the smallest.
//!
//! Whether: strongly connected components of the edges that a level forbids in a circle, in linear time
//! (snapshot isolation: with no two anti-dependencies next to each other; A. Cerone & A. Gotsman, JACM 2018).
//! Which: the shortest way back from each edge of a component, as in Elle (VLDB 2020). Each component gives at least one;
//! the search for more of them ends after a fixed number of steps.

use std::hash::{BuildHasher, BuildHasherDefault};

use crate::Progress;
use crate::finds::{Finds, Link, LinkKind};
use crate::graph::{Edge, Graph, View, Ways, kind};
use crate::hash::{Fast, FastSet};
use crate::history::Status;
use crate::level::{Anomaly, Closing, Cycle, CycleClass};
use crate::story;
use crate::versions::Versions;

/// States that all searches beyond a component's first may visit.
const VISITS_MAX: u64 = 40_000_000;
/// States that one of them may visit.
const VISITS_EACH_MAX: u64 = 4_000;
/// Cycles closed by sessions or by time are one finding: no more of a component are looked at.
const CLOSED_SEARCHES_MAX: u32 = 200;

const DATA: u8 = kind::WW | kind::WR | kind::ANTI;

pub(crate) struct Search<'a, 'h> {
    pub versions: &'a Versions<'h>,
    pub graph: &'a Graph,
    pub finds: &'a mut Finds,
    pub progress: &'a mut dyn FnMut(Progress),
    /// Whether real time is known.
    pub timed: bool,
    known: FastSet<u64>,
    budget: u64,
}

impl<'a, 'h> Search<'a, 'h> {
    pub fn new(
        versions: &'a Versions<'h>,
        graph: &'a Graph,
        finds: &'a mut Finds,
        progress: &'a mut dyn FnMut(Progress),
        timed: bool,
    ) -> Self {
        Self {
            versions,
            graph,
            finds,
            progress,
            timed,
            known: FastSet::default(),
            budget: VISITS_MAX,
        }
    }

    /// Cycles of writes, and of writes and reads: what read committed forbids.
    pub fn read_committed(&mut self) {
        self.pass("write cycles", kind::WW, false, kind::WW);
        self.pass("circular reads", kind::WW | kind::WR, false, kind::WR);
    }

    pub fn all(&mut self) {
        self.read_committed();
        self.against_order();
        let items = kind::WW | kind::WR | kind::RW;
        self.pass("snapshots", items, true, kind::RW);
        self.pass("serial order", items, false, kind::RW);
        if self.graph.edges().iter().any(|edge| edge.kind == kind::RWP) {
            self.pass("snapshots of predicates", DATA, true, kind::RWP);
            self.pass("serial order of predicates", DATA, false, kind::RWP);
        }
        self.closed("order of sessions", kind::SESSION, Closing::Session);
        if self.timed {
            self.closed("order of time", kind::TIME, Closing::RealTime);
        }
    }

    /// Every dependency on a transaction that had ended before: exactly counted.
    fn against_order(&mut self) {
        let graph = self.graph;
        let transactions = self.versions.history.transactions();
        for edge in graph.edges().iter().filter(|edge| edge.kind & DATA != 0) {
            let (earlier, later) = (edge.to, edge.from);
            let of = |number: u32| &transactions[number as usize];
            let same = of(earlier).client == of(later).client
                && of(earlier).status == Status::Committed
                && earlier < later;
            let kind = if same {
                LinkKind::Session
            } else if self.timed && self.versions.history.ended_before(earlier, later) {
                LinkKind::RealTime
            } else {
                continue;
            };
            let back = Link {
                from: earlier,
                to: later,
                kind,
                key: None,
            };
            self.record(vec![back, link(edge)]);
        }
    }

    /// Cycles in the view through edges of the kind `seeds`.
    fn pass(&mut self, phase: &'static str, mask: u8, apart: bool, seeds: u8) {
        let graph = self.graph;
        let view = View { graph, mask, apart };
        let plain = View {
            apart: false,
            mask: mask & !kind::ANTI,
            graph,
        };
        let total = graph.edges().len() as u64;
        (self.progress)(Progress::new(phase, 0, total));
        let component = view.components();
        if component
            .iter()
            .all(|&component| component == crate::versions::NONE)
        {
            return;
        }
        let mut ways = Ways::new(view.states());
        let mut searched = FastSet::default();
        for (at, edge) in graph.edges().iter().enumerate() {
            if at % 65_536 == 0 {
                (self.progress)(Progress::new(phase, at as u64, total));
            }
            if edge.kind & seeds == 0 {
                continue;
            }
            let from = view.state(edge.from);
            let Some(to) = view.target(from, edge) else {
                continue;
            };
            let within = component[from as usize];
            if within == crate::versions::NONE || component[to as usize] != within {
                continue;
            }
            let first = searched.insert(within);
            if !first && self.budget == 0 {
                self.finds.at_least();
                return;
            }
            let before = ways.visited;
            let each = if first { u64::MAX } else { VISITS_EACH_MAX };
            let inside = |state: u32| component[state as usize] == within;
            // With one anti-dependency only, if there is such a way nearby.
            let mut way = None;
            if apart {
                let near = |node: u32| node < graph.transactions && inside(view.state(node));
                way = ways
                    .find(plain, edge.to, VISITS_EACH_MAX, near, |node| {
                        node == edge.from
                    })
                    .map(|(way, _)| way);
            }
            let way = way.or_else(|| {
                ways.find(view, to, each, inside, |state| state == from)
                    .map(|(way, _)| way)
            });
            self.budget = self.budget.saturating_sub(ways.visited - before);
            if let Some(way) = way {
                self.record(links(graph, &way, edge));
            }
        }
    }

    /// Cycles that sessions or time close, if nothing weaker is known to break the levels that forbid them.
    fn closed(&mut self, phase: &'static str, bit: u8, closing: Closing) {
        for apart in [true, false] {
            let broken = self.finds.has(|anomaly| {
                matches!(anomaly, Anomaly::Cycle(cycle) if cycle.closing <= closing
                    && (!apart || cycle.class <= CycleClass::GNonadjacent))
            });
            if broken {
                continue;
            }
            let graph = self.graph;
            let mask = DATA | bit;
            let view = View { graph, mask, apart };
            (self.progress)(Progress::new(phase, u64::from(!apart), 2));
            let component = view.components();
            let mut ways = None;
            let mut searches: crate::hash::FastMap<u32, u32> = crate::hash::FastMap::default();
            let transactions = graph.transactions;
            let seeds = graph.edges().iter();
            for edge in seeds.filter(|edge| edge.kind == bit && edge.from < transactions) {
                let starts = [
                    view.state(edge.from),
                    view.state(edge.from) | u32::from(apart),
                ];
                let to = view.state(edge.to);
                let within = component[to as usize];
                let from_inside = starts
                    .iter()
                    .any(|&state| component[state as usize] == within);
                if within == crate::versions::NONE || !from_inside {
                    continue;
                }
                let searched = searches.entry(within).or_default();
                *searched += 1;
                if *searched > CLOSED_SEARCHES_MAX {
                    continue;
                }
                let each = if *searched == 1 {
                    u64::MAX
                } else {
                    VISITS_EACH_MAX
                };
                let way = ways.get_or_insert_with(|| Ways::new(view.states())).find(
                    view,
                    to,
                    each,
                    |state| component[state as usize] == within,
                    |state| starts.contains(&state),
                );
                if let Some((way, _)) = way {
                    self.record(links(graph, &way, edge));
                }
            }
        }
    }

    fn record(&mut self, links: Vec<Link>) {
        let links = simple(links);
        let cycle = classify(&links);
        if !self.known.insert(fingerprint(&links)) {
            return;
        }
        let versions = self.versions;
        let turned = from_its_first(links);
        // Of rows it is G-nonadjacent alone: repeatable read, which is of items, does not forbid it.
        if is_long_fork(cycle, &turned) && !cycle.predicate {
            self.finds.add(Anomaly::LongFork, turned.len(), || {
                story::cycle(versions, turned.clone())
            });
        }
        self.finds.add(Anomaly::Cycle(cycle), turned.len(), || {
            story::cycle(versions, turned.clone())
        });
    }
}

/// The links of a way back and of the edge that it returns from. Moments are left out.
fn links(graph: &Graph, way: &[&Edge], edge: &Edge) -> Vec<Link> {
    let mut links = Vec::with_capacity(way.len() + 1);
    let mut since = None;
    for step in std::iter::once(edge).chain(way.iter().copied()) {
        let is_moment = |node: u32| node >= graph.transactions;
        let from = if is_moment(step.from) {
            since.unwrap_or(step.from)
        } else {
            step.from
        };
        if is_moment(step.to) {
            since = Some(from);
            continue;
        }
        links.push(Link { from, ..link(step) });
    }
    links
}

pub(crate) fn link(edge: &Edge) -> Link {
    let kind = match edge.kind {
        kind::WW => LinkKind::WriteWrite,
        kind::WR => LinkKind::WriteRead,
        kind::RW => LinkKind::ReadWrite,
        kind::RWP => LinkKind::ReadWritePredicate,
        kind::SESSION => LinkKind::Session,
        kind::TIME => LinkKind::RealTime,
        _ => LinkKind::CommitOrder,
    };
    Link {
        from: edge.from,
        to: edge.to,
        kind,
        key: (edge.key != crate::versions::NONE).then_some(edge.key),
    }
}

const fn is_anti(link: &Link) -> bool {
    matches!(
        link.kind,
        LinkKind::ReadWrite | LinkKind::ReadWritePredicate
    )
}

fn has_adjacent_antis(links: &[Link]) -> bool {
    let next = links.iter().cycle().skip(1);
    links.len() > 1
        && links
            .iter()
            .zip(next)
            .any(|(link, next)| is_anti(link) && is_anti(next))
}

/// A way of states can pass a transaction twice. Then one of the two circles in it is left: that which is
/// still of the kind that was looked for.
fn simple(mut links: Vec<Link>) -> Vec<Link> {
    'again: loop {
        for start in 0..links.len() {
            let again = (start + 1..links.len()).find(|&at| links[at].from == links[start].from);
            let Some(end) = again else {
                continue;
            };
            let inner: Vec<Link> = links.drain(start..end).collect();
            let better = |links: &[Link]| (has_adjacent_antis(links), !links.iter().any(is_anti));
            if better(&inner) < better(&links) {
                links = inner;
            }
            continue 'again;
        }
        return links;
    }
}

fn classify(links: &[Link]) -> Cycle {
    let antis = links.iter().filter(|link| is_anti(link)).count();
    let has = |kind| links.iter().any(|link| link.kind == kind);
    let class = match antis {
        0 if has(LinkKind::WriteRead) => CycleClass::G1c,
        0 => CycleClass::G0,
        1 => CycleClass::GSingle,
        _ if has_adjacent_antis(links) => CycleClass::G2,
        _ => CycleClass::GNonadjacent,
    };
    let closing = if has(LinkKind::RealTime) {
        Closing::RealTime
    } else if has(LinkKind::Session) {
        Closing::Session
    } else {
        Closing::Data
    };
    Cycle {
        class,
        closing,
        predicate: has(LinkKind::ReadWritePredicate),
    }
}

/// Two writers and two readers: each reader saw one write and missed the other.
fn is_long_fork(cycle: Cycle, links: &[Link]) -> bool {
    cycle.class == CycleClass::GNonadjacent
        && cycle.closing == Closing::Data
        && links.len() == 4
        && links
            .iter()
            .all(|link| is_anti(link) || link.kind == LinkKind::WriteRead)
}

/// The same circle from its first transaction.
fn from_its_first(mut links: Vec<Link>) -> Vec<Link> {
    let first = (0..links.len())
        .min_by_key(|&at| links[at].from)
        .unwrap_or(0);
    links.rotate_left(first);
    links
}

/// The same for all ways to walk through a circle.
fn fingerprint(links: &[Link]) -> u64 {
    let turned = from_its_first(links.to_vec());
    let steps: Vec<(u32, LinkKind)> = turned.iter().map(|link| (link.from, link.kind)).collect();
    BuildHasherDefault::<Fast>::default().hash_one(steps)
}
