//! `pgdyno top`: running trials in the terminal.

use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use pgdyno_platform::child::Signal;
use serde_json::Value;

use crate::child::{Running, wait_until};
use crate::serve::client::Notebook;
use crate::support::{Database, ran};

/// What is told to programs now.
fn now(notebook: &Notebook) -> Value {
    let told = ran(&mut notebook.command(&["top", "--once", "--json"])).expect(0, &[]);
    serde_json::from_str(&told.stdout).unwrap()
}

/// A long trial with seconds.
fn begun(notebook: &Notebook, db: &Database) -> Running {
    let script = notebook.script();
    let run = [
        "run", "-q", &script, "-c", "3", "-T", "300", "--url", &db.url,
    ];
    let run = Running::start(&mut notebook.command(&run));
    wait_until("three seconds of it", || {
        let told = ran(&mut notebook.command(&["top", "--once", "--json"]));
        // Without a notebook there is nothing to say yet.
        let told: Value = serde_json::from_str(&told.stdout).unwrap_or_default();
        told["running"][0]["now_us"].as_u64() >= Some(3_000_000)
    });
    run
}

#[test]
fn a_running_trial_has_a_line_and_a_picture_of_its_own_until_it_ends() {
    let db = Database::new("serve_top");
    let notebook = Notebook::new();
    let run = begun(&notebook, &db);
    let told = now(&notebook);
    let one = &told["running"][0];
    assert_eq!(one["clients"], 3, "{one}");
    assert!(one["goodput_per_s"][0].as_f64() > Some(0.0), "{one}");
    assert_eq!(one["planned_us"], 300_000_000, "{one}");
    let list = ran(&mut notebook.command(&["top", "--once"]));
    let list = list.expect(0, &["1 trial running in ", "one.sql, 3 clients", "/05:00"]);
    assert!(
        list.stdout.lines().all(|line| line.chars().count() <= 110),
        "{}",
        list.stdout
    );
    let number = one["number"].to_string();
    let picture = ran(&mut notebook.command(&["top", &number, "--once"]));
    picture.expect(
        0,
        &[
            "so far, ms",
            "last 5 s, ms",
            "failed       0 of ",
            "clients’ time",
            "  second ",
        ],
    );
    // Where there is no terminal, a line at a time, until the trial ends.
    let said = notebook.beside("watched");
    let watch = Running::start_silent(
        notebook
            .command(&["top", &number])
            .stdout(std::fs::File::create(&said).unwrap()),
    );
    let json = notebook.beside("json");
    let programs = Running::start_silent(
        notebook
            .command(&["top", &number, "--json"])
            .stdout(std::fs::File::create(&json).unwrap()),
    );
    let text = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default();
    wait_until("lines", || {
        text(&said).lines().count() > 1 && text(&json).lines().count() > 1
    });
    run.signal(Signal::Interrupt);
    run.ended();
    let words = format!("trial {number} has ended: aborted");
    watch.ended().expect(0, &[]);
    programs.ended().expect(0, &[]);
    let watched = text(&said);
    assert!(
        watched.contains("tx/s  p50 ") && watched.contains(&words),
        "{watched}"
    );
    assert!(!watched.contains('\u{1b}'), "{watched:?}");
    let documents = text(&json);
    let first = documents.lines().next().unwrap();
    let first: Value = serde_json::from_str(first).unwrap();
    assert!(first["measured"]["committed"].as_u64() > Some(0), "{first}");
    assert!(first["verdict"].is_null(), "no verdict before the end");
    // And nothing is left.
    let over = ran(&mut notebook.command(&["top", &number]));
    over.expect(
        2,
        &["is not running: aborted", &format!("pgdyno show {number}")],
    );
    ran(&mut notebook.command(&["top", "--once"])).expect(0, &["0 trials running in "]);
}

#[test]
fn a_trial_whose_process_was_killed_does_not_run_on_in_it() {
    let db = Database::new("serve_top_killed");
    let notebook = Notebook::new();
    let run = begun(&notebook, &db);
    let number = now(&notebook)["running"][0]["number"].to_string();
    let said = notebook.beside("watched");
    let watch = Running::start_silent(
        notebook
            .command(&["top", &number])
            .stdout(std::fs::File::create(&said).unwrap()),
    );
    let text = || std::fs::read_to_string(&said).unwrap_or_default();
    wait_until("a line", || !text().is_empty());
    run.signal(Signal::Kill);
    run.ended();
    watch.ended().expect(0, &[]);
    let words = format!("trial {number} has ended: aborted");
    assert!(text().contains(&words), "{}", text());
}

#[test]
fn a_terminal_is_drawn_upon_and_left_as_it_was() {
    let db = Database::new("serve_top_screen");
    let notebook = Notebook::new();
    let run = begun(&notebook, &db);
    // util-linux' script gives a terminal to a program that has none.
    let program = env!("CARGO_BIN_EXE_pgdyno");
    let line = format!("stty cols 80 rows 24; NO_COLOR=1 TERM=xterm {program} top; stty -a");
    let mut script = std::process::Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::piped());
    script.env("PGDYNO_STORE", notebook.file());
    script.stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = script.spawn() else {
        pgdyno_testkit::skip!(
            "a_terminal_is_drawn_upon_and_left_as_it_was",
            "script (util-linux) is not installed"
        );
    };
    let shown = Arc::new(Mutex::new(String::new()));
    let mut stdout = child.stdout.take().unwrap();
    let screen = shown.clone();
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = stdout.read(&mut bytes) {
            *screen.lock().unwrap() += &String::from_utf8_lossy(&bytes[..read]);
        }
    });
    let times = |part: &str| shown.lock().unwrap().matches(part).count();
    let mut keys = child.stdin.take().unwrap();
    let mut press = |key: &str| {
        keys.write_all(key.as_bytes()).unwrap();
        keys.flush().unwrap();
    };
    wait_until("the list", || times("Enter: show a trial") > 0);
    press("\r");
    wait_until("the trial", || times("last 5 s") > 0);
    let before = times("Enter: show a trial");
    press("\u{1b}");
    wait_until("the list again", || times("Enter: show a trial") > before);
    press("q");
    wait_until("what follows it", || times("icanon") > 0);
    drop(keys);
    child.wait().unwrap();
    reader.join().unwrap();
    run.signal(Signal::Interrupt);
    run.ended();
    let text = shown.lock().unwrap().clone();
    for part in [
        "\u{1b}[?1049h",
        "1 trial running in",
        "last 5 s",
        "q: end",
        "\u{1b}[?1049l",
    ] {
        assert!(text.contains(part), "{part:?} in {text:?}");
    }
    assert!(
        !text.contains("\u{1b}[7m"),
        "no colour was asked for: {text:?}"
    );
    let after = text.rsplit_once("\u{1b}[?1049l").unwrap().1;
    assert!(
        after.contains(" icanon") && after.contains(" echo "),
        "{after}"
    );
}
