//! From one server of a cluster to all of its nodes as endpoints (`--discover`).

use std::sync::Arc;

use pgdyno_session::{ConnInfo, Session};

use super::dialect::{Dialect, Product};
use super::http::{self, Origin};
use super::target::Target;
use super::{cluster, trouble};
use pgdyno_model::Fact;
use pgdyno_model::document::{Node, TargetKind};
use pgdyno_spec::{Address, Discover, Exit, Failure};

/// The target with all nodes of its cluster that are alive as endpoints, each connected to as
/// `info` says.
///
/// # Errors
/// The cluster, if it is one, does not tell its nodes: why, and the way out.
pub fn all_nodes(target: &Target, info: &ConnInfo, how: &Discover) -> Result<Target, Failure> {
    let mut session = target.connect()?;
    let product = Product::ask(&mut session)
        .map_err(|e| trouble::server(&e, "could not read the server's version"))?;
    let found = nodes(&mut session, product.dialect, how);
    session.close();
    match found {
        Fact::Known(nodes) => {
            let mut found = over(nodes, info, target.kind)?;
            found.discovered = Some(Arc::new((info.clone(), how.clone())));
            Ok(found)
        }
        Fact::Unknown(why) => {
            let text = format!("--discover finds no nodes of {}: {why}", target.title);
            Err(Failure::new(text).hint("or name each node with --url"))
        }
    }
}

/// The nodes of the cluster, as asked.
pub fn nodes(session: &mut Session, dialect: &Dialect, how: &Discover) -> Fact<Vec<Node>> {
    match how {
        Discover::Sql => cluster::nodes(session, dialect),
        Discover::Http(address) => match over_http(address, dialect) {
            Ok(nodes) => Fact::Known(nodes),
            Err(why) => Fact::Unknown(why),
        },
    }
}

/// These nodes as endpoints, but for those that are not alive.
fn over(nodes: Vec<Node>, info: &ConnInfo, kind: TargetKind) -> Result<Target, Failure> {
    let (alive, dead): (Vec<Node>, Vec<Node>) = nodes
        .into_iter()
        .partition(|node| node.is_live != Some(false));
    let mut infos = Vec::new();
    for node in &alive {
        let Some((host, port)) = place(&node.address) else {
            let text = format!(
                "--discover: a node's address is not understood: {}",
                node.address
            );
            return Err(Failure::new(text).hint("name each node with --url"));
        };
        infos.push(info.at(host, port));
    }
    if infos.is_empty() {
        let text = "--discover: the cluster reports no live node";
        return Err(Failure::with(Exit::Connection, text));
    }
    let mut found = Target::over(&infos, kind).map_err(|e| trouble::candidates(&e))?;
    found.warnings.extend(dead.iter().map(|node| {
        let id = node.id.as_deref().unwrap_or("without a number");
        format!(
            "node {id} at {} is left out: the cluster reports it as not alive",
            node.address
        )
    }));
    Ok(found)
}

fn over_http(address: &Address, dialect: &Dialect) -> Result<Vec<Node>, String> {
    let Some(path) = dialect.cluster.nodes_over_http else {
        return Err(format!(
            "pgdyno cannot discover nodes over HTTP for {}: leave out the address",
            dialect.title
        ));
    };
    let origin = Origin::parse(address.secret())?;
    let answer = origin.get(path, None, http::LIMIT)?;
    cluster::nodes_in_json(&answer).map_err(|e| format!("{origin}{path}: {e}"))
}

/// Host and port of `host:port`; an IPv6 address is in brackets.
pub(super) fn place(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host
        .strip_prefix('[')
        .map_or(Some(host), |rest| rest.strip_suffix(']'))?;
    let port = port.parse().ok().filter(|port| *port > 0)?;
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::{self};
    use pgdyno_session::{Env, Given, resolve};
    use pgdyno_spec::TargetSpec;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        assert_eq!(place("127.0.0.1:26257"), Some(("127.0.0.1", 26257)));
        assert_eq!(place("[::1]:5433"), Some(("::1", 5433)));
        assert_eq!(place("db1.example:5433"), Some(("db1.example", 5433)));
        for strange in ["db1", ":5433", "[::1:5433", "db1:", "db1:0", "db1:70000"] {
            assert_eq!(place(strange), None, "{strange}");
        }
    }

    #[test]
    fn all_nodes_that_are_alive_become_endpoints_with_the_rest_as_it_was_given() {
        let given = "host=db1 port=26257 user=root dbname=bench sslmode=disable";
        let info = resolve(&Given::target(given), &Env::empty()).unwrap();
        let node = |id: u64, address: &str, is_live: Option<bool>| Node {
            id: Some(id.to_string()),
            address: address.to_owned(),
            is_live,
            ..Node::default()
        };
        let nodes = vec![
            node(1, "127.0.0.1:26257", Some(true)),
            node(2, "127.0.0.1:26258", Some(false)),
            node(3, "[::1]:26259", None),
        ];
        let found = over(nodes, &info, TargetKind::Named).unwrap();
        let names: Vec<&str> = found.endpoints.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["127.0.0.1:26257", "[::1]:26259"]);
        assert!(found.title.starts_with("database bench on 2 endpoints"));
        let login = &found.endpoints[1].candidates[0].login;
        assert_eq!(login.user, "root");
        assert_eq!(
            found.warnings,
            ["node 2 at 127.0.0.1:26258 is left out: the cluster reports it as not alive"]
        );
        let refused = |nodes| over(nodes, &info, TargetKind::Named).map(drop).unwrap_err();
        let failure = refused(vec![node(1, "db1", None)]).to_string();
        assert!(failure.contains("is not understood: db1"), "{failure}");
        let failure = refused(vec![node(1, "db1:1", Some(false))]);
        assert_eq!(failure.exit, Exit::Connection);
        assert!(failure.message.contains("no live node"));
    }

    #[test]
    fn on_postgresql_there_is_nothing_to_discover_and_it_says_so() {
        let url = pgdyno_testkit::postgres().address().url();
        for (how, why) in [
            (Discover::Sql, "PostgreSQL has no list of cluster nodes"),
            (
                Discover::Http("http://db1:1".into()),
                "cannot discover nodes over HTTP",
            ),
        ] {
            let wanted = TargetSpec {
                discover: Some(how),
                ..TargetSpec::at(url.clone())
            };
            let failure = open::existing(&wanted).map(drop).unwrap_err().to_string();
            assert!(failure.contains(why), "{failure}");
            assert!(failure.contains("--url"), "{failure}");
        }
    }
}
