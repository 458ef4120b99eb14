//! What a workload that came from elsewhere may do to this host: nothing, unless its user says so.

use std::fs;
use std::os::unix::fs::symlink;

use crate::store::Notebook;
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
        // Nobody is connected to for that.
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
    // Whoever wrote the file is not its user.
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
    notebook.run(&db, &args).expect(0, &["1 committed"]);
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
