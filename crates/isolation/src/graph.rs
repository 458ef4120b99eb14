//! Which transaction comes before which: a graph in flat vectors, its strongly connected components, and
//! shortest ways in it.
//!
//! Components: R. Tarjan, SIAM J. Comput. 1(2), 1972, without recursion.

use std::collections::VecDeque;
use std::ops::Range;

use crate::versions::NONE;

/// Kinds of edges, as bits of a mask.
pub(crate) mod kind {
    pub const WW: u8 = 1;
    pub const WR: u8 = 2;
    pub const RW: u8 = 4;
    pub const RWP: u8 = 8;
    pub const SESSION: u8 = 16;
    /// To, along and from the moments at which transactions ended.
    pub const TIME: u8 = 32;
    pub const COMMIT: u8 = 64;
    pub const ANTI: u8 = RW | RWP;
}

#[derive(Clone, Copy)]
pub(crate) struct Edge {
    pub from: u32,
    pub to: u32,
    pub key: u32,
    pub kind: u8,
}

/// Edges sorted by where they begin. Nodes from `transactions` on are moments.
pub(crate) struct Graph {
    pub transactions: u32,
    edges: Vec<Edge>,
    /// By node, where its edges begin; one more at the end.
    starts: Vec<u32>,
}

impl Graph {
    pub fn of(transactions: u32, nodes: u32, mut edges: Vec<Edge>) -> Self {
        edges.sort_unstable_by_key(|edge| (edge.from, edge.to, edge.kind, edge.key));
        edges.dedup_by_key(|edge| (edge.from, edge.to, edge.kind));
        let mut starts = Vec::with_capacity(nodes as usize + 1);
        let mut at = 0;
        for node in 0..=nodes {
            while edges.get(at).is_some_and(|edge: &Edge| edge.from < node) {
                at += 1;
            }
            starts.push(u32::try_from(at).unwrap_or(NONE));
        }
        Self {
            transactions,
            edges,
            starts,
        }
    }

    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    pub fn edges_of(&self, node: u32) -> &[Edge] {
        let span = self.span(node);
        &self.edges[span.start as usize..span.end as usize]
    }

    pub fn nodes(&self) -> u32 {
        u32::try_from(self.starts.len() - 1).unwrap_or(NONE)
    }

    fn span(&self, node: u32) -> Range<u32> {
        self.starts[node as usize]..self.starts[node as usize + 1]
    }
}

/// The part of a graph in which cycles are looked for.
///
/// With `apart`, no two anti-dependencies may follow each other: each transaction is two states, reached
/// by an anti-dependency (odd) or not (even), and none leads from an odd state to an odd one. A cycle of
/// states is then what snapshot isolation forbids.
#[derive(Clone, Copy)]
pub(crate) struct View<'g> {
    pub graph: &'g Graph,
    pub mask: u8,
    pub apart: bool,
}

impl<'g> View<'g> {
    pub fn states(self) -> usize {
        (self.graph.nodes() as usize) << u32::from(self.apart)
    }

    pub fn transaction(self, state: u32) -> u32 {
        state >> u32::from(self.apart)
    }

    /// The state in which a transaction is without an anti-dependency before it.
    pub fn state(self, transaction: u32) -> u32 {
        transaction << u32::from(self.apart)
    }

    /// Where an edge leads from this state.
    pub fn target(self, state: u32, edge: &Edge) -> Option<u32> {
        if edge.kind & self.mask == 0 {
            return None;
        }
        if !self.apart {
            return Some(edge.to);
        }
        let anti = u32::from(edge.kind & kind::ANTI != 0);
        (anti & state == 0).then_some(edge.to << 1 | anti)
    }

    fn edges(self, state: u32) -> Range<u32> {
        self.graph.span(self.transaction(state))
    }

    fn edge(self, at: u32) -> &'g Edge {
        &self.graph.edges[at as usize]
    }

    /// The component of each state that is in a cycle of at least two, from 0; [`NONE`] for others.
    pub fn components(self) -> Vec<u32> {
        let states = self.states();
        let mut component = vec![NONE; states];
        let mut index = vec![0u32; states];
        let mut low = vec![0u32; states];
        let mut stack: Vec<u32> = Vec::new();
        let mut path: Vec<(u32, Range<u32>)> = Vec::new();
        let (mut next_index, mut next_component) = (0, 0);
        // Indexes begin at 1; done states have the largest, so that they lower no other.
        const DONE: u32 = u32::MAX;
        for root in 0..u32::try_from(states).unwrap_or(NONE) {
            if index[root as usize] != 0 {
                continue;
            }
            let mut enter = Some(root);
            while enter.is_some() || !path.is_empty() {
                if let Some(state) = enter.take() {
                    next_index += 1;
                    index[state as usize] = next_index;
                    low[state as usize] = next_index;
                    stack.push(state);
                    path.push((state, self.edges(state)));
                }
                let Some((state, edges)) = path.last_mut() else {
                    break;
                };
                let state = *state;
                if let Some(at) = edges.next() {
                    let Some(to) = self.target(state, self.edge(at)) else {
                        continue;
                    };
                    match index[to as usize] {
                        0 => enter = Some(to),
                        DONE => {}
                        to_index => low[state as usize] = low[state as usize].min(to_index),
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    let parent = *parent as usize;
                    low[parent] = low[parent].min(low[state as usize]);
                }
                if low[state as usize] != index[state as usize] {
                    continue;
                }
                let single = stack.last() == Some(&state);
                while let Some(member) = stack.pop() {
                    index[member as usize] = DONE;
                    if !single {
                        component[member as usize] = next_component;
                    }
                    if member == state {
                        break;
                    }
                }
                next_component += u32::from(!single);
            }
        }
        component
    }
}

/// Looks for shortest ways, again and again, in the same memory.
pub(crate) struct Ways {
    /// By state: the search that reached it, and by which edge, from which state.
    reached: Vec<(u32, u32, u32)>,
    distance: Vec<u32>,
    search: u32,
    queue: VecDeque<u32>,
    pub visited: u64,
}

impl Ways {
    pub fn new(states: usize) -> Self {
        Self {
            reached: vec![(0, NONE, NONE); states],
            distance: vec![0; states],
            search: 0,
            queue: VecDeque::new(),
            visited: 0,
        }
    }

    /// The shortest way from a state to one that `is_end`, within states that `inside` allows, after at most
    /// `visits_max` states. Steps along moments have no length. The edges come in their order.
    pub fn find<'g>(
        &mut self,
        view: View<'g>,
        from: u32,
        visits_max: u64,
        inside: impl Fn(u32) -> bool,
        is_end: impl Fn(u32) -> bool,
    ) -> Option<(Vec<&'g Edge>, u32)> {
        self.search += 1;
        self.queue.clear();
        self.queue.push_back(from);
        self.reached[from as usize] = (self.search, NONE, NONE);
        self.distance[from as usize] = 0;
        let visits_end = self.visited.saturating_add(visits_max);
        while let Some(state) = self.queue.pop_front() {
            if state != from && is_end(state) {
                return Some((self.way(view, state), state));
            }
            self.visited += 1;
            if self.visited > visits_end {
                return None;
            }
            let along = view.transaction(state) >= view.graph.transactions;
            let distance = self.distance[state as usize] + u32::from(!along);
            for at in view.edges(state) {
                let Some(to) = view.target(state, view.edge(at)).filter(|&to| inside(to)) else {
                    continue;
                };
                let known = self.reached[to as usize].0 == self.search;
                if known && self.distance[to as usize] <= distance {
                    continue;
                }
                self.reached[to as usize] = (self.search, at, state);
                self.distance[to as usize] = distance;
                if along {
                    self.queue.push_front(to);
                } else {
                    self.queue.push_back(to);
                }
            }
        }
        None
    }

    fn way<'g>(&self, view: View<'g>, end: u32) -> Vec<&'g Edge> {
        let mut edges = Vec::new();
        let mut state = end;
        while let (_, at, before) = self.reached[state as usize]
            && at != NONE
        {
            edges.push(view.edge(at));
            state = before;
        }
        edges.reverse();
        edges
    }
}
