//! Asking a server about its cluster: nodes, copies, the node that a connection has reached, and
//! the isolation level that is in effect. What it does not tell is a gap with its reason.
//!
//! Not for: what to ask (`dialect/cluster.rs`), and what follows from the answers.

use std::collections::BTreeSet;
use std::time::Duration;

use pgdyno_session::{Error, Session, quote_ident};
use serde_json::Value;

use super::dialect::{Cluster, Dialect};
use super::target::Target;
use super::{admin, placement, replication};
use pgdyno_model::Fact;
use pgdyno_model::document::target::Observable;
use pgdyno_model::document::{ClusterAfter, Facts, Node};

/// The nodes of the cluster that the session is with.
pub fn nodes(session: &mut Session, dialect: &Dialect) -> Fact<Vec<Node>> {
    let Cluster {
        nodes,
        without_nodes,
        ..
    } = dialect.cluster;
    let mut why = without_nodes.to_owned();
    for sql in nodes {
        match admin::rows(session, sql) {
            Ok(rows) => {
                let mut nodes: Vec<Node> = rows.into_iter().filter_map(node).collect();
                if !nodes.is_empty() {
                    mark_draining(session, dialect, &mut nodes);
                    return Fact::Known(nodes);
                }
            }
            Err(e) => why = format!("{}; {without_nodes}", one_line(&e)),
        }
    }
    Fact::Unknown(why)
}

/// Which of the nodes are draining, where the product tells.
fn mark_draining(session: &mut Session, dialect: &Dialect, nodes: &mut [Node]) {
    let Some(query) = dialect.cluster.draining else {
        return;
    };
    let Ok(rows) = admin::rows(session, query) else {
        return;
    };
    let draining: BTreeSet<String> = rows.into_iter().flatten().flatten().collect();
    for node in nodes {
        node.is_draining = node.id.as_ref().map(|id| draining.contains(id));
    }
}

fn node(row: Vec<Option<String>>) -> Option<Node> {
    let mut row = row
        .into_iter()
        .map(|value| value.filter(|text| !text.is_empty()));
    let id = row.next().flatten();
    let address = row.next().flatten()?;
    Some(Node {
        id,
        address,
        locality: row.next().flatten().and_then(locality),
        version: row.next().flatten(),
        is_live: row.next().flatten().map(|live| live == "t"),
        is_draining: None,
    })
}

/// CockroachDB's tiers as `region=eu,zone=a`, whatever form the server has them in (captured, 19.1: JSON).
fn locality(text: String) -> Option<String> {
    let Ok(Value::Object(tiers)) = serde_json::from_str(&text) else {
        return Some(text);
    };
    let tiers = tiers.iter();
    let tiers = tiers.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    let tiers: Vec<String> = tiers.collect();
    (!tiers.is_empty()).then(|| tiers.join(","))
}

/// The nodes in CockroachDB's `/_status/nodes`.
///
/// # Errors
/// What is wrong with the text.
pub fn nodes_in_json(text: &str) -> Result<Vec<Node>, String> {
    let document: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let nodes = document["nodes"]
        .as_array()
        .ok_or("there is no list \"nodes\" in it")?;
    let address = |desc: &Value, name: &str| {
        let text = desc[name]["addressField"].as_str();
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let node = |node: &Value| {
        let desc = &node["desc"];
        let tiers = desc["locality"]["tiers"].as_array();
        let tiers = tiers.into_iter().flatten().filter_map(|tier| {
            let (key, value) = (tier["key"].as_str()?, tier["value"].as_str()?);
            Some(format!("{key}={value}"))
        });
        let tiers: Vec<String> = tiers.collect();
        Some(Node {
            id: desc["nodeId"].as_u64().map(|id| id.to_string()),
            // Newer versions (20.1 on) have an address of its own for SQL, which may be left out.
            address: address(desc, "sqlAddress").or_else(|| address(desc, "address"))?,
            locality: (!tiers.is_empty()).then(|| tiers.join(",")),
            version: node["buildInfo"]["tag"].as_str().map(str::to_owned),
            ..Node::default()
        })
    };
    let nodes: Vec<Node> = nodes.iter().filter_map(node).collect();
    if nodes.is_empty() {
        Err("no node in it has an address".to_owned())
    } else {
        Ok(nodes)
    }
}

/// The node that the session is with, as it calls itself.
pub fn this_node(session: &mut Session, dialect: &Dialect) -> Fact<String> {
    match admin::value(session, dialect.cluster.this_node) {
        Ok(Some(node)) => Fact::Known(node),
        Ok(None) => Fact::Unknown("the server gave no value".to_owned()),
        Err(e) => Fact::Unknown(one_line(&e)),
    }
}

/// How long the look after a trial may take to connect, and for each answer.
const AFTER_LIMIT: Duration = Duration::from_secs(3);

/// Whether there is more than one node, as far as is known.
pub fn is_cluster(facts: &Facts) -> bool {
    let replication = facts.replication.known();
    facts.nodes.known().is_some_and(|nodes| nodes.len() > 1)
        || facts.placement.known().is_some()
        || replication.is_some_and(|of| !of.standbys.is_empty() || of.primary.is_some())
}

/// What the cluster is like after a trial before which it was like this; `None` where there is but one node.
pub fn after(target: &Target, dialect: &'static Dialect, before: &Facts) -> Option<ClusterAfter> {
    if !is_cluster(before) {
        return None;
    }
    let mut session = match target.connect_within(AFTER_LIMIT) {
        Ok(session) => session,
        Err(e) => {
            let why = one_line(&e);
            return Some(ClusterAfter {
                nodes: Fact::Unknown(why.clone()),
                placement: Fact::Unknown(why.clone()),
                replication: Fact::Unknown(why),
            });
        }
    };
    let nodes = nodes(&mut session, dialect);
    let replication = replication::seen(&mut session, dialect);
    let placement = match &before.placement {
        Fact::Known(placement) => {
            let tables: Vec<String> = placement.tables.keys().cloned().collect();
            placement::look(&mut session, dialect, Some(&tables))
        }
        Fact::Unknown(why) => Fact::Unknown(why.clone()),
    };
    session.close();
    Some(ClusterAfter {
        nodes,
        placement,
        replication,
    })
}

/// Queries whose answers tell where a session is: the server with its cluster, and the database.
pub fn whereabouts(dialect: &Dialect) -> [&'static str; 2] {
    [dialect.cluster.identity, "SELECT current_database()"]
}

/// How many copies of the database's rows the cluster is to keep.
pub fn replication_factor(session: &mut Session, dialect: &Dialect) -> Fact<u32> {
    let without = dialect.cluster.without_replication;
    let mut why = without.to_owned();
    for (sql, word) in dialect.cluster.replication {
        let database = if sql.contains("{database}") {
            admin::value(session, "SELECT current_database()")
        } else {
            Ok(None)
        };
        let rows = database.and_then(|name| {
            let name = quote_ident(&name.unwrap_or_default());
            admin::rows(session, &sql.replace("{database}", &name))
        });
        match rows {
            Ok(rows) => {
                let texts = rows.iter().flatten().flatten();
                if let Some(number) = { texts }.find_map(|text| number_behind(text, word)) {
                    return Fact::Known(number);
                }
            }
            Err(e) => why = format!("{}; {without}", one_line(&e)),
        }
    }
    Fact::Unknown(why)
}

/// The number in `word = 3` or `word: 3`.
fn number_behind(text: &str, word: &str) -> Option<u32> {
    let (_, rest) = text.split_once(word)?;
    let digits = rest.trim_start_matches([' ', '=', ':', '\t']);
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// The isolation levels in effect in transactions that begin with these statements, each once.
pub fn isolation(session: &mut Session, dialect: &Dialect, begins: &[String]) -> Fact<String> {
    let mut levels: Vec<String> = Vec::new();
    for begin in begins {
        match isolation_of(session, dialect, begin) {
            Fact::Known(level) if levels.contains(&level) => {}
            Fact::Known(level) => levels.push(level),
            unknown => return unknown,
        }
    }
    Fact::Known(levels.join(", "))
}

fn isolation_of(session: &mut Session, dialect: &Dialect, begin: &str) -> Fact<String> {
    let mut why = "nothing to ask".to_owned();
    for query in dialect.cluster.isolation {
        // Each in a transaction of its own: a query that is not known ends the one it is in.
        let asked = admin::run(session, begin).and_then(|()| admin::value(session, query.sql));
        // Without an answer there may be nothing to roll back, which is no more than a warning.
        let _ = admin::run(session, "ROLLBACK");
        match asked {
            Ok(Some(level)) => {
                let level = level.to_ascii_lowercase().replace('_', " ");
                let named = |(name, _): &&(&str, &'static str)| *name == level;
                if let Some((_, hidden)) = query.hides.iter().find(named) {
                    return Fact::Unknown(format!("the server reports {level}, but {hidden}"));
                }
                let is = dialect.cluster.isolation_is.iter().find(named);
                return Fact::Known(is.map_or(level, |(_, is)| (*is).to_owned()));
            }
            Ok(None) => why = "the server gave no value".to_owned(),
            Err(e) => why = one_line(&e),
        }
    }
    Fact::Unknown(why)
}

/// What this role can observe on this server.
pub fn observables(session: &mut Session, dialect: &Dialect) -> Vec<Observable> {
    let views = dialect.cluster.views.iter();
    let mut ask = |view: &super::dialect::View| {
        let why_not = match admin::value(session, view.sql) {
            Ok(Some(answer)) if !matches!(answer.as_str(), "f" | "false") => None,
            Ok(_) => Some("the server says no".to_owned()),
            Err(e) => Some(one_line(&e)),
        };
        Observable {
            what: view.what,
            can_be_seen: why_not.is_none(),
            takes: why_not.is_some().then_some(view.takes),
            why_not,
        }
    };
    views.map(&mut ask).collect()
}

/// The error in one line: the server's message without what it adds.
pub(crate) fn one_line(error: &Error) -> String {
    let text = match error {
        Error::Server(e) => e.message().to_owned(),
        other => other.to_string(),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{COCKROACHDB, POSTGRESQL, YUGABYTEDB};
    use crate::open::{self};
    use pgdyno_spec::TargetSpec;

    fn session() -> Session {
        let wanted = TargetSpec::at(pgdyno_testkit::postgres().address().url());
        open::existing(&wanted).unwrap().unwrap().connect().unwrap()
    }

    fn begin(text: &str) -> Vec<String> {
        vec![text.to_owned()]
    }

    #[test]
    fn postgresql_is_one_server_with_one_copy() {
        let mut session = session();
        let Fact::Unknown(why) = nodes(&mut session, &POSTGRESQL) else {
            panic!("nodes");
        };
        assert!(
            why.contains("PostgreSQL has no list of cluster nodes"),
            "{why}"
        );
        let Fact::Unknown(why) = replication_factor(&mut session, &POSTGRESQL) else {
            panic!("copies");
        };
        assert!(why.contains("one copy"), "{why}");
        let port = pgdyno_testkit::postgres().address().port;
        assert_eq!(
            this_node(&mut session, &POSTGRESQL),
            Fact::Known(format!("Unix socket, port {port}"))
        );
        let loopback = pgdyno_testkit::postgres().address().loopback_url().unwrap();
        let target = open::existing(&TargetSpec::at(loopback)).unwrap().unwrap();
        assert_eq!(
            this_node(&mut target.connect().unwrap(), &POSTGRESQL),
            Fact::Known(format!("127.0.0.1:{port}"))
        );
    }

    #[test]
    fn isolation_is_what_the_transaction_says_and_not_what_was_asked_for() {
        let mut session = session();
        let mut of = |text: &str| isolation(&mut session, &POSTGRESQL, &begin(text));
        let seen = |level: &str| Fact::Known(level.to_owned());
        assert_eq!(of("BEGIN"), seen("read committed"));
        assert_eq!(
            of("BEGIN ISOLATION LEVEL SERIALIZABLE"),
            seen("serializable")
        );
        // Documented: PostgreSQL takes the name and gives the next level.
        assert_eq!(
            of("BEGIN ISOLATION LEVEL READ UNCOMMITTED"),
            seen("read committed")
        );
        let Fact::Unknown(why) = of("BEGIN ISOLATION LEVEL 7") else {
            panic!("no such level");
        };
        assert!(why.contains("syntax error"), "{why}");
        assert_eq!(of("BEGIN"), seen("read committed"), "nothing is left open");
        let both = [
            "BEGIN".to_owned(),
            "BEGIN ISOLATION LEVEL SERIALIZABLE".to_owned(),
        ];
        assert_eq!(
            isolation(&mut session, &POSTGRESQL, &both),
            seen("read committed, serializable")
        );
    }

    #[test]
    fn a_level_that_show_hides_is_a_gap_and_others_are_believed() {
        // A server without YugabyteDB's functions is like an old YugabyteDB here.
        let mut session = session();
        let mut of = |text: &str| isolation(&mut session, &YUGABYTEDB, &begin(text));
        let Fact::Unknown(why) = of("BEGIN") else {
            panic!("believed");
        };
        assert!(why.contains("yb_enable_read_committed_isolation"), "{why}");
        assert_eq!(
            of("BEGIN ISOLATION LEVEL SERIALIZABLE"),
            Fact::Known("serializable".to_owned())
        );
    }

    #[test]
    fn what_cannot_be_asked_is_a_gap_with_the_servers_reason_and_the_way_out() {
        let mut session = session();
        let Fact::Unknown(why) = nodes(&mut session, &COCKROACHDB) else {
            panic!("nodes");
        };
        assert!(why.contains("--discover=http://"), "{why}");
        let Fact::Unknown(why) = nodes(&mut session, &YUGABYTEDB) else {
            panic!("nodes");
        };
        assert!(
            why.contains("yb_servers() does not exist") && why.contains("gives no answer"),
            "{why}"
        );
        let Fact::Unknown(why) = replication_factor(&mut session, &COCKROACHDB) else {
            panic!("copies");
        };
        assert!(why.contains("syntax error"), "{why}");
    }

    #[test]
    fn rows_of_nodes_are_read_as_the_dialects_ask_for_them() {
        let row = |values: [Option<&str>; 5]| node(values.map(|v| v.map(str::to_owned)).into());
        // Captured (19.1, cluster-replication.txt).
        let first = row([
            Some("1"),
            Some("127.0.0.1:26261"),
            Some("{\"rack\": \"r1\", \"region\": \"local\"}"),
            Some("v19.1.0-alpha.20190219-g30e3ac0fdd"),
            Some("t"),
        ]);
        let first = first.unwrap();
        assert_eq!(
            (first.id.as_deref(), first.is_live),
            (Some("1"), Some(true))
        );
        assert_eq!(first.address, "127.0.0.1:26261");
        assert_eq!(first.locality.as_deref(), Some("rack=r1,region=local"));
        assert_eq!(locality("{}".to_owned()), None);
        // Documented (yb_servers).
        let second = row([None, Some("10.0.1.1:5433"), Some("azure.c.z1"), None, None]);
        assert_eq!(second.unwrap().is_live, None);
        assert_eq!(row([Some("1"), Some(""), None, None, None]), None);
    }

    #[test]
    fn nodes_are_read_from_what_a_real_node_says_over_http() {
        // Captured (19.1, status-nodes-before.json), without its metrics.
        let text = r#"{"nodes": [{"desc": {"nodeId": 1, "address": {"networkField": "tcp",
            "addressField": "127.0.0.1:26257"}, "attrs": {"attrs": []}, "locality": {"tiers": []},
            "ServerVersion": {"majorVal": 2, "minorVal": 1, "patch": 0, "unstable": 8},
            "buildTag": "v19.1.0-alpha.20190219-g30e3ac0fdd"},
            "buildInfo": {"goVersion": "go1.19.8", "tag": "v19.1.0-alpha.20190219-g30e3ac0fdd"},
            "startedAt": "1795289403624042260"}]}"#;
        let nodes = nodes_in_json(text).unwrap();
        let expected = Node {
            id: Some("1".to_owned()),
            address: "127.0.0.1:26257".to_owned(),
            version: Some("v19.1.0-alpha.20190219-g30e3ac0fdd".to_owned()),
            ..Node::default()
        };
        assert_eq!(nodes, [expected]);
        for (text, why) in [
            ("<html>", "expected value"),
            ("{}", "no list"),
            (r#"{"nodes": []}"#, "no node in it"),
            (r#"{"nodes": [{"desc": {}}, 7]}"#, "no node in it"),
        ] {
            let error = nodes_in_json(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_replication_factor_follows_its_word() {
        let text = "ALTER RANGE default CONFIGURE ZONE USING\n\trange_min_bytes = 134217728,\n\
            \tnum_replicas = 5,\n\tconstraints = '[]'";
        assert_eq!(number_behind(text, "num_replicas"), Some(5));
        assert_eq!(number_behind("num_replicas: 3\n", "num_replicas"), Some(3));
        assert_eq!(number_behind("num_replicas = COPY", "num_replicas"), None);
        assert_eq!(number_behind("", "num_replicas"), None);
    }

    #[test]
    fn what_can_be_observed_is_asked_and_what_not_has_a_reason_and_a_way_out() {
        let seen = observables(&mut session(), &POSTGRESQL);
        let of = |name: &str| seen.iter().find(|view| view.what.contains(name)).unwrap();
        assert!(of("pg_stat_activity").can_be_seen);
        assert!(of("pg_stat_wal").can_be_seen);
        let statements = of("pg_stat_statements");
        let why = statements.why_not.as_deref().unwrap();
        assert!(why.contains("does not exist"), "{why}");
        assert!(statements.takes.unwrap().contains("CREATE EXTENSION"));
        let off = of("track_io_timing");
        assert_eq!(off.why_not.as_deref(), Some("the server says no"));
    }
}
