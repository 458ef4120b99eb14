//! `cockroach start-single-node`, and the program called as cockroach.

use std::path::Path;
use std::process::Command;

use crate::support::{Ran, pgdyno, ran};

/// The program as `cockroach`, with a cache of its own in this folder.
fn cockroach(folder: &Path, args: &[&str]) -> Ran {
    let program = folder.join("cockroach");
    if !program.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pgdyno"), &program).unwrap();
    }
    let mut command = Command::new(program);
    ran(command
        .args(args)
        .envs(pgdyno_testkit::own_cache(&folder.join("cache"))))
}

#[test]
fn a_workload_finds_the_server_that_start_single_node_has_started() {
    let folder = pgdyno_testkit::home();
    let [port] = pgdyno_testkit::free_ports();
    let address = format!("--listen-addr=localhost:{port}");
    let url = format!("postgresql://root@localhost:{port}?sslmode=disable");
    let start = ["start-single-node", "--insecure", "--background", &address];
    let started = cockroach(folder.path(), &start).expect(
        0,
        &["PostgreSQL node started (pgdyno's private server, not CockroachDB)"],
    );
    assert!(
        started
            .stdout
            .contains(&format!("sql:                 {url}\n"))
    );
    cockroach(folder.path(), &start).expect(0, &["runs already"]);
    cockroach(folder.path(), &["start", "--insecure", "--listen-addr=:1"])
        .expect(1, &["runs already, at port", "pgdyno server stop"]);
    cockroach(folder.path(), &["workload", "init", "bank", &url]).expect(0, &["1000 rows)"]);
    let run = ["workload", "run", "bank", "--max-ops=20", &url];
    cockroach(folder.path(), &run).expect(0, &[" transfer\n", "__result\n"]);
    let mut stop = pgdyno(&["server", "stop", "--discard"]);
    ran(stop.envs(pgdyno_testkit::own_cache(&folder.path().join("cache"))))
        .expect(0, &["is stopped"]);
}

#[test]
fn what_cockroach_has_and_pgdyno_has_not_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let called = |args: &[&str]| cockroach(folder.path(), args);
    called(&["--help"]).expect(0, &["start-single-node", "Usage:\n  cockroach [command]\n"]);
    called(&["sql"]).expect(
        1,
        &[
            "Error: unknown command \"sql\" for \"cockroach\"",
            "for SQL use psql",
        ],
    );
    called(&["start-single-node"]).expect(1, &["no certificates", "--insecure"]);
    called(&["start", "--bogus"]).expect(1, &["Error: unknown flag: --bogus"]);
    called(&["workload", "run", "kv", "--bogus"]).expect(
        1,
        &[
            "Usage:\n  cockroach workload run kv [flags]",
            "Failed running \"workload run kv\"",
        ],
    );
    ran(&mut pgdyno(&["cockroach", "start", "--help"]))
        .expect(0, &["pgdyno cockroach start --insecure [flags]"]);
}
