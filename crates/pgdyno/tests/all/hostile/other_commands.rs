//! The same servers and commands that load, look, sweep and list.

use std::time::Duration;

use pgdyno_testkit::hostile::{
    Step, When, complete, described, ready, row, server_message, server_text,
};

use crate::hostile::conduct::{self, is_obeyed};
use crate::hostile::scenario::{REFUSED, Scenario, scenario, sends, sends_and};
use crate::support::pgdyno;

const EVIL: &str = "\x1b]0;owned\x07\x1b[2J \u{9b}31m \u{202e}";

/// Command lines, with `URL` where the server's is to stand.
const COMMANDS: [&str; 4] = [
    "load tpcb --url URL",
    "target URL",
    "sweep sweep.toml --url URL",
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
    command.env("PGDYNO_STORE", folder.path().join("notebook.sqlite"));
    let ended = conduct::ended(&mut command, |running| {
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

/// Has every command meet each; it ends with one of the codes.
#[track_caller]
fn all(scenarios: Vec<Scenario>, codes: fn(&Scenario, &str) -> &'static [i32]) {
    let cases = scenarios
        .iter()
        .filter(|it| conduct::can_be_sent(it))
        .flat_map(|it| COMMANDS.map(|command| (it, command)));
    conduct::all(
        cases.collect(),
        |(scenario, command)| format!("{command}: {}", scenario.name),
        |(scenario, command)| meets(command, scenario, codes(scenario, command)),
    );
}

/// A notebook that cannot be opened is not the server that is measured.
fn without_connection(scenario: &Scenario, command: &str) -> &'static [i32] {
    match scenario.signal {
        Some(_) => &[130],
        None if command.starts_with("ls") => &[1],
        None => &[3],
    }
}

#[test]
fn no_connection_is_no_connection_to_any_command() {
    let at = |name, when, steps| scenario(name, when, steps, REFUSED);
    let http = b"HTTP/1.1 400 Bad Request\r\n".to_vec();
    let refusal = server_text(b'E', "FATAL", "53300", EVIL);
    let accepted = server_message(b'R', &[0; 4]);
    let setting = Step::Flood(server_message(b'S', b"a\0b\0"));
    let scenarios = vec![
        at("closes", When::Connected, vec![Step::Close]).says("server closed the connection"),
        at("resets", When::Accepted, vec![Step::Reset]),
        at(
            "a web server",
            When::Accepted,
            sends_and(&[http], Step::Stall),
        )
        .says("expected authentication request"),
        at("refuses", When::Connected, sends(&[refusal])),
        at(
            "settings for ever",
            When::Connected,
            sends_and(&[accepted], setting),
        )
        .says("during startup"),
        at("is silent", When::Connected, vec![Step::Stall])
            .url("sslmode=disable&connect_timeout=2")
            .says("timeout expired"),
        at("is silent, and Ctrl-C", When::Connected, vec![Step::Stall]).interrupted(),
    ];
    all(scenarios, without_connection);
}

/// Whether it matters to a command what a server says of itself is its affair.
fn with_nonsense(scenario: &Scenario, _: &str) -> &'static [i32] {
    match scenario.signal {
        Some(_) => &[130],
        None => &[0, 1, 3],
    }
}

#[test]
fn nonsense_is_answered_with_an_end() {
    let at = |name, steps| scenario(name, When::Asked("SELECT"), steps, REFUSED);
    let result = |rows: Vec<u8>, columns: &[&str]| {
        sends(&[described(columns), rows, complete("SELECT 1"), ready(b'I')])
    };
    let null = server_message(b'D', &[0, 1, 255, 255, 255, 255]);
    let error = |severity| server_text(b'E', severity, "XX000", EVIL);
    let copy = server_message(b'G', &[0, 0, 0]);
    let scenarios = vec![
        at("says nothing but ready", sends(&[ready(b'I')])),
        at("says words", result(row(&[EVIL]), &["\x1b[2J"])),
        at(
            "says a number",
            result(row(&["99999999999999999999999"]), &["a"]),
        ),
        at("says -1", result(row(&["-1"]), &["a"])),
        at("says NULL", result(null, &["a"])),
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
        at("says 500 kB", result(row(&[&"x".repeat(500_000)]), &["a"])),
        at("says errors", sends(&[error("ERROR"), ready(b'I')])),
        at(
            "says an error, and closes",
            sends_and(&[error("FATAL")], Step::Close),
        ),
        at("closes at a question", vec![Step::Close]),
        at("wants a COPY, and closes", sends_and(&[copy], Step::Close)),
        at("says nothing, and Ctrl-C", vec![Step::Stall]).interrupted(),
    ];
    all(scenarios, with_nonsense);
}
