//! Command lines that people have published, word for word but for the host, the database and the
//! values of numbers, on a PostgreSQL whose transactions are serializable: real serialization
//! failures, told, retried and counted.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use pgdyno_server::Server;
use pgdyno_testkit::{postgres_with, stock_pgbench};

use crate::child::Running;
use crate::mask::{self, Mask};
use crate::programs::{self, under_test, under_test_as};
use crate::support::{Database, Ran};
use crate::{cases::needs_stock, compare, diff};

/// The transaction of the documentation of pgbench, as a script of one's own.
const TPCB: &str = "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

const SIMPLE_UPDATE: &str = " -- simple-update
 \\set aid random(1, 100000 * :scale)
 \\set bid random(1, 1 * :scale)
 \\set tid random(1, 10 * :scale)
 \\set delta random(-5000, 5000)
 BEGIN;
   UPDATE pgbench_accounts SET abalance = abalance + :delta
    WHERE aid = :aid;
   SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
     VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
 END;
";

const CALL: &str = " -- simple-update
 \\set aid random(1, 100000 * :scale)
 \\set bid random(1, 1 * :scale)
 \\set tid random(1, 10 * :scale)
 \\set delta random(-5000, 5000)
  call SIMPLE_UPDATE_RETRY(:aid, :bid, :tid, :delta);
  SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
";

/// Tries again in the server what the client would have to.
const PROCEDURE: &str = "
    CREATE PROCEDURE SIMPLE_UPDATE_RETRY(p_aid int, p_bid int, p_tid int, p_delta int) LANGUAGE plpgsql AS $$
    BEGIN
        FOR tried IN 1 .. 10 LOOP
            BEGIN
                UPDATE pgbench_accounts SET abalance = abalance + p_delta WHERE aid = p_aid;
                INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
                    VALUES (p_tid, p_bid, p_aid, p_delta, CURRENT_TIMESTAMP);
                EXIT;
            EXCEPTION WHEN serialization_failure THEN
                IF tried = 10 THEN RAISE; END IF;
            END;
        END LOOP;
    END $$";

/// What counts and times leave of a report or of complaints: which lines, in which form.
const SHAPE: Mask = Mask {
    counts: true,
    repeats: true,
    order: false,
    seed: false,
};

fn server() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| postgres_with(&["default_transaction_isolation=serializable"]))
}

/// Runs a command line as a shell would, in a directory with the scripts. HOST, PORT and DB stand
/// for what must be another's.
fn run(program: &Path, line: &str, database: &str) -> Ran {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in [
        ("tpcb-original.sql", TPCB),
        ("simple-update.sql", SIMPLE_UPDATE),
        ("call.sql", CALL),
    ] {
        std::fs::write(dir.path().join(name), text).expect("a new directory");
    }
    let address = server().address();
    let line = line
        .replace("HOST", &address.socket_dir.display().to_string())
        .replace("PORT", &address.port.to_string())
        .replace("DB", database);
    let mut command = programs::command(program, dir.path());
    Running::start(command.args(compare::words(&line))).ended()
}

/// The number that follows `words` in the report.
#[track_caller]
fn number(ran: &Ran, words: &str) -> u64 {
    let line = ran.stdout.lines().find_map(|line| line.strip_prefix(words));
    let line = line.unwrap_or_else(|| panic!("no \"{words}\" in {}", shown(ran)));
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    line[..digits].parse().expect("digits")
}

/// The lines of standard error with every number masked, each once. Threads of stock pgbench mix
/// what they print: the name of the program, and what it has to say.
fn complaints(ran: &Ran) -> BTreeSet<String> {
    let masked = |line: &str| {
        let mut text = String::new();
        for c in line.chars() {
            match c {
                '0'..='9' if text.ends_with('N') => {}
                '0'..='9' => text.push('N'),
                c => text.push(c),
            }
        }
        text
    };
    let text = ran.stderr.replace("pgbench:", "");
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with("progress: "));
    lines.map(masked).collect()
}

/// A run, without most of what it said of each error.
fn shown(ran: &Ran) -> String {
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let last = lines[lines.len().saturating_sub(20)..].join("\n");
    format!(
        "{}… {} lines of which the last are\n{last}",
        ran.stdout,
        lines.len()
    )
}

/// What a transaction that cannot be serialized is told, beside the reason. Which of these come is
/// up to chance.
const SERIALIZATION: [&str; 6] = [
    "client N got an error in command N (SQL) of script N; ERROR:  could not serialize access due to concurrent update",
    "client N got an error in command N (SQL) of script N; ERROR:  could not serialize access due to read/write dependencies among transactions",
    "HINT:  The transaction might succeed if retried.",
    "client N ends the failed transaction (try N/N)",
    "client N repeats the transaction after the error (try N/N)",
    "",
];

/// Runs a benchmark of the script with both programs: what both report has one shape, and each
/// report is true of its database.
fn compare_runs(line: &str, database: &str) {
    let tables = Database { url: url(database) };
    let stock = stock_pgbench().expect("asked for before");
    let mut shapes = Vec::new();
    for (program, tries) in [(&stock, 3), (&under_test(), 1)] {
        let mut before = count(&tables);
        let mut ran = run(program, line, database).expect(0, &[]);
        for _ in 1..tries {
            // Stock writes its progress piece by piece, and another thread may write between them.
            if !ran.stderr.lines().any(|line| line.starts_with(", ")) {
                break;
            }
            before = count(&tables);
            ran = run(program, line, database).expect(0, &[]);
        }
        let processed = number(&ran, "number of transactions actually processed: ");
        assert_eq!(
            count(&tables) - before,
            processed,
            "{line}: {}",
            shown(&ran)
        );
        assert!(processed > 0, "{line}: {}", shown(&ran));
        let failed = number(&ran, "number of failed transactions: ");
        if line.contains("--failures-detailed") {
            assert_eq!(number(&ran, "number of serialization failures: "), failed);
            assert_eq!(number(&ran, "number of deadlock failures: "), 0);
        }
        let mut retries = 0;
        if line.contains("--max-tries=10") {
            retries = number(&ran, "total number of retries: ");
            assert!(
                retries > 0,
                "{line}: eight clients share a branch\n{}",
                shown(&ran)
            );
            let retried = number(&ran, "number of transactions retried: ");
            assert!(0 < retried && retried <= retries, "{line}: {}", shown(&ran));
        } else {
            assert!(
                failed > 0,
                "{line}: eight clients share a branch\n{}",
                shown(&ran)
            );
        }
        if line.contains("--verbose-errors") {
            // Each error is told, and counted once.
            let errors = ran.stderr.matches(" got an error in command ").count();
            let counted = failed + retries;
            // The last transaction of each client is not counted when its end comes too late.
            let tries = if retries > 0 { 10 } else { 1 };
            let errors = errors as u64;
            assert!(
                counted <= errors && errors <= counted + 8 * tries,
                "{line}: {errors} errors told, {counted} counted\n{}",
                shown(&ran)
            );
            let complaints = complaints(&ran);
            assert!(complaints.contains(SERIALIZATION[0]), "{complaints:#?}");
            let is_known = |line: &&String| {
                // The server has a dozen reasons.
                SERIALIZATION.contains(&line.as_str()) || line.starts_with("DETAIL:  Reason code: ")
            };
            let unknown: Vec<_> = complaints.iter().filter(|line| !is_known(line)).collect();
            assert!(unknown.is_empty(), "{line}: {unknown:#?}");
        } else {
            assert!(complaints(&ran).is_empty(), "{line}: {}", ran.stderr);
        }
        let progress = ran.stderr.replace("pgbench:", "");
        let progress = progress.lines().map(str::trim);
        let progress = progress.filter(|line| line.starts_with("progress: "));
        let progress: String = progress.map(|line| format!("{line}\n")).collect();
        shapes.push(mask::text(&progress, SHAPE) + &mask::text(&ran.stdout, SHAPE));
    }
    let lines = diff::lines(&shapes[0], &shapes[1]);
    assert!(lines.is_empty(), "pgbench {line}\n{}", lines.join("\n"));
    // All or nothing of a transaction.
    let sums = tables.value(
        "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = sum(delta)
            AND ((SELECT sum(tbalance) FROM pgbench_tellers) IN (0, sum(delta)))
            AND ((SELECT sum(bbalance) FROM pgbench_branches) IN (0, sum(delta))) FROM pgbench_history",
    );
    assert_eq!(sums, "t", "{line}");
}

fn url(database: &str) -> String {
    let url = server().address().url();
    url.replace("@/postgres?", &format!("@/{database}?"))
}

fn count(tables: &Database) -> u64 {
    let rows = tables.value("SELECT count(*) FROM pgbench_history");
    rows.parse().expect("a count")
}

/// The options of the seed's commands that say where and how much.
const WHERE: &str = "--no-vacuum --file=tpcb-original.sql@1 --client=8 --jobs=8 --username=postgres --port=PORT -T 2 -P 1";

#[test]
fn a_pgbench_series_on_a_serializable_database() {
    needs_stock!("a_pgbench_series_on_a_serializable_database");
    Database::on(server(), "example");
    for steps in ["", "--init-steps=dtGpf "] {
        let line = format!(
            "--initialize {steps}--host=HOST --username=postgres --port=PORT --no-vacuum --scale=1 --foreign-keys DB"
        );
        let steps = match steps {
            "" => ["generating data (client-side)...", "client-side generate"],
            _ => ["generating data (server-side)...", "server-side generate"],
        };
        run(&under_test(), &line, "example").expect(0, &steps);
        let again = run(&under_test(), &line, "example").expect(0, &["creating foreign keys..."]);
        let theirs = run(&stock_pgbench().expect("asked for"), &line, "example");
        let shape = |ran: &Ran| mask::text(&ran.stderr, Mask::default());
        assert_eq!(shape(&again), shape(&theirs), "{line}");
    }
    for more in [
        "",
        "--failures-detailed ",
        "--failures-detailed --verbose-errors ",
        "--failures-detailed --max-tries=10 ",
        "--failures-detailed --max-tries=10 --protocol=prepared ",
        "--failures-detailed --verbose-errors --max-tries=10 --protocol=prepared ",
    ] {
        compare_runs(&format!("--host=HOST {WHERE} {more}DB"), "example");
    }
}

#[test]
fn a_series_for_retries_with_pgbench() {
    needs_stock!("a_series_for_retries_with_pgbench");
    let tables = Database::on(server(), "franck");
    let line = "--initialize --init-steps=dtgvpf --host HOST -p PORT -U postgres DB";
    run(&under_test(), line, "franck").expect(0, &["foreign keys"]);
    tables.sql(PROCEDURE);
    for line in [
        "--no-vacuum --protocol=prepared --file=call.sql --time 1 --jobs=10 --client=10 -h HOST -p PORT -U postgres DB",
        "-r --no-vacuum --protocol=prepared --builtin=simple-update --time 1 --jobs=10 --client=10 -h HOST -p PORT -U postgres DB",
        "-r --max-tries=10 --no-vacuum --protocol=prepared --file=simple-update.sql --time 1 --jobs=10 --client=10 -h HOST -p PORT -U postgres DB",
    ] {
        let stock = stock_pgbench().expect("asked for before");
        let shapes = [&stock, &under_test()].map(|program| {
            let before = count(&tables);
            let ran = run(program, line, "franck").expect(0, &[]);
            let processed = number(&ran, "number of transactions actually processed: ");
            assert_eq!(
                count(&tables) - before,
                processed,
                "{line}: {}",
                shown(&ran)
            );
            // Whether there are failures is up to chance, and the report says so.
            let failures = number(&ran, "number of failed transactions: ") > 0;
            let including = " (including failures)";
            assert_eq!(
                ran.stdout.contains(including),
                failures,
                "{line}: {}",
                shown(&ran)
            );
            mask::text(&ran.stdout.replace(including, ""), SHAPE)
        });
        let lines = diff::lines(&shapes[0], &shapes[1]);
        assert!(lines.is_empty(), "pgbench {line}\n{}", lines.join("\n"));
    }
}

#[test]
fn a_series_for_retries_with_ysql_bench() {
    if std::env::var_os("PGDYNO_PGBENCH_UNDER_TEST").is_some_and(|v| !v.is_empty()) {
        pgdyno_testkit::skip!(
            "a_series_for_retries_with_ysql_bench",
            "another program stands in for pgdyno, and ysql_bench is pgdyno's alone"
        );
    }
    let ysql_bench = under_test_as("ysql_bench");
    let tables = Database::on(server(), "yugabyte");
    let history = |table: &str| -> u64 {
        let rows = tables.value(&format!("SELECT count(*) FROM {table}"));
        rows.parse().expect("a count")
    };
    let said = run(
        &ysql_bench,
        "--initialize --host HOST -p PORT -U postgres DB",
        "yugabyte",
    );
    let said = said.expect(0, &[]);
    assert!(!said.stderr.contains("vacuum"), "{said:#?}");
    let keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND conrelid::regclass::text LIKE 'ysql_bench_%'";
    assert_eq!(tables.value(keys), "3");
    assert_eq!(
        tables.value("SELECT count(*) FROM ysql_bench_accounts"),
        "100000"
    );

    let builtin = "-r --max-tries=10 --no-vacuum --protocol=prepared --builtin=simple-update --time 1 --jobs=10 --client=10 -h HOST -p PORT -U postgres DB";
    let ran = run(&ysql_bench, builtin, "yugabyte").expect(0, &["maximum number of tries: 10"]);
    let processed = number(&ran, "number of transactions actually processed: ");
    assert!(processed > 0, "{}", shown(&ran));
    assert_eq!(history("ysql_bench_history"), processed, "{}", shown(&ran));

    // The series' own script has pgbench's names.
    tables.sql(
        "ALTER TABLE ysql_bench_accounts RENAME TO pgbench_accounts;
         ALTER TABLE ysql_bench_history RENAME TO pgbench_history;
         TRUNCATE pgbench_history",
    );
    let file = "-r --max-tries=10 --no-vacuum --protocol=prepared --file=simple-update.sql --time 1 --jobs=10 --client=10 -h HOST -p PORT -U postgres DB";
    let ran = run(&ysql_bench, file, "yugabyte").expect(0, &["maximum number of tries: 10"]);
    let processed = number(&ran, "number of transactions actually processed: ");
    assert!(processed > 0, "{}", shown(&ran));
    assert_eq!(history("pgbench_history"), processed, "{}", shown(&ran));
    // Failures and retries of each statement.
    let update = ran
        .stdout
        .lines()
        .find(|line| line.contains("UPDATE pgbench_accounts"));
    let columns = update.map(|line| line.split_whitespace().take(3).count());
    assert_eq!(columns, Some(3), "{}", shown(&ran));
}
