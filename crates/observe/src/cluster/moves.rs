//! What happens to a cluster while a trial runs: nodes that go down, come up and drain, and leaders of
//! the workload's tables that move. Looked at every few seconds over SQL, on a session of its own.
//!
//! An event is as late as the look that found it, and a leader that moves away and back between two looks is
//! not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use pgdyno_session::{Error, Session};

use super::Joining;
use crate::{Instrument, Readings, Scene};
use pgdyno_database::dialect::Dialect;
use pgdyno_database::discover;
use pgdyno_database::open::Target;
use pgdyno_database::placement::{Part, Reader};
use pgdyno_model::Fact;
use pgdyno_model::document::Node;
use pgdyno_model::observed::Gap;
use pgdyno_spec::Discover;

pub const NAME: &str = "cluster.nodes";

/// How far apart looks are: the parts of a table are dear to list.
const INTERVAL: Duration = Duration::from_secs(5);
/// How long connecting to an endpoint may take, and an answer.
const LIMIT: Duration = Duration::from_secs(2);
/// A look at leaders that took so long is followed by a pause of so many times that.
const PAUSE_TIMES: u32 = 20;
/// Moves between so many pairs of nodes are reported one by one, for each look.
const MOVES_MAX: usize = 16;

pub struct Moves {
    target: Target,
    dialect: &'static Dialect,
    reader: Option<Reader>,
    tables: Vec<String>,
    /// Why leaders are not watched.
    without_leaders: Option<String>,
    joining: Option<Joining>,
    session: Option<Session>,
    /// The endpoint that is asked; the next one when it does not answer.
    at: usize,
    last: Last,
    /// Leaders are not looked at before.
    next_leaders: Option<Instant>,
}

/// As they were at the last look.
#[derive(Debug, Default)]
struct Last {
    nodes: Option<Vec<Node>>,
    /// All that were ever listed, by number or address.
    seen: BTreeSet<String>,
    leaders: BTreeMap<(String, String), String>,
}

/// One, where the target is a cluster that tells its nodes, and has or may have several.
pub fn instrument(scene: &Scene<'_>) -> Option<Box<dyn Instrument>> {
    let dialect = scene.product.dialect;
    let reader = Reader::new(dialect)?;
    let is_one = { scene.facts.nodes.known() }.is_some_and(|nodes| nodes.len() == 1);
    if is_one && scene.joining.is_none() {
        return None;
    }
    let (tables, without_leaders) = match &scene.facts.placement {
        Fact::Known(placement) => (placement.tables.keys().cloned().collect(), None),
        Fact::Unknown(why) => (Vec::new(), Some(why.clone())),
    };
    Some(Box::new(Moves {
        target: scene.target.clone(),
        dialect,
        reader: Some(reader),
        tables,
        without_leaders,
        joining: scene.joining.cloned(),
        session: None,
        at: 0,
        last: Last::default(),
        next_leaders: None,
    }))
}

impl Instrument for Moves {
    fn name(&self) -> &str {
        NAME
    }

    fn source(&self) -> String {
        "the cluster's list of its nodes, and the leaders of the workload's tables".to_owned()
    }

    fn interval(&self) -> Duration {
        INTERVAL
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.connect().map_err(|e| Gap::because(one_line(&e)))?,
        };
        let looked = self.look(&mut session, out);
        match looked {
            Ok(()) => self.session = Some(session),
            // The node may be the one that is gone.
            Err(_) => self.at += 1,
        }
        looked
    }
}

impl Moves {
    fn connect(&mut self) -> Result<Session, Error> {
        let count = self.target.endpoints.len();
        let endpoint = &self.target.endpoints[self.at % count];
        // One endpoint a look, so that no look takes long.
        let connected = Session::connect(&endpoint.within(LIMIT).candidates, Some(LIMIT));
        match connected {
            Ok(mut session) => {
                session.set_answer_timeout(Some(LIMIT));
                Ok(session)
            }
            Err(e) => {
                self.at += 1;
                Err(e)
            }
        }
    }

    fn look(&mut self, session: &mut Session, out: &mut Readings) -> Result<(), Gap> {
        let how = self.target.discovers().unwrap_or(&Discover::Sql);
        match discover::nodes(session, self.dialect, how) {
            Fact::Known(nodes) => {
                let now = Instant::now();
                let Last {
                    nodes: before,
                    seen,
                    ..
                } = &self.last;
                for (kind, node) in changes(before.as_deref(), &nodes, seen) {
                    let about = self.without_clients(kind, node).unwrap_or_default();
                    out.event(kind, now, None, name(node) + about);
                }
                self.join(&nodes, out, now);
                self.last
                    .seen
                    .extend(nodes.iter().map(|node| key(node).to_owned()));
                self.last.nodes = Some(nodes);
            }
            Fact::Unknown(why) if session.is_broken() => return Err(Gap::because(why)),
            Fact::Unknown(why) => out.gap("nodes", Gap::because(why)),
        }
        if let Some(why) = &self.without_leaders {
            out.gap("leaders", Gap::because(why.clone()));
            return Ok(());
        }
        let Some(reader) = &mut self.reader else {
            return Ok(());
        };
        let began = Instant::now();
        if self.next_leaders.is_some_and(|next| began < next) {
            return Ok(());
        }
        let mut leaders = BTreeMap::new();
        for table in &self.tables {
            match reader.parts(session, table) {
                Ok(parts) => leaders.extend(led(table, parts.unwrap_or_default())),
                Err(trouble) if trouble.is_lost => return Err(Gap::because(trouble.why)),
                Err(trouble) => {
                    out.gap("leaders", Gap::because(trouble.why));
                    return Ok(());
                }
            }
        }
        let now = Instant::now();
        self.next_leaders = Some(now + (now - began) * PAUSE_TIMES);
        for text in moves(&self.last.leaders, &leaders) {
            out.event("leader-moved", now, None, text);
        }
        // A part without a leader at this moment keeps its last one.
        for (part, leader) in std::mem::take(&mut self.last.leaders) {
            leaders.entry(part).or_insert(leader);
        }
        self.last.leaders = leaders;
        Ok(())
    }
}

impl Moves {
    /// Nodes that take connections and are no endpoints become some.
    fn join(&self, nodes: &[Node], out: &mut Readings, now: Instant) {
        let Some(joining) = &self.joining else {
            return;
        };
        let nodes = nodes.iter().filter(|node| is_up(node));
        for node in nodes.filter(|node| node.is_draining != Some(true)) {
            match joining.take(node) {
                Ok(false) => {}
                Ok(true) => {
                    let text = format!("{}: its share of the clients goes there", name(node));
                    out.event("endpoint-joined", now, None, text);
                }
                Err(why) => out.gap(name(node), Gap::because(why)),
            }
        }
    }

    /// What to say of a node that is up and no endpoint of the trial, though the cluster's nodes are.
    fn without_clients(&self, kind: &str, node: &Node) -> Option<&'static str> {
        let mut endpoints = self.target.endpoints.iter();
        let is_left_out = ["node-joined", "node-up"].contains(&kind)
            && self.joining.is_none()
            && self.target.discovers().is_some()
            && !endpoints.any(|endpoint| endpoint.name == node.address);
        is_left_out.then_some(
            ": no client goes there, as endpoints are those of the start; with --new-nodes some do",
        )
    }
}

fn led(table: &str, parts: Vec<Part>) -> impl Iterator<Item = ((String, String), String)> {
    let table = table.to_owned();
    let led = parts.into_iter();
    led.filter_map(move |part| Some(((table.clone(), part.id), part.leader?)))
}

fn is_up(node: &Node) -> bool {
    node.is_live != Some(false)
}

fn name(node: &Node) -> String {
    match &node.id {
        Some(id) => format!("node {id} ({})", node.address),
        None => format!("node {}", node.address),
    }
}

fn key(node: &Node) -> &str {
    node.id.as_deref().unwrap_or(&node.address)
}

/// What became of nodes, as kinds of events. A node that is no longer listed is down; one that was never
/// `seen` has joined.
fn changes<'a>(
    before: Option<&'a [Node]>,
    now: &'a [Node],
    seen: &BTreeSet<String>,
) -> Vec<(&'static str, &'a Node)> {
    let Some(before) = before else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for old in before {
        let new = now.iter().find(|new| key(new) == key(old));
        if is_up(old) && !new.is_some_and(is_up) {
            found.push(("node-down", old));
        }
        let drains = new.is_some_and(|new| new.is_draining == Some(true));
        if drains && old.is_draining != Some(true) {
            found.push(("node-draining", old));
        }
    }
    for new in now {
        let old = before.iter().find(|old| key(old) == key(new));
        if is_up(new) && !old.is_some_and(is_up) {
            let kind = if seen.contains(key(new)) {
                "node-up"
            } else {
                "node-joined"
            };
            found.push((kind, new));
        }
    }
    found
}

/// What became of leaders, in words: by table, from node to node.
fn moves(
    before: &BTreeMap<(String, String), String>,
    now: &BTreeMap<(String, String), String>,
) -> Vec<String> {
    let mut moved: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    for (part, to) in now {
        // A part that is new was split off, and has not moved.
        if let Some(from) = before.get(part).filter(|from| *from != to) {
            *moved.entry((&part.0, from, to)).or_default() += 1;
        }
    }
    let others: u64 = moved.values().skip(MOVES_MAX).sum();
    let reported = moved.iter().take(MOVES_MAX);
    let reported = reported.map(|((table, from, to), count)| match count {
        1 => format!("{table}: a leader went from node {from} to node {to}"),
        count => format!("{table}: {count} leaders went from node {from} to node {to}"),
    });
    let others = (others > 0).then(|| format!("{others} more leaders went to another node"));
    reported.chain(others).collect()
}

pub(super) fn one_line(error: &Error) -> String {
    let text = error.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;
    use pgdyno_database::dialect::{COCKROACHDB, YUGABYTEDB};
    use pgdyno_database::open;
    use pgdyno_spec::TargetSpec;

    fn node(id: &str, is_live: Option<bool>, is_draining: Option<bool>) -> Node {
        Node {
            id: (!id.is_empty()).then(|| id.to_owned()),
            address: format!("db{id}:26257"),
            is_live,
            is_draining,
            ..Node::default()
        }
    }

    #[test]
    fn nodes_go_down_come_up_and_drain() {
        let up = |id: &str| node(id, Some(true), Some(false));
        let before = [up("1"), up("2"), up("3")];
        let seen: BTreeSet<String> = ["1", "2", "3", "4"].map(str::to_owned).into();
        let changes = |before: Option<&[Node]>, now: &[Node]| -> Vec<_> {
            let found = super::changes(before, now, &seen).into_iter();
            found.map(|(kind, node)| (kind, name(node))).collect()
        };
        assert!(changes(None, &before).is_empty());
        assert!(changes(Some(&before), &before).is_empty());
        let now = [
            up("1"),
            node("2", Some(false), Some(false)),
            node("3", Some(true), Some(true)),
        ];
        let text = |id: &str| format!("node {id} (db{id}:26257)");
        assert_eq!(
            changes(Some(&before), &now),
            [("node-down", text("2")), ("node-draining", text("3"))]
        );
        assert!(changes(Some(&now), &now).is_empty(), "reported once");
        assert_eq!(changes(Some(&now), &before), [("node-up", text("2"))]);
        // YugabyteDB lists the nodes that are there.
        let (one, other) = (node("", None, None), node("4", None, None));
        let both = [one.clone(), other.clone()];
        let gone = changes(Some(&both), std::slice::from_ref(&one));
        assert_eq!(gone, [("node-down", text("4"))]);
        let back = changes(Some(std::slice::from_ref(&one)), &both);
        assert_eq!(back, [("node-up", text("4"))]);
        let joined = changes(Some(&both), &[one, other, up("5")]);
        assert_eq!(joined, [("node-joined", text("5"))]);
    }

    #[test]
    fn moved_leaders_are_reported_by_table_and_node() {
        let leaders = |of: &[(&str, &str, &str)]| -> BTreeMap<_, _> {
            of.iter()
                .map(|(t, part, node)| (((*t).to_owned(), (*part).to_owned()), (*node).to_owned()))
                .collect()
        };
        let before = leaders(&[("a", "1", "1"), ("a", "2", "1"), ("b", "9", "2")]);
        assert!(moves(&before, &before).is_empty());
        let now = leaders(&[
            ("a", "1", "3"),
            ("a", "2", "3"),
            ("a", "3", "3"),
            ("b", "9", "1"),
        ]);
        assert_eq!(
            moves(&before, &now),
            [
                "a: 2 leaders went from node 1 to node 3",
                "b: a leader went from node 2 to node 1"
            ]
        );
        let parts = |node: fn(u32) -> String| -> BTreeMap<_, _> {
            (0..40)
                .map(|n| ((format!("t{n}"), String::new()), node(n)))
                .collect()
        };
        let many = moves(&parts(|n| n.to_string()), &parts(|n| (n + 1).to_string()));
        assert_eq!(many.len(), MOVES_MAX + 1);
        assert_eq!(many[MOVES_MAX], "24 more leaders went to another node");
    }

    fn watched(url: &str, dialect: &'static Dialect, without: Option<&str>) -> Moves {
        let target = open::existing(&TargetSpec::at(url)).map(Option::unwrap);
        Moves {
            target: target.unwrap_or_else(|e| panic!("{e}")),
            dialect,
            reader: Reader::new(dialect),
            tables: vec!["pg_class".to_owned()],
            without_leaders: without.map(str::to_owned),
            joining: None,
            session: None,
            at: 0,
            last: Last::default(),
            next_leaders: None,
        }
    }

    #[test]
    fn a_missing_figure_is_a_gap_with_its_reason() {
        // A server without CockroachDB's views is like one that keeps them closed.
        let url = pgdyno_testkit::postgres().address().url();
        let mut bench = Bench::new(watched(&url, &COCKROACHDB, None));
        bench.begin().unwrap();
        let (_, batch) = bench.end();
        let reason = |label: &str| {
            let gap = batch.gaps.iter().find(|gap| gap.label == label);
            gap.unwrap_or_else(|| panic!("no gap {label}"))
                .gap
                .reason
                .clone()
        };
        assert!(
            reason("nodes").contains("--discover=http"),
            "{}",
            reason("nodes")
        );
        assert!(
            reason("leaders").contains("ZONECONFIG"),
            "{}",
            reason("leaders")
        );
        let mut bench = Bench::new(watched(&url, &YUGABYTEDB, Some("it is closed")));
        bench.begin().unwrap();
        let (_, batch) = bench.end();
        assert!(
            batch
                .gaps
                .iter()
                .any(|gap| gap.gap.reason == "it is closed")
        );
    }

    #[test]
    fn where_one_endpoint_does_not_answer_the_next_look_is_at_another() {
        let server = pgdyno_testkit::postgres();
        let there = server.address().loopback_url().unwrap();
        let port = server.address().port;
        let url = there.replace(&format!(":{port}"), &format!(":1,127.0.0.1:{port}"));
        let mut bench = Bench::new(watched(&url, &COCKROACHDB, Some("closed")));
        let gap = bench.begin().unwrap_err();
        assert!(gap.reason.contains("refused"), "{gap:?}");
        bench.read().unwrap();
        assert!(bench.instrument.session.is_some());
    }
}
