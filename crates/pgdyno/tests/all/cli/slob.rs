//! Pack slob: its tables have a row in a block, both loops do the same work, updates are counted to
//! the row, and a lost session is no success.

use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Database, connect, ended, pgdyno};

/// What all of these runs have in common.
const QUIETLY: &str = "--no-store --quiet --json";

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// A run that must go well, as its document.
fn run(database: &Database, args: &str) -> Value {
    let ran = database.pgdyno(&words(&format!("run slob {args} {QUIETLY}")));
    let ran = ran.expect(0, &[]);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

/// Units and rows of an operation; none where there were none.
fn units(document: &Value, operation: &str) -> (u64, u64) {
    let all = document["measured"]["units"].as_array().unwrap();
    let of = all.iter().find(|units| units["operation"] == operation);
    of.map_or((0, 0), |units| {
        let number = |name: &str| units[name].as_u64().unwrap();
        (number("units"), number("rows"))
    })
}

/// Tables slob1 and slob2 with 1,024 rows each for tests that run one after the other.
fn small() -> &'static Database {
    static SMALL: OnceLock<Database> = OnceLock::new();
    SMALL.get_or_init(|| {
        let database = Database::new("slob_small");
        let load =
            "load slob --param scale=1024 --param schemas=2 --param scan_blocks=100 --jobs 2";
        database.pgdyno(&words(load)).expect(0, &["2,148 rows"]);
        database
    })
}

fn sum(database: &Database, table: &str) -> u64 {
    let query = format!("SELECT sum(scratch) FROM {table}");
    database.value(&query).parse().unwrap()
}

#[test]
fn each_row_has_a_block_to_itself_in_random_order() {
    let database = Database::new("slob_blocks");
    let load = "load slob --param scale=3000 --param num_schemas=2 --jobs 2";
    let ran = database.pgdyno(&words(load)).expect(0, &["6,000 rows"]);
    for table in ["slob1", "slob2"] {
        assert!(
            ran.stdout
                .contains(&format!("{table}: a block to each of 3,000 rows")),
            "{ran:?}"
        );
        let one = format!(
            "SELECT count(*), count(DISTINCT (ctid::text::point)[0]), min(mykey), max(mykey), \
             count(DISTINCT mykey), max(length(filler)) FROM {table}"
        );
        assert_eq!(database.value(&one), "3000|3000|1|3000|3000|1024");
        // Blocks that a COPY has taken in advance may be left over: one extension of the table.
        let blocks = format!("SELECT pg_relation_size('{table}') / 8192");
        let blocks: u64 = database.value(&blocks).parse().unwrap();
        assert!((3000..3064).contains(&blocks), "{blocks}");
        let key = format!(
            "SELECT abs(correlation) < 0.1 FROM pg_stats WHERE tablename = '{table}' AND attname \
             = 'mykey'"
        );
        assert_eq!(database.value(&key), "t");
        let frozen = format!(
            "SELECT relallvisible >= 3000, age(relfrozenxid) < 1000 FROM pg_class WHERE relname \
             = '{table}'"
        );
        assert_eq!(database.value(&frozen), "t|t");
        let index = format!("SELECT count(*) FROM pg_index WHERE indrelid = '{table}'::regclass");
        assert_eq!(database.value(&index), "1");
    }
    // Other tables take their place, all of them.
    let other = "load slob --param scale=1024 --param orderby=mykey --param incompressible=false \
                 --param index_as_pk=true --replace";
    database.pgdyno(&words(other)).expect(0, &["1,024 rows"]);
    assert_eq!(database.value("SELECT to_regclass('slob2') IS NULL"), "t");
    let rows =
        "SELECT count(DISTINCT filler), bool_and((ctid::text::point)[0] < mykey + 64) FROM slob1";
    assert_eq!(database.value(rows), "1|t");
    let key = "SELECT indisprimary FROM pg_index WHERE indrelid = 'slob1'::regclass";
    assert_eq!(database.value(key), "t");
}

#[test]
fn rows_that_share_blocks_are_refused() {
    let database = Database::new("slob_shared");
    let load = "load slob --param scale=1024 --param filler=100";
    database.pgdyno(&words(load)).expect(
        1,
        &[
            "slob1 is to have one row in a block, and",
            "the tables depend on: base, copies, filler, ",
        ],
    );
    database
        .pgdyno(&words(
            "run slob --param scale=1024 --param filler=100 -t 1",
        ))
        .expect(1, &["slob1 is to have one row in a block"]);
}

#[test]
fn an_interrupted_load_of_several_tables_goes_on_where_it_ended() {
    let database = Database::new("slob_resumed");
    // The index of the second table cannot be made.
    database.sql("CREATE TABLE slob2_mykey ()");
    let load = "load slob --param scale=1024 --param schemas=2";
    let failed = database.pgdyno(&words(load));
    failed.expect(1, &["\"slob2_mykey\" already exists", "continues the load"]);
    database.sql("DROP TABLE slob2_mykey");
    let again = database.pgdyno(&words(load));
    again.expect(
        0,
        &[
            "slob1: 1,024 of 1,024 rows were there from an interrupted load",
            "slob2: 1,024 of 1,024 rows were there",
            "slob2: a block to each of 1,024 rows",
        ],
    );
    let indexes = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'slob%'";
    assert_eq!(database.value(indexes), "2");
}

#[test]
fn updating_sessions_on_one_table_never_deadlock_and_are_counted_to_the_row() {
    let database = Database::new("slob_updates");
    let load = "load slob --param scale=1024";
    database.pgdyno(&words(load)).expect(0, &[]);
    let updates = "-c 4 -j 2 --param update_pct=70 --param work_unit=20 --param commit_every=7";
    for how in [
        "--loop server -t 3 --param call_units=200",
        "--loop client -t 3 --param pipeline=200",
        "--loop server -t 2 --param call_units=200 --param redo=heavy --isolation repeatable-read",
        "--loop client -t 2 --param pipeline=100 --param redo=heavy --param hotspot_every=2 \
         --param hotspot_offset=100 --param hotspot_blocks=500",
        "--loop server -t 2 --param call_units=100 --param hotspot_every=2 \
         --param hotspot_offset=100 --param hotspot_blocks=500",
    ] {
        let before = sum(&database, "slob1");
        let document = run(&database, &format!("{updates} {how}"));
        let (updated, rows) = units(&document, "update");
        let (read, rows_read) = units(&document, "select");
        assert_eq!(sum(&database, "slob1") - before, rows, "{how}");
        assert_eq!((rows, rows_read), (updated * 8, read * 20), "{how}");
        // 70 of a hundred, drawn: ten standard deviations.
        let all = updated + read;
        let share = updated as f64 / all as f64;
        let deviation = (0.7 * 0.3 / all as f64).sqrt();
        assert!(
            (share - 0.7).abs() < 10.0 * deviation,
            "{how}: {share} of {all}"
        );
        let committed = document["measured"]["committed"].as_u64().unwrap();
        assert_eq!(document["measured"]["failed"], 0, "{how}");
        assert_eq!(
            all,
            committed * if how.contains("=200") { 200 } else { 100 }
        );
        let latency = &document["measured"]["units"][0]["latency"];
        assert!(latency["p50_us"].as_u64().unwrap() > 0, "{document}");
    }
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(database.value(deadlocks), "0");
}

/// Says that it is over, whatever happens.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_server_tries_again_by_itself_and_counts_it() {
    let database = Database::new("slob_retries");
    let load = "load slob --param scale=1024";
    database.pgdyno(&words(load)).expect(0, &[]);
    let is_over = AtomicBool::new(false);
    let mut other = connect(&database.url);
    other.simple_query("BEGIN").unwrap();
    other.simple_query("UPDATE slob1 SET filler = 'x'").unwrap();
    std::thread::scope(|scope| {
        let _over = AtEnd(&is_over);
        // Ends when a transaction of the run waits for it, whose snapshot is older then.
        scope.spawn(|| {
            let waits = "SELECT count(*) > 0 FROM pg_stat_activity \
                         WHERE datname = current_database() AND wait_event_type = 'Lock'";
            while database.value(waits) != "t" && !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(20));
            }
            other.simple_query("COMMIT").unwrap();
        });
        let before = sum(&database, "slob1");
        let document = run(
            &database,
            "--isolation repeatable-read -t 3 --param call_units=600 --param commit_every=60 \
             --param update_pct=100 --param server_tries=1000",
        );
        let retries = document["measured"]["work"]["server_retries"].as_u64();
        assert!(retries.unwrap() > 0, "{document}");
        // What was rolled back is in no count.
        assert_eq!(units(&document, "update"), (1800, 14_400));
        assert_eq!(sum(&database, "slob1") - before, 14_400);
    });
}

#[test]
fn both_loops_read_as_many_blocks_for_a_unit() {
    let server = pgdyno_testkit::postgres_with(&["autovacuum=off"]);
    let database = Database::on(&server, "slob_loops");
    let load = "load slob --param scale=4096";
    database.pgdyno(&words(load)).expect(0, &[]);
    // Right after the run: its sessions have handed over what they counted, and so has the one that
    // explained a hundred units.
    let read = "SELECT heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read \
                FROM pg_statio_user_tables WHERE relname = 'slob1'";
    let blocks = || database.value(read).parse::<u64>().unwrap();
    for work_unit in [1, 16, 255] {
        let per_unit = [
            "server -t 2 --param call_units=500",
            "client -t 2 --param pipeline=500",
        ];
        let per_unit = per_unit.map(|how| {
            let before = blocks();
            let how = format!("--loop {how} --param work_unit={work_unit} --seed 7");
            let document = run(&database, &how);
            assert_eq!(units(&document, "select"), (1000, 1000 * work_unit));
            let explained = &document["accounting"]["expected"];
            let explained = explained["mean"].as_f64().unwrap() * 100.0;
            ((blocks() - before) as f64 - explained) / 1000.0
        });
        let [server, client] = per_unit;
        assert!(
            (server / client - 1.0).abs() < 0.02,
            "{work_unit}: {per_unit:?}"
        );
        // The index's way down, and each row's block once.
        let least = work_unit as f64 + 2.0;
        assert!(
            (least..least * 1.02 + 2.0).contains(&server),
            "{work_unit}: {server}"
        );
    }
}

#[test]
fn a_killed_session_makes_the_trial_a_failed_one() {
    let database = Database::new("slob_killed");
    database
        .pgdyno(&words("load slob --param scale=1024"))
        .expect(0, &[]);
    for loop_in in ["server", "client"] {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::support::notebook::at(&folder.path().join("notebook"));
        let store = store.display().to_string();
        let run = format!("run slob -c 3 -T 2 --loop {loop_in} --quiet --store {store}");
        let child = pgdyno(&words(&run))
            .args(["--url", &database.url])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let one = "FROM pg_stat_activity WHERE datname = current_database() \
                   AND query LIKE '%slob1%' AND pid <> pg_backend_pid()";
        database.wait_for(&format!("SELECT 1 {one} HAVING count(*) = 3"));
        database.sql(&format!(
            "SELECT pg_terminate_backend((SELECT max(pid) {one}))"
        ));
        let ran = ended(child.wait_with_output().unwrap());
        ran.expect(3, &["INCOMPLETE: 1 client of 3 ended early", "work unit"]);
        let listed = crate::support::ran(pgdyno(&["ls", "--csv"]).args(["--store", &store]));
        listed.expect(0, &["failed"]);
    }
}

#[test]
fn parameters_say_where_and_what_units_are() {
    let database = small();
    let changed = |table: &str, args: &str| {
        database.sql(&format!("UPDATE {table} SET scratch = 0"));
        let document = run(database, args);
        let keys = format!("SELECT min(mykey), max(mykey) FROM {table} WHERE scratch > 0");
        (database.value(&keys), document)
    };
    for how in [
        "--loop server -t 1 --param call_units=400",
        "--loop client -t 1 --param pipeline=400",
    ] {
        let all = "--param update_pct=100 --param update_work_unit=2";
        let within = |keys: &str, from: u64, to: u64| {
            let mut ends = keys.split('|').map(|key| key.parse::<u64>().unwrap());
            let (first, last) = (ends.next().unwrap(), ends.next().unwrap());
            // All of it, but for what chance leaves out at the ends.
            from <= first && last <= to && first < from + 60 && last + 60 > to
        };
        let (keys, _) = changed("slob1", &format!("{all} {how}"));
        assert!(within(&keys, 1, 1024), "{how}: {keys}");
        let (keys, _) = changed("slob1", &format!("{all} {how} --param active=500"));
        assert!(within(&keys, 1, 500), "{how}: {keys}");
        let spot = "--param hotspot_every=1 --param hotspot_offset=301 --param hotspot_blocks=300";
        let (keys, _) = changed("slob1", &format!("{all} {how} {spot}"));
        assert!(within(&keys, 302, 601), "{how}: {keys}");
        // The second session is on the second table, or on the first one with the other.
        let (_, two) = changed("slob2", &format!("{all} {how} -c 2 --param commit_every=9"));
        assert_eq!(units(&two, "update"), (800, 1600));
        assert_eq!(sum(database, "slob2"), 800, "{how}");
        let hot = "-c 2 --param hot_table_every=1";
        let (_, hot) = changed("slob2", &format!("{all} {how} {hot}"));
        assert_eq!(units(&hot, "update").0, 800);
        assert_eq!(sum(database, "slob2"), 0, "{how}");
        // By rows: as many are updated as read, so that updates are 16 times as many.
        let document = run(
            database,
            &format!("{how} --param update_pct=50 --param update_share=rows --param work_unit=128"),
        );
        let (updates, selects) = (units(&document, "update").0, units(&document, "select").0);
        assert_eq!(updates + selects, 400);
        assert!((340..398).contains(&updates), "{how}: {updates}");
        // Scans read the whole of their table.
        let document = run(
            database,
            &format!("{how} --param scan_pct=50 --param think_every=2"),
        );
        let (scans, rows) = units(&document, "scan");
        assert_eq!(rows, scans * 100);
        assert!((120..280).contains(&scans), "{how}: {scans}");
        // The index alone has all that is asked for.
        database.sql("VACUUM slob1");
        let blocks = "SELECT heap_blks_hit + heap_blks_read FROM pg_statio_user_tables \
                      WHERE relname = 'slob1'";
        let blocks = || database.value(blocks).parse::<u64>().unwrap();
        let before = blocks();
        let index = "--param index_only=true --param active=400";
        run(database, &format!("{how} {index}"));
        let read = blocks() - before;
        assert!(read < 4000, "{how}: {read}");
    }
}

#[test]
fn what_cannot_be_is_said_before_anything_is_loaded() {
    let database = Database::new("slob_refused");
    for (args, code, want) in [
        ("--param scale=100", 2, "it must be at least 1024"),
        (
            "--param active=20000",
            2,
            "active=20000: the tables have only 16384 rows",
        ),
        (
            "--param active_schemas=2",
            2,
            "active_schemas=2: there are only 1 tables",
        ),
        // ybio's names, which mean something else there.
        ("--param tab_num=1", 2, "no parameter \"tab_num\""),
        ("--param pct_update=1", 2, "no parameter \"pct_update\""),
        ("--param batch_size=1", 2, "no parameter \"batch_size\""),
        ("--param tab_rows=2000", 2, "no parameter \"tab_rows\""),
        (
            "--param work_unit=20000",
            2,
            "work_unit=20000 is more rows than there are",
        ),
        (
            "--param scale=1024 --param update_pct=1 -c 200",
            2,
            "200 clients with update_work_unit=8 need more rows than there are",
        ),
        (
            "--param update_pct=60 --param scan_pct=50 --param scan_blocks=9",
            2,
            "update_pct=60 and scan_pct=50 are more than 100 together",
        ),
        ("--param scan_pct=5", 2, "there is no table to scan"),
        ("--param hotspot_every=5", 2, "the hot spot"),
        (
            "--param hotspot_every=5 --param hotspot_blocks=300 --param update_pct=5 -c 20",
            2,
            "the hot spot needs at least 2 × update_work_unit × clients rows",
        ),
        (
            "--param think_every=1 --param think_min_ms=5",
            2,
            "think_min_ms=5 is more than think_max_ms=0",
        ),
        ("--loop elsewhere", 2, "possible values: server, client"),
        (
            "--loop client -M simple",
            2,
            "script client cannot be sent in query mode simple",
        ),
        ("--param tab_prefix=Slob", 1, "use lower-case letters"),
        ("--param tab_tablets=3", 2, "no such thing on PostgreSQL"),
    ] {
        let run = format!("run slob {args} -t 1 --no-store --quiet");
        let ran = database.pgdyno(&words(&run));
        ran.expect(code, &[want]);
    }
    assert_eq!(
        database.value("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"),
        "0"
    );
}
