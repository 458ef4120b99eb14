//! pgbench's and ysql_bench's lines, beside stock pgbench, on a PostgreSQL whose transactions are
//! serializable: real serialization failures, printed, retried and counted.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use pgdyno_server::Server;
use pgdyno_testkit::postgres_with;

use crate::pgbench::diff;
use crate::pgbench::mask::{self, Mask};
use crate::seeds::shell::Shell;
use crate::seeds::table::From;
use crate::seeds::table::{self, Line, Tool};
use crate::support::{Database, Ran};

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

/// A folder with the articles' scripts, and their variables.
fn with_scripts(mut shell: Shell) -> Shell {
    for (name, text) in [
        ("tpcb-original.sql", TPCB),
        ("simple-update.sql", SIMPLE_UPDATE),
        ("call.sql", CALL),
    ] {
        shell.write(name, text);
    }
    shell.set("SCALE", "1");
    shell
}

/// Skips the calling test, whose name it is given, when there is no stock pgbench.
macro_rules! needs_stock {
    ($name:literal) => {
        if pgdyno_testkit::stock_pgbench().is_none() {
            pgdyno_testkit::skip!($name, "no stock pgbench 18");
        }
    };
}
pub(crate) use needs_stock;

/// Both programs, in a database.
fn shells(database: &str) -> [Shell; 2] {
    [
        Shell::theirs(server(), database),
        Shell::ours(server(), database),
    ]
    .map(with_scripts)
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

/// The error of a transaction that cannot be serialized, beside the reason. Which of these come is
/// up to chance.
const SERIALIZATION: [&str; 6] = [
    "client N got an error in command N (SQL) of script N; ERROR:  could not serialize access due to concurrent update",
    "client N got an error in command N (SQL) of script N; ERROR:  could not serialize access due to read/write dependencies among transactions",
    "HINT:  The transaction might succeed if retried.",
    "client N ends the failed transaction (try N/N)",
    "client N repeats the transaction after the error (try N/N)",
    "",
];

/// Runs a line of the script with both programs: what both report has one shape, and each report is
/// true of its database.
fn compare_runs(line: &Line, shells: &[Shell; 2], database: &str) {
    let tables = Database { url: url(database) };
    let is_given = |option: &str| line.typed.contains(option);
    let line_said = line.typed;
    let mut shapes = Vec::new();
    for (shell, tries) in shells.iter().zip([3, 1]) {
        let mut before = count(&tables);
        let mut ran = shell.run(line).expect(0, &[]);
        for _ in 1..tries {
            // Stock writes its progress piece by piece, and another thread may write between them.
            if !ran.stderr.lines().any(|line| line.starts_with(", ")) {
                break;
            }
            before = count(&tables);
            ran = shell.run(line).expect(0, &[]);
        }
        let processed = number(&ran, "number of transactions actually processed: ");
        assert_eq!(
            count(&tables) - before,
            processed,
            "{line_said}: {}",
            shown(&ran)
        );
        assert!(processed > 0, "{line_said}: {}", shown(&ran));
        let failed = number(&ran, "number of failed transactions: ");
        if is_given("--failures-detailed") {
            assert_eq!(number(&ran, "number of serialization failures: "), failed);
            assert_eq!(number(&ran, "number of deadlock failures: "), 0);
        }
        let mut retries = 0;
        if is_given("--max-tries=10") {
            retries = number(&ran, "total number of retries: ");
            assert!(
                retries > 0,
                "{line_said}: eight clients share a branch\n{}",
                shown(&ran)
            );
            let retried = number(&ran, "number of transactions retried: ");
            assert!(
                0 < retried && retried <= retries,
                "{line_said}: {}",
                shown(&ran)
            );
        } else {
            assert!(
                failed > 0,
                "{line_said}: eight clients share a branch\n{}",
                shown(&ran)
            );
        }
        if is_given("--verbose-errors") {
            // Each error is reported, and counted once.
            let errors = ran.stderr.matches(" got an error in command ").count();
            let counted = failed + retries;
            // The last transaction of each client is not counted when its end comes too late.
            let tries = if retries > 0 { 10 } else { 1 };
            let errors = errors as u64;
            assert!(
                counted <= errors && errors <= counted + 8 * tries,
                "{line_said}: {errors} errors printed, {counted} counted\n{}",
                shown(&ran)
            );
            let complaints = complaints(&ran);
            assert!(complaints.contains(SERIALIZATION[0]), "{complaints:#?}");
            let is_known = |line: &&String| {
                // The server has a dozen reasons.
                SERIALIZATION.contains(&line.as_str()) || line.starts_with("DETAIL:  Reason code: ")
            };
            let unknown: Vec<_> = complaints.iter().filter(|line| !is_known(line)).collect();
            assert!(unknown.is_empty(), "{line_said}: {unknown:#?}");
        } else {
            assert!(complaints(&ran).is_empty(), "{line_said}: {}", ran.stderr);
        }
        let progress = ran.stderr.replace("pgbench:", "");
        let progress = progress.lines().map(str::trim);
        let progress = progress.filter(|line| line.starts_with("progress: "));
        let progress: String = progress.map(|line| format!("{line}\n")).collect();
        shapes.push(mask::text(&progress, SHAPE) + &mask::text(&ran.stdout, SHAPE));
    }
    let lines = diff::lines(&shapes[0], &shapes[1]);
    assert!(lines.is_empty(), "{line_said}\n{}", lines.join("\n"));
    // All or nothing of a transaction.
    let sums = tables.value(
        "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = sum(delta)
            AND ((SELECT sum(tbalance) FROM pgbench_tellers) IN (0, sum(delta)))
            AND ((SELECT sum(bbalance) FROM pgbench_branches) IN (0, sum(delta))) FROM pgbench_history",
    );
    assert_eq!(sums, "t", "{line_said}");
}

fn url(database: &str) -> String {
    let url = server().address().url();
    url.replace("@/postgres?", &format!("@/{database}?"))
}

fn count(tables: &Database) -> u64 {
    let rows = tables.value("SELECT count(*) FROM pgbench_history");
    rows.parse().expect("a count")
}

/// Lines of the series that have all options of the others, which are in the long test.
#[test]
fn seed_0_a_pgbench_series_on_a_serializable_database() {
    needs_stock!("seed_0_a_pgbench_series_on_a_serializable_database");
    seed_0("example", |line| {
        ["--version", "--initialize", "--verbose-errors", "prepared"]
            .iter()
            .any(|option| line.typed.contains(option))
    });
}

#[test]
#[ignore = "each of its lines for two seconds by both programs: make test-long PART=seeds"]
fn seed_0_the_whole_series() {
    needs_stock!("seed_0_the_whole_series");
    seed_0("whole_series", |_| true);
}

fn seed_0(database: &str, takes: fn(&Line) -> bool) {
    Database::on(server(), database);
    let shells = shells(database);
    for line in table::of(Tool::Pgbench).filter(|line| line.from == From::Seed(0) && takes(line)) {
        if line.typed.contains("--version") {
            let [theirs, ours] = shells
                .each_ref()
                .map(|shell| shell.run(line).expect(0, &[]));
            assert_eq!(ours.stdout, theirs.stdout);
        } else if line.typed.contains("--initialize") {
            compare_loads(line, &shells);
        } else {
            compare_runs(line, &shells, database);
        }
    }
}

/// A load says what stock pgbench's does; the tables are there from the first one on, so that both drop
/// some.
#[track_caller]
fn compare_loads(line: &Line, [theirs, ours]: &[Shell; 2]) {
    ours.run(line).expect(0, &[]);
    let shape = |shell: &Shell| {
        let ran = shell.run(line).expect(0, &[]);
        // bash says how long it took.
        let of_time = |line: &&str| {
            !["real\t", "user\t", "sys\t"]
                .iter()
                .any(|of| line.starts_with(of))
        };
        let said = ran.stderr.lines().filter(of_time);
        let said: String = said.map(|line| format!("{line}\n")).collect();
        mask::text(&said, Mask::default()) + &ran.stdout
    };
    assert_eq!(shape(ours), shape(theirs), "{}", line.typed);
}

#[test]
fn seed_2_a_series_for_retries_with_pgbench() {
    needs_stock!("seed_2_a_series_for_retries_with_pgbench");
    let franck = Database::on(server(), "franck");
    let in_franck = shells("franck");
    // Two lines name no database: that of the user's name then.
    let mut in_postgres = shells("postgres");
    in_postgres
        .iter_mut()
        .for_each(|shell| shell.set("PGDATABASE", ""));
    in_franck[0].must("pgbench -i -q");
    franck.sql(PROCEDURE);
    for line in table::of(Tool::Pgbench).filter(|line| line.from == From::Seed(2)) {
        let (shells, database) = if line.typed.contains("franck") {
            (&in_franck, "franck")
        } else {
            (&in_postgres, "postgres")
        };
        if line.typed.contains("--initialize") {
            compare_loads(line, shells)
        } else {
            compare_reports(
                line,
                shells,
                &Database { url: url(database) },
                "pgbench_history",
            )
        }
    }
}

#[test]
fn seed_2_a_series_for_retries_with_ysql_bench() {
    needs_stock!("seed_2_a_series_for_retries_with_ysql_bench");
    // A server of its own: the article's other lines use the same database's name.
    let server = postgres_with(&["default_transaction_isolation=serializable"]);
    let tables = Database::on(&server, "franck");
    let shells = [
        Shell::theirs(&server, "franck"),
        Shell::ours(&server, "franck"),
    ]
    .map(with_scripts);
    let [theirs, ours] = &shells;
    theirs.must("pgbench -i -q");
    let loaded = ours.must("ysql_bench --initialize");
    assert!(!loaded.stderr.contains("vacuum"), "{loaded:#?}");
    let keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND conrelid::regclass::text LIKE 'ysql_bench_%'";
    assert_eq!(tables.value(keys), "3");
    for line in table::of(Tool::YsqlBench) {
        // The script names pgbench's tables.
        let history = if line.typed.contains("--builtin") {
            "ysql_bench_history"
        } else {
            "pgbench_history"
        };
        compare_reports(line, &shells, &tables, history);
    }
}

#[test]
fn seed_3_a_default_load() {
    needs_stock!("seed_3_a_default_load");
    Database::on(server(), "pgbench");
    let shells = shells("pgbench");
    for line in table::of(Tool::Pgbench).filter(|line| line.from == From::Seed(3)) {
        compare_loads(line, &shells);
    }
}

/// Runs a line with both programs: reports have one shape, and ours is true of its database, where
/// transactions leave their rows in `history`.
#[track_caller]
fn compare_reports(line: &Line, [theirs, ours]: &[Shell; 2], tables: &Database, history: &str) {
    let rows = || -> u64 {
        let rows = tables.value(&format!("SELECT count(*) FROM {history}"));
        rows.parse().expect("a count")
    };
    let shape = |ran: &Ran| {
        // Whether there are failures is up to chance, and the report says so.
        let failures = number(ran, "number of failed transactions: ") > 0;
        let including = " (including failures)";
        let said = ran.stdout.contains(including);
        assert_eq!(said, failures, "{}: {}", line.typed, shown(ran));
        let text = ran
            .stdout
            .replace(including, "")
            .replace("ysql_bench", "pgbench");
        mask::text(&text, SHAPE)
    };
    let stock = theirs.run(line).expect(0, &[]);
    let before = rows();
    let ran = ours.run(line).expect(0, &[]);
    let processed = number(&ran, "number of transactions actually processed: ");
    assert!(processed > 0, "{}", shown(&ran));
    assert_eq!(
        rows() - before,
        processed,
        "{}: {}",
        line.typed,
        shown(&ran)
    );
    let lines = diff::lines(&shape(&stock), &shape(&ran));
    assert!(lines.is_empty(), "{}\n{}", line.typed, lines.join("\n"));
}
