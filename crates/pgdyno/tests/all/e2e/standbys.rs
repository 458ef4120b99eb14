//! Scripts that read from standbys, and how stale their reads are.

use std::fs;
use std::time::Duration;

use pgdyno_server::{Server, Setting, Standby};
use pgdyno_testkit::postgres_with;
use serde_json::Value;

use crate::support::{notebook, pgdyno, ran};

/// A primary and standbys that each replay so much later.
struct Servers {
    primary: Server,
    standbys: Vec<Server>,
}

impl Servers {
    fn start(delays: &[Duration]) -> Servers {
        let primary = postgres_with(&[]);
        ran(pgdyno(&["load", "tpcb"]).args(["--url", &primary.address().url()])).expect(0, &[]);
        let standby = |(number, delay): (usize, &Duration)| {
            let standby = Standby::named(&format!("standby_{number}"));
            let standby = primary.standby(&standby, &mut |_| {}).expect("a standby");
            let delay = format!("{}ms", delay.as_millis());
            let delay = Setting::new("recovery_min_apply_delay", &delay).expect("a setting");
            primary
                .wait_until_has_all(&format!("standby_{number}"), &standby)
                .expect("it streams");
            standby.set(&[delay]).expect("it is reloaded");
            standby
        };
        let standbys = delays.iter().enumerate().map(standby).collect();
        Servers { primary, standbys }
    }

    fn dir(server: &Server) -> String {
        server.address().socket_dir.display().to_string()
    }

    fn url(&self) -> String {
        let all = || std::iter::once(&self.primary).chain(&self.standbys);
        let hosts: Vec<String> = all().map(Self::dir).collect();
        let ports: Vec<String> = all().map(|one| one.address().port.to_string()).collect();
        let (hosts, ports) = (hosts.join(","), ports.join(","));
        format!("host={hosts} port={ports} user=postgres dbname=postgres")
    }

    fn reads(&self) -> String {
        let standbys: Vec<String> = self.standbys.iter().map(Self::dir).collect();
        format!("reads={}", standbys.join(","))
    }

    /// Runs it with roles; gives the document.
    fn run(&self, args: &[&str]) -> Value {
        let mut run = pgdyno(&["run"]);
        run.args(args).args(["--json", "--url", &self.url()]);
        let ran = ran(run.args(["--endpoint-role", &self.reads()])).expect(0, &[]);
        serde_json::from_str(&ran.stdout).expect("JSON")
    }

    /// The staleness of a trial beside a little load.
    fn staleness(&self, interval: &str, duration: &str) -> Value {
        let args = ["tpcb", "-c", "1", "-R", "20", "-T", duration];
        self.run(&[&args[..], &["--staleness", interval]].concat())["staleness"].clone()
    }
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn each_script_goes_where_its_role_is_and_a_client_has_a_connection_for_each() {
    let servers = Servers::start(&[Duration::ZERO]);
    let dir = tempfile::tempdir().expect("temporary directory");
    let script = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    // Each fails where it does not belong.
    let is_standby = "SELECT pg_is_in_recovery() AS standby \\gset\n\\if not :standby\n\
                      \\error 'a primary'\n\\endif\n";
    let reads = script("reads.sql", is_standby);
    let writes = script(
        "writes.sql",
        "UPDATE pgbench_branches SET bbalance = bbalance + 1;\n",
    );
    let role = format!("{reads}=reads");
    let common = ["-c", "3", "-t", "40", "--script-role", &role];
    for more in [&[][..], &["-C"], &["-R", "2000"]] {
        let document = servers.run(&[&[&*reads, &*writes], &common[..], more].concat());
        let scripts = document["measured"]["scripts"].as_array().expect("scripts");
        let committed: Vec<u64> = scripts
            .iter()
            .map(|one| number(&one["committed"]))
            .collect();
        assert_eq!(committed.iter().sum::<u64>(), 120, "{committed:?}");
        let endpoints = document["endpoints"].as_array().expect("endpoints");
        let at = |server: &Server| {
            let dir = Servers::dir(server);
            let mut found = endpoints.iter();
            let found = found.find(|one| {
                one["name"]
                    .as_str()
                    .is_some_and(|name| name.starts_with(&dir))
            });
            found.expect("its figures").clone()
        };
        let (primary, standby) = (at(&servers.primary), at(&servers.standbys[0]));
        assert_eq!(number(&standby["committed"]), committed[0]);
        assert_eq!(number(&primary["committed"]), committed[1]);
        for endpoint in [&primary, &standby] {
            let connections = number(&endpoint["connections"]);
            let want = if more.contains(&"-C") {
                number(&endpoint["committed"])
            } else {
                3
            };
            assert_eq!(connections, want, "{endpoint}");
            assert_eq!(number(&endpoint["clients"]), 3);
        }
    }
}

#[test]
fn roles_that_cannot_be_are_refused_with_the_way_out() {
    let servers = Servers::start(&[Duration::ZERO]);
    let reads = servers.reads();
    for (args, want) in [
        (
            vec!["--endpoint-role", "reads=db9"],
            "there is no endpoint db9",
        ),
        (vec!["--endpoint-role", &reads], "no script goes there"),
        (vec!["--endpoint-role", "reads"], "is not ROLE=HOST"),
        (vec!["--script-role", "tpcb=reads"], "no endpoint has it"),
        (
            vec!["--staleness", "5ms"],
            "no endpoint has a role to read in",
        ),
        (
            vec!["--client-stamps"],
            "--client-stamps is part of how staleness is measured",
        ),
        (
            vec![
                "--client-stamps",
                "--staleness",
                "5ms",
                "--endpoint-role",
                &reads,
            ],
            "a client's session is judged where it writes and reads",
        ),
        (
            vec!["--endpoint-role", &reads, "--script-role", "other=reads"],
            "there is no script other",
        ),
        (
            vec!["--endpoint-role", &reads, "--script-role", "tpcb=reads"],
            "is a standby, which takes no writes",
        ),
        (
            vec![
                "--endpoint-role",
                &reads,
                "--script-role",
                "tpcb=reads",
                "--receipts",
            ],
            "would write a receipt where it reads",
        ),
    ] {
        let mut run = pgdyno(&["run", "tpcb", "-t", "1", "--url", &servers.url()]);
        ran(run.args(&args)).expect(2, &[want]);
    }
}

#[test]
fn a_standby_that_replays_late_is_as_stale_as_its_delay_and_the_primary_never() {
    let delay = Duration::from_millis(300);
    let servers = Servers::start(&[Duration::ZERO, delay]);
    let reported = servers.staleness("5ms", "5s");
    let endpoints = reported["endpoints"].as_array().expect("endpoints");
    let [control, near, late] = endpoints.as_slice() else {
        panic!("three servers: {reported:#}");
    };
    assert_eq!(
        (&control["role"], &late["role"]),
        (&Value::Null, &"reads".into())
    );
    for count in ["stale", "own_unseen", "went_back"] {
        assert_eq!(control[count], 0, "{control:#}");
    }
    assert!(
        number(&control["reads"]) > 50 && number(&near["reads"]) > 50,
        "{reported:#}"
    );
    // A stamp is hidden for the whole delay: reads within it have seen every age below.
    let max_us = number(&late["staleness"]["max_us"]);
    assert!(max_us > 200_000, "{late:#}");
    assert!(
        number(&late["stale"]) > number(&late["reads"]) / 2,
        "{late:#}"
    );
    assert!(number(&late["own_unseen"]) > 0 && !late["own_unseen_worst"].is_null());
    // The same session reads at both by turns.
    assert!(number(&late["went_back"]) > 0, "{late:#}");
    assert_eq!(late["went_back_worst"]["at"], near["name"]);
    let by_position = &late["replay"]["by_position"];
    assert!(number(&by_position["max_us"]) > 200_000, "{late:#}");
    let mut primary = crate::support::connect(&servers.primary.address().url());
    let left = crate::support::rows(&mut primary, "SELECT to_regclass('pgdyno_stamps') IS NULL");
    assert_eq!(left, ["t"], "the table is gone");
}

#[test]
fn the_clients_own_sessions_are_judged_by_their_stamps() {
    let servers = Servers::start(&[Duration::from_millis(300)]);
    let dir = tempfile::tempdir().expect("temporary directory");
    let script = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let write = script(
        "write.sql",
        "UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = :client_id + 1;\n",
    );
    let late = script("late.sql", "BEGIN;\nSELECT 1;\nEND;\n");
    let near = script("near.sql", "SELECT 2;\n");
    let role = format!("{late}=reads");
    let common = [
        "-c",
        "3",
        "-j",
        "2",
        "-R",
        "300",
        "-T",
        "2",
        "--staleness",
        "20ms",
    ];
    for mode in ["simple", "prepared"] {
        let more = [
            "--client-stamps",
            "--script-role",
            &role,
            "--query-mode",
            mode,
        ];
        let document = servers.run(&[&[&*write, &*late, &*near], &common[..], &more].concat());
        let reported = &document["staleness"]["clients"];
        assert_eq!(reported["sessions"], 3);
        assert!(number(&reported["written"]) > 50, "{reported:#}");
        let endpoints = reported["endpoints"].as_array().expect("endpoints");
        let [control, late] = endpoints.as_slice() else {
            panic!("the primary and the standby: {reported:#}");
        };
        assert_eq!(
            (&control["role"], &late["role"]),
            (&Value::Null, &"reads".into())
        );
        for count in ["stale", "own_unseen", "went_back"] {
            assert_eq!(control[count], 0, "{control:#}");
        }
        assert!(number(&control["after_write"]) > 50, "{control:#}");
        // A write is hidden for the whole delay, and what the primary has shown goes back there.
        assert!(number(&late["staleness"]["max_us"]) > 200_000, "{late:#}");
        for (found, of) in [("own_unseen", "after_write"), ("went_back", "after_read")] {
            let (found, of) = (number(&late[found]), number(&late[of]));
            assert!(0 < found && found <= of, "{late:#}");
        }
        assert_eq!(late["went_back_worst"]["at"], control["name"]);
        let buckets = late["histogram"].as_array().expect("buckets");
        let counted: u64 = buckets.iter().map(|bucket| number(&bucket["reads"])).sum();
        assert_eq!(counted, number(&late["reads"]));
        let seconds = late["seconds"].as_array().expect("seconds");
        let counted: u64 = seconds.iter().map(|second| number(&second["reads"])).sum();
        assert_eq!(counted, number(&late["reads"]));
    }
    let mut primary = crate::support::connect(&servers.primary.address().url());
    let left = "SELECT to_regclass('pgdyno_client_stamps') IS NULL";
    assert_eq!(
        crate::support::rows(&mut primary, left),
        ["t"],
        "the table is gone"
    );
}

#[test]
fn a_lost_standby_is_counted_and_a_missing_right_to_write_is_reported() {
    let mut servers = Servers::start(&[Duration::ZERO]);
    let mut primary = crate::support::connect(&servers.primary.address().url());
    let sql = "CREATE ROLE looks LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC";
    crate::support::rows(&mut primary, sql);
    let dir = tempfile::tempdir().expect("temporary directory");
    let select = dir.path().join("select.sql");
    fs::write(&select, "SELECT 1;\n").expect("written");
    let url = servers.url().replace("user=postgres", "user=looks");
    let slob = "run slob -t 1 --staleness 5ms --client-stamps --url";
    let mut run = pgdyno(&[&slob.split(' ').collect::<Vec<_>>()[..], &[&url]].concat());
    let run = run.args(["--endpoint-role", &servers.reads()]);
    ran(run).expect(2, &["stamps do not go with storage accounting"]);
    let mut run = pgdyno(&["run", "-t", "1", "--staleness", "5ms", "--url", &url]);
    let run = run.args(["--endpoint-role", &servers.reads()]).arg(&select);
    let want = [
        "could not make the table pgdyno_stamps",
        "may create a table",
    ];
    ran(run).expect(1, &want);

    let gone = servers.standbys.pop().expect("a standby");
    let all = Servers {
        primary: servers.primary,
        standbys: vec![gone],
    };
    let (url, reads) = (all.url(), all.reads());
    let Servers {
        primary: _kept,
        mut standbys,
    } = all;
    let document = std::thread::scope(|scope| {
        let trial = scope.spawn(|| {
            let mut run = pgdyno(&["run", "-c", "1", "-R", "20", "-T", "3", "--json"]);
            run.args([
                "--staleness",
                "5ms",
                "--url",
                &url,
                "--endpoint-role",
                &reads,
            ]);
            let ran = ran(run.arg(&select)).expect(0, &[]);
            serde_json::from_str::<Value>(&ran.stdout).expect("JSON")
        });
        let is_there = "SELECT to_regclass('pgdyno_stamps') IS NOT NULL";
        while crate::support::rows(&mut primary, is_there) != ["t"] {
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(standbys.pop());
        trial.join().expect("the trial")
    });
    let standby = &document["staleness"]["endpoints"][1];
    assert!(number(&standby["failed"]) > 0, "{standby:#}");
    assert!(standby["error"].is_string(), "{standby:#}");
}

#[test]
fn the_private_pair_measures_staleness_in_one_command_and_the_notebook_keeps_it() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let store = notebook::at(&dir.path().join("notebook"));
    let store = store.display().to_string();
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let line = "run tpcb --pg-standby async --staleness 5ms -T 3 --pg-set fsync=off --pg-bindir";
    let mut run = pgdyno(&line.split(' ').collect::<Vec<_>>());
    ran(run.args([&bindir, "--store", &store])).expect(0, &["staleness of reads", "control: "]);
    ran(&mut pgdyno(&["show", "1", "--store", &store])).expect(0, &["reads: ", "stamps "]);
}

#[test]
#[ignore = "make test-long PART=standbys"]
fn a_standby_that_is_promoted_or_lags_on_purpose_is_measured_in_the_laboratory() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let pack = dir.path().join("pack");
    let copied = ["pack", "show", "tpcb", "--to", &pack.display().to_string()];
    ran(&mut pgdyno(&copied)).expect(0, &[]);
    let look =
        "\\set aid random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
    fs::write(pack.join("look.sql"), look).expect("written");
    let manifest = fs::read_to_string(pack.join("pack.toml")).expect("read");
    let script = "[[script]]\nname = \"look\"\nfile = \"look.sql\"\nrole = \"reads\"\n\n[[script]]";
    let manifest = manifest.replacen("[[script]]", script, 1);
    fs::write(pack.join("pack.toml"), manifest).expect("written");
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    for (with, replication) in [("promotion", "async"), ("lagging-standby", "sync")] {
        let store = notebook::at(&dir.path().join(with));
        let store = store.display().to_string();
        let line = "-c 2 -R 100 --endpoint-role reads=standby --staleness 5ms --client-stamps --no-receipts \
                    --before 3s --for 3s --after 3s --repeat 1 --pg-set fsync=off";
        let mut lab = pgdyno(&["lab", "disturb", &pack.display().to_string()]);
        lab.args(line.split_whitespace())
            .args(["--with", with, "--pg-standby", replication])
            .args(["--pg-bindir", &bindir, "--store", &store]);
        ran(&mut lab).expect(0, &[]);
        for trial in ["1", "2"] {
            let shown = ran(&mut pgdyno(&["show", trial, "--json", "--store", &store]));
            let shown = shown.expect(0, &[]).stdout;
            let document: Value = serde_json::from_str(&shown).expect("JSON");
            let reported = &document["staleness"];
            let list = |of: &Value| of["endpoints"].as_array().expect("endpoints").clone();
            let all = [list(reported), list(&reported["clients"])].concat();
            let (control, reads): (Vec<_>, Vec<_>) =
                all.iter().partition(|one| one["role"].is_null());
            for control in control {
                assert_eq!(control["stale"], 0, "{with}: {control:#}");
            }
            for reads in reads {
                assert!(number(&reads["reads"]) > 50, "{with}: {reads:#}");
                // A primary that was promoted a while ago is not behind.
                if let Some(behind) = reads["replay"]["by_position"]["max_us"].as_u64() {
                    assert!(behind < 4_000_000, "{with}: {reads:#}");
                }
            }
        }
    }
}

#[test]
#[ignore = "make test-long PART=standbys"]
fn staleness_is_within_10_ms_of_the_delay_and_of_the_replay_position() {
    for delay_ms in [200, 1000] {
        let servers = Servers::start(&[Duration::from_millis(delay_ms)]);
        let reported = servers.staleness("2ms", "20s");
        let late = &reported["endpoints"][1];
        let p50 = |of: &Value| number(&of["p50_us"]) as f64 / 1000.0;
        let staleness = p50(&late["staleness"]);
        let by_position = p50(&late["replay"]["by_position"]);
        let by_timestamp = p50(&late["replay"]["by_timestamp"]);
        println!(
            "delay {delay_ms} ms: staleness p50 {staleness:.1}, by position {by_position:.1}, by timestamp {by_timestamp:.1}"
        );
        for measured in [staleness, by_position, by_timestamp] {
            assert!((measured - delay_ms as f64).abs() <= 10.0, "{reported:#}");
        }
    }
}
