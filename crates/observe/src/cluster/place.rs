//! Where a node's HTTP port is: its host as clients reach it, and the port that it was started with,
//! where the cluster tells.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pgdyno_session::Session;

use pgdyno_database::admin;
use pgdyno_database::dialect::Dialect;
use pgdyno_database::dialect::metrics::Page;
use pgdyno_database::open::Target;
use pgdyno_model::Fact;
use pgdyno_model::document::Facts;

const CONNECT_LIMIT: Duration = Duration::from_secs(2);
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// A node, as clients know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// For series: `node 1`, or its address where nodes have no numbers.
    pub label: String,
    pub id: Option<String>,
    pub address: String,
}

/// The nodes of the cluster; where it does not tell them, those that are named.
pub fn nodes(target: &Target, facts: &Facts) -> Vec<Node> {
    let of_cluster = match &facts.nodes {
        Fact::Known(nodes) if !nodes.is_empty() => nodes,
        _ => {
            let named = target.endpoints.iter().map(|endpoint| Node {
                label: endpoint.name.clone(),
                id: None,
                address: endpoint.name.clone(),
            });
            return named.collect();
        }
    };
    of_cluster.iter().map(Node::of).collect()
}

impl Node {
    /// As the cluster lists it.
    pub fn of(node: &pgdyno_model::document::Node) -> Self {
        Self {
            label: match &node.id {
                Some(id) => format!("node {id}"),
                None => node.address.clone(),
            },
            id: node.id.clone(),
            address: node.address.clone(),
        }
    }
}

/// Asks the cluster once, for all pages of all nodes, how nodes were started.
#[derive(Clone)]
pub struct Places(Arc<Inner>);

struct Inner {
    target: Target,
    dialect: &'static Dialect,
    /// The words of each node's command line, by its number.
    command_lines: OnceLock<BTreeMap<String, Vec<String>>>,
}

impl Places {
    pub fn new(target: &Target, dialect: &'static Dialect) -> Self {
        Self(Arc::new(Inner {
            target: target.clone(),
            dialect,
            command_lines: OnceLock::new(),
        }))
    }

    /// Where a node's page is: `http://host:port`. Where the cluster does not tell the port, it is
    /// taken to be the usual one.
    ///
    /// # Errors
    /// The node's address is none, as a clause.
    pub fn of(&self, node: &Node, page: &Page) -> Result<String, String> {
        let lines = self.0.command_lines.get_or_init(|| self.0.ask());
        let line = node.id.as_ref().and_then(|id| lines.get(id));
        let option = line.and_then(|line| option(line, page.port_options));
        http_address(&node.address, option, page.port)
    }
}

impl Inner {
    /// What is not reported is no failure: then ports are the usual ones.
    fn ask(&self) -> BTreeMap<String, Vec<String>> {
        let Some(query) = self.dialect.metrics.command_lines else {
            return BTreeMap::new();
        };
        let rows = self.target.endpoints.iter().find_map(|endpoint| {
            let mut session = Session::connect(&endpoint.candidates, Some(CONNECT_LIMIT)).ok()?;
            session.set_answer_timeout(Some(ANSWER_LIMIT));
            let rows = admin::rows(&mut session, query).ok();
            session.close();
            rows
        });
        let line = |row: Vec<Option<String>>| {
            let mut row = row.into_iter();
            let id = row.next().flatten()?;
            let words = row.nth(1).flatten()?;
            Some((id, serde_json::from_str(&words).ok()?))
        };
        rows.unwrap_or_default()
            .into_iter()
            .filter_map(line)
            .collect()
    }
}

/// What follows one of these options.
fn option<'a>(words: &'a [String], options: &[&str]) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| {
        let option = options.iter().find(|option| word.starts_with(**option))?;
        match word[option.len()..].strip_prefix('=') {
            Some(value) => Some(value),
            None if word.len() == option.len() => words.get(at + 1).map(String::as_str),
            None => None,
        }
    })
}

/// The address of a node's HTTP port: on the host where clients reach it, unless the node names
/// another that can be reached from elsewhere.
fn http_address(of_clients: &str, option: Option<&str>, usual: u16) -> Result<String, String> {
    let unknown = || format!("the node's address is not understood: {of_clients}");
    let (host, _) = of_clients.rsplit_once(':').ok_or_else(unknown)?;
    if host.is_empty() || host.starts_with('/') {
        return Err(unknown());
    }
    let (own_host, port) = match option {
        None => ("", usual),
        Some(option) => {
            let (own_host, port) = option.rsplit_once(':').unwrap_or(("", option));
            // `host:` is the host with the usual port.
            let port = if port.is_empty() {
                Ok(usual)
            } else {
                port.parse()
            };
            (
                own_host,
                port.map_err(|_| format!("the node's HTTP port is not understood: {option}"))?,
            )
        }
    };
    let is_everybodys = !is_unspecified(own_host) && (!is_loopback(own_host) || is_loopback(host));
    let host = if is_everybodys { own_host } else { host };
    Ok(format!("http://{host}:{port}"))
}

fn ip(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

fn is_unspecified(host: &str) -> bool {
    host.is_empty() || ip(host).is_some_and(|ip| ip.is_unspecified())
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || ip(host).is_some_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_database::open;
    use pgdyno_spec::TargetSpec;

    #[test]
    fn a_nodes_http_port_is_where_it_was_started_with_seen_from_clients() {
        let of = |clients, option| http_address(clients, option, 8080).unwrap();
        for (clients, option, expected) in [
            ("db1:26257", None, "http://db1:8080"),
            ("db1:26257", Some(":8181"), "http://db1:8181"),
            ("db1:26257", Some("8181"), "http://db1:8181"),
            ("db1:26257", Some("0.0.0.0:8181"), "http://db1:8181"),
            ("db1:26257", Some("[::]:8181"), "http://db1:8181"),
            ("db1:26257", Some("admin1:8181"), "http://admin1:8181"),
            ("db1:26257", Some("admin1:"), "http://admin1:8080"),
            // That would be this host's loopback.
            ("db1:26257", Some("localhost:8181"), "http://db1:8181"),
            (
                "127.0.0.1:26301",
                Some("127.0.0.1:8301"),
                "http://127.0.0.1:8301",
            ),
            ("[::1]:26257", None, "http://[::1]:8080"),
        ] {
            assert_eq!(of(clients, option), expected, "{clients} {option:?}");
        }
        for (clients, option) in [
            ("db1", None),
            (":26257", None),
            ("/tmp/.s.PGSQL.5432:1", None),
            ("db1:26257", Some("admin1:http")),
        ] {
            assert!(http_address(clients, option, 8080).is_err(), "{clients}");
        }
    }

    #[test]
    fn an_option_has_its_value_behind_it() {
        let words = [
            "cockroach",
            "start",
            "--http-addr=:1",
            "--http-port",
            "2",
            "--http-portx=3",
        ];
        let words = words.map(str::to_owned);
        assert_eq!(option(&words, &["--http-addr"]), Some(":1"));
        assert_eq!(option(&words, &["--http-port"]), Some("2"));
        assert_eq!(option(&words, &["--listen-addr"]), None);
        assert_eq!(option(&words[..4], &["--http-port"]), None);
    }

    #[test]
    fn nodes_are_those_of_the_cluster_or_those_that_are_named() {
        let target = open::existing(&TargetSpec::at("postgresql://me@127.0.0.1:1,127.0.0.1:2/d"));
        let target = target.map(Option::unwrap).unwrap_or_else(|e| panic!("{e}"));
        let mut facts = Facts::unknown("not requested");
        let named = nodes(&target, &facts);
        assert_eq!(named.len(), 2);
        assert_eq!(named[1].label, "127.0.0.1:2");
        let node = |id: Option<&str>| pgdyno_model::document::Node {
            id: id.map(str::to_owned),
            address: "db1:5433".to_owned(),
            ..Default::default()
        };
        facts.nodes = Fact::Known(vec![node(Some("7")), node(None)]);
        let labels: Vec<String> = nodes(&target, &facts)
            .into_iter()
            .map(|n| n.label)
            .collect();
        assert_eq!(labels, ["node 7", "db1:5433"]);
    }
}
