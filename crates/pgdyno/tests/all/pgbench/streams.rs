//! Random scripts send the same statements as stock pgbench's, message by message and client by
//! client, in the three query modes; and print the same.

use std::fmt::Write as _;
use std::path::Path;

use pgdyno_testkit::{RecordingProxy, postgres, stock_pgbench};

use crate::child::Running;
use crate::pgbench::cases::needs_stock;
use crate::pgbench::mask::{self, Mask};
use crate::pgbench::{diff, generator, programs};
use crate::support::Database;

/// Scripts come in runs of several: which one is next is drawn too.
const A_RUN: u64 = 4;
const RUNS: u64 = 34;
/// So many scripts must have been executed at least once: weights leave some out.
const ENOUGH: usize = 100;

/// With so many runs that differ it is enough.
const SHOWN: usize = 8;

/// What one program sent and printed.
struct Sent {
    sessions: Vec<Vec<String>>,
    printed: String,
    /// For each script, whether it was executed.
    executed: Vec<bool>,
}

struct Setting {
    proxy: RecordingProxy,
    database: String,
    mode: &'static str,
}

impl Setting {
    fn new(mode: &'static str) -> Setting {
        let database = format!("scripts_{mode}");
        Database::new(&database);
        Setting {
            proxy: RecordingProxy::start(postgres().address().socket_path()),
            database,
            mode,
        }
    }

    fn script(&self, seed: u64) -> String {
        generator::script(seed, self.mode == "simple")
    }

    /// Runs the scripts of these seeds in a program, two clients with a thread each.
    fn run(&self, program: &Path, seeds: &[u64], random_seed: u64) -> Sent {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut command = programs::command(program, dir.path());
        command
            .args([
                "-n", "-c", "2", "-j", "2", "-t", "12", "-r", "-M", self.mode,
            ])
            .args(["--random-seed", &random_seed.to_string()])
            .env("PGHOST", self.proxy.socket_dir())
            .env("PGPORT", self.proxy.port().to_string())
            .env("PGUSER", "postgres")
            .env("PGDATABASE", &self.database);
        for (at, seed) in seeds.iter().enumerate() {
            let name = format!("{seed}.sql");
            std::fs::write(dir.path().join(&name), self.script(*seed)).expect("a new directory");
            command.args(["-f", &format!("{name}@{}", at % 3 + 1)]);
        }
        let ran = Running::start(&mut command).ended();
        // Threads print in any order, what debug() says in two pieces: where, and the value.
        let any_order = Mask {
            order: true,
            ..Mask::default()
        };
        // Threads of stock pgbench add to the counts of a script without a lock.
        let counts_get_lost = Mask {
            counts: true,
            ..Mask::default()
        };
        let printed = format!(
            "exit code {:?}\n{}{}",
            ran.code,
            mask::text(&ran.stdout, counts_get_lost),
            mask::text(&ran.stderr.replace("): ", "):\n"), any_order)
        );
        let counts = ran.stdout.lines().filter_map(|line| {
            let count = line.strip_prefix(" - ")?.split_once(" transactions (")?.0;
            Some(count != "0")
        });
        Sent {
            executed: counts.collect(),
            sessions: self.proxy.take_sessions(),
            printed,
        }
    }

    /// What differs between the programs when they run these scripts; and which of them stock
    /// pgbench executed.
    fn differences(&self, seeds: &[u64], random_seed: u64) -> (String, Vec<bool>) {
        let stock = stock_pgbench().expect("asked for before");
        let theirs = self.run(&stock, seeds, random_seed);
        assert!(
            theirs.printed.starts_with("exit code Some(0)\n"),
            "the generator makes scripts that run without an error; seeds {seeds:?}, mode {}:\n{}\n{}",
            self.mode,
            theirs.printed,
            seeds
                .iter()
                .map(|seed| self.script(*seed))
                .collect::<Vec<_>>()
                .join("\n"),
        );
        let ours = self.run(&programs::under_test(), seeds, random_seed);
        let mut report = String::new();
        if theirs.sessions.len() != ours.sessions.len() {
            let (theirs, ours) = (theirs.sessions.len(), ours.sessions.len());
            let _ = writeln!(
                report,
                "{theirs} clients at stock pgbench's, {ours} at ours"
            );
        }
        for (client, (theirs, ours)) in theirs.sessions.iter().zip(&ours.sessions).enumerate() {
            let length = theirs.len().max(ours.len());
            let differs = (0..length).find(|at| theirs.get(*at) != ours.get(*at));
            if let Some(at) = differs {
                let nothing = "(nothing more)".to_owned();
                let before = at.checked_sub(1).map_or(&nothing, |at| &theirs[at]);
                let _ = writeln!(
                    report,
                    "connection {client}, message {at}:\n    {before}\n  - {}\n  + {}",
                    theirs.get(at).unwrap_or(&nothing),
                    ours.get(at).unwrap_or(&nothing)
                );
            }
        }
        let lines = diff::lines(&theirs.printed, &ours.printed);
        for line in lines.iter().take(30) {
            let _ = writeln!(report, "  {line}");
        }
        (report, theirs.executed)
    }

    /// All runs of the mode.
    fn compare(&self) {
        let mut executed = 0;
        let mut report = String::new();
        let mut different = 0;
        for run in 0..RUNS {
            if different == SHOWN {
                let _ = writeln!(report, "\nThe runs from {run} on were not tried.");
                break;
            }
            let seeds: Vec<u64> = (run * A_RUN..(run + 1) * A_RUN).collect();
            let (differences, these) = self.differences(&seeds, run + 1);
            assert_eq!(these.len(), seeds.len(), "a count for each script");
            executed += these.into_iter().filter(|executed| *executed).count();
            if differences.is_empty() {
                continue;
            }
            different += 1;
            let _ = writeln!(
                report,
                "\nseeds {seeds:?}, --random-seed {}:\n{differences}",
                run + 1
            );
            // Which of them is it, alone?
            for seed in seeds {
                let (differences, _) = self.differences(&[seed], run + 1);
                if !differences.is_empty() {
                    let script = self.script(seed);
                    let _ = writeln!(report, "seed {seed} alone:\n{differences}\n{script}");
                }
            }
        }
        assert!(
            report.is_empty(),
            "query mode {} (- stock pgbench, + under test)\n{report}",
            self.mode
        );
        assert!(executed >= ENOUGH, "only {executed} scripts were executed");
    }
}

#[test]
fn random_scripts_send_the_same_in_simple_mode() {
    needs_stock!("random_scripts_send_the_same_in_simple_mode");
    Setting::new("simple").compare();
}

#[test]
fn random_scripts_send_the_same_in_extended_mode() {
    needs_stock!("random_scripts_send_the_same_in_extended_mode");
    Setting::new("extended").compare();
}

#[test]
fn random_scripts_send_the_same_in_prepared_mode() {
    needs_stock!("random_scripts_send_the_same_in_prepared_mode");
    Setting::new("prepared").compare();
}
