//! Behind a real PgBouncer in transaction mode: what pgdyno sets stays on no session that others get.

mod commands;
mod observed;
mod strangers;

use pgdyno_platform::child::Signal;
use pgdyno_server::Server;
use pgdyno_testkit::{Middlebox, postgres_with};
use serde_json::Value;

use crate::child::Running;
use crate::support::{Database, Ran, pgdyno, ran};
use strangers::Strangers;

/// Sessions of the server that all clients share.
const POOL: usize = 3;

/// A server of its own behind a pooler.
struct Pooled {
    url: String,
    /// The way around the pooler.
    direct: Database,
    /// Sessions of the server that all clients share.
    sessions: usize,
    _between: Middlebox,
    _server: Server,
}

impl Pooled {
    /// `None` where there is no PgBouncer, which is recorded as a skip of this test.
    fn new(test: &str) -> Option<Self> {
        let size = format!("default_pool_size={POOL}");
        let settings = ["pool_mode=transaction", &size];
        Self::behind(test, POOL, |port| Middlebox::pgbouncer(port, &settings))
    }

    /// The same behind another, which `start`s before the server on this port.
    fn behind(
        test: &str,
        sessions: usize,
        start: impl FnOnce(u16) -> Result<Middlebox, String>,
    ) -> Option<Self> {
        let server = postgres_with(&[]);
        let between = match start(server.address().port) {
            Ok(between) => between,
            Err(why) => {
                pgdyno_testkit::record_skip(test, &why);
                return None;
            }
        };
        Some(Self {
            direct: Database::on(&server, "shared"),
            url: between.url("shared"),
            sessions,
            _between: between,
            _server: server,
        })
    }

    fn strangers(&self) -> Strangers<'_> {
        Strangers::at(&self.url, self.sessions, &self.direct)
    }

    fn pgdyno(&self, args: &[&str]) -> Ran {
        ran(pgdyno(args).args(["--url", &self.url]))
    }

    fn script(&self, text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::Builder::new().suffix(".sql").tempfile();
        let file = file.expect("a temporary file");
        std::fs::write(file.path(), text).expect("written");
        file
    }

    /// A run that is interrupted while both of its clients execute something.
    fn interrupted_run(&self) {
        let script = self.script("SELECT pg_sleep(600);\n");
        let path = script.path().to_str().expect("a plain path");
        let mut command = pgdyno(&[
            "run", "-q", path, "-c", "2", "-T", "300", "--url", &self.url,
        ]);
        let run = Running::start(&mut command);
        let both = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' \
                    AND state = 'active' AND pid <> pg_backend_pid() OFFSET 1";
        self.direct.wait_for(both);
        run.signal(Signal::Interrupt);
        run.ended().expect(130, &[]);
    }

    /// Statements of others than this test that run now.
    fn running(&self) -> Vec<String> {
        self.direct.rows(
            "SELECT query FROM pg_stat_activity WHERE backend_type = 'client backend' \
             AND state <> 'idle' AND pid <> pg_backend_pid()",
        )
    }
}

#[test]
fn sessions_are_left_as_they_were() {
    let name = "sessions_are_left_as_they_were";
    let Some(pooled) = Pooled::new(name) else {
        return;
    };
    let before = pooled.strangers().look();
    pooled
        .pgdyno(&[
            "run",
            "-q",
            "tpcb",
            "-c",
            "4",
            "-T",
            "2",
            "--lock-timeout",
            "7s",
        ])
        .expect(0, &[]);
    assert_eq!(before.differences(&pooled.strangers().look()), [""; 0]);
}

/// PgBouncer from 1.20 on passes some of them on.
#[test]
fn settings_of_sessions_that_a_pooler_refuses_are_named_with_the_way_out() {
    let name = "settings_of_sessions_that_a_pooler_refuses_are_named_with_the_way_out";
    let Some(pooled) = Pooled::new(name) else {
        return;
    };
    let script = pooled.script("SELECT 1;\n");
    let path = script.path().to_str().expect("a plain path");
    let run = ["run", "-q", path, "-t", "1", "--isolation", "serializable"];
    let ran = pooled.pgdyno(&run);
    if ran.code != Some(0) {
        ran.expect(
            2,
            &[
                "unsupported startup parameter",
                "name the server itself, or ALTER ROLE",
            ],
        );
    }
}

#[test]
fn prepared_statements_are_refused_before_any_is_left() {
    let name = "prepared_statements_are_refused_before_any_is_left";
    let Some(pooled) = Pooled::new(name) else {
        return;
    };
    let script = pooled.script("SELECT 1;\n");
    let path = script.path().to_str().expect("a plain path");
    let run = |mode: &str| pooled.pgdyno(&["run", "-q", "-M", mode, "-c", "4", "-t", "20", path]);
    run("prepared").expect(
        1,
        &[
            "prepared statements do not work at",
            "a pooler in transaction mode: -M extended (pgdyno workload: --method noprepare), or PgBouncer 1.21",
        ],
    );
    run("extended").expect(0, &[]);
    assert_eq!(pooled.strangers().look().left_behind, [""; 0]);
}

#[test]
fn what_a_pooler_in_statement_mode_refuses_has_a_way_out() {
    let name = "what_a_pooler_in_statement_mode_refuses_has_a_way_out";
    let start = |port| Middlebox::pgbouncer(port, &["pool_mode=statement"]);
    let Some(pooled) = Pooled::behind(name, POOL, start) else {
        return;
    };
    let way_out =
        "a pooler in statement mode: pool_mode=transaction, or scripts of your own without BEGIN";
    pooled.pgdyno(&["load", "tpcb"]).expect(3, &[way_out]);
    let lab = [
        "lab", "retries", "-c", "1", "--forms", "cte", "--repeat", "2",
    ];
    let refused = pooled.pgdyno(&lab).expect(3, &[way_out]);
    assert_eq!(
        refused.stderr.matches("not allowed").count(),
        1,
        "{refused:?}"
    );
    ran(&mut pgdyno(&["pgbench", "-i", &pooled.url])).expect(1, &[way_out]);
    let script = pooled.script("SELECT 1;\n");
    let path = script.path().to_str().expect("a plain path");
    let needs = "a notebook needs transactions: pool_mode=transaction, or name the server itself";
    ran(&mut pgdyno(&["store", "init", &pooled.url])).expect(1, &[needs]);
    assert!(
        pooled
            .direct
            .rows("SELECT 1 FROM pg_class WHERE relname = 'notebook'")
            .is_empty()
    );
    // One that was made directly is not waited for: it would not be back.
    ran(&mut pgdyno(&["store", "init", &pooled.direct.url])).expect(0, &[]);
    let run = ["run", "-q", path, "-t", "1", "--store", &pooled.url];
    pooled.pgdyno(&run).expect(1, &[needs]);
}

/// Measured: pgpool-II 4.3 begins a transaction for a write in the extended protocol, and leaves it open.
#[test]
fn a_transaction_that_a_pooler_leaves_open_is_named() {
    let name = "a_transaction_that_a_pooler_leaves_open_is_named";
    let sessions = 8;
    let start = |port| Middlebox::pgpool(port, sessions);
    let Some(pooled) = Pooled::behind(name, sessions, start) else {
        return;
    };
    pooled.direct.sql("CREATE TABLE written (n int)");
    let script = pooled.script("\\set n random(1, 9)\nINSERT INTO written VALUES (:n);\n");
    let path = script.path().to_str().expect("a plain path");
    let run = |mode: &str| pooled.pgdyno(&["run", "-q", "-M", mode, "-c", "1", "-t", "5", path]);
    run("extended").expect(1, &["or use -M simple if a pooler (pgpool-II) began it"]);
    run("simple").expect(0, &[]);
    assert_eq!(pooled.direct.value("SELECT count(*) FROM written"), "5");
    ran(&mut pgdyno(&["store", "init", &pooled.url]))
        .expect(1, &["a pooler did not commit them: name the server itself"]);
}

/// pgbench keeps its name for statements, and its way of going on; a native run's are its own.
#[test]
fn a_statement_of_pgbenchs_name_is_not_executed_for_another() {
    let name = "a_statement_of_pgbenchs_name_is_not_executed_for_another";
    let settings = ["pool_mode=session", "default_pool_size=1"];
    let server = postgres_with(&[]);
    let pooler = match Middlebox::pgbouncer(
        server.address().port,
        &[&settings[..], &["server_reset_query="]].concat(),
    ) {
        Ok(pooler) => pooler,
        Err(why) => pgdyno_testkit::skip!(name, why),
    };
    let direct = Database::on(&server, "named");
    direct.sql("CREATE TABLE counted (n int); INSERT INTO counted VALUES (0)");
    let url = pooler.url("named");
    let writes = tempfile::Builder::new()
        .suffix(".sql")
        .tempfile()
        .expect("a file");
    std::fs::write(writes.path(), "UPDATE counted SET n = n + 1;\n").expect("written");
    let reads = tempfile::Builder::new()
        .suffix(".sql")
        .tempfile()
        .expect("a file");
    std::fs::write(reads.path(), "SELECT n FROM counted;\n").expect("written");
    let path = |file: &tempfile::NamedTempFile| file.path().to_str().expect("plain").to_owned();
    // The session keeps what the first has prepared: nothing resets it.
    let stock = [
        "pgbench",
        "-n",
        "-M",
        "prepared",
        "-t",
        "3",
        "-f",
        &path(&writes),
        &url,
    ];
    ran(&mut pgdyno(&stock)).expect(0, &[]);
    assert_eq!(direct.value("SELECT n FROM counted"), "3");
    let native = [
        "run",
        "-q",
        "--observe",
        "none",
        "-M",
        "prepared",
        "-c",
        "1",
        "-t",
        "5",
        &path(&reads),
        "--url",
        &url,
    ];
    ran(&mut pgdyno(&native)).expect(0, &[]);
    assert_eq!(direct.value("SELECT n FROM counted"), "3");
}

#[test]
fn an_interrupted_run_leaves_nothing_running() {
    let name = "an_interrupted_run_leaves_nothing_running";
    let Some(pooled) = Pooled::new(name) else {
        return;
    };
    pooled.interrupted_run();
    assert_eq!(pooled.running(), [""; 0]);
}

#[test]
fn a_statement_that_takes_too_long_is_cancelled() {
    let name = "a_statement_that_takes_too_long_is_cancelled";
    let Some(pooled) = Pooled::new(name) else {
        return;
    };
    let script = pooled.script("SELECT pg_sleep(600);\n");
    let path = script.path().to_str().expect("a plain path");
    let args = [
        "run",
        "-q",
        path,
        "-c",
        "2",
        "-t",
        "1",
        "--statement-timeout",
        "1s",
        "--json",
    ];
    let ran = pooled.pgdyno(&args);
    let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(document["measured"]["committed"], 0, "{document}");
    assert_eq!(pooled.running(), [""; 0]);
}
