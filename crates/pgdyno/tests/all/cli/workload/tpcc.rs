//! `workload … tpcc`, on a real PostgreSQL with tables of a few rows.

use super::output::{Output, read};
use crate::support::{Database, Ran, pgdyno, ran};

const TPMC: &str =
    "\n_elapsed_______tpmC____efc__avg(ms)__p50(ms)__p90(ms)__p95(ms)__p99(ms)_pMax(ms)\n";

fn workload(verb: &str, database: &Database, name: &str, args: &[&str]) -> Ran {
    let mut command = pgdyno(&["workload", verb, "tpcc", "--db", name]);
    ran(command.args(args).arg(&database.url))
}

/// Two warehouses, each with one district of 20 customers, and 100 items.
fn loaded(name: &str) -> Database {
    let database = Database::new(name);
    let small = ["warehouses=2", "districts=1", "customers=20", "items=100"];
    let params = small.iter().flat_map(|param| ["--param", param]);
    let args: Vec<&str> = ["load", "tpcc"].into_iter().chain(params).collect();
    database.pgdyno(&args).expect(0, &[]);
    database
}

/// The tables of ticks and totals, the lines of audit checks, and the row of new orders.
fn parts(ran: &Ran) -> (Output, Vec<&str>, Vec<f64>) {
    let (tables, rest) = ran.stdout.split_once("Audit check ").unwrap();
    let (audit, row) = rest.split_once(TPMC).unwrap_or_else(|| panic!("{ran:#?}"));
    let row = row.trim_end().replace(['s', '%'], "");
    let row = row.split_whitespace().map(|word| word.parse().unwrap());
    let audit = audit.lines();
    let audit = audit.map(|line| line.trim_start_matches("Audit check "));
    (read(tables), audit.collect(), row.collect())
}

#[test]
fn a_run_prints_operations_audit_checks_and_new_orders_a_minute_as_cockroach_does() {
    let name = "workload_tpcc";
    let empty = Database::new("workload_tpcc_empty");
    workload("run", &empty, "workload_tpcc_empty", &["--wait=false"]).expect(
        1,
        &[
            "relation \"warehouse\" does not exist",
            "workload init tpcc",
        ],
    );
    let database = loaded(name);
    workload("init", &database, name, &["--warehouses=2"]).expect(0, &["exist already"]);

    let args = [
        "--warehouses=2",
        "--wait=false",
        "--workers=3",
        "--max-ops=240",
    ];
    let more = ["--duration=60s", "--split", "--scatter"];
    let ran = workload("run", &database, name, &[&args[..], &more].concat()).expect(
        0,
        &["--split does nothing here", "--scatter does nothing here"],
    );
    let (output, audit, row) = parts(&ran);
    let operations = [
        "delivery",
        "newOrder",
        "orderStatus",
        "payment",
        "stockLevel",
    ];
    assert!(output.totals.keys().eq(operations), "{ran:#?}");
    let result = output.result.unwrap();
    assert_eq!((result.count, result.errors), (240, 0), "{ran:#?}");
    let names = audit.iter().map(|line| line.split(':').next().unwrap());
    assert!(names.eq([
        "9.2.1.7",
        "9.2.2.5.1",
        "9.2.2.5.2",
        "9.2.2.5.5",
        "9.2.2.5.6",
        "9.2.2.5.3",
        "9.2.2.5.4"
    ]));
    let few = "9.2.2.5.1: SKIP: not enough orders to be statistically significant";
    assert_eq!(audit[1], few);
    // All new orders a minute, of 12.86 a warehouse.
    let orders = &output.totals["newOrder"];
    let [elapsed_s, a_minute, efficiency] = row[..3] else {
        panic!("{row:?}")
    };
    assert_eq!(elapsed_s, orders.elapsed_s);
    let wanted = orders.cum * 60.0;
    assert!(
        (a_minute - wanted).abs() <= 60.0 * 0.06,
        "{a_minute} {wanted}"
    );
    let wanted = 100.0 * a_minute / (2.0 * 12.86);
    assert!(
        (efficiency - wanted).abs() <= wanted * 0.01,
        "{efficiency} {wanted}"
    );
    assert_eq!(
        (row[3], row[8]),
        (orders.latencies_ms[0], orders.latencies_ms[4])
    );

    // Of the first warehouse alone: nothing in the other one changes.
    let before = database.value("SELECT w_ytd FROM warehouse WHERE w_id = 2");
    let args = ["--wait=false", "--max-ops=60", "--mix=payment=1,delivery=1"];
    let more = ["--display-format=simple-19.1", "--serializable"];
    let ran = workload("run", &database, name, &[&args[..], &more].concat()).expect(0, &[]);
    let (output, audit, row) = parts(&ran);
    assert!(output.totals.keys().eq(["delivery", "payment"]), "{ran:#?}");
    assert_eq!(
        audit[5],
        "9.2.2.5.5: SKIP: not enough payments to be statistically significant"
    );
    assert_eq!(audit[3], "9.2.2.5.3: PASS");
    assert!(row.is_empty(), "{ran:#?}");
    let after = database.value("SELECT w_ytd FROM warehouse WHERE w_id = 2");
    assert_eq!(after, before);
    let args = ["--warehouses=3", "--wait=false", "--max-ops=10"];
    workload("run", &database, name, &args)
        .expect(1, &["is more than the 2 warehouses that there are"]);
}

#[test]
fn workers_that_wait_are_ten_a_warehouse_and_a_short_run_of_them_ends_in_time() {
    let name = "workload_tpcc_wait";
    let database = loaded(name);
    workload("run", &database, name, &["--workers=4"]).expect(
        1,
        &["Error: --wait > 0 and --warehouses=1 requires --workers=10"],
    );
    // No client has keyed and thought by then.
    let ran = workload("run", &database, name, &["--duration=1s"]).expect(0, &[TPMC]);
    assert!(!ran.stdout.contains("newOrder"), "{ran:#?}");
}

#[test]
fn check_runs_tpccs_conditions_and_the_expensive_ones_on_request() {
    let name = "workload_tpcc_check";
    let database = loaded(name);
    let said = [
        "check 3.3.2.1 holds",
        "check 3.3.2.11 holds",
        "3.3.2.6, 10, 12 too",
    ];
    workload("check", &database, name, &[]).expect(0, &said);
    workload("check", &database, name, &["--expensive-checks"])
        .expect(0, &["check 3.3.2.6 holds", "check 3.3.2.12 holds"]);
    workload("check", &database, name, &["--warehouses=5"])
        .expect(1, &["loaded with warehouses = 2, not 5"]);
    database.sql("UPDATE customer SET c_balance = c_balance + 1 WHERE c_id = 7 AND c_w_id = 2");
    workload("check", &database, name, &[]).expect(0, &[]);
    workload("check", &database, name, &["--expensive-checks"]).expect(
        1,
        &[
            "check 3.3.2.10 does not hold",
            "Error: check failed: 3.3.2.10: 1 row: 2 | 1 | 7",
            "DETAIL: check failed: 3.3.2.12: ",
            "workload init tpcc --drop",
        ],
    );
    database.sql("UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2");
    workload("check", &database, name, &[]).expect(
        1,
        &[
            "Error: check failed: 3.3.2.1: ",
            "DETAIL: check failed: 3.3.2.8: ",
        ],
    );
}
