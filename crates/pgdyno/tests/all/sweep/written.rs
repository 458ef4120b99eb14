//! An experiment in a directory of its own, and what a sweep has written about it.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{self, Database, Ran, notebook};

/// A directory with `e.toml`, a cache of its own, and the results.
pub struct Experiment {
    pub dir: TempDir,
    url: String,
}

impl Experiment {
    pub fn new(toml: &str, database: &Database) -> Experiment {
        Experiment::at(toml, &database.url)
    }

    /// With `sweep` and `run` on this server.
    pub fn at(toml: &str, url: &str) -> Experiment {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("e.toml"), toml).unwrap();
        let url = url.to_owned();
        Experiment { dir, url }
    }

    pub fn store(&self) -> PathBuf {
        notebook::at(&self.dir.path().join("notebook.sqlite"))
    }

    /// `pgdyno ARGS` in that directory, with its cache.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = support::pgdyno(args);
        command.current_dir(self.dir.path());
        command.env("PGDYNO_CACHE", self.dir.path().join("cache"));
        command.env("PGDYNO_SERVERS", self.dir.path().join("cache/servers"));
        command.env("PGDYNO_STORE", self.store());
        command
    }

    /// `pgdyno sweep e.toml ARGS` on the database.
    pub fn sweep(&self, args: &[&str]) -> Command {
        let mut command = self.command(&["sweep", "e.toml", "--url", &self.url]);
        command.args(args);
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        support::ran(&mut self.sweep(args))
    }

    /// What a query of its notebook gives, an object a row.
    pub fn query(&self, sql: &str) -> Vec<Value> {
        let ran = support::ran(&mut self.command(&["sql", "--json", sql])).expect(0, &[]);
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// Every complete trial of the notebook has its totals in its seconds, row by row; gives how
    /// many there are in each state.
    #[track_caller]
    pub fn assert_notebook(&self) -> Vec<Value> {
        let wrong = self.query(
            "SELECT number FROM trial t WHERE state = 'complete' AND NOT EXISTS \
             (SELECT 1 FROM second s WHERE s.trial = t.number AND NOT s.warmup GROUP BY s.trial \
              HAVING sum(s.committed) = t.committed AND sum(s.failed) = t.failed \
              AND sum(s.retries) = t.retries)",
        );
        assert_eq!(wrong, Vec::<Value>::new());
        self.query("SELECT state, count(*) AS n FROM trial GROUP BY state ORDER BY state")
    }

    /// Every trial that is over, in the order in which they began: what `show --json` tells, its
    /// place in the experiment, and what happened before it.
    pub fn trials(&self) -> Vec<Value> {
        let rows = self.query(
            "SELECT number, state, reason, point, repeat, EXISTS (SELECT 1 FROM tag \
             WHERE tag.trial = t.number AND tag = 'maximum') AS is_maximum, (SELECT text FROM event v \
             WHERE v.trial = t.number AND v.kind = 'before') AS before \
             FROM trial t WHERE state <> 'running' ORDER BY number",
        );
        let whole = |mut row: Value| {
            let number = row["number"].to_string();
            let show = &mut self.command(&["show", &number, "--json"]);
            let shown = support::ran(show).expect(0, &[]).stdout;
            let mut trial: Value = serde_json::from_str(&shown).unwrap();
            for name in ["point", "before"] {
                let text = row[name].as_str().unwrap_or("null");
                trial[name] = serde_json::from_str(text).unwrap();
            }
            for name in ["state", "reason", "repeat", "is_maximum"] {
                trial[name] = row[name].take();
            }
            trial
        };
        rows.into_iter().map(whole).collect()
    }

    pub fn complete(&self) -> Vec<Value> {
        let trials = self.trials().into_iter();
        trials
            .filter(|trial| trial["state"] == "complete")
            .collect()
    }

    /// How many trials are complete, while the sweep goes on too.
    pub fn completed(&self) -> usize {
        self.count("WHERE state = 'complete'")
    }

    /// How many trials of the notebook are such; none before there is a notebook.
    pub fn count(&self, which: &str) -> usize {
        let count = format!("SELECT count(*) AS n FROM trial {which}");
        let ran = support::ran(&mut self.command(&["sql", "--json", &count]));
        if ran.stderr.contains("there is no store") {
            return 0;
        }
        let rows: Value = serde_json::from_str(&ran.expect(0, &[]).stdout).unwrap();
        rows[0]["n"].as_u64().unwrap() as usize
    }
}

/// Every trial's seconds must sum up to its totals.
#[track_caller]
pub fn assert_sums(trial: &Value) {
    let seconds = trial["seconds"].as_array().unwrap().iter();
    let measured = seconds.filter(|second| second["warmup"] == false);
    let scripts = measured.flat_map(|second| second["scripts"].as_array().unwrap());
    let committed: u64 = scripts
        .map(|script| script["committed"].as_u64().unwrap())
        .sum();
    assert_eq!(trial["measured"]["committed"], committed, "{trial}");
    assert!(committed > 0, "{trial}");
}
