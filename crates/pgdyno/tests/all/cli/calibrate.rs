//! `pgdyno calibrate`, in a second or two each, on real PostgreSQLs.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use pgdyno_platform::child::Signal;
use pgdyno_testkit::{DelayingProxy, postgres};
use serde_json::{Value, json};

use crate::child::Running;
use crate::support::notebook::by_kind;
use crate::support::{Database, Ran, connect, pgdyno, ran, sql};

const MET: &str = "read=1h,update=1h,round-trip=1h,commit=1h";
const MISSED: &str = "read=1us,update=1us,round-trip=1us,commit=1us";

/// Fewer rows are loaded sooner.
const ROWS: &str = "recordcount=1000";

/// A notebook of the test's own.
struct Store(tempfile::TempDir);

impl Store {
    fn new() -> Store {
        Store(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        crate::support::notebook::at(&self.0.path().join("notebook.sqlite"))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = pgdyno(args);
        command.env("PGDYNO_STORE", self.path());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    fn json(&self, args: &[&str], code: i32) -> Value {
        let args = [args, &["--json", "--quiet"]].concat();
        serde_json::from_str(&self.run(&args).expect(code, &[]).stdout).unwrap()
    }
}

fn line<'a>(document: &'a Value, name: &str) -> &'a Value {
    let lines = document["lines"].as_array().unwrap();
    lines.iter().find(|line| line["line"] == name).unwrap()
}

fn us(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no time: {value}"))
}

#[test]
fn each_line_has_a_verdict_and_the_notebook_shows_it_again() {
    let database = Database::new("calibrate_met");
    let store = Store::new();
    let json_file = store.0.path().join("calibration.json");
    let json_to = format!("--json={}", json_file.display());
    let args = ["calibrate", &database.url, "-T", "400ms", "--only-baseline"];
    let more = ["--expect", MET, "--name", "here", &json_to];
    let printed = store.run(&[&args[..], &more].concat()).expect(
        0,
        &[
            "calibration here, begun ",
            "YCSB B, 10000 rows",
            "baseline met: read and update",
            // The server that tests share does not sync.
            "(!) commit: fsync is off",
            "fsync is off, or wal_sync_method syncs as it writes",
        ],
    );
    assert!(!printed.stdout.contains("clients  done/s"), "{printed:?}");

    let document: Value = serde_json::from_slice(&std::fs::read(json_file).unwrap()).unwrap();
    assert_eq!(document["baseline"], "met");
    assert_eq!(document["concurrency"], Value::Null);
    for name in ["round-trip", "commit", "read", "update"] {
        let line = line(&document, name);
        assert_eq!(line["verdict"], "met", "{name}");
        assert!(line["count"].as_u64() > Some(0), "{line}");
        assert!(us(&line["min_us"]) <= us(&line["mean_us"]), "{line}");
        let parts = line["parts"].as_object().unwrap().values();
        let sum: f64 = parts.map(us).sum();
        assert!((sum - us(&line["mean_us"])).abs() < 1e-6, "{line}");
    }
    // All reads and updates of one trial, which is not that of the round trip.
    let [read, update] = ["read", "update"].map(|name| line(&document, name));
    assert_eq!(read["trial"], update["trial"]);
    assert_ne!(read["trial"], line(&document, "round-trip")["trial"]);
    let number = read["trial"].to_string();
    let trial = store.json(&["show", &number], 0);
    let scripts = trial["measured"]["scripts"].as_array().unwrap();
    let kept = scripts
        .iter()
        .find(|script| script["name"] == "read")
        .unwrap();
    assert_eq!(kept["committed"], read["count"]);
    assert_eq!(kept["service"]["mean_us"], read["mean_us"]);
    assert_eq!(trial["trial"]["query_mode"], "prepared");

    // The same from the notebook, to the letter.
    let shown = store.run(&["show", "--experiment", "here"]).expect(0, &[]);
    assert_eq!(shown.stdout, printed.stdout);
    assert_eq!(store.json(&["show", "--experiment", "here"], 0), document);
    let name = by_kind("point::json ->> 'name'", "point ->> 'name'");
    let positions = format!("SELECT string_agg({name}, ' ' ORDER BY position) FROM trial");
    store
        .run(&["sql", &positions])
        .expect(0, &["round-trip commit commit-no-wait baseline"]);

    // Systems of the notebook beside each other; a URL is measured now.
    let args = [
        "calibrate",
        "--compare",
        "here",
        &database.url,
        "-T",
        "200ms",
    ];
    let compared = store.json(&[&args[..], &["--expect", MISSED]].concat(), 1);
    let systems = compared["systems"].as_array().unwrap();
    assert_eq!(systems[0], document);
    assert_eq!(systems[1]["baseline"], "missed");
    let bars = compared["bars"]["update"].as_array().unwrap();
    let verdicts: Vec<_> = bars.iter().map(|bar| &bar["verdict"]).collect();
    assert_eq!(verdicts, ["met", "missed"]);
    assert_eq!(bars[0]["mean_us"], update["mean_us"]);
    let other = systems[1]["uuid"].as_str().unwrap();
    let beside = store.run(&["calibrate", "--compare", "here", &other[..8]]);
    let beside = beside.expect(0, &["round trip", "best done/s", "(!) a doubtful figure"]);
    let rows: Vec<&str> = beside.stdout.lines().take(3).collect();
    assert!(
        rows[1].starts_with("here ") && rows[1].contains(" met "),
        "{rows:?}"
    );
    assert!(
        rows[2].starts_with("calibrate-local:") && rows[2].contains(" missed"),
        "{rows:?}"
    );
}

#[test]
fn a_missed_baseline_ends_it_unless_it_is_to_go_on_anyway() {
    let database = Database::new("calibrate_missed");
    database
        .sql("CREATE ROLE calibrate_plain LOGIN; GRANT ALL ON SCHEMA public TO calibrate_plain");
    let url = database.url.replace("//postgres@", "//calibrate_plain@");
    assert_ne!(url, database.url);
    let store = Store::new();
    let args = [
        "calibrate",
        &url,
        "-T",
        "200ms",
        "--expect",
        MISSED,
        "--param",
        ROWS,
    ];
    let missed = store.run(&args).expect(
        1,
        &[
            "baseline MISSED: read (",
            "more clients are not tried before the baseline is met; --anyway tries",
        ],
    );
    assert!(!missed.stdout.contains("done/s"), "{missed:?}");
    let more = ["--anyway", "--max-clients", "2", "--growth", "1"];
    let anyway = store.json(&[&args[..], &more].concat(), 1);
    for name in ["round-trip", "commit", "read", "update"] {
        let line = line(&anyway, name);
        assert_eq!(line["verdict"], "missed");
        let words = line["cause"]["sentence"].as_str().unwrap();
        assert!(
            !words.is_empty() && line["cause"]["part"].is_string(),
            "{line}"
        );
    }
    // The role may not have the server time its syncs, and may do all else.
    let counted = &line(&anyway, "commit")["server_side"];
    assert_eq!(counted["timed"], false, "{counted}");
    assert!(
        counted["counted"]["blocks_hit"].as_u64() > Some(0),
        "{counted}"
    );
    let concurrency = &anyway["concurrency"];
    let steps = concurrency["steps"].as_array().unwrap();
    let clients: Vec<_> = steps.iter().map(|step| &step["clients"]).collect();
    assert_eq!(clients, [1, 2]);
    // The first step is the baseline itself.
    assert_eq!(steps[0]["trial"], line(&anyway, "read")["trial"]);
    assert!(
        concurrency["throughput_stops"]["clients"].is_u64(),
        "{concurrency}"
    );
    let uuid = anyway["uuid"].as_str().unwrap();
    store.run(&["show", "--experiment", uuid]).expect(
        1 - 1,
        &["done/s", "throughput st", "p99 ", "baseline MISSED: "],
    );
}

#[test]
fn behind_a_long_way_the_network_is_named() {
    let database = Database::new("calibrate_far");
    // Longer than what a busy machine adds to a transaction.
    let one_way = Duration::from_millis(15);
    let proxy = DelayingProxy::start(&postgres().address().socket_path(), one_way);
    let url = format!(
        "postgresql://postgres@{}/calibrate_far?sslmode=disable",
        proxy.address()
    );
    // Loaded over the short way: that is not what is tested.
    database.pgdyno(&["load", "probe"]).expect(0, &[]);
    database
        .pgdyno(&["load", "ycsb", "--param", ROWS])
        .expect(0, &[]);
    let store = Store::new();
    let json_file = store.0.path().join("far.json");
    let json_to = format!("--json={}", json_file.display());
    // As many updates as reads: there are few of either in two seconds on such a way.
    let shares = ["readproportion=0.5", "updateproportion=0.5"];
    let args = [
        "calibrate",
        &url,
        "-T",
        "2s",
        &json_to,
        "--param",
        shares[0],
        "--param",
        shares[1],
    ];
    let far = store.run(&args).expect(
        1,
        &[
            "1000 rows, readproportion=0.5, updateproportion=0.5, prepared",
            "baseline MISSED: read (network), update (network)",
            "an empty query takes ",
            "(median) are the network round trip; without it ",
        ],
    );
    let document: Value = serde_json::from_slice(&std::fs::read(&json_file).unwrap()).unwrap();
    // Whether the rest is within expectation a busy neighbour decides, too; that is said as it is.
    let is_within = |name: &str| line(&document, name)["without_round_trip_within"] == true;
    if ["read", "update"].into_iter().all(is_within) {
        far.expect(1, &[" ms, within expectation"]);
    }
    assert!(us(&line(&document, "round-trip")["min_us"]) >= 30_000.0);
    for name in ["round-trip", "commit", "read", "update"] {
        let line = line(&document, name);
        assert_eq!(line["verdict"], "missed", "{line}");
        assert_eq!(line["cause"]["part"], "network", "{line}");
    }
    assert_eq!(document["concurrency"], Value::Null);
}

#[test]
fn a_server_of_pgdynos_own_tells_how_long_its_syncs_take() {
    let store = Store::new();
    let home = pgdyno_testkit::home();
    let bindir = pgdyno_testkit::installation().bindir.to_str().unwrap();
    let args = [
        "calibrate",
        "--pg-bindir",
        bindir,
        "-T",
        "1s",
        "--only-baseline",
    ];
    let args = [
        &args[..],
        &[
            "--expect",
            "read=1h-2h",
            "--expect",
            "update=1h",
            "--param",
            ROWS,
        ],
    ]
    .concat();
    let mut command = store.command(&args);
    command.envs(pgdyno_testkit::own_cache(&home.path().join("cache")));
    ran(&mut command).expect(
        0,
        &[
            "calibration calibrate-own, begun",
            "better (!)",
            "(!) read: client and server share a host",
            "waiting until it is durable takes ",
            "ms by the server's own clock: ",
            " commits (pg_stat_",
        ],
    );
    let document = store.json(&["show", "--experiment", "calibrate-own"], 0);
    assert!(us(&document["sync"]["server_us"]) > 0.0);
    let counted = &line(&document, "commit")["server_side"];
    let syncs = counted["counted"]["syncs"].as_u64().unwrap();
    let commits = line(&document, "commit")["count"].as_u64().unwrap();
    assert!(syncs >= commits / 2, "{syncs} syncs, {commits} commits");
    assert_eq!(counted["timed"], json!(true));
}

#[test]
fn a_sequential_scan_is_a_miss_and_the_yardstick_is_this_host() {
    let database = Database::new("calibrate_scan");
    database
        .pgdyno(&["load", "ycsb", "--param", ROWS])
        .expect(0, &[]);
    let store = Store::new();
    let calibrate = |name: &str| {
        let args = ["calibrate", &database.url, "-T", "400ms", "--only-baseline"];
        store.run(&[&args[..], &["--name", name]].concat())
    };
    let verdicts = |name: &str| {
        let document = store.json(&["show", "--experiment", name], 0);
        assert!(us(&document["host"]["round_trip_us"]) > 0.0, "{document}");
        assert!(us(&document["host"]["sync_us"]) > 0.0, "{document}");
        let lines = document["lines"].as_array().unwrap();
        assert!(lines.iter().all(|line| line["yardstick"] == "host"));
        ["read", "update"].map(|name| line(&document, name)["verdict"].clone())
    };
    let by = "expected of round trip, commit, read, update: by what this host can do:";
    let ran = calibrate("keyed");
    assert!(
        ran.stdout.contains(by) && !ran.stdout.contains("sequential"),
        "{ran:#?}"
    );
    assert_ne!(
        verdicts("keyed")[0],
        "better",
        "a read is compared with this host"
    );
    // Small as the table is, a scan of it takes less than the article grants a read.
    database.sql("ALTER TABLE usertable DROP CONSTRAINT usertable_pkey");
    calibrate("scanned").expect(
        1,
        &[
            by,
            "read: server: rows are not found by the primary key but by sequential scans of 1000 \
             rows each",
            "baseline MISSED: read (server), update (server)",
        ],
    );
    assert_eq!(verdicts("scanned"), ["missed", "missed"]);
    // What is asked for does not make it better either.
    let args = ["calibrate", &database.url, "-T", "200ms", "--only-baseline"];
    let asked = store.run(&[&args[..], &["--expect", "read=1h-2h,update=1h-2h"]].concat());
    asked.expect(
        1,
        &["expected of round trip, commit, read, update: --expect"],
    );
}

#[test]
fn what_was_measured_before_something_went_wrong_is_shown() {
    let database = Database::new("calibrate_early");
    database.sql("CREATE TABLE usertable (mine int)");
    let store = Store::new();
    let args = ["calibrate", &database.url, "-T", "200ms", "--expect", MET];
    store.run(&args).expect(
        1,
        &[
            "round trip ",
            "commit ",
            "baseline not known",
            "cannot use the tables in this database",
        ],
    );
    let refused = ["calibrate", "postgresql://127.0.0.1:1/x?sslmode=disable"];
    store.run(&refused).expect(3, &["Connection refused"]);
}

#[test]
fn an_update_that_fails_is_no_figure() {
    let database = Database::new("calibrate_fails");
    database.pgdyno(&["load", "probe"]).expect(0, &[]);
    database
        .pgdyno(&["load", "ycsb", "--param", ROWS])
        .expect(0, &[]);
    database.sql(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN RAISE EXCEPTION 'not today'; END$$; \
         CREATE TRIGGER no BEFORE UPDATE ON usertable FOR EACH ROW EXECUTE FUNCTION no()",
    );
    let store = Store::new();
    let args = ["calibrate", &database.url, "-T", "200ms", "--expect", MET];
    store.run(&args).expect(
        1,
        &[
            "YCSB B at one client could not be measured",
            "not today",
            "baseline not known",
        ],
    );
}

#[test]
fn ctrl_c_ends_it_and_shows_what_there_is() {
    let database = Database::new("calibrate_interrupted");
    let store = Store::new();
    let mut command = store.command(&["calibrate", &database.url, "-T", "1h", "--name", "i"]);
    let running = Running::start(&mut command);
    database.wait_for(
        "SELECT 1 FROM pg_stat_activity \
         WHERE query LIKE '/* nothing%' AND datname = current_database()",
    );
    running.signal(Signal::Interrupt);
    running
        .ended()
        .expect(130, &["reads and updates were not measured to the end"]);
    let states = "SELECT string_agg(state, ' ') FROM trial";
    store.run(&["sql", states]).expect(0, &["aborted"]);
}

#[test]
fn what_cannot_be_asked_is_refused_before_anything_is_measured() {
    let store = Store::new();
    let (code, unknown) = by_kind(
        (2, "there is no experiment unknown"),
        (1, "there is no store at"),
    );
    for (args, code, want) in [
        (&["--compare", "absent"][..], code, unknown),
        (
            &["--expect", "raed=1ms"],
            2,
            "--expect: unknown line raed; lines are read",
        ),
        (&["--expect", "read"], 2, "it must be LINE=TIME"),
        (&["--expect", "read=3-2"], 2, "the lower end comes first"),
        (&["-T", "0"], 2, "longer than nothing"),
        (&["--growth", "much"], 2, "a share in percent"),
        (&["--max-clients", "0"], 2, "from 1 to 100000"),
        (&["--name", " "], 2, "a name has at least one letter"),
        (&["--anyway", "--only-baseline"], 2, "cannot be used with"),
        (
            &["postgresql://x", "--compare", "a"],
            2,
            "cannot be used with",
        ),
        (&["--compare"], 2, "--compare needs <NAME|URL>"),
        (&["--param", "recordcuont=5"], 2, "recordcuont"),
    ] {
        let args = [&["calibrate"], args].concat();
        store.run(&args).expect(code, &[want]);
    }
    // An experiment, but no calibration.
    let database = Database::new("calibrate_other");
    let file = store.0.path().join("other.toml");
    let sweep = "workload = 'insert-size'\nduration = '100ms'\nreset.settle = 0\n";
    std::fs::write(&file, sweep).unwrap();
    let file = file.to_str().unwrap();
    store
        .run(&["sweep", file, "--url", &database.url])
        .expect(0, &[]);
    // The mistake is found before the URL is measured.
    for (name, want) in [
        ("other", "experiment other is no calibration"),
        ("absent", "there is no experiment absent"),
    ] {
        let args = ["calibrate", "--compare", &database.url, name];
        store.run(&args).expect(2, &[want]);
    }
    let mut session = connect(&database.url);
    let probe = session.query("SELECT to_regclass('pgdyno_probe')").unwrap();
    assert_eq!(probe.rows, [[None]]);
    sql(&database.url, "DROP TABLE data");
}

#[test]
fn each_of_several_endpoints_is_judged_and_the_slowest_is_named() {
    let database = Database::new("calibrate_both");
    let server = postgres();
    let proxy = DelayingProxy::start(&server.address().socket_path(), Duration::from_millis(40));
    let far = proxy.address().to_string();
    let far_url = format!("postgresql://postgres@{far}/calibrate_both?sslmode=disable");
    let near = format!("127.0.0.1:{}", server.address().port);
    let near_url = format!("postgresql://postgres@{near}/calibrate_both?sslmode=disable");
    database.pgdyno(&["load", "probe"]).expect(0, &[]);
    database
        .pgdyno(&["load", "ycsb", "--param", ROWS])
        .expect(0, &[]);
    let store = Store::new();
    let json_file = store.0.path().join("both.json");
    let json_to = format!("--json={}", json_file.display());
    let args = [
        "calibrate",
        "--url",
        &near_url,
        "--url",
        &far_url,
        "-T",
        "2s",
        "--only-baseline",
    ];
    let more = [
        "--param",
        ROWS,
        "--expect",
        "round-trip=40ms,commit=40ms,read=1h,update=1h",
        &json_to,
    ];
    let printed = store.run(&[&args[..], &more].concat()).expect(
        0,
        &[
            &format!("round trip at the slowest of 2 endpoints, {far}:"),
            &format!("round trip at {far}: "),
            &format!("commit at {far}: "),
        ],
    );
    // On a busy machine it says that it lacked CPU itself.
    for name in ["round trip", "commit"] {
        let causes = ["network", "client"].map(|cause| format!("{name} at {far}: {cause}: "));
        let is_named = causes.iter().any(|cause| printed.stdout.contains(cause));
        assert!(is_named, "{}", printed.stdout);
    }
    let document: Value = serde_json::from_slice(&std::fs::read(json_file).unwrap()).unwrap();
    for name in ["round-trip", "commit"] {
        let line = line(&document, name);
        assert_eq!(
            (&line["endpoint"], &line["verdict"]),
            (&json!(far), &json!("missed"))
        );
        assert!(us(&line["mean_us"]) > 80_000.0, "{line}");
        let endpoints = line["endpoints"].as_array().unwrap();
        let verdicts: Vec<_> = endpoints
            .iter()
            .map(|at| (&at["name"], &at["verdict"]))
            .collect();
        assert_eq!(
            verdicts,
            [
                (&json!(near), &json!("met")),
                (&json!(far), &json!("missed"))
            ]
        );
    }
    // A single client is at the first: the way of that one is what its reads have.
    let read = line(&document, "read");
    assert_eq!(read["endpoint"], Value::Null);
    assert!(us(&read["parts"]["network_us"]) < 40_000.0, "{read}");
    let shown = store.run(&[
        "show",
        "--experiment",
        document["calibration"].as_str().unwrap(),
    ]);
    assert_eq!(shown.expect(0, &[]).stdout, printed.stdout);
}
