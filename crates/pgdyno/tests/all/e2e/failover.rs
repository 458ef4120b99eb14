//! A primary that is killed under load, and standbys that have received more or less of it: lost writes are
//! counted exactly. What the killed primary has, once it is started again apart, is the measure.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use pgdyno_drive::receipts::Receipt;
use pgdyno_link::{Delay, Direction, Link, LinkProxy};
use pgdyno_server::{Server, Standby};
use pgdyno_testkit::postgres_with;
use serde_json::Value;

use crate::child::Running;
use crate::support::{connect, notebook, pgdyno, ran, rows};

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
            "-R",
            "300",
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
    /// without a message to the client.
    fn counts_exactly(&self, standby: usize) {
        let (code, truth) = self.fails_over_to(standby);
        let mut missing = self.only_on_the_primary(standby);
        let unknown = truth["in_doubt_first"].as_array().expect("a list");
        assert_eq!(truth["in_doubt"], unknown.len(), "all are listed");
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

#[test]
fn lab_failover_kills_promotes_and_rebuilds_its_own_pair_and_gives_a_table_and_a_page() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let store = notebook::at(&dir.path().join("notebook"));
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let mut lab = pgdyno(&[
        "lab", "failover", "--sync", "--repeat", "2", "-c", "4", "-R", "100",
    ]);
    lab.args([
        "--before",
        "3s",
        "--after",
        "8s",
        "--json=lab.json",
        "--pg-bindir",
        &bindir,
    ])
    .args(["--pg-set", "fsync=off"])
    .env("PGDYNO_STORE", &store)
    .current_dir(dir.path());
    let ran = ran(&mut lab).expect(0, &["pgdyno:failover", "No lost writes: all "]);
    let lab = fs::read_to_string(dir.path().join("lab.json")).expect("written");
    let lab: Value = serde_json::from_str(&lab).expect("JSON");
    let target = &lab["targets"][0];
    let title = target["title"].as_str().expect("a title");
    assert!(title.contains("and its synchronous standby"), "{title}");
    let repeats = target["repeats"].as_array().expect("repeats");
    assert_eq!(repeats.len(), 2, "{}", ran.stdout);
    for repeat in repeats {
        assert_eq!(repeat["counts"], true, "{repeat:#}");
        let truth = &repeat["truth"];
        assert!(truth["acknowledged"].as_u64() > Some(300), "{truth:#}");
        assert_eq!(truth["lost"], 0, "{truth:#}");
        let figures = &repeat["figures"];
        assert!(figures["first_error_us"].is_u64(), "{figures:#}");
        assert!(figures["first_success_us"].is_u64(), "{figures:#}");
        // Errors by kind and endpoint are those of the time line: those of the primary that died, and of
        // the standby that took no writes yet.
        let course = &figures["course"];
        let sum = |of: &Value| -> u64 {
            of.as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_u64)
                .sum()
        };
        let kinds = course["errors_by"].as_array().expect("kinds");
        let counts = kinds.iter().map(|kind| kind["count"].as_u64().unwrap());
        assert_eq!(counts.sum::<u64>(), sum(&course["errors"]), "{course:#}");
        let of = |code: &'static str| kinds.iter().filter(move |kind| kind["code"] == code);
        let died = of("connection-refused")
            .map(|kind| &kind["endpoint"])
            .next();
        let lost = of("connection-lost").find(|kind| Some(&kind["endpoint"]) == died);
        let lost = lost.unwrap_or_else(|| panic!("{kinds:#?}"));
        let seconds = lost["seconds"].as_array().unwrap();
        assert!(
            (2_500_000..6_000_000).contains(&seconds[0][0].as_u64().unwrap()),
            "{lost:#}"
        );
        let committed = course["endpoints"].as_array().expect("endpoints");
        assert_eq!(committed.len(), 2, "{course:#}");
        assert!(
            committed.iter().all(|it| sum(&it["committed"]) > 100),
            "{committed:#?}"
        );
        // A quick failover need not be an outage for a client; those for which it was are all listed.
        let stalled = repeat["clients_stalled"].as_u64();
        assert!(stalled.is_some_and(|count| count <= 4), "{repeat:#}");
        assert_eq!(
            repeat["clients_stalls"],
            repeat["clients"].as_array().unwrap().len()
        );
    }
    let mut report = pgdyno(&["report", "lab-failover", "-o", "page.html"]);
    let report = report.env("PGDYNO_STORE", &store).current_dir(dir.path());
    crate::support::ran(report).expect(0, &[]);
    let page = crate::support::document_of(&dir.path().join("page.html"));
    assert!(page.to_string().contains("No lost writes"), "{page:#}");
}

#[test]
fn lab_failover_prints_its_experiment_with_the_way_to_run_it() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let printed = pgdyno(&["lab", "failover", "--full", "--sync", "--print"]).output();
    let printed = crate::support::ended(printed.expect("it runs")).expect(
        0,
        &[
            "--allow-shell --pg-standby sync",
            "during = \"pgdyno:failover\"",
            "receipts = true",
        ],
    );
    fs::write(dir.path().join("mine.toml"), printed.stdout).expect("written");
    let mut plan = pgdyno(&["sweep", "mine.toml", "--dry-run", "--pg-standby", "sync"]);
    crate::support::ran(plan.current_dir(dir.path())).expect(0, &["12 trials"]);
}

#[test]
fn a_failover_without_a_pair_and_a_pair_with_a_url_are_refused() {
    let alone = pgdyno(&["run", "tpcb", "-R", "10", "--during", "pgdyno:failover"]).output();
    crate::support::ended(alone.expect("it runs")).expect(2, &["--pg-standby async"]);
    let url = "postgresql://127.0.0.1:1/x";
    let other = pgdyno(&["run", "tpcb", "--pg-standby", "sync", "--url", url]).output();
    let refused = crate::support::ended(other.expect("it runs"));
    refused.expect(
        2,
        &["--pg-standby is for the private server", "leave --url out"],
    );
}
