//! Bundles: made, checked, repeated. Tampered with: `forged.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use pgdyno_evidence::bundle::{Bundle, Parts, bytes};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::cli::forged::Forged;
use crate::cli::store::Notebook;
use crate::support::{Database, Ran, pgdyno, ran};

/// A pack that works on tpcb's tables.
const PACK: &str = "name = 'mine'\nsummary = 'one account'\nuses = 'tpcb'\n\
                    script = [{ name = 'a', file = 'a.sql' }]\n";
const SCRIPT: &str = "\\set a random(1, 1000)\nSELECT :a;\n";

/// What all tests here begin with: a trial of a pack, two repeats of it, and a trial of a script.
pub struct Stage {
    notebook: Notebook,
    db: Database,
    dir: tempfile::TempDir,
    /// Of the trial against its repeats.
    pub sets: PathBuf,
    pub script: PathBuf,
}

/// The document of the pack's first trial.
pub const ONE: &str = "shown/trial-1.json";

pub static STAGE: LazyLock<Stage> = LazyLock::new(|| {
    let (notebook, db) = (Notebook::new(), Database::new("evidence"));
    let dir = tempfile::tempdir().unwrap();
    let pack = dir.path().join("mine");
    fs::create_dir(&pack).unwrap();
    fs::write(pack.join("pack.toml"), PACK).unwrap();
    fs::write(
        pack.join("a.sql"),
        "SELECT abalance FROM pgbench_accounts WHERE aid = 1;\n",
    )
    .unwrap();
    let script = dir.path().join("s.sql");
    fs::write(&script, SCRIPT).unwrap();
    let (pack, script) = (pack.to_str().unwrap(), script.to_str().unwrap());
    let some = ["-c", "2", "-t", "200", "--observe", "none"];
    // Of this one a part can be cut off.
    let second = ["-c", "2", "-R", "400", "-T", "1", "--observe", "none"];
    notebook
        .run(&db, &[&["run", pack], &second[..]].concat())
        .expect(0, &[]);
    notebook
        .run(&db, &[&["run", pack, "--repeat", "2"], &some[..]].concat())
        .expect(0, &[]);
    notebook
        .run(&db, &[&["run", script], &some[..]].concat())
        .expect(0, &[]);
    let (sets, alone) = (
        dir.path().join("sets.bundle"),
        dir.path().join("script.bundle"),
    );
    notebook
        .pgdyno(&["export", "1", "2-3", "--bundle", sets.to_str().unwrap()])
        .expect(0, &["3 trials written to"]);
    notebook
        .pgdyno(&["export", "4", "--bundle", alone.to_str().unwrap()])
        .expect(0, &[]);
    Stage {
        notebook,
        db,
        sets,
        script: alone,
        dir,
    }
});

fn verified(path: &Path) -> Ran {
    ran(&mut pgdyno(&["verify", path.to_str().unwrap()]))
}

#[test]
fn a_bundle_has_all_that_a_third_person_needs_and_agrees() {
    let stage = &*STAGE;
    verified(&stage.sets).expect(
        0,
        &[
            "a bundle of 3 trials",
            "All of it agrees",
            "Not checked:",
            "forgery",
        ],
    );
    verified(&stage.script).expect(0, &["a bundle of 1 trial", "All of it agrees"]);
    let bundle = Bundle::read(&stage.sets).unwrap();
    let has = |begin: &str| bundle.parts.keys().any(|name| name.starts_with(begin));
    for part in [
        "notebook.sqlite",
        "shown/trial-3.json",
        "shown/experiment-1.json",
        "shown/comparison.json",
        "packs/mine-",
        "packs/tpcb-",
        "experiments/1-run-mine.toml",
    ] {
        assert!(has(part), "{part}: {:?}", bundle.parts.keys());
    }
    assert_eq!(bundle.manifest.trials[2].was, 3);
    assert!(bundle.manifest.missing.is_empty());
    let script = Bundle::read(&stage.script).unwrap();
    let path = &script.manifest.workloads[0].path;
    assert_eq!(script.parts[path], SCRIPT.as_bytes());
    // What anyone can do without pgdyno.
    let listed = std::process::Command::new("tar")
        .arg("tzf")
        .arg(&stage.sets)
        .output()
        .unwrap();
    assert!(
        String::from_utf8(listed.stdout)
            .unwrap()
            .starts_with("manifest.json\n")
    );
}

#[test]
fn the_same_trials_give_the_same_bytes_and_nothing_is_overwritten() {
    let stage = &*STAGE;
    let again = stage.dir.path().join("again.bundle");
    let name = again.to_str().unwrap();
    let args = ["export", "1", "2-3", "--bundle", name];
    let wrote = stage.notebook.pgdyno(&args).expect(0, &[]);
    assert_eq!(fs::read(&again).unwrap(), fs::read(&stage.sets).unwrap());
    let hash = wrote.stdout.split_whitespace().last().unwrap().to_owned();
    verified(&again).expect(0, &[&hash]);
    stage
        .notebook
        .pgdyno(&args)
        .expect(2, &["exists already", "name another"]);
    let nowhere = stage.dir.path().join("none/x.bundle");
    stage
        .notebook
        .pgdyno(&["export", "1", "--bundle", nowhere.to_str().unwrap()])
        .expect(1, &["cannot write", "name a file elsewhere"]);
    let none = ["export", "tag:none", "--bundle", "x"];
    stage
        .notebook
        .pgdyno(&none)
        .expect(2, &["no trial has the tag none"]);
}

#[test]
fn passwords_stay_out_of_a_bundle() {
    let (notebook, db) = (Notebook::new(), Database::new("evidence_secret"));
    let url = db.url.replace("@/", ":pl4ntedS3cretX@/");
    assert_ne!(url, db.url);
    let script = notebook.beside("s.sql");
    fs::write(&script, SCRIPT).unwrap();
    let args = [
        "run",
        script.to_str().unwrap(),
        "-t",
        "5",
        "--param",
        "api_token='pl4ntedS3cretX'",
    ];
    ran(notebook.command(&args).args(["--url", &url])).expect(0, &[]);
    let file = notebook.beside("x.bundle");
    notebook
        .pgdyno(&["export", "1", "--bundle", file.to_str().unwrap()])
        .expect(0, &[]);
    let bundle = Bundle::read(&file).unwrap();
    let secret = b"pl4ntedS3cretX";
    for (name, part) in &bundle.parts {
        let is_in = part.windows(secret.len()).any(|window| window == secret);
        assert!(!is_in, "{name}");
    }
    assert!(!bundle.manifest_text.contains("pl4ntedS3cretX"));
}

#[test]
fn what_does_not_agree_is_said_with_exit_code_1_and_as_json() {
    let stage = &*STAGE;
    let mut forged = Forged::of(&stage.sets);
    forged.document(ONE, "/measured/goodput_per_s", json!(123456.5));
    let manifest = forged.manifest.clone().sealed(&forged.parts);
    let file = stage.dir.path().join("forged.bundle");
    fs::write(&file, bytes(&manifest.text(), &forged.parts)).unwrap();
    verified(&file).expect(
        1,
        &[
            "not agree",
            "trial 1 (",
            "measured.goodput_per_s",
            "shown 123456.5",
            "comes out",
        ],
    );
    let ran = ran(&mut pgdyno(&["verify", file.to_str().unwrap(), "--json"])).expect(1, &[]);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(found["agrees"], false);
    assert_eq!(found["disagreements"][0]["shown"], "123456.5");
    assert!(found["checked"]["recomputed"].as_u64().unwrap() > 300);
    assert!(!found["not_checked"].as_array().unwrap().is_empty());
}

#[test]
fn a_notebook_and_a_page_are_checked_as_far_as_they_go() {
    let stage = &*STAGE;
    let copy = stage.dir.path().join("copy.sqlite");
    let name = copy.to_str().unwrap();
    stage
        .notebook
        .pgdyno(&["export", "-o", name])
        .expect(0, &[]);
    verified(&copy).expect(
        0,
        &["a notebook of 4 trials", "All of it agrees", "a bundle has"],
    );
    let connection = Connection::open(&copy).unwrap();
    connection
        .execute(
            "UPDATE second SET committed = committed + 1 WHERE trial = 2",
            [],
        )
        .unwrap();
    drop(connection);
    verified(&copy).expect(1, &["trial 2 (", "service times: values in the histogram"]);
    for (page, trials) in [
        (&["report", "1"][..], "1 trial"),
        (&["report", "2-3"][..], "2 trials"),
    ] {
        let file = stage.dir.path().join(format!("{}.html", page[1]));
        let name = file.to_str().unwrap();
        stage
            .notebook
            .pgdyno(&[page, &["-o", name]].concat())
            .expect(0, &[]);
        verified(&file).expect(0, &["a page of", trials, "All of it agrees"]);
        // In its data, not in its program.
        let text = fs::read_to_string(&file).unwrap();
        let data = text.find("id=\"data\">").unwrap();
        let at =
            data + text[data..].find("\"goodput_per_s\":").unwrap() + "\"goodput_per_s\":".len();
        fs::write(&file, format!("{}9{}", &text[..at], &text[at..])).unwrap();
        verified(&file).expect(1, &["goodput_per_s", "not agree"]);
    }
    let compared = stage.dir.path().join("compared.html");
    let name = compared.to_str().unwrap();
    stage
        .notebook
        .pgdyno(&["compare", "1", "2-3", "--html", name])
        .expect(0, &[]);
    verified(&compared).expect(
        0,
        &[
            "a page of 3 trials",
            "All of it agrees",
            "verdicts of a comparison",
        ],
    );
}

#[test]
fn a_file_that_cannot_be_read_is_refused_with_the_way_out() {
    let stage = &*STAGE;
    let file = stage.dir.path().join("bad");
    let whole = fs::read(&stage.sets).unwrap();
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x55;
    let newer = {
        let forged = Forged::of(&stage.sets);
        let text = forged
            .manifest
            .text()
            .replace("\"version\": 1,", "\"version\": 7,");
        bytes(&text, &forged.parts)
    };
    let bad: [(&[u8], &[&str]); 7] = [
        (b"", &["pgdyno verify reads bundles"]),
        (
            b"\x1f\x8b",
            &[
                "is damaged or cut short before its first part",
                "get it again",
            ],
        ),
        (
            &whole[..whole.len() / 2],
            &["is damaged or cut short after", "get it again"],
        ),
        (
            &whole[..whole.len() - 4],
            &["is damaged or cut short after"],
        ),
        (&flipped, &["bad"]),
        (
            &newer,
            &["version 7", "reads versions up to 1", "a newer one"],
        ),
        (
            &bytes("{}", &Parts::new()),
            &["is no bundle", "pgdyno export TRIAL --bundle FILE"],
        ),
    ];
    for (content, texts) in bad {
        fs::write(&file, content).unwrap();
        verified(&file).expect(2, texts);
        if content.len() > 1 {
            let name = file.to_str().unwrap();
            stage.notebook.pgdyno(&["rerun", name]).expect(2, texts);
            stage.notebook.pgdyno(&["import", name]).expect(2, texts);
        }
    }
    fs::write(&file, [&whole[..], b"more"].concat()).unwrap();
    verified(&file).expect(2, &["something follows its end"]);
    let nothing = stage.dir.path().join("nothing");
    verified(&nothing).expect(2, &["cannot read"]);
    fs::write(&file, "<!doctype html><p>no report").unwrap();
    verified(&file).expect(2, &["is not a report of pgdyno"]);
}

#[test]
fn a_bundle_is_run_again_from_what_it_has_and_compared() {
    let stage = &*STAGE;
    let data = tempfile::tempdir().unwrap();
    let theirs = Notebook::new();
    let pgdyno = |args: &[&str]| {
        let mut command = theirs.command(args);
        ran(command.env("XDG_DATA_HOME", data.path()))
    };
    let (sets, script) = (stage.sets.to_str().unwrap(), stage.script.to_str().unwrap());
    // The files that the trial names are others by now.
    let moved = tempfile::tempdir().unwrap();
    let copy = moved.path().join("copy.bundle");
    fs::copy(&stage.script, &copy).unwrap();
    pgdyno(&["rerun", script, "--dry-run", "--repeat", "2"]).expect(
        0,
        &["pgdyno run", "s.sql", "--repeat 2", "script s.sql, SHA-256"],
    );
    assert!(!data.path().join("pgdyno/bundles").exists());
    pgdyno(&["rerun", sets]).expect(2, &["several things to run again", "--only"]);
    pgdyno(&["rerun", sets, "--only", "none"])
        .expect(2, &["has no trial or experiment none", "run-mine"]);
    pgdyno(&["rerun", script, "--no-store"]).expect(2, &["is kept in the notebook"]);
    let url = ["--url", stage.db.url.as_str()];
    pgdyno(&[&["rerun", copy.to_str().unwrap(), "-q"], &url[..]].concat()).expect(
        0,
        &[
            "A is the bundle, B is trial 1 here",
            "did not take turns",
            "cannot tell",
        ],
    );
    let there = theirs.value("SELECT spec ->> 'workload' FROM trial");
    assert!(there.contains("pgdyno/bundles/"), "{there}");
    assert_eq!(
        theirs.value("SELECT count(*) FROM tag WHERE tag LIKE 'rerun-of-%'"),
        "1"
    );
    pgdyno(
        &[
            &["rerun", sets, "--only", "run-mine", "--repeat", "1", "-q"],
            &url[..],
        ]
        .concat(),
    )
    .expect(
        0,
        &["A is the bundle, B is trial 2 here", "did not take turns"],
    );
    let same = "SELECT count(*) FROM trial WHERE workload = 'mine' AND pack_sha256 IS NOT NULL";
    assert_eq!(theirs.value(same), "1");
    // And the bundle's own trials become trials of the notebook.
    pgdyno(&["import", sets]).expect(0, &["3 trials added"]);
}

#[test]
fn what_is_no_longer_what_was_run_is_not_in_the_bundle_and_said() {
    let (notebook, db) = (Notebook::new(), Database::new("evidence_changed"));
    let script = notebook.beside("s.sql");
    fs::write(&script, SCRIPT).unwrap();
    notebook
        .run(&db, &["run", script.to_str().unwrap(), "-t", "20"])
        .expect(0, &[]);
    fs::write(&script, "SELECT 2;\n").unwrap();
    let file = notebook.beside("x.bundle");
    let name = file.to_str().unwrap();
    notebook.pgdyno(&["export", "1", "--bundle", name]).expect(
        0,
        &[
            "not in it: what trial 1 ran",
            "no longer those that were run",
        ],
    );
    verified(&file).expect(0, &["All of it agrees", "it is not in the bundle"]);
    notebook.pgdyno(&["rerun", name]).expect(
        2,
        &[
            "does not have what trial 1 ran",
            "no longer those that were run",
        ],
    );
}

#[test]
fn a_bundle_runs_programs_on_this_host_only_when_that_is_allowed() {
    let (notebook, db) = (Notebook::new(), Database::new("evidence_shell"));
    let script = notebook.beside("s.sql");
    fs::write(&script, "\\shell true\nSELECT 1;\n").unwrap();
    let args = ["run", script.to_str().unwrap(), "-t", "2", "--allow-shell"];
    notebook.run(&db, &args).expect(0, &[]);
    let file = notebook.beside("x.bundle");
    let name = file.to_str().unwrap();
    notebook
        .pgdyno(&["export", "1", "--bundle", name])
        .expect(0, &[]);
    let data = notebook.beside("data");
    let rerun = |args: &[&str]| {
        let mut command = notebook.command(&["rerun", name, "--url", &db.url]);
        ran(command.env("XDG_DATA_HOME", &data).args(args))
    };
    rerun(&[]).expect(
        1,
        &["scripts that run programs on this host", "--allow-shell"],
    );
    assert_eq!(notebook.value("SELECT count(*) FROM trial"), "1");
    rerun(&["--dry-run"]).expect(0, &["pgdyno run", "--allow-shell"]);
    rerun(&["--allow-shell"]).expect(0, &["A is the bundle, B is trial 2 here"]);
    // Of the notebook's own trials, too.
    notebook
        .pgdyno(&["rerun", "1", "--dry-run", "--repeat", "3"])
        .expect(0, &["pgdyno run", "--repeat 3"]);
    notebook
        .pgdyno(&["rerun", "1", "--only", "2"])
        .expect(2, &["--only names a trial or an experiment of a bundle"]);
}
