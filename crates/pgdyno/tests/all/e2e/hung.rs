//! A server that hangs: its processes are stopped, connections are taken, and nothing is answered any more.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use pgdyno_link::{Direction, How, Link};
use serde_json::Value;

use crate::child::{Running, wait_until};
use crate::e2e::endpoints::{Killable, number};
use crate::support::{Database, Ran, pgdyno, ran, sql};

const INSERT: &str = "\\sleep 2 ms\nbegin;\ninsert into visit values (:client_id);\nend;\n";
const ROWS: &str = "SELECT count(*) FROM visit";

fn table(server: &Killable) {
    sql(&server.url, "CREATE TABLE visit (client int)");
}

fn script(folder: &tempfile::TempDir) -> String {
    let path = folder.path().join("visit.sql");
    fs::write(&path, INSERT).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Without a notebook, in which other tests have rows too.
fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:#?}"))
}

fn of(value: &Value, what: &str) -> u64 {
    value[what]
        .as_u64()
        .unwrap_or_else(|| panic!("{what}: {value}"))
}

#[test]
fn a_server_that_hangs_holds_no_command_when_its_time_is_over() {
    let server = Killable::start();
    table(&server);
    let folder = tempfile::tempdir().unwrap();
    let script = script(&folder);
    let url = &server.url;
    let properties = folder.path().join("workloada");
    fs::write(
        &properties,
        "recordcount=100\noperationcount=100000000\nworkload=site.ycsb.workloads.CoreWorkload\n\
         readproportion=0.5\nupdateproportion=0.5\n",
    )
    .unwrap();
    let (properties, place) = (properties.to_str().unwrap(), &server.name);
    let jdbc = format!("db.url=jdbc:postgresql://{place}/postgres");
    let ycsb = ["-p", jdbc.as_str(), "-p", "db.user=postgres"];
    let load = ["ycsb", "load", "jdbc", "-P", properties];
    ran(pgdyno(&load).args(ycsb)).expect(0, &[]);
    sql(url, "CREATE DATABASE kv");
    let kv = format!("postgresql://postgres@{place}/kv?sslmode=disable");
    ran(&mut pgdyno(&["workload", "init", "kv", &kv])).expect(0, &[]);
    ran(&mut pgdyno(&["pgbench", "-i", "-q", "-d", url])).expect(0, &[]);
    let loaded = number(url, "SELECT max(xmin::text::bigint) FROM usertable");
    let run = |args: &[&str]| Running::start(&mut pgdyno(args));
    let running = [
        (
            "run",
            run(&[
                "run",
                &script,
                "-c",
                "3",
                "-T",
                "8",
                "--json",
                "--no-store",
                "--url",
                url,
            ]),
        ),
        (
            "pgbench",
            run(&["pgbench", "-c", "3", "-R", "50", "-T", "8", "-d", url]),
        ),
        (
            "pgbench -C",
            run(&["pgbench", "-C", "-c", "2", "-R", "20", "-T", "8", "-d", url]),
        ),
        (
            "workload",
            run(&[
                "workload",
                "run",
                "kv",
                "--duration",
                "8s",
                "--max-rate",
                "50",
                &kv,
            ]),
        ),
        ("ycsb", {
            let mut command = pgdyno(&["ycsb", "run", "jdbc", "-P", properties]);
            Running::start(
                command
                    .args(ycsb)
                    .args(["-p", "maxexecutiontime=8", "-target", "50"]),
            )
        }),
    ];
    let updated = format!("SELECT count(*) FROM usertable WHERE xmin::text::bigint > {loaded}");
    wait_until("all are at work", || {
        number(url, ROWS) > 50
            && number(url, "SELECT count(*) FROM pgbench_history") > 20
            && number(&kv, "SELECT count(*) FROM kv") > 20
            && number(url, &updated) > 5
    });
    server.freeze();
    // Eight seconds at most, two to find out, and what comes after a trial: before, for ever.
    let began = Instant::now();
    let mut ends = Vec::new();
    for (name, running) in running {
        ends.push((name, running.ended()));
        assert!(began.elapsed() < Duration::from_secs(40), "{name}");
    }
    server.thaw();
    for (name, ran) in &ends[1..] {
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.contains("none to a new connection"),
            "{name}: {ran:#?}"
        );
        assert_ne!(ran.code, Some(0), "{name}: {ran:#?}");
    }
    let (_, run) = &ends[0];
    assert_eq!(run.code, Some(3), "{run:#?}");
    let measured = &json(run)["measured"];
    let (committed, unknown) = (of(measured, "committed"), of(measured, "unknown"));
    assert_eq!(of(measured, "failed") + unknown, 3, "{measured}");
    // What was under way may be committed when the server goes on.
    wait_until("sessions have ended", || {
        number(
            url,
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ~ 'visit' AND pid <> pg_backend_pid()",
        ) == 0
    });
    let rows = number(url, ROWS);
    assert!(
        (committed..=committed + unknown).contains(&rows),
        "{rows} rows: {measured}"
    );
}

#[test]
fn clients_of_an_endpoint_that_hangs_go_to_another_after_the_statement_timeout() {
    let servers = [Killable::start(), Killable::start()];
    servers.iter().for_each(table);
    let folder = tempfile::tempdir().unwrap();
    let store = crate::support::notebook::at(&folder.path().join("notebook"));
    let run = |more: &[&str]| {
        let script = script(&folder);
        let mut command = pgdyno(&["run", &script, "-c", "4", "-T", "6", "--reconnect"]);
        command.args(["--url", &servers[0].url, "--url", &servers[1].url]);
        Running::start(command.args(more).env("PGDYNO_STORE", &store))
    };
    let rows = |server: &Killable| number(&server.url, ROWS);
    let patient = run(&[]);
    let impatient = run(&["--statement-timeout", "500ms"]);
    wait_until("both are at work on both", || {
        let clients = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
                       AND query ~ '^(begin|end|insert into visit)'";
        servers
            .iter()
            .all(|server| rows(server) > 100 && number(&server.url, clients) == 4)
    });
    // A rate before, in whole seconds.
    std::thread::sleep(Duration::from_millis(1200));
    servers[1].freeze();
    let impatient = impatient.ended();
    let patient = patient.ended();
    servers[1].thaw();
    let (at, other) = (servers[1].name.as_str(), servers[0].name.as_str());
    let went = format!("lost its connection to {at}: no answer within 500ms");
    let impatient = impatient.expect(0, &["no service   ", &went]);
    // They have --reconnect.
    let option = "its clients waited for it: with --statement-timeout 1s they go elsewhere";
    let says = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").contains(option)
    };
    assert!(!says(&impatient.stdout), "{impatient:#?}");
    assert!(says(&patient.stdout), "{patient:#?}");
    let mut of_both = [0, 0];
    let mut possible = [0, 0];
    for trial in ["1", "2"] {
        let shown = ran(pgdyno(&["show", trial, "--json"]).env("PGDYNO_STORE", &store));
        let document = json(&shown.expect(0, &[]));
        let is_impatient = !document["trial"]["statement_timeout_us"].is_null();
        let endpoints = document["endpoints"].as_array().unwrap();
        for endpoint in endpoints {
            let server = usize::from(endpoint["name"] == at);
            of_both[server] += of(endpoint, "committed");
            possible[server] += of(endpoint, "committed") + of(endpoint, "unknown");
        }
        let hung = endpoints.iter().find(|one| one["name"] == at).unwrap();
        let gone = hung["stalls"].as_array().unwrap().last().unwrap();
        assert_eq!(gone["is_over"], false, "{gone}");
        let went_wrong = of(gone, "unknown")
            + gone["failed"]
                .as_object()
                .unwrap()
                .values()
                .map(|n| n.as_u64().unwrap())
                .sum::<u64>();
        let healthy = endpoints.iter().find(|one| one["name"] == other).unwrap();
        assert_eq!(healthy["stalls"], Value::Array(Vec::new()));
        if is_impatient {
            assert_eq!((of(hung, "lost"), of(healthy, "arrived")), (2, 2), "{hung}");
            assert_eq!(went_wrong, 2, "{gone}");
            assert_eq!(document["outages"]["unended"], 0);
        } else {
            // They wait to the end, and are given up then.
            assert_eq!((went_wrong, of(&document["outages"], "unended")), (0, 2))
        }
    }
    wait_until("sessions have ended", || {
        number(
            &servers[1].url,
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ~ 'visit' AND pid <> pg_backend_pid()",
        ) == 0
    });
    for (server, (least, most)) in servers.iter().zip(of_both.into_iter().zip(possible)) {
        let rows = rows(server);
        assert!(
            (least..=most).contains(&rows),
            "{rows} rows, {least} to {most}"
        );
    }
}

#[test]
fn a_server_that_hangs_before_a_run_is_a_clear_error_in_bounded_time() {
    let server = Killable::start();
    let folder = tempfile::tempdir().unwrap();
    let script = script(&folder);
    server.freeze();
    let url = format!(
        "{}?connect_timeout=2",
        server.url.split('?').next().unwrap()
    );
    let kv = format!("postgresql://postgres@{}/kv?connect_timeout=2", server.name);
    let began = Instant::now();
    let commands: [&[&str]; 5] = [
        &["run", &script, "-T", "2", "--no-store", "--url", &url],
        &["load", "tpcb", "--url", &url],
        &["pgbench", "-T", "2", "-d", &url],
        &["pgbench", "-i", "-d", &url],
        &["workload", "run", "kv", "--duration", "2s", &kv],
    ];
    let running = commands.map(|command| (command, Running::start(&mut pgdyno(command))));
    for (command, running) in running {
        let ran = running.ended();
        assert_ne!(ran.code, Some(0), "{command:?}: {ran:#?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("timeout expired"), "{command:?}: {ran:#?}");
        assert!(began.elapsed() < Duration::from_secs(15), "{command:?}");
    }
}

#[test]
fn pgbench_says_of_what_was_cut_off_at_commit_that_its_result_is_unknown() {
    let db = Database::new("cut_at_commit");
    db.sql("CREATE TABLE visit (client int)");
    let folder = tempfile::tempdir().unwrap();
    let script = script(&folder);
    let socket = pgdyno_testkit::postgres().address().socket_path();
    let network = Link::to(&*socket).start().unwrap();
    let url = network.url("cut_at_commit");
    let pgbench = |cut: bool| {
        let mut command: Command = pgdyno(&["pgbench", "-n", "-f", &script, "-c", "4"]);
        command.args(["-t", "400", "--reconnect", "-d", &url]);
        let running = Running::start(&mut command);
        if cut {
            wait_until("rows come", || number(&db.url, ROWS) > 100);
            // What is committed from here on is not answered: its clients wait in the end.
            network.block(Direction::ToClient);
            let busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'cut_at_commit' \
                        AND state <> 'idle' AND pid <> pg_backend_pid() AND query ~ 'end'";
            wait_until("nothing is under way", || number(&db.url, busy) == 0);
            network.cut_now(How::Reset);
            network.unblock(Direction::ToClient);
        }
        let ran = running.ended();
        ran.expect(0, &["connections lost: "])
    };
    let figure = |ran: &Ran, of: &str| {
        let line = ran.stdout.lines().find_map(|line| line.strip_prefix(of));
        let number = line.and_then(|line| line.split([' ', '/']).next());
        number.map(|number| number.parse::<u64>().unwrap())
    };
    let mut unknown = 0;
    let mut has_kept = false;
    // In which statement a client is when it is cut off is up to chance.
    for _ in 0..40 {
        db.sql("TRUNCATE visit");
        let ran = pgbench(true);
        let rows = number(&db.url, ROWS);
        let processed = figure(&ran, "number of transactions actually processed: ").unwrap();
        let failed = figure(&ran, "number of failed transactions: ").unwrap();
        let open = figure(&ran, "number of transactions with an unknown result: ").unwrap_or(0);
        assert_eq!(processed + failed + open, 1600, "{ran:#?}");
        assert!(
            (processed..=processed + open).contains(&rows),
            "{rows} rows: {ran:#?}"
        );
        unknown += open;
        has_kept |= rows > processed;
        if has_kept {
            break;
        }
    }
    assert!(has_kept && unknown > 0, "{unknown} unknown");
    // Where there are none, pgbench's own lines are all there is.
    let whole = pgbench(false);
    assert!(!whole.stdout.contains("unknown result"), "{whole:#?}");
}
