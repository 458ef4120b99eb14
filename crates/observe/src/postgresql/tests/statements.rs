//! Statements beside what was executed.

use pgdyno_server::Server;

use super::{Database, on_each_version};
use crate::postgresql::statements::Statements;
use crate::testing::Bench;

on_each_version!(statements_of_the_trial_are_counted);

fn statements_of_the_trial_are_counted(server: &Server, major: u32) {
    let database = Database::new(server, "statements", true);
    database.run("CREATE TABLE observed (x int)");
    let mut session = database.session();
    let mut run = |sql: &str, times: usize| {
        for _ in 0..times {
            session.simple_query(sql).unwrap();
        }
    };
    run("SELECT count(*) FROM observed", 3);
    let mut bench = Bench::new(Statements::new(database.place()));
    bench.begin().unwrap();
    run("SELECT count(*) FROM observed", 4);
    run("INSERT INTO observed SELECT generate_series(1, 50)", 2);
    run("SELECT pg_sleep(0.2)", 1);
    let (result, batch) = bench.end();
    result.unwrap();
    let statements: Vec<_> = batch.statements.iter().map(|(_, s)| s).collect();
    let find = |part: &str| {
        let mut found = statements.iter().filter(|s| s.text.contains(part));
        let one = found.next();
        assert!(found.next().is_none(), "{part} twice: {statements:?}");
        one.copied()
            .unwrap_or_else(|| panic!("no {part}: {statements:?}"))
    };
    let counted = find("SELECT count(*) FROM observed");
    assert_eq!((counted.calls, counted.rows), (4, Some(4)));
    let inserted = find("INSERT INTO observed");
    assert_eq!((inserted.calls, inserted.rows), (2, Some(100)));
    let detail = |name: &str| {
        let mut details = inserted.details.iter();
        details.find_map(|(known, value)| (known == name).then_some(*value))
    };
    assert!(detail("shared_blks_dirtied").is_some(), "{inserted:?}");
    assert!(
        detail("wal_records").is_some_and(|n| n >= 100.0),
        "{inserted:?} on {major}"
    );
    // The most expensive first: the one that slept.
    assert!(
        statements[0].text.contains("pg_sleep($1)"),
        "{:?}",
        statements[0]
    );
    assert!(statements[0].time_us >= 200_000.0, "{:?}", statements[0]);
    // What the instrument itself asked is not among them.
    assert_eq!(statements.len(), 3, "{statements:?} on {major}");
}
