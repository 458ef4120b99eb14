//! The report at the end, in every combination of what it may hold.

use super::needs_stock;
use crate::pgbench::compare::{Setting, case};

const FILES: [(&str, &str); 6] = [
    ("one.sql", "SELECT 1;\n"),
    (
        "two.sql",
        "\\set a random(1, 100)\n-- a comment\nSELECT :a;\nSELECT\n  2,\n  'three';\n",
    ),
    (
        "long.sql",
        "\\sleep 2 ms\nSELECT 'a statement whose text is longer than what a column may take', 1, 2, 3;\n",
    ),
    ("nap.sql", "\\sleep 20 ms\n"),
    ("long_nap.sql", "\\sleep 1200 ms\n"),
    (
        "words.sql",
        "SELECT 1\\; SELECT 2;\n\\if 1\nBEGIN;\n\\else\nSELECT 3;\n\\endif\nEND;\n  SELECT   4  ;  \n",
    ),
];

/// Of these the counts are known beforehand.
const LINES: [&str; 61] = [
    "-n -t 5 -S",
    "-nSt5",
    "-t 3",
    "-t 3 -v",
    "-v -n -t 1",
    "-n -t 3 -N",
    "-n -S",
    "-n -t 4 -c 2",
    "-n -t 4 -c 3 -j 2 -S",
    "-n -t 1 -c 2 -j 20 -S",
    "-n -t 3 -M simple",
    "-n -t 3 -M extended",
    "-n -t 3 -M prepared",
    "-n -t 3 -r",
    "-n -t 3 -r -S",
    "-n -t 3 -r -N --max-tries 2",
    "-n -t 3 -r -f two.sql",
    "-n -t 3 -r -f words.sql",
    "-n -t 3 -r -M simple -f words.sql -f long.sql@2 --random-seed 5",
    "-n -t 20 -r -f one.sql@3 -f two.sql@1 --random-seed 5",
    "-n -t 20 -r -f one.sql@3 -b se@2 -f two.sql@0 --random-seed 5",
    "-n -t 20 -b se -b si@3 -b tp@2 --random-seed 7 --failures-detailed",
    "-n -t 20 -f one.sql@3 -f two.sql --random-seed 5 --failures-detailed --max-tries 3",
    "-n -t 20 -f one.sql@3 -f two.sql --random-seed 5 --failures-detailed --max-tries 1",
    "-n -t 20 -f one.sql -f long.sql -P 100 --random-seed 5",
    "-n -t 1 -f one.sql@2147483647 -f two.sql@1 --random-seed 5 -r",
    "-n -t 1 -f one.sql@1000 -f two.sql@999999 --random-seed 2",
    "-n -t 5 -S --failures-detailed",
    "-n -t 5 -S --max-tries 5",
    "-n -t 5 -S --max-tries 1",
    "-n -t 5 -S --verbose-errors --max-tries 5 --failures-detailed -r",
    "-n -t 5 -S -C",
    "-n -t 5 -S -C -c 2 -j 2 -r",
    "-n -t 2 -f nap.sql -L 5000",
    "-n -t 2 -f nap.sql -L 1",
    "-n -t 2 -f nap.sql -L 1.25",
    "-n -t 2 -f nap.sql -L 5000 --max-tries 0 -r",
    "-n -t 5 -f one.sql -R 1000",
    "-n -t 5 -f one.sql -R 1000 -r -f one.sql --random-seed 2",
    "-n -t 5 -f one.sql -R 200 -L 5000 --failures-detailed",
    "-n -t 5 -f one.sql -f two.sql -R 200 -L 5000 --max-tries 2 --random-seed 3",
    "-n -t 3 -f nap.sql -L 5000 -P 100",
    "-n -t 3 -S -s 5",
    "-n -t 3 -s 5 -f one.sql",
    "-n -t 3 -s 5 -D scale=7 -f one.sql -r",
    "-n -t 3 -D a=b -D c=4.5 -f one.sql",
    "-n -t 3 -f one.sql --random-seed=42",
    "-n -t 3 -f one.sql --exit-on-abort",
    "-n -t 1 -t 2 -c 3 -c 1 -S -M extended -M prepared -L 5 -L 5000",
    "-n -t 1 -S -S -N --random-seed 2",
    "bench_reports -n -t 3 -S",
    "-n -t 3 -S bench_reports",
    "-n -t 3 -S -- bench_reports",
    "-n -t 3 -S -d bench_reports",
    "-n -t 3 -S --dbname=bench_reports",
    "--no-vac --trans=3 --select --prot=prepared --jobs=2 --cli 2",
    "--no-vacuum --transactions 3 --builtin select --report-per --skip --random 2",
    "-n -t 1 --prog 100 --progress-time -S",
    "-n -t 3 -S -f one.sql@0 --random-seed 4",
    "-n -t3 -c2 -Mprepared -bsel -fone.sql --random-seed 4",
    "-n -t 3 -S -L 5000 -R 100 --max-tries 0 --failures-detailed --random-seed 4 -r -C",
];

#[test]
fn reports_of_counted_transactions() {
    needs_stock!("reports_of_counted_transactions");
    let setting = Setting::new(pgdyno_testkit::postgres(), "bench_reports", &FILES);
    let mut cases: Vec<_> = LINES.into_iter().map(case).collect();
    cases.extend([
        case("-n -t 3 -f -").stdin("SELECT 1;\n\\set a 1\nSELECT :a;\n"),
        case("-n -t 3 -r -f - -f one.sql --random-seed 1").stdin("SELECT 'from standard input';\n"),
        case("-n -t 3 -f one.sql").env("PGBENCH_RANDOM_SEED", "5"),
        case("-n -t 3 -f one.sql --random-seed 6").env("PGBENCH_RANDOM_SEED", "5"),
        case("-n -t 1 -f one.sql --random-seed rand").any_seed(),
        // Threads of stock pgbench add to the counts of a script without a lock: some get lost.
        case("-n -t 20 -f one.sql -f one.sql --random-seed 9 -c 2 -j 2").counts(),
        case("-n -t3 -j2 -c2 -Mprepared -bsel -fone.sql --random-seed 4").counts(),
        case("-n -t 1 -S -s 5").env("PG_COLOR", "always"),
        case("-n -t 3 bench_reports -S").env("PGDATABASE", "nosuch"),
        case("-n -t 3 -f one.sql").env("PGAPPNAME", "other"),
    ]);
    setting.prepared("-i -q").compare(&cases);
}

#[test]
fn reports_of_timed_transactions() {
    needs_stock!("reports_of_timed_transactions");
    let cases = [
        case("-n -T 1 -S").counts(),
        case("-n -T 1 -c 2 -j 2 -r -f one.sql -b se@2 --failures-detailed --max-tries 0").counts(),
        case("-n -T 1 -f nap.sql -R 200 -L 5 -r -f one.sql@0 --failures-detailed").counts(),
        case("-n -T 1 -C -f nap.sql -c 2").counts(),
        // Each is late before it can begin, but the first.
        case("-n -t 100 -f long_nap.sql -R 100000 -L 1000").counts(),
    ];
    let setting = Setting::new(pgdyno_testkit::postgres(), "bench_timed", &FILES);
    setting.prepared("-i -q").compare(&cases);
}

#[test]
fn reports_about_partitions() {
    needs_stock!("reports_about_partitions");
    for (name, line) in [
        ("bench_range", "-i -q --partitions 3"),
        ("bench_hash", "-i -q --partitions 2 --partition-method hash"),
    ] {
        let setting = Setting::new(pgdyno_testkit::postgres(), name, &FILES);
        setting.prepared(line).compare(&[
            case("-n -t 3 -S"),
            case("-n -t 3 -r"),
            case("-n -t 3 -b se -b si --random-seed 3"),
            // Tables are not checked.
            case("-n -t 3 -f one.sql"),
        ]);
    }
    let none = Setting::new(pgdyno_testkit::postgres(), "bench_no_partition", &[]);
    none.sql(
        "CREATE TABLE pgbench_branches (bid int, bbalance int, filler text);
         INSERT INTO pgbench_branches SELECT n FROM generate_series(1, 4) n;
         CREATE TABLE pgbench_accounts (aid int, abalance int) PARTITION BY LIST (aid);",
    )
    .compare(&[
        case("-n -t 3 -S"),
        case("-n -t 3 -S")
            .before("DROP TABLE pgbench_accounts; CREATE TABLE pgbench_accounts (aid int, abalance int) PARTITION BY RANGE (aid)"),
        case("-n -t 3 -S").before("DROP TABLE IF EXISTS pgbench_accounts"),
        case("-n -t 3 -S").before("DROP VIEW IF EXISTS pgbench_accounts; CREATE VIEW pgbench_accounts AS SELECT 1 AS aid, 2 AS abalance"),
    ]);
}
