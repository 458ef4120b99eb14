//! The host, the server's processes and pgdyno itself, beside a trial on a real PostgreSQL.

use serde_json::Value;

use crate::store::Notebook;
use crate::support::Database;

fn script(notebook: &Notebook) -> String {
    let path = notebook.beside("one.sql");
    std::fs::write(&path, "SELECT 1;\n").unwrap();
    path.display().to_string()
}

/// The labels of a series.
fn labels<'a>(document: &'a Value, name: &str) -> Vec<&'a str> {
    let series = document["observed"]["series"].as_array().unwrap();
    let of_name = series.iter().filter(|series| series["name"] == name);
    of_name.filter_map(|one| one["label"].as_str()).collect()
}

#[test]
fn a_trial_tells_what_the_host_the_server_and_pgdyno_were_doing() {
    let notebook = Notebook::new();
    let db = Database::new("observe_host");
    let one = script(&notebook);
    let args = [
        "run",
        &one,
        "-c",
        "4",
        "-j",
        "2",
        "-T",
        "3",
        "--json",
        "--observe",
        "host,client",
    ];
    let ran = notebook.run(&db, &args).expect(0, &[]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let facts = &document["observed"]["facts"]["host.cpu"];
    assert_eq!(facts["host.role"], "client and server", "{facts:#}");
    let modes = labels(&document, "host.cpu");
    for mode in ["user", "system", "idle", "iowait", "steal"] {
        assert!(modes.contains(&mode), "{modes:?}");
    }
    assert_eq!(labels(&document, "host.server.cpu"), [""]);
    assert_eq!(labels(&document, "host.cpu.others"), [""]);
    assert!(labels(&document, "host.network.received").contains(&"lo"));
    assert_eq!(labels(&document, "host.memory.dirty"), [""]);
    let both = ["thread 0", "thread 1"];
    for name in [
        "client.thread.cpu",
        "client.thread.waited",
        "client.lag.max",
    ] {
        let mut threads = labels(&document, name);
        threads.sort_unstable();
        assert_eq!(threads, both, "{name}");
    }
    let notes = document["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note["code"] == "same-host"));
}

#[test]
fn a_disk_that_is_not_there_is_told_before_anything_is_begun() {
    let notebook = Notebook::new();
    let db = Database::new("observe_no_disk");
    let one = script(&notebook);
    let args = ["run", &one, "-T", "1", "--disk", "no such disk"];
    let why = "--disk: this host has no disk no such disk";
    notebook.run(&db, &args).expect(2, &[why]);
}
