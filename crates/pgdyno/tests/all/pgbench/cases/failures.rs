//! Serialization and deadlock failures, which a function raises on schedule so that each run meets
//! the same: tries, retries, what is said of them and how they are counted.

use super::needs_stock;
use crate::pgbench::compare::{Case, Setting, case};

/// `trouble(n)` fails n times, then succeeds, then fails again.
const TROUBLE: &str = "
    CREATE SEQUENCE calls;
    CREATE FUNCTION trouble(times int, code text DEFAULT '40001') RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        IF nextval('calls') % (times + 1) <> 0 THEN
            RAISE EXCEPTION 'trouble' USING ERRCODE = code, HINT = 'Try again.';
        END IF;
        RETURN times;
    END $$;
    CREATE TABLE done (n int);
    CREATE FUNCTION trouble_at_end() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM trouble(1); RETURN NULL; END $$;
    CREATE TABLE late (n int);
    CREATE CONSTRAINT TRIGGER late AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION trouble_at_end();
";
const AGAIN: &str = "ALTER SEQUENCE calls RESTART; TRUNCATE done, late";

const FILES: [(&str, &str); 12] = [
    ("plain.sql", "SELECT 1;\nSELECT trouble(2);\nSELECT 3;\n"),
    (
        "block.sql",
        "\\set n random(1, 1000000)\nBEGIN;\nINSERT INTO done VALUES (:n);\nSELECT trouble(2);\nEND;\n",
    ),
    (
        "deadlock.sql",
        "BEGIN;\nSELECT trouble(1, '40P01');\nEND;\n",
    ),
    ("commit.sql", "BEGIN;\nINSERT INTO late VALUES (1);\nEND;\n"),
    ("good.sql", "SELECT 1;\n"),
    (
        "pipeline.sql",
        "\\startpipeline\nBEGIN;\nINSERT INTO done VALUES (1);\nSELECT trouble(2);\nSELECT 5;\nEND;\n\\endpipeline\n",
    ),
    ("words.sql", "SELECT 1\\; SELECT trouble(2)\\; SELECT 3;\n"),
    ("store.sql", "SELECT trouble(2) AS a \\gset\nSELECT :a;\n"),
    ("other.sql", "SELECT trouble(1, '22012');\n"),
    (
        "abort.sql",
        "SELECT trouble(1);\nSELECT trouble(1, '22012');\n",
    ),
    ("division.sql", "SELECT trouble(1);\n\\set x 1 / 0\n"),
    ("open.sql", "SELECT trouble(1);\nBEGIN;\n"),
];

/// What both programs must leave behind.
const LEFT: &str = "SELECT count(*), coalesce(sum(n), 0), (SELECT count(*) FROM late),
                           (SELECT last_value FROM calls) FROM done";

fn compare(database: &str, lines: &[&str]) {
    let retried = |line: &&str| case(*line).before(AGAIN).after(LEFT);
    let cases: Vec<Case> = lines.iter().map(retried).collect();
    let setting = Setting::new(pgdyno_testkit::postgres(), database, &FILES);
    setting.sql(TROUBLE).compare(&cases);
}

#[test]
fn failures_are_printed_and_counted() {
    needs_stock!("failures_are_printed_and_counted");
    compare(
        "failures_told",
        &[
            "-n -t 6 -f plain.sql",
            "-n -t 6 -f plain.sql -r",
            "-n -t 6 -f plain.sql --verbose-errors",
            "-n -t 6 -f plain.sql --verbose-errors --failures-detailed -r",
            "-n -t 6 -f block.sql --verbose-errors --random-seed 5",
            "-n -t 6 -f deadlock.sql --verbose-errors --failures-detailed -r",
            "-n -t 6 -f commit.sql --verbose-errors --failures-detailed -r",
            "-n -t 6 -f plain.sql --verbose-errors --failures-detailed -r -M extended",
            "-n -t 6 -f plain.sql --verbose-errors --failures-detailed -r -M prepared",
            "-n -t 6 -f block.sql --verbose-errors --failures-detailed -r -M prepared --random-seed 5",
            "-n -t 6 -f pipeline.sql --verbose-errors -r -M extended",
            "-n -t 6 -f pipeline.sql --verbose-errors -r -M prepared",
            "-n -t 6 -f words.sql --verbose-errors -r",
            "-n -t 6 -f store.sql --verbose-errors -r",
            "-n -t 6 -f plain.sql -C --verbose-errors",
            "-n -t 6 -f block.sql -C --verbose-errors --random-seed 5",
            "-n -t 6 -f plain.sql -P 100",
            "-n -t 6 -f plain.sql -R 1000",
            "-n -t 1 -f plain.sql",
            "-n -t 1 -f plain.sql -R 1000",
            "-n -t 1 -f plain.sql -C",
            "-n -t 2 -f plain.sql -L 5000 -P 100 -r",
            "-n -t 20 -f plain.sql -f deadlock.sql@2 -f good.sql --failures-detailed -r --random-seed 5",
            "-n -t 6 -f other.sql --verbose-errors --failures-detailed -r",
            "-n -t 6 -f plain.sql --exit-on-abort",
        ],
    );
}

#[test]
fn failures_are_retried() {
    needs_stock!("failures_are_retried");
    compare(
        "failures_retried",
        &[
            "-n -t 4 -f plain.sql --max-tries 3",
            "-n -t 4 -f plain.sql --max-tries 2",
            "-n -t 4 -f plain.sql --max-tries 10 -r",
            "-n -t 4 -f plain.sql --max-tries 2 -r --failures-detailed",
            "-n -t 4 -f plain.sql --max-tries 2 --verbose-errors",
            "-n -t 4 -f block.sql --max-tries 3 --verbose-errors --random-seed 5",
            "-n -t 4 -f block.sql --max-tries 2 --verbose-errors -r --random-seed 5",
            "-n -t 4 -f block.sql --max-tries 3 --verbose-errors -r -M extended --random-seed 5",
            "-n -t 4 -f block.sql --max-tries 3 --verbose-errors -r -M prepared --random-seed 5",
            "-n -t 4 -f deadlock.sql --max-tries 2 --verbose-errors --failures-detailed -r",
            "-n -t 4 -f commit.sql --max-tries 2 --verbose-errors -r",
            "-n -t 4 -f commit.sql --max-tries 2 --verbose-errors -r -M prepared",
            "-n -t 4 -f pipeline.sql --max-tries 3 --verbose-errors -r -M extended",
            "-n -t 4 -f pipeline.sql --max-tries 2 --verbose-errors -r -M prepared",
            "-n -t 4 -f words.sql --max-tries 3 --verbose-errors -r",
            "-n -t 4 -f store.sql --max-tries 3 --verbose-errors -r",
            "-n -t 4 -f plain.sql --max-tries 0 -L 5000 --verbose-errors -r",
            "-n -t 4 -f plain.sql --max-tries 5 -L 5000 --verbose-errors -r",
            "-n -t 4 -f plain.sql --max-tries 3 -C -r",
            "-n -t 4 -f plain.sql --max-tries 3 -P 100",
            "-n -t 4 -f plain.sql --max-tries 3 -R 1000 -L 5000",
            "-n -t 20 -f plain.sql -f deadlock.sql@2 -f good.sql --max-tries 2 --failures-detailed -r --random-seed 5",
            "-n -t 20 -f plain.sql -f good.sql --max-tries 4 --random-seed 5 -P 100",
            "-n -t 6 -f other.sql --max-tries 3 --verbose-errors --failures-detailed -r",
            // A client that ends takes the tries of its transaction with it.
            "-n -t 6 -f abort.sql --max-tries 3 --verbose-errors -r",
            "-n -t 6 -f division.sql --max-tries 3 --verbose-errors -r",
            "-n -t 6 -f open.sql --max-tries 3 --verbose-errors -r",
            "-n -t 6 -f good.sql -f abort.sql --max-tries 3 -r --random-seed 5",
        ],
    );
    let setting = Setting::new(pgdyno_testkit::postgres(), "failures_debug", &FILES);
    let cases = [
        case("-n -t 1 -f block.sql --max-tries 2 --debug --random-seed 5")
            .repeats()
            .before(AGAIN),
        case("-n -T 1 -f plain.sql --max-tries 0 --failures-detailed -r")
            .counts()
            .before(AGAIN),
    ];
    setting.sql(TROUBLE).compare(&cases);
}

/// Behind a pooler that shares sessions another client has prepared the statement: here the session itself has.
#[test]
fn a_statement_that_cannot_be_prepared_is_executed_all_the_same() {
    needs_stock!("a_statement_that_cannot_be_prepared_is_executed_all_the_same");
    let setting = Setting::new(pgdyno_testkit::postgres(), "failures_prepared", &FILES);
    setting
        .sql(
            "CREATE FUNCTION prepares() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
                 EXECUTE 'PREPARE \"P_0\" AS SELECT 1';
             END $$;
             CREATE EVENT TRIGGER prepares ON login EXECUTE FUNCTION prepares();
             ALTER EVENT TRIGGER prepares ENABLE ALWAYS",
        )
        .compare(&[
            case("-n -t 3 -M prepared -f good.sql"),
            case("-n -t 3 -M prepared -C -f good.sql"),
        ]);
}
