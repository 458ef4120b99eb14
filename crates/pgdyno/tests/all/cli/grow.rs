//! `pgdyno load --grow`: tables get more rows and are those of a load with the larger parameter.

use std::process::Stdio;

use pgdyno_platform::child::{Signal, send_signal};

use crate::support::{Database, ended, pgdyno};

const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/cli/own_pack");

/// A number for all rows of a table, wherever they lie.
fn sum(database: &Database, table: &str) -> String {
    database.value(&format!(
        "SELECT count(*) || ' ' || sum(hashtextextended(t::text, 0)) FROM {table} t"
    ))
}

/// The marks on the tables.
fn marks(database: &Database) -> Vec<String> {
    database.rows(
        "SELECT c.relname, obj_description(c.oid, 'pg_class') FROM pg_class c \
         WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY 1",
    )
}

fn load(database: &Database, args: &str) -> crate::support::Ran {
    let args = ["load"].into_iter().chain(args.split_whitespace());
    database.pgdyno(&args.collect::<Vec<_>>())
}

#[test]
fn grown_tables_are_those_of_a_load_with_the_larger_parameter() {
    for (pack, small, large, tables, more) in [
        (
            "slob --param scale=1024 --param schemas=2 --param base=true",
            "copies=1",
            "copies=3",
            &["slob1", "slob2", "slob_base"][..],
            "slob has grown",
        ),
        (
            "ycsb",
            "recordcount=100",
            "recordcount=1000",
            &["usertable"],
            "by 900 rows",
        ),
        (
            "tpcb",
            "scale=1",
            "scale=2",
            &["pgbench_branches", "pgbench_tellers", "pgbench_accounts"],
            "by 100,011 rows",
        ),
        (
            OWN,
            "rows=100",
            "rows=250",
            &["own1", "own2"],
            "by 300 rows",
        ),
    ] {
        let name = tables[0];
        let grown = Database::new(&format!("grow_grown_{name}"));
        let fresh = Database::new(&format!("grow_fresh_{name}"));
        load(&grown, &format!("{pack} --param {small}")).expect(0, &["is loaded"]);
        load(&grown, &format!("{pack} --param {large} --grow")).expect(0, &[more]);
        load(&fresh, &format!("{pack} --param {large}")).expect(0, &["is loaded"]);
        assert_eq!(marks(&grown), marks(&fresh), "{pack}");
        for table in tables {
            assert_eq!(sum(&grown, table), sum(&fresh, table), "{pack} {table}");
        }
        load(&grown, &format!("{pack} --param {large} --grow")).expect(0, &["is already loaded"]);
        load(&grown, &format!("{pack} --param {large}")).expect(0, &["is already loaded"]);
    }
}

/// The foreign keys, as they are written.
fn keys(database: &Database) -> Vec<String> {
    database.rows(
        "SELECT conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint \
         WHERE contype = 'f' ORDER BY 1, 2",
    )
}

#[test]
fn foreign_keys_of_grown_tables_are_there_again_and_hold_for_all_rows() {
    let database = Database::new("grow_keys");
    let tpcb = |args: &str| load(&database, &format!("tpcb --param {args}"));
    tpcb("scale=1 --param foreign_keys=true").expect(0, &["is loaded"]);
    // Not checked when it was made, so that it stays as it is.
    database.sql("ALTER TABLE pgbench_tellers DROP CONSTRAINT pgbench_tellers_bid_fkey");
    database.sql(
        "ALTER TABLE pgbench_tellers ADD CONSTRAINT pgbench_tellers_bid_fkey FOREIGN KEY (bid) \
         REFERENCES pgbench_branches NOT VALID",
    );
    let before = keys(&database);
    assert_eq!(before.len(), 5, "{before:?}");
    tpcb("scale=2 --grow").expect(0, &["by 100,011 rows"]);
    assert_eq!(keys(&database), before);
    // A branch that is gone in spite of its accounts: a key that is made again sees it.
    database.sql(
        "SET session_replication_role = replica; DELETE FROM pgbench_branches WHERE bid = 2; \
         SET session_replication_role = origin",
    );
    tpcb("scale=3 --grow").expect(
        1,
        &[
            "could not check the rows by the foreign keys",
            "pgbench_accounts_bid_fkey",
            "the tables are as they were: nothing was changed",
        ],
    );
    assert_eq!(keys(&database), before);
    assert_eq!(
        database.value("SELECT count(*) FROM pgbench_accounts"),
        "200000"
    );
}

#[test]
fn a_grown_schema_has_a_block_for_each_row_and_runs_on() {
    let database = Database::new("grow_slob");
    load(&database, "slob --param scale=1024").expect(0, &["1,024 rows"]);
    let grow = |copies: u32| load(&database, &format!("slob --param copies={copies} --grow"));
    grow(2).expect(0, &["by 1,024 rows"]);
    // As `insert into pgio1 select * from pgio_base` would have it.
    let rows =
        "SELECT count(*), count(DISTINCT mykey), count(DISTINCT (ctid::text::point)[0]) FROM slob1";
    assert_eq!(database.value(rows), "2048|1024|2048");
    let unit = [
        "run",
        "slob",
        "-t",
        "1",
        "--no-store",
        "--param",
        "work_unit=10",
    ];
    let unit = [&unit[..], &["--param", "call_units=7", "--json"]].concat();
    let ran = database.pgdyno(&unit).expect(0, &[]);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        document["measured"]["units"][0]["rows"], 140,
        "{document:#}"
    );
    // Rows that runs have changed no longer lie alone, and that is no obstacle.
    database.sql("UPDATE slob1 SET scratch = 0 WHERE mykey < 100");
    grow(3).expect(0, &["by 1,024 rows"]);
}

#[test]
fn what_cannot_grow_is_refused_and_left_as_it_is() {
    let database = Database::new("grow_refused");
    load(&database, "ycsb --grow --param recordcount=10")
        .expect(1, &["ycsb has no tables here to grow", "pgdyno load ycsb"]);
    load(
        &database,
        "ycsb --param recordcount=100 --param fieldcount=2",
    )
    .expect(0, &[]);
    let (before, marked) = (sum(&database, "usertable"), marks(&database));
    for (args, code, texts) in [
        (
            "--param recordcount=50",
            2,
            [
                "recordcount = 100, and --grow cannot make that 50",
                "--replace",
            ],
        ),
        (
            "--param fieldcount=3 --param recordcount=200",
            2,
            ["fieldcount = 2", "larger values can be had of: recordcount"],
        ),
        (
            "",
            2,
            [
                "--grow needs a new size",
                "--param recordcount=… (it is 100)",
            ],
        ),
        (
            "--param recordcount=200 --replace",
            2,
            ["--grow", "--replace"],
        ),
        ("--param recordcount=200 --jobs 2", 2, ["--grow", "--jobs"]),
    ] {
        load(&database, &format!("ycsb --grow {args}")).expect(code, &texts);
    }
    load(&database, "probe --grow").expect(2, &["the tables of pack probe cannot grow"]);
    // All or nothing.
    database.sql("ALTER TABLE usertable ADD CONSTRAINT few CHECK (length(ycsb_key) < 1) NOT VALID");
    load(&database, "ycsb --grow --param recordcount=200").expect(
        1,
        &["violates check constraint \"few\"", "nothing was changed"],
    );
    assert_eq!(
        (sum(&database, "usertable"), marks(&database)),
        (before, marked)
    );
    // Nor tables that are not pgdyno's.
    database.sql("COMMENT ON TABLE usertable IS NULL");
    load(&database, "ycsb --grow --param recordcount=200").expect(
        1,
        &["will not add rows to usertable: pgdyno did not make them"],
    );
}

#[test]
fn an_interrupt_leaves_the_tables_as_they_were() {
    let database = Database::new("grow_interrupted");
    load(&database, "tpcb").expect(0, &["is loaded"]);
    let marked = marks(&database);
    let args = ["load", "tpcb", "--grow", "--param", "scale=500", "--url"];
    let child = pgdyno(&[&args[..], &[&database.url]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    database.wait_for(
        "SELECT 1 FROM pg_stat_progress_copy WHERE tuples_processed > 10000 AND datname \
         = current_database()",
    );
    load(&database, "tpcb --grow --param scale=2")
        .expect(1, &["another pgdyno is loading into this database"]);
    send_signal(child.id(), Signal::Interrupt).unwrap();
    let texts = ["growing was interrupted", "nothing was changed"];
    ended(child.wait_with_output().unwrap()).expect(130, &texts);
    let rows = "SELECT count(*) FROM pgbench_accounts";
    assert_eq!(database.value(rows), "100000");
    assert_eq!(marks(&database), marked);
    load(&database, "tpcb --grow --param scale=2").expect(0, &["by 100,011 rows"]);
}
