//! A primary that is killed under load, and standbys that have received more or less of it: lost writes are
//! counted exactly. What the killed primary has, once it is started again apart, is the measure.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use pgdyno_drive::receipts::Receipt;
use pgdyno_server::{Server, Standby};
use pgdyno_testkit::link::{Delay, Direction, Link, LinkProxy};
use pgdyno_testkit::postgres_with;
use serde_json::Value;

use crate::child::Running;
use crate::support::{connect, pgdyno, ran, rows};

/// How much later a standby hears of everything.
const LAG: Duration = Duration::from_millis(400);

/// A primary with standbys, of which some hear of everything late.
struct Servers {
    primary: Server,
    standbys: Vec<Server>,
    _links: Vec<LinkProxy>,
}

impl Servers {
    fn start(standbys: &[(&str, bool)]) -> Servers {
        let primary = postgres_with(&[]);
        let mut servers = Servers {
            primary,
            standbys: Vec::new(),
            _links: Vec::new(),
        };
        ran(pgdyno(&["load", "tpcb"]).args(["--url", &servers.primary.address().url()]))
            .expect(0, &[]);
        for (name, is_late) in standbys {
            let mut standby = Standby::named(name);
            if *is_late {
                let socket = servers.primary.address().socket_path();
                let link = Link::to(&*socket).delay(Direction::ToClient, Delay::of(LAG));
                let link = link.start().expect("a port is free");
                standby.via = Some(link.address());
                servers._links.push(link);
            }
            let standby = servers.primary.standby(&standby, &mut |_| {});
            servers.standbys.push(standby.expect("a standby"));
        }
        servers
    }

    fn url(&self) -> String {
        let all = std::iter::once(&self.primary).chain(&self.standbys);
        let (hosts, ports): (Vec<_>, Vec<_>) = all
            .map(|server| {
                let address = server.address();
                (
                    address.socket_dir.display().to_string(),
                    address.port.to_string(),
                )
            })
            .unzip();
        format!(
            "host={} port={} user=postgres dbname=postgres target_session_attrs=read-write",
            hosts.join(","),
            ports.join(",")
        )
    }

    /// Kills the primary under load and promotes this standby; what the trial says of the truth.
    fn fails_over_to(&self, standby: usize) -> (i32, Value) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let json = dir.path().join("run.json");
        let mut run = pgdyno(&[
            "run",
            "tpcb",
            "--receipts",
            "--reconnect",
            "-c",
            "4",
            "-T",
            "6",
        ]);
        run.args(["--continue-on-error", "--url", &self.url()])
            .arg(format!("--json={}", json.display()));
        let running = Running::start(&mut run);
        let mut primary = connect(&self.primary.address().url());
        let count = "SELECT count(*) > 300 FROM pgbench_history";
        while rows(&mut primary, count) != ["t"] {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Longer than the lag, so that what is lost is what came within it.
        std::thread::sleep(LAG);
        self.primary.kill().expect("it runs");
        self.standbys[standby].promote().expect("a standby");
        let ran = running.ended();
        let document = fs::read_to_string(json).expect("written");
        let document: Value = serde_json::from_str(&document).expect("JSON");
        (ran.code.expect("an exit code"), document["truth"].clone())
    }

    /// Receipts that the killed primary has and this standby has not.
    fn only_on_the_primary(&self, standby: usize) -> BTreeSet<Receipt> {
        self.primary.restart().expect("it recovers");
        let receipts = |server: &Server| -> BTreeSet<Receipt> {
            let sql = "SELECT filler FROM pgbench_history WHERE filler IS NOT NULL";
            let rows = rows(&mut connect(&server.address().url()), sql);
            let codes = rows
                .iter()
                .map(|row| row.trim_end().parse().expect("a code"));
            codes.map(Receipt::of).collect()
        };
        let promoted = receipts(&self.standbys[standby]);
        let mut killed = receipts(&self.primary);
        killed.retain(|receipt| !promoted.contains(receipt));
        killed
    }

    /// The trial's lost writes are those of the killed primary's rows that are missing, but for the ones
    /// that nobody was told of.
    fn counts_exactly(&self, standby: usize) {
        let (code, truth) = self.fails_over_to(standby);
        let mut missing = self.only_on_the_primary(standby);
        let unknown = truth["unknown_first"].as_array().expect("a list");
        assert_eq!(truth["unknown"], unknown.len(), "all are listed");
        for unknown in unknown {
            let of = |name: &str| unknown[name].as_u64().expect("a number");
            missing.retain(|receipt| {
                (receipt.client as u64, receipt.number) != (of("client"), of("number"))
            });
        }
        assert!(!missing.is_empty(), "nothing was lost: {truth:#}");
        assert_eq!(truth["lost"], missing.len(), "{truth:#}");
        assert_eq!(truth["failed_landed"], 0, "{truth:#}");
        assert_eq!(code, 1, "lost writes are in the exit code");
        let listed = truth["lost_first"].as_array().expect("a list");
        for lost in listed {
            let of = |name: &str| lost[name].as_u64().expect("a number");
            let is_it = |receipt: &Receipt| {
                (receipt.client as u64, receipt.number) == (of("client"), of("number"))
            };
            assert!(missing.iter().any(is_it), "{lost} is there");
        }
    }
}

#[test]
fn writes_lost_by_an_asynchronous_standby_that_lags_are_counted_exactly() {
    Servers::start(&[("late", true)]).counts_exactly(0);
}

#[test]
#[ignore = "make test-long PART=failover"]
fn failover_to_the_standby_that_has_less_loses_what_the_other_has() {
    let servers = Servers::start(&[("near", false), ("late", true)]);
    servers
        .primary
        .wait_at_commit_for("ANY 1 (near, late)")
        .expect("they stream");
    servers.counts_exactly(1);
}

#[test]
#[ignore = "make test-long PART=failover"]
fn failover_to_the_standby_that_flushed_furthest_loses_nothing() {
    let servers = Servers::start(&[("near", false), ("late", true)]);
    servers
        .primary
        .wait_at_commit_for("ANY 1 (near, late)")
        .expect("they stream");
    let (code, truth) = servers.fails_over_to(0);
    assert_eq!(truth["lost"], 0, "{truth:#}");
    assert!(truth["acknowledged"].as_u64() > Some(300), "{truth:#}");
    assert_eq!(code, 0);
}
