//! Several servers as endpoints: dealt, counted apart, one of them killed and started again; and
//! what `pgdyno target` tells of them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use pgdyno_link::Link;
use pgdyno_platform::child::{Signal, send_signal};
use pgdyno_server::kept::{self, ServerStatus};
use pgdyno_server::{Cache, Listen, Options};
use pgdyno_testkit::closed_address;
use serde_json::Value;

use crate::child::{Running, server_processes, wait_until};
use crate::support::{Ran, connect, pgdyno, ran, sql};

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:#?}"))
}

pub fn number(url: &str, query: &str) -> u64 {
    let value = connect(url).query_one_value(query).unwrap();
    value.unwrap().parse().unwrap()
}

/// A kept server that a test can kill and start again on the same port, or freeze.
pub struct Killable {
    options: Options,
    dir: tempfile::TempDir,
    pub url: String,
    pub name: String,
    pid: u32,
}

impl Killable {
    pub fn start() -> Killable {
        let dir = pgdyno_testkit::home();
        let [(_, cache), (_, servers)] = pgdyno_testkit::own_cache(dir.path());
        let [port] = pgdyno_testkit::free_ports();
        let options = Options {
            cache: Some(Cache::at(&cache).unwrap().with_servers(servers)),
            bindir: Some(pgdyno_testkit::installation().bindir.clone()),
            listen: Listen::Loopback(port),
            settings: vec!["fsync=off".parse().unwrap()],
            ..Options::default()
        };
        let (running, _) = kept::start(&options, &mut |_| {}).unwrap();
        Killable {
            options,
            dir,
            url: running.address.loopback_url().unwrap(),
            name: format!("127.0.0.1:{port}"),
            pid: running.pid,
        }
    }

    fn cache(&self) -> &Cache {
        self.options.cache.as_ref().unwrap()
    }

    fn kill(&self) {
        send_signal(self.pid, Signal::Kill).unwrap();
        // Its children notice and end.
        wait_until("the server is gone", || {
            matches!(kept::status(self.cache()), ServerStatus::Stopped { .. })
        });
    }

    /// Stops all of its processes: connections are taken, and nothing is answered.
    pub fn freeze(&self) {
        self.signal_all("-STOP");
    }

    pub fn thaw(&self) {
        self.signal_all("-CONT");
    }

    fn signal_all(&self, signal: &str) {
        // A postmaster that has stopped starts no others.
        let _ = Command::new("kill")
            .args([signal, &self.pid.to_string()])
            .output();
        let all = server_processes(self.dir.path());
        let all = all.iter().map(u32::to_string);
        // One that ends meanwhile is not to be signalled.
        let _ = Command::new("kill").arg(signal).args(all).output();
    }

    fn start_again(&mut self) {
        let (running, started) = kept::start(&self.options, &mut |_| {}).unwrap();
        assert!(started);
        self.pid = running.pid;
    }
}

impl Drop for Killable {
    fn drop(&mut self) {
        self.thaw();
        let _ = kept::stop(self.cache(), true);
    }
}

#[test]
fn pgbenchs_clients_that_are_not_back_at_the_end_end_it_with_2() {
    let server = Killable::start();
    sql(&server.url, "CREATE TABLE visit (client int)");
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("visit.sql");
    fs::write(
        &script,
        "\\sleep 5 ms\nINSERT INTO visit VALUES (:client_id);\n",
    )
    .unwrap();
    let script = script.to_str().unwrap();
    let args = [
        "pgbench",
        "-n",
        "-f",
        script,
        "-c",
        "2",
        "-T",
        "2",
        "--reconnect",
        &server.url,
    ];
    let run = Running::start(&mut pgdyno(&args));
    wait_until("clients at work", || {
        number(&server.url, "SELECT count(*) FROM visit") > 0
    });
    server.kill();
    run.ended().expect(2, &["still lost at the end: 2)"]);
}

#[test]
fn a_server_that_is_gone_for_two_seconds_is_a_time_without_a_commit() {
    let mut server = Killable::start();
    sql(&server.url, "CREATE TABLE visit (client int)");
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("visit.sql");
    fs::write(
        &script,
        "\\sleep 5 ms\ninsert into visit values (:client_id);\n",
    )
    .unwrap();
    let store = crate::support::notebook::at(&dir.path().join("notebook.sqlite"));
    let store = store.to_str().unwrap();
    let running = Running::start(
        pgdyno(&[
            "run",
            script.to_str().unwrap(),
            "-c",
            "4",
            "-T",
            "14",
            "--reconnect",
        ])
        .args(["--url", &server.url, "--store", store]),
    );
    let rows = |server: &Killable| number(&server.url, "SELECT count(*) FROM visit");
    wait_until("rows come for two seconds", || rows(&server) > 1000);
    server.kill();
    let before = std::time::Instant::now();
    std::thread::sleep(Duration::from_secs(2));
    let gone_us = before.elapsed().as_micros() as u64;
    server.start_again();
    let ran = running.ended().expect(
        0,
        &[
            " stall",
            "\nno service   ",
            "90 % of the rate before again within ",
            "reconnects   4, without a connection for ",
        ],
    );
    let shown = json(&pgdyno_shown(store));
    let stalls = &shown["stalls"];
    let of = |stall: &Value, what: &str| stall[what].as_u64().unwrap();
    let each = stalls["each"].as_array().unwrap().iter();
    let all = each.max_by_key(|stall| of(stall, "length_us")).unwrap();
    assert!(of(all, "length_us") >= gone_us, "{stalls}");
    assert_eq!(all["is_over"], true);
    assert!(of(all, "recovered_us") < 5_000_000, "{stalls}");
    // Four had a connection when it was killed, and lost what they were at.
    let lost = |stall: &Value| {
        let failed = stall["failed"].as_object().unwrap().values();
        failed.map(|count| count.as_u64().unwrap()).sum::<u64>() + of(stall, "unknown")
    };
    assert_eq!(lost(all), 4, "{stalls}");
    let clients = stalls["clients"].as_array().unwrap();
    for client in &clients[..4] {
        assert!(of(client, "length_us") >= of(all, "length_us"), "{stalls}");
        assert_eq!(
            (lost(client), &client["is_over"]),
            (1, &true.into()),
            "{stalls}"
        );
        assert!(of(client, "start_us") <= of(all, "start_us"), "{stalls}");
    }
    let longest = clients.iter().map(|one| of(one, "length_us")).max();
    let clients: BTreeSet<u64> = clients[..4].iter().map(|one| of(one, "client")).collect();
    assert_eq!(clients, (0..4).collect());
    let [throughput] = shown["steadiness"].as_array().unwrap().as_slice() else {
        panic!("{}", shown["steadiness"]);
    };
    assert_ne!(throughput["verdict"], "steady");
    // Reported once for all; again for a client that a busy host brought back a tenth of the time later.
    let is_late = longest.unwrap() > of(all, "length_us") * 11 / 10;
    assert_eq!(ran.stdout.matches("no service").count(), 1, "{ran:#?}");
    assert_eq!(ran.stdout.contains("no commit"), is_late, "{ran:#?}");
}

fn pgdyno_shown(store: &str) -> Ran {
    ran(&mut pgdyno(&["show", "1", "--json", "--store", store])).expect(0, &[])
}

#[test]
fn clients_of_a_killed_server_move_and_every_row_is_counted_once() {
    let mut servers = [Killable::start(), Killable::start()];
    for server in &servers {
        sql(&server.url, "CREATE TABLE visit (client int)");
    }
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("visit.sql");
    let text = "begin;\ninsert into visit values (:client_id);\nend;\n";
    fs::write(&script, text).unwrap();
    let store = crate::support::notebook::at(&dir.path().join("notebook.sqlite"));
    let store = store.to_str().unwrap();
    let [first, second] = servers.each_ref().map(|server| server.url.clone());
    let names = servers.each_ref().map(|server| server.name.clone());
    let running = Running::start(&mut pgdyno(&[
        "run",
        script.to_str().unwrap(),
        "-c",
        "6",
        "-T",
        "5",
        "--rate",
        "400",
        "--url",
        &first,
        "--url",
        &second,
        "--reconnect",
        "--no-failback",
        "--json",
        "--store",
        store,
        "--tag",
        "killed",
    ]));
    wait_until("rows come", || {
        number(&second, "SELECT count(*) FROM visit") > 50
    });
    servers[1].kill();
    let at_the_kill = number(&first, "SELECT count(*) FROM visit");
    servers[1].start_again();
    wait_until("transactions go on elsewhere", || {
        number(&first, "SELECT count(*) FROM visit") > at_the_kill + 50
    });
    let ran = running.ended().expect(0, &[]);
    assert!(
        ran.stderr
            .contains(&format!("lost its connection to {}", names[1])),
        "{ran:#?}"
    );
    let document = json(&ran);
    let endpoints = document["endpoints"].as_array().unwrap();
    assert_eq!(endpoints.len(), 2, "{endpoints:?}");
    let mut sum = 0;
    for (endpoint, (url, name)) in endpoints.iter().zip([&first, &second].iter().zip(&names)) {
        let [committed, unknown] =
            ["committed", "unknown"].map(|what| endpoint[what].as_u64().unwrap());
        let rows = number(url, "SELECT count(*) FROM visit");
        assert!(
            (committed..=committed + unknown).contains(&rows),
            "{rows} rows: {endpoint}"
        );
        assert_eq!(endpoint["name"], name.as_str());
        assert_eq!(endpoint["clients"], 3);
        assert_eq!(endpoint["service"]["count"], committed);
        sum += committed;
    }
    assert_eq!(document["measured"]["committed"], sum);
    let responses = [0, 1].map(|i| endpoints[i]["response"]["count"].as_u64().unwrap());
    assert_eq!(responses.iter().sum::<u64>(), sum);
    assert_eq!(
        (&endpoints[0]["arrived"], &endpoints[1]["arrived"]),
        (&3.into(), &0.into())
    );
    assert_eq!(endpoints[1]["lost"], 3);
    assert_eq!(endpoints[0]["stalls"].as_array().unwrap().len(), 0);
    let gone = endpoints[1]["stalls"].as_array().unwrap().last().unwrap();
    let [start_us, length_us] = ["start_us", "length_us"].map(|what| gone[what].as_u64().unwrap());
    // The last second ends with its last transaction.
    let end_us = start_us + length_us;
    assert!((4_900_000..=5_000_000).contains(&end_us), "{gone}");
    assert_eq!(gone["is_over"], false);
    assert_eq!(document["outages"]["count"], 3);
    assert_eq!(document["trial"]["reconnect"], true);
    let events = document["events"].as_array().unwrap();
    let of = |kind: &str| events.iter().filter(|e| e["kind"] == kind).count();
    assert_eq!(
        (of("outage"), of("moved"), of("reconnected")),
        (3, 3, 0),
        "{events:?}"
    );
    assert!(events[0]["at_us"].as_u64().unwrap() > 0);
    // All of the first server's rows after the kill are of six clients.
    assert_eq!(
        number(&first, "SELECT count(DISTINCT client) FROM visit"),
        6
    );
    assert_eq!(
        number(&second, "SELECT count(DISTINCT client) FROM visit"),
        3
    );

    // The notebook has the same, and so has the summary.
    let again = self::ran(&mut pgdyno(&["show", "1", "--json", "--store", store])).expect(0, &[]);
    let again = json(&again);
    assert_eq!(again["endpoints"], document["endpoints"]);
    assert_eq!(again["events"], document["events"]);
    let texts = [
        "endpoint: response, ms",
        "clients",
        "lost",
        "arrived",
        "moved        3 times",
        "\nno service   ",
    ];
    let shown = self::ran(&mut pgdyno(&["show", "1", "--store", store])).expect(0, &texts);
    assert!(shown.stdout.contains(&names[1]), "{shown:#?}");
    let query = "SELECT name, lost, arrived FROM endpoint WHERE trial = 1 ORDER BY endpoint";
    let rows = self::ran(&mut pgdyno(&["sql", query, "--csv", "--store", store]));
    rows.expect(
        0,
        &[&format!("{},0,3", names[0]), &format!("{},3,0", names[1])],
    );
}

#[test]
fn clients_return_to_an_endpoint_that_is_up_again_and_the_notebook_and_the_page_say_so() {
    let links = [(); 2].map(|()| {
        let server = pgdyno_testkit::postgres().address().socket_path();
        Link::to(&*server).start().unwrap()
    });
    let [first, second] = links.each_ref().map(|link| link.url("postgres"));
    sql(&first, "CREATE TABLE visit_again (client int)");
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("visit.sql");
    let text = "begin;\ninsert into visit_again values (:client_id);\nend;\n";
    fs::write(&script, text).unwrap();
    let store = crate::support::notebook::at(&dir.path().join("notebook.sqlite"));
    let store = store.to_str().unwrap();
    let script = script.to_str().unwrap();
    let running = Running::start(&mut pgdyno(&[
        "run",
        script,
        "-c",
        "4",
        "-T",
        "6",
        "--rate",
        "400",
        "--url",
        &first,
        "--url",
        &second,
        "--reconnect",
        "--retry",
        "restart",
        "--json",
        "--store",
        store,
    ]));
    let rows = || number(&first, "SELECT count(*) FROM visit_again");
    wait_until("rows come", || rows() > 50);
    links[1].go_down();
    let at_the_loss = rows();
    wait_until("transactions go on elsewhere", || rows() > at_the_loss + 50);
    links[1].come_up();
    let ran = running.ended().expect(0, &[]);
    let document = json(&ran);
    let counts = &document["measured"];
    let [committed, unknown] = ["committed", "unknown"].map(|what| counts[what].as_u64().unwrap());
    assert!(
        (committed..=committed + unknown).contains(&rows()),
        "{counts}"
    );
    // What was lost before COMMIT was tried again.
    assert_eq!(counts["failed"], 0, "{counts}");
    let lost = &document["endpoints"][1];
    assert_eq!(
        (&lost["arrived"], &lost["returned"]),
        (&2.into(), &2.into()),
        "{lost}"
    );
    let events = document["events"].as_array().unwrap();
    let kinds = [
        "outage",
        "endpoint-down",
        "moved",
        "endpoint-up",
        "returned",
    ];
    let of = |kind: &str| events.iter().filter(|e| e["kind"] == kind).count();
    assert_eq!(kinds.map(of), [2, 1, 2, 1, 2], "{events:?}");
    let show = ["show", "1", "--store", store];
    let summary = [
        "moved        2 times",
        "returned     2 times to the client's own endpoint",
    ];
    self::ran(&mut pgdyno(&show)).expect(0, &summary);
    let again = self::ran(pgdyno(&show).arg("--json")).expect(0, &[]);
    assert_eq!(json(&again)["events"], document["events"]);
    assert_eq!(json(&again)["endpoints"], document["endpoints"]);
    let page = dir.path().join("page.html");
    let report = [
        "report",
        "1",
        "-o",
        page.to_str().unwrap(),
        "--store",
        store,
    ];
    self::ran(&mut pgdyno(&report)).expect(0, &[]);
    let page = crate::support::document_of(&page);
    let on_page = page["events"].as_array().unwrap().iter();
    let on_page: BTreeSet<&str> = on_page.filter_map(|e| e["kind"].as_str()).collect();
    assert!(
        kinds.iter().all(|kind| on_page.contains(kind)),
        "{on_page:?}"
    );
}

#[test]
fn a_dead_endpoint_is_an_error_that_names_it_and_with_reconnect_a_gap() {
    let url = pgdyno_testkit::postgres().address().loopback_url().unwrap();
    let dead = format!("postgresql://postgres@{}/postgres", closed_address());
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("one.sql");
    fs::write(&script, "select 1;\n").unwrap();
    let script = script.to_str().unwrap();
    let args = [
        "run",
        script,
        "-c",
        "4",
        "-t",
        "5",
        "--no-store",
        "--url",
        &url,
        "--url",
        &dead,
    ];
    let port = dead
        .rsplit_once(':')
        .unwrap()
        .1
        .trim_end_matches("/postgres");
    ran(&mut pgdyno(&args)).expect(
        3,
        &[
            &format!("port {port} failed: Connection refused"),
            "is one of 2 endpoints",
            "with --reconnect its clients go to the others",
        ],
    );
    let mut command = pgdyno(&args);
    let ran = ran(command.args(["--reconnect", "--json"])).expect(0, &[]);
    let document = json(&ran);
    assert_eq!(document["measured"]["committed"], 20);
    let endpoints = document["endpoints"].as_array().unwrap();
    assert_eq!(
        (&endpoints[0]["arrived"], &endpoints[1]["committed"]),
        (&2.into(), &0.into())
    );
    let reached = &document["target"]["facts"]["reached"];
    assert!(
        reached[0]["node"]
            .as_str()
            .unwrap()
            .starts_with("127.0.0.1:")
    );
    let why = reached[1]["node"]["unknown"].as_str().unwrap();
    assert!(why.contains("Connection refused"), "{why}");
}

#[test]
fn isolation_is_read_back_and_a_script_that_sets_its_own_is_noted() {
    let url = pgdyno_testkit::postgres().address().url();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let own = file(
        "own.sql",
        "begin isolation level repeatable read;\nselect 1;\nend;\n",
    );
    let run = |script: &str, more: &[&str]| {
        let base = [
            "run",
            script,
            "-t",
            "2",
            "--no-store",
            "--json",
            "--url",
            &url,
        ];
        ran(pgdyno(&base).args(more))
    };
    let document = json(&run(&own, &[]).expect(0, &[]));
    assert_eq!(document["target"]["facts"]["isolation"], "repeatable read");
    assert_eq!(document["trial"]["isolation"], Value::Null);
    let document = json(&run(&own, &["--isolation", "serializable"]).expect(0, &[]));
    assert_eq!(document["trial"]["isolation"], "serializable");
    let notes = document["notes"].as_array().unwrap();
    let differs = notes.iter().any(|n| n["code"] == "isolation-differs");
    assert!(differs, "{notes:?}");
    // The clients themselves have the level: they say so in an error of their own.
    let says = file(
        "says.sql",
        "begin;\ndo $$ begin if current_setting('transaction_isolation') <> 'serializable' then \
         raise 'not so'; end if; end $$;\nend;\n",
    );
    let document = json(&run(&says, &["--isolation", "serializable"]).expect(0, &[]));
    assert_eq!(document["measured"]["committed"], 2);
    assert_eq!(document["target"]["facts"]["isolation"], "serializable");
    run(&says, &[]).expect(1, &["not so"]);
    run(&says, &["--isolation", "snapshot"]).expect(2, &["invalid value 'snapshot'"]);
}

#[test]
fn target_tells_what_is_there_and_which_node_each_connection_met() {
    let server = pgdyno_testkit::postgres();
    let tcp = server.address().loopback_url().unwrap();
    let name = format!("127.0.0.1:{}", server.address().port);
    let args = ["target", &tcp, "--url", &server.address().url()];
    let texts = [
        "on 2 endpoints",
        "product      PostgreSQL ",
        &format!("{name}: 3 connections met node {name}"),
        &format!(
            "3 connections met node Unix socket, port {}",
            server.address().port
        ),
        "nodes        PostgreSQL has no list of cluster nodes",
        "isolation    by default: read committed",
        "read uncommitted requested: read committed  (not the requested level)",
        "serializable requested: serializable",
        "differently  nothing",
        "can be seen  ",
        "shared_preload_libraries = 'pg_stat_statements'",
    ];
    ran(&mut pgdyno(&args)).expect(0, &texts);
    let ran = ran(&mut pgdyno(&[
        "target",
        &tcp,
        "--json",
        "--connections",
        "2",
    ]))
    .expect(0, &[]);
    let document = json(&ran);
    assert_eq!(document["product"]["name"], "postgresql");
    assert_eq!(
        document["endpoints"][0]["connections"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(document["endpoints"][0]["connections"][0]["node"], name);
    assert_eq!(
        document["isolation"]["asked_for"]["repeatable read"],
        "repeatable read"
    );
    assert!(document["facts"]["nodes"]["unknown"].is_string());
    assert_eq!(document["differences"], Value::Array(Vec::new()));
}

#[test]
fn target_says_what_it_cannot_reach_and_when_nothing_is_named() {
    let url = pgdyno_testkit::postgres().address().url();
    let dead = format!("host=127.0.0.1 port={} user=x", closed_address().port());
    ran(&mut pgdyno(&["target", &url, &dead, "--connections", "1"])).expect(
        3,
        &[
            "1 connection met node Unix socket",
            "met nothing: connection to server at",
        ],
    );
    ran(&mut pgdyno(&["target", &dead])).expect(3, &["Connection refused"]);
    let dir = tempfile::tempdir().unwrap();
    let mut nothing = pgdyno(&["target"]);
    ran(nothing.envs(pgdyno_testkit::own_cache(dir.path()))).expect(2, &["nothing names a server"]);
    ran(&mut pgdyno(&["run", "tpcb", "--url", &url, "--new-nodes"])).expect(
        2,
        &[
            "only with --discover is the cluster asked",
            "add --discover",
        ],
    );
    ran(&mut pgdyno(&["target", &url, "--discover"])).expect(
        1,
        &[
            "PostgreSQL has no list of cluster nodes",
            "name each node with --url",
        ],
    );
    ran(&mut pgdyno(&[
        "run",
        "tpcb",
        "--url",
        &url,
        "--discover=http://x:1",
        "--no-store",
    ]))
    .expect(1, &["cannot discover nodes over HTTP for PostgreSQL"]);
}
