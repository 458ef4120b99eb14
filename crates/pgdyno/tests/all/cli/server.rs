//! `pgdyno server`, and which server the other verbs take.

use std::process::Command;

use crate::support::{Ran, pgdyno, ran, sql};

/// The program with a cache of its own, so that no kept server but the test's is in the way.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        Home(pgdyno_testkit::home())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = pgdyno(args);
        command.envs(pgdyno_testkit::own_cache(&self.0.path().join("cache")));
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
        .expect(2, &["\"x\""]);
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

#[test]
fn a_setting_that_needs_a_restart_is_swept_by_turns_with_a_restart_command() {
    let home = Home::new();
    home.start(&[]).expect(0, &["postgresql://"]);
    let program = env!("CARGO_BIN_EXE_pgdyno");
    let bindir = pgdyno_testkit::installation().bindir.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let sweep = |restart: &str, more: &[&str]| {
        let toml = format!(
            "workload = [['one.sql']]\ntransactions = 20\nrepeats = 2\nreset.settle = 0\n\
             reset.checkpoint = false\n{restart}\nsettings.max_locks_per_transaction = [70, 80]\n"
        );
        std::fs::write(folder.path().join("one.sql"), "SELECT 1;\n").unwrap();
        std::fs::write(folder.path().join("e.toml"), toml).unwrap();
        let mut command = home.command(&[&["sweep", "e.toml"], more].concat());
        command.env(
            "PGDYNO_STORE",
            crate::support::notebook::at(&folder.path().join("notebook.sqlite")),
        );
        ran(command.current_dir(folder.path()))
    };
    sweep("", &[]).expect(1, &["needs a server restart", "restart = \""]);
    let works =
        format!("restart = '{program} server stop && {program} server start --pg-bindir {bindir}'");
    sweep(&works, &[]).expect(1, &["a restart command", "--allow-shell"]);
    sweep("restart = 'false'", &["--allow-shell"])
        .expect(1, &["the restart command failed", "exit status: 1"]);
    home.run(&["restore"]);
    sweep("restart = 'true'", &["--allow-shell"]).expect(1, &["the server was not restarted"]);
    home.run(&["restore"]);
    sweep(&works, &["--allow-shell"]).expect(0, &["4 of 4 trials complete"]);
    let mut query = home.command(&[
        "sql",
        "SELECT string_agg(text, ' ') AS all_of_them FROM event WHERE kind = 'before' AND trial > \
         (SELECT max(number) - 4 FROM trial)",
    ]);
    query.env(
        "PGDYNO_STORE",
        crate::support::notebook::at(&folder.path().join("notebook.sqlite")),
    );
    let settings = ran(&mut query)
        .expect(0, &["alter system and restart"])
        .stdout;
    let values = settings.split("\"value\":\"").skip(1);
    let mut values: Vec<&str> = values.map(|rest| &rest[..2]).collect();
    // Two rounds, each in an order that is drawn.
    values.chunks_mut(2).for_each(<[&str]>::sort_unstable);
    assert_eq!(values, ["70", "80", "70", "80"], "{settings}");
    let url = home.run(&["server", "url"]).stdout;
    let mut session = crate::support::connect(url.trim());
    let now = crate::support::rows(&mut session, "SHOW max_locks_per_transaction");
    assert_eq!(now, ["64"], "as it was found");
}
