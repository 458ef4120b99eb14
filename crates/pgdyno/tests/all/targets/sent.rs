//! Recordings: how they are made of a server that its owner has (`scripts/record-target`), and how those that
//! owners have sent are played back. A folder in `recorded` with a recording in it is played by itself.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support;
use crate::targets::cases::{CASES, Case, DATABASE, at, command, replay_in};
use crate::targets::documented::{Documented, Product};
use crate::targets::masks::{self, Masks};
use crate::targets::recorder::Recorder;
use crate::targets::recording;

/// The file that says how a case ended.
const EXIT_CODE: &str = "exit-code";

/// Whom to record, and how.
struct Owner {
    servers: Vec<String>,
    user: String,
    /// A database that is there.
    database: String,
    /// Words that are replaced besides those that are found.
    words: Vec<String>,
    pages: Vec<String>,
    /// Commands that kill the second node, drain it, and bring it back.
    kill: String,
    drain: String,
    restart: String,
    to: PathBuf,
}

impl Owner {
    fn from_env() -> Owner {
        let var = |name: &str| std::env::var(name).unwrap_or_default();
        let or = |name: &str, otherwise: &str| match var(name) {
            empty if empty.is_empty() => otherwise.to_owned(),
            text => text,
        };
        let list = |name: &str| var(name).split_whitespace().map(str::to_owned).collect();
        let from = std::env::var("PGDYNO_RECORD_FROM").expect("PGDYNO_RECORD_FROM is HOST:PORT");
        let mut words: Vec<String> = list("PGDYNO_MASK");
        words.push(var("PGPASSWORD"));
        Owner {
            servers: from.split(',').map(str::to_owned).collect(),
            user: or("PGUSER", masks::USER),
            database: or("PGDATABASE", "defaultdb"),
            words,
            pages: list("PGDYNO_PAGES"),
            kill: var("PGDYNO_KILL"),
            drain: var("PGDYNO_DRAIN"),
            restart: var("PGDYNO_RESTART"),
            to: or(
                "PGDYNO_RECORD_TO",
                &recording::known().display().to_string(),
            )
            .into(),
        }
    }

    fn empty_database(&self, server: &str) {
        let (user, database) = (&self.user, &self.database);
        let url = format!("postgresql://{user}@{server}/{database}?sslmode=disable");
        let password = std::env::var("PGPASSWORD").unwrap_or_default();
        let url = match password.as_str() {
            "" => url,
            password => format!("{url}&password={password}"),
        };
        let mut session = support::connect(&url);
        let drop = format!("DROP DATABASE IF EXISTS {DATABASE}");
        // CockroachDB wants the word, and others do not know it.
        if session.simple_query(&format!("{drop} CASCADE")).is_err() {
            session.simple_query(&drop).unwrap();
        }
        session
            .simple_query(&format!("CREATE DATABASE {DATABASE}"))
            .unwrap();
    }

    /// Records a case into a folder of its own.
    fn record(&self, case: &Case) {
        let Some(servers) = self.servers.get(..case.nodes) else {
            return println!("{}: left out, it takes {} nodes", case.name, case.nodes);
        };
        let fault = match case.name {
            "node-killed" => Some(&self.kill),
            "node-drained" => Some(&self.drain),
            _ => None,
        };
        if fault.is_some_and(|fault| fault.is_empty() || self.restart.is_empty()) {
            return println!("{}: left out without its two commands", case.name);
        }
        self.empty_database(&servers[0]);
        let files = tempfile::tempdir().unwrap();
        for line in case.before {
            support::ran(&mut command(line, &self.user, servers, files.path())).expect(0, &[]);
        }
        let folder = self.to.join(case.name);
        let pages = self.pages();
        let recorders: Vec<Recorder> = servers.iter().map(|s| Recorder::start(s)).collect();
        let places = at(recorders.iter().map(Recorder::port));
        let mut command = command(case.command, &self.user, &places, files.path());
        let ran = std::thread::scope(|scope| {
            if let Some(fault) = fault {
                // In the middle of the run, which is of a known rate.
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_secs(2));
                    shell(fault);
                });
            }
            support::ran(&mut command)
        });
        println!("{}: exit code {:?}\n{}", case.name, ran.code, ran.stderr);
        if fault.is_some() {
            shell(&self.restart);
        }
        let heard: Vec<_> = recorders.into_iter().map(Recorder::ended).collect();
        let mut words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let hosts = self
            .servers
            .iter()
            .filter_map(|server| server.rsplit_once(':'));
        words.extend(
            hosts
                .map(|(host, _)| host)
                .filter(|host| *host != "127.0.0.1"),
        );
        let masks = Masks::new(&self.user, &words, &heard);
        let masked = heard.iter().map(|connections| {
            let connections = connections.iter().map(|events| masks.connection(events));
            connections.collect()
        });
        recording::write(&folder, &masked.collect::<Vec<_>>());
        let code = ran.code.map_or_else(String::new, |code| code.to_string());
        std::fs::write(folder.join(EXIT_CODE), code).unwrap();
        for (when, pages) in [("before", pages), ("after", self.pages())] {
            for (number, page) in pages.iter().enumerate() {
                let name = format!("page-{}-{when}.prom", number + 1);
                std::fs::write(folder.join(name), masks.text(page)).unwrap();
            }
        }
    }

    fn pages(&self) -> Vec<String> {
        let pages = self.pages.iter().map(|url| {
            let output = Command::new("curl")
                .args(["-sk", url])
                .output()
                .expect("curl");
            String::from_utf8_lossy(&output.stdout).into_owned()
        });
        pages.collect()
    }
}

fn shell(line: &str) {
    let status = Command::new("sh").args(["-c", line]).status().unwrap();
    println!("{line}: {status}");
}

/// Records every case, or those named in `PGDYNO_RECORD_CASES` (`scripts/record-target`).
#[test]
#[ignore = "records from a server that only its owner has: scripts/record-target"]
fn record_anew() {
    let owner = Owner::from_env();
    let wanted = std::env::var("PGDYNO_RECORD_CASES").unwrap_or_default();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.split(' ').any(|word| word == name);
    for case in CASES.iter().filter(|case| is_wanted(case.name)) {
        owner.record(case);
    }
}

/// Plays all cases in a folder.
#[track_caller]
fn play(folder: &Path) -> usize {
    let cases = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let cases: Vec<PathBuf> = cases.filter(|case| case.join(EXIT_CODE).exists()).collect();
    for case in &cases {
        let name = case.file_name().unwrap().to_str().unwrap();
        let code = std::fs::read_to_string(case.join(EXIT_CODE)).unwrap();
        let ran = replay_in(folder, name);
        assert_eq!(
            ran.code.map(|code| code.to_string()),
            Some(code),
            "{}",
            case.display()
        );
    }
    cases.len()
}

#[test]
fn recordings_that_owners_have_sent_play_back() {
    for entry in std::fs::read_dir(recording::all()).unwrap() {
        let folder = entry.unwrap().path();
        if folder.is_dir() && folder != recording::known() {
            assert!(
                play(&folder) > 0,
                "{}: no recording is in it",
                folder.display()
            );
        }
    }
}

#[test]
fn what_an_owner_records_has_no_secrets_and_plays_back() {
    let server = Documented::start(Product {
        nodes: 3,
        ..Product::new("cockroachdb 23.2")
    });
    let folder = tempfile::tempdir().unwrap();
    let owner = Owner {
        servers: server.addresses(),
        user: "planted_user".to_owned(),
        database: "d".to_owned(),
        words: vec!["planted_password".to_owned()],
        pages: server.pages("/_status/vars"),
        kill: String::new(),
        drain: String::new(),
        restart: String::new(),
        to: folder.path().to_owned(),
    };
    for name in ["load", "target", "three-nodes", "ycsb"] {
        owner.record(CASES.iter().find(|case| case.name == name).unwrap());
    }
    let mut secrets = server.database.rows("SELECT host FROM documented.nodes");
    secrets.extend(server.database.rows("SELECT crdb_internal.cluster_id()"));
    secrets.extend(["planted_user".to_owned(), "planted_password".to_owned()]);
    for file in files(folder.path()) {
        let text = std::fs::read_to_string(&file).unwrap();
        let reported: Vec<_> = secrets
            .iter()
            .filter(|secret| text.contains(secret.as_str()))
            .collect();
        assert!(reported.is_empty(), "{}: {reported:?}", file.display());
    }
    let page = std::fs::read_to_string(folder.path().join("target/page-1-after.prom")).unwrap();
    assert!(page.contains("txn_commits"), "{page}");
    drop(server);
    assert_eq!(play(folder.path()), 4);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    files.collect()
}
