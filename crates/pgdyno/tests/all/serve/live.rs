//! Trials while they run.

use std::fs;

use pgdyno_platform::child::Signal;
use serde_json::{Value, json};

use crate::child::wait_until;
use crate::serve::client::{Events, Notebook, Serving};
use crate::support::Database;

/// Seconds of a running trial's page.
fn seconds(document: &Value) -> usize {
    document["timeline"]["committed"]
        .as_array()
        .map_or(0, Vec::len)
}

/// Waits until the notebook has a running trial with a second, and gives its events' path.
pub fn running(server: &Serving) -> String {
    let mut list = server.events("/events");
    list.until("a running trial with a second", |list| {
        !list["running"][0]["now_us"].is_null()
    });
    format!("/trial/{}/events", list.document["running"][0]["number"])
}

/// The threads of a process that read for viewers.
fn readers(server: &Serving) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.id())).unwrap();
    let names = tasks
        .flatten()
        .map(|task| fs::read_to_string(task.path().join("comm")));
    names
        .filter(|name| name.as_ref().is_ok_and(|name| name == "feed\n"))
        .count()
}

/// Goes on to the end.
fn last(events: &mut Events) -> &Value {
    loop {
        let (name, _) = events.next();
        assert!(!name.is_empty(), "it ends without saying so");
        if name == "end" {
            return &events.document;
        }
    }
}

#[test]
fn a_running_trial_is_followed_to_its_end_by_all_viewers() {
    let db = Database::new("serve_live");
    let notebook = Notebook::new();
    let mut run = notebook.serving_run(&db, &["-c", "2", "-T", "10"]);
    let path = running(&run);
    let (mut first, mut second) = (run.events(&path), run.events(&path));
    // One that never reads what it is sent keeps no other waiting.
    let _silent = run.events(&path);
    let page = run.document(path.trim_end_matches("/events"));
    assert_eq!(page["served"]["events"], path.as_str());
    let live = &page["served"]["live"];
    assert_eq!(
        (&live["planned_us"], &live["cannot_stop"]),
        (&10_000_000.into(), &Value::Null)
    );
    assert!(page["verdict"].is_null(), "no verdict before the end");
    assert_eq!(first.next().0, "whole");
    let begun = seconds(&first.document);
    first.until("two more seconds", |page| seconds(page) >= begun + 2);
    // That of the list of running trials, which was left, may end a little later.
    wait_until("one thread that reads for all", || readers(&run) == 1);
    let ended = last(&mut first).clone();
    assert_eq!(ended["run"]["stored"]["state"], "complete");
    assert!(ended["served"]["live"].is_null());
    assert_eq!(*last(&mut second), ended, "both have the same");
    let shown = notebook
        .serve(&[])
        .document(path.trim_end_matches("/events"));
    assert_eq!(shown["run"], ended["run"], "it is the report's page");
    assert_eq!(run.ended(), Some(0), "{}", run.said());
}

#[test]
fn deltas_come_to_what_the_page_is_made_of_anew() {
    let db = Database::new("serve_deltas");
    let notebook = Notebook::new();
    let run = notebook.serving_run(&db, &["-c", "2", "-T", "60", "--rate", "50"]);
    let path = running(&run);
    let mut events = run.events(&path);
    let mut deltas = 0;
    while deltas < 4 {
        deltas += usize::from(events.next().0 == "delta");
    }
    // One who comes now gets the whole of the same version, or of a later one.
    let mut newcomer = run.events(&path);
    assert_eq!(newcomer.next().0, "whole");
    let wanted = seconds(&newcomer.document);
    events.until("the newcomer's second", |page| seconds(page) >= wanted);
    if seconds(&events.document) == wanted {
        assert_eq!(events.document["timeline"], newcomer.document["timeline"]);
    }
    newcomer.until("as many", |page| seconds(page) >= seconds(&events.document));
    let shared = seconds(&events.document);
    let of = |page: &Value| page["timeline"]["committed"].as_array().unwrap()[..shared].to_vec();
    assert_eq!(of(&events.document), of(&newcomer.document));
}

#[test]
fn a_trial_is_stopped_from_the_page_and_keeps_what_it_measured() {
    let db = Database::new("serve_stop");
    let notebook = Notebook::new();
    let mut run = notebook.serving_run(&db, &["-c", "2", "-T", "600"]);
    assert!(run.link.contains("/trial/1?token="), "{}", run.link);
    // Another server of the same notebook stops it as well as its own.
    let server = notebook.serve(&[]);
    let path = running(&server);
    let trial = path.trim_end_matches("/events");
    let mut events = server.events(&path);
    events.until("a second", |page| seconds(page) > 0);
    let uuid = events.document["served"]["live"]["uuid"].clone();
    let stop = format!("{trial}/stop");
    let wrong = json!({ "uuid": "00000000-0000-0000-0000-000000000000" });
    server.post(&stop, &wrong).expect(409, "another one by now");
    server
        .post(&stop, &json!({ "uuid": uuid }))
        .expect(200, "was asked to end");
    let ended = last(&mut events);
    assert_eq!(ended["run"]["stored"]["state"], "aborted");
    assert_eq!(ended["run"]["stored"]["reason"], "interrupted");
    let committed = ended["timeline"]["committed"].as_array().unwrap();
    let committed: u64 = committed.iter().filter_map(Value::as_u64).sum();
    assert!(committed > 0, "results are kept");
    assert_eq!(run.ended(), Some(130), "{}", run.said());
    assert!(
        run.said().contains(" committed, "),
        "the summary is printed: {}",
        run.said()
    );
    server
        .post(&stop, &json!({ "uuid": uuid }))
        .expect(409, "has ended: aborted");
}

#[test]
fn a_trial_whose_process_is_killed_ends_for_its_viewers() {
    let db = Database::new("serve_killed");
    let notebook = Notebook::new();
    let run = notebook.serving_run(&db, &["-c", "2", "-T", "600"]);
    let server = notebook.serve(&[]);
    let path = running(&server);
    let mut events = server.events(&path);
    events.until("a second", |page| seconds(page) > 0);
    run.signal(Signal::Kill);
    let ended = last(&mut events);
    assert_eq!(ended["run"]["stored"]["state"], "aborted");
    assert!(seconds(ended) > 0, "its seconds are kept");
}

#[test]
fn a_closed_tab_costs_nothing_more() {
    let db = Database::new("serve_closed");
    let notebook = Notebook::new();
    let run = notebook.serving_run(&db, &["-c", "2", "-T", "600"]);
    let path = running(&run);
    let mut events = run.events(&path);
    events.until("a second", |page| seconds(page) > 0);
    assert!(readers(&run) > 0);
    drop(events);
    wait_until("no reader", || readers(&run) == 0);
}

#[test]
fn a_notebook_that_goes_away_is_said_to_be_away_and_found_again() {
    let db = Database::new("serve_away");
    let notebook = Notebook::with_trials(&db, 1);
    let server = notebook.serve(&[]);
    let mut events = server.events("/events");
    assert_eq!(events.next().0, "whole");
    let aside = notebook.beside("aside");
    fs::rename(notebook.file(), &aside).unwrap();
    let (name, data) = events.next();
    assert_eq!(name, "away");
    assert!(
        data["error"]
            .as_str()
            .unwrap()
            .contains("there is no store at"),
        "{data}"
    );
    let answer = server.get("/trial/1").expect(503, "there is no store at");
    assert!(answer.head.contains("\r\nRetry-After: "), "{answer:?}");
    fs::rename(&aside, notebook.file()).unwrap();
    assert_eq!(events.next().0, "delta", "it is back");
    server.get("/trial/1").expect(200, "");
}

#[test]
fn an_experiment_grows_before_its_viewers() {
    let db = Database::new("serve_grows");
    let notebook = Notebook::new();
    let mut run = notebook.serving_run(&db, &["-T", "2", "--repeat", "3", "--observe", "none"]);
    let mut list = run.events("/events");
    list.until("a growing experiment", |list| !list["growing"][0].is_null());
    let growing = list.document["growing"][0].clone();
    assert_eq!(growing["planned"], 3, "{growing}");
    let path = format!("/experiment/{}/events", growing["uuid"].as_str().unwrap());
    let mut events = run.events(&path);
    events.until("two complete repeats", |page| {
        let trials = page["trials"].as_array().into_iter().flatten();
        trials.filter(|trial| trial["state"] == "complete").count() >= 2
    });
    assert_eq!(run.ended(), Some(0), "{}", run.said());
}

#[test]
fn ctrl_c_ends_the_server() {
    let db = Database::new("serve_ends");
    let notebook = Notebook::with_trials(&db, 1);
    let mut server = notebook.serve(&[]);
    let mut events = server.events("/events");
    assert_eq!(events.next().0, "whole");
    server.signal(Signal::Interrupt);
    assert_eq!(server.ended(), Some(0), "{}", server.said());
    assert_eq!(
        events.next().0,
        "",
        "its viewers see the end of the connection"
    );
}

#[test]
fn a_team_s_notebook_is_watched_like_a_file_and_may_be_away() {
    let (db, notes) = (
        Database::new("serve_measured"),
        Database::new("serve_notes"),
    );
    let notebook = Notebook::on_server(&notes);
    let mut run = notebook.serving_run(&db, &["-c", "2", "-T", "600", "--observe", "none"]);
    let path = running(&run);
    let mut events = run.events(&path);
    events.until("two seconds", |page| seconds(page) >= 2);
    // Its connections are ended, and none may begin.
    let connections = |are_allowed: bool| {
        let sql = "ALTER DATABASE serve_notes ALLOW_CONNECTIONS";
        db.sql(&format!("{sql} {are_allowed}"));
        let sql =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'serve_notes'";
        db.rows(sql);
    };
    connections(false);
    while events.next().0 != "away" {}
    run.get("/trial/1").expect(503, "serve_notes");
    let before = seconds(&events.document);
    connections(true);
    events.until("more seconds", |page| seconds(page) > before);
    let uuid = events.document["served"]["live"]["uuid"].clone();
    let stop = path.replace("events", "stop");
    run.post(&stop, &json!({ "uuid": uuid }))
        .expect(200, "was asked to end");
    assert_eq!(last(&mut events)["run"]["stored"]["state"], "aborted");
    assert_eq!(run.ended(), Some(130), "{}", run.said());
}
