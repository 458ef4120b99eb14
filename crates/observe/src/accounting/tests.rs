//! The arithmetic, and the counters of a real server.

use pgdyno_server::Server;
use pgdyno_session::Session;

use super::*;
use pgdyno_database::dialect::Product;
use pgdyno_database::facts;
use pgdyno_database::open::{self, Target};
use pgdyno_model::Fact;
use pgdyno_model::document::accounting::example::{counters, example};
use pgdyno_model::document::{Accounting, BufferCounters, Facts, UnitCount};
use pgdyno_spec::TargetSpec;

#[track_caller]
fn about(value: Option<f64>, want: f64) {
    let value = value.expect("a figure");
    assert!(
        (value - want).abs() < want.abs() * 1e-9,
        "{value}, not {want}"
    );
}

#[test]
fn figures_follow_from_what_was_counted() {
    let it = example();
    assert_eq!(it.logical_reads(), Some(1_000_000));
    about(it.liops(), 100_000.0);
    about(it.misses_per_s(), 25_000.0);
    about(it.hit_ratio(), 0.75);
    about(it.miss_ratio(), 0.25);
    about(it.device_reads_per_s(), 100.0);
    about(it.device_bytes_per_s(), 819_200.0);
    about(it.device_ratio(), 0.001);
    about(it.wal_bytes_per_s(), 500_000.0);
    about(it.cpu_us_per_logical_read(), 16.0);
    about(it.liops_per_core(), 62_500.0);
    about(it.cores_busy(), 1.6);
    about(it.busy_share(), 0.8);
    about(it.us_per_logical_read(), 20.0);
    about(it.counted_by_expected(), 1_000_000.0 / (3900.0 * 256.0));
    about(it.buffers_per_unit(), 1_000_000.0 / 3900.0);
}

#[test]
fn what_is_not_known_has_no_figures() {
    let reset = Accounting {
        buffers: Fact::Known(BufferCounters {
            after: counters([("blks_hit", 1), ("blks_read", 1)]),
            ..example().buffers.known().unwrap().clone()
        }),
        ..example()
    };
    assert_eq!((reset.liops(), reset.hit_ratio()), (None, None));
    assert_eq!(reset.cpu_us_per_logical_read(), None);
    let idle = Accounting {
        elapsed_us: 0,
        units: Vec::new(),
        cpu_us: Fact::Unknown("elsewhere".to_owned()),
        ..example()
    };
    assert_eq!(
        (idle.liops(), idle.cores_busy(), idle.liops_per_core()),
        (None, None, None)
    );
    assert_eq!(
        (idle.counted_by_expected(), idle.buffers_per_unit()),
        (None, None)
    );
    let mut mixed = example();
    mixed.units.push(UnitCount {
        kind: "update".to_owned(),
        count: 1,
        rows_each: 8,
    });
    // Whose buffers are whose is not known.
    assert_eq!(mixed.counted_by_expected(), None);
}

#[test]
fn it_is_kept_as_json_and_read_again() {
    let text = serde_json::to_string(&example()).unwrap();
    let again: Accounting = serde_json::from_str(&text).unwrap();
    assert_eq!(again, example());
}

const ROWS: u64 = 2000;

/// A row a block and an index, as the method wants it.
fn make_table(session: &mut Session, name: &str) {
    let sql = format!(
        "CREATE TABLE {name} (mykey bigint, scratch bigint, filler char(1024)) \
             WITH (fillfactor = 10); \
         INSERT INTO {name} SELECT n, n, 'x' FROM generate_series(1, {ROWS}) n \
             ORDER BY hashint8(n); \
         CREATE INDEX ON {name} (mykey); ANALYZE {name}; SELECT sum(scratch) FROM {name}"
    );
    session.simple_query(&sql).unwrap();
}

fn unit(table: &str, key: u64, rows: u64) -> String {
    let last = key + rows - 1;
    format!("SELECT sum(scratch) FROM {table} WHERE mykey BETWEEN {key} AND {last}")
}

fn keys(count: u64, rows: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |n| n * 7919 % (ROWS - rows) + 1)
}

fn known(url: &str) -> (Target, Product, Facts) {
    let target = open::existing(&TargetSpec::at(url)).unwrap().unwrap();
    let mut session = target.connect().unwrap();
    let product = Product::ask(&mut session).unwrap();
    (target, product, facts::collect(&mut session))
}

/// What a session's reads come to on this server: counted, and explained.
fn accounted(server: &Server, table: &str, rows: u64, count: u64) -> Accounting {
    let (target, product, facts) = known(&server.address().url());
    let mut session = target.connect().unwrap();
    make_table(&mut session, table);
    drop(session);
    let mut reader = Reader::new(&target, &product, &facts);
    let mut session = target.connect().unwrap();
    reader.at_barrier();
    let begun = std::time::Instant::now();
    for key in keys(count, rows) {
        let answer = session.query_one_value(&unit(table, key, rows)).unwrap();
        assert!(answer.is_some());
    }
    let elapsed_us = begun.elapsed().as_micros() as u64;
    drop(session);
    let mut it = reader.after(elapsed_us, 1).unwrap();
    it.units = vec![UnitCount {
        kind: "select".to_owned(),
        count,
        rows_each: rows,
    }];
    let buffers = product.dialect.storage.buffers.as_ref().unwrap();
    let statements = keys(100, rows).map(|key| unit(table, key, rows));
    let session = reader.session().unwrap();
    session.simple_query("SET enable_bitmapscan = off").unwrap();
    it.expected = expected::of(session, buffers, "select", statements);
    it
}

/// The counters that only this test's sessions can have moved agree with EXPLAIN.
#[track_caller]
fn agrees(it: &Accounting) {
    let expected = it
        .expected
        .known()
        .unwrap_or_else(|| panic!("{:?}", it.expected));
    assert!(expected.plan().contains("Index Scan using"), "{expected:?}");
    let ratio = it.counted_by_expected().unwrap();
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}: {it:?}");
    assert!(it.us_per_logical_read().unwrap() > 0.0);
    assert!(it.wal_bytes.known().is_some(), "{:?}", it.wal_bytes);
    assert!(it.cpu_us.known().is_some(), "{:?}", it.cpu_us);
}

#[test]
fn the_servers_count_is_what_explain_tells_of_the_units_that_were_done() {
    let server = pgdyno_testkit::postgres_with(&["autovacuum=off"]);
    let it = accounted(&server, "acc_255", 255, 400);
    agrees(&it);
    match &it.io {
        Fact::Known(io) => {
            let hits: u64 = io.iter().map(|row| row.hits).sum();
            let read = it.logical_reads().unwrap() as f64;
            assert!(hits as f64 > 0.9 * read, "{io:?}");
        }
        // By whatever PostgreSQL there is.
        Fact::Unknown(why) => assert!(why.contains("came with PostgreSQL 16"), "{why}"),
    }
    assert!(
        it.device.known().is_some() || it.device != Fact::default(),
        "{:?}",
        it.device
    );
}
