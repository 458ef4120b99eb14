//! Newer CockroachDB and YugabyteDB: the statements that their documentation asks for
//! (`docs/targets.md` names the pages). Nothing here was run on a real one.

use crate::support::{self, Ran};
use crate::targets::documented::{Documented, Product};

pub const YUGABYTEDB: Product = Product::new("yugabytedb 2025.2");

pub const COCKROACHDB_25_2: Product = Product::new("cockroachdb 25.2");

/// Runs the program on such a server; what it said, and the statements.
fn on(product: Product, args: &[&str]) -> (Ran, Vec<String>) {
    run_on(&Documented::start(product), args)
}

/// The same on a server that is there; the statements are those of this run.
fn run_on(server: &Documented, args: &[&str]) -> (Ran, Vec<String>) {
    let before = server.statements().len();
    let (url, address) = (server.url(), server.addresses().remove(0));
    let (host, port) = address.split_once(':').unwrap();
    let target = match args[0] {
        "pgbench" | "ysql_bench" => vec!["-h", host, "-p", port, "-U", "me", "d"],
        _ => vec!["--url", &url],
    };
    let args: Vec<&str> = args.iter().copied().chain(target).collect();
    let ran = support::ran(support::pgdyno(&args).env("PGSSLMODE", "disable"));
    (ran, server.statements().split_off(before))
}

/// The statements that change something, without the mark of pgdyno's own, and each mark on a table without
/// what follows its beginning.
fn changes(statements: Vec<String>) -> Vec<String> {
    let statements =
        { statements.into_iter() }.map(|sql| sql.replace(" /* pgdyno observer */", ""));
    let statements = statements.filter(|sql| {
        let lower = sql.to_lowercase();
        !lower.starts_with("select") && !lower.starts_with("show")
    });
    statements
        .map(|sql| match sql.split_once(" IS ") {
            Some((comment, _)) if sql.starts_with("COMMENT") => comment.to_owned(),
            _ => sql,
        })
        .collect()
}

#[test]
fn a_load_on_yugabytedb_states_its_sharding_commits_in_batches_and_does_not_vacuum() {
    let (ran, statements) = on(YUGABYTEDB, &["load", "tpcb", "--param", "tablets=6"]);
    let ran = ran.expect(
        0,
        &[
            "range_keys = false, scale = 1, tablets = 6",
            "committed every 20,000 rows",
            "yb_disable_transactional_writes = on",
        ],
    );
    assert!(!ran.stdout.contains("fillfactor"), "{ran:#?}");
    assert_eq!(
        changes(statements),
        [
            "SET yb_disable_transactional_writes = 'on'",
            "create table pgbench_history(tid int, bid int, aid int, delta int, mtime timestamp, \
             filler char(22)) split into 6 tablets;",
            "create table pgbench_accounts(aid int not null, bid int, abalance int, filler \
             char(84), primary key (aid hash)) split into 6 tablets;",
            "create table pgbench_tellers(tid int not null, bid int, tbalance int, filler \
             char(84), primary key (tid hash));",
            "create table pgbench_branches(bid int not null, bbalance int, filler char(88), \
             primary key (bid hash));",
            "COMMENT ON TABLE pgbench_branches",
            "COMMENT ON TABLE pgbench_tellers",
            "COMMENT ON TABLE pgbench_accounts",
            "COMMENT ON TABLE pgbench_history",
            "COPY pgbench_branches (\"bid\", \"bbalance\", \"filler\") FROM STDIN WITH \
             (ROWS_PER_TRANSACTION 20000)",
            "COPY pgbench_tellers (\"tid\", \"bid\", \"tbalance\", \"filler\") FROM STDIN WITH \
             (ROWS_PER_TRANSACTION 20000)",
            "COPY pgbench_accounts (\"aid\", \"bid\", \"abalance\", \"filler\") FROM STDIN WITH \
             (ROWS_PER_TRANSACTION 20000)",
            "ANALYZE pgbench_branches",
            "ANALYZE pgbench_tellers",
            "ANALYZE pgbench_accounts",
            "ANALYZE pgbench_history",
            "COMMENT ON TABLE pgbench_branches",
            "COMMENT ON TABLE pgbench_tellers",
            "COMMENT ON TABLE pgbench_accounts",
            "COMMENT ON TABLE pgbench_history",
            "RESET yb_disable_transactional_writes",
        ]
    );
}

#[test]
fn yugabytedbs_keys_can_be_ranges() {
    let (ran, statements) = on(YUGABYTEDB, &["load", "tpcb", "--param", "range_keys=true"]);
    ran.expect(0, &["range_keys = true"]);
    let keys = statements.iter().filter(|sql| sql.contains("primary key"));
    let keys: Vec<_> = keys
        .filter_map(|sql| sql.split_once("primary key").map(|(_, key)| key))
        .collect();
    assert_eq!(keys, [" (aid asc));", " (tid asc));", " (bid asc));"]);
    let (ran, statements) = on(
        YUGABYTEDB,
        &[
            "load",
            "tpcb",
            "--param",
            "range_keys=true",
            "--param",
            "tablets=6",
        ],
    );
    ran.expect(
        2,
        &["tpcb: tablets=6 is for tables that are sharded by hashes"],
    );
    assert_eq!(statements, [""; 0]);
}

#[test]
fn an_unsupported_setting_is_reported_and_left_alone() {
    let product = Product {
        refuses: &[(
            "SET /* pgdyno observer */ yb_disable_transactional_writes",
            "42704",
            "unrecognized configuration parameter \"yb_disable_transactional_writes\"",
        )],
        ..YUGABYTEDB
    };
    let (ran, _) = on(product, &["load", "tpcb"]);
    ran.expect(
        0,
        &[
            "without yb_disable_transactional_writes = on, which the server does not take: \
           unrecognized configuration parameter",
        ],
    );
}

#[test]
fn a_load_that_yugabytedb_breaks_off_leaves_marked_tables() {
    let product = Product {
        refuses: &[("create table pgbench_tellers", "XX000", "no tablet server")],
        ..YUGABYTEDB
    };
    let (ran, statements) = on(product, &["load", "tpcb"]);
    ran.expect(
        1,
        &[
            "could not create the tables: no tablet server",
            "incomplete tables left",
        ],
    );
    // What is there is marked, or the next load would not touch it.
    assert_eq!(
        changes(statements).into_iter().rev().nth(1).unwrap(),
        "COMMENT ON TABLE pgbench_history"
    );
}

#[test]
fn ysql_bench_makes_its_own_tables_with_sharded_keys() {
    let (ran, statements) = on(YUGABYTEDB, &["ysql_bench", "-i", "--batch-size=50000"]);
    ran.expect(
        0,
        &[
            "creating tables (with primary keys)...",
            "100000 of 100000 tuples (100%) of ysql_bench_accounts done",
        ],
    );
    assert_eq!(
        statements,
        [
            "drop table if exists ysql_bench_accounts, ysql_bench_branches, ysql_bench_history, \
             ysql_bench_tellers",
            "create table ysql_bench_history(tid int,bid int,aid    int,delta int,mtime \
             timestamp,filler char(22))",
            "create table ysql_bench_tellers(tid int not null,bid int,tbalance int,filler \
             char(84),primary key (tid hash))",
            "create table ysql_bench_accounts(aid    int not null,bid int,abalance int,filler \
             char(84),primary key (aid hash))",
            "create table ysql_bench_branches(bid int not null,bbalance int,filler \
             char(88),primary key (bid hash))",
            "truncate table ysql_bench_accounts, ysql_bench_branches, ysql_bench_history, \
             ysql_bench_tellers",
            "copy ysql_bench_branches from stdin",
            "copy ysql_bench_tellers from stdin",
            "copy ysql_bench_accounts from stdin",
            "copy ysql_bench_accounts from stdin",
        ]
    );
}

#[test]
fn pgbench_on_yugabytedb_commits_in_batches_and_counts_where_it_cannot_vacuum() {
    let (ran, statements) = on(YUGABYTEDB, &["pgbench", "-i", "-q", "-I", "dtgvpf"]);
    ran.expect(
        0,
        &["creating primary keys... (YugabyteDB: they come with the tables)"],
    );
    assert_eq!(
        statements[6..13],
        [
            "copy pgbench_branches from stdin with (rows_per_transaction 20000)",
            "copy pgbench_tellers from stdin with (rows_per_transaction 20000)",
            "copy pgbench_accounts from stdin with (rows_per_transaction 20000)",
            "ANALYZE pgbench_branches",
            "ANALYZE pgbench_tellers",
            "ANALYZE pgbench_accounts",
            "ANALYZE pgbench_history",
        ]
    );
    assert_eq!(
        statements[13],
        "alter table pgbench_tellers add constraint pgbench_tellers_bid_fkey foreign key (bid) \
         references pgbench_branches"
    );
    assert_eq!(statements.len(), 18);
}

#[test]
fn a_newer_cockroachdb_needs_no_index_for_a_foreign_key_and_loads_in_the_foreground() {
    let (ran, statements) = on(COCKROACHDB_25_2, &["pgbench", "-i", "-q", "-I", "dtgvpf"]);
    ran.expect(
        0,
        &[
            "vacuuming...\n",
            "creating primary keys... (CockroachDB: they come with the tables)",
            "creating foreign keys...",
        ],
    );
    assert!(
        !statements.iter().any(|sql| sql.contains("index")),
        "{statements:#?}"
    );
    let (ran, statements) = on(COCKROACHDB_25_2, &["load", "tpcb"]);
    ran.expect(0, &["copy_transaction_quality_of_service = regular"]);
    let copies = statements
        .iter()
        .filter(|sql| sql.starts_with("COPY pgbench_accounts"));
    assert_eq!(copies.count(), 10, "10,000 rows each");
}

#[test]
fn an_unknown_product_is_treated_as_postgresql_with_a_warning() {
    let product = Product {
        refuses: &[("SELECT pg_", "42883", "unknown function")],
        ..Product::new("Another''s database 9.9")
    };
    let (ran, statements) = on(product, &["load", "tpcb"]);
    ran.expect(
        0,
        &["pgdyno does not know this product and treats it as PostgreSQL: Another's database 9.9"],
    );
    assert!(statements.contains(&"VACUUM ANALYZE pgbench_accounts".to_owned()));
    // Whether it can freeze rows is not known, so it is not tried.
    assert!(!statements.iter().any(|sql| sql.contains("FREEZE")));
}

/// The same load through three nodes.
fn loaded_through_three(product: Product) -> (Ran, Documented) {
    let server = Documented::start(Product {
        nodes: 3,
        dealt: Some("pgbench_accounts"),
        ..product
    });
    let hosts = server.addresses().into_iter();
    // A fourth one, which nothing listens at.
    let hosts: Vec<String> = hosts.chain(["127.0.0.1:1".to_owned()]).collect();
    let url = format!("postgresql://me@{}/d?sslmode=disable", hosts.join(","));
    let ran = support::ran(&mut support::pgdyno(&["load", "tpcb", "--url", &url]));
    (ran, server)
}

#[test]
fn a_table_is_filled_through_every_node_at_once() {
    for (product, batches, set) in [
        (
            COCKROACHDB_25_2,
            10,
            "SET /* pgdyno observer */ copy_transaction_quality_of_service = 'regular'",
        ),
        (
            YUGABYTEDB,
            5,
            "SET /* pgdyno observer */ yb_disable_transactional_writes = 'on'",
        ),
    ] {
        let (ran, server) = loaded_through_three(product);
        let statements = server.statements();
        ran.expect(
            0,
            &[
                "100,011 rows",
                "filled through 3 nodes",
                "not filled through 127.0.0.1:1: connection to server",
            ],
        );
        let beginning = |text: &str| {
            statements
                .iter()
                .filter(|sql| sql.starts_with(text))
                .count()
        };
        assert_eq!(beginning("COPY pgbench_accounts"), batches);
        // What fits into one batch is not worth it.
        assert_eq!(beginning("COPY pgbench_tellers"), 1);
        assert_eq!(
            beginning(set),
            4,
            "the session of the load, and one on each node"
        );
        // Some through each node, and each row once.
        let copied = server.copied();
        assert!(copied.iter().all(|rows| *rows > 0), "{copied:?}");
        assert_eq!(copied.iter().sum::<u64>(), 100_000, "{copied:?}");
        let rows = server.database.value(
            "SELECT concat_ws(' ', count(*), count(DISTINCT aid), min(aid), max(aid), \
             count(*) FILTER (WHERE bid = 1 AND abalance = 0)) FROM pgbench_accounts",
        );
        assert_eq!(rows, "100000 100000 1 100000 100000");
    }
}

#[test]
fn a_node_that_fails_ends_the_load() {
    let product = Product {
        refuses: &[("COPY pgbench_accounts", "53200", "memory budget exceeded")],
        ..COCKROACHDB_25_2
    };
    let (ran, _) = loaded_through_three(product);
    ran.expect(
        1,
        &["could not fill pgbench_accounts: memory budget exceeded (SQLSTATE 53200)"],
    );
}

/// A pack with one table of one column.
const ONE_COLUMN: &str = "
name = 'growing'
summary = 'One column.'
description = 'One column.'
schema = 'schema.sql'
[[param]]
name = 'rows'
default = 10
min = 1
help = 'Rows.'
grows = true
[[script]]
name = 'one'
file = 'one.sql'
[[table]]
name = 'growing1'
rows = ':rows'
columns = [{ name = 'k', value = ':row' }]
";

#[test]
fn tables_that_grow_where_a_load_is_no_transaction_are_marked_until_it_is_over() {
    let pack = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("pack.toml", ONE_COLUMN),
        ("schema.sql", "CREATE TABLE growing1 (k int);\n"),
        ("one.sql", "SELECT k FROM growing1 WHERE k = 1;\n"),
    ] {
        std::fs::write(pack.path().join(name), text).unwrap();
    }
    let folder = pack.path().to_str().unwrap();
    let server = Documented::start(YUGABYTEDB);
    let (loaded, statements) = run_on(&server, &["load", folder]);
    loaded.expect(0, &["10 rows"]);
    let marks = |statements: &[String]| -> Vec<String> {
        let comment = "COMMENT ON TABLE growing1 IS '";
        let marks = statements
            .iter()
            .filter_map(|sql| sql.strip_prefix(comment));
        marks
            .map(|mark| mark.trim_end_matches('\'').to_owned())
            .collect()
    };
    let mark = marks(&statements).pop().unwrap();
    assert!(mark.contains("\"complete\""), "{mark}");
    let grow = ["load", folder, "--grow", "--param", "rows=25"];
    let (grown, statements) = run_on(&server, &grow);
    grown.expect(0, &["growing has grown (rows = 25) by 15 rows"]);
    let states: Vec<String> = marks(&statements);
    assert_eq!(states.len(), 2, "{statements:#?}");
    assert!(states[0].contains("\"loading\"") && states[1].contains("\"complete\""));
    assert!(
        states.iter().all(|mark| mark.contains(r#"{"rows":"25"}"#)),
        "{states:?}"
    );
    assert!(
        !statements.iter().any(|sql| sql == "BEGIN"),
        "{statements:#?}"
    );
    server.refuse(("COPY", "53100", "no space left on device"));
    let grow = ["load", folder, "--grow", "--param", "rows=40"];
    let (failed, statements) = run_on(&server, &grow);
    failed.expect(
        1,
        &[
            "could not fill growing1",
            "no space left on device",
            "incomplete tables are left: the next load drops them and starts again",
        ],
    );
    assert_eq!(marks(&statements).len(), 1, "{statements:#?}");
}

#[test]
fn where_there_is_no_buffer_pool_a_sweep_is_refused_and_its_hint_names_what_runs_there() {
    // That `run slob` does, on these products: products.rs.
    for product in [COCKROACHDB_25_2, YUGABYTEDB] {
        let (ran, statements) = on(product, &["slob", "sweep", "--max-size", "64MB"]);
        ran.expect(
            1,
            &[
                "there is no buffer pool to sweep",
                "hint: its own figures: pgdyno run slob",
            ],
        );
        assert_eq!(changes(statements), [""; 0]);
    }
}

/// Loads a pack and runs each of its mixes.
#[track_caller]
fn takes_pack(product: &Product, pack: &str, params: &[&str], mixes: &[&str]) {
    let server = Documented::start(product.clone());
    let with = |args: &[&str]| {
        let given = params.iter().flat_map(|param| ["--param", param]);
        let args: Vec<&str> = args.iter().copied().chain(given).collect();
        run_on(&server, &args).0
    };
    with(&["load", pack, "--quiet"]).expect(0, &[]);
    let run = "--no-store -c 2 -t 40 --max-tries 20 --observe none --quiet";
    let run: Vec<&str> = ["run", pack].into_iter().chain(run.split(' ')).collect();
    with(&run).expect(0, &[" held"]);
    for mix in mixes {
        with(&[&run[..], &["--mix", mix]].concat()).expect(0, &[" held"]);
    }
}

#[test]
fn the_packs_of_plain_files_load_run_and_are_checked_on_each_product() {
    for product in [&COCKROACHDB_25_2, &YUGABYTEDB] {
        takes_pack(product, "tatp", &["subscribers=80"], &["reads", "writes"]);
        takes_pack(product, "kv", &["insert_count=50"], &["kv50"]);
        takes_pack(product, "smallbank", &["customers=200"], &["read-mostly"]);
        takes_pack(product, "queue", &["jobs=50"], &[]);
        takes_pack(product, "upsert", &["counters=20"], &[]);
        takes_pack(product, "timeseries", &["readings=200"], &["read"]);
        takes_pack(product, "indexes", &["secondary_indexes=11"], &[]);
        let brief = ["rows=20", "hold_ms_min=0", "hold_ms_max=0"];
        takes_pack(product, "insights", &brief, &[]);
    }
}

#[test]
fn tpcc_is_loaded_with_its_keys_and_its_conditions_hold() {
    let forms = ["form=statements", "form=batch", "form=procedure"];
    // CockroachDB's procedures cannot try again by themselves.
    for (product, forms) in [(COCKROACHDB_25_2, &forms[..2]), (YUGABYTEDB, &forms[..])] {
        let name = product.name;
        let server = Documented::start(product);
        let params =
            "--param warehouses=2 --param districts=2 --param customers=50 --param items=100";
        let load: Vec<&str> = "load tpcc".split(' ').chain(params.split(' ')).collect();
        let (loaded, statements) = run_on(&server, &load);
        loaded.expect(0, &[]);
        let count = |text: &str| statements.iter().filter(|sql| sql.contains(text)).count();
        // All tables but history are made with their keys.
        assert_eq!(count("PRIMARY KEY"), 8, "{name}");
        assert_eq!(count("ADD PRIMARY KEY"), 0, "{name}");
        assert_eq!(count("FOREIGN KEY"), 10, "{name}");
        for form in forms {
            let run =
                "run tpcc --no-store -c 1 -t 40 --seed 7 --max-tries 100 --observe none --param";
            let run: Vec<&str> = run.split(' ').chain([*form]).collect();
            let (ran, _) = run_on(&server, &run);
            ran.expect(0, &[" 0 failed", "12 of 12 held"]);
        }
    }
}
