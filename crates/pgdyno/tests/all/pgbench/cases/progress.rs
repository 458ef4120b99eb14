//! Progress lines while a run is under way. How many come in time is not compared; each form is.

use super::needs_stock;
use crate::pgbench::compare::{Setting, case};

const FILES: [(&str, &str); 2] = [
    ("nap.sql", "\\sleep 5 ms\nSELECT 1;\n"),
    ("long.sql", "\\sleep 1500 ms\n"),
];

#[test]
fn progress_lines() {
    needs_stock!("progress_lines");
    let setting = Setting::new(pgdyno_testkit::postgres(), "progress", &FILES);
    let running = |line| case(line).counts().repeats();
    setting.compare(&[
        running("-n -T 2 -P 1 -f nap.sql"),
        running("-n -T 2 -P 1 -f nap.sql -c 2 -j 2 --progress-timestamp"),
        running("-n -T 2 -P 1 -f nap.sql -R 50"),
        running("-n -T 2 -P 1 -f nap.sql -R 50 -L 1000 --max-tries 3"),
        running("-n -T 2 -P 1 -f nap.sql --max-tries 3 -C"),
        // A second in which nothing ended.
        running("-n -t 1 -P 1 -f long.sql"),
    ]);
}
