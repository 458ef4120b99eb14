//! The shipped packs of plain files: each loads, runs, and its checks hold; what a check is there for is
//! planted, and found.

use crate::support::Database;

/// Loads a pack, runs each of its mixes, and leaves its tables.
fn runs(database: &Database, pack: &str, params: &[&str], mixes: &[&str]) {
    let with = |verb: &str, more: &[&str]| {
        let mut args = vec![verb, pack, "--quiet"];
        args.extend(params.iter().flat_map(|param| ["--param", param]));
        args.extend(more);
        database.pgdyno(&args)
    };
    with("load", &[]).expect(0, &[]);
    let run = [
        "--no-store",
        "-c",
        "4",
        "-t",
        "100",
        "--max-tries",
        "20",
        "--observe",
        "none",
    ];
    with("run", &run).expect(0, &["0 failed", "held: "]);
    for mix in mixes {
        let mut run = run.to_vec();
        run.extend(["--mix", mix]);
        with("run", &run).expect(0, &["0 failed", "held: "]);
    }
}

/// What a run without transactions to speak of says of the data as it is now.
fn finds(database: &Database, pack: &str, check: &str) {
    let ran = database.pgdyno(&["run", pack, "--no-store", "-t", "1", "--observe", "none"]);
    ran.expect(1, &[&format!("FAILED {check} "), "!! "]);
}

#[test]
fn smallbank_keeps_its_ledger_and_a_lost_write_is_found() {
    let database = Database::new("pack_smallbank");
    runs(
        &database,
        "smallbank",
        &["customers=1000"],
        &["read-mostly"],
    );
    let serializable = [
        "run",
        "smallbank",
        "--no-store",
        "-t",
        "50",
        "-c",
        "4",
        "--isolation",
        "serializable",
        "--max-tries",
        "0",
    ];
    database.pgdyno(&serializable).expect(0, &["2 of 2 held"]);
    database.sql("UPDATE smallbank_checking SET bal = bal - 1 WHERE custid = 3");
    finds(&database, "smallbank", "ledger");
    database.sql("UPDATE smallbank_checking SET bal = bal + 1 WHERE custid = 3");
    database.sql("DELETE FROM smallbank_savings WHERE custid = 1000");
    finds(&database, "smallbank", "accounts");
}

#[test]
fn queue_takes_each_job_once_and_a_job_taken_twice_is_found() {
    let database = Database::new("pack_queue");
    runs(&database, "queue", &["jobs=500"], &["add", "take"]);
    let left = database.value("SELECT count(*) FROM queue_jobs");
    let taken = database.value("SELECT count(*) FROM queue_taken");
    assert_ne!(taken, "0");
    assert_ne!(left, "0");
    // An empty queue is no error.
    database.sql("DELETE FROM queue_jobs");
    database
        .pgdyno(&["run", "queue", "--mix", "take", "--no-store", "-t", "5"])
        .expect(0, &["2 of 2 held"]);
    assert_eq!(database.value("SELECT count(*) FROM queue_taken"), taken);
    database.sql("INSERT INTO queue_taken SELECT taking - 1, id FROM queue_taken LIMIT 1");
    finds(&database, "queue", "taken once");
    database.sql("INSERT INTO queue_jobs SELECT id, 1, '' FROM queue_taken ORDER BY id LIMIT 3");
    finds(&database, "queue", "taken is gone");
}

#[test]
fn upsert_counts_every_statement_and_half_an_update_is_found() {
    let database = Database::new("pack_upsert");
    runs(&database, "upsert", &["counters=50"], &[]);
    assert_eq!(database.value("SELECT sum(n) FROM upsert_counters"), "400");
    database.sql("UPDATE upsert_counters SET n = n + 1 WHERE id = 1");
    finds(&database, "upsert", "totals");
}

#[test]
fn timeseries_goes_on_behind_what_is_there_and_a_wrong_value_is_found() {
    let database = Database::new("pack_timeseries");
    // Also where the run itself loads the tables.
    let first = [
        "run",
        "timeseries",
        "--param",
        "readings=2000",
        "-t",
        "20",
        "--no-store",
    ];
    database.pgdyno(&first).expect(0, &["tps  "]);
    runs(
        &database,
        "timeseries",
        &["readings=2000"],
        &["ingest", "read"],
    );
    // No reading twice, and none left out.
    let reading =
        "SELECT count(*) = max(at_us) / 1000 + 1, count(*) > 2400 FROM timeseries_readings";
    assert_eq!(database.value(reading), "t|t");
    database.sql("UPDATE timeseries_readings SET value = -1 WHERE at_us = 5000");
    finds(&database, "timeseries", "values");
}

#[test]
fn tatp_has_its_population_fails_where_it_should_and_each_damage_is_found() {
    let database = Database::new("pack_tatp");
    let pgdyno = |more: &str| {
        let args = more.split_whitespace().collect::<Vec<_>>();
        database.pgdyno(&args)
    };
    pgdyno("load tatp --quiet --param subscribers=1001").expect(2, &["1001 is no multiple of 8"]);
    pgdyno("load tatp --quiet --param subscribers=2000").expect(0, &[]);
    // A quarter of the subscribers has one row, a quarter two … and each subscriber may have any of the types.
    for (table, kind) in [("access_info", "ai_type"), ("special_facility", "sf_type")] {
        let of_each = format!(
            "SELECT n, count(*) FROM (SELECT count(*) AS n FROM tatp_{table} GROUP BY s_id) AS per \
             GROUP BY n ORDER BY n"
        );
        assert_eq!(
            database.rows(&of_each),
            ["1|500", "2|500", "3|500", "4|500"]
        );
        let spread = format!(
            "SELECT count(*) FROM (SELECT 1 FROM tatp_{table} GROUP BY s_id % 4, {kind} \
             HAVING count(*) BETWEEN 250 AND 375) AS cell"
        );
        assert_eq!(database.value(&spread), "16", "{table}");
    }
    let of_each = "SELECT n, count(*) FROM (SELECT count(c.s_id) AS n FROM tatp_special_facility f \
                   LEFT JOIN tatp_call_forwarding c USING (s_id, sf_type) GROUP BY s_id, sf_type) AS per \
                   GROUP BY n ORDER BY n";
    let equal = ["0|1250", "1|1250", "2|1250", "3|1250"];
    assert_eq!(database.rows(of_each), equal);

    let run = "run tatp --no-store --json -c 4 -t 1000 --max-tries 20 --observe none";
    let ran = pgdyno(run).expect(0, &[]);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let by_class = document["measured"]["failed_by_class"].as_object().unwrap();
    assert_eq!(by_class.keys().collect::<Vec<_>>(), ["row-missing"]);
    // 25.2 % by its rules; four standard deviations of 4,000 draws are 2.7 points.
    let missing = by_class["row-missing"].as_f64().unwrap() / 4000.0;
    assert!((0.225..0.28).contains(&missing), "{missing}");
    // What each script's text says of its share, of the fresh population.
    let found_of = [("get-access-data", 0.625), ("get-new-destination", 0.148)];
    for (name, share) in found_of {
        let scripts = document["measured"]["scripts"].as_array().unwrap();
        let script = scripts
            .iter()
            .find(|script| script["name"] == name)
            .unwrap();
        let count = |field: &str| script[field].as_f64().unwrap();
        let all = count("committed") + count("failed");
        let found = count("committed") / all;
        let deviation = (share * (1.0 - share) / all).sqrt();
        assert!(
            (found - share).abs() < 4.5 * deviation,
            "{name}: {found} of {all}, not {share}"
        );
    }
    for mix in ["reads", "writes"] {
        pgdyno(&format!("{run} --mix {mix} --param distribution=uniform")).expect(0, &[]);
    }

    for (damage, check) in [
        (
            "UPDATE tatp_subscriber SET sub_nbr = '7' WHERE s_id = 7",
            "numbers",
        ),
        (
            "ALTER TABLE tatp_access_info DROP CONSTRAINT tatp_access_info_of; \
             INSERT INTO tatp_access_info (s_id, ai_type) VALUES (2001, 1)",
            "owners",
        ),
        (
            "UPDATE tatp_call_forwarding SET end_time = 25 WHERE s_id = 9",
            "ranges",
        ),
    ] {
        database.sql(damage);
        finds(&database, "tatp", check);
    }
}

/// What must not change is compared within one run: a trigger damages it meanwhile.
#[test]
fn tatp_finds_what_a_transaction_changes_beside_what_it_should() {
    let database = Database::new("pack_tatp_beside");
    let load = ["load", "tatp", "--quiet", "--param", "subscribers=80"];
    database.pgdyno(&load).expect(0, &[]);
    for (table, damage, check) in [
        (
            "tatp_subscriber",
            "NEW.hex_3 := NEW.hex_3 + 1",
            "subscribers",
        ),
        (
            "tatp_subscriber",
            "DELETE FROM tatp_access_info WHERE s_id = NEW.s_id",
            "access types",
        ),
    ] {
        database.sql(&format!(
            "CREATE OR REPLACE FUNCTION damage() RETURNS trigger LANGUAGE plpgsql \
             AS $$ BEGIN {damage}; RETURN NEW; END $$; \
             CREATE OR REPLACE TRIGGER damage BEFORE UPDATE ON {table} \
             FOR EACH ROW EXECUTE FUNCTION damage()"
        ));
        let run = "run tatp --mix writes --no-store -t 20 --observe none";
        let ran = database.pgdyno(&run.split_whitespace().collect::<Vec<_>>());
        let failed = format!("FAILED {check} ");
        ran.expect(1, &[&failed, "as before the trial", "!! "]);
    }
}

#[test]
fn kv_holds_each_key_once_and_a_damaged_table_is_found() {
    let database = Database::new("pack_kv");
    runs(&database, "kv", &["insert_count=500"], &["kv50", "kv95"]);
    database.sql("UPDATE kv SET v = '' WHERE k = (SELECT min(k) FROM kv)");
    finds(&database, "kv", "values");
    database.sql("DELETE FROM kv WHERE v = ''");
    database.sql("ALTER TABLE kv DROP CONSTRAINT kv_pkey; INSERT INTO kv SELECT * FROM kv LIMIT 1");
    let reads = "run kv --mix kv95 --no-store -t 1 --observe none --param read_percent=100";
    let ran = database.pgdyno(&reads.split_whitespace().collect::<Vec<_>>());
    ran.expect(1, &["FAILED keys ", "!! "]);
}
