//! `pgdyno run slob` and `slob sweep` on a real PostgreSQL: what the storage layer did is accounted
//! for.

use std::fs;

use serde_json::Value;

use crate::support::notebook::by_kind;
use crate::support::{Database, Ran, document_of, pgdyno, ran};

/// 2,048 blocks of shared_buffers, and no other session at work.
const SMALL: [&str; 3] = [
    "shared_buffers=16MB",
    "autovacuum=off",
    "bgwriter_lru_maxpages=0",
];

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

/// What the storage layer did in a run of `slob`; what observers read of the catalogues stays out of it.
fn accounting(database: &Database, args: &str) -> Value {
    let args = format!("run slob --no-store -q --json --observe none {args}");
    let args: Vec<&str> = args.split_whitespace().collect();
    let mut document = json(&database.pgdyno(&args).expect(0, &[]));
    document["accounting"].take()
}

fn figure(accounting: &Value, name: &str) -> f64 {
    accounting["figures"][name]
        .as_f64()
        .unwrap_or_else(|| panic!("no {name}: {accounting:#}"))
}

#[test]
fn the_buffer_pools_count_is_what_the_units_are_expected_to_read() {
    let server = pgdyno_testkit::postgres_with(&["autovacuum=off"]);
    let database = Database::on(&server, "acc_counts");
    for (unit, in_loop, tolerance) in [
        (255, "server -t 10", 0.03),
        (255, "client -t 200", 0.03),
        // The upper pages of the index weigh more: both are reported, and what they come to is close.
        (1, "server -t 5", 1.5),
    ] {
        let args = format!("--param scale=4096 --param work_unit={unit} --loop {in_loop} --seed 7");
        let it = accounting(&database, &args);
        let off = figure(&it, "counted_by_expected") - 1.0;
        assert!(off.abs() < tolerance, "{unit} {in_loop}: {off}: {it:#}");
        assert_eq!(it["expected"]["count"], 100);
        let plan = it["expected"]["plans"][0][0].as_str().unwrap();
        assert_eq!(plan, "Aggregate > Index Scan using slob1_mykey on slob1");
        assert!(figure(&it, "buffers_per_unit") > f64::from(unit));
        assert!(figure(&it, "cpu_us_per_logical_read") > 0.0);
    }
}

#[test]
fn a_set_that_fits_shows_no_misses_and_one_that_does_not_shows_the_expected_share() {
    let server = pgdyno_testkit::postgres_with(&SMALL);
    let database = Database::on(&server, "acc_fits");
    // By count: the first run brings the blocks in, and those before out, however slow the machine is.
    let with = |before: u32, active: u64| {
        let args = format!("--warmup 0 --param scale=8192 --param active={active}");
        accounting(&database, &format!("-t {before} {args}"));
        accounting(&database, &format!("-t 10 {args}"))
    };
    // A quarter of shared_buffers.
    let fits = with(5, 1024 - 512);
    let misses = figure(&fits, "misses");
    assert!(misses < 0.001 * figure(&fits, "logical_reads"), "{fits:#}");
    // Four times shared_buffers: of the blocks of the table, a quarter at most are there; those of
    // the index, which are read all the time, always.
    let spills = with(10, 8192);
    let unit = figure(&spills, "buffers_per_unit");
    let index = unit - 255.0;
    let index_blocks = 8192.0 / 366.0 + 2.0;
    let missed = (1.0 - (2048.0 - index_blocks) / 8192.0) * (unit - index) / unit;
    let seen = 1.0 - figure(&spills, "hit_ratio");
    // Each tenth of the pool that has something else in it (catalogues, what the load has left) is 0.025 more.
    assert!(
        (-0.03..0.08).contains(&(seen - missed)),
        "{seen}, not {missed}: {spills:#}"
    );
}

#[test]
fn a_mix_with_updates_writes_log_and_is_not_held_against_explain() {
    let server = pgdyno_testkit::postgres_with(&["autovacuum=off"]);
    let database = Database::on(&server, "acc_updates");
    let it = accounting(
        &database,
        "-c 2 -T 300ms --param scale=4096 --param update_pct=50",
    );
    assert!(it["figures"]["counted_by_expected"].is_null(), "{it:#}");
    assert!(it["wal_bytes"].as_u64().unwrap() > 0, "{it:#}");
    let kinds: Vec<&str> = it["units"]
        .as_array()
        .unwrap()
        .iter()
        .map(|units| units["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["select", "update"]);
}

#[test]
fn the_sweep_finds_where_shared_buffers_ends() {
    let server = pgdyno_testkit::postgres_with(&SMALL);
    let database = Database::on(&server, "acc_sweep");
    let dir = tempfile::tempdir().unwrap();
    let store = crate::support::notebook::at(&dir.path().join("store"))
        .display()
        .to_string();
    let sweep = "slob sweep --max-size 48MB -T 300ms --warmup 300ms --seed 3 --store";
    let sweep: Vec<&str> = sweep.split_whitespace().chain([store.as_str()]).collect();
    let file = dir.path().join("sweep.json");
    let json_to = format!("--json={}", file.display());
    let args: Vec<&str> = sweep.iter().copied().chain([json_to.as_str()]).collect();
    let swept = database.pgdyno(&args).expect(
        0,
        &[
            "active set",
            "the page cache ends will not be seen",
            "shared_buffers: 16 MB fit",
            "kept (is 16 MB)",
            "a logical read: ",
        ],
    );
    let document: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let points = document["points"].as_array().unwrap();
    assert!(points.len() >= 7, "{swept:?}");
    let hit = |point: &Value| point["hit_ratio"].as_f64().unwrap();
    assert!(
        hit(&points[0]) > 0.99 && hit(&points[points.len() - 1]) < 0.6,
        "{document:#}"
    );
    let caches = &document["caches"];
    let fits = caches["shared_buffers_end"]["fits_bytes"].as_f64().unwrap();
    let spills = caches["shared_buffers_end"]["spills_bytes"]
        .as_f64()
        .unwrap();
    let is = f64::from(16 << 20);
    assert!(
        fits <= is && spills >= 0.7 * is && spills <= 1.6 * is,
        "{caches:#}"
    );
    let keeps = caches["shared_buffers_keeps_bytes"].as_f64().unwrap();
    assert!((keeps / is - 1.0).abs() < 0.15, "{caches:#}");
    // Loaded once, and each trial is in the notebook with its account.
    let loaded = by_kind("text::json ->> 'loaded'", "text ->> 'loaded'");
    let kept = &format!(
        "SELECT count(*) || ' ' || (SELECT count(*) FROM event WHERE kind = 'before' AND \
         {loaded} IS NOT NULL) FROM finding WHERE name = 'accounting'"
    );
    let counts = format!("{} 1", points.len());
    ran(&mut pgdyno(&["sql", "--store", &store, kept])).expect(0, &[&counts]);
    ran(&mut pgdyno(&["show", "1", "--store", &store])).expect(0, &["LIOPS        "]);
    let file = dir.path().join("sweep.html");
    let output = file.to_str().unwrap();
    let report = ["report", "slob-size", "-o", output, "--store", &store];
    ran(&mut pgdyno(&report)).expect(0, &[]);
    is_shown_as_swept(&document_of(&file), &document);
}

/// The report has the sweep's figures, from the store, and those of each trial.
fn is_shown_as_swept(page: &Value, swept: &Value) {
    let slob = &page["slob"];
    assert_eq!(slob["x"]["unit"], "bytes");
    let points = swept["points"].as_array().unwrap();
    assert_eq!(slob["points"].as_array().unwrap().len(), points.len());
    for (at, point) in points.iter().enumerate() {
        let shown = &slob["points"][at];
        assert_eq!(shown["x"], point["size_bytes"]);
        assert_eq!(shown["liops"]["median"], point["liops"]);
        assert_eq!(shown["hit_share"], point["hit_ratio"]);
        assert_eq!(shown["us_per_read"], point["us_per_logical_read"]);
        assert_eq!(shown["p99_us"], point["unit_p99_us"]);
        assert_eq!(shown["trials"][0], at + 1);
        let trial = &page["pages"][at]["slob"];
        assert_eq!(trial["accounting"][0]["value"], point["liops"]);
        let units = trial["units"]["count"].as_array().unwrap();
        let units: u64 = units.iter().filter_map(Value::as_u64).sum();
        assert_eq!(units, point["trials"][0]["units"][0]["count"]);
    }
    assert_eq!(slob["marks"][0]["x"], 16 << 20);
    let fits = &swept["caches"]["shared_buffers_end"]["fits_bytes"];
    assert_eq!(&slob["knees"][0]["x"], fits);
    let sentence = slob["sentences"][0].as_str().unwrap();
    assert!(sentence.starts_with("shared_buffers: "), "{sentence}");
}

#[test]
fn sweeps_of_sessions_and_reads_are_experiments_too() {
    let server = pgdyno_testkit::postgres_with(&SMALL);
    let database = Database::on(&server, "acc_vary");
    let swept = |args: &str| {
        let args = format!("slob sweep --json -q -T 200ms --warmup 200ms --max-size 8MB {args}");
        let dir = tempfile::tempdir().unwrap();
        let store = crate::support::notebook::at(&dir.path().join("store"))
            .display()
            .to_string();
        let args: Vec<&str> = args.split_whitespace().chain(["--store", &store]).collect();
        json(&database.pgdyno(&args).expect(0, &[]))
    };
    let sessions = swept("--vary sessions -c 1,2");
    assert_eq!(sessions["points"][1]["value"], 2);
    assert_eq!(sessions["points"][1]["trials"][0]["sessions"], 2);
    assert!(sessions["caches"].is_null());
    let printed = database
        .pgdyno(&[
            "slob",
            "sweep",
            "--vary",
            "reads",
            "--print",
            "--param",
            "redo=heavy",
        ])
        .expect(
            0,
            &[
                "params.update_pct = [0, 5, 10, 25, 50, 100]",
                "redo = \"heavy\"",
            ],
        );
    assert!(!printed.stdout.contains("postgresql://"), "{printed:?}");
}

#[test]
fn an_impossible_sweep_fails_before_loading() {
    let database = Database::new("sweep_refused");
    for (args, want) in [
        (
            "--vary reads -c 1,2",
            "several --clients are for --vary sessions",
        ),
        ("--param scale=5", "--param scale: the sweep chooses it"),
        ("--max-size 1MB", "the least is 8MB"),
        ("--param nonsense", "it must be NAME=VALUE"),
    ] {
        let args = format!("slob sweep {args}");
        let args: Vec<&str> = args.split_whitespace().collect();
        database.pgdyno(&args).expect(2, &[want]);
    }
    assert_eq!(
        database.value("SELECT to_regclass('slob_sweep1') IS NULL"),
        "t"
    );
}
