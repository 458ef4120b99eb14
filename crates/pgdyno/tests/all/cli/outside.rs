//! What public bug reports of other tools found, and was right here.

use std::fs;

use pgdyno_platform::child::Signal;

use crate::child::{Running, wait_until};
use crate::support::{Database, Ran, pgdyno, ran};

/// `pgdyno pgbench ARGS` with a script, there.
fn pgbench(db: &Database, script: &[u8], args: &[&str]) -> Ran {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("s.sql"), script).unwrap();
    let mut command = pgdyno(&["pgbench", "-n", "-f", "s.sql", "-d", &db.url]);
    ran(command.args(args).current_dir(dir.path()))
}

#[test]
fn keys_of_many_accounts_are_bigint_also_in_partitions() {
    let db = Database::new("outside_scale");
    let kind = "SELECT data_type FROM information_schema.columns \
                WHERE table_name = 'pgbench_accounts' AND column_name = 'aid'";
    for (scale, partitions, want) in [
        ("20000", "0", "bigint"),
        ("30000", "3", "bigint"),
        ("19999", "3", "integer"),
    ] {
        let init = [
            "pgbench",
            "-i",
            "-I",
            "dt",
            "-s",
            scale,
            "--partitions",
            partitions,
            "-d",
            &db.url,
        ];
        ran(&mut pgdyno(&init)).expect(0, &[]);
        assert_eq!(db.value(kind), want, "{scale}, {partitions}");
    }
}

#[test]
fn colons_that_name_no_variable_stay_as_they_are_in_each_query_mode() {
    let db = Database::new("outside_colons");
    db.sql("CREATE TABLE said (a text)");
    let script = "\\set i 2\n-- :i\nINSERT INTO said SELECT concat_ws('|', (ARRAY[1,2,3])[:i], (ARRAY[1,2,3])[1:2], \
                  '12:30:45'::time, 'http://h:80/x', make_interval(days := :i::int), $q$ a:: b $q$, \
                  '{\"a\": 1}'::jsonb ->> 'a') /* :: */;\n";
    for mode in ["simple", "extended", "prepared"] {
        pgbench(&db, script.as_bytes(), &["-t", "2", "-M", mode]).expect(0, &["2/2"]);
    }
    let said = db.rows("SELECT DISTINCT a FROM said");
    assert_eq!(said, ["2|{1,2}|12:30:45|http://h:80/x|2 days| a:: b |1"]);
}

#[test]
fn lines_may_end_with_cr_and_lf_and_a_byte_order_mark_is_a_mistake() {
    let db = Database::new("outside_lines");
    let script = b"\\set i 1 + \\\r\n 2\r\n\\if :i = 3\r\nSELECT :i AS x \\gset p_\r\n\\endif\r\nSELECT 1 / (:p_x - 2);\r\n";
    pgbench(&db, script, &["-t", "2"]).expect(0, &["2/2"]);
    pgbench(&db, b"\xef\xbb\xbfSELECT 1;\n", &["-t", "1"]).expect(2, &["syntax error"]);
}

#[test]
fn transactions_in_a_pipeline_are_tried_again_and_none_is_lost() {
    let db = Database::new("outside_pipeline");
    db.sql("CREATE TABLE one (i int, v int); INSERT INTO one VALUES (1, 0)");
    let script = b"\\startpipeline\nBEGIN ISOLATION LEVEL SERIALIZABLE;\nUPDATE one SET v = v + 1 WHERE i = 1;\nEND;\n\\endpipeline\n";
    let args = ["-c", "4", "-t", "20", "-M", "prepared", "--max-tries=500"];
    pgbench(&db, script, &args).expect(0, &["80/80"]);
    assert_eq!(db.value("SELECT v FROM one"), "80");
}

#[test]
fn errors_that_many_threads_print_are_whole_lines() {
    let db = Database::new("outside_verbose");
    db.sql("CREATE TABLE one (i int, v int); INSERT INTO one VALUES (1, 0)");
    let script = b"BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT sum(v) FROM one;\nUPDATE one SET v = v + 1 WHERE i = 1;\nEND;\n";
    let args = [
        "-c",
        "8",
        "-j",
        "8",
        "-t",
        "15",
        "--max-tries=500",
        "--verbose-errors",
    ];
    let ran = pgbench(&db, script, &args).expect(0, &["120/120"]);
    assert_eq!(db.value("SELECT v FROM one"), "120");
    let begins = |line: &str| {
        let of_client = line.strip_prefix("pgbench: client ");
        let of_client = of_client.and_then(|rest| rest.split_once(' '));
        let is_clients = of_client.is_some_and(|(number, rest)| {
            number.parse::<u32>().is_ok()
                && [
                    "got an error in command ",
                    "repeats the transaction",
                    "ends the failed",
                ]
                .iter()
                .any(|words| rest.starts_with(words))
        });
        is_clients
            || line.is_empty()
            || ["ERROR:", "DETAIL:", "HINT:"]
                .iter()
                .any(|w| line.starts_with(w))
    };
    let odd: Vec<&str> = ran.stderr.lines().filter(|line| !begins(line)).collect();
    assert!(odd.is_empty(), "{odd:?}");
    assert!(
        ran.stderr.contains("got an error in command"),
        "{}",
        ran.stderr
    );
}

#[test]
fn sysbench_counts_as_many_events_as_the_server_has_executed() {
    let test = "sysbench_counts_as_many_events_as_the_server_has_executed";
    let server = match pgdyno_testkit::postgres_of(18) {
        Ok(server) => server,
        Err(why) => pgdyno_testkit::skip!(test, format!("PostgreSQL 18: {why}")),
    };
    let db = Database::on(server, "outside_counts");
    db.sql("CREATE EXTENSION pg_stat_statements");
    let options = [
        format!("--pgsql-host={}", server.address().socket_dir.display()),
        format!("--pgsql-port={}", server.address().port),
        "--pgsql-user=postgres".to_owned(),
        "--pgsql-db=outside_counts".to_owned(),
    ];
    let sysbench = |line: &str| {
        let mut command = pgdyno(&["sysbench", "--db-driver=pgsql"]);
        ran(command.args(&options).args(line.split(' '))).expect(0, &[])
    };
    sysbench("oltp_point_select --table-size=100 prepare");
    let report = sysbench("oltp_point_select --table-size=100 --threads=3 --time=1 run").stdout;
    let mut lines = report.lines();
    let events = lines.find_map(|line| line.trim().strip_prefix("transactions:"));
    let events = events.unwrap().split_whitespace().next().unwrap();
    let calls = "SELECT sum(calls) FROM pg_stat_statements JOIN pg_database ON oid = dbid \
                 WHERE datname = current_database() AND query ILIKE 'select c from sbtest1 where id%'";
    assert_eq!(db.value(calls), events);
}

#[test]
fn the_conditions_of_tpcc_hold_after_kill_9() {
    let db = Database::new("outside_tpcc");
    let tables = [
        "--param",
        "warehouses=1",
        "--param",
        "items=200",
        "--param",
        "customers=60",
    ];
    let load = [&["load", "tpcc"], &tables[..]].concat();
    db.pgdyno(&load).expect(0, &[]);
    let run = |clients: &str, transactions: &str| {
        let mut command = pgdyno(&[
            "run",
            "tpcc",
            "-c",
            clients,
            "-t",
            transactions,
            "--max-tries",
            "10",
        ]);
        command
            .args(["--no-store", "--observe", "none", "--url", &db.url])
            .args(tables);
        command
    };
    let orders = || {
        db.value("SELECT count(*) FROM orders")
            .parse::<u64>()
            .unwrap()
    };
    let before = orders();
    let running = Running::start_silent(&mut run("6", "1000000"));
    wait_until("orders come", || orders() > before + 20);
    running.signal(Signal::Kill);
    let _ = running.ended();
    wait_until("its sessions have ended", || {
        db.value("SELECT count(*) FROM pg_stat_activity WHERE datname = 'outside_tpcc' AND pid <> pg_backend_pid()") == "0"
    });
    ran(&mut run("1", "1")).expect(0, &["12 of 12 held"]);
}
