//! The configuration files of docs/targets.md ("Behind a balancer"), in front of two real servers.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command};

use serde_json::Value;

use crate::child::wait_until;
use crate::support::{pgdyno, ran};

/// Ends it with its test.
struct Balancer(Child);

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The file of that name in the recipe.
fn recipe(name: &str) -> String {
    let text = include_str!("../../../../../docs/targets.md");
    let (_, rest) = text.split_once(&format!("# {name}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[test]
fn haproxy_as_in_the_recipe_deals_sessions_and_hides_a_server_that_is_gone() {
    let name = "haproxy_as_in_the_recipe_deals_sessions_and_hides_a_server_that_is_gone";
    if let Err(reason) = pgdyno_testkit::debian(&["haproxy"], &["haproxy"]) {
        pgdyno_testkit::skip!(name, reason);
    }
    let servers = [(); 2].map(|()| pgdyno_testkit::postgres_with(&[]));
    let ports = servers.each_ref().map(|server| server.address().port);
    let [port] = pgdyno_testkit::free_ports();
    let gone = pgdyno_testkit::closed_address();
    let config = recipe("haproxy.cfg")
        .replace("0.0.0.0:6432", &format!("127.0.0.1:{port}"))
        .replace("10.0.0.1:5432", &format!("127.0.0.1:{}", ports[0]))
        .replace("10.0.0.2:5432", &format!("127.0.0.1:{}", ports[1]))
        .replace("10.0.0.3:5432", &gone.to_string());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("haproxy.cfg");
    fs::write(&path, config).unwrap();
    let path_var = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
    let mut haproxy = Command::new("haproxy");
    haproxy.args(["-f".as_ref(), path.as_os_str()]);
    let started = haproxy.env("PATH", path_var).spawn();
    let _balancer = Balancer(started.unwrap());
    let url = format!("postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable");
    let target = || {
        ran(&mut pgdyno(&[
            "target",
            &url,
            "--connections",
            "6",
            "--json",
        ]))
    };
    wait_until("sessions reach both servers and none the third", || {
        let ran = target();
        let Ok(document) = serde_json::from_str::<Value>(&ran.stdout) else {
            return false;
        };
        let connections = document["endpoints"][0]["connections"].as_array();
        let nodes = connections.into_iter().flatten();
        let nodes: BTreeSet<String> = nodes.map(|met| met["node"].to_string()).collect();
        let wanted = ports.map(|port| format!("\"127.0.0.1:{port}\""));
        ran.code == Some(0) && nodes == BTreeSet::from(wanted)
    });
}
