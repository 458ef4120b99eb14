//! `pgdyno history` on a notebook with a change of level.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Database, Ran, notebook, pgdyno, ran};

struct Folder {
    folder: tempfile::TempDir,
    database: Database,
}

impl Folder {
    /// Fourteen trials of one load, of which the last seven look a fifth slower, and one of another.
    fn new(name: &str) -> Self {
        let folder = Self {
            folder: tempfile::tempdir().unwrap(),
            database: Database::new(name),
        };
        std::fs::write(folder.folder.path().join("one.sql"), "SELECT 1;\n").unwrap();
        let url = folder.database.url.clone();
        folder
            .pgdyno(&[
                "run", "one.sql", "-t", "5", "-c", "2", "--tag", "nightly", "--url", &url,
            ])
            .expect(0, &[]);
        folder
            .pgdyno(&[
                "run", "one.sql", "-t", "5", "--repeat", "14", "--tag", "nightly", "--url", &url,
            ])
            .expect(0, &["14 of 14 trials complete"]);
        let change = "UPDATE trial_ended SET goodput_per_s = CASE WHEN trial <= 8 THEN 1000 + trial ELSE 800 + \
                      trial END";
        notebook::change(&folder.store(), change);
        folder
    }

    fn store(&self) -> PathBuf {
        notebook::at(&self.folder.path().join("notebook.sqlite"))
    }

    fn pgdyno(&self, args: &[&str]) -> Ran {
        let mut command = pgdyno(args);
        command
            .current_dir(self.folder.path())
            .env("PGDYNO_STORE", self.store());
        ran(&mut command)
    }
}

#[test]
fn a_change_of_level_is_found_with_its_trial() {
    let folder = Folder::new("history");
    let reported = folder.pgdyno(&[
        "history",
        "goodput",
        "--tag",
        "nightly",
        "--html",
        "goodput.html",
    ]);
    let reported = reported.expect(
        0,
        &[
            "1 change in 14 trials",
            "with trial 9 on",
            "left out 1 trial: another load",
            "•",
        ],
    );
    let chart = reported.stdout.lines().filter(|line| line.contains('┤'));
    assert!(
        { chart }.all(|line| line.chars().count() <= 80),
        "{}",
        reported.stdout
    );
    let page = std::fs::read_to_string(folder.folder.path().join("goodput.html")).unwrap();
    assert_eq!(page.matches("<circle").count(), 14);
    let reported = folder
        .pgdyno(&["history", "--tag", "nightly", "--json"])
        .expect(0, &[]);
    let document: Value = serde_json::from_str(&reported.stdout).unwrap();
    assert_eq!(document["changes"][0]["first_after"], 9);
    let change = document["changes"][0]["change"].as_f64().unwrap();
    assert!((-0.21..-0.18).contains(&change), "{document}");
    // As a gate.
    let gate = |gate: &str| folder.pgdyno(&["history", "--tag", "nightly", "--fail-if", gate]);
    gate("goodput < -3%").expect(1, &["fails: the newest change, with trial 9, is -"]);
    gate("goodput < -30%").expect(0, &["passes: the newest change"]);
    gate("p99 > +5%").expect(2, &["one change of goodput in per cent"]);
    // A slow drift hides what a change would be.
    let drift = "UPDATE trial_ended SET goodput_per_s = 1000 - 20 * trial";
    notebook::change(&folder.store(), drift);
    gate("goodput < -3%").expect(4, &["cannot tell: the trials follow each other so closely"]);
    // Of the other load there is one trial.
    folder
        .pgdyno(&["history", "--point", "clients=2"])
        .expect(4, &["1 trials that can be compared, 10 needed"]);
    folder
        .pgdyno(&["history", "--point", "clients=1"])
        .expect(0, &["in 14 trials"]);
    folder
        .pgdyno(&["history", "speed"])
        .expect(2, &["there is no figure \"speed\"", "goodput, p50"]);
    folder
        .pgdyno(&["history", "--point", "clients"])
        .expect(2, &["it must be NAME=VALUE"]);
}
