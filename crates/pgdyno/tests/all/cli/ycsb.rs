//! The pack ycsb: keys, mixes, what does not fit, and loads by ranges.

use std::process::{Child, Stdio};

use pgdyno_platform::child::{Signal, send_signal};
use serde_json::Value;

use crate::support::{Database, Ran, connect, ended, pgdyno};

/// All rows of the table, in one number.
const DIGEST: &str =
    "SELECT count(*), count(DISTINCT ycsb_key), sum(hashtextextended(t::text, 0)) FROM usertable t";

fn load(db: &Database, params: &[&str], more: &[&str]) -> Ran {
    let mut args = vec!["--quiet", "load", "ycsb"];
    params.iter().for_each(|p| args.extend(["--param", p]));
    args.extend(more);
    db.pgdyno(&args)
}

fn run(db: &Database, mix: &str, params: &[&str], more: &[&str]) -> Ran {
    let mut args = vec!["--quiet", "run", "ycsb", "--no-store", "--seed", "7"];
    args.extend(["--mix", mix, "--json"]);
    params.iter().for_each(|p| args.extend(["--param", p]));
    args.extend(more);
    db.pgdyno(&args)
}

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:#?}"))
}

fn committed(document: &Value, script: &str) -> u64 {
    let scripts = document["measured"]["scripts"].as_array().unwrap();
    let its = scripts.iter().find(|s| s["name"] == script);
    its.map_or(0, |s| s["committed"].as_u64().unwrap())
}

#[test]
fn keys_in_the_table_are_those_of_each_tool() {
    let db = Database::new("ycsb_keys");
    for (params, keys) in [
        (
            &["keyformat=java"][..],
            "user6284781860667377211,user8517097267634966620",
        ),
        (
            &["keyformat=go-ycsb"],
            "user6284781860667377211,user6284782960179005422",
        ),
        (&["keyformat=crdb-old"], "user16390143479181108970"),
        (&["keyformat=crdb"], "user15449794709565471098"),
        (&["insertorder=ordered"], "user0,user1"),
        (
            &["insertorder=ordered", "zeropadding=5"],
            "user00000,user00001",
        ),
        (
            &["insertorder=ordered", "recordstart=9007199254740993"],
            "user9007199254740993,user9007199254740994",
        ),
    ] {
        let mut all = vec!["recordcount=2", "fieldcount=3", "fieldlength=4"];
        all.extend(params);
        load(&db, &all, &["--replace"]).expect(0, &[]);
        let loaded = db.rows(
            "SELECT ycsb_key FROM usertable ORDER BY length(ycsb_key), ycsb_key COLLATE \"C\"",
        );
        for key in keys.split(',') {
            assert!(loaded.iter().any(|l| l == key), "{params:?}: {loaded:?}");
        }
        assert_eq!(loaded.len(), 2);
    }
    let fields = "SELECT count(*) FROM usertable WHERE length(field0) = 4 AND length(field2) = 4";
    assert_eq!(db.value(fields), "2");
}

#[test]
fn all_mixes_run_and_what_they_insert_is_found() {
    let db = Database::new("ycsb_mixes");
    load(&db, &["recordcount=500", "fieldlength=20"], &[]).expect(0, &[]);
    let mut inserted = 0;
    for (mix, scripts) in [
        ("a", &["read", "update"][..]),
        ("b", &["read", "update"]),
        ("c", &["read"]),
        ("d", &["read", "insert"]),
        ("e", &["scan", "insert"]),
        ("f", &["read", "readmodifywrite"]),
    ] {
        let ran = run(&db, mix, &[], &["-t", "100", "-c", "2", "-j", "2"]).expect(0, &[]);
        let d = document(&ran);
        let of_scripts: u64 = scripts.iter().map(|s| committed(&d, s)).sum();
        assert_eq!(of_scripts, 200, "{mix}: {}", d["measured"]["scripts"]);
        assert_eq!(d["measured"]["committed"], 200, "{mix}");
        assert_eq!(d["measured"]["failed"], 0, "{mix}: {d}");
        // What runs before this one have inserted counts as there.
        assert_eq!(
            d["workload"]["variables"]["inserted"],
            inserted.to_string(),
            "{mix}"
        );
        let key_skew = &d["key_skew"];
        assert_eq!(key_skew["is_sample"], false);
        assert!(
            key_skew["distinct"].as_u64().unwrap() > 1,
            "{mix}: {key_skew}"
        );
        inserted += committed(&d, "insert");
    }
    assert!(inserted > 2, "{inserted}");
    assert_eq!(
        db.value("SELECT count(*) FROM usertable"),
        (500 + inserted).to_string()
    );

    // Rows of a batch are inserted together, and read afterwards.
    let args = ["-t", "200", "-c", "2", "-j", "2"];
    let d = document(&run(&db, "d", &["insertbatch=5"], &args).expect(0, &[]));
    let batches = committed(&d, "insert-batch");
    assert!(batches > 0, "{}", d["measured"]["scripts"]);
    assert_eq!(d["measured"]["failed"], 0, "{d}");
    inserted += 5 * batches;
    assert_eq!(
        db.value("SELECT count(*) FROM usertable"),
        (500 + inserted).to_string()
    );

    // Each form of read-modify-write under a name of its own.
    for (form, name) in [
        ("rmw=transaction", "readmodifywrite-transaction"),
        ("rmw=for-update", "readmodifywrite-for-update"),
        ("rmw=one", "readmodifywrite-one"),
    ] {
        let ran = run(&db, "f", &[form], &["-t", "20"]).expect(0, &[]);
        assert!(committed(&document(&ran), name) > 0, "{form}");
    }
    let proportions = [
        "readproportion=3",
        "scanproportion=1",
        "maxscanlength=5",
        "readallfields=false",
    ];
    let ran = run(
        &db,
        "custom",
        &proportions,
        &["-t", "200", "--query-mode", "simple"],
    )
    .expect(0, &[]);
    let (reads, scans) = (
        committed(&document(&ran), "read"),
        committed(&document(&ran), "scan"),
    );
    assert!(
        reads + scans == 200 && (20..90).contains(&scans),
        "{reads} {scans}"
    );
    run(&db, "custom", &[], &[]).expect(2, &["nothing to run"]);
}

#[test]
fn the_effective_distribution_is_printed() {
    let db = Database::new("ycsb_touched");
    load(
        &db,
        &["recordcount=1000", "fieldcount=1", "fieldlength=1"],
        &[],
    )
    .expect(0, &[]);
    let hottest = |params: &[&str]| {
        let ran = run(&db, "c", params, &["-t", "1500"]).expect(0, &[]);
        let key_skew = &document(&ran)["key_skew"];
        assert_eq!(key_skew["draws"], 1500);
        let share = |name: &str| key_skew[name].as_f64().unwrap();
        (share("hottest_share"), share("hottest_100_share"))
    };
    // Scrambled over 10^10 items: the first rank gets 3.78 %, whatever the number of rows.
    let (one, hundred) = hottest(&[]);
    assert!((0.025..0.055).contains(&one), "{one}");
    assert!((0.2..0.6).contains(&hundred), "{hundred}");
    let (one, hundred) = hottest(&["requestdistribution=sequential"]);
    assert!((one - 2.0 / 1500.0).abs() < 1e-9, "{one}");
    assert!((hundred - 200.0 / 1500.0).abs() < 1e-9, "{hundred}");
    let text = db.pgdyno(&["-v", "run", "ycsb", "--no-store", "-t", "10"]);
    text.expect(0, &["keys         hottest key ", "distinct keys"]);
}

#[test]
fn a_run_that_does_not_fit_the_table_is_refused() {
    let db = Database::new("ycsb_fit");
    load(&db, &["recordcount=100", "fieldcount=2"], &[]).expect(0, &[]);
    for (param, want) in [
        ("recordcount=200", "loaded with recordcount = 100, not 200"),
        ("keyformat=crdb", "loaded with keyformat = java, not crdb"),
        ("fieldcount=10", "loaded with fieldcount = 2, not 10"),
        (
            "insertorder=ordered",
            "loaded with insertorder = hashed, not ordered",
        ),
    ] {
        run(&db, "c", &[param], &["-t", "1"]).expect(1, &[want]);
    }
    for (mix, param, want) in [
        ("d", "insertstart=99", "would insert keys that are loaded"),
        (
            "e",
            "minscanlength=101",
            "minscanlength is 101 and maxscanlength only 100",
        ),
        (
            "d",
            "requestcount=5",
            "requestcount=5 does not go with requestdistribution=latest",
        ),
        (
            "d",
            "theta=0.5 generators=ycsb",
            "theta=0.5 does not go with generators=ycsb",
        ),
        (
            "a",
            "requestdistribution=normal",
            "it must be one of zipfian, uniform",
        ),
        ("a", "readproportion=-1", "at least 0"),
    ] {
        let params: Vec<&str> = param.split(' ').collect();
        run(&db, mix, &params, &["-t", "1"]).expect(2, &[want]);
    }
    // A row that is not there is a failure, and no fast read.
    db.sql("DELETE FROM usertable");
    for mix in ["a", "c", "e", "f"] {
        let ran = run(&db, mix, &["insertproportion=0"], &["-t", "20"]).expect(1, &[]);
        let counts = document(&ran)["measured"].clone();
        assert_eq!(counts["committed"], 0, "{mix}: {counts}");
        assert_eq!(
            counts["failed_by_class"]["row-missing"], 20,
            "{mix}: {counts}"
        );
    }
}

#[test]
fn an_empty_table_is_filled_by_runs_and_asked_for_in_part() {
    let db = Database::new("ycsb_empty");
    load(&db, &["recordcount=0", "fieldcount=2"], &[]).expect(0, &[]);
    let inserts = ["insertproportion=1"];
    run(&db, "custom", &inserts, &["-t", "50", "-c", "2"]).expect(0, &[]);
    assert_eq!(db.value("SELECT count(*) FROM usertable"), "100");
    let key_one = "SELECT 1 FROM usertable WHERE ycsb_key = 'user8517097267634966620'";
    assert_eq!(db.value(key_one), "1");
    let part = [
        "requeststart=90",
        "requestcount=10",
        "requestdistribution=sequential",
    ];
    let ran = run(&db, "c", &part, &["-t", "30"]).expect(0, &[]);
    let (document, key_skew) = (document(&ran), document(&ran)["key_skew"].clone());
    assert_eq!(committed(&document, "read"), 30);
    assert_eq!(key_skew["distinct"], 10);

    let db = Database::new("ycsb_part");
    load(&db, &["recordcount=5", "recordstart=100"], &[]).expect(0, &[]);
    let before = ["requeststart=99", "requestcount=5"];
    run(&db, "c", &before, &["-t", "1"]).expect(2, &["asks for keys that are not loaded"]);
}

#[test]
fn a_table_that_another_tool_made_is_recognised_or_refused() {
    let db = Database::new("ycsb_others");
    let fields: Vec<String> = (0..10).map(|i| format!("field{i} text")).collect();
    db.sql(&format!(
        "CREATE TABLE usertable (YCSB_KEY varchar(255) PRIMARY KEY, {})",
        fields.join(", ")
    ));
    let insert = |key: &str| {
        let values: Vec<String> = (0..10)
            .map(|i| format!("'{}'", i.to_string().repeat(7)))
            .collect();
        db.sql(&format!(
            "INSERT INTO usertable VALUES ('{key}', {})",
            values.join(", ")
        ));
    };
    insert("user6284781860667377211");
    insert("userX");
    run(&db, "c", &[], &["-t", "1"]).expect(
        1,
        &[
            "keyformat = none that is known (key number 1 would be user8517097267634966620 (java)",
            "--drop-tables usertable",
        ],
    );
    db.sql("DELETE FROM usertable WHERE ycsb_key = 'userX'");
    insert("user6284782960179005422");
    let ran = run(&db, "c", &[], &["-t", "20"]).expect(
        0,
        &[
            "not created by pgdyno",
            "fieldlength = 7",
            "keyformat = go-ycsb",
            "recordcount = 2",
        ],
    );
    assert_eq!(committed(&document(&ran), "read"), 20);
    db.sql("TRUNCATE usertable");
    insert("user000");
    insert("user001");
    let ran =
        run(&db, "c", &[], &["-t", "20"]).expect(0, &["insertorder = ordered", "zeropadding = 3"]);
    assert_eq!(committed(&document(&ran), "read"), 20);
    load(&db, &[], &["--replace"])
        .expect(1, &["will not drop usertable: pgdyno did not make them"]);
}

#[test]
fn a_value_that_is_not_as_it_was_written_ends_the_run() {
    let db = Database::new("ycsb_integrity");
    let params = ["recordcount=50", "dataintegrity=true", "fieldlength=50"];
    load(&db, &params, &[]).expect(0, &[]);
    run(&db, "a", &["requestdistribution=uniform"], &["-t", "100"]).expect(0, &[]);
    run(
        &db,
        "f",
        &["readallfields=false", "writeallfields=true"],
        &["-t", "50"],
    )
    .expect(0, &[]);
    db.sql(
        "UPDATE usertable SET field3 = 'x' || substr(field3, 2) WHERE ycsb_key = \
            'user8517097267634966620'",
    );
    run(
        &db,
        "c",
        &["requestdistribution=sequential"],
        &["-t", "100"],
    )
    .expect(
        1,
        &[
            "invariant",
            "field3 of user8517097267634966620 is not as it was written: x",
        ],
    );
    let e = ["dataintegrity=true", "fieldlengthdistribution=uniform"];
    load(&db, &e, &["--replace"])
        .expect(2, &["dataintegrity needs fieldlengthdistribution=constant"]);
}

/// `pgdyno load` of this database, under way.
fn loading(db: &Database, params: &[&str], jobs: &str) -> Child {
    let mut args = vec!["--quiet", "load", "ycsb", "--jobs", jobs, "--url", &db.url];
    params.iter().for_each(|p| args.extend(["--param", p]));
    let command = &mut pgdyno(&args);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// A load that Ctrl-C ends when some of its ranges are in; the table where they are recorded.
fn interrupted(db: &Database, params: &[&str]) -> String {
    let child = loading(db, params, "1");
    let record = "SELECT relname FROM pg_class \
                  WHERE relname LIKE 'pgdyno_loading_ycsb_%' AND relkind = 'r'";
    db.wait_for(record);
    let record = db.value(record);
    db.wait_for(&format!("SELECT 1 FROM {record}"));
    // It does not end before the signal comes, however late that is.
    let mut held = connect(&db.url);
    let hold = format!("BEGIN; LOCK TABLE {record} IN SHARE MODE");
    held.simple_query(&hold).unwrap();
    send_signal(child.id(), Signal::Interrupt).unwrap();
    held.simple_query("COMMIT").unwrap();
    ended(child.wait_with_output().unwrap()).expect(
        130,
        &[
            "was interrupted",
            "with the same parameters continues the load",
        ],
    );
    record
}

#[test]
fn a_load_waits_for_ranges_that_the_server_still_commits_for_one_that_was_killed() {
    let params = ["recordcount=200000", "fieldcount=1", "fieldlength=5"];
    let db = Database::new("ycsb_whole");
    load(&db, &params, &[]).expect(0, &[]);
    let whole = db.value(DIGEST);
    for end in ["COMMIT", "ROLLBACK"] {
        let db = Database::new(&format!("ycsb_still_at_{}", end.to_lowercase()));
        let record = interrupted(&db, &params);
        db.sql(&format!(
            "CREATE TABLE their_rows AS TABLE usertable; \
             CREATE TABLE their_ranges AS TABLE {record}; \
             TRUNCATE usertable, {record}"
        ));
        let mut killed = connect(&db.url);
        let its = format!(
            "BEGIN; INSERT INTO usertable TABLE their_rows; \
             INSERT INTO {record} TABLE their_ranges"
        );
        killed.simple_query(&its).unwrap();
        let next = loading(&db, &params, "2");
        db.wait_for(
            "SELECT 1 FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        killed.simple_query(end).unwrap();
        ended(next.wait_with_output().unwrap()).expect(0, &[]);
        assert_eq!(db.value(DIGEST), whole, "{end}");
    }
}

#[test]
fn loads_over_several_connections_and_loads_that_go_on_make_the_same_rows() {
    let params = ["recordcount=200000", "fieldcount=1", "fieldlength=5"];
    let db = Database::new("ycsb_parallel");
    load(&db, &params, &["--jobs", "3"]).expect(0, &[]);
    let whole = db.value(DIGEST);
    assert!(whole.starts_with("200000|200000|"), "{whole}");

    let db = Database::new("ycsb_resumed");
    let record = interrupted(&db, &params);
    let there: u64 = db.value("SELECT count(*) FROM usertable").parse().unwrap();
    assert!(there > 0 && there < 200_000, "{there}");
    let recorded = format!("SELECT sum(row_end - row_first) FROM {record}");
    assert_eq!(db.value(&recorded), there.to_string());
    load(&db, &params, &["--jobs", "2"]).expect(0, &[]);
    assert_eq!(db.value(DIGEST), whole);
    assert_eq!(
        db.rows("SELECT 1 FROM pg_class WHERE relname LIKE 'pgdyno%'"),
        [""; 0]
    );
    let key = "SELECT conname FROM pg_constraint WHERE conrelid = 'usertable'::regclass AND \
               contype = 'p'";
    assert_eq!(db.value(key), "usertable_pkey");
    load(&db, &params, &[]).expect(0, &[]);

    // With other parameters it begins anew where that is said, and the record goes.
    let db = Database::new("ycsb_not_resumed");
    interrupted(&db, &params);
    let other = ["recordcount=1000", "fieldcount=1", "fieldlength=5"];
    let reported = "a load of ycsb with recordcount = 200000, not 1000, was interrupted here";
    load(&db, &other, &[]).expect(1, &[reported]);
    load(&db, &other, &["--replace"]).expect(0, &[]);
    assert_eq!(db.value("SELECT count(*) FROM usertable"), "1000");
    let left = "SELECT relname FROM pg_class WHERE relname LIKE 'pgdyno%'";
    assert_eq!(db.rows(left), [""; 0]);
}

#[test]
fn rows_travel_by_insert_where_that_is_asked_for_or_copy_is_refused() {
    let params = ["recordcount=1200", "fieldcount=2", "fieldlength=5"];
    let db = Database::new("ycsb_insert");
    load(&db, &params, &[]).expect(0, &[]);
    let by_copy = db.value(DIGEST);
    load(&db, &params, &["--replace", "--method", "insert"]).expect(0, &[]);
    assert_eq!(db.value(DIGEST), by_copy);

    // The server refuses COPY to tables with policies, unless a superuser asks.
    let pack = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(pack.path().join(name), text).unwrap();
    write(
        "pack.toml",
        "name = 'guarded'\nsummary = 's'\nschema = 'schema.sql'\n\
         script = [{ name = 'a', file = 'a.sql' }]\n\
         [[table]]\nname = 'guarded'\nrows = '700'\nby_ranges = true\n\
         columns = [{ name = 'n', value = ':row' }, { name = 't', value = \"'it''s \\\\ ' || :n\" }]",
    );
    write("a.sql", "SELECT 1;");
    write(
        "schema.sql",
        "CREATE TABLE guarded (n int, t text);\n\
         ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;\n\
         ALTER TABLE guarded FORCE ROW LEVEL SECURITY;\n\
         CREATE POLICY all_rows ON guarded USING (true) WITH CHECK (true);",
    );
    db.sql("CREATE ROLE ycsb_guarded LOGIN; GRANT CREATE ON SCHEMA public TO ycsb_guarded");
    let user = db
        .url
        .split("//")
        .nth(1)
        .unwrap()
        .split('@')
        .next()
        .unwrap()
        .to_owned();
    let url = db.url.replacen(&format!("//{user}@"), "//ycsb_guarded@", 1);
    let path = pack.path().to_str().unwrap();
    crate::support::ran(&mut pgdyno(&["load", path, "--url", &url])).expect(
        0,
        &[
            "700 rows",
            "guarded: by INSERT, because the server refused COPY",
        ],
    );
    let row = "SELECT t FROM guarded WHERE n = 700";
    assert_eq!(db.value(row), "it's \\ 700");
}
