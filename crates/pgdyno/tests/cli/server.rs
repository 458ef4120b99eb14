//! `pgdyno server`, and which server the other verbs take.

use std::process::Command;

use crate::support::{Ran, pgdyno, ran, sql};

/// The program with a cache of its own, so that no kept server but the test's is in the way.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        // As root the server's user must be able to reach it.
        let dir = tempfile::Builder::new()
            .prefix("pgdyno-server-")
            .tempdir_in("/var/tmp")
            .unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.path(), mode).unwrap();
        Home(dir)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = pgdyno(args);
        command.env("PGDYNO_CACHE", self.0.path().join("cache"));
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    fn start(&self, more: &[&str]) -> Ran {
        let bindir = pgdyno_testkit::installation().bindir.to_str().unwrap();
        self.run(&[&["server", "start", "--pg-bindir", bindir], more].concat())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Also when the test has failed: no server is left behind.
        self.run(&["server", "stop", "--discard"]);
    }
}

#[test]
fn a_kept_server_is_used_until_it_is_stopped_and_keeps_its_data() {
    let home = Home::new();
    home.run(&["server", "status"]).expect(1, &["stopped"]);
    home.run(&["server", "url"])
        .expect(1, &["does not run", "pgdyno server start"]);
    home.run(&["load", "insert-size"])
        .expect(1, &["nothing names a server", "pgdyno server start"]);

    home.start(&["--pg-set", "work_mem=5MB"])
        .expect(0, &["postgresql://"]);
    home.run(&["server", "status"])
        .expect(0, &["running", "PostgreSQL"]);
    let url = home
        .run(&["server", "url"])
        .expect(0, &["postgresql://"])
        .stdout;
    home.start(&["--pg-set", "work_mem=6MB"])
        .expect(1, &["runs already"]);
    home.run(&["load", "insert-size"])
        .expect(0, &["insert-size is loaded"]);
    home.run(&["load", "insert-size", "--pg-set", "fsync=off"])
        .expect(2, &["kept server"]);
    sql(url.trim(), "INSERT INTO data VALUES ('kept')");

    home.run(&["server", "stop"]).expect(0, &["is stopped"]);
    home.run(&["server", "stop"])
        .expect(0, &["was not running"]);
    home.start(&[]).expect(0, &[]);
    home.run(&["load", "insert-size"])
        .expect(0, &["already loaded"]);
    home.run(&["server", "stop", "--discard"])
        .expect(0, &["removed"]);
}

#[test]
fn what_cannot_start_a_server_is_said() {
    let home = Home::new();
    home.run(&["server", "start", "--pg-bindir", "/nowhere"])
        .expect(1, &["/nowhere", "hint: "]);
    home.start(&["--pg-set", "no_such_setting=1"])
        .expect(1, &["no_such_setting"]);
    home.start(&["--pg-set", "port=1"]).expect(1, &["port"]);
    home.run(&["server", "status"]).expect(1, &["stopped"]);
}

#[test]
fn a_server_that_cannot_be_reached_has_an_exit_code_of_its_own() {
    let home = Home::new();
    home.run(&["load", "tpcb", "--url", "host=/nowhere"])
        .expect(3, &["/nowhere", "hint: "]);
    home.run(&["load", "tpcb", "--url", "host=127.0.0.1 port=1"])
        .expect(3, &["127.0.0.1"]);
    home.run(&["load", "tpcb", "--url", "host=a port=x"])
        .expect(1, &["\"x\""]);
    let url = pgdyno_testkit::postgres().address().url();
    let url = url.replace("@/postgres?", "@/no_such_database?");
    home.run(&["load", "tpcb", "--url", &url]).expect(
        3,
        &[
            "database \"no_such_database\" does not exist",
            "CREATE DATABASE",
        ],
    );
}
