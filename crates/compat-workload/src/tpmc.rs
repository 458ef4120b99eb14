//! What `run tpcc` says behind the totals: audit checks of what was drawn, and new orders a minute.
//! (Facts: published output of 2019 to 2024, and pkg/workload/tpcc/audit.go, result.go.)

use std::fmt::Write;

use pgdyno_measurement::{Latencies, Recording};

use super::format::Format;

/// How scripts of the pack begin, and cockroach's names of these operations.
pub const OPERATIONS: [(&str, &str); 3] = [
    ("new-order", NEW_ORDER),
    ("order-status", "orderStatus"),
    ("stock-level", "stockLevel"),
];
pub const NEW_ORDER: &str = "newOrder";
/// The script of new orders that are rolled back.
const ROLLBACK: &str = "new-order-rollback";
/// How a statement that finds customers by last name is distinguished from others.
const BY_LAST_NAME: &str = "c_last = ";

/// New orders that a warehouse can have a minute when all its workers wait as TPC-C says.
const ORDERS_A_MINUTE: f64 = 12.86;
/// Of fewer transactions shares say nothing.
const SIGNIFICANT: u64 = 10_000;

/// What is known of a run.
pub struct Seen<'a> {
    pub format: Format,
    /// Warehouses that were worked on.
    pub active_warehouses: u64,
    /// Whether no transaction left its warehouse.
    pub is_local: bool,
    pub recording: &'a Recording,
}

/// Audit checks, and the row of new orders, if there was one.
pub fn text(seen: &Seen<'_>, new_orders: Option<(&Latencies, f64)>) -> String {
    let mut text = String::new();
    for (check, result) in audit(seen) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "Audit check {check}: {result}");
    }
    text.push_str(
        "\n_elapsed_______tpmC____efc__avg(ms)__p50(ms)__p90(ms)__p95(ms)__p99(ms)_pMax(ms)\n",
    );
    if let Some((latencies, elapsed_s)) = new_orders
        && let Some(mean_us) = latencies.mean_us()
    {
        row(
            &mut text,
            latencies,
            mean_us,
            elapsed_s,
            seen.active_warehouses,
        );
    }
    text
}

fn row(text: &mut String, latencies: &Latencies, mean_us: f64, elapsed_s: f64, warehouses: u64) {
    let a_minute = latencies.count() as f64 / elapsed_s * 60.0;
    let efficiency = 100.0 * a_minute / (ORDERS_A_MINUTE * warehouses as f64);
    let max_us = latencies.max_us();
    let _ = write!(
        text,
        "{elapsed_s:7.1}s {a_minute:10.1} {efficiency:5.1}% {:8.1}",
        mean_us / 1e3
    );
    for quantile in [0.5, 0.9, 0.95, 0.99] {
        let value_us = latencies.histogram().quantile_us(quantile).unwrap_or(0);
        let _ = write!(text, " {:8.1}", value_us.min(max_us) as f64 / 1e3);
    }
    let _ = writeln!(text, " {:8.1}", max_us as f64 / 1e3);
}

/// The checks in the order of the version whose form is printed.
fn audit(seen: &Seen<'_>) -> Vec<(&'static str, String)> {
    let mut checks = vec![
        ("9.2.1.7", skipped_deliveries(seen)),
        ("9.2.2.5.1", rollbacks(seen)),
        ("9.2.2.5.2", order_lines(seen)),
        (
            "9.2.2.5.5",
            by_last_name(seen, "payment", "payments", "payment"),
        ),
        (
            "9.2.2.5.6",
            by_last_name(
                seen,
                "order-status",
                "order status transactions",
                "order status",
            ),
        ),
    ];
    // Of workers that stay at home these are no news.
    if !seen.is_local {
        checks.push((
            "9.2.2.5.3",
            remote(seen, "new-order", "orders", "order lines"),
        ));
        checks.push(("9.2.2.5.4", remote(seen, "payment", "payments", "payments")));
    }
    if seen.format == Format::Simple191 {
        checks.sort_by_key(|(check, _)| *check);
    }
    checks
}

/// Committed transactions of the scripts whose names begin so.
fn count(seen: &Seen<'_>, script: &str) -> u64 {
    let records = seen.recording.scripts.iter();
    let counts = records.zip(&seen.recording.measured.scripts);
    counts
        .filter(|(record, _)| record.name.starts_with(script))
        .map(|(_, interval)| interval.service.count())
        .sum()
}

/// Whether there are too few of them to tell, in cockroach's words.
fn too_few(count: u64, what: &str) -> Option<String> {
    (count < SIGNIFICANT)
        .then(|| format!("SKIP: not enough {what} to be statistically significant"))
}

/// How often statements of the scripts whose names begin so were executed; those that have `part` in their
/// text, and the one that was executed most. Nothing where there is no such statement.
fn executions(seen: &Seen<'_>, script: &str, part: &str) -> Option<(u64, u64)> {
    let (mut found, mut some, mut most) = (false, 0, 0);
    let records = seen.recording.scripts.iter();
    let records = records.zip(&seen.recording.statements);
    for (record, totals) in records.filter(|(record, _)| record.name.starts_with(script)) {
        let mut most_of_script = 0;
        for (statement, total) in record.statements.iter().zip(totals) {
            let executed = total.latencies.count();
            most_of_script = most_of_script.max(executed);
            if statement.text.contains(part) {
                found = true;
                some += executed;
            }
        }
        most += most_of_script;
    }
    (found && most > 0).then_some((some, most))
}

fn skipped_deliveries(seen: &Seen<'_>) -> String {
    too_few(count(seen, "delivery"), "delivery transactions")
        .unwrap_or_else(|| "SKIP: pgdyno does not count skipped deliveries".to_owned())
}

fn rollbacks(seen: &Seen<'_>) -> String {
    let orders = count(seen, "new-order");
    too_few(orders, "orders").unwrap_or_else(|| {
        let percent = 100.0 * count(seen, ROLLBACK) as f64 / orders as f64;
        within(percent, (0.9, 1.1), "new order rollback percent")
    })
}

/// Their mean tells that something is wrong, not that all is well.
fn order_lines(seen: &Seen<'_>) -> String {
    let orders = count(seen, "new-order");
    if let Some(few) = too_few(orders, "orders") {
        return few;
    }
    let skip = "SKIP: pgdyno does not count orders by their number of lines";
    let Some((lines, _)) = executions(seen, "new-order", "INSERT INTO order_line") else {
        return skip.to_owned();
    };
    let mean = lines as f64 / orders as f64;
    // A script that sends all lines of an order at once tells nothing.
    if mean <= 1.0 {
        return skip.to_owned();
    }
    match within(mean, (9.5, 10.5), "average order-lines count") {
        result if result == "PASS" => format!("{skip} (on average {mean:.1})"),
        result => result,
    }
}

fn by_last_name(seen: &Seen<'_>, script: &str, what: &str, of: &str) -> String {
    if let Some(few) = too_few(count(seen, script), what) {
        return few;
    }
    match executions(seen, script, BY_LAST_NAME) {
        Some((by_name, all)) => within(
            100.0 * by_name as f64 / all as f64,
            (57.0, 63.0),
            &format!("percent of customer selections by last name in {of} transactions"),
        ),
        None => format!("SKIP: pgdyno does not count selections by last name in {of} transactions"),
    }
}

fn remote(seen: &Seen<'_>, script: &str, what: &str, of: &str) -> String {
    if seen.active_warehouses == 1 {
        return "PASS".to_owned();
    }
    too_few(count(seen, script), what)
        .unwrap_or_else(|| format!("SKIP: pgdyno does not count remote {of}"))
}

fn within(value: f64, (low, high): (f64, f64), what: &str) -> String {
    if (low..=high).contains(&value) {
        "PASS".to_owned()
    } else {
        format!("FAIL: {what} {value:.1} is not between allowed bounds [{low}, {high}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A published run of 24.1 (240.0 s, 1 warehouse of 12.6 new orders a minute).
    #[test]
    fn the_row_is_the_published_one() {
        let mut latencies = Latencies::default();
        (0..63).for_each(|_| latencies.record(31_500));
        let mut text = String::new();
        row(&mut text, &latencies, 31_400.0, 300.0, 1);
        let published =
            "  300.0s       12.6  98.0%     31.4     31.5     31.5     31.5     31.5     31.5\n";
        assert_eq!(text, published);
    }

    #[test]
    fn a_share_is_printed_only_when_out_of_bounds() {
        assert_eq!(within(1.1, (0.9, 1.1), "x"), "PASS");
        let reported = within(2.04, (0.9, 1.1), "new order rollback percent");
        assert_eq!(
            reported,
            "FAIL: new order rollback percent 2.0 is not between allowed bounds [0.9, 1.1]"
        );
        let few = "SKIP: not enough orders to be statistically significant";
        assert_eq!(too_few(9_999, "orders").as_deref(), Some(few));
        assert_eq!(too_few(10_000, "orders"), None);
    }
}
