//! Servers that speak the protocol and say that they are PostgreSQL. What each answers was asked of a real one (H2
//! 2.5.252, QuestDB 9.0.3, DuckDB 1.1.3 behind buenavista 0.5), or is documented in its source (immudb,
//! Materialize); a real PostgreSQL does the rest.

use serde_json::Value;

use crate::support::{self, Ran};
use crate::targets::documented::{Documented, Product};

/// How the questions begin that tell PostgreSQL from others.
const PROOF: &str = "SELECT /* pgdyno observer */ pg_catalog.pg_backend_pid() > 0";

const QUESTDB: Product = Product {
    refuses: &[
        (
            "SELECT /* pgdyno observer */ pg_catalog.pg_",
            "00000",
            "unknown function name: pg_backend_pid()",
        ),
        (
            "SELECT /* pgdyno observer */ EXISTS",
            "00000",
            "table does not exist [table=pg_settings]",
        ),
        (
            "SELECT /* pgdyno observer */ NOT EXISTS",
            "00000",
            "unexpected token [EXISTS]",
        ),
        ("COMMENT", "00000", "unexpected token [ON]"),
    ],
    ..Product::new("PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB")
};

const H2: Product = Product {
    refuses: &[
        (
            "SELECT /* pgdyno observer */ pg_catalog.",
            "90022",
            "Function \"pg_backend_pid\" not found",
        ),
        (
            "SELECT /* pgdyno observer */ EXISTS",
            "42102",
            "Table \"pg_catalog.pg_class\" not found",
        ),
        (
            "SELECT /* pgdyno observer */ NOT EXISTS",
            "42102",
            "Table \"pg_catalog.pg_class\" not found",
        ),
        ("COPY", "42001", "Syntax error in SQL statement"),
    ],
    ..Product::new("PostgreSQL 8.2.23 server protocol using H2 2.5.252 (2026-09-23)")
};

/// It asks for nothing that PostgreSQL does not answer, and its catalogues say what is asked for.
const LIAR: Product = Product {
    refuses: &[(PROOF, "42883", "no such function")],
    tables: &[("SELECT /* pgdyno observer */ NOT EXISTS", 1, &["f"])],
    ..Product::new("PostgreSQL 14.0 on something else")
};

/// Runs the program on such a server; what it said, and the statements.
fn on(product: Product, args: &[&str]) -> (Ran, Vec<String>) {
    let server = Documented::start(product);
    let ran = support::ran(support::pgdyno(args).args(["--url", &server.url()]));
    let statements = server.statements();
    (ran, statements)
}

fn script() -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".sql").tempfile().unwrap();
    std::fs::write(file.path(), "SELECT 1 AS one;\n").unwrap();
    file
}

#[test]
fn scripts_run_in_all_protocols_and_nothing_is_made_of_catalogues() {
    let file = script();
    let path = file.path().to_str().unwrap();
    for (product, name) in [
        (QUESTDB, "QuestDB"),
        (H2, "H2 2.5.252"),
        (LIAR, "a server that speaks the protocol"),
    ] {
        for mode in ["simple", "extended", "prepared"] {
            let args = [
                "run",
                path,
                "-q",
                "-M",
                mode,
                "-c",
                "2",
                "-t",
                "5",
                "--json",
                "--no-store",
            ];
            let (ran, statements) = on(product.clone(), &args);
            let ran = ran.expect(0, &[]);
            let document: Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!(document["measured"]["committed"], 10, "{name} {mode}");
            assert_eq!(
                document["target"]["facts"]["dialect"], "other",
                "{name} {mode}"
            );
            let notes = document["notes"].as_array().unwrap();
            let said: Vec<&str> = notes
                .iter()
                .filter_map(|note| note["sentence"].as_str())
                .collect();
            assert!(
                said.iter()
                    .any(|text| text.contains(name) && text.contains("is not PostgreSQL")),
                "{said:?}"
            );
            // Of its settings and sessions nothing is known, so nothing is advised.
            let series = document["observed"]["series"].to_string();
            assert!(!series.contains("\"pg."), "{name}: {series}");
            let advice = ["not-durable", "same-notebook", "standby"];
            assert!(
                !notes
                    .iter()
                    .any(|note| advice.contains(&note["code"].as_str().unwrap()))
            );
            let acts = |sql: &&String| sql.contains("pg_stat_") && !sql.contains("pgdyno observer");
            assert_eq!(statements.iter().find(acts), None, "{name} {mode}");
            assert!(
                !ran.stderr.contains("a pooler in between"),
                "{name}: {}",
                ran.stderr
            );
        }
    }
}

#[test]
fn a_target_is_named_by_what_it_is() {
    let (ran, _) = on(H2, &["target"]);
    let ran = ran.expect(
        0,
        &[
            "H2 2.5.252, which is not PostgreSQL",
            "it lacks pg_backend_pid(), current_setting(), pg_settings, pg_class and ",
        ],
    );
    assert!(!ran.stdout.contains("treated as PostgreSQL"), "{ran:#?}");
}

#[test]
fn packs_say_what_is_missing_before_they_load() {
    for product in [QUESTDB, H2, LIAR] {
        for args in [&["load", "tpcb"][..], &["run", "tpcb", "-t", "1"]] {
            let name = product.name;
            let (ran, statements) = on(product.clone(), args);
            let ran = ran.expect(
                1,
                &[
                    "packs need features that ",
                    "run scripts of your own: pgdyno run my.sql",
                ],
            );
            assert!(
                ran.stderr.contains("pg_backend_pid()"),
                "{name}: {}",
                ran.stderr
            );
            let changes = |sql: &&String| {
                let sql = sql.to_lowercase();
                ["create", "drop", "copy", "insert", "comment"]
                    .iter()
                    .any(|word| sql.starts_with(word))
            };
            assert_eq!(statements.iter().find(changes), None, "{name}");
        }
    }
}

/// QuestDB's answer to the first statement of `pgbench -i` and of a notebook (measured).
const QUESTDB_TABLES: Product = Product {
    refuses: &[
        QUESTDB.refuses[0],
        QUESTDB.refuses[1],
        QUESTDB.refuses[2],
        QUESTDB.refuses[3],
        ("drop table if exists", "00000", "unexpected token [,]"),
        (
            "SELECT /* pgdyno observer */ pg_catalog.set_config",
            "00000",
            "unknown function name: pg_catalog.set_config",
        ),
        (
            "SELECT 1 FROM usertable",
            "00000",
            "table does not exist [table=usertable]",
        ),
    ],
    ..QUESTDB
};

#[test]
fn what_makes_tables_by_other_names_says_in_a_line_what_is_missing() {
    let server = Documented::start(QUESTDB_TABLES);
    let url = server.url();
    let jdbc = format!("db.url=jdbc:{}", url.replace("me@", ""));
    for (args, why, way_out) in [
        (
            &["pgbench", "-i", &url][..],
            "pgbench: error: pgbench's tables need features that QuestDB does not have: pg_backend_pid()",
            "pgbench: hint: run scripts of your own: pgdyno pgbench -n -f my.sql",
        ),
        (
            &["store", "init", &url],
            "pgdyno: error: a notebook needs features that QuestDB does not have: pg_backend_pid()",
            "pgdyno: hint: keep it in a file (--store FILE), or on a PostgreSQL server",
        ),
        (
            &[
                "ycsb",
                "load",
                "jdbc",
                "-p",
                "workload=core",
                "-p",
                "recordcount=10",
                "-p",
                "db.user=me",
                "-p",
                &jdbc,
            ],
            "pgdyno: error: packs need features that QuestDB does not have: pg_backend_pid()",
            "pgdyno: hint: run scripts of your own: pgdyno run my.sql",
        ),
    ] {
        let ran = support::ran(&mut support::pgdyno(args));
        assert_ne!(ran.code, Some(0), "{args:?}");
        let errors = ran.stderr.lines().filter(|line| line.contains(": error: "));
        let hints = ran.stderr.lines().filter(|line| line.contains(": hint: "));
        assert!(errors.clone().all(|line| line.starts_with(why)), "{ran:#?}");
        assert_eq!(errors.count(), 1, "{ran:#?}");
        assert_eq!(hints.collect::<Vec<_>>(), [way_out], "{ran:#?}");
    }
}

/// CockroachDB 19.1 has no identity columns (measured).
#[test]
fn a_notebook_whose_tables_are_not_understood_goes_elsewhere() {
    let refuses = &[(
        "CREATE TABLE",
        "42601",
        "syntax error at or near \"generated\"",
    )];
    let server = Documented::start(Product {
        refuses,
        ..Product::new("PostgreSQL 14.0 on something else")
    });
    let ran = support::ran(&mut support::pgdyno(&["store", "init", &server.url()]));
    ran.expect(
        1,
        &[
            "a notebook needs SQL that PostgreSQL 14.0 does not have",
            "keep it in a file (--store FILE), or on a PostgreSQL server",
        ],
    );
}

#[test]
fn rows_that_a_server_does_not_read_are_made_by_itself() {
    const OF_PGBENCH: Product = Product {
        refuses: &[("copy ", "08006", PGLITE.refuses[0].2)],
        ..PGLITE
    };
    let server = Documented::start(OF_PGBENCH);
    let url = server.url();
    let ran = support::ran(&mut support::pgdyno(&["pgbench", "-i", &url]));
    let hint = "pgbench: hint: rows without COPY: restart the server, then -I dtGvp";
    ran.expect(1, &[hint]);
    let ran = support::ran(&mut support::pgdyno(&[
        "pgbench", "-i", "-I", "dtGvp", &url,
    ]));
    ran.expect(0, &[]);
}

#[test]
fn a_fork_that_answers_as_postgresql_is_treated_as_postgresql_with_a_note() {
    let (ran, statements) = on(Product::new("Forked database 9.9"), &["load", "tpcb"]);
    ran.expect(
        0,
        &["pgdyno does not know this product and treats it as PostgreSQL: Forked database 9.9"],
    );
    let proofs = statements.iter().filter(|sql| sql.starts_with(PROOF));
    assert_eq!(proofs.count(), 1, "it is asked once");
}

const VERSION_OF_PGLITE: &str =
    "PostgreSQL 18.6 (PGlite 0.5.14) on wasm32-unknown-emscripten, compiled by emcc";

/// Measured: 0.5.14 behind pglite-socket 0.2.17.
const PGLITE: Product = Product {
    refuses: &[(
        "COPY",
        "08006",
        "unexpected EOF on client connection with an open transaction",
    )],
    tables: &[
        (PROOF, 1, &["t"]),
        (
            "SELECT /* pgdyno observer */ pg_catalog.pg_backend_pid()",
            1,
            &["42"],
        ),
        (
            "SELECT /* pgdyno observer */ pg_catalog.version()",
            1,
            &[VERSION_OF_PGLITE],
        ),
    ],
    ..Product::new(VERSION_OF_PGLITE)
};

#[test]
fn nothing_is_set_on_the_one_session_of_all_clients() {
    let file = script();
    let path = file.path().to_str().unwrap();
    let (ran, statements) = on(
        PGLITE,
        &["run", path, "-q", "-c", "2", "-T", "1", "--no-store"],
    );
    let ran = ran.expect(0, &[]);
    assert!(!ran.stderr.contains("a pooler in between"), "{ran:#?}");
    let sets = |sql: &&String| {
        sql.starts_with("SET ") && !sql.starts_with("SET /* pgdyno observer */ LOCAL ")
            || sql.starts_with("PREPARE ")
    };
    assert_eq!(statements.iter().find(sets), None);
    let local = |sql: &&String| sql.contains("LOCAL statement_timeout");
    assert!(statements.iter().any(|sql| local(&sql)), "{statements:#?}");
}

#[test]
fn rows_go_by_insert_where_the_product_takes_no_copy() {
    let server = Documented::start(PGLITE);
    let args = ["load", "tpcb", "--url", &server.url()];
    let ran = support::ran(&mut support::pgdyno(&args));
    ran.expect(
        0,
        &[
            "rows by INSERT: PGlite takes no COPY from a socket",
            "100,011 rows",
        ],
    );
    let rows = server
        .database
        .value("SELECT count(*) FROM pgbench_accounts");
    assert_eq!(rows, "100000");
    // One name of a statement is all clients' there.
    let file = script();
    let path = file.path().to_str().unwrap();
    let run = |clients: &str| {
        let args = [
            "run",
            path,
            "-q",
            "-M",
            "prepared",
            "-c",
            clients,
            "-t",
            "5",
            "--no-store",
            "--url",
        ];
        support::ran(support::pgdyno(&args).arg(server.url()))
    };
    run("2").expect(
        1,
        &[
            "PGlite, which has one session for all",
            "-M extended (pgdyno workload: --method noprepare), or one client: -c 1",
        ],
    );
    run("1").expect(0, &[]);
}
