//! The same servers and commands that load, look, sweep and list.

use std::time::Duration;

use pgdyno_platform::child::Signal;
use pgdyno_testkit::hostile::{
    Step, When, complete, described, ready, row, server_message, server_text,
};

use crate::conduct::{self, is_obeyed};
use crate::scenario::{Scenario, scenario, sends, sends_and};
use crate::support::pgdyno;

const EVIL: &str = "\x1b]0;owned\x07\x1b[2J \u{9b}31m \u{202e}";

/// Command lines, with `URL` where the server's is to stand.
const COMMANDS: [&str; 4] = [
    "load tpcb --no-store --url URL",
    "target URL",
    "sweep sweep.toml --no-store --url URL",
    "ls --store URL",
];

const SWEEP: &str =
    "workload = [['marked.sql']]\ntransactions = 1\nclients = 1\nreset.settle = 0\n";

fn meets(command: &str, scenario: &Scenario, codes: &[i32]) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("there is room");
    std::fs::write(folder.path().join("sweep.toml"), SWEEP).expect("there is room");
    std::fs::write(folder.path().join("marked.sql"), &scenario.script).expect("there is room");
    let server = conduct::server(scenario.when.clone(), scenario.steps.clone());
    let url = server.url_with(scenario.url);
    let args: Vec<&str> = command
        .split_whitespace()
        .map(|word| if word == "URL" { &url } else { word })
        .collect();
    let mut command = pgdyno(&args);
    command.current_dir(folder.path());
    let ended = conduct::ended(&mut command, scenario.within, |running| {
        let Some(signal) = scenario.signal else {
            return Ok(());
        };
        while server.times_played() == 0 {
            if running.is_over() {
                return Err("ended before the server came to its steps".to_owned());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        running.signal(signal);
        Ok(())
    })?;
    let code = ended.ran.code.unwrap_or(-1);
    let code = *codes.iter().find(|it| **it == code).unwrap_or(&codes[0]);
    ended.check(args[0], scenario, code, &scenario.run_says)?;
    let printed = format!("{}{}", ended.ran.stdout, ended.ran.stderr);
    match printed.chars().find(|it| is_obeyed(*it)) {
        Some(it) => Err(format!("{it:?} is printed: {printed}")),
        None => Ok(()),
    }
}

/// Has every command meet each; they end with one of the codes.
#[track_caller]
fn all(cases: Vec<(Scenario, &[i32])>) {
    let cases = cases
        .iter()
        .flat_map(|it| COMMANDS.map(|command| (it, command)));
    conduct::all(
        cases.collect(),
        |((scenario, _), command)| format!("{command}: {}", scenario.name),
        |((scenario, codes), command)| meets(command, scenario, codes),
    );
}

#[test]
fn no_connection_is_no_connection_to_any_command() {
    let at = |name, when, steps, words: &str| {
        (scenario(name, when, steps, (3, 3)).says(words), &[3][..])
    };
    let ok = || server_message(b'R', &[0; 4]);
    let (mut silent, code) = at(
        "is silent",
        When::Connected,
        vec![Step::Stall],
        "timeout expired",
    );
    silent.url = "sslmode=disable&connect_timeout=2";
    let (mut interrupted, _) = at(
        "is silent, and Ctrl-C",
        When::Connected,
        vec![Step::Stall],
        "",
    );
    interrupted.signal = Some(Signal::Interrupt);
    all(vec![
        at(
            "closes",
            When::Connected,
            vec![Step::Close],
            "server closed the connection unexpectedly",
        ),
        at("resets", When::Accepted, vec![Step::Reset], ""),
        at(
            "a web server",
            When::Accepted,
            sends_and(&[b"HTTP/1.1 400 Bad\r\n".to_vec()], Step::Stall),
            "expected authentication request",
        ),
        at(
            "refuses",
            When::Connected,
            sends(&[server_text(b'E', "FATAL", "53300", EVIL)]),
            "",
        ),
        at(
            "settings for ever",
            When::Connected,
            sends_and(&[ok()], Step::Flood(server_message(b'S', b"a\0b\0"))),
            "during startup",
        ),
        (silent, code),
        (interrupted, &[130]),
    ]);
}

#[test]
fn nonsense_is_an_answer_to_no_command() {
    // Whether it matters to a command what a server says of itself is its affair.
    let any = &[0, 1, 3][..];
    let at = |name, steps| (scenario(name, When::Asked("SELECT"), steps, (3, 3)), any);
    let result = |rows: Vec<u8>, columns: &[&str]| {
        sends(&[described(columns), rows, complete("SELECT 1"), ready(b'I')])
    };
    let (mut interrupted, _) = at("says nothing, and Ctrl-C", vec![Step::Stall]);
    interrupted.signal = Some(Signal::Interrupt);
    all(vec![
        at("says nothing but ready", sends(&[ready(b'I')])),
        at("says words", result(row(&[EVIL]), &["\x1b[2J"])),
        at(
            "says a number",
            result(row(&["99999999999999999999999"]), &["a"]),
        ),
        at("says -1", result(row(&["-1"]), &["a"])),
        at(
            "says NULL",
            result(server_message(b'D', &[0, 1, 255, 255, 255, 255]), &["a"]),
        ),
        at(
            "says 20 columns",
            result(row(&["-9223372036854775808"; 20]), &["a"; 20]),
        ),
        at("says no column", result(row(&[]), &[])),
        at("says no row", result(Vec::new(), &["a"])),
        at(
            "says 10,000 rows",
            result(row(&[EVIL]).repeat(10_000), &["a"]),
        ),
        at(
            "says errors",
            sends(&[server_text(b'E', "ERROR", "XX000", EVIL), ready(b'I')]),
        ),
        at(
            "says an error, and closes",
            sends_and(&[server_text(b'E', "FATAL", "57P01", EVIL)], Step::Close),
        ),
        at("closes at a question", vec![Step::Close]),
        at(
            "wants a COPY",
            sends_and(&[server_message(b'G', &[0, 0, 0])], Step::Stall),
        ),
        (interrupted, &[130]),
    ]);
}
