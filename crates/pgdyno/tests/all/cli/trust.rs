//! What a workload that came from elsewhere may do to this host: nothing, unless its user says so.

use std::fs;
use std::os::unix::fs::symlink;

use crate::cli::store::Notebook;
use crate::support::{Database, pgdyno, ran};

const PACK: &str = "name = 'theirs'\nsummary = 's'\nscript = [{ name = 'a', file = 'a.sql' }]\n";

#[test]
fn scripts_and_packs_run_programs_only_when_they_are_allowed_to() {
    let db = Database::new("trust_shell");
    let notebook = Notebook::new();
    let (mark, folder) = (notebook.beside("mark"), notebook.beside("theirs"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("pack.toml"), PACK).unwrap();
    let text = format!("SELECT 1;\n\\shell touch {}\n", mark.display());
    let file = folder.join("a.sql");
    fs::write(&file, &text).unwrap();
    let setshell = notebook.beside("setshell.sql");
    fs::write(
        &setshell,
        format!("\\setshell x touch {}\n", mark.display()),
    )
    .unwrap();
    let shell = format!("{}:2: \\shell would run a program", file.display());
    let set = format!("{}:1: \\setshell would run a program", setshell.display());
    for (workload, want) in [(&folder, &shell), (&file, &shell), (&setshell, &set)] {
        let args = ["run", workload.to_str().unwrap(), "-t", "1"];
        notebook.run(&db, &args).expect(1, &[want, "--allow-shell"]);
        // That needs no connection.
        let nowhere = ["--url", "host=127.0.0.1 port=1 user=x"];
        notebook
            .pgdyno(&[&args[..], &nowhere].concat())
            .expect(1, &[want]);
    }
    let experiment = notebook.beside("e.toml");
    let write = |more: &str| {
        let text = format!(
            "workload = '{}'\ntransactions = 1\n{more}",
            folder.display()
        );
        fs::write(&experiment, text).unwrap();
    };
    let sweep = ["sweep", experiment.to_str().unwrap()];
    write("");
    notebook
        .run(&db, &sweep)
        .expect(1, &[&shell, "--allow-shell"]);
    // The file's author is not its user.
    write("allow_shell = true\n");
    notebook
        .run(&db, &sweep)
        .expect(1, &["allow_shell", "pgdyno sweep --allow-shell"]);
    assert!(!mark.exists());

    notebook
        .run(&db, &[&sweep[..], &["--allow-shell"]].concat())
        .expect(0, &[]);
    assert!(mark.exists());
    fs::remove_file(&mark).unwrap();
    let args = ["run", folder.to_str().unwrap(), "-t", "1", "--allow-shell"];
    notebook.run(&db, &args).expect(0, &["(1 committed, "]);
    assert!(mark.exists());
    fs::remove_file(&mark).unwrap();
    // As pgbench does.
    let args = [
        "pgbench",
        "-n",
        "-t",
        "1",
        "-f",
        file.to_str().unwrap(),
        "-d",
        &db.url,
    ];
    ran(pgdyno(&args).current_dir(&folder)).expect(0, &["tps = "]);
    assert!(mark.exists());
}

#[test]
fn a_packs_links_do_not_lead_out_of_its_folder() {
    let db = Database::new("trust_links");
    let notebook = Notebook::new();
    let folder = notebook.beside("theirs");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("pack.toml"), PACK).unwrap();
    let secret = notebook.beside("secret.sql");
    fs::write(&secret, "SELECT 'private';\n").unwrap();
    symlink(&secret, folder.join("a.sql")).unwrap();
    let path = folder.to_str().unwrap();
    let want = [
        "a.sql: it is a link that leads out of the pack's folder",
        "copy the file",
    ];
    for ran in [
        notebook.run(&db, &["run", path, "-t", "1"]),
        notebook.run(&db, &["load", path]),
        notebook.pgdyno(&["pack", "show", path]),
    ] {
        let ran = ran.expect(1, &want);
        assert!(!(ran.stdout + &ran.stderr).contains("private"));
    }
}

/// Runs pgdyno with private servers of the programs that tests use.
fn with_private_server(notebook: &Notebook, args: &[&str]) -> crate::support::Ran {
    let bindir = pgdyno_testkit::installation().bindir.to_str().unwrap();
    let mut command = notebook.command(&[args, &["--pg-bindir", bindir]].concat());
    ran(command.current_dir(notebook.beside("")))
}

#[test]
fn a_bundle_runs_no_program_by_its_sql_on_a_private_server() {
    let (theirs, mine) = (Notebook::new(), Notebook::new());
    let mark = mine.beside("mark");
    // The server's user writes there.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(mine.beside(""), open).unwrap();
    let script = theirs.beside("copy.sql");
    let sql = format!("COPY (SELECT 1) TO PROGRAM 'cat > {}';\n", mark.display());
    fs::write(&script, &sql).unwrap();
    let script = script.to_str().unwrap();
    let run = ["run", script, "-t", "1", "--observe", "none"];
    // Refused without it, also where it was typed: the hint names the way out.
    with_private_server(&theirs, &run).expect(1, &["42501", "--allow-shell"]);
    assert!(!mark.exists());
    with_private_server(&theirs, &[&run[..], &["--allow-shell"]].concat()).expect(0, &[]);
    assert!(mark.exists());
    fs::remove_file(&mark).unwrap();
    // As the author of a bundle has it who does not ask for it.
    theirs.value("SELECT 1");
    let bundle = theirs.beside("b.bundle");
    let bundle = bundle.to_str().unwrap();
    theirs
        .pgdyno(&["export", "1", "--bundle", bundle])
        .expect(0, &[]);
    let shown = ["COPY (SELECT 1) TO PROGRAM", "copy.sql"];
    mine.pgdyno(&["rerun", bundle, "--dry-run"])
        .expect(0, &shown);
    with_private_server(&mine, &["rerun", bundle]).expect(1, &["42501", "--allow-shell"]);
    assert!(!mark.exists());
    let ran = with_private_server(&mine, &["rerun", bundle, "--allow-shell"]).expect(0, &[]);
    assert!(ran.stderr.contains(shown[0]), "{}", ran.stderr);
    assert!(mark.exists());
}

#[test]
fn settings_of_a_file_run_no_program() {
    let notebook = Notebook::new();
    let (mark, script) = (notebook.beside("mark"), notebook.beside("w.sql"));
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(notebook.beside(""), open).unwrap();
    fs::write(&script, "SELECT txid_current(), pg_switch_wal();\n").unwrap();
    let experiment = notebook.beside("e.toml");
    let text = format!(
        "workload = 'w.sql'\ntransactions = 3\nreset.settle = 0\nallow_shell = true\n[settings]\narchive_mode = 'on'\n\
         archive_command = 'touch {}; true'\n",
        mark.display()
    );
    fs::write(&experiment, text.replace("allow_shell = true\n", "")).unwrap();
    let sweep = ["sweep", experiment.to_str().unwrap()];
    let want = ["archive_command = touch", "--allow-shell"];
    with_private_server(&notebook, &sweep).expect(1, &want);
    fs::write(&experiment, text).unwrap();
    let ran = with_private_server(&notebook, &[&sweep[..], &["--allow-shell"]].concat());
    let ran = ran.expect(0, &[]);
    for shown in [want[0], "pg_switch_wal()"] {
        assert!(ran.stderr.contains(shown), "{}", ran.stderr);
    }
    assert!(mark.exists());
    fs::remove_file(&mark).unwrap();

    // Of a private server's own, in a trial that is run again: the notebook may be another owner's.
    let set = format!("archive_command=touch {}; true", mark.display());
    let run = ["run", script.to_str().unwrap(), "-t", "1", "--pg-set", &set];
    with_private_server(&notebook, &[&run[..], &["--allow-shell"]].concat()).expect(0, &[]);
    notebook
        .pgdyno(&["rerun", "2"])
        .expect(1, &["trial 2", "--allow-shell"]);
    let bundle = notebook.beside("b.bundle");
    let bundle = bundle.to_str().unwrap();
    notebook
        .pgdyno(&["export", "2", "--bundle", bundle])
        .expect(0, &[]);
    let bundle = ["rerun", bundle];
    notebook
        .pgdyno(&bundle)
        .expect(1, &["of the bundle", "--allow-shell"]);
    // So has an address, by which a superuser's session loads a library.
    let database = Database::new("trust_options");
    let url = format!("{}&options=-c%20lc_messages%3DC", database.url);
    let run = ["run", script.to_str().unwrap(), "-t", "1", "--url", &url];
    notebook.pgdyno(&run).expect(0, &[]);
    let last = ["rerun", "3"];
    notebook
        .pgdyno(&last)
        .expect(1, &["trial 3", "lc_messages = C", "--allow-shell"]);
    notebook
        .pgdyno(&[&last[..], &["--url", &url]].concat())
        .expect(0, &[]);
    // A trial of another host's notebook goes to a server when one names it.
    let theirs = rusqlite::Connection::open(notebook.file()).unwrap();
    let sql = "UPDATE trial_begun SET host_name = 'elsewhere', spec = replace(spec, '&options=-c%20lc_messages%3DC', '')";
    theirs.execute(sql, []).unwrap();
    notebook.pgdyno(&last).expect(
        2,
        &[
            "trial 3 did not run on this host",
            "trust_options",
            "--dry-run",
            "--url URL",
        ],
    );
    for more in [&["--dry-run"][..], &["--url", &url], &["--allow-shell"]] {
        notebook.pgdyno(&[&last[..], more].concat()).expect(0, &[]);
    }
    // A pack has settings, too.
    let pack = notebook.beside("theirs");
    fs::create_dir(&pack).unwrap();
    let manifest =
        format!("{PACK}[[setting]]\nname = 'session_preload_libraries'\nvalue = '/tmp/x'\n");
    fs::write(pack.join("pack.toml"), manifest).unwrap();
    fs::write(pack.join("a.sql"), "SELECT 1;\n").unwrap();
    with_private_server(&notebook, &["run", pack.to_str().unwrap(), "-t", "1"])
        .expect(1, &["session_preload_libraries = /tmp/x", "--allow-shell"]);
    assert!(!mark.exists());
}

#[test]
fn the_target_of_a_file_is_not_pgdynos_own_server_and_loads_no_library() {
    let home = pgdyno_testkit::home();
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let here = |args: &[&str]| {
        let mut command = pgdyno(args);
        command
            .envs(pgdyno_testkit::own_cache(&home.path().join("cache")))
            .env("PGDYNO_STORE", home.path().join("n.sqlite"))
            .current_dir(home.path());
        ran(&mut command)
    };
    here(&["server", "start", "--pg-bindir", &bindir]).expect(0, &[]);
    let url = here(&["server", "url"]).expect(0, &[]).stdout;
    let mark = home.path().join("mark");
    let script = format!("COPY (SELECT 1) TO PROGRAM 'cat > {}';\n", mark.display());
    fs::write(home.path().join("w.sql"), script).unwrap();
    let sweep = |target: &str, more: &[&str]| {
        let text = format!("workload = 'w.sql'\ntransactions = 1\ntarget = \"{target}\"\n");
        fs::write(home.path().join("e.toml"), text).unwrap();
        here(&[&["sweep", "e.toml"][..], more].concat())
    };
    let own = sweep(url.trim(), &[]);
    own.expect(1, &["names pgdyno's own server, as ", "--allow-shell"]);
    let loads = "host=127.0.0.1 port=1 user=x options='-c session_preload_libraries=/tmp/x'";
    sweep(loads, &[]).expect(1, &["session_preload_libraries = /tmp/x", "--allow-shell"]);
    assert!(!mark.exists());
    here(&["server", "stop", "--discard"]).expect(0, &[]);
}
