//! `pgdyno sysbench tpcc`: sysbench-tpcc's options and output, on a real PostgreSQL with tables of a few rows.

use std::process::Stdio;

use pgdyno_platform::child::{Signal, send_signal};

use super::{Place, counts, shape};
use crate::support::{ended, pgdyno, ran};

/// Two warehouses of 400 customers, each with an order.
fn loaded(name: &str) -> Place {
    let place = Place::new(name);
    let small = ["warehouses=2", "districts=2", "customers=200", "items=200"];
    let params = small.iter().flat_map(|param| ["--param", param]);
    let args: Vec<&str> = ["load", "tpcc"].into_iter().chain(params).collect();
    place.database.pgdyno(&args).expect(0, &[]);
    place
}

/// Orders, their lines, new orders, payments.
fn rows(place: &Place) -> [u64; 4] {
    ["orders", "order_line", "new_order", "history"].map(|table| {
        let count = format!("SELECT count(*) FROM {table}");
        place.database.value(&count).parse().unwrap()
    })
}

#[test]
fn statements_are_counted_as_sysbench_counts_them_also_those_of_rollbacks() {
    let place = loaded("sysbench_tpcc_counts");
    let before = rows(&place);
    let line = "tpcc.lua --scale=2 --tables=1 --use_fk=1 --enable_purge=no --events=400 --time=0 --rand-seed=5 run";
    let ran = place.sysbench(line).expect(0, &[]);
    let after = rows(&place);
    let [orders, lines, _, payments] = [0, 1, 2, 3].map(|at| after[at] - before[at]);
    let delivered = before[2] + orders - after[2];
    let errors = "    ignored errors:                      ";
    let (_, rest) = ran.stdout.split_once(errors).unwrap();
    let rollbacks: u64 = rest.split_whitespace().next().unwrap().parse().unwrap();
    assert!(rollbacks > 0, "another seed: {ran:?}");
    let [reads, writes, others, events] = counts(&ran.stdout);
    assert_eq!((events, others), (400, 800), "{ran:?}");
    let of_rollbacks = writes - (2 * orders + 2 * lines + payments + 2 * delivered);
    assert!(
        of_rollbacks.is_multiple_of(2) && (10 * rollbacks..=30 * rollbacks).contains(&of_rollbacks),
        "{of_rollbacks} writes of {rollbacks}"
    );
    // Two districts are delivered at once; the rest reads only, twice to four times.
    let rest = events - orders - rollbacks - payments - delivered / 2;
    let least = 3 * orders
        + 2 * lines
        + of_rollbacks
        + 2 * rollbacks
        + 3 * payments
        + 3 * delivered
        + 2 * rest;
    let most = least + payments + 2 * rest;
    assert!(
        (least..=most).contains(&reads),
        "{reads} of {least} to {most}"
    );
    // 10, 10, 1, 1 and 1 of 23: within four standard deviations.
    for (count, of_23) in [(orders + rollbacks, 10.0), (payments, 10.0), (rest, 2.0)] {
        let share: f64 = of_23 / 23.0;
        let spread = 4.0 * (share * (1.0 - share) * 400.0).sqrt();
        assert!(
            (count as f64 - share * 400.0).abs() < spread,
            "{count} of 400, wanted {share}"
        );
    }
}

#[test]
fn progress_has_the_form_of_sysbench_tpcc() {
    let place = loaded("sysbench_tpcc_output");
    // The isolation level of each payment.
    place.database.sql(
        "CREATE TABLE seen (level text); CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN INSERT INTO seen VALUES (current_setting('transaction_isolation')); RETURN NEW; END$$; \
         CREATE TRIGGER see AFTER INSERT ON history FOR EACH ROW EXECUTE FUNCTION see()",
    );
    let seen = || {
        place.database.value(
            "WITH gone AS (DELETE FROM seen RETURNING level) SELECT DISTINCT level FROM gone",
        )
    };
    let line = "tpcc --scale=2 --threads=2 --time=2 --report-interval=1";
    let ran = place.sysbench(&format!("{line} run")).expect(0, &[]);
    let (_, rest) = ran.stdout.split_once("Threads started!\n\n").unwrap();
    let (lines, totals) = rest.split_once("SQL statistics:\n").unwrap();
    let want = "[ Ns ] thds: N tps: N qps: N (r/w/o: N/N/N) lat (ms,N%): N err/s N reconn/s: N";
    let shapes: Vec<String> = lines.lines().map(shape).collect();
    assert_eq!(shapes, [want, want], "{ran:?}");
    let recorded = include_str!("../../../../../compat-sysbench/src/recorded/totals.txt");
    assert_eq!(
        shape(&format!("SQL statistics:\n{totals}")),
        shape(recorded)
    );
    assert_eq!(seen(), "repeatable read");

    let ran = place
        .sysbench(&format!("{line} --report_csv=yes --trx_level=SER run"))
        .expect(0, &[]);
    let (_, rest) = ran.stdout.split_once("Threads started!\n\n").unwrap();
    let (lines, _) = rest.split_once("SQL statistics:\n").unwrap();
    let lines: Vec<Vec<f64>> = lines
        .lines()
        .map(|line| line.split(',').map(|word| word.parse().unwrap()).collect())
        .collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    for (line, second) in lines.iter().zip([1.0, 2.0]) {
        let [time, threads, tps, qps, reads, writes, others, latency, ..] = line[..] else {
            panic!("{line:?}")
        };
        assert_eq!((time, threads, line.len()), (second, 2.0, 10));
        assert!((reads + writes + others - qps).abs() < 0.03, "{line:?}");
        assert_eq!(tps > 0.0, latency > 0.0, "{line:?}");
    }
    // A busy host may do nothing in one of the two.
    assert!(lines.iter().any(|line| line[2] > 0.0), "{lines:?}");
    assert_eq!(seen(), "serializable");
}

#[test]
fn check_says_of_each_warehouse_which_conditions_hold_and_ends_with_0() {
    let place = loaded("sysbench_tpcc_check");
    let check = "tpcc --scale=2 --threads=2 check";
    let ran = place.sysbench(check).expect(0, &[]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let passed = |line: &&&str| line.starts_with("Check ") && line.ends_with(" PASSED");
    assert_eq!(lines.iter().filter(passed).count(), 24, "{ran:?}");
    assert!(lines.contains(&"Check 12, warehouse: 2 PASSED"), "{ran:?}");
    place
        .database
        .sql("UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2");
    place.sysbench(check).expect(
        0,
        &[
            "Check 1, warehouse: 1 PASSED\nCheck 1, warehouse: 2 FAILED!!!\nCheck 2, warehouse: 1 PASSED\n",
            "Check 8, warehouse: 1 PASSED\nCheck 8, warehouse: 2 FAILED!!!\n",
            "pgdyno: condition 1 does not hold: ",
            "(1 row: 2 | 2 | ",
        ],
    );
    // Rows of its queries end at 100: what comes behind them is not known.
    place
        .database
        .sql("UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 1");
    place.sysbench(check).expect(
        0,
        &["Check 10, warehouse: 1 FAILED!!!\nCheck 10, warehouse: 2 NOT KNOWN\n"],
    );
}

#[test]
fn tables_are_made_and_dropped_and_what_is_missing_is_said() {
    let place = Place::new("sysbench_tpcc_tables");
    let missing = "FATAL: PQexec() failed: 7 relation \"warehouse\" does not exist";
    for command in ["run", "check"] {
        place
            .sysbench(&format!("tpcc --scale=1 {command}"))
            .expect(1, &[missing, "the same command with prepare"]);
    }
    // A warehouse takes seconds: as soon as its tables are there, it is enough.
    let mut prepare = place.command("tpcc --scale=1 --use_fk=0 prepare");
    let child = prepare
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    place.database.wait_for(
        "SELECT 1 FROM pg_class WHERE relname = 'stock' AND obj_description(oid) LIKE '%loading%'",
    );
    send_signal(child.id(), Signal::Interrupt).unwrap();
    ended(child.wait_with_output().unwrap()).expect(
        130,
        &["Creating tables: 1\n\nloading tables: 1 for warehouse: 1\n\n"],
    );
    let mark = "SELECT obj_description('warehouse'::regclass)";
    let mark = place.database.value(mark);
    for param in ["\"warehouses\":\"1\"", "\"fks\":\"false\""] {
        assert!(mark.contains(param), "{mark}");
    }
    place
        .sysbench("tpcc --scale=1 run")
        .expect(1, &["the tables are half loaded", "with prepare goes on"]);
    place
        .sysbench("tpcc cleanup")
        .expect(0, &["Dropping tables '1'...\n"]);
    place.sysbench("tpcc cleanup").expect(0, &[]);
    let left = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(place.database.value(left), "0");
    place.database.sql("CREATE TABLE customer (mine int)");
    place
        .sysbench("tpcc cleanup")
        .expect(1, &["will not drop customer"]);
    place
        .sysbench("tpcc --scale=1 prepare")
        .expect(1, &["relation \"customer\" already exists"]);

    let place = loaded("sysbench_tpcc_scale");
    for command in ["run", "check"] {
        place.sysbench(&format!("tpcc {command}")).expect(
            1,
            &[
                "FATAL: --scale=100: there are only 2 warehouses",
                "--scale=2, or more of them: pgdyno load tpcc --param warehouses=100 --grow",
            ],
        );
    }
    place.sysbench("tpcc cleanup").expect(0, &[]);
    assert_eq!(place.database.value(left), "0");
}

#[test]
fn the_file_beside_sysbench_tpccs_others_is_the_script_and_another_is_a_users() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tpcc.lua"), "").unwrap();
    let help = |script: &str| ran(pgdyno(&["sysbench", script, "help"]).current_dir(folder.path()));
    for script in ["tpcc.lua", "./tpcc.lua"] {
        help(script).expect(1, &["tpcc.lua: pgdyno runs no Lua of yours"]);
    }
    std::fs::write(folder.path().join("tpcc_common.lua"), "").unwrap();
    for script in ["tpcc.lua", "./tpcc.lua"] {
        help(script).expect(0, &["tpcc options:"]);
    }
}
