//! A server that another one replaces in the course of a run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use pgdyno_server::Server;
use serde_json::Value;

use super::endpoints::number;
use crate::child::{Running, wait_until};
use crate::support::{pgdyno, ran, sql};

const TABLE: &str = "CREATE TABLE visit (client int)";
const COUNT: &str = "SELECT count(*) FROM visit";

fn events<'a>(document: &'a Value, kind: &str) -> Vec<&'a str> {
    let events = document["events"].as_array().unwrap().iter();
    let events = events.filter(|event| event["kind"] == kind);
    events.filter_map(|event| event["text"].as_str()).collect()
}

#[test]
fn another_server_at_the_same_address_is_an_event_and_a_serious_note() {
    let first = pgdyno_testkit::postgres_with(&[]);
    let second = match pgdyno_testkit::postgres_of_with(13, &[]) {
        Ok(server) => server,
        Err(why) => {
            let name = "another_server_at_the_same_address_is_an_event_and_a_serious_note";
            pgdyno_testkit::skip!(name, format!("PostgreSQL 13: {why}"));
        }
    };
    let third = pgdyno_testkit::postgres_with(&[]);
    let urls = [&first, &second, &third].map(|server| server.address().url());
    urls.iter().for_each(|url| sql(url, TABLE));
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("visit.sql"),
        "INSERT INTO visit VALUES (:client_id);\n",
    )
    .unwrap();
    let socket = dir.path().join(".s.PGSQL.5432");
    let lead_to = |server: &Server| {
        let new = dir.path().join("new");
        symlink(server.address().socket_path(), &new).unwrap();
        fs::rename(new, &socket).unwrap();
    };
    let store = crate::support::notebook::at(&dir.path().join("notebook.sqlite"));
    let url = format!(
        "host={} user=postgres dbname=postgres",
        dir.path().display()
    );
    // Another version, which sessions report; the same version with other data, which is read back at the end.
    for (trial, to, says) in [
        ("1", 1, "is PostgreSQL 13."),
        ("2", 2, "of system identifier "),
    ] {
        lead_to(&first);
        let (from, to_url) = (&urls[0], &urls[to]);
        let before = number(from, COUNT);
        let mut command = pgdyno(&[
            "run",
            "visit.sql",
            "-c",
            "2",
            "-T",
            "3",
            "-R",
            "100",
            "--reconnect",
            "--json",
        ]);
        command
            .args(["--observe", "none", "--url", &url])
            .env("PGDYNO_STORE", &store)
            .current_dir(dir.path());
        let running = Running::start(&mut command);
        wait_until("rows come", || number(from, COUNT) > before + 20);
        lead_to([&first, &second, &third][to]);
        sql(
            from,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO visit%'",
        );
        wait_until("rows come elsewhere", || number(to_url, COUNT) > 20);
        let ended = running.ended().expect(0, &[]);
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        let notes = document["notes"].as_array().unwrap();
        let note = notes.iter().find(|note| note["code"] == "server-replaced");
        let note = note.unwrap_or_else(|| panic!("{document:#}"));
        assert_eq!(note["severity"], "serious");
        let sentence = note["sentence"].as_str().unwrap();
        assert!(
            sentence.contains(says) && sentence.contains("when the trial began"),
            "{sentence}"
        );
        let happened = events(&document, "server-replaced");
        // The one at the moment of it, by what sessions report, too.
        assert_eq!(happened.len(), if to == 1 { 2 } else { 1 }, "{happened:?}");
        let reached = &document["target"]["facts"]["reached"][0];
        let version = reached["version"].as_str().unwrap_or_default();
        assert!(version.starts_with("PostgreSQL 1"), "{reached}");
        assert!(reached["system_identifier"].is_string(), "{reached}");
        // And in the notebook.
        let mut show = pgdyno(&["show", trial, "--json"]);
        let shown = ran(show.env("PGDYNO_STORE", &store)).expect(0, &[]);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(events(&shown, "server-replaced"), happened);
        assert_eq!(
            shown["target"]["facts"]["reached"],
            document["target"]["facts"]["reached"]
        );
        assert_eq!(shown["notes"], document["notes"]);
    }
}

#[test]
fn a_server_that_stays_is_no_event_and_each_endpoint_has_its_version() {
    let server = pgdyno_testkit::postgres();
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("one.sql");
    fs::write(&script, "SELECT 1;\n").unwrap();
    let urls = [
        server.address().url(),
        server.address().loopback_url().unwrap(),
    ];
    let run = |more: &[&str]| {
        let script: &Path = &script;
        let mut command = pgdyno(&["run", script.to_str().unwrap(), "-c", "2", "-t", "5"]);
        command.args(["--no-store", "--observe", "none", "--reconnect", "-C"]);
        command.args(urls.iter().flat_map(|url| ["--url", url]));
        ran(command.args(more)).expect(0, &[])
    };
    // However it is wrapped.
    let text = run(&["-v"]).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let address = server.address();
    for endpoint in [
        format!(".s.PGSQL.{}", address.port),
        format!("127.0.0.1:{}", address.port),
    ] {
        assert!(
            text.contains(&format!("{endpoint} is PostgreSQL ")),
            "{text}"
        );
    }
    let document: Value = serde_json::from_str(&run(&["--json"]).stdout).unwrap();
    assert_eq!(events(&document, "server-replaced"), [""; 0]);
}
