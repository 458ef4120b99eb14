//! The forms of tpcb and simple-update: the same transaction rewritten, with the same result.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::support::Database;

const FORMS: [&str; 6] = [
    "statements",
    "batch",
    "cte",
    "pipeline",
    "for-update",
    "procedure",
];

const RESET: &str = "UPDATE pgbench_accounts SET abalance = 0 WHERE abalance <> 0; \
     UPDATE pgbench_tellers SET tbalance = 0; UPDATE pgbench_branches SET bbalance = 0; \
     TRUNCATE pgbench_history";

/// All four tables but for the time in the history, whose rows are in the order of insertion.
const CONTENT: &str = "SELECT \
     (SELECT count(*) FROM pgbench_accounts), \
     (SELECT string_agg(concat_ws(',', aid, bid, abalance, filler), ';' ORDER BY aid) FROM pgbench_accounts WHERE abalance <> 0), \
     (SELECT string_agg(concat_ws(',', tid, bid, tbalance, filler), ';' ORDER BY tid) FROM pgbench_tellers), \
     (SELECT string_agg(concat_ws(',', bid, bbalance, filler), ';' ORDER BY bid) FROM pgbench_branches), \
     (SELECT string_agg(concat_ws(',', tid, bid, aid, delta, filler), ';' ORDER BY ctid) FROM pgbench_history)";

/// A database with the tables loaded and no procedure, for one test at a time.
fn loaded() -> MutexGuard<'static, Database> {
    static LOADED: LazyLock<Mutex<Database>> = LazyLock::new(|| {
        let database = Database::new("forms");
        let load = "load tpcb --param scale=2";
        database.pgdyno(&words(load)).expect(0, &[]);
        Mutex::new(database)
    });
    let database = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    database.sql(
        "DO $$ DECLARE p regprocedure; BEGIN \
         FOR p IN SELECT oid FROM pg_proc WHERE proname LIKE 'pgdyno%' \
         LOOP EXECUTE 'DROP PROCEDURE ' || p; END LOOP; END $$",
    );
    database
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

/// Runs it, which must go well, and gives its document.
fn run_quietly(database: &Database, run: &str) -> Value {
    let run = format!("{run} --no-store --quiet --json");
    let ran = database.pgdyno(&words(&run)).expect(0, &[]);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

#[test]
fn every_form_leaves_the_same_rows_as_the_statements() {
    let database = loaded();
    for pack in ["tpcb", "simple-update"] {
        let mut of_statements = None;
        for form in FORMS {
            database.sql(RESET);
            let run = format!("run {pack} --mix {form} -t 100 --seed 11");
            run_quietly(&database, &run);
            let content = database.value(CONTENT);
            assert_eq!(
                database.value("SELECT count(*) FROM pgbench_history"),
                "100"
            );
            match &of_statements {
                None => of_statements = Some(content),
                Some(expected) => assert_eq!(&content, expected, "{pack} {form}"),
            }
        }
    }
}

#[test]
fn what_is_committed_is_in_the_rows_whatever_had_to_be_tried_again() {
    let database = loaded();
    let level = "options=-cdefault_transaction_isolation%3Dserializable";
    let serializable = Database {
        url: format!("{}&{level}", database.url),
    };
    for form in FORMS {
        database.sql(RESET);
        let run = format!("run tpcb --mix {form} -c 8 -t 25 --max-tries 0");
        let measured = &run_quietly(&serializable, &run)["measured"];
        assert_eq!(measured["committed"], 200, "{form}: {measured}");
        let sums = database.value(
            "SELECT count(*), sum(delta) = (SELECT sum(abalance) FROM pgbench_accounts), \
             sum(delta) = (SELECT sum(tbalance) FROM pgbench_tellers), \
             sum(delta) = (SELECT sum(bbalance) FROM pgbench_branches) FROM pgbench_history",
        );
        assert_eq!(sums, "200|t|t|t", "{form}");
        if form == "statements" {
            assert!(measured["retries"].as_u64() > Some(0), "{measured}");
        }
        // What the procedure tried again by itself, it tells.
        let by_server = measured["work"]["server_retries"].as_u64().unwrap();
        assert_eq!(by_server > 0, form == "procedure", "{form}: {measured}");
    }
}

#[test]
fn a_form_runs_in_the_query_mode_that_it_needs() {
    let database = loaded();
    let mode = |form: &str| {
        let trial = &run_quietly(&database, &format!("run tpcb -t 3 --mix {form}"))["trial"];
        trial["query_mode"].as_str().unwrap().to_owned()
    };
    assert_eq!(mode("statements"), "simple");
    assert_eq!(mode("pipeline"), "extended");
    for form in ["pipeline", "cte", "for-update", "procedure"] {
        assert_eq!(mode(&format!("{form} -M prepared")), "prepared", "{form}");
    }
    let refused = |form: &str, mode: &str, word: &str| {
        let run = format!("run tpcb --mix {form} -M {mode} -t 1");
        database
            .pgdyno(&words(&run))
            .expect(2, &["cannot be sent in query mode", word]);
    };
    refused("pipeline", "simple", "choose extended or prepared");
    refused("batch", "prepared", "choose simple");
}

const MARK: &str = "SELECT obj_description('pgdyno_tpcb'::regproc, 'pg_proc')";

#[test]
fn the_procedure_is_made_when_it_is_missing_and_replaced_when_its_text_is_another() {
    let database = loaded();
    database.sql(RESET);
    let run = "run tpcb --mix procedure -t 1 --no-store";
    database.pgdyno(&words(run)).expect(0, &[]);
    let mark = database.value(MARK);
    assert!(
        mark.starts_with("made by pgdyno: {\"pack\":\"tpcb\""),
        "{mark}"
    );
    // What is there is used; a new one would have another number.
    let number = "SELECT 'pgdyno_tpcb'::regproc::oid";
    let first = database.value(number);
    database.pgdyno(&words(run)).expect(0, &[]);
    assert_eq!(database.value(number), first);
    // Of an older pgdyno, with other arguments, and one more.
    let old = mark.replace("\"sha256\":\"", "\"sha256\":\"0");
    database.sql(&format!(
        "DROP PROCEDURE pgdyno_tpcb; \
         CREATE PROCEDURE pgdyno_tpcb(a int) LANGUAGE plpgsql AS 'BEGIN END'; \
         COMMENT ON PROCEDURE pgdyno_tpcb IS '{old}'; \
         CREATE PROCEDURE pgdyno_tpcb(a int, b int) LANGUAGE plpgsql AS 'BEGIN END'; \
         COMMENT ON PROCEDURE pgdyno_tpcb(int, int) IS '{old}'"
    ));
    database.pgdyno(&words(run)).expect(0, &[]);
    assert_eq!(database.value(MARK), mark);
    let rows = database.value("SELECT count(*) FROM pgbench_history");
    assert_eq!(rows, "3");
}

#[test]
fn a_procedure_of_another_owner_is_never_replaced() {
    let database = loaded();
    database.sql(
        "CREATE PROCEDURE pgdyno_tpcb(mine int) LANGUAGE plpgsql AS 'BEGIN END'; \
         COMMENT ON PROCEDURE pgdyno_tpcb IS 'made by me'",
    );
    let run = "run tpcb --mix procedure -t 1 --no-store";
    database.pgdyno(&words(run)).expect(
        1,
        &[
            "will not replace pgdyno_tpcb(integer): pgdyno did not make it",
            "rename or drop",
        ],
    );
    assert_eq!(database.value(MARK), "made by me");
}

#[test]
fn the_servers_error_about_the_procedure_is_printed() {
    let database = loaded();
    database.sql(
        "CREATE ROLE forms_reader LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC; \
         GRANT ALL ON ALL TABLES IN SCHEMA public TO forms_reader",
    );
    let url = database.url.replace("postgres@", "forms_reader@");
    let reader = Database { url };
    let run = "run tpcb --mix procedure -t 1 --no-store";
    reader.pgdyno(&words(run)).expect(
        1,
        &[
            "could not create procedure pgdyno_tpcb: permission denied for schema public",
            "GRANT CREATE",
        ],
    );
    let count = database.value("SELECT count(*) FROM pg_proc WHERE proname = 'pgdyno_tpcb'");
    assert_eq!(count, "0");
}

#[test]
fn foreign_keys_are_made_and_recognised() {
    let database = Database::new("forms_keys");
    database
        .pgdyno(&["load", "tpcb", "--param", "foreign_keys=true"])
        .expect(0, &[]);
    let keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'";
    assert_eq!(database.value(keys), "5");
    let run = "run tpcb --mix cte -t 2 --no-store";
    database.pgdyno(&words(run)).expect(0, &[]);
    database
        .pgdyno(&["load", "tpcb", "--param", "foreign_keys=false"])
        .expect(1, &["loaded with foreign_keys = true, not false"]);
    database
        .pgdyno(&["load", "tpcb", "--replace"])
        .expect(0, &[]);
    assert_eq!(database.value(keys), "0");
}
