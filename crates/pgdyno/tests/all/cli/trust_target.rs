//! Servers that a file names and its user does not: no program is run there, no password is sent, and what a
//! script does to the kept server ends with its run.

use std::fs;
use std::path::PathBuf;

use pgdyno_server::Server;
use tempfile::TempDir;

use crate::support::{Ran, pgdyno, ran, sql};

/// A folder with a script and an experiment that runs it, and a notebook.
struct Folder(TempDir);

impl Folder {
    fn new(script: &str) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        fs::write(folder.at("w.sql"), script).unwrap();
        // The server's user writes there.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(folder.0.path(), open).unwrap();
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn pgdyno(&self, args: &[&str], environment: &[(&str, &str)]) -> Ran {
        let mut command = pgdyno(args);
        command
            .env("PGDYNO_STORE", self.at("n.sqlite"))
            .env("PGPASSFILE", "/nonexistent")
            .envs(environment.iter().copied())
            .current_dir(self.0.path());
        ran(&mut command)
    }

    /// Runs an experiment with these targets.
    fn sweep(&self, targets: &[&str], more: &[&str], environment: &[(&str, &str)]) -> Ran {
        let text = format!(
            "workload = 'w.sql'\ntransactions = 1\nreset.settle = 0\ntarget = {targets:?}\n"
        );
        fs::write(self.at("e.toml"), text).unwrap();
        self.pgdyno(&[&["sweep", "e.toml"][..], more].concat(), environment)
    }
}

fn at_port(server: &Server, user: &str) -> String {
    let port = server.address().port;
    format!("host=127.0.0.1 port={port} user={user} dbname=postgres")
}

#[test]
fn a_server_that_a_file_names_runs_no_program() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let admin = server.address().url();
    for statement in [
        "CREATE ROLE plain LOGIN",
        "CREATE ROLE runs LOGIN NOINHERIT IN ROLE pg_execute_server_program",
        "CREATE ROLE boss NOLOGIN IN ROLE postgres",
        "CREATE ROLE hidden LOGIN NOINHERIT IN ROLE boss",
        "CREATE ROLE loads LOGIN",
        "GRANT SET ON PARAMETER session_preload_libraries TO loads",
        "GRANT SET ON PARAMETER log_min_duration_statement TO plain",
    ] {
        sql(&admin, statement);
    }
    let folder = Folder::new("");
    let mark = folder.at("mark");
    let script = format!("COPY (SELECT 1) TO PROGRAM 'cat > {}';\n", mark.display());
    fs::write(folder.at("w.sql"), script).unwrap();
    let superuser = at_port(&server, "postgres");
    let refused = ["only a file names this server", "--url", "--allow-shell"];
    for (user, what) in [
        ("postgres", "is a superuser there"),
        ("runs", "pg_execute_server_program"),
        ("hidden", "postgres"),
        ("loads", "session_preload_libraries"),
    ] {
        let named = at_port(&server, user);
        let closed = format!(
            "host=127.0.0.1,127.0.0.1 port=1,{} user={user} dbname=postgres",
            server.address().port
        );
        // Also behind a host that does not answer, in libpq's way with a list.
        let searched = format!("{closed} target_session_attrs=primary");
        for target in [&named, &searched] {
            let ran = folder.sweep(&[target], &[], &[]).expect(3, &refused);
            assert!(ran.stderr.contains(what), "{user}: {}", ran.stderr);
        }
    }
    assert!(!mark.exists());
    // A role with no such rights does what it may.
    let plain = at_port(&server, "plain");
    folder.sweep(&[&plain], &[], &[]).expect(1, &["42501"]);
    assert!(!mark.exists());
    // Another server in place of the file's one; a list is one that its user names as a whole.
    let ran = folder.sweep(
        &["host=127.0.0.1 port=1 user=x"],
        &["--url", &superuser],
        &[],
    );
    ran.expect(0, &["the server is the command line's"]);
    fs::remove_file(&mark).unwrap();
    let other = format!("{superuser} application_name=other");
    let both = [superuser.as_str(), &other];
    folder
        .sweep(&both, &["--url", &superuser], &[])
        .expect(2, &["names its target itself", "--url"]);
    assert!(!mark.exists());
    let urls = ["--url", &superuser, "--url", &other];
    for allowed in [&urls[..], &["--allow-shell"]] {
        folder
            .sweep(&both, allowed, &[])
            .expect(0, &["2 of 2 trials complete"]);
        fs::remove_file(&mark).unwrap();
    }
    // Run again, a trial of a file's server is no more its user's than the file; the second one was on the user's.
    folder.pgdyno(&["rerun", "2"], &[]).expect(0, &[]);
    fs::remove_file(&mark).unwrap();
    folder.pgdyno(&["rerun", "3"], &[]).expect(3, &refused);
    assert!(!mark.exists());
}

#[test]
fn a_server_that_a_file_names_is_sent_no_password() {
    let server = pgdyno_testkit::postgres_with(&[]);
    let admin = server.address().url();
    sql(&admin, "CREATE ROLE alice LOGIN PASSWORD 'open sesame'");
    let rules = "local all postgres trust\nhost all all 127.0.0.1/32 password\n";
    fs::write(server.data_dir().join("pg_hba.conf"), rules).unwrap();
    sql(&admin, "SELECT pg_reload_conf()");
    let folder = Folder::new("SELECT 1;\n");
    let passfile = folder.at("pass");
    fs::write(&passfile, "*:*:*:*:open sesame\n").unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&passfile, private).unwrap();
    let passfile = passfile.to_str().unwrap();
    let services = folder.at("services");
    fs::write(&services, "[mine]\npassword=open sesame\n").unwrap();
    let alice = at_port(&server, "alice");
    let run = |environment: &[(&str, &str)]| {
        folder.pgdyno(&["run", "w.sql", "-t", "1", "--url", &alice], environment)
    };
    // The rules hold once the postmaster has read them.
    while run(&[]).code != Some(3) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let of_file = format!("{alice} passfile={passfile}");
    let of_service = format!("{alice} service=mine");
    for (target, environment) in [
        (&alice, [("PGPASSWORD", "open sesame")]),
        (&alice, [("PGPASSFILE", passfile)]),
        (&of_file, [("PGSSLMODE", "disable")]),
        (&of_service, [("PGSERVICEFILE", services.to_str().unwrap())]),
    ] {
        let other = format!("{target} application_name=other");
        let both = [target.as_str(), &other];
        // `--allow-shell` is for programs.
        for more in [&[][..], &["--allow-shell"]] {
            let ran = folder.sweep(&both, more, &environment);
            ran.expect(
                3,
                &["none is sent to a server that only a file names", "--url"],
            );
        }
        // Each of them is good, where the user names the server.
        let urls = ["--url", target, "--url", &other];
        folder
            .sweep(&both, &urls, &environment)
            .expect(0, &["2 of 2 trials complete"]);
    }
}

#[test]
fn what_a_script_does_to_the_kept_server_ends_with_its_run() {
    let spoils = "ALTER ROLE pgdyno SET statement_timeout = 1;\n\
                  ALTER ROLE pgdyno IN DATABASE postgres SET work_mem = '1MB';\n\
                  ALTER DATABASE postgres SET local_preload_libraries = 'nowhere';\n\
                  ALTER DATABASE postgres CONNECTION LIMIT 0;\n\
                  REVOKE ALL ON DATABASE postgres FROM PUBLIC, pgdyno;\n\
                  DROP SCHEMA public CASCADE;\n";
    let folder = Folder::new(spoils);
    let cache = pgdyno_testkit::home();
    let environment = pgdyno_testkit::own_cache(&cache.path().join("cache"));
    let environment: Vec<(String, String)> = { environment.into_iter() }
        .map(|(name, value)| (name.to_string(), value.display().to_string()))
        .collect();
    let environment: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let here = |args: &[&str]| folder.pgdyno(args, &environment);
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    here(&["server", "start", "--pg-bindir", &bindir]).expect(0, &[]);
    here(&["run", "w.sql", "-t", "1", "--observe", "none"]).expect(0, &[]);
    let undone = [
        "undid what scripts had left on the kept server",
        "statement_timeout=1",
        "work_mem=1MB",
        "local_preload_libraries=nowhere",
        "no connections to postgres",
        "no right to connect to postgres",
    ];
    here(&["run", "tpcb", "-t", "1"]).expect(0, &undone);
    // Once, and nothing is said of a server that is as it was.
    let ran = here(&["run", "tpcb", "-t", "1"]).expect(0, &[]);
    assert!(!ran.stderr.contains("undid"), "{}", ran.stderr);
    here(&["server", "stop", "--discard"]).expect(0, &[]);
}
