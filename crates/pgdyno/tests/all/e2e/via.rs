//! `--via`: clients go through pgdyno's proxy, and the network through it is disturbed.

use std::fs;

use serde_json::Value;

use crate::support::{Database, Ran, pgdyno, ran};

fn script(folder: &tempfile::TempDir) -> String {
    let path = folder.path().join("visit.sql");
    fs::write(
        &path,
        "\\sleep 2 ms\nbegin;\ninsert into visit values (:client_id);\nend;\n",
    )
    .unwrap();
    path.to_str().unwrap().to_owned()
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:#?}"))
}

/// Runs the script through proxies; its document. Rows and commits must agree.
fn through(db: &Database, options: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    db.sql("DROP TABLE IF EXISTS visit; CREATE TABLE visit (client int)");
    let mut command = pgdyno(&["run", &script(&folder), "--url", &db.url, "--via"]);
    command
        .args(["-c", "8", "--json", "--no-store"])
        .args(options);
    let document = json(&ran(&mut command).expect(0, &[]));
    let committed = document["measured"]["committed"].as_u64().unwrap();
    let unknown = document["measured"]["unknown"].as_u64().unwrap_or(0);
    let rows: u64 = db.value("SELECT count(*) FROM visit").parse().unwrap();
    assert!(committed > 0, "{document}");
    assert!(
        (committed..=committed + unknown).contains(&rows),
        "{rows} rows: {document}"
    );
    document
}

#[test]
fn clients_go_through_a_proxy_and_results_name_the_server_and_the_cost() {
    let db = Database::new("via_alone");
    let document = through(&db, &["-T", "1"]);
    let notes = document["notes"].as_array().unwrap();
    let note = notes.iter().find(|note| note["code"] == "via-proxy");
    let said = note.unwrap_or_else(|| panic!("{document}"))["sentence"].to_string();
    assert!(said.contains("a round trip of pgdyno's proxy"), "{said}");
    assert_eq!(document["trial"]["via"], true, "{document}");
    let socket = pgdyno_testkit::postgres().address().socket_path();
    let name = socket.to_str().unwrap();
    assert_eq!(document["endpoints"][0]["name"], name, "{document}");
}

#[test]
fn a_cut_loses_connections_and_no_transaction_from_the_account() {
    let db = Database::new("via_cut");
    let disturbed = [
        "-R",
        "400",
        "--reconnect",
        "--retry",
        "restart",
        "--during",
        "pgdyno:net-cut",
        "--before",
        "1s",
        "--after",
        "2s",
    ];
    let document = through(&db, &disturbed);
    let run = &document["disturbed"]["commands"][0];
    assert_eq!(document["endpoints"][0]["lost"], 8, "{document}");
    assert_eq!(run["exit_code"], 0, "{run}");
    assert_eq!(
        run["output"], "connections were reset, all endpoints\n",
        "{run}"
    );
}

#[test]
fn what_a_disturbance_of_the_network_needs_is_asked_for() {
    let refused = |options: &[&str], said: &str| {
        let mut command = pgdyno(&["run", "tpcb", "--no-store"]);
        ran(command.args(options)).expect(2, &[said]);
    };
    refused(&["--during", "pgdyno:net-cut"], "add --via");
    refused(
        &["--via", "--during", "pgdyno:net-dealy ms=5"],
        "it is one of net-delay",
    );
    refused(
        &["--via", "--during", "pgdyno:net-black-hole for=50s"],
        "would last longer than the trial",
    );
    refused(
        &["--via", "--new-nodes", "--reconnect"],
        "leave one of them out",
    );
    let db = Database::new("via_refused");
    db.sql("CREATE TABLE visit (client int)");
    let folder = tempfile::tempdir().unwrap();
    let mut command = pgdyno(&[
        "run",
        &script(&folder),
        "--url",
        &db.url,
        "--via",
        "--no-store",
    ]);
    let unknown = ["--during", "pgdyno:net-cut endpoint=db9"];
    ran(command.args(unknown)).expect(2, &["there is no endpoint db9"]);
}

/// What clients show of a fault, from what the trial's document has.
enum Shown {
    /// The median time of a transaction of three round trips is at least so many microseconds.
    Slower(u64),
    /// Less than half of what was due was committed.
    Narrow,
    /// No client was served for so many microseconds.
    NoService(u64),
    /// All clients lost their connections.
    Lost,
}

impl Shown {
    fn is_in(&self, document: &Value) -> bool {
        let figures = &document["disturbed"]["figures"];
        let phases = figures["phases"].as_array().unwrap();
        let during = phases.iter().find(|phase| phase["name"] == "during");
        let during = during.unwrap_or_else(|| panic!("{figures}"));
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{figures}"));
        match self {
            Self::Slower(us) => number(&during["service"]["p50_us"]) >= *us as f64,
            Self::Narrow => 2.0 * number(&during["committed"]) < number(&during["due"]),
            Self::NoService(us) => number(&figures["no_service_us"]) >= *us as f64,
            Self::Lost => document["endpoints"][0]["lost"] == 8,
        }
    }
}

/// Each of the others, in one trial: clients show it, the account is the database's, and no session stays.
#[test]
#[ignore = "long: make test-long PART=disturbances"]
fn each_disturbance_of_the_network_is_felt_and_keeps_the_account() {
    let db = Database::new("via_each");
    for (fault, shown) in [
        // Three times there and back.
        ("net-delay ms=40 for=1s", Shown::Slower(200_000)),
        // As much, half of it on average.
        ("net-jitter ms=40 for=1s", Shown::Slower(60_000)),
        ("net-bandwidth rate=5kB for=1s", Shown::Narrow),
        ("net-black-hole for=1s", Shown::NoService(900_000)),
        (
            "net-one-way direction=to-client for=1s",
            Shown::NoService(900_000),
        ),
        (
            "net-one-way direction=to-server for=1s",
            Shown::NoService(900_000),
        ),
        // Without a limit of their own they wait for good.
        ("net-half-open closed=server", Shown::NoService(2_000_000)),
        ("net-half-open closed=client", Shown::Lost),
    ] {
        let command = format!("pgdyno:{fault}");
        let options = "-R 400 --reconnect --retry restart --before 3s --after 4s --during";
        let mut disturbed: Vec<&str> = options.split(' ').collect();
        disturbed.push(&command);
        let document = through(&db, &disturbed);
        let run = &document["disturbed"]["commands"][0];
        assert_eq!(run["exit_code"], 0, "{fault}: {run}");
        let took = run["ended_us"].as_u64().unwrap() - run["began_us"].as_u64().unwrap();
        assert_eq!(took >= 1_000_000, fault.contains("for="), "{fault}: {run}");
        assert!(
            shown.is_in(&document),
            "{fault}: clients show nothing of it: {:#}",
            document["disturbed"]
        );
        let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'via_each' AND pid <> pg_backend_pid()";
        db.wait_for(&format!("SELECT 1 WHERE ({sessions}) = 0"));
    }
}
