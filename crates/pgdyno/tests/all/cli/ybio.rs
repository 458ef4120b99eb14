//! `pgdyno ybio` on a real PostgreSQL: rows, keys, notices and table `benchruns` are as those of
//! ybio.sql there, whose facts are recorded here.

use std::process::Stdio;

use crate::support::{Database, Ran, ended, pgdyno, ran};

/// What ybio.sql prints for a batch, recorded on PostgreSQL 15.
const NOTICE: &str = "NOTICE:   870708 rows/s on bench0001, job:      1 batch#:     2652, total:      \
    2613911 rows read,   42.0 % updated, last: 1000 rows between  7687 and 6688";

fn ybio(database: &Database, args: &[&str]) -> Ran {
    database.pgdyno(&[&["ybio"], args].concat())
}

fn runit(database: &Database, arguments: &str) -> Ran {
    let call = format!("call runit({arguments})");
    ybio(database, &[&call, "--no-store"]).expect(0, &["CALL\n"])
}

#[test]
fn a_table_is_as_ybio_makes_it() {
    let database = Database::new("ybio_table");
    let setup = ["setup", "tab_rows=10500", "batch_size=>1e3"];
    ybio(&database, &setup).expect(
        0,
        &[
            "NOTICE:  Inserting 10500 rows in 10 batches of 1000\n",
            "NOTICE:  Table bench0001 Progress:  100.00 % (       10000 rows) at ",
            "CALL\n",
        ],
    );
    // Recorded: the rest of a batch is lost, and keys begin after the number of batches.
    let facts = "SELECT count(*), count(DISTINCT mykey), min(mykey), max(mykey), min(scratch) >= 0, \
                 max(scratch) <= 10500, max(length(filler)), abs(avg(scratch) - 5250) < 100 FROM bench0001";
    assert_eq!(database.value(facts), "10000|10000|11|10010|t|t|1|t");
    let columns = "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod) || ' ' || \
                   attnotnull, ', ' ORDER BY attnum) FROM pg_attribute WHERE attnum > 0 AND attrelid \
                   = 'bench0001'::regclass";
    assert_eq!(
        database.value(columns),
        "mykey bigint false, scratch bigint false, filler character(1) false"
    );
    let index = "SELECT indexdef FROM pg_indexes WHERE tablename = 'bench0001'";
    let want = "CREATE INDEX bench0001_asc_mykey ON public.bench0001 USING btree (mykey)";
    assert_eq!(database.value(index), want);
    // A batch has every tenth key, and its rows lie in the order of scratch.
    let place = "(SELECT *, row_number() OVER (ORDER BY ctid) - 1 AS place FROM bench0001)";
    let batches = format!("SELECT count(DISTINCT (mykey % 10, place / 1000)) FROM {place} p");
    assert_eq!(database.value(&batches), "10");
    let sorted = format!(
        "SELECT count(*) FROM (SELECT scratch < lag(scratch) OVER (PARTITION BY place / 1000 ORDER \
         BY place) AS falls FROM {place} p) q WHERE falls"
    );
    assert_eq!(database.value(&sorted), "0");
    assert_eq!(
        database.value("SELECT abs(corr(mykey, scratch)) < 0.1 FROM bench0001"),
        "t"
    );

    // Other tables beside it, and in other forms.
    let other = "call setup('b_', 12, 2000, index_as_pk=>true, filler=>40, orderby=>null)";
    ybio(&database, &["-q", other]).expect(0, &["CALL"]);
    let facts = "SELECT count(*), min(mykey), max(mykey), max(length(filler)), \
                 count(DISTINCT filler) > 1900 FROM b_0012";
    assert_eq!(database.value(facts), "2000|3|2002|40|t");
    let key = "SELECT conname, contype FROM pg_constraint WHERE conrelid = 'b_0012'::regclass AND \
               contype = 'p'";
    assert_eq!(database.value(key), "b_0012_pk_mykey|p");
    let order = "SELECT bool_and(mykey > before) FROM (SELECT mykey, lag(mykey) OVER (ORDER BY ctid) \
                 AS before, row_number() OVER (ORDER BY ctid) AS n FROM b_0012) q WHERE n <= 1000";
    assert_eq!(database.value(order), "t");

    // Kept as it is, or made again.
    database.sql("DELETE FROM bench0001 WHERE mykey > 100");
    let kept = [&setup[..], &["recreate=false"]].concat();
    ybio(&database, &kept).expect(0, &["recreate=>false keeps it"]);
    let other = [&kept[..], &["filler=7"]].concat();
    let other = ybio(&database, &other).expect(1, &["not 7", "recreate=>true, which drops it"]);
    assert!(!other.stderr.contains("--param"), "{other:#?}");
    assert_eq!(database.value("SELECT count(*) FROM bench0001"), "90");
    ybio(&database, &setup).expect(0, &[]);
    assert_eq!(database.value("SELECT count(*) FROM bench0001"), "10000");
    ybio(&database, &["remove"]).expect(0, &["CALL"]);
    let tables = "SELECT string_agg(relname, ' ') FROM pg_class WHERE relkind = 'r' AND \
                  relnamespace = 'public'::regnamespace";
    assert_eq!(database.value(tables), "b_0012");
    ybio(&database, &["remove"]).expect(1, &["there is no table bench0001"]);
}

#[test]
fn a_run_reads_and_updates_as_ybio_and_is_in_benchruns() {
    let database = Database::new("ybio_run");
    ybio(&database, &["-q", "setup", "tab_rows=10000"]).expect(0, &[]);
    let run = runit(
        &database,
        "tab_prefix=>'bench',tab_num=>1,tab_rows=>1e4::int,run_duration=>interval '2500 \
         milliseconds',pct_update=>42,batch_size=>1000,initial_count=>true,comments=>'it''s'",
    );
    for text in [
        "rows/s",
        "select",
        "update",
        " by EXPLAIN (100 of them, ",
        "LIOPS ",
    ] {
        assert!(run.stdout.contains(text), "no {text} in {run:?}");
    }
    // The same columns and words: every text is where it is in ybio's.
    let shape = |line: &str| -> String {
        let (line, _) = line
            .split_once(" last: ")
            .unwrap_or_else(|| panic!("{line}"));
        line.chars()
            .map(|c| if c.is_ascii_digit() { ' ' } else { c })
            .collect()
    };
    let notices: Vec<&str> = run
        .stderr
        .lines()
        .filter(|l| l.contains(" rows/s on "))
        .collect();
    // Once a second, unless the machine is too busy for that.
    assert!((1..=2).contains(&notices.len()), "{run:?}");
    for notice in &notices {
        assert_eq!(shape(notice), shape(NOTICE), "{notice}");
        let number = |before: &str, after: &str| -> f64 {
            let (_, rest) = notice.split_once(before).unwrap();
            rest.split_once(after).unwrap().0.trim().parse().unwrap()
        };
        let (rows, share) = (number("total:", " rows"), number("rows read,", " %"));
        // Never further from its share than half a batch, and rounded.
        let off = (share - 42.0).abs();
        assert!(off <= 100.0 * 500.0 / rows + 0.06, "{notice}");
    }
    // The high key comes first.
    let (_, keys) = notices[0].split_once("between  ").unwrap();
    let (high, low) = keys.split_once(" and ").unwrap();
    assert_eq!(
        high.parse::<i64>().unwrap() - low.parse::<i64>().unwrap(),
        999
    );

    let columns = "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY \
                   attnum) FROM pg_attribute WHERE attnum > 0 AND attrelid = 'benchruns'::regclass";
    assert_eq!(
        database.value(columns),
        "job_id integer, start_time timestamp without time zone, end_time timestamp without time \
         zone, num_batches integer, num_rows bigint, pct_update integer, max_scratch bigint, \
         prepared boolean, index_only boolean, tab_rows integer, batch_size integer, table_name \
         text, table_rows bigint, table_scratch bigint, comments text"
    );
    let row = "SELECT job_id, pct_update, prepared, index_only, tab_rows, batch_size, table_name, \
               table_rows, table_scratch BETWEEN 9900 AND 10000, comments, num_batches > 0, \
               num_rows BETWEEN num_batches * 950 AND num_batches * 1000, \
               max_scratch >= table_scratch, end_time - start_time BETWEEN '2.4 s' AND '10 s', \
               end_time BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp() FROM \
               benchruns";
    assert_eq!(
        database.value(row),
        "1|42|t|f|10000|1000|bench0001|10000|t|it's|t|t|t|t|t"
    );
    // Every row that was updated is one more.
    let most = "SELECT max(scratch) = (SELECT max_scratch FROM benchruns) FROM bench0001";
    assert_eq!(database.value(most), "t");
}

#[test]
fn the_quota_the_forms_of_statements_and_the_cap_of_a_batch_are_ybios() {
    let database = Database::new("ybio_forms");
    ybio(
        &database,
        &["-q", "setup", "tab_rows=5000", "batch_size=500"],
    )
    .expect(0, &[]);
    let sum = || {
        database
            .value("SELECT sum(scratch) FROM bench0001")
            .parse::<i64>()
            .unwrap()
    };
    let found = |job: u64| -> (i64, String) {
        let row = format!(
            "SELECT num_rows, num_batches || '|' || batch_size || '|' || prepared || '|' || \
             index_only || '|' || max_scratch || '|' || coalesce(table_rows::text, '-') FROM \
             benchruns WHERE job_id = {job}"
        );
        let row = database.value(&row);
        let (rows, rest) = row.split_once('|').unwrap();
        (rows.parse().unwrap(), rest.to_owned())
    };
    let before = sum();
    runit(
        &database,
        "tab_rows=>5000,batch_size=>100,run_duration=>'1 s',pct_update=>100,prepared=>false",
    );
    let (rows, rest) = found(1);
    assert_eq!(sum() - before, rows, "{rest}");
    assert!(rest.contains("|100|false|false|"), "{rest}");
    let before = sum();
    runit(
        &database,
        "tab_rows=>5000,batch_size=>100,run_duration=>'1 s',pct_update=>25",
    );
    let (rows, rest) = found(2);
    let updated = sum() - before;
    // Never further from its share than a batch.
    assert!(
        (updated - rows / 4).abs() <= 100,
        "{updated} of {rows}, {rest}"
    );
    // The index alone: the largest value is a key.
    let before = sum();
    runit(
        &database,
        "tab_rows=>5000,batch_size=>100,run_duration=>'1 s',pct_update=>25,index_only=>true,prepared=>f",
    );
    let (_, rest) = found(3);
    assert_eq!(sum(), before);
    let largest: u64 = rest.split('|').nth(4).unwrap().parse().unwrap();
    assert!(
        rest.contains("|false|true|") && (4900..=5010).contains(&largest),
        "{rest}"
    );
    // A batch is no larger than the rows there are to read.
    runit(&database, "tab_rows=>2000,run_duration=>'1 s'");
    let (rows, rest) = found(4);
    let batches: i64 = rest.split('|').next().unwrap().parse().unwrap();
    assert!(
        rest.contains("|2000|true|false|") && rest.ends_with("|-"),
        "{rest}"
    );
    assert!(
        rows > batches * 1980 && rows <= batches * 2000,
        "{rows}, {rest}"
    );
}

#[test]
fn a_table_of_ybios_own_setup_is_run_on_and_replaced_and_never_removed() {
    let database = Database::new("ybio_stock");
    // As ybio.sql leaves it.
    database.sql(
        "CREATE TABLE bench0001 (mykey bigint, scratch bigint, filler char(1)); \
         CREATE INDEX bench0001_asc_mykey ON bench0001 (mykey ASC); \
         INSERT INTO bench0001 SELECT n, n, '' FROM generate_series(3, 2002) n",
    );
    runit(
        &database,
        "tab_rows=>2000,batch_size=>100,run_duration=>'1 s'",
    );
    assert_eq!(
        database.value("SELECT num_rows > 90 * num_batches FROM benchruns"),
        "t"
    );
    ybio(&database, &["remove"]).expect(1, &["will not drop bench0001", "DROP TABLE bench0001"]);
    ybio(&database, &["setup", "tab_rows=1000", "batch_size=100"])
        .expect(0, &["replaces bench0001 of ybio's own setup"]);
    assert_eq!(database.value("SELECT max(mykey) FROM bench0001"), "1010");
    runit(
        &database,
        "tab_rows=>1000,batch_size=>100,run_duration=>'1 s'",
    );
    ybio(&database, &["remove"]).expect(0, &[]);
    let left = "SELECT count(*) FROM pg_proc WHERE proname LIKE 'pgdyno%'";
    assert_eq!(database.value(left), "0");
    assert_eq!(database.value("SELECT count(*) FROM benchruns"), "2");
    database.sql("CREATE TABLE bench0001 (mine text)");
    ybio(&database, &["setup"]).expect(1, &["will not drop bench0001: pgdyno did not make"]);
}

#[test]
fn setups_and_runs_that_begin_together_do_not_disturb_each_other() {
    let database = Database::new("ybio_together");
    // As test.sh of ybio starts them.
    let together = |call: &str| {
        let start = |number: u32| {
            let call = call.replace("{i}", &number.to_string());
            let mut command = pgdyno(&["ybio", &call, "--url", &database.url]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        for child in (1..=4).map(start).collect::<Vec<_>>() {
            ended(child.wait_with_output().unwrap()).expect(0, &["CALL"]);
        }
    };
    together("call setup(tab_num=>{i},tab_rows=>2000,batch_size=>100);");
    together(
        "call runit(tab_num=>{i},tab_rows=>2000,batch_size=>100,run_duration=>'1 s',pct_update=>10);",
    );
    let runs = "SELECT count(*), count(end_time), count(DISTINCT table_name) FROM benchruns";
    assert_eq!(database.value(runs), "4|4|4");
}

#[test]
fn a_run_that_ends_early_has_no_end_in_benchruns() {
    let database = Database::new("ybio_lost");
    ybio(
        &database,
        &["-q", "setup", "tab_rows=1000", "batch_size=100"],
    )
    .expect(0, &[]);
    // An update that cannot be.
    database.sql("ALTER TABLE bench0001 ADD CHECK (scratch < 0) NOT VALID");
    let call = "call runit(tab_rows=>1000,batch_size=>10,run_duration=>'30 s',pct_update=>50)";
    let run = ybio(&database, &[call, "--no-store"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr
            .contains("job 1 of benchruns stays without an end"),
        "{run:?}"
    );
    let row = "SELECT start_time IS NOT NULL, end_time IS NULL, num_rows IS NULL FROM benchruns";
    assert_eq!(database.value(row), "t|t|t");
}

#[test]
fn impossible_options_fail_before_anything_is_written() {
    let database = Database::new("ybio_wrong");
    for (args, code, want) in [
        (&["runit"][..], 1, "there is no table bench0001"),
        (&["runup"], 2, "ybio has no procedure \"runup\""),
        (&["runit", "tab=1"], 2, "runit has no parameter \"tab\""),
        (
            &["setup", "tab_rows=10"],
            2,
            "batch_size=1000 is more than tab_rows=10",
        ),
        (
            &["setup", "orderby=filler"],
            2,
            "orderby=filler: rows are ordered by scratch",
        ),
        (
            &["setup", "tab_num=10000"],
            2,
            "tab_num=10000: it must be at most 9999",
        ),
        (
            &["setup", "tab_prefix=A"],
            2,
            "tab_prefix=A: use lower-case letters",
        ),
    ] {
        ybio(&database, args).expect(code, &[want]);
    }
    ybio(&database, &["-q", "setup", "tab_rows=1000"]).expect(0, &[]);
    for (call, code, want) in [
        (
            "runit(run_duration=>'never')",
            2,
            "invalid input syntax for type interval",
        ),
        ("runit(run_duration=>'0 s')", 2, "longer than nothing"),
        (
            "runit(tab_rows=>2000,initial_count=>true)",
            1,
            "Cannot read 2000 rows from a 1000 rows table",
        ),
        (
            "runit(tab_rows=>2000,run_duration=>'1 s')",
            1,
            "bench0001 was set up with tab_rows=1000, not 2000",
        ),
    ] {
        ybio(&database, &[call]).expect(code, &[want]);
    }
    let rows = "SELECT count(*) FROM pg_class WHERE relname = 'benchruns'";
    assert_eq!(database.value(rows), "0");
    database.sql("CREATE TABLE benchruns (mine text)");
    ybio(&database, &["runit(tab_rows=>1000)"])
        .expect(1, &["could not write to benchruns", "ybio's table of runs"]);
    ran(pgdyno(&["ybio", "remove"]).env("PGDYNO_CACHE", "/nonexistent"))
        .expect(2, &["no server is named"]);
    // By its own name.
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("ybio");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pgdyno"), &link).unwrap();
    let help = ran(std::process::Command::new(&link).arg("--help"));
    help.expect(0, &["Usage: ybio [OPTIONS] <setup|runit|remove|CALL>"]);
}
