//! sysbench on CockroachDB and YugabyteDB: its scripts prepare, run and clean up with statements that are on
//! their lists. Nothing here was run on a real one.

use crate::support::{self, Ran};
use crate::targets::documented::{Documented, Product};
use crate::targets::documented_products::{COCKROACHDB_25_2, YUGABYTEDB};

const SCRIPTS: [&str; 10] = [
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_delete",
    "oltp_insert",
    "select_random_points",
    "select_random_ranges",
];

/// Runs a line; what it said, and the statements of it.
fn sysbench(server: &Documented, line: &str) -> (Ran, Vec<String>) {
    let before = server.statements().len();
    let address = server.addresses().remove(0);
    let (host, port) = address.split_once(':').unwrap();
    let mut command =
        support::pgdyno(&["sysbench", "--db-driver=pgsql", "--pgsql-sslmode=disable"]);
    command.args([
        format!("--pgsql-host={host}"),
        format!("--pgsql-port={port}"),
        "--pgsql-user=me".to_owned(),
        "--pgsql-db=d".to_owned(),
    ]);
    let ran = support::ran(command.args(line.split_whitespace()));
    (ran, server.statements().split_off(before))
}

fn of(statements: &[String], start: &str) -> Vec<String> {
    let found = statements.iter().filter(|sql| sql.starts_with(start));
    found.cloned().collect()
}

#[test]
fn every_script_prepares_runs_and_cleans_up_on_each_product() {
    for product in [COCKROACHDB_25_2, YUGABYTEDB] {
        let name = product.name;
        let server = Documented::start(product);
        for script in SCRIPTS {
            let size = "--table-size=60";
            sysbench(&server, &format!("{script} {size} prepare"))
                .0
                .expect(0, &[]);
            let run = format!("{script} {size} --threads=2 --events=10 --time=0 --rand-seed=3 run");
            let (ran, _) = sysbench(&server, &run);
            let ran = ran.expect(0, &["SQL statistics:"]);
            let line = ran
                .stdout
                .lines()
                .find(|line| line.trim().starts_with("transactions:"));
            let done = line.and_then(|line| line.split_whitespace().nth(1));
            // Two writers of the same row may meet.
            let done: u64 = done.unwrap().parse().unwrap();
            assert!((1..=10).contains(&done), "{name} {script}: {ran:?}");
            let (ran, statements) = sysbench(&server, &format!("{script} {size} cleanup"));
            ran.expect(0, &["Dropping table 'sbtest1'..."]);
            assert_eq!(of(&statements, "DROP TABLE").len(), 1, "{name} {script}");
        }
    }
}

fn prepared(product: Product, line: &str) -> Vec<String> {
    let server = Documented::start(product);
    let (ran, statements) = sysbench(&server, line);
    ran.expect(0, &[]);
    let made = [
        "CREATE TABLE sb",
        "CREATE INDEX",
        "ALTER",
        "SELECT setval",
        "VACUUM",
    ];
    let is_made = |sql: &String| made.iter().any(|start| sql.starts_with(start));
    statements.into_iter().filter(is_made).collect()
}

#[test]
fn keys_come_with_the_tables_and_the_sequence_goes_on_where_there_is_one() {
    let line = "oltp_read_write --table-size=60 prepare";
    let columns = "DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL";
    assert_eq!(
        prepared(COCKROACHDB_25_2, line),
        [
            format!(
                "CREATE TABLE sbtest1 (id SERIAL PRIMARY KEY, k INT8 DEFAULT 0 NOT NULL, c CHAR(120) {columns});"
            ),
            "CREATE INDEX k_1 ON sbtest1 (k);".to_owned(),
        ]
    );
    assert_eq!(
        prepared(YUGABYTEDB, line),
        [
            format!(
                "CREATE TABLE sbtest1 (id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) {columns}, PRIMARY KEY (id));"
            ),
            "SELECT setval(pg_get_serial_sequence('sbtest1', 'id'), 60);".to_owned(),
            "CREATE INDEX k_1 ON sbtest1 (k);".to_owned(),
        ]
    );
    let line = "oltp_insert --auto-inc=off --create-secondary=off prepare";
    for (product, id) in [(COCKROACHDB_25_2, "INT8"), (YUGABYTEDB, "INTEGER")] {
        let made = prepared(product, line);
        assert_eq!(made.len(), 1, "{made:?}");
        assert!(made[0].contains(&format!("(id {id} NOT NULL")), "{made:?}");
    }
}
