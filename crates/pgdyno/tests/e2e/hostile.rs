//! Commands against a server that does not keep to the protocol, never stops sending, or sends what a
//! terminal would obey: they end, soon, with a code that says so, in little memory and few words.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use pgdyno_testkit::HostileServer;
use pgdyno_testkit::hostile::{
    Step, When, complete, described, ready, row, server_message, server_text,
};

use crate::child::Running;
use crate::support::{Ran, pgdyno};

/// Longer than any of these takes.
const HANGS: Duration = Duration::from_secs(30);
/// The most that a process may have held at a time. It is not optimised here, and on its way to the
/// first transaction as large as anywhere.
const MEMORY_KB_MAX: u64 = 160 << 10;
/// The most that it may have said.
const SAID_BYTES_MAX: usize = 16 << 10;

/// A command that runs one transaction of a script, and what it says of a lost connection.
struct Under {
    name: &'static str,
    args: &'static [&'static str],
    /// Its exit code after a connection that was lost.
    aborted: i32,
    /// Its exit code when it cannot connect.
    unreachable: i32,
}

const COMMANDS: [Under; 2] = [
    Under {
        name: "run",
        args: &["run", "marked.sql", "-t", "1", "-c", "1", "--warmup", "0"],
        aborted: 3,
        unreachable: 3,
    },
    Under {
        name: "pgbench",
        args: &["pgbench", "-n", "-f", "marked.sql", "-t", "1", "-c", "1"],
        aborted: 2,
        unreachable: 1,
    },
];

impl Under {
    fn command(&self, folder: &Path, url: &str) -> Command {
        let mut command = pgdyno(self.args);
        match self.name {
            "run" => command.args(["--url", url]),
            _ => command.arg(url),
        };
        command.current_dir(folder);
        command
    }

    /// Runs to the end, within the limits; `case` is what the server does.
    #[track_caller]
    fn ends(&self, case: &str, folder: &Path, url: &str) -> Ran {
        let begun = Instant::now();
        let mut running = Running::start(&mut self.command(folder, url));
        let mut memory_kb = 0;
        while !running.is_over() {
            memory_kb = memory_kb.max(peak_kb(running.id()));
            assert!(begun.elapsed() < HANGS, "{}: {case} hangs", self.name);
            std::thread::sleep(Duration::from_millis(2));
        }
        let ran = running.ended();
        assert!(
            memory_kb < MEMORY_KB_MAX,
            "{}: {case}: {memory_kb} kB",
            self.name
        );
        ran
    }
}

/// The most memory that a process has had, while it runs.
fn peak_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let words = peak.and_then(|peak| peak.split_whitespace().next());
    words.and_then(|kb| kb.parse().ok()).unwrap_or(0)
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("marked.sql");
    std::fs::write(path, "SELECT 1 AS marked;\n").expect("there is room");
    folder
}

fn server(when: When, steps: Vec<Step>) -> HostileServer {
    let socket = pgdyno_testkit::postgres().address().socket_path();
    HostileServer::start(&socket, when, steps)
}

#[test]
fn a_transaction_that_a_server_does_not_answer_properly_is_none() {
    let sends = |messages: &[Vec<u8>]| vec![Step::Send(messages.concat())];
    let notice = server_text(b'N', "NOTICE", "00000", &"hello ".repeat(100));
    let long = [&b"E"[..], &(1_u32 << 29).to_be_bytes()].concat();
    let cases = [
        (
            "nothing but ready",
            sends(&[ready(b'I')]),
            "has not completed this one",
        ),
        (
            "a column too few",
            sends(&[
                described(&["a", "b"]),
                row(&["1"]),
                complete("SELECT 1"),
                ready(b'I'),
            ]),
            "1 columns in place of 2",
        ),
        (
            "notices for ever",
            vec![Step::Flood(notice)],
            "bytes of messages without data in one answer",
        ),
        (
            "an error of 512 MB",
            vec![Step::Send(long), Step::Flood(vec![b'x'])],
            "1048576 bytes is the limit",
        ),
        (
            "no PostgreSQL",
            vec![Step::Flood(b"HTTP/1.1 400 Bad Request\r\n".to_vec())],
            "lost synchronization with server",
        ),
        ("a server that goes", vec![Step::Close], ""),
    ];
    let folder = folder();
    for (case, steps, words) in cases {
        let server = server(When::Asked("marked"), steps);
        for under in &COMMANDS {
            let ran = under.ends(case, folder.path(), &server.url());
            let ran = ran.expect(under.aborted, &[words]);
            let said = ran.stderr.len();
            // What pgbench would print of notices, up to the engine's limit.
            let limit = match under.name {
                "pgbench" => SAID_BYTES_MAX + (1 << 20),
                _ => SAID_BYTES_MAX,
            };
            assert!(said < limit, "{}: {case}: {said} bytes", under.name);
            if under.name == "pgbench" {
                let none = "number of transactions actually processed: 0/1";
                assert!(ran.stdout.contains(none), "{case}: {ran:#?}");
            }
        }
    }
}

#[test]
fn rows_without_number_and_rows_without_end_take_no_memory() {
    let piece = vec![b'x'; 1 << 20];
    let head = [
        &b"D"[..],
        &(10_u32 + (512 << 20)).to_be_bytes(),
        &[0, 1],
        &(512_u32 << 20).to_be_bytes(),
    ]
    .concat();
    let end = [complete("SELECT 1"), ready(b'I')].concat();
    let one = vec![
        Step::Send([described(&["a"]), head].concat()),
        Step::Times(512, piece),
        Step::Send(end.clone()),
    ];
    let many = vec![
        Step::Send(described(&["a"])),
        Step::Times(2000, row(&["value"]).repeat(10_000)),
        Step::Send(end),
    ];
    let folder = folder();
    for (case, steps) in [("a row of 512 MB", one), ("20 million rows", many)] {
        let server = server(When::Asked("marked"), steps);
        for under in &COMMANDS {
            under
                .ends(case, folder.path(), &server.url())
                .expect(0, &[]);
        }
    }
}

#[test]
fn a_server_that_never_finishes_starting_is_given_up_in_time() {
    let authenticated = server_message(b'R', &[0; 4]);
    let after = |step| vec![Step::Send(authenticated.clone()), step];
    let setting = server_message(b'S', b"name\0value\0");
    let notice = server_text(b'N', "NOTICE", "00000", "hello");
    let pause = Duration::from_millis(5);
    let limit = "more than 1048576 bytes during startup";
    let cases = [
        ("silence", vec![Step::Stall], "timeout expired"),
        (
            "silence behind the authentication",
            after(Step::Stall),
            "timeout expired",
        ),
        (
            "a trickle of settings",
            after(Step::Trickle(setting.clone(), pause)),
            "timeout expired",
        ),
        (
            "a trickle of notices",
            after(Step::Trickle(notice.clone(), pause)),
            "timeout expired",
        ),
        ("settings for ever", after(Step::Flood(setting)), limit),
        ("notices for ever", after(Step::Flood(notice)), limit),
        (
            "a web server",
            vec![Step::Flood(b"HTTP/1.1 400 Bad Request\r\n".to_vec())],
            "expected authentication request from server, but received H",
        ),
    ];
    let folder = folder();
    for (case, steps, words) in cases {
        let server = server(When::Connected, steps);
        let url = format!("{}&connect_timeout=2", server.url());
        for under in &COMMANDS {
            let begun = Instant::now();
            let ran = under.ends(case, folder.path(), &url);
            let ran = ran.expect(under.unreachable, &[words]);
            assert!(
                begun.elapsed() < Duration::from_secs(15),
                "{}: {case}",
                under.name
            );
            assert!(
                ran.stderr.len() < SAID_BYTES_MAX,
                "{}: {case}: {ran:#?}",
                under.name
            );
        }
    }
}

#[test]
fn what_a_terminal_would_obey_is_shown_where_pgbenchs_bytes_are_not_promised() {
    let evil = "\x1b]0;owned\x07\x1b[2Jover\rwritten \u{9b}31m \u{202e}";
    let shown = "\\x1b]0;owned\\x07\\x1b[2Jover\\x0dwritten \\u009b31m \\u202e";
    let texts = [
        server_text(b'N', "NOTICE", "00000", &format!("notice {evil}")),
        server_text(b'E', "ERROR", "XX000", &format!("error {evil}")),
        ready(b'I'),
    ];
    let server = server(When::Asked("marked"), vec![Step::Send(texts.concat())]);
    let folder = folder();
    let [run, pgbench] = &COMMANDS;
    let ran = run.ends("escapes", folder.path(), &server.url());
    let ran = ran.expect(1, &[&format!("error {shown}"), &format!("notice {shown}")]);
    assert!(
        !format!("{}{}", ran.stdout, ran.stderr).contains(['\x1b', '\r', '\u{9b}', '\u{202e}']),
        "{ran:#?}"
    );
    // To a pipe what pgbench prints, to a terminal what can be shown.
    let ran = pgbench.ends("escapes", folder.path(), &server.url());
    let ran = ran.expect(pgbench.aborted, &[]);
    for word in ["error", "notice"] {
        assert!(ran.stderr.contains(&format!("{word} {evil}")), "{ran:#?}");
    }
    let command = pgbench.command(folder.path(), &server.url());
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<String> = words
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let mut on_terminal = Command::new("script");
    on_terminal
        .args(["-qec", &line.join(" "), "/dev/null"])
        .current_dir(folder.path());
    let ran = Running::start(on_terminal.stdin(std::process::Stdio::null())).ended();
    for word in ["error", "notice"] {
        assert!(ran.stdout.contains(&format!("{word} {shown}")), "{ran:#?}");
    }
    assert!(
        !ran.stdout.contains(['\x1b', '\u{9b}', '\u{202e}']),
        "{ran:#?}"
    );
}

#[test]
fn a_text_of_many_clients_is_said_once() {
    let error = [
        server_text(b'E', "ERROR", "XX000", &"no ".repeat(5000)),
        ready(b'I'),
    ]
    .concat();
    let server = server(When::Asked("marked"), vec![Step::Send(error)]);
    let folder = folder();
    let args = [
        "run",
        "marked.sql",
        "-t",
        "1",
        "-c",
        "30",
        "--warmup",
        "0",
        "--url",
        &server.url(),
    ];
    let mut command = pgdyno(&args);
    let ran = Running::start(command.current_dir(folder.path())).ended();
    let ran = ran.expect(
        1,
        &[
            "29 more: script 0 aborted in command 0 query 0: ERROR:  no no",
            "more bytes)",
        ],
    );
    assert!(ran.stderr.len() < SAID_BYTES_MAX, "{ran:#?}");
}
