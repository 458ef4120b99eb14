//! The pack derived from TPC-C: its load, its transactions by what they leave in the tables, its conditions,
//! and its forms. Smaller tables than TPC-C's are enough for that.

use serde_json::Value;

use crate::support::{self, Database, Ran};

/// Two warehouses without foreign keys, so that everything can be planted.
const SMALL: [&str; 5] = [
    "warehouses=2",
    "districts=2",
    "customers=100",
    "items=200",
    "fks=false",
];

fn tpcc(database: &Database, verb: &str, params: &[&str], more: &str) -> Ran {
    let mut args = vec![verb, "tpcc", "--quiet"];
    args.extend(params.iter().flat_map(|param| ["--param", param]));
    args.extend(more.split_whitespace());
    database.pgdyno(&args)
}

/// A run of so many transactions by each of four clients.
fn run(database: &Database, params: &[&str], transactions: u32) -> Value {
    let more =
        format!("--no-store --json -c 4 -t {transactions} --seed 7 --max-tries 100 --observe none");
    let ran = tpcc(database, "run", params, &more).expect(0, &[]);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:#?}"))
}

/// What was committed of the scripts whose names begin so.
fn committed(document: &Value, script: &str) -> f64 {
    let scripts = document["measured"]["scripts"].as_array().unwrap().iter();
    let its = scripts.filter(|of| of["name"].as_str().unwrap().starts_with(script));
    its.map(|of| of["committed"].as_f64().unwrap()).sum()
}

/// How often a statement was executed that begins so, of one script.
fn executed(document: &Value, script: &str, text: &str) -> f64 {
    let scripts = document["statements"].as_array().unwrap().iter();
    let mut its = scripts.filter(|of| of["script"] == script);
    let commands = its.next().unwrap()["commands"].as_array().unwrap().iter();
    let its = commands.filter(|of| of["text"].as_str().unwrap().starts_with(text));
    its.map(|of| of["latency"]["count"].as_f64().unwrap()).sum()
}

/// A share that chance alone may make of `of` draws: within four standard deviations.
fn assert_share(what: &str, part: f64, of: f64, wanted: f64) {
    let share = part / of;
    let spread = 4.0 * (wanted * (1.0 - wanted) / of).sqrt();
    assert!(of >= 100.0, "{what}: only {of}");
    assert!(
        (share - wanted).abs() < spread,
        "{what}: {share} of {of}, wanted {wanted} ± {spread}"
    );
}

#[test]
fn a_notebook_in_the_same_database_is_neither_used_nor_dropped() {
    let database = Database::new("tpcc_notebook");
    let init = support::pgdyno(&["store", "init", &database.url]).output();
    assert!(init.unwrap().status.success());
    for more in ["", "--drop-tables history", "--replace"] {
        let refused = tpcc(&database, "load", &SMALL, more);
        assert!(!refused.stderr.contains("--drop-tables"), "{refused:?}");
        refused.expect(1, &["history of this database is a notebook's", "--url"]);
    }
    let shown = support::pgdyno(&["ls", "--store", &database.url]).output();
    assert!(shown.unwrap().status.success());
}

#[test]
fn the_load_is_tpccs() {
    let database = Database::new("tpcc_load");
    let params = ["warehouses=2", "districts=2", "customers=1100", "items=500"];
    tpcc(&database, "load", &params, "--jobs 2").expect(0, &[]);
    let is = |query: &str, wanted: &str| assert_eq!(database.value(query), wanted, "{query}");
    let counts = "SELECT (SELECT count(*) FROM warehouse), (SELECT count(*) FROM district), (SELECT count(*) FROM customer), \
        (SELECT count(*) FROM history), (SELECT count(*) FROM orders), (SELECT count(*) FROM new_order), \
        (SELECT count(*) FROM order_line), (SELECT count(*) FROM stock), (SELECT count(*) FROM item)";
    is(counts, "2|4|4400|4400|4400|1320|44000|1000|500");
    is(
        "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace",
        "10",
    );
    // The first thousand have a name each.
    let names = "SELECT min(c_last) FILTER (WHERE c_id = 41), min(c_last) FILTER (WHERE c_id = 1000), \
        count(DISTINCT c_last) FILTER (WHERE c_id <= 1000) FROM customer";
    is(names, "BARPRESBAR|EINGEINGEING|1000");
    // Each customer has an order, in another order in each district.
    is(
        "SELECT count(*), count(DISTINCT (o_w_id, o_d_id, o_c_id)), min(o_c_id), max(o_c_id) FROM orders",
        "4400|4400|1|1100",
    );
    is(
        "SELECT count(DISTINCT o_c_id) > 1 FROM orders WHERE o_id = 1",
        "t",
    );
    is(
        "SELECT min(o_ol_cnt), max(o_ol_cnt), count(DISTINCT o_ol_cnt), round(avg(o_ol_cnt), 2) FROM orders",
        "5|15|11|10.00",
    );
    is(
        "SELECT bool_and((o_carrier_id BETWEEN 1 AND 10) = (o_id <= 770)), bool_and((o_carrier_id IS NULL) = (o_id > 770)) \
         FROM orders",
        "t|t",
    );
    is(
        "SELECT bool_and((ol_amount = 0) = (ol_o_id <= 770)), bool_and(ol_amount BETWEEN 0 AND 9999.99), \
         bool_and(ol_quantity = 5 AND ol_supply_w_id = ol_w_id) FROM order_line",
        "t|t|t",
    );
    // One in ten: within five standard deviations.
    for (table, column) in [("stock", "s_data"), ("item", "i_data")] {
        let original = format!(
            "SELECT abs(count(*) FILTER (WHERE {column} LIKE '%ORIGINAL%') - 0.1 * count(*)) < 5 * sqrt(0.09 * count(*)), \
             min(length({column})) >= 26, max(length({column})) <= 50 FROM {table}"
        );
        is(&original, "t|t|t");
    }
    is(
        "SELECT abs(count(*) FILTER (WHERE c_credit = 'BC') - 440) < 100, min(length(c_data)) >= 300, \
         max(length(c_data)) <= 500, min(length(c_first)) >= 8, max(c_discount) <= 0.5 FROM customer",
        "t|t|t|t|t",
    );
    is(
        "SELECT min(i_price) >= 1, max(i_price) <= 100, bool_and(length(i_name) BETWEEN 14 AND 24) FROM item",
        "t|t|t",
    );
    // More warehouses are the same with more behind them.
    let sum = "SELECT md5(string_agg(o::text, ',' ORDER BY o_w_id, o_d_id, o_id)) FROM orders o WHERE o_w_id <= 2";
    let before = database.value(sum);
    let more = ["warehouses=3"];
    tpcc(&database, "load", &more, "--grow").expect(0, &[]);
    assert_eq!(database.value(sum), before);
    is("SELECT count(*) FROM order_line", "66000");
    run(&database, &["home=any"], 10);
}

#[test]
fn transactions_are_mixed_and_drawn_as_the_specification_says() {
    let database = Database::new("tpcc_audit");
    let params = ["warehouses=2", "customers=100", "items=1000"];
    tpcc(&database, "load", &params, "").expect(0, &[]);
    let document = run(&database, &[], 500);
    let all = 2000.0;
    let new_orders = committed(&document, "new-order");
    let payments = committed(&document, "payment");
    let rolled_back = committed(&document, "new-order-rollback");
    assert_share("new orders", new_orders, all, 10.0 / 23.0);
    assert_share("payments", payments, all, 10.0 / 23.0);
    assert_share("rollbacks", rolled_back, new_orders, 0.01);
    for script in ["order-status", "delivery", "stock-level"] {
        assert_share(script, committed(&document, script), all, 1.0 / 23.0);
    }
    let number = |query: &str| database.value(query).parse::<f64>().unwrap();
    // Of the orders, those of this run.
    let orders = number("SELECT count(*) FROM orders WHERE o_id > 100");
    // Nothing is left of what was rolled back, no number either.
    assert_eq!(orders, new_orders - rolled_back);
    assert_eq!(
        number("SELECT sum(d_next_o_id - 101) FROM district"),
        orders
    );
    let lines = number("SELECT count(*) FROM order_line WHERE ol_o_id > 100");
    let mean = lines / orders;
    assert!(
        (mean - 10.0).abs() < 4.0 * (10.0 / orders).sqrt(),
        "{mean} lines"
    );
    for count in 5..=15 {
        let query = format!("SELECT count(*) FROM orders WHERE o_id > 100 AND o_ol_cnt = {count}");
        assert_share("lines", number(&query), orders, 1.0 / 11.0);
    }
    let remote = number("SELECT count(*) FROM order_line WHERE ol_supply_w_id <> ol_w_id");
    assert_share("remote lines", remote, lines, 0.01);
    assert_eq!(remote, number("SELECT sum(s_remote_cnt) FROM stock"));
    assert_eq!(lines, number("SELECT sum(s_order_cnt) FROM stock"));
    let all_local = "SELECT count(*) FROM orders o WHERE (o_all_local = 0) <> EXISTS (SELECT 1 FROM order_line \
        WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND ol_supply_w_id <> o_w_id)";
    assert_eq!(number(all_local), 0.0);
    let quantities = "SELECT sum(ol_quantity) FROM order_line WHERE ol_o_id > 100";
    assert_eq!(number(quantities), number("SELECT sum(s_ytd) FROM stock"));
    let amounts = "SELECT count(*) FROM order_line JOIN item ON i_id = ol_i_id WHERE ol_o_id > 100 \
        AND ol_amount <> ol_quantity * i_price";
    assert_eq!(number(amounts), 0.0);
    assert_eq!(number("SELECT count(*) FROM history") - 2000.0, payments);
    let remote = number("SELECT count(*) FROM history WHERE h_c_w_id <> h_w_id");
    assert_share("remote payments", remote, payments, 0.15);
    for script in ["payment", "order-status"] {
        let by_name = executed(&document, script, "SELECT c_id FROM (");
        let all = executed(&document, script, "BEGIN");
        // 60 %; by the few order statuses just about.
        let spread = 4.0 * (0.24 / all).sqrt();
        assert!(
            (by_name / all - 0.6).abs() < spread,
            "{script}: {by_name} of {all}"
        );
    }
    let paid = "SELECT count(*) FROM customer WHERE c_credit = 'BC' AND c_payment_cnt > 1 \
        AND c_data NOT LIKE c_id || ' ' || c_d_id || ' ' || c_w_id || ' %'";
    assert_eq!(number(paid), 0.0);
    assert!(number("SELECT sum(c_payment_cnt - 1) FROM customer") == payments);
    // What it is, and what it is not.
    let notes = document["notes"].as_array().unwrap();
    let notice = notes
        .iter()
        .find(|note| note["code"] == "pack-notice")
        .unwrap();
    let sentence = notice["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("derived from TPC-C: not a TPC result"),
        "{sentence}"
    );
    assert!(sentence.contains("for tests only"), "{sentence}");
    let figures = document["figures"].as_array().unwrap();
    let figure = |name: &str| figures.iter().find(|figure| figure["name"] == name);
    let elapsed_s = document["measured"]["elapsed_s"].as_f64();
    if let (Some(rate), Some(elapsed_s)) =
        (figure("new orders").unwrap()["value"].as_f64(), elapsed_s)
    {
        assert!(
            (rate / (new_orders * 60.0 / elapsed_s) - 1.0).abs() < 0.01,
            "{rate}"
        );
    }
    // On a busy machine the mean may lie above it, which the specification forbids.
    let p90 = figure("payment p90").unwrap();
    let [value, least, most] =
        ["value", "at_least", "at_most"].map(|name| p90[name].as_f64().unwrap());
    assert_eq!(p90["within"], (least..=most).contains(&value), "{p90}");
    assert_eq!(
        figure("rollbacks").unwrap()["unknown"],
        "too few transactions"
    );
    // There are no terminals.
    assert_eq!(figure("efficiency"), None);
}

#[test]
fn each_form_leaves_tables_whose_conditions_hold() {
    let database = Database::new("tpcc_forms");
    tpcc(&database, "load", &SMALL, "").expect(0, &[]);
    for form in ["form=statements", "form=batch", "form=procedure"] {
        let before = database.value("SELECT sum(d_next_o_id) FROM district");
        let document = run(&database, &[form, "rollback_percent=20"], 40);
        let checks = document["checks"].as_array().unwrap();
        assert_eq!(checks.len(), 12);
        assert!(
            checks.iter().all(|check| check["held"] == true),
            "{form}: {checks:#?}"
        );
        let orders = committed(&document, "new-order") - committed(&document, "new-order-rollback");
        let added = format!("SELECT sum(d_next_o_id) - {before} FROM district");
        assert_eq!(database.value(&added), orders.to_string(), "{form}");
        let lines = "SELECT count(*) - (SELECT sum(s_order_cnt) FROM stock) FROM order_line WHERE ol_o_id > 100";
        assert_eq!(database.value(lines), "0", "{form}");
        let deliveries = "SELECT count(*) > 0 FROM customer WHERE c_delivery_cnt > 0";
        assert_eq!(database.value(deliveries), "t", "{form}");
        for mode in ["simple", "extended"] {
            let more = format!("--no-store -c 2 -t 10 --max-tries 100 --observe none -M {mode}");
            tpcc(&database, "run", &[form], &more).expect(0, &[" 0 failed", "12 of 12 held"]);
        }
    }
    // An item in several lines of an order: its stock changes for each of them.
    let twice = "SELECT count(*) > 0 FROM (SELECT 1 FROM order_line WHERE ol_o_id > 100 \
        GROUP BY ol_w_id, ol_d_id, ol_o_id, ol_supply_w_id, ol_i_id HAVING count(*) > 1) AS twice";
    assert_eq!(database.value(twice), "t");
}

#[test]
fn each_condition_finds_what_breaks_it_also_where_a_row_is_missing() {
    let database = Database::new("tpcc_planted");
    tpcc(&database, "load", &SMALL, "").expect(0, &[]);
    // Of the other warehouse, where nothing is done meanwhile; each with how it is undone.
    let order = "o_w_id = 2 AND o_d_id = 1 AND o_id = 5";
    let line = "ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 5 AND ol_number = 1";
    let planted = [
        ("1", "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 2 AND d_id = 1".to_owned(),
         "UPDATE district SET d_ytd = d_ytd - 1 WHERE d_w_id = 2 AND d_id = 1".to_owned()),
        ("1", "UPDATE district SET d_w_id = 3 WHERE d_w_id = 2".to_owned(),
         "UPDATE district SET d_w_id = 2 WHERE d_w_id = 3".to_owned()),
        ("2", "UPDATE district SET d_next_o_id = 102 WHERE d_w_id = 2 AND d_id = 1".to_owned(),
         "UPDATE district SET d_next_o_id = 101 WHERE d_w_id = 2 AND d_id = 1".to_owned()),
        ("2", "UPDATE orders SET o_d_id = 7 WHERE o_w_id = 2 AND o_d_id = 1".to_owned(),
         "UPDATE orders SET o_d_id = 1 WHERE o_w_id = 2 AND o_d_id = 7".to_owned()),
        ("3", "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 1 AND no_o_id = 80".to_owned(),
         "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (2, 1, 80)".to_owned()),
        ("4", format!("UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE {order}"),
         format!("UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE {order}")),
        ("4", "UPDATE order_line SET ol_d_id = 7 WHERE ol_w_id = 2 AND ol_d_id = 1".to_owned(),
         "UPDATE order_line SET ol_d_id = 1 WHERE ol_w_id = 2 AND ol_d_id = 7".to_owned()),
        ("5", "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (2, 1, 70)".to_owned(),
         "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 1 AND no_o_id = 70".to_owned()),
        ("5", "UPDATE new_order SET no_o_id = 101 WHERE no_w_id = 2 AND no_d_id = 1 AND no_o_id = 100".to_owned(),
         "UPDATE new_order SET no_o_id = 100 WHERE no_w_id = 2 AND no_d_id = 1 AND no_o_id = 101".to_owned()),
        // The district's lines are as many as before.
        ("6", format!("UPDATE order_line SET ol_o_id = 6, ol_number = 99 WHERE {line}"),
         "UPDATE order_line SET ol_o_id = 5, ol_number = 1 WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_number = 99".to_owned()),
        ("6", "UPDATE order_line SET ol_o_id = 500 WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 5".to_owned(),
         "UPDATE order_line SET ol_o_id = 5 WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 500".to_owned()),
        ("7", format!("UPDATE order_line SET ol_delivery_d = NULL WHERE {line}"),
         format!("UPDATE order_line SET ol_delivery_d = '2026-01-01' WHERE {line}")),
        ("7", format!("UPDATE orders SET o_w_id = 7 WHERE {order}"),
         "UPDATE orders SET o_w_id = 2 WHERE o_w_id = 7".to_owned()),
        ("8", "UPDATE history SET h_w_id = 7 WHERE h_w_id = 2".to_owned(),
         "UPDATE history SET h_w_id = 2 WHERE h_w_id = 7".to_owned()),
        // The warehouse's payments are what they were.
        ("9", "UPDATE history SET h_d_id = 7 WHERE h_w_id = 2 AND h_d_id = 1".to_owned(),
         "UPDATE history SET h_d_id = 1 WHERE h_w_id = 2 AND h_d_id = 7".to_owned()),
        // A customer without any payment.
        ("10", "UPDATE history SET h_c_id = 700 WHERE h_c_w_id = 2 AND h_c_d_id = 1 AND h_c_id = 7".to_owned(),
         "UPDATE history SET h_c_id = 7 WHERE h_c_id = 700".to_owned()),
        ("11", format!("UPDATE orders SET o_d_id = 7 WHERE {order}"),
         "UPDATE orders SET o_d_id = 1 WHERE o_d_id = 7".to_owned()),
        // Nothing is delivered to a customer with one new order.
        ("12", "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE (c_w_id, c_d_id, c_id) = (SELECT o_w_id, o_d_id, \
         o_c_id FROM orders WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 100)".to_owned(),
         "UPDATE customer SET c_ytd_payment = 10 WHERE c_w_id = 2".to_owned()),
    ];
    let asked = [
        "active_warehouses=1",
        "remote_line_percent=0",
        "remote_payment_percent=0",
    ];
    let more = "--no-store -c 1 -t 1 --observe none --json";
    for (check, plant, undo) in planted {
        database.sql(&plant);
        let ran = tpcc(&database, "run", &asked, more).expect(1, &[]);
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        let mut checks = document["checks"].as_array().unwrap().iter();
        let its = checks.find(|of| of["name"] == check).unwrap();
        assert_eq!(its["held"], false, "{plant}: {its}");
        database.sql(&undo);
    }
    tpcc(&database, "run", &asked, more).expect(0, &[]);
}

#[test]
fn a_kept_trial_still_has_its_figures_and_its_notice() {
    let database = Database::new("tpcc_kept");
    tpcc(&database, "load", &SMALL, "").expect(0, &[]);
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("notes.db");
    let store = store.to_str().unwrap();
    let more = format!("--store {store} -c 2 -t 100 --max-tries 100 --observe none");
    tpcc(&database, "run", &[], &more)
        .expect(0, &["new orders", "trust        i derived from TPC-C"]);
    let shown = support::ran(&mut support::pgdyno(&["show", "1", "--store", store]));
    let shown = shown.expect(0, &["[pack-notice]: derived from TPC-C: not a TPC result"]);
    // The unit, and the limit with what came of it.
    let line = |name: &str| shown.stdout.lines().find(|line| line.starts_with(name));
    assert!(line("new orders ").unwrap().ends_with("/min"), "{shown:#?}");
    assert!(
        line("rollbacks ").unwrap().contains("0.9 to 1.1"),
        "{shown:#?}"
    );
}

#[test]
fn terminals_have_a_home_key_and_think() {
    let database = Database::new("tpcc_terminals");
    let load = ["load", "tpcc"].into_iter();
    let load = load.chain(SMALL.iter().flat_map(|param| ["--param", param]));
    let loaded = database.pgdyno(&load.collect::<Vec<_>>());
    loaded.expect(0, &["note: derived from TPC-C: not a TPC result"]);
    let thinks = ["think_times=true"];
    tpcc(&database, "run", &thinks, "--no-store -c 4 -T 1").expect(
        2,
        &["think_times=true is for ten clients to each active warehouse, and there are 4 clients"],
    );
    // The shortest keying time is two seconds: nothing is sent in one, and no client waits longer.
    let one = ["think_times=true", "active_warehouses=1"];
    let ran = tpcc(
        &database,
        "run",
        &one,
        "--no-store -c 10 -T 1 --json --observe none",
    );
    let document: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:#?}"));
    assert_eq!(committed(&document, ""), 0.0);
    let figures = document["figures"].as_array().unwrap();
    assert!(figures.iter().any(|figure| figure["name"] == "efficiency"));
    // Without, each client stays in its own warehouse.
    let home = [
        "remote_payment_percent=0",
        "remote_line_percent=0",
        "active_warehouses=1",
    ];
    run(&database, &home, 10);
    let elsewhere = "SELECT count(*) FROM orders WHERE o_id > 100 AND o_w_id > 1";
    assert_eq!(database.value(elsewhere), "0");
    run(&database, &[], 10);
    let warehouses = "SELECT count(DISTINCT o_w_id) FROM orders WHERE o_id > 100";
    assert_eq!(database.value(warehouses), "2");
}
