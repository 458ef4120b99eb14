//! Random sequences of commands through a pooler, and what a stranger finds afterwards.

use std::path::PathBuf;
use std::time::Instant;

use pgdyno_testkit::{Middlebox, SplitMix64};

use super::strangers::Seen;
use super::{POOL, Pooled};
use crate::support::{pgdyno, ran, sql};

/// Native commands that end by themselves, without `--url`; READS and WRITES are scripts.
const COMMANDS: &[&str] = &[
    "run -q tpcb -M simple -c 4 -t 20",
    "run -q tpcb -M extended -c 4 -t 20 --lock-timeout 7s",
    "run -q tpcb -M extended -c 2 -t 10 --isolation serializable --retry restart",
    "run -q select-only -M simple -c 5 -t 50",
    "run -q select-only -M prepared -c 5 -t 50",
    "run -q select-only -M extended -C -c 2 -t 9",
    "run -q READS -M prepared -c 3 -t 30 --statement-timeout 9s",
    "run -q WRITES -M extended -c 3 -t 20 --reconnect",
    "run -q READS WRITES -M simple -c 5 -R 200 -t 20",
    "load -q tpcb",
    "load -q kv",
    "target",
];

/// Those of other tools, whose URL comes last.
const TOOLS: &[&str] = &[
    "pgbench -i -q -s 1",
    "pgbench -n -S -c 3 -t 20",
    "workload init kv",
];

/// Rounds of a long test that draw from a seed of their own: a test that was ended goes on with the next.
const SLICE: u64 = 25;

/// So many sessions has a pooler that gives each client one for as long as it is connected: pgdyno's own sessions are
/// there beside those of clients.
const SESSIONS_OF_PGPOOL: usize = 24;
const SESSIONS_OF_PGBOUNCER: usize = 16;

#[test]
fn strangers_find_their_sessions_as_they_were() {
    of_pgbouncer(
        "strangers_find_their_sessions_as_they_were",
        "transaction",
        4,
    );
}

#[test]
fn what_a_client_leaves_on_a_shared_session_is_seen() {
    let name = "what_a_client_leaves_on_a_shared_session_is_seen";
    let Some(pooled) = Pooled::new(name) else {
        return;
    };
    let before = pooled.strangers().look();
    let leaves =
        "SET statement_timeout = '9s'; PREPARE mine AS SELECT 1; SELECT pg_advisory_lock(7)";
    sql(&pooled.url, leaves);
    let differences = before.differences(&pooled.strangers().look());
    let expected = [
        "statement_timeout = 9000",
        "left: lock 7",
        "left: statement mine",
    ];
    assert_eq!(differences, expected);
}

#[test]
fn strangers_behind_sessions_of_a_pooler_find_them_as_they_were() {
    let name = "strangers_behind_sessions_of_a_pooler_find_them_as_they_were";
    of_pgbouncer(name, "session", 2);
}

#[test]
fn strangers_behind_single_statements_find_their_sessions_as_they_were() {
    let name = "strangers_behind_single_statements_find_their_sessions_as_they_were";
    of_pgbouncer(name, "statement", 3);
}

#[test]
fn strangers_behind_pgpool_find_their_sessions_as_they_were() {
    let name = "strangers_behind_pgpool_find_their_sessions_as_they_were";
    let start = |port| Middlebox::pgpool(port, SESSIONS_OF_PGPOOL);
    if let Some(pooled) = Pooled::behind(name, SESSIONS_OF_PGPOOL, start) {
        // In the extended protocol it leaves transactions open: such runs are refused.
        Rounds::of(name, 3).check(&pooled, Refuses::Some);
    }
}

#[test]
fn strangers_behind_haproxy_find_their_sessions_as_they_were() {
    let name = "strangers_behind_haproxy_find_their_sessions_as_they_were";
    if let Some(pooled) = Pooled::behind(name, POOL, Middlebox::haproxy) {
        Rounds::of(name, 2).check(&pooled, Refuses::None);
    }
}

/// The same behind PgBouncer in one of its modes.
fn of_pgbouncer(name: &'static str, mode: &str, rounds: u64) {
    let pool_mode = format!("pool_mode={mode}");
    // In session mode each client has one, as has each of pgdyno's own.
    let sessions = if mode == "session" {
        SESSIONS_OF_PGBOUNCER
    } else {
        POOL
    };
    let size = format!("default_pool_size={sessions}");
    let start = |port| Middlebox::pgbouncer(port, &[&pool_mode, &size]);
    let refuses = match mode {
        "session" => Refuses::Parameters,
        "transaction" => Refuses::Prepared,
        _ => Refuses::Some,
    };
    if let Some(pooled) = Pooled::behind(name, sessions, start) {
        Rounds::of(name, rounds).check(&pooled, refuses);
    }
}

/// What a pooler does not take, so that commands may fail.
#[derive(Clone, Copy, PartialEq)]
enum Refuses {
    None,
    /// Start-up parameters (PgBouncer before 1.20).
    Parameters,
    /// Those, and prepared statements.
    Prepared,
    /// More than that.
    Some,
}

/// How many commands are run, and where it is written down how far that is.
struct Rounds {
    name: &'static str,
    count: u64,
    seed: u64,
    /// Has the number of rounds that are done, where a long test goes on.
    done: Option<PathBuf>,
}

impl Rounds {
    /// So many in `make test`. `PGDYNO_ROUNDS` has more of them, `SEED` others; `PGDYNO_ROUNDS_DONE` is a folder.
    fn of(name: &'static str, count: u64) -> Self {
        let number =
            |name: &str, or: u64| std::env::var(name).map_or(or, |n| n.parse().expect("a number"));
        let (count, seed) = (number("PGDYNO_ROUNDS", count), number("SEED", 52));
        let folder = std::env::var_os("PGDYNO_ROUNDS_DONE").map(PathBuf::from);
        Self {
            name,
            count,
            seed,
            done: folder.map(|folder| folder.join(format!("{name}-{seed}"))),
        }
    }

    /// Runs commands at random, and looks after each.
    fn check(&self, pooled: &Pooled, refuses: Refuses) {
        let text = self
            .done
            .as_ref()
            .and_then(|path| std::fs::read_to_string(path).ok());
        let mut done: u64 = text.map_or(0, |text| text.trim().parse().expect("a number"));
        // What a pooler refuses to load is there for those that only read it.
        pooled.direct.pgdyno(&["load", "-q", "tpcb"]).expect(0, &[]);
        let before = pooled.strangers().look();
        while done < self.count {
            let began = Instant::now();
            let until = (done + SLICE).min(self.count);
            self.slice(pooled, refuses, &before, done..until);
            done = until;
            if let Some(path) = &self.done {
                std::fs::write(path, done.to_string()).expect("written");
                let (name, count, s) = (self.name, self.count, began.elapsed().as_secs());
                eprintln!("{name}: {done} of {count} rounds, the last {SLICE} in {s} s");
            }
        }
        if let Some(path) = &self.done {
            // The next time all of it is done again.
            std::fs::remove_file(path).expect("it is there");
        }
    }

    fn slice(
        &self,
        pooled: &Pooled,
        refuses: Refuses,
        before: &Seen,
        rounds: std::ops::Range<u64>,
    ) {
        let mut draw = SplitMix64(self.seed.wrapping_add(rounds.start));
        let mut done = Vec::new();
        for round in rounds {
            done.push(one(pooled, refuses, &mut draw));
            let place = || {
                format!(
                    "seed {}, round {round}, after\n{}",
                    self.seed,
                    done.join("\n")
                )
            };
            assert_eq!(pooled.running(), [""; 0], "{}", place());
            let differences = before.differences(&pooled.strangers().look());
            assert_eq!(differences, [""; 0], "{}", place());
        }
    }
}

/// A command at random; gives what it was.
fn one(pooled: &Pooled, refuses: Refuses, draw: &mut SplitMix64) -> String {
    let drawn = (draw.next() % (COMMANDS.len() + TOOLS.len() + 1) as u64) as usize;
    let of_tool = drawn.checked_sub(COMMANDS.len());
    let (command, is_tool) = match of_tool.map(|at| TOOLS.get(at)) {
        None => (COMMANDS[drawn], false),
        Some(Some(command)) => (*command, true),
        Some(None) => {
            pooled.interrupted_run();
            return "an interrupted run".to_owned();
        }
    };
    let reads = pooled.script("SELECT count(*) FROM pg_class;\n");
    let writes =
        pooled.script("UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 1;\n");
    let path = |file: &tempfile::NamedTempFile| file.path().display().to_string();
    let words = command.split(' ').map(|word| match word {
        "READS" => path(&reads),
        "WRITES" => path(&writes),
        word => word.to_owned(),
    });
    let mut words: Vec<String> = words.collect();
    words.extend((!is_tool).then(|| "--url".to_owned()));
    words.push(pooled.url.clone());
    let ran = ran(&mut pgdyno(&Vec::from_iter(
        words.iter().map(String::as_str),
    )));
    let may_fail = match refuses {
        // What select-only and kv select from may be of another pack.
        Refuses::None => is_tool,
        Refuses::Parameters => is_tool || command.contains("isolation"),
        Refuses::Prepared => {
            is_tool || command.contains("isolation") || command.contains("prepared")
        }
        Refuses::Some => true,
    };
    let code = ran.code.unwrap_or(i32::MAX);
    assert!(code == 0 || may_fail && code <= 3, "{command}: {ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{command}: {ran:?}");
    format!("{command}: {code}")
}
