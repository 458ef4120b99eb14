//! pgdyno's own sessions never take the place of a client's.

use std::fs;

use pgdyno_testkit::{Middlebox, postgres, postgres_with};
use serde_json::Value;

use crate::support::{Database, pgdyno, ran};

/// A run of four clients, and its document.
fn of_four(url: &str) -> Value {
    let folder = tempfile::tempdir().expect("temporary directory");
    fs::write(folder.path().join("one.sql"), "SELECT 1;\n").expect("written");
    let mut command = pgdyno(&[
        "run",
        "-q",
        "one.sql",
        "-c",
        "4",
        "-t",
        "50",
        "--no-store",
        "--json",
    ]);
    let ran = ran(command.args(["--url", url]).current_dir(folder.path())).expect(0, &[]);
    serde_json::from_str(&ran.stdout).expect("JSON")
}

fn note<'a>(document: &'a Value, code: &str) -> Option<&'a str> {
    let mut notes = document["notes"].as_array().expect("a list").iter();
    let note = notes.find(|note| note["code"] == code)?;
    note["sentence"].as_str()
}

#[test]
fn a_limit_as_high_as_the_clients_is_left_to_them() {
    let database = Database::on(postgres(), "own_sessions");
    database.sql(
        "CREATE ROLE just_clients LOGIN CONNECTION LIMIT 4; CREATE ROLE with_room LOGIN CONNECTION LIMIT 40",
    );
    let url = |role: &str| database.url.replacen("postgres@", &format!("{role}@"), 1);
    let crowded = of_four(&url("just_clients"));
    assert_eq!(crowded["measured"]["committed"], 200, "{crowded}");
    let said = note(&crowded, "own-sessions").expect("a note");
    assert!(
        said.contains("CONNECTION LIMIT of the role left room for 4 sessions"),
        "{said}"
    );
    assert_eq!(note(&crowded, "clients-outnumber-sessions"), None);
    let roomy = of_four(&url("with_room"));
    assert_eq!(note(&roomy, "own-sessions"), None);
    // That of the database counts for all roles.
    database.sql("ALTER DATABASE own_sessions CONNECTION LIMIT 5");
    let crowded = of_four(&url("with_room"));
    let said = note(&crowded, "own-sessions").expect("a note");
    assert!(said.contains("CONNECTION LIMIT of the database"), "{said}");
}

#[test]
fn each_endpoint_is_asked_for_its_room() {
    let roomy = Database::on(postgres(), "own_sessions_first");
    let narrow = postgres_with(&["max_connections=7"]);
    let narrow = Database::on(&narrow, "own_sessions_second");
    let mut command = pgdyno(&["run", "-q", "-c", "12", "-t", "5", "--no-store", "--json"]);
    let folder = tempfile::tempdir().expect("temporary directory");
    fs::write(folder.path().join("one.sql"), "SELECT 1;\n").expect("written");
    command.args(["one.sql", "--url", &roomy.url, "--url", &narrow.url]);
    let ran = ran(command.current_dir(folder.path())).expect(0, &[]);
    let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(document["measured"]["committed"], 60, "{document}");
    let said = note(&document, "own-sessions").expect("a note");
    assert!(said.contains("max_connections at "), "{said}");
    assert!(said.contains(" left room for 7 sessions"), "{said}");
}

#[test]
fn a_pool_as_large_as_the_clients_is_left_to_them() {
    let name = "a_pool_as_large_as_the_clients_is_left_to_them";
    let server = postgres_with(&[]);
    let settings = ["pool_mode=session", "default_pool_size=4"];
    let pooler = match Middlebox::pgbouncer(server.address().port, &settings) {
        Ok(pooler) => pooler,
        Err(why) => pgdyno_testkit::skip!(name, why),
    };
    let url = pooler.url("postgres");
    let crowded = of_four(&url);
    assert_eq!(crowded["measured"]["committed"], 200, "{crowded}");
    let said = note(&crowded, "own-sessions").expect("a note");
    assert!(
        said.contains("pool_size 4 of PgBouncer left room for 4 sessions"),
        "{said}"
    );
}
