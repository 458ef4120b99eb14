//! Sizes and residency beside the server's own functions.

use pgdyno_server::Server;

use super::{Database, number, on_each_version, until};
use crate::postgresql::residency::Residency;
use crate::postgresql::sizes::Sizes;
use crate::testing::{Bench, Figures};

on_each_version!(sizes_are_the_servers_own, residency_is_the_servers_own);

fn sizes_are_the_servers_own(server: &Server, _major: u32) {
    let database = Database::new(server, "sizes", false);
    database.run(
        "CREATE TABLE grown (x int PRIMARY KEY, y text) WITH (autovacuum_enabled = off); \
         INSERT INTO grown SELECT g, repeat('x', 100) FROM generate_series(1, 10000) g",
    );
    let mut control = database.session();
    let functions = [
        ("pg.size.table", "grown", "SELECT pg_table_size('grown')"),
        (
            "pg.size.index",
            "grown_pkey",
            "SELECT pg_relation_size('grown_pkey')",
        ),
    ];
    let before = functions.map(|(_, _, sql)| number(&mut control, sql));
    let counted = "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'grown'";
    until("the rows are counted", || {
        number(&mut control, counted) >= 10_000.0
    });
    let mut bench = Bench::new(Sizes::new(database.place()));
    bench.begin().unwrap();
    database
        .run("INSERT INTO grown SELECT g, repeat('x', 100) FROM generate_series(10001, 30000) g");
    until("all are counted", || {
        number(&mut control, counted) >= 30_000.0
    });
    let (result, batch) = bench.end();
    result.unwrap();
    for (i, (name, label, sql)) in functions.into_iter().enumerate() {
        let after = number(&mut control, sql);
        assert_eq!(
            batch.grown(name, label),
            after - before[i],
            "{name} {label}"
        );
        assert!(after > before[i], "{name} {label}");
    }
    let grown = batch.grown("pg.size.database", "");
    assert!(grown >= batch.grown("pg.size.table", "grown"), "{grown}");
    // It was used, and never analyzed.
    let reported: Vec<_> = batch
        .notes
        .iter()
        .map(|note| (&*note.code, &*note.sentence))
        .collect();
    let [("table-not-vacuumed", sentence)] = reported[..] else {
        panic!("{reported:?}");
    };
    assert!(sentence.contains("grown (never analyzed)"), "{sentence}");
}

fn residency_is_the_servers_own(server: &Server, major: u32) {
    let database = Database::new(server, "residency", true);
    database.run(
        "CREATE TABLE cached (x int) WITH (autovacuum_enabled = off); \
         INSERT INTO cached SELECT generate_series(1, 10000)",
    );
    let mut control = database.session();
    let own = "SELECT count(*) * 8192 FROM pg_buffercache \
               WHERE relfilenode = pg_relation_filenode('cached') \
               AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let before = number(&mut control, own);
    let mut bench = Bench::new(Residency::new(database.place()));
    bench.begin().unwrap();
    database.run("INSERT INTO cached SELECT generate_series(1, 40000)");
    let (result, batch) = bench.end();
    result.unwrap();
    let after = number(&mut control, own);
    assert!(after > before);
    let grown = batch.grown("pg.buffered", "cached");
    assert_eq!(grown, after - before, "on {major}");
    assert!(batch.grown("pg.buffered", "all") != 0.0);
    let dirty = batch
        .totals
        .iter()
        .filter(|total| total.after > 0.0)
        .count();
    assert!(dirty > 2, "{:?}", batch.totals);
}
