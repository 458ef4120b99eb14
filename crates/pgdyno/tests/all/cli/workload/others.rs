//! `workload … movr`, `queue`, `ledger` and their kin, on a real PostgreSQL.

use super::generators::{Place, tables};
use crate::support::{Ran, pgdyno, ran};

/// The number of operations of each name.
fn counts(ran: &Ran) -> Vec<(String, u64)> {
    let output = tables(ran);
    assert_eq!(
        output.result.as_ref().map(|all| all.errors),
        Some(0),
        "{ran:#?}"
    );
    let totals = output.totals.into_iter();
    totals.map(|(name, total)| (name, total.count)).collect()
}

fn count(counts: &[(String, u64)], name: &str) -> u64 {
    counts
        .iter()
        .find(|(its, _)| its == name)
        .map_or(0, |(_, count)| *count)
}

#[test]
fn movr_rents_vehicles() {
    let place = Place::new("workload_movr", "movr");
    place
        .workload("run", &["--max-ops=1"])
        .expect(1, &["relation \"users\" does not exist"]);
    place
        .workload("init", &["--num-users=90", "--num-histories=2000"])
        .expect(0, &["imported users", "imported promo_codes"]);
    let rows = |table: &str| -> u64 {
        let query = format!("SELECT count(*) FROM {table}");
        place.db.value(&query).parse().unwrap()
    };
    let tables = [
        "users",
        "vehicles",
        "rides",
        "vehicle_location_histories",
        "promo_codes",
        "user_promo_codes",
    ];
    assert_eq!(tables.map(rows), [90, 15, 500, 2000, 1000, 0]);
    // Ten in each city, and all owners in the city of their vehicle: the foreign keys hold.
    let cities =
        "SELECT count(*), min(n), max(n) FROM (SELECT count(*) n FROM users GROUP BY city) c";
    assert_eq!(place.db.value(cities), "9|10|10");
    let keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'";
    assert_eq!(place.db.value(keys), "5");
    let ends = "SELECT count(*) FROM rides WHERE end_time < start_time OR end_time > start_time + interval '59 hours'";
    assert_eq!(place.db.value(ends), "0");
    let ran = place
        .workload("run", &["--concurrency=4", "--max-ops=4000"])
        .expect(0, &[]);
    let done = counts(&ran);
    let reads = count(&done, "readVehicles");
    assert!((3700..=3880).contains(&reads), "{done:?}");
    assert_eq!(done.iter().map(|(_, count)| count).sum::<u64>(), 4000);
    assert_eq!(
        [
            rows("users"),
            rows("vehicles"),
            rows("promo_codes"),
            rows("rides")
        ],
        [
            90 + count(&done, "addUser"),
            15 + count(&done, "addVehicle"),
            1000 + count(&done, "createPromoCode"),
            500 + count(&done, "startRide"),
        ]
    );
    assert!(
        count(&done, "addUser") > count(&done, "addVehicle"),
        "{done:?}"
    );
    assert!(rows("vehicle_location_histories") > 2000);
    assert!((1..=count(&done, "applyPromoCode")).contains(&rows("user_promo_codes")));
    // Again with the same seed: ids are new ones. Rides that were started are ended, their own client's.
    place
        .workload(
            "run",
            &["--concurrency=4", "--max-ops=4000", "--method=simple"],
        )
        .expect(0, &[]);
    let ended = "SELECT count(*) > 0 FROM rides WHERE start_address IS NOT NULL AND end_time > '2020-01-01' AND end_address IS NOT NULL";
    assert_eq!(place.db.value(ended), "t");
    place
        .workload("init", &["--drop", "--num-users=8"])
        .expect(1, &["num_users", "9"]);
    place
        .workload("check", &[])
        .expect(1, &["no consistency checks defined for movr"]);
}

#[test]
fn queue_deletes_what_it_has_added() {
    let place = Place::new("workload_queue", "queue");
    place.workload("init", &[]).expect(0, &[]);
    let args = ["--concurrency=2", "--max-ops=40", "--batch=3"];
    for _ in 0..2 {
        let ran = place.workload("run", &args).expect(0, &[]);
        assert_eq!(
            counts(&ran),
            [("delete".to_owned(), 40), ("write".to_owned(), 40)]
        );
        assert_eq!(place.db.value("SELECT count(*) FROM queue"), "0");
    }
    let changed = "SELECT 1 FROM pg_stat_user_tables WHERE relname = 'queue' AND (n_tup_ins, n_tup_del) = (240, 240)";
    place.db.wait_for(changed);
}

#[test]
fn ledger_keeps_books() {
    let place = Place::new("workload_ledger", "ledger");
    place
        .workload("init", &["--customers=20"])
        .expect(0, &["imported customer", "imported session"]);
    let all = "SELECT (SELECT count(*) FROM customer), (SELECT count(*) FROM transaction), (SELECT count(*) FROM entry), (SELECT count(*) FROM session)";
    assert_eq!(place.db.value(all), "20|40|160|20");
    assert_eq!(place.db.value("SELECT sum(amount) FROM entry"), "0.000");
    assert_eq!(
        place
            .db
            .value("SELECT count(*) FROM pg_constraint WHERE contype = 'f'"),
        "2"
    );
    let ran = place
        .workload("run", &["--concurrency=4", "--max-ops=400"])
        .expect(0, &[]);
    let done = counts(&ran);
    let [deposits, withdrawals] = ["deposit", "withdrawal"].map(|name| count(&done, name));
    assert!(
        (20..90).contains(&deposits) && (100..200).contains(&withdrawals),
        "{done:?}"
    );
    let both = deposits + withdrawals;
    let expected = format!("20|{}|{}|{}", 40 + both, 160 + 2 * both, 20 + withdrawals);
    assert_eq!(place.db.value(all), expected);
    assert_eq!(
        place
            .db
            .value("SELECT min(balance) >= 0, max(balance) > 0 FROM customer"),
        "t|t"
    );
    let args = [
        "--max-ops=10",
        "--concurrency=1",
        "--mix=reversal=1,deposit=0",
    ];
    let ran = place.workload("run", &args).expect(0, &[]);
    assert_eq!(counts(&ran), [("reversal".to_owned(), 10)]);
    place
        .workload("init", &["--drop", "--fks=false"])
        .expect(0, &[]);
    assert_eq!(
        place
            .db
            .value("SELECT count(*) FROM pg_constraint WHERE contype = 'f'"),
        "0"
    );
}

#[test]
fn indexes_and_conflict_upsert() {
    let place = Place::new("workload_indexes", "indexes");
    place
        .workload("init", &["--secondary-indexes=12", "--unique-indexes"])
        .expect(0, &[]);
    let indexes =
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'idx10' AND indexdef LIKE '%UNIQUE%'";
    assert!(place.db.value(indexes).ends_with("(col1, col0)"));
    assert_eq!(
        place
            .db
            .value("SELECT count(*) FROM pg_indexes WHERE tablename = 'indexes'"),
        "13"
    );
    // Two that upsert the same new key at once may meet in an index that ON CONFLICT does not name (23505).
    let args = [
        "--concurrency=1",
        "--max-ops=200",
        "--cycle-length=5",
        "--payload=7",
    ];
    let ran = place.workload("run", &args).expect(0, &[]);
    assert_eq!(counts(&ran), [("write".to_owned(), 200)]);
    let seen = "SELECT count(*), max(col9), max(length(payload)), max(key::text) FROM indexes";
    assert_eq!(
        place.db.value(seen),
        "5|13|7|00000000-0000-0000-0000-000000000004"
    );
    place
        .workload("run", &["--concurrency=1", "--max-ops=1"])
        .expect(0, &[]);
    assert_eq!(place.db.value("SELECT count(*) FROM indexes"), "6");

    let place = Place::new("workload_conflict", "conflict");
    place.workload("init", &[]).expect(0, &[]);
    let ran = place
        .workload(
            "run",
            &["--concurrency=4", "--max-ops=400", "--conflicts=3"],
        )
        .expect(0, &[]);
    let done = counts(&ran);
    assert!((280..360).contains(&count(&done, "upsert")), "{done:?}");
    assert_eq!(done.iter().map(|(_, count)| count).sum::<u64>(), 400);
    let rows: u64 = place
        .db
        .value("SELECT count(*) FROM conflict WHERE id BETWEEN 1 AND 3")
        .parse()
        .unwrap();
    assert!((1..=3).contains(&rows));
}

#[test]
fn insights_is_slow_on_purpose() {
    let place = Place::new("workload_insights", "insights");
    place
        .workload(
            "init",
            &["--rows=20", "--table-count=3", "--payload-bytes=10"],
        )
        .expect(
            0,
            &[
                "imported insights_workload_table_0",
                "imported insights_workload_table_2",
            ],
        );
    let loaded = "SELECT count(*), sum(balance), max(length(payload)), max(shared_key) <= 3 FROM insights_workload_table_2";
    assert_eq!(place.db.value(loaded), "20|0|16|t");
    // This seed locks no row, which lasts seconds.
    let args = ["--concurrency=1", "--max-ops=3", "--seed=1"];
    let quick = place.workload("run", &args).expect(0, &[]);
    let names = ["contention", "orderByOnNonIndexColumn", "transfer"];
    assert_eq!(counts(&quick), names.map(|name| (name.to_owned(), 1)));
    let brief = "run insights --no-store -c 3 -t 40 --max-tries 0 --param hold_ms_min=0 --param hold_ms_max=1";
    let brief: Vec<&str> = brief.split(' ').collect();
    place
        .db
        .pgdyno(&brief)
        .expect(0, &["0 failed", "2 of 2 held"]);
    let moved = "SELECT count(*) > 0 FROM insights_workload_table_1 WHERE balance <> 0";
    assert_eq!(place.db.value(moved), "t");
    assert_eq!(
        place
            .db
            .value("SELECT count(*) > 0 FROM insights_workload_table_0 WHERE balance = 42"),
        "t"
    );
}

#[test]
fn connectionlatency_connects_for_each_query() {
    let place = Place::new("workload_connections", "connectionlatency");
    place.workload("init", &[]).expect(0, &[]);
    let ran = place
        .workload("run", &["--concurrency=2", "--max-ops=20"])
        .expect(0, &[]);
    assert_eq!(
        counts(&ran),
        [("connect".to_owned(), 20), ("select".to_owned(), 20)]
    );
    let again = ["--locality=east", "--max-ops=1"];
    place
        .workload("run", &again)
        .expect(1, &["--locality cannot be had"]);
}

#[test]
fn querybench_runs_the_queries_of_a_file_in_their_order() {
    let place = Place::new("workload_querybench", "querybench");
    place.db.sql("CREATE TABLE seen (id serial, query int)");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("queries");
    let queries = "# comment\nINSERT INTO seen (query) VALUES (1)\n-- comment\nINSERT INTO seen (query) VALUES (2); SELECT ':x', 'a'::text;\n";
    std::fs::write(&file, queries).unwrap();
    let file = format!("--query-file={}", file.display());
    let run = |args: &[&str]| {
        let mut all = vec![file.as_str(), "--concurrency=1"];
        all.extend(args);
        place.workload("run", &all)
    };
    let names = [
        " 1: INSERT INTO seen (query) VALUES (1)",
        " 2: INSERT INTO seen (query) VALUES (2)",
        " 2: SELECT ':x', 'a'::text",
    ];
    let ran = run(&["--num-runs=4"]).expect(0, &[]);
    for name in names {
        assert!(ran.stdout.contains(name), "{ran:#?}");
    }
    let order = "SELECT string_agg(query::text, '' ORDER BY id) FROM seen";
    assert_eq!(place.db.value(order), "12121212");
    let ran = run(&["--max-ops=5", "--verbose=false"]).expect(0, &[]);
    assert_eq!(counts(&ran), [(String::new(), 6)]);
    run(&["--vectorize=on"]).expect(1, &["--vectorize cannot be had: only CockroachDB"]);
    run(&["--num-runs=-1"]).expect(1, &["negative --num-runs specified"]);
    place
        .workload("run", &[])
        .expect(1, &["Missing required argument '--query-file'"]);
    place
        .workload("run", &["--query-file=/no/such"])
        .expect(1, &["open /no/such: "]);
    std::fs::write(folder.path().join("queries"), "# none\n").unwrap();
    run(&[]).expect(1, &["no queries found in file"]);
    std::fs::write(folder.path().join("queries"), "SELECT nosuch\n").unwrap();
    run(&["--num-runs=1"]).expect(1, &["column \"nosuch\" does not exist"]);
}

#[test]
fn ttlbench_is_cockroachdbs_alone() {
    let mut command = pgdyno(&["workload", "run", "ttlbench"]);
    ran(&mut command).expect(
        1,
        &[
            "unknown command \"ttlbench\"",
            "row-level TTL is CockroachDB's alone",
        ],
    );
}
