//! Traffic recorded on its way, and replayed.

use std::path::{Path, PathBuf};

use pgdyno_platform::child::Signal;
use serde_json::Value;

use super::replay::{json_of, sums};
use crate::child::{Running, wait_until};
use crate::support::{Database, Ran, connect, pgdyno, ran};

/// A proxy that records, and what leads through it.
struct Recording {
    running: Running,
    file: PathBuf,
    through: Database,
}

impl Recording {
    fn start(database: &Database, dir: &Path) -> Self {
        let file = dir.join("wire.rec");
        let [port] = pgdyno_testkit::free_ports();
        let running = Running::start(
            pgdyno(&["record", "--listen", &format!("127.0.0.1:{port}")])
                .args(["--url", &database.url, "-o"])
                .arg(&file),
        );
        wait_until("a proxy", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let mut session = connect(&database.url);
        let name = |session: &mut pgdyno_session::Session, sql: &str| {
            session.query_one_value(sql).unwrap().unwrap()
        };
        let user = name(&mut session, "SELECT current_user");
        let database = name(&mut session, "SELECT current_database()");
        let through = Database {
            url: format!("postgresql://{user}@127.0.0.1:{port}/{database}?sslmode=disable"),
        };
        Self {
            running,
            file,
            through,
        }
    }

    fn interrupted(self) -> (Ran, PathBuf) {
        self.running.signal(Signal::Interrupt);
        (self.running.ended(), self.file)
    }
}

#[test]
fn a_trial_is_recorded_from_the_wire_and_replays_to_equal_sums() {
    let dir = tempfile::tempdir().unwrap();
    let original = Database::new("wire_original");
    original.pgdyno(&["load", "tpcb"]);
    original.sql("CREATE DATABASE wire_copy TEMPLATE wire_original");
    let recording = Recording::start(&original, dir.path());
    for query_mode in ["simple", "prepared"] {
        let options = [
            "run",
            "tpcb",
            "-c",
            "3",
            "-t",
            "20",
            "--query-mode",
            query_mode,
        ];
        recording.through.pgdyno(&options).expect(0, &[]);
    }
    let (ran, file) = recording.interrupted();
    ran.expect(0, &["statements of"]);
    let shown = json_of(&["record", "show"], &file);
    let texts = shown["texts"].as_array().unwrap();
    for table in ["accounts", "tellers", "branches"] {
        let begin = format!("UPDATE pgbench_{table} SET");
        let of_table = texts
            .iter()
            .filter(|text| text["text"].as_str().unwrap().starts_with(&begin));
        let count: u64 = of_table
            .map(|text| text["statements"].as_u64().unwrap())
            .sum();
        assert_eq!(count, 120, "{table}");
    }
    assert_eq!(
        (&shown["about"]["clock_us"], &shown["failed"]),
        (&1.into(), &0.into())
    );
    let copy = Database {
        url: original.url.replace("wire_original", "wire_copy"),
    };
    let replay = [
        "replay",
        file.to_str().unwrap(),
        "--json",
        "--speed",
        "4",
        "--only",
    ];
    // The trial's own sessions look at a running server: their answers differ.
    let only = "BEGIN,UPDATE,SELECT,INSERT,END,COMMIT";
    let replayed = copy.pgdyno(&[&replay[..], &[only]].concat());
    let replayed: Value = serde_json::from_str(&replayed.stdout).unwrap();
    assert_eq!(
        replayed["errors"]["new"],
        serde_json::json!([]),
        "{replayed:#}"
    );
    assert_eq!(sums(&copy), sums(&original));
    assert!(sums(&copy)[0].ends_with("|120"), "{:?}", sums(&copy));
}

#[test]
fn what_was_recorded_survives_a_kill_and_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::new("wire_killed");
    let recording = Recording::start(&database, dir.path());
    let mut session = connect(&recording.through.url);
    session.simple_query("SELECT 'survives'").unwrap();
    let part = dir.path().join("wire.rec.part");
    let has_it = || {
        let shown = json_of(&["record", "show"], &part);
        let texts = shown["texts"].as_array().unwrap();
        shown["lost"]["is_torn"] == true && texts.iter().any(|text| text["text"] == "SELECT ?")
    };
    wait_until("the statement in the file", has_it);
    recording.running.signal(Signal::Kill);
    assert_eq!(recording.running.ended().code, Some(137));
    assert!(has_it());
    let again = ran(pgdyno(&["record", "--listen", "127.0.0.1:0", "-T", "1"])
        .args(["--url", &database.url, "-o"])
        .arg(&recording.file));
    again.expect(2, &["wire.rec.part", "can be read as it is"]);
    std::fs::rename(&part, &recording.file).unwrap();
    let file = recording.file.to_str().unwrap();
    database
        .pgdyno(&["replay", file])
        .expect(0, &["the end of the file is missing", "0 new"]);
}

#[test]
fn what_cannot_be_recorded_from_the_wire_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.rec");
    let record = |args: &[&str]| ran(pgdyno(&["record"]).args(args).arg("-o").arg(&file));
    record(&["--listen", "127.0.0.1:0"]).expect(2, &["--url"]);
    let nowhere = format!("postgresql://{}/x", pgdyno_testkit::closed_address());
    record(&["--listen", "127.0.0.1:0", "--url", &nowhere]).expect(3, &["failed"]);
    let url = Database::new("wire_refused").url;
    record(&["--listen", "nothing", "--url", &url]).expect(2, &["HOST:PORT"]);
    record(&["--listen", "192.0.2.1:1", "--url", &url]).expect(2, &["cannot listen on"]);
    assert!(!dir.path().join("a.rec.part").exists());
    let tls = ["--tls-cert", "none.pem", "--tls-key", "none.pem"];
    record(&[&["--listen", "127.0.0.1:0", "--url", &url][..], &tls].concat())
        .expect(2, &["none.pem"]);
    record(&["--listen", "127.0.0.1:0", "--url", &url, "-T", "1ms"])
        .expect(0, &["0 statements of 0 sessions"]);
}
