//! An experiment in a directory of its own, and what a sweep has written about it.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{self, Database, Ran};

/// A directory with `e.toml`, a cache of its own, and the results.
pub struct Experiment {
    pub dir: TempDir,
    url: String,
}

impl Experiment {
    pub fn new(toml: &str, database: &Database) -> Experiment {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("e.toml"), toml).unwrap();
        let url = database.url.clone();
        Experiment { dir, url }
    }

    /// `pgdyno ARGS` in that directory, with its cache.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = support::pgdyno(args);
        command.current_dir(self.dir.path());
        command.env("PGDYNO_CACHE", self.dir.path().join("cache"));
        command.env("PGDYNO_STORE", self.dir.path().join("notebook.sqlite"));
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

    pub fn results(&self) -> PathBuf {
        self.dir.path().join("e.jsonl")
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
            "SELECT number FROM trial t WHERE state = 'complete' AND (committed, failed, retries) IS NOT \
             (SELECT sum(committed), sum(failed), sum(retries) FROM second s \
              WHERE s.trial = t.number AND NOT s.warmup)",
        );
        assert_eq!(wrong, Vec::<Value>::new());
        self.query("SELECT state, count(*) AS n FROM trial GROUP BY state ORDER BY state")
    }

    /// Whole lines after the first.
    pub fn trials(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.results()).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().skip(1);
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub fn complete(&self) -> Vec<Value> {
        let trials = self.trials().into_iter();
        trials
            .filter(|trial| trial["state"] == "complete")
            .collect()
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
