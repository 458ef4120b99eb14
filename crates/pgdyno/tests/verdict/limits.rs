//! The limits, and how each is made.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use pgdyno_server::Server;
use pgdyno_testkit::{DelayingProxy, postgres_with};
use serde_json::Value;

use crate::support::{Database, connect, pgdyno, ran};

/// Long enough for a steady share of samples.
const SECONDS: &str = "5";

/// What limits the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Others have the CPU of the load generator.
    Client,
    /// A proxy delays every byte.
    Network,
    /// Dear computations.
    ServerCpu,
    /// One client that commits durably.
    DurableCommit,
    /// One row that all clients update.
    HotRow,
    /// Transactions that cannot be put in an order.
    Serializable,
    /// More rows than shared buffers.
    Misses,
    /// A role that may have fewer connections than there are clients.
    Connections,
    /// Checkpoints without a pause.
    Checkpoints,
    /// A rate that is met with ease.
    RateMet,
}

impl Limit {
    pub const ALL: [Limit; 10] = [
        Limit::Client,
        Limit::Network,
        Limit::ServerCpu,
        Limit::DurableCommit,
        Limit::HotRow,
        Limit::Serializable,
        Limit::Misses,
        Limit::Connections,
        Limit::Checkpoints,
        Limit::RateMet,
    ];

    /// The verdicts that are right.
    pub fn codes(self) -> &'static [&'static str] {
        match self {
            Limit::Client => &["client"],
            Limit::Network => &["network"],
            Limit::ServerCpu => &["server-cpu"],
            Limit::DurableCommit => &["durable-commit"],
            Limit::HotRow | Limit::Serializable => &["contention"],
            // Which of them depends on the memory that the kernel has left.
            Limit::Misses => &["buffer-misses", "device-reads"],
            Limit::Connections => &["connections"],
            Limit::Checkpoints => &["stalls"],
            Limit::RateMet => &["rate-met"],
        }
    }
}

/// The server and the tables.
pub struct Stage {
    server: Server,
    db: Database,
    dir: tempfile::TempDir,
}

impl Stage {
    pub fn new() -> Self {
        let server = postgres_with(&[
            "fsync=on",
            "shared_buffers=32MB",
            "checkpoint_timeout=1h",
            "max_wal_size=8GB",
            "autovacuum=off",
        ]);
        let db = Database::on(&server, "limits");
        db.sql(
            "CREATE TABLE point (id int PRIMARY KEY, n bigint NOT NULL);
             INSERT INTO point SELECT i, 0 FROM generate_series(1, 10000) i;
             CREATE TABLE hot (id int PRIMARY KEY, n bigint NOT NULL);
             INSERT INTO hot SELECT i, 0 FROM generate_series(1, 4) i;
             CREATE TABLE journal (n int);
             CREATE TABLE big (id int, filler char(1000) NOT NULL DEFAULT 'x') WITH (fillfactor = 10);
             INSERT INTO big SELECT i FROM generate_series(1, 40000) i ORDER BY random();
             CREATE INDEX ON big (id);
             CREATE ROLE few LOGIN CONNECTION LIMIT 10;
             GRANT SELECT ON ALL TABLES IN SCHEMA public TO few; GRANT pg_monitor TO few",
        );
        db.sql("VACUUM (FREEZE, ANALYZE)");
        db.sql("CHECKPOINT");
        let dir = tempfile::tempdir().unwrap();
        Stage { server, db, dir }
    }

    /// The result of a trial with this limit.
    pub fn run(&self, limit: Limit, strength: u32) -> Value {
        let read = "\\set id random(1, 10000)\nSELECT n FROM point WHERE id = :id;\n";
        match limit {
            Limit::Client => self.starved(read, pick(strength, 2, 4)),
            Limit::Network => {
                let socket = self.server.address().socket_path();
                let proxy =
                    DelayingProxy::start(&socket, Duration::from_millis(pick(strength, 1, 5)));
                let url = format!("postgres://postgres@{}/limits", proxy.address());
                self.trial(read, &["-c", "2", "--url", &url])
            }
            Limit::ServerCpu => {
                let script = "SELECT sum(sqrt(i)) FROM generate_series(1, 20000) i;\n";
                self.trial(script, &["-c", pick(strength, "1", "4")])
            }
            Limit::DurableCommit => {
                let insert = "INSERT INTO journal VALUES (1);\n";
                self.trial(insert, &["-c", pick(strength, "1", "2")])
            }
            Limit::HotRow => {
                let script = "BEGIN;\nUPDATE hot SET n = n + 1 WHERE id = 1;\nEND;\n";
                self.trial(script, &["-c", pick(strength, "32", "12")])
            }
            Limit::Serializable => {
                let script = "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT sum(n) FROM hot;\n\
                              \\set id random(1, 4)\n\
                              UPDATE hot SET n = n + 1 WHERE id = :id;\nEND;\n";
                self.trial(
                    script,
                    &["-c", pick(strength, "8", "16"), "--max-tries", "100"],
                )
            }
            Limit::Misses => {
                let script = format!(
                    "\\set id random(1, 39000)\n\
                     SELECT max(filler) FROM big WHERE id BETWEEN :id AND :id + {};\n",
                    pick(strength, 100, 600)
                );
                self.trial(&script, &["-c", pick(strength, "1", "3")])
            }
            Limit::Connections => {
                let url = self.db.url.replace("postgres@", "few@");
                let clients = pick(strength, "32", "64");
                let connect = ["-c", clients, "--connect", "--reconnect"];
                self.trial(read, &[&connect[..], &["--url", &url]].concat())
            }
            Limit::Checkpoints => {
                let script = "\\set id random(1, 39000)\n\
                              UPDATE big SET filler = 'y' WHERE id BETWEEN :id AND :id + 3;\n";
                self.with_checkpoints(Duration::from_millis(pick(strength, 2500, 0)), || {
                    self.trial_of(script, &["-c", "2"], "12")
                })
            }
            Limit::RateMet => self.trial(read, &["-c", "4", "--rate", pick(strength, "50", "200")]),
        }
    }

    fn trial(&self, script: &str, args: &[&str]) -> Value {
        self.trial_of(script, args, SECONDS)
    }

    fn trial_of(&self, script: &str, args: &[&str], seconds: &str) -> Value {
        let mut command = pgdyno(&["run"]);
        self.complete(&mut command, script, args, seconds);
        result(command)
    }

    fn complete(&self, command: &mut Command, script: &str, args: &[&str], seconds: &str) {
        let path = self.dir.path().join("script.sql");
        std::fs::write(&path, script).unwrap();
        command
            .arg(path)
            .args(["-T", seconds, "--json", "-q"])
            .args(args);
        if !args.contains(&"--url") {
            command.args(["--url", &self.db.url]);
        }
    }

    /// pgdyno on one CPU with so many others, the server on another.
    fn starved(&self, script: &str, others: usize) -> Value {
        let pid = connect(&self.db.url).query_one_value("SELECT pg_read_file('postmaster.pid')");
        let pid = pid.unwrap().unwrap();
        let pid = pid.lines().next().unwrap();
        pin(pid, "1");
        let burner = || {
            let mut command = Command::new("taskset");
            command.args(["-c", "0", "sh", "-c", "while :; do :; done"]);
            Burner(command.stdout(Stdio::null()).spawn().unwrap())
        };
        let burners: Vec<Burner> = (0..others).map(|_| burner()).collect();
        let own = pgdyno(&["run"]);
        let mut command = Command::new("taskset");
        command
            .args(["-c", "0"])
            .arg(own.get_program())
            .args(own.get_args());
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        self.complete(&mut command, script, &["-c", "4"], SECONDS);
        let json = result(command);
        drop(burners);
        pin(pid, "0-1");
        json
    }

    fn with_checkpoints(&self, pause: Duration, run: impl FnOnce() -> Value) -> Value {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut session = connect(&self.db.url);
                while !is_over.load(Ordering::Relaxed) {
                    thread::sleep(pause);
                    session.simple_query("CHECKPOINT").unwrap();
                }
            });
            let json = run();
            is_over.store(true, Ordering::Relaxed);
            json
        })
    }
}

fn result(mut command: Command) -> Value {
    let run = ran(&mut command);
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

/// A process with all of its threads and what it starts from now on.
fn pin(pid: &str, cpus: &str) {
    let mut command = Command::new("taskset");
    command
        .args(["-a", "-p", "-c", cpus, pid])
        .stdout(Stdio::null());
    assert!(command.status().unwrap().success());
}

/// Ended with the test.
struct Burner(Child);

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One thing for the first strength, another for the second.
fn pick<T>(strength: u32, one: T, two: T) -> T {
    if strength == 1 { one } else { two }
}
