//! How what a server says is shown: once, cut, and without what a terminal would obey.

use std::process::Command;

use pgdyno_testkit::hostile::{Step, When, ready, server_text};

use crate::hostile::conduct;
use crate::support::{Ran, pgdyno};

fn ran(command: &mut Command, folder: &tempfile::TempDir) -> Ran {
    let command = command.current_dir(folder.path());
    let ended = conduct::ended(command, |_| Ok(()));
    ended.unwrap_or_else(|hangs| panic!("{hangs}")).ran
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("marked.sql");
    std::fs::write(path, "SELECT 1 AS marked;\n").expect("there is room");
    folder
}

const RUN: [&str; 7] = [
    "run",
    "marked.sql",
    "-t",
    "1",
    "--warmup",
    "0",
    "--no-store",
];

#[test]
fn what_a_terminal_would_obey_is_shown_where_pgbenchs_bytes_are_not_promised() {
    let evil = "\x1b]0;owned\x07\x1b[2Jover\rwritten \u{9b}31m \u{202e}";
    let shown = "\\x1b]0;owned\\x07\\x1b[2Jover\\x0dwritten \\u009b31m \\u202e";
    let texts = [
        server_text(b'N', "NOTICE", "00000", &format!("notice {evil}")),
        server_text(b'E', "ERROR", "XX000", &format!("error {evil}")),
        ready(b'I'),
    ];
    let server = conduct::server(When::Asked("marked"), vec![Step::Send(texts.concat())]);
    let (folder, url) = (folder(), server.url());
    ran(pgdyno(&RUN).args(["--url", &url]), &folder)
        .expect(1, &[&format!("error {shown}"), &format!("notice {shown}")]);
    // To a pipe what pgbench prints, to a terminal what can be shown.
    let mut pgbench = pgdyno(&["pgbench", "-n", "-f", "marked.sql", "-t", "1"]);
    pgbench.arg(url);
    let on_pipe = ran(&mut pgbench, &folder).expect(2, &[]);
    let on_terminal = ran(&mut conduct::on_terminal(&pgbench), &folder);
    for word in ["error", "notice"] {
        assert!(
            on_pipe.stderr.contains(&format!("{word} {evil}")),
            "{on_pipe:#?}"
        );
        assert!(
            on_terminal.stdout.contains(&format!("{word} {shown}")),
            "{on_terminal:#?}"
        );
    }
}

#[test]
fn a_text_of_many_clients_is_said_once() {
    let text = server_text(b'E', "ERROR", "XX000", &"no ".repeat(5000));
    let steps = vec![Step::Send([text, ready(b'I')].concat())];
    let server = conduct::server(When::Asked("marked"), steps);
    let mut run = pgdyno(&RUN);
    run.args(["-c", "30", "--url", &server.url()]);
    let ran = ran(&mut run, &folder()).expect(
        1,
        &[
            "29 more: aborted at marked.sql:1: ERROR:  no no",
            "more bytes)",
        ],
    );
    assert!(ran.stderr.len() < 16 << 10, "{ran:#?}");
}
