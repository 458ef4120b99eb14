//! The cluster of a trial: its nodes with what they led and held before and after, from what was asked
//! then; and its lines in the terminal.

use std::collections::BTreeMap;

use super::table::Table;
use pgdyno_model::document::{
    Cluster, ClusterAfter, Endpoint, Facts, Member, Node, Placed, Placement, Reached, Replication,
    Standby, TablePlacement,
};
use pgdyno_model::{Fact, Outcome};
use pgdyno_spec::text as figures;

/// The cluster of this trial; `None` where there is but one node.
pub fn of(outcome: &Outcome) -> Option<Cluster> {
    let facts = &outcome.facts;
    let after: Option<ClusterAfter> = outcome.findings.get();
    let after = after.as_ref();
    let nodes_after = after.and_then(|after| after.nodes.known());
    let streaming_after = after.and_then(|after| after.replication.known());
    let mut nodes = match facts.nodes.known().filter(|nodes| nodes.len() > 1) {
        Some(nodes) => members(nodes, nodes_after),
        None => streaming(facts, streaming_after)?,
    };
    for member in &mut nodes {
        meet(member, facts);
    }
    let before = facts.placement.known();
    let placed_after = after.and_then(|after| after.placement.known());
    for member in &mut nodes {
        if let Some(before) = before {
            member.leaders = Some(sum(before, member, |table| &table.leaders));
            member.replicas = Some(sum(before, member, |table| &table.replicas));
            member.role = Some(role(member).to_owned());
        }
        if let Some(after) = placed_after {
            member.leaders_after = Some(sum(after, member, |table| &table.leaders));
            member.replicas_after = Some(sum(after, member, |table| &table.replicas));
        }
    }
    let mut unknown = Vec::new();
    if let Fact::Unknown(why) = &facts.placement
        && facts.replication.known().is_none()
    {
        unknown.push(format!("leaders before: {why}"));
    }
    if let Some(after) = after {
        if let Fact::Unknown(why) = &after.nodes
            && facts.nodes.known().is_some()
        {
            unknown.push(format!("nodes after: {why}"));
        }
        if let Fact::Unknown(why) = &after.placement
            && before.is_some()
        {
            unknown.push(format!("leaders after: {why}"));
        }
        if let Fact::Unknown(why) = &after.replication
            && facts.replication.known().is_some()
        {
            unknown.push(format!("standbys after: {why}"));
        }
    }
    Some(Cluster {
        parts: before.or(placed_after).map(|all| all.parts.clone()),
        tables: placed(before, placed_after),
        moved: before.zip(placed_after).map(|(a, b)| moved(a, b)),
        nodes,
        unknown,
    })
}

/// Gives endpoints the position and the part of their nodes.
pub fn place(endpoints: &mut [Endpoint], cluster: Option<&Cluster>) {
    for endpoint in endpoints {
        let nodes = cluster.into_iter().flat_map(|cluster| &cluster.nodes);
        let mut of_it = nodes.filter(|node| node.endpoint.as_ref() == Some(&endpoint.name));
        if let Some(node) = of_it.next() {
            endpoint.locality.clone_from(&node.locality);
            endpoint.role.clone_from(&node.role);
        }
    }
}

fn members(before: &[Node], after: Option<&Vec<Node>>) -> Vec<Member> {
    let is_same = |a: &Node, b: &Node| match (&a.id, &b.id) {
        (Some(a), Some(b)) => a == b,
        _ => a.address == b.address,
    };
    let after_all: &[Node] = after.map_or(&[], Vec::as_slice);
    let new = { after_all.iter() }.filter(|new| !before.iter().any(|old| is_same(old, new)));
    let all = before.iter().map(|node| (node, true));
    let all = all.chain(new.map(|node| (node, false)));
    let member = |(node, was_there): (&Node, bool)| {
        let now = after_all.iter().find(|now| is_same(now, node));
        Member {
            id: node.id.clone(),
            address: node.address.clone(),
            locality: node.locality.clone(),
            version: node.version.clone(),
            is_live: if was_there { node.is_live } else { Some(false) },
            // YugabyteDB lists those that are there.
            is_live_after: after.and_then(|_| now.map_or(Some(false), |now| now.is_live)),
            is_draining: node.is_draining.filter(|_| was_there),
            is_draining_after: now.and_then(|now| now.is_draining),
            ..Member::default()
        }
    };
    all.map(member).collect()
}

/// Endpoints of PostgreSQL, and standbys that none of them is known to be; `None` where there is but one
/// server.
fn streaming(facts: &Facts, after: Option<&Replication>) -> Option<Vec<Member>> {
    let before = facts.replication.known()?;
    let mut all: Vec<Member> = Vec::new();
    for reached in &facts.reached {
        let Some(node) = reached.node.known() else {
            continue;
        };
        if all.iter().any(|member| member.address == *node) {
            continue;
        }
        all.push(Member {
            address: node.clone(),
            role: reached.is_standby.map(|is_standby| {
                if is_standby {
                    "standby".to_owned()
                } else {
                    "primary".to_owned()
                }
            }),
            ..Member::default()
        });
    }
    let mut is_known = vec![false; all.len()];
    for standby in &before.standbys {
        let now = after.and_then(|after| after.standbys.iter().find(|now| is_same(now, standby)));
        let of_standby = Member {
            id: standby.name.clone(),
            address: standby
                .address
                .clone()
                .unwrap_or_else(|| "local".to_owned()),
            role: Some("standby".to_owned()),
            is_live: Some(true),
            is_live_after: after.map(|_| now.is_some()),
            state: Some(state(standby)),
            lag_bytes: standby.lag_bytes,
            lag_bytes_after: now.and_then(|now| now.lag_bytes),
            ..Member::default()
        };
        // Which endpoint it is can be known where one endpoint on its host is a standby.
        let is_it = |member: &Member| {
            let host = member.address.rsplit_once(':').map(|(host, _)| host);
            member.role.as_deref() == Some("standby") && host == standby.address.as_deref()
        };
        let at: Vec<usize> = (0..is_known.len()).filter(|at| is_it(&all[*at])).collect();
        match at.as_slice() {
            [at] if !is_known[*at] && alone(&before.standbys, standby) => {
                is_known[*at] = true;
                let address = std::mem::take(&mut all[*at].address);
                all[*at] = Member {
                    address,
                    ..of_standby
                };
            }
            _ => all.push(of_standby),
        }
    }
    if let Some(primary) = &before.primary
        && !all.iter().any(|member| member.address == *primary)
    {
        all.push(Member {
            address: primary.clone(),
            role: Some("primary".to_owned()),
            ..Member::default()
        });
    }
    (all.len() > 1).then_some(all)
}

fn is_same(a: &Standby, b: &Standby) -> bool {
    (&a.name, &a.address) == (&b.name, &b.address)
}

/// Whether no other standby connects from its host.
fn alone(all: &[Standby], one: &Standby) -> bool {
    let same = all.iter().filter(|other| other.address == one.address);
    same.count() == 1
}

fn state(standby: &Standby) -> String {
    let words = [&standby.state, &standby.sync_state];
    let words = words.into_iter().flatten().cloned();
    words.collect::<Vec<_>>().join(", ")
}

/// The endpoint whose connection met this node.
fn meet(member: &mut Member, facts: &Facts) {
    let is_it = |reached: &&Reached| match reached.node.known() {
        Some(node) => Some(node) == member.id.as_ref() || *node == member.address,
        None => reached.endpoint == member.address,
    };
    if let Some(reached) = facts.reached.iter().find(is_it) {
        member.endpoint = Some(reached.endpoint.clone());
        member.round_trip = reached.round_trip.known().copied();
    }
}

fn role(member: &Member) -> &'static str {
    match (member.leaders, member.replicas) {
        (Some(0), Some(0)) => "gateway",
        (Some(0), _) => "followers",
        _ => "leaders",
    }
}

fn sum(
    placement: &Placement,
    member: &Member,
    of: impl Fn(&TablePlacement) -> &BTreeMap<String, u64>,
) -> u64 {
    parts_of(placement, member.id.as_deref(), &member.address, of)
}

/// Of how many parts of all tables the node is the leader, or has a replica.
pub fn node_parts(
    placement: &Placement,
    node: &Node,
    of: impl Fn(&TablePlacement) -> &BTreeMap<String, u64>,
) -> u64 {
    parts_of(placement, node.id.as_deref(), &node.address, of)
}

/// What belongs to a node: by its number, its address, or else its host.
fn parts_of(
    placement: &Placement,
    id: Option<&str>,
    address: &str,
    of: impl Fn(&TablePlacement) -> &BTreeMap<String, u64>,
) -> u64 {
    let is_its = |node: &str| match id {
        Some(id) => node == id,
        // A tablet's leader may be named with the port of the storage layer, not with that of SQL.
        None => node == address || host(node) == host(address),
    };
    let tables = placement.tables.values().flat_map(of);
    let its = tables.filter(|(node, _)| is_its(node));
    its.map(|(_, count)| count).sum()
}

fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

fn placed(before: Option<&Placement>, after: Option<&Placement>) -> Vec<Placed> {
    let mut all: BTreeMap<&String, Placed> = BTreeMap::new();
    let empty = |table: &String| Placed {
        table: table.clone(),
        before: None,
        after: None,
    };
    for (table, placed) in before.into_iter().flat_map(|all| &all.tables) {
        all.entry(table).or_insert_with(|| empty(table)).before = Some(placed.clone());
    }
    for (table, placed) in after.into_iter().flat_map(|all| &all.tables) {
        all.entry(table).or_insert_with(|| empty(table)).after = Some(placed.clone());
    }
    all.into_values().collect()
}

/// How many leaders are elsewhere at least.
fn moved(before: &Placement, after: &Placement) -> u64 {
    let fewer = |(name, before): (&String, &TablePlacement)| {
        let after = after.tables.get(name);
        let now = |node: &String| after.and_then(|after| after.leaders.get(node)).copied();
        let fewer = before.leaders.iter();
        let fewer = fewer.map(|(node, count)| count.saturating_sub(now(node).unwrap_or(0)));
        fewer.sum::<u64>()
    };
    { before.tables.iter() }.map(fewer).sum()
}

/// The cluster in the terminal: a row a node.
pub fn table(cluster: &Cluster, width: usize) -> String {
    let nodes = &cluster.nodes;
    let parts = cluster.parts.as_deref().unwrap_or("parts");
    type Cell = fn(&Member) -> Option<String>;
    let columns: [(String, Cell); 8] = [
        ("node".to_owned(), |m| Some(name(m))),
        ("where".to_owned(), |m| m.locality.clone()),
        ("role".to_owned(), |m| m.role.clone()),
        ("state".to_owned(), condition),
        (format!("leaders of {parts}"), |m| {
            m.leaders.map(|n| changed(n, m.leaders_after))
        }),
        ("replicas".to_owned(), |m| {
            m.replicas.map(|n| changed(n, m.replicas_after))
        }),
        ("behind".to_owned(), |m| {
            m.lag_bytes.map(|bytes| {
                let now = m.lag_bytes_after;
                let now = now.map_or_else(|| "?".to_owned(), |now| figures::bytes(now as f64));
                format!("{} → {now}", figures::bytes(bytes as f64))
            })
        }),
        ("round trip, ms".to_owned(), |m| {
            m.round_trip.map(|of| figures::ms(of.median_us))
        }),
    ];
    let shown = columns.iter();
    let shown = shown.filter(|(_, cell)| nodes.iter().any(|m| cell(m).is_some()));
    let shown: Vec<_> = shown.collect();
    let mut table = Table::default();
    table.row(shown.iter().map(|(heading, _)| heading.clone()));
    for member in nodes {
        let cells = shown.iter().map(|(_, cell)| cell(member));
        table.row(cells.map(|cell| cell.unwrap_or_else(|| "–".to_owned())));
    }
    table.text(width)
}

/// What is to be said beside it, a labelled line each.
pub fn lines(cluster: &Cluster) -> String {
    let parts = cluster.parts.as_deref().unwrap_or("parts");
    let mut text = String::new();
    if let Some(moved) = cluster.moved.filter(|moved| *moved > 0) {
        let leaders = figures::plural(moved, "leader");
        text += &format!("moved        at least {leaders} of {parts} went to another node\n");
    }
    for why in &cluster.unknown {
        text += &format!("not known    {}\n", figures::message(why));
    }
    text
}

fn name(member: &Member) -> String {
    match &member.id {
        Some(id) => format!("{id} ({})", member.address),
        None => member.address.clone(),
    }
}

fn changed(before: u64, after: Option<u64>) -> String {
    match after {
        Some(after) if after == before => before.to_string(),
        Some(after) => format!("{before} → {after}"),
        None => format!("{before} → ?"),
    }
}

/// Alive, draining, streaming: before and after, where that differs.
fn condition(member: &Member) -> Option<String> {
    let word = |live: Option<bool>, draining: Option<bool>| {
        Some(match (live?, draining) {
            (false, _) => "down",
            (true, Some(true)) => "draining",
            (true, _) => "up",
        })
    };
    let before = word(member.is_live, member.is_draining);
    let after = word(member.is_live_after, member.is_draining_after);
    let before = match (&member.state, before) {
        (Some(state), Some("up")) => Some(state.as_str()),
        (_, before) => before,
    };
    match (before, after) {
        (Some(before), Some("up")) if member.state.is_some() || before == "up" => {
            Some(before.to_owned())
        }
        (Some(before), Some(after)) if before != after => Some(format!("{before} → {after}")),
        (Some(before), _) => Some(before.to_owned()),
        (None, after) => after.map(|after| format!("? → {after}")),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use pgdyno_model::document::RoundTrip;
    use pgdyno_store::{Store, example};

    fn outcome() -> Outcome {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let writer = store.begin(&example()).unwrap();
        let number = writer.number();
        writer.fail("over").unwrap();
        store.outcome(number).unwrap()
    }

    fn node(id: &str, is_live: bool) -> Node {
        Node {
            id: Some(id.to_owned()),
            address: format!("db{id}:26257"),
            locality: Some(format!("zone={id}")),
            is_live: Some(is_live),
            is_draining: Some(false),
            ..Node::default()
        }
    }

    fn placement(leaders: &[(&str, u64)]) -> Placement {
        let counts = |of: &[(&str, u64)]| -> BTreeMap<String, u64> {
            of.iter()
                .map(|(node, n)| ((*node).to_owned(), *n))
                .collect()
        };
        let table = TablePlacement {
            parts: 4,
            leaders: counts(leaders),
            replicas: counts(&[("1", 4), ("2", 4), ("3", 4)]),
            zone: None,
        };
        Placement {
            parts: "ranges".to_owned(),
            tables: [("t".to_owned(), table)].into(),
        }
    }

    fn reached(endpoint: &str, node: &str, is_standby: Option<bool>) -> Reached {
        Reached {
            endpoint: endpoint.to_owned(),
            node: Fact::Known(node.to_owned()),
            is_standby,
            round_trip: Fact::Known(RoundTrip {
                min_us: 90,
                median_us: 120,
                count: 20,
            }),
            version: Fact::default(),
            system_identifier: None,
        }
    }

    /// A cluster of three nodes, of which the third goes down in the trial and loses its leaders.
    pub fn three_nodes(outcome: &mut Outcome) {
        let nodes = |third: bool| vec![node("1", true), node("2", true), node("3", third)];
        outcome.facts.nodes = Fact::Known(nodes(true));
        outcome.facts.placement = Fact::Known(placement(&[("1", 2), ("3", 2)]));
        outcome.facts.reached = vec![reached("lb:26257", "2", None)];
        outcome.findings.put(&ClusterAfter {
            nodes: Fact::Known(nodes(false)),
            placement: Fact::Known(placement(&[("1", 3), ("2", 1)])),
            replication: Fact::Unknown("CockroachDB has no standbys".to_owned()),
        });
    }

    #[test]
    fn nodes_are_shown_before_and_after_with_what_they_led_and_how_far_they_are() {
        let mut outcome = outcome();
        assert_eq!(of(&outcome), None);
        three_nodes(&mut outcome);
        let cluster = of(&outcome).unwrap();
        let [one, two, three] = cluster.nodes.as_slice() else {
            panic!("{cluster:?}");
        };
        assert_eq!((one.leaders, one.leaders_after), (Some(2), Some(3)));
        assert_eq!(two.role.as_deref(), Some("followers"));
        assert_eq!(two.endpoint.as_deref(), Some("lb:26257"));
        assert_eq!(two.round_trip.unwrap().median_us, 120);
        assert_eq!(
            (three.is_live, three.is_live_after),
            (Some(true), Some(false))
        );
        assert_eq!(cluster.moved, Some(2));
        assert!(cluster.unknown.is_empty(), "{:?}", cluster.unknown);
        let text = table(&cluster, 120) + &lines(&cluster);
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
        for word in ["leaders", "up → down", "2 → 0"] {
            assert!(line("3 (db3:26257)").contains(word), "{text}");
        }
        assert!(line("2 (db2:26257)").ends_with("0.120"), "{text}");
        assert!(
            text.contains("at least 2 leaders of ranges went to another node"),
            "{text}"
        );
        // Endpoints have what is known of their nodes.
        let mut endpoints = vec![Endpoint::from(&pgdyno_measurement::EndpointRecord {
            name: "lb:26257".to_owned(),
            ..Default::default()
        })];
        place(&mut endpoints, Some(&cluster));
        assert_eq!(endpoints[0].locality.as_deref(), Some("zone=2"));
        assert_eq!(endpoints[0].role.as_deref(), Some("followers"));
    }

    #[test]
    fn what_is_not_known_after_a_trial_says_why() {
        let mut outcome = outcome();
        three_nodes(&mut outcome);
        let gone = || "no endpoint answers".to_owned();
        outcome.findings.put(&ClusterAfter {
            nodes: Fact::Unknown(gone()),
            placement: Fact::Unknown(gone()),
            replication: Fact::Unknown(gone()),
        });
        let cluster = of(&outcome).unwrap();
        assert_eq!(cluster.moved, None);
        assert_eq!(cluster.nodes[0].leaders_after, None);
        let reported = table(&cluster, 120) + &lines(&cluster);
        assert!(reported.contains("2 → ?"), "{reported}");
        assert!(
            reported.contains("not known    leaders after: no endpoint answers"),
            "{reported}"
        );
    }

    #[test]
    fn tablets_whose_leaders_are_named_by_another_port_are_their_nodes() {
        let mut tablets = placement(&[("10.0.0.1:9100", 4)]);
        tablets.parts = "tablets".to_owned();
        let node = Node {
            address: "10.0.0.1:5433".to_owned(),
            ..Node::default()
        };
        assert_eq!(node_parts(&tablets, &node, |table| &table.leaders), 4);
    }

    #[test]
    fn endpoints_of_postgresql_and_standbys_are_one_cluster() {
        let mut outcome = outcome();
        let standby = |name: &str, host: &str| Standby {
            name: Some(name.to_owned()),
            address: Some(host.to_owned()),
            state: Some("streaming".to_owned()),
            sync_state: Some("sync".to_owned()),
            lag_bytes: Some(2048),
            lag_us: None,
        };
        outcome.facts.reached = vec![reached("db1:5432", "10.0.0.1:5432", Some(false))];
        outcome.facts.replication = Fact::Known(Replication::default());
        assert_eq!(of(&outcome), None, "one server");
        outcome
            .facts
            .reached
            .push(reached("db2:5432", "10.0.0.2:5432", Some(true)));
        outcome.facts.replication = Fact::Known(Replication {
            standbys: vec![standby("two", "10.0.0.2"), standby("three", "10.0.0.3")],
            primary: None,
        });
        let cluster = of(&outcome).unwrap();
        let reported: Vec<_> = { cluster.nodes.iter() }
            .map(|n| {
                (
                    n.address.as_str(),
                    n.id.as_deref(),
                    n.role.as_deref().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            reported,
            [
                ("10.0.0.1:5432", None, "primary"),
                ("10.0.0.2:5432", Some("two"), "standby"),
                ("10.0.0.3", Some("three"), "standby")
            ]
        );
        assert_eq!(cluster.nodes[1].endpoint.as_deref(), Some("db2:5432"));
        let text = table(&cluster, 120);
        assert!(
            text.contains("streaming, sync") && text.contains("2 kB"),
            "{text}"
        );
    }
}
