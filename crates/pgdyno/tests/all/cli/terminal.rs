//! What is seen on a terminal of 80 columns: nothing is wider, the first screen of a run is 25 lines, and a
//! password is asked for without showing it.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use pgdyno_testkit::{postgres_with, skip};

use crate::support::{Database, connect, notebook, pgdyno, ran};

const COLUMNS: usize = 80;

fn has_script() -> bool {
    Command::new("script").arg("-V").output().is_ok()
}

/// The same command with a terminal for its input and output.
fn on_terminal(command: &Command) -> Command {
    let quoted = |word: &OsStr| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words.map(quoted).collect();
    let mut terminal = Command::new("script");
    let line = format!("stty cols {COLUMNS} rows 45; exec {}", words.join(" "));
    terminal.args(["-qec", &line, "/dev/null"]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        terminal.current_dir(folder);
    }
    terminal.stdin(Stdio::null());
    terminal
}

/// Its lines as they are left on the screen: what a progress bar has written over is not.
fn screen(output: &str) -> Vec<String> {
    let lines = output.split('\n').map(|line| {
        let line = line.trim_end_matches('\r');
        let line = line.rsplit('\r').next().unwrap_or_default();
        without_escapes(line).trim_end().to_owned()
    });
    lines.collect()
}

fn without_escapes(line: &str) -> String {
    let mut plain = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => drop(chars.by_ref().find(char::is_ascii_alphabetic)),
            c => plain.push(c),
        }
    }
    plain
}

/// A word that has no room by itself, such as a path or a URL, is shown whole.
fn is_too_wide(line: &str) -> bool {
    let longest = line.split(' ').map(|word| word.chars().count()).max();
    line.chars().count() > COLUMNS && longest < Some(COLUMNS - 40)
}

#[test]
fn nothing_is_wider_than_a_terminal_of_80_columns() {
    let name = "nothing_is_wider_than_a_terminal_of_80_columns";
    if !has_script() {
        skip!(name, "script(1) gives a command a terminal");
    }
    let db = Database::new("columns");
    let dir = tempfile::tempdir().unwrap();
    let here = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    here("good.sql", "SELECT 1;\n");
    here(
        "wrong.sql",
        "SELECT 1;\nSELECT abalance\n  FROM pgbench_acounts;\n",
    );
    here(
        "mine.toml",
        "name = 'mine'\nworkload = 'tpcb'\nduration = '100ms'\nclients = [1, 2]\n\
         query_mode = ['simple', 'prepared']\nrepeats = 2\n",
    );
    let store = notebook::at(&dir.path().join("notebook.sqlite"));
    let command = |line: &str| {
        let words = line.split(' ').filter(|word| !word.is_empty());
        let words = words.map(|word| match word {
            "URL" => db.url.clone(),
            // A space within a word.
            word => word.replace('\u{a0}', " "),
        });
        let words: Vec<String> = words.collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = pgdyno(&words);
        command
            .env("PGDYNO_STORE", &store)
            .envs(pgdyno_testkit::own_cache(&dir.path().join("cache")))
            .current_dir(dir.path());
        command
    };
    for line in [
        "load tpcb -q --url URL",
        "sweep mine.toml -q --url URL",
        "run tpcb -t 20 -c 2 --mix batch -q --tag before --tag with-a-tag-that-is-long --url URL",
        "run tpcb -t 20 -c 2 -q --tag after --url URL",
        "lab retries -T 100ms -c 2 --repeat 2 --forms statements,batch -q --url URL",
    ] {
        ran(&mut command(line)).expect(0, &[]);
    }
    let mut wide = Vec::new();
    let mut seen = 0;
    for line in COMMANDS {
        let output = on_terminal(&command(line)).output().unwrap();
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!output.trim().is_empty(), "pgdyno {line} says nothing");
        seen += 1;
        let lines = screen(&output).into_iter().filter(|line| is_too_wide(line));
        wide.extend(lines.map(|wide| format!("pgdyno {line}: {wide}")));
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
    assert_eq!(seen, COMMANDS.len());
}

/// Commands whose output must fit; help of all is below.
const COMMANDS: &[&str] = &[
    "",
    "run tpcb -T 300ms --url URL",
    "run wrong.sql -t 1 --url URL",
    "run good.sql -t 5 -c 3 -R 100 --url URL --isolation serializable",
    "sweep mine.toml --url URL --dry-run",
    "ls",
    "ls --experiments",
    "show",
    "show 1",
    "show tag:before",
    "show --experiment mine",
    "show --experiment lab-retries",
    "compare tag:before tag:after",
    "compare mine:clients=1 mine:clients=2",
    "target URL",
    "target",
    "target --facts=postgresql",
    "target --facts=cockroachdb",
    "config",
    "store check",
    "server status",
    "pack list",
    "pack list tpcb",
    "pack list ycsb",
    "pack check tpcb",
    "lab disturb --list",
    "sql SELECT\u{a0}*\u{a0}FROM\u{a0}result",
    // Mistakes.
    "run tpcb -c 1,2,4",
    "run tpcb --backoff 5",
    "run tpcb -P 5",
    "run tpcb good.sql --url URL",
    "run tpcb --param scale=10 --url URL",
    "run tpcb --url localhost:5432",
    "sweep missing.toml",
    "rnu tpcb",
    "compare mine lab-retries",
    // Help.
    "help",
    "--help",
    "run --help",
    "sweep --help",
    "calibrate --help",
    "lab --help",
    "lab retries --help",
    "lab disturb --help",
    "lab failover --help",
    "lab isolation --help",
    "slob --help",
    "slob sweep --help",
    "restore --help",
    "load --help",
    "target --help",
    "pack --help",
    "pack list --help",
    "pack show --help",
    "pack new --help",
    "pack check --help",
    "server --help",
    "server start --help",
    "ls --help",
    "show --help",
    "rerun --help",
    "note --help",
    "tag --help",
    "exclude --help",
    "rm --help",
    "export --help",
    "import --help",
    "store --help",
    "sql --help",
    "report --help",
    "compare --help",
    "check-history --help",
    "deploy --help",
    "deploy slurm --help",
    "deploy kubernetes --help",
    "help --help",
    "config --help",
    "completions --help",
    "pgio --help",
    "ybio --help",
];

#[test]
fn the_first_screen_has_25_lines_of_80_columns_and_v_says_more() {
    let db = Database::new("first_screen");
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("good.sql"), "SELECT 1;\n").unwrap();
    fs::write(dir.path().join("other.sql"), "SELECT 2;\nSELECT 3;\n").unwrap();
    // Long enough for percentiles without a mark, and no load for this machine.
    let slow = "SELECT pg_sleep(0.02);\nSELECT pg_sleep(0.01);\n";
    fs::write(dir.path().join("slow.sql"), slow).unwrap();
    let on_screen = |line: &str| {
        let words: Vec<&str> = line.split(' ').chain(["--url", &db.url]).collect();
        let mut run = pgdyno(&words);
        run.env("PGDYNO_STORE", dir.path().join("n.sqlite"))
            .current_dir(dir.path());
        ran(&mut run).expect(0, &[]).stdout
    };
    for line in [
        "run slow.sql -q -c 4 -T 11",
        "run tpcb -q -c 4 -t 200",
        "run tpcb -q -c 4 -T 2 --rate 50",
        "run good.sql@3 other.sql@1 -q -c 16 -t 200",
        "run select-only -q -t 1000 --query-mode prepared",
        "run ycsb --mix a -q -c 4 -t 300 --param recordcount=1000",
    ] {
        let text = on_screen(line);
        let lines: Vec<&str> = text.lines().collect();
        // What spoils the figures comes before them, and is no part of an ordinary screen.
        let before = lines.iter().position(|line| line.starts_with("tps  "));
        let serious = lines.iter().take(before.unwrap_or_default());
        let spoils = serious.filter(|line| line.starts_with(['!', ' '])).count();
        assert!(
            lines.len() - spoils <= 25,
            "pgdyno {line}: {} lines\n{text}",
            lines.len()
        );
        let wide = lines.iter().find(|line| line.chars().count() > COLUMNS);
        assert_eq!(wide, None, "pgdyno {line}");
        // Throughput comes first behind the heading and what spoils it.
        let labels = [
            "tps  ",
            "rate  ",
            "latency ms",
            "response ms",
            "steady  ",
            "limited by  ",
        ];
        let is_label = |line: &&&str| labels.iter().any(|label| line.starts_with(label));
        let first = lines.iter().find(is_label).unwrap();
        assert!(first.starts_with("tps  "), "{text}");
        for begins in ["limited by  ", "trust  ", "steady  "] {
            let is_there = lines.iter().any(|line| line.starts_with(begins));
            assert!(is_there, "pgdyno {line}: no {begins} in\n{text}");
        }
    }
    let text = on_screen("run good.sql -v -t 5 --observe=client,pg.statements,pg.residency");
    for more in [
        "not observed pg.residency: ",
        "note [same-host]: client and server share a host: ",
        "statement, ms",
        "WHERE THE CLIENTS’ TIME WENT",
        "latency, ms",
    ] {
        assert!(text.contains(more), "no {more} in\n{text}");
    }
}

#[test]
fn a_password_is_asked_for_at_a_terminal_and_not_shown() {
    let name = "a_password_is_asked_for_at_a_terminal_and_not_shown";
    if !has_script() {
        skip!(name, "script(1) gives a command a terminal");
    }
    let server = postgres_with(&["password_encryption=scram-sha-256"]);
    let mut session = connect(&server.address().url());
    session
        .simple_query("CREATE ROLE alice LOGIN PASSWORD 'open sesame'")
        .unwrap();
    fs::write(
        server.data_dir().join("pg_hba.conf"),
        "local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n",
    )
    .unwrap();
    session.simple_query("SELECT pg_reload_conf()").unwrap();
    let url = format!(
        "postgresql://alice@127.0.0.1:{}/postgres",
        server.address().port
    );
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("good.sql"), "SELECT 1;\n").unwrap();
    let command = |options: &[&str]| {
        let mut run = pgdyno(&[
            "run",
            "good.sql",
            "-t",
            "1",
            "-q",
            "--no-store",
            "--url",
            &url,
        ]);
        run.args(options)
            .env("PGPASSFILE", "/nonexistent")
            .current_dir(dir.path());
        run
    };
    // The rules hold once the postmaster has read them.
    while ran(&mut command(&[])).code != Some(3) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // No terminal, no question.
    ran(&mut command(&[])).expect(3, &["no password supplied", "PGPASSWORD"]);
    ran(&mut command(&["-W"])).expect(2, &["-W asks for a password, but there is no terminal"]);
    for (options, answer, code, says) in [
        (&[][..], "open sesame", 0, "tps  "),
        (&["-W"], "open sesame", 0, "tps  "),
        (&[], "wrong one", 3, "password authentication failed"),
    ] {
        let (said, ended) = answered(&mut on_terminal(&command(options)), answer);
        assert_eq!(ended, Some(code), "{options:?}: {said}");
        assert!(said.contains("Password for user alice: "), "{said}");
        assert!(said.contains(says), "{options:?}: {said}");
        assert!(!said.contains(answer), "it is shown: {said}");
    }
    // What is known is not asked for, nor anything with -w.
    let known = on_terminal(command(&[]).env("PGPASSWORD", "open sesame"))
        .output()
        .unwrap();
    let never = on_terminal(&command(&["-w"])).output().unwrap();
    for (output, code, says) in [(known, 0, "tps  "), (never, 3, "no password supplied")] {
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(
            said.contains(says) && !said.contains("Password for"),
            "{said}"
        );
    }
}

/// What it says when the password that it asks for is typed.
fn answered(terminal: &mut Command, answer: &str) -> (String, Option<i32>) {
    let mut child = terminal
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut said = Vec::new();
    let mut byte = [0];
    while !said.ends_with(b"alice: ") && output.read(&mut byte).unwrap() > 0 {
        said.push(byte[0]);
    }
    input.write_all(format!("{answer}\n").as_bytes()).unwrap();
    output.read_to_end(&mut said).unwrap();
    let ended = child.wait().unwrap();
    (String::from_utf8_lossy(&said).into_owned(), ended.code())
}
