//! The host, the server's processes and pgdyno itself, beside a trial on a real PostgreSQL.

use serde_json::Value;

use crate::cli::store::Notebook;
use crate::support::Database;

fn script(notebook: &Notebook) -> String {
    let path = notebook.beside("one.sql");
    // With a pause, so that no processor is kept busy.
    std::fs::write(&path, "SELECT 1;\n\\sleep 2 ms\n").unwrap();
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
fn an_unknown_disk_fails_before_the_run() {
    let notebook = Notebook::new();
    let db = Database::new("observe_no_disk");
    let one = script(&notebook);
    let args = ["run", &one, "-T", "1", "--disk", "no such disk"];
    let why = "--disk: this host has no disk no such disk";
    notebook.run(&db, &args).expect(2, &[why]);
}

/// Of a core, which no trial of a few seconds comes near, whatever else the machine does: it is to
/// find a reading that has become dear, not to measure. What observing costs: docs/instruments.md.
const COST_MAX: f64 = 0.1;

#[test]
fn what_observing_costs_is_known_on_both_sides_and_little() {
    let notebook = Notebook::new();
    let db = Database::new("observe_cost");
    let one = script(&notebook);
    let args = [
        "run", &one, "-c", "16", "-j", "2", "-T", "5", "--rate", "100", "--json",
    ];
    let ran = notebook.run(&db, &args).expect(0, &[]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let observed = &document["observed"];
    let trial_us = document["measured"]["elapsed_us"].as_f64().unwrap();
    let check = |what: &str, us: Option<u64>| {
        let us = us.unwrap_or_else(|| panic!("{what} is not known: {observed:#}"));
        let share = us as f64 / trial_us;
        assert!(share < COST_MAX, "{what}: {us} µs");
        us
    };
    let instruments = observed["instruments"].as_array().unwrap();
    let mut here_us = 0;
    for instrument in instruments {
        let name = instrument["name"].as_str().unwrap();
        here_us += check(name, instrument["cpu_us"].as_u64());
    }
    let all_us = check("this side", observed["cpu_us"].as_u64());
    assert!(all_us >= here_us && here_us > 0, "{all_us} {here_us}");
    // Each has a session with the server all the time.
    let mut there_us = 0;
    let those = [
        "pg.counters",
        "pg.waits",
        "pg.locks",
        "pg.events",
        "client.ping",
    ];
    for name in those {
        there_us += check(name, observed["facts"][name]["server_cpu_us"].as_u64());
    }
    let all_us = check("the server's side", observed["server_cpu_us"].as_u64());
    assert!(all_us > 0 && all_us == there_us, "{all_us} {there_us}");
    let shown = notebook.pgdyno(&["show", "1", "-v"]).expect(0, &[]).stdout;
    let line = shown.lines().find(|line| line.starts_with("observers "));
    let line = line.unwrap_or_else(|| panic!("{shown}"));
    assert!(line.contains("of CPU of pgdyno"), "{line}");
    assert!(line.contains(" ms of CPU of the server, "), "{line}");
}
