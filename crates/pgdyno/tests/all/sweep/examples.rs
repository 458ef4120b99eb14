//! The experiments of `examples/`: each file as it lies there, made short, on real servers; its page has an answer.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pgdyno_server::Server;
use serde_json::Value;
use toml::{Table, Value as Toml};

use crate::child::wait_until;
use crate::support::{self, Database, Ran, document_of, ran};
use crate::sweep::written::Experiment;

/// What is run by a test below.
const RUN: [&str; 6] = [
    "instances.toml",
    "pooler.toml",
    "query-modes.toml",
    "shared-buffers.toml",
    "synchronous-standby.toml",
    "versions.sh",
];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Puts `change` over `into`, key by key.
fn overlay(into: &mut Table, change: Table) {
    for (key, value) in change {
        if let (Some(Toml::Table(into)), Toml::Table(change)) = (into.get_mut(&key), &value) {
            overlay(into, change.clone());
            continue;
        }
        into.insert(key, value);
    }
}

/// An example with short trials and what a test changes of it, run and reported; the document of its page.
/// `points` of them, each with two repeats.
#[track_caller]
fn page_of(name: &str, change: &str, points: usize, args: &[&str]) -> Value {
    let text = fs::read_to_string(examples().join(format!("{name}.toml"))).unwrap();
    let mut example: Table = text.parse().unwrap();
    let short = "duration = '200ms'\nrepeats = 2\nreset.settle = 0\n".parse();
    overlay(&mut example, short.unwrap());
    overlay(&mut example, change.parse().unwrap());
    example.remove("warmup");
    let experiment = Experiment::at(&example.to_string(), "");
    let sweep = [&["sweep", "e.toml"], args].concat();
    let done = format!("{0} of {0} trials complete", 2 * points);
    ran(&mut experiment.command(&sweep)).expect(0, &[&done]);
    let document = reported(&experiment, name);
    assert_eq!(document["missing"], Value::Array(Vec::new()));
    let of = document["points"].as_array().unwrap();
    assert_eq!(of.len(), points, "{of:#?}");
    for point in of {
        assert_eq!(
            (&point["repeats"], &point["failed"]),
            (&2.into(), &0.into())
        );
    }
    document
}

/// The page of an experiment of this name: it has an answer.
#[track_caller]
fn reported(experiment: &Experiment, name: &str) -> Value {
    let report = ["report", name, "-o", "page.html"];
    ran(&mut experiment.command(&report)).expect(0, &["page.html"]);
    let document = document_of(&experiment.dir.path().join("page.html"));
    let sentence = document["answer"]["sentence"].as_str();
    assert!(sentence.is_some_and(|text| text.len() > 20), "{sentence:?}");
    document
}

/// README.md of the examples and the tests here speak of all that is there.
#[test]
fn each_example_is_run_and_explained() {
    let readme = fs::read_to_string(examples().join("README.md")).unwrap();
    let there = fs::read_dir(examples()).unwrap().map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_named = name == "README.md" || readme.contains(&format!("({name}"));
        assert!(is_named, "README.md lacks {name}");
        name
    });
    let there: BTreeSet<String> = there
        .filter(|name| name.ends_with(".toml") || name.ends_with(".sh"))
        .collect();
    assert_eq!(there, BTreeSet::from(RUN.map(str::to_owned)));
    // As it lies there, with its own durations: five repeats, which an answer takes.
    let experiment = Experiment::at("", "");
    for name in RUN.iter().filter(|name| name.ends_with(".toml")) {
        let file = examples().join(name);
        let plan = ["sweep", file.to_str().unwrap(), "--dry-run"];
        let text = "5 repeats of each point";
        ran(&mut experiment.command(&plan)).expect(0, &[text]);
    }
}

#[test]
fn query_modes_have_an_answer() {
    let database = Database::new("example_query_modes");
    let url = ["--url", &database.url];
    let page = page_of("query-modes", "matrix.clients = [1]", 3, &url);
    assert!(page["title"].as_str().unwrap().contains("query-modes"));
}

#[test]
fn instances_have_an_answer() {
    let [small, large] = ["small", "large"].map(|name| Database::new(&format!("example_{name}")));
    let change = format!(
        "target = ['{}', '{}']\nworkload = 'tpcb'\nparams.scale = 1\nmatrix.clients = [1]",
        small.url, large.url
    );
    let urls = ["--url", &small.url, "--url", &large.url];
    page_of("instances", &change, 2, &urls);
}

/// It restarts its own server for each value.
#[test]
#[ignore = "ten seconds; make test-long PART=wired"]
fn shared_buffers_have_an_answer() {
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let change = "workload = 'select-only'\nparams.scale = 1\nclients = 2\n\
                  settings.shared_buffers = ['16MB', '64MB']";
    let own = ["--pg-bindir", &bindir];
    page_of("shared-buffers", change, 2, &own);
}

#[test]
#[ignore = "ten seconds; make test-long PART=wired"]
fn a_synchronous_standby_has_an_answer() {
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let own = ["--pg-bindir", &bindir, "--pg-standby", "sync"];
    let change = "matrix.clients = [2]";
    page_of("synchronous-standby", change, 3, &own);
}

/// PgBouncer with the file of the examples, ended when dropped.
struct Pooler(Child);

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Pooler {
    /// In a directory that it can read as another user, too: it refuses to run as root.
    fn start(directory: &Path, server: &Server, port: u16) -> Self {
        let text = fs::read_to_string(examples().join("pgbouncer.ini")).unwrap();
        let text = text
            .replace("port=5432", &format!("port={}", server.address().port))
            .replace("6432", &port.to_string());
        let file = directory.join("pgbouncer.ini");
        fs::write(&file, text).unwrap();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new("pgbouncer");
        command.arg("-q").arg(file);
        if pgdyno_platform::user::is_root() {
            command.args(["-u", "nobody"]);
        }
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let pooler = Self(child.unwrap());
        wait_until("PgBouncer listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        pooler
    }
}

#[test]
#[ignore = "installs PgBouncer; make test-long PART=wired"]
fn a_pooler_has_an_answer() {
    if let Err(why) = pgdyno_testkit::debian(&["pgbouncer"], &["pgbouncer"]) {
        pgdyno_testkit::skip!("a_pooler_has_an_answer", why);
    }
    let server = pgdyno_testkit::postgres_with(&[]);
    let admin = server.address().url();
    support::sql(&admin, "CREATE ROLE bench LOGIN");
    support::sql(&admin, "CREATE DATABASE bench OWNER bench");
    let [port] = pgdyno_testkit::free_ports();
    let directory = tempfile::tempdir().unwrap();
    let _pooler = Pooler::start(directory.path(), &server, port);
    let text = fs::read_to_string(examples().join("pooler.toml")).unwrap();
    let example: Table = text.parse().unwrap();
    let targets = example["target"].as_array().unwrap().iter();
    let targets = targets.map(|target| {
        let target = target.as_str().unwrap();
        let server = format!("port={}", server.address().port);
        let target = target.replace("port=5432", &server);
        format!("'{}'", target.replace("port=6432", &format!("port={port}")))
    });
    let targets: Vec<String> = targets.collect();
    let change = format!("target = [{}]\nclients = 2", targets.join(", "));
    page_of("pooler", &change, 4, &[]);
}

#[test]
#[ignore = "fetches two versions, half a minute; make test-long PART=wired"]
fn two_versions_have_an_answer() {
    let name = "two_versions_have_an_answer";
    let mut programs = Vec::new();
    for major in [17, 18] {
        match pgdyno_testkit::installation_of(major) {
            Ok(found) => programs.push(found.bindir),
            Err(why) => pgdyno_testkit::skip!(name, format!("PostgreSQL {major}: {why}")),
        }
    }
    let experiment = Experiment::at("", "");
    let mut script = Command::new(examples().join("versions.sh"));
    script.args(&programs);
    script.args([
        "--param", "scale=1", "-T", "0.2", "--warmup", "0", "--blocks", "6",
    ]);
    script.args(["--cannot-tell", "pass"]);
    // With the environment that the tests' commands have.
    let like = experiment.command(&[]);
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    script.env("PGDYNO", like.get_program());
    script.current_dir(experiment.dir.path());
    let Ran {
        code,
        stdout,
        stderr,
    } = ran(&mut script);
    assert!(matches!(code, Some(0 | 1)), "{code:?} {stdout} {stderr}");
    reported(&experiment, "versions");
}
