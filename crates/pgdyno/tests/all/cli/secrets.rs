//! What must not be kept or shown: values of names that look like secrets, passwords in experiments;
//! and who else may read what is kept.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::cli::store::Notebook;
use crate::support::notebook::by_kind;
use crate::support::{Database, document_of, pgdyno, ran};

const SECRET: &str = "t0ps3cret";

/// Nothing in a folder has the secret in it, in whatever file.
#[track_caller]
fn assert_not_below(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let is_there = bytes
            .windows(SECRET.len())
            .any(|window| window == SECRET.as_bytes());
        assert!(!is_there, "{}", path.display());
    }
}

/// Neither in the notebook nor in a file beside it.
#[track_caller]
fn assert_not_kept(notebook: &Notebook) {
    assert_not_below(notebook.file().parent().unwrap());
    assert!(!notebook.has(SECRET));
}

#[test]
fn values_of_names_that_look_like_secrets_are_used_and_neither_kept_nor_shown() {
    let db = Database::new("secret_values");
    db.sql("CREATE TABLE seen (token text)");
    let scripts = tempfile::tempdir().unwrap();
    let script = scripts.path().join("s.sql");
    fs::write(&script, "insert into seen values (':api_token');\n").unwrap();
    let script = script.to_str().unwrap();
    let notebook = Notebook::new();
    let param = format!("api_token={SECRET}");
    let json = format!("--json={}", notebook.beside("result.json").display());
    let args = [
        "run",
        script,
        "-t",
        "2",
        "--param",
        &param,
        "--param=n=7",
        &json,
    ];
    let run = notebook.run(&db, &args).expect(0, &["(2 committed", "n 7"]);
    let seen = format!("SELECT count(*) FROM seen WHERE token = '{SECRET}'");
    assert_eq!(db.value(&seen), "2", "it was used");
    assert!(!(run.stdout + &run.stderr).contains(SECRET));
    let page = notebook.beside("page.html");
    for args in [
        &["show", "1"][..],
        &["show", "1", "--json"],
        &["report", "1", "-o", page.to_str().unwrap()],
        &["sql", "SELECT command, spec, variables FROM trial"],
    ] {
        let shown = notebook.pgdyno(args).expect(0, &[]);
        assert!(!(shown.stdout + &shown.stderr).contains(SECRET), "{args:?}");
    }
    assert!(document_of(&page).to_string().contains("***"));
    let params = by_kind("spec::json -> 'params'", "spec -> 'params'");
    let kept = format!("SELECT {params} ->> 'api_token', {params} ->> 'n', command FROM trial");
    let kept = notebook.value(&kept);
    assert!(
        kept.starts_with("***|7|") && kept.contains("api_token=***"),
        "{kept}"
    );
    assert_not_kept(&notebook);

    // What tells of every statement and what a server says of one do not show it either.
    let wrong = scripts.path().join("wrong.sql");
    fs::write(&wrong, "select :api_token;\n").unwrap();
    let wrong = wrong.to_str().unwrap();
    let define = format!("-Dapi_token={SECRET}");
    for args in [
        &[
            "pgbench", "-n", "-t1", "--debug", "-f", script, &define, "-d", &db.url,
        ][..],
        &["pgbench", "-n", "-t1", "-f", wrong, &define, "-d", &db.url],
        &[
            "run",
            wrong,
            "-t1",
            "-vv",
            "--param",
            &param,
            "--no-store",
            "--url",
            &db.url,
        ],
    ] {
        let reported = notebook.pgdyno(args);
        let said = reported.stdout + &reported.stderr;
        assert!(
            said.contains("***") && !said.contains(SECRET),
            "{args:?}: {said}"
        );
    }

    // pgbench's way to give variables, where its run is kept.
    let variable = format!("-Dapi_token={SECRET}");
    let args = [
        "pgbench", "-n", "-t", "1", "-f", script, "-D", &param, &variable, "--store", "-d", &db.url,
    ];
    notebook.pgdyno(&args).expect(0, &["tps = "]);
    assert_eq!(db.value(&seen), "4");
    assert_not_kept(&notebook);

    // Run again, it is asked for again.
    notebook.pgdyno(&["rerun", "1"]).expect(
        2,
        &[
            "the notebook does not have the value of api_token",
            "--param api_token=VALUE",
        ],
    );
    notebook
        .pgdyno(&["rerun", "1", "--param", &param])
        .expect(0, &["(2 committed"]);
    assert_eq!(db.value(&seen), "6");
    assert_not_kept(&notebook);
}

#[test]
fn an_experiments_secrets_are_used_and_not_kept_and_it_goes_on_all_the_same() {
    let db = Database::new("secret_experiment");
    db.sql("CREATE TABLE seen (token text)");
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(
        elsewhere.path().join("s.sql"),
        "insert into seen values (':token');\n",
    )
    .unwrap();
    let file = elsewhere.path().join("e.toml");
    let write = |more: &str| {
        let text = format!("workload = 's.sql'\ntransactions = 1\nclients = [1, 2]\n{more}\n");
        fs::write(&file, text).unwrap();
    };
    let notebook = Notebook::new();
    let sweep = ["sweep", file.to_str().unwrap()];
    write(&format!("params.token = '{SECRET}'"));
    let ran = notebook
        .run(&db, &sweep)
        .expect(0, &["2 of 2 trials complete"]);
    assert!(!(ran.stdout + &ran.stderr).contains(SECRET));
    let seen = format!("SELECT count(*) FROM seen WHERE token = '{SECRET}'");
    assert_eq!(db.value(&seen), "3");
    let again = [&sweep[..], &["--resume"]].concat();
    notebook
        .run(&db, &again)
        .expect(0, &["2 of 2 trials complete"]);
    assert_eq!(db.value(&seen), "3", "nothing was left to do");
    assert_not_kept(&notebook);
    write(&format!("params.token = ['{SECRET}', 'other']"));
    let ran = notebook.run(&db, &sweep);
    let ran = ran.expect(1, &["params.token has several values", "not kept"]);
    assert!(!(ran.stdout + &ran.stderr).contains(SECRET));

    // A password that the file may not have is not repeated.
    for target in [
        format!("target = 'postgresql://me:{SECRET}@db/b'"),
        format!("target = ['host=h user=u', 'host=db password={SECRET}']"),
        format!("target = 'postgresql://me:{SECRET}@db/b' oops"),
    ] {
        write(&target);
        let ran = notebook.run(&db, &sweep).expect(1, &["e.toml:4:"]);
        assert!(!(ran.stdout + &ran.stderr).contains(SECRET), "{target}");
    }
}

#[test]
fn printed_experiments_have_no_secrets() {
    let db = Database::new("secret_print");
    let param = format!("api_token={SECRET}");
    for made in [&["lab", "retries"][..], &["slob", "sweep"]] {
        let print = ["--print", "--param", &param, "--url", &db.url];
        let printed = ran(&mut pgdyno(&[made, &print].concat())).expect(0, &["***"]);
        assert!(!printed.stdout.contains(SECRET), "{printed:?}");
    }
}

#[test]
fn what_is_kept_is_its_users_alone_unless_the_file_was_there() {
    let db = Database::new("secret_mode");
    let notebook = Notebook::in_file();
    let script = notebook.beside("s.sql");
    fs::write(&script, "SELECT 1;\n").unwrap();
    let run = [
        "run",
        script.to_str().unwrap(),
        "-t",
        "1",
        "--observe",
        "none",
    ];
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // Whatever the umask lets through.
    let command = notebook.command(&run);
    let mut loose = std::process::Command::new("sh");
    loose.args(["-c", "umask 0; exec \"$@\"", "sh"]);
    loose.arg(command.get_program()).args(command.get_args());
    loose.args(["--url", &db.url]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => loose.env(name, value),
            None => loose.env_remove(name),
        };
    }
    ran(&mut loose).expect(0, &[]);
    // SQLite gives its journals the rights of the file; one that is open shows it.
    let _open = {
        let connection = rusqlite::Connection::open(notebook.path()).unwrap();
        let count = "SELECT count(*) FROM trial";
        connection
            .query_row(count, [], |row| row.get::<_, i64>(0))
            .unwrap();
        connection
    };
    for name in ["notebook.sqlite", "notebook.sqlite-wal"] {
        assert_eq!(mode(&notebook.beside(name)), 0o600, "{name}");
    }
    let copy = notebook.beside("copy.sqlite");
    notebook
        .pgdyno(&["export", "1", "-o", copy.to_str().unwrap()])
        .expect(0, &[]);
    assert_eq!(mode(&copy), 0o600);
    // A notebook that its user shares stays shared.
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o640)).unwrap();
    let shared = [&run[..], &["--store", copy.to_str().unwrap()]].concat();
    notebook.run(&db, &shared).expect(0, &[]);
    assert_eq!(mode(&copy), 0o640);
}

#[test]
fn a_password_file_that_others_can_read_is_a_warning_once() {
    use std::os::unix::fs::PermissionsExt;
    let database = Database::new("passfile_warning");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pass");
    std::fs::write(&file, "*:*:*:*:x\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let script = dir.path().join("one.sql");
    std::fs::write(&script, "SELECT 1;\n").unwrap();
    let script = script.to_str().unwrap();
    let args = [
        "run",
        script,
        "-t",
        "1",
        "--no-store",
        "--url",
        &database.url,
    ];
    let ran = ran(pgdyno(&args).env("PGPASSFILE", &file)).expect(0, &[]);
    let lines: Vec<&str> = ran
        .stderr
        .lines()
        .filter(|line| line.to_lowercase().contains("warning:"))
        .collect();
    assert_eq!(lines.len(), 1, "{ran:?}");
    assert!(
        lines[0].starts_with("pgdyno: warning: password file \""),
        "{ran:?}"
    );
}
