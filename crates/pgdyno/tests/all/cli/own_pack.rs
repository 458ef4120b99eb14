//! A pack of a user's own: every key of `pack.toml` serves it as it serves the shipped ones.

use serde_json::Value;

use crate::support::{Database, Ran};

const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/cli/own_pack");

fn load(database: &Database, more: &str) -> Ran {
    let args = ["load", OWN].into_iter().chain(more.split_whitespace());
    database.pgdyno(&args.collect::<Vec<_>>())
}

fn run(database: &Database, more: &str) -> Ran {
    let args = ["run", OWN, "--no-store", "--quiet"].into_iter();
    let args = args.chain(more.split_whitespace());
    database.pgdyno(&args.collect::<Vec<_>>())
}

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:#?}"))
}

#[test]
fn tables_of_an_own_pack_are_made_from_its_parameters() {
    let database = Database::new("own_tables");
    // The default is another on this dialect.
    let loaded = [
        "own1: a block to each of 200 rows",
        "own2: a block to each of 200 rows",
        // Nothing is left to the reads and writes of an accounted run.
        "checkpoint",
    ];
    load(&database, "").expect(0, &loaded);
    let rows =
        "SELECT count(*), sum(twice2 - 2 * id), min(trim(filler)), max(trim(filler)) FROM own2";
    assert_eq!(database.value(rows), "200|400|plain|plain");
    assert_eq!(
        database.rows("SELECT id, what, twice FROM own_given ORDER BY id"),
        ["1|it's; one|2", "2|NULL|4", "3|two\nlines|6"]
    );
    run(&database, "-t 1 --param size=300").expect(1, &["loaded with rows = 200, not 300"]);
    run(&database, "-t 1 --param tables=3").expect(1, &["loaded with tables = 2, not 3"]);
    let replaced = "--replace --param size=300 --param tables=1";
    load(&database, replaced).expect(0, &["own1: a block to each of 300 rows"]);
    assert_eq!(
        database.value("SELECT count(*) FROM pg_tables WHERE tablename = 'own2'"),
        "0"
    );
    load(&database, "--replace --param wide=100").expect(
        1,
        &[
            "own1 is to have one row in a block",
            "the tables depend on: kind, rows, tables, wide",
        ],
    );
}

#[test]
fn runs_of_an_own_pack_know_its_tables_and_are_accounted_for() {
    let database = Database::new("own_runs");
    load(&database, "--quiet --param rows=250").expect(0, &[]);
    run(&database, "-t 1 --param batch=251").expect(
        2,
        &["own: batch=251 is more than the 250 rows that there are"],
    );
    run(&database, "-t 1 -M simple").expect(
        2,
        &[
            "script read cannot be sent in query mode simple",
            "prepared",
        ],
    );
    let warmed = "SELECT count(*) FROM own_seen WHERE what = 'warmed up with 250'";
    let ran = run(&database, "-t 500 --json").expect(0, &[]);
    let reported = document(&ran);
    assert_eq!(reported["key_skew"]["draws"], 500, "{reported:#}");
    assert_eq!(reported["accounting"]["units"][0]["kind"], "lookup");
    assert_eq!(reported["accounting"]["units"][0]["count"], 500);
    let expected = &reported["accounting"]["expected"];
    assert!(expected.get("unknown").is_none(), "{expected:#}");
    assert_eq!(database.value(warmed), "0", "without a warm-up");
    run(&database, "-T 1s --warmup 1s").expect(0, &[]);
    assert_eq!(database.value(warmed), "1");
    // What is not there is a failure.
    database.sql("DELETE FROM own1");
    let reported = document(&run(&database, "-t 20 --json").expect(1, &[]));
    assert_eq!(reported["measured"]["failed_by_class"]["row-missing"], 20);
}

#[test]
fn an_own_pack_has_settings_procedures_and_counts_what_runs_add() {
    let database = Database::new("own_more");
    for rows in [205, 210] {
        run(&database, "-t 5 --mix grow").expect(0, &[]);
        assert_eq!(
            database.value("SELECT max(id), count(*) FROM own1"),
            format!("{rows}|{rows}")
        );
    }
    run(&database, "-t 1 --mix note").expect(0, &[]);
    run(&database, "-t 1 --mix note --param memory=9").expect(0, &[]);
    assert_eq!(
        database.rows("SELECT what FROM own_seen ORDER BY what"),
        ["7MB", "9MB"]
    );
    run(&database, "-t 10 --mix change").expect(0, &[]);
    assert_eq!(database.value("SELECT sum(changes) FROM own2"), "10");
    assert_eq!(
        database
            .value("SELECT count(*) FROM pg_proc WHERE proname IN ('own_change1', 'own_change2')"),
        "2"
    );
}

#[test]
fn tables_that_were_made_by_others_tell_an_own_pack_what_they_are() {
    let database = Database::new("own_others");
    load(&database, "--quiet --param rows=50").expect(0, &[]);
    for table in ["own1", "own2", "own_seen", "own_given"] {
        database.sql(&format!("COMMENT ON TABLE {table} IS NULL"));
    }
    run(&database, "-t 1").expect(0, &["were not created by pgdyno", "rows = 50"]);
    database.sql("ALTER TABLE own1 ALTER filler TYPE char(900)");
    run(&database, "-t 1 --param wide=1000").expect(1, &["loaded with wide = 900, not 1000"]);
    database.sql("DELETE FROM own1 WHERE id = 1");
    run(&database, "-t 1").expect(
        1,
        &[
            "with kind = none that is known (there is no row 1): it must be one of plain, odd",
            "--drop-tables own1,own2,own_seen,own_given",
        ],
    );
}

#[test]
fn a_mistake_before_the_warm_up_is_an_error_with_its_place() {
    let database = Database::new("own_mistake");
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "pack.toml",
            "name = \"m\"\nsummary = \"s\"\nbefore_warmup = \"w.sql\"\n\
             [[script]]\nname = \"a\"\nfile = \"a.sql\"\n",
        ),
        ("a.sql", "SELECT 1;\n"),
        ("w.sql", "SELECT nothing;\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let pack = folder.path().to_str().unwrap();
    let ran = database.pgdyno(&["run", pack, "--no-store", "-T", "1s", "--warmup", "1s"]);
    let want = format!("could not run before_warmup ({pack}/w.sql)");
    ran.expect(1, &[&want, "column \"nothing\" does not exist"]);
    database
        .pgdyno(&["run", pack, "--no-store", "-t", "1"])
        .expect(0, &[]);
}
