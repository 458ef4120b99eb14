//! A server that goes away and does not come back is no success, whatever the clients were asked to
//! do meanwhile.

use serde_json::Value;

use crate::child::Running;
use crate::cli::store::Notebook;
use crate::support::{Database, pgdyno};

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("{of} is no number"))
}

#[test]
fn a_server_that_does_not_come_back_fails_the_trial_and_shows_what_was_measured_before() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let db = Database::on(&server, "lost_server");
    db.sql("CREATE TABLE visit (client int)");
    let notebook = Notebook::new();
    let script = notebook.beside("visit.sql");
    std::fs::write(
        &script,
        "\\sleep 5 ms\ninsert into visit values (:client_id);\n",
    )
    .unwrap();
    let json = notebook.beside("result.json");
    let json_to = format!("--json={}", json.display());
    let args = [
        "run",
        script.to_str().unwrap(),
        "-c",
        "24",
        "-T",
        "8",
        "--reconnect",
        &json_to,
        "--url",
        &db.url,
    ];
    let running = Running::start(&mut notebook.command(&args));
    db.wait_for("SELECT client FROM visit OFFSET 500 LIMIT 1");
    server.stop().unwrap();
    let ran = running.ended().expect(
        3,
        &[
            "SERVER LOST: 24 of 24 clients had no connection when the run ended",
            " transactions/s while connected (clients had no connection for ",
            "!! ",
            "Look in the server's log why it stopped",
        ],
    );
    // The same is said once, and counted.
    let lost = ran
        .stderr
        .lines()
        .filter(|line| line.contains(" lost its connection"));
    assert!(lost.count() <= 3, "{ran:#?}");
    assert!(
        ran.stderr.contains(" more: lost its connection: "),
        "{ran:#?}"
    );
    assert!(!ran.stderr.contains("lost and restored"), "{ran:#?}");

    let document: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let outages = &document["outages"];
    assert_eq!(outages["unended"], 24, "{outages}");
    let (goodput, connected) = (
        number(&document["measured"]["goodput_per_s"]),
        number(&outages["connected_goodput_per_s"]),
    );
    let share = number(&outages["share"]);
    assert!((0.2..0.999).contains(&share), "{outages}");
    assert!(
        (connected * (1.0 - share) - goodput).abs() < goodput * 1e-6,
        "{goodput} {outages}"
    );
    assert_eq!(
        notebook.value("SELECT state, reason FROM trial"),
        "failed|the server was lost: 24 of 24 clients had no connection when the trial ended"
    );
    // What is shown again is the same, and says why.
    let again =
        crate::support::ran(pgdyno(&["show", "1", "--json"]).env("PGDYNO_STORE", notebook.path()));
    let again: Value = serde_json::from_str(&again.expect(0, &[]).stdout).unwrap();
    assert_eq!(again["outages"], *outages);
    let codes = again["notes"].as_array().unwrap().iter();
    let serious = codes.filter(|note| note["severity"] == "serious");
    let codes: Vec<_> = serious.map(|note| note["code"].clone()).collect();
    assert!(codes.contains(&"server-lost".into()), "{codes:?}");
}

#[test]
fn without_reconnect_a_lost_server_is_named_too() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let db = Database::on(&server, "lost_for_good");
    db.sql("CREATE TABLE visit (client int)");
    let notebook = Notebook::new();
    let script = notebook.beside("visit.sql");
    std::fs::write(
        &script,
        "\\sleep 5 ms\ninsert into visit values (:client_id);\n",
    )
    .unwrap();
    let script = script.to_str().unwrap();
    let args = ["run", script, "-c", "4", "-T", "30", "-v", "--url", &db.url];
    let running = Running::start(&mut notebook.command(&args));
    db.wait_for("SELECT client FROM visit OFFSET 500 LIMIT 1");
    server.stop().unwrap();
    let ran = running.ended().expect(
        3,
        &[
            "!! ",
            "4 of 4 clients had no connection at the end of the run.",
            "Connections limited it: clients lost the server",
        ],
    );
    assert!(!ran.stdout.contains("max_connections"), "{ran:#?}");
}

#[test]
fn a_server_that_comes_back_in_time_is_an_outage_and_no_failure() {
    let db = Database::new("lost_and_found");
    let notebook = Notebook::new();
    let script = notebook.beside("lose.sql");
    // Never the last one: after that no client would connect again.
    let text = "\\set n :n + 1\n\\sleep 5 ms\n\
        SELECT pg_terminate_backend(pg_backend_pid()) WHERE :n % 10 = 5;\n";
    std::fs::write(&script, text).unwrap();
    let script = script.to_str().unwrap();
    let args = ["run", script, "-t", "40", "--param", "n=0", "--reconnect"];
    let ran = notebook.run(&db, &args).expect(0, &["reconnects   4,"]);
    assert!(!ran.stdout.contains("while connected"), "{ran:#?}");
    assert_eq!(notebook.value("SELECT state FROM trial"), "complete");
}
