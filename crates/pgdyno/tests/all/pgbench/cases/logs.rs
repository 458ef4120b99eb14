//! Logs of transactions: their names, their lines, who is in the sample, intervals.

use super::needs_stock;
use crate::pgbench::compare::{Setting, case};
use crate::pgbench::mask::Log;

const TROUBLE: &str = "
    CREATE SEQUENCE calls;
    CREATE FUNCTION trouble(times int, code text DEFAULT '40001') RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        IF nextval('calls') % (times + 1) <> 0 THEN
            RAISE EXCEPTION 'trouble' USING ERRCODE = code;
        END IF;
        RETURN times;
    END $$;
";
const AGAIN: &str = "ALTER SEQUENCE calls RESTART";

const FILES: [(&str, &str); 4] = [
    ("one.sql", "SELECT 1;\n"),
    ("two.sql", "SELECT 2;\n"),
    ("trouble.sql", "SELECT trouble(2);\n"),
    ("nap.sql", "\\sleep 20 ms\n"),
];

#[test]
fn logs_of_transactions() {
    needs_stock!("logs_of_transactions");
    let plain = Log::Transactions { lag: false };
    let lag = Log::Transactions { lag: true };
    let setting = Setting::new(pgdyno_testkit::postgres(), "logs", &FILES);
    setting.sql(TROUBLE).compare(&[
        case("-n -t 5 -f one.sql -l").log(plain),
        case("-n -t 5 -f one.sql -f two.sql --random-seed 5 -l").log(plain),
        case("-n -t 5 -c 3 -f one.sql -l").log(plain),
        case("-n -t 5 -c 3 -j 2 -f one.sql -l").log(plain),
        case("-n -t 5 -c 2 -j 2 -f one.sql -l --log-prefix mine").log(plain),
        case("-n -t 5 -f one.sql -l --log-prefix ./mine").log(plain),
        case("-n -t 5 -f one.sql -l --log-prefix nosuch/dir").log(plain),
        case("-n -t 200 -f one.sql -l --sampling-rate 0.1 --random-seed 5").log(plain),
        case("-n -t 100 -c 2 -j 2 -f one.sql -l --sampling-rate 0.3 --random-seed 7").log(plain),
        case("-n -t 20 -f one.sql -l --sampling-rate 1 --random-seed 5").log(plain),
        case("-n -t 20 -f one.sql -l --sampling-rate 0.000001 --random-seed 5").log(plain),
        case("-n -t 5 -f one.sql -l -R 500").log(lag),
        case("-n -t 5 -f one.sql -l -R 500 -L 5000").log(lag),
        case("-n -t 5 -f one.sql -l -L 5000").log(plain),
        case("-n -t 5 -f one.sql -l --max-tries 3").log(plain),
        case("-n -t 5 -f one.sql -l --max-tries 3 -R 500").log(lag),
        case("-n -t 5 -f one.sql -l -C").log(plain),
        case("-n -t 6 -f trouble.sql -l").log(plain).before(AGAIN),
        case("-n -t 6 -f trouble.sql -l --failures-detailed")
            .log(plain)
            .before(AGAIN),
        case("-n -t 6 -f trouble.sql -l --max-tries 2")
            .log(plain)
            .before(AGAIN),
        case("-n -t 6 -f trouble.sql -l --max-tries 2 --failures-detailed -R 500")
            .log(lag)
            .before(AGAIN),
        case("-n -t 6 -f trouble.sql -l --max-tries 3")
            .log(plain)
            .before(AGAIN),
        case("-n -t 1 -f nosuch.sql -l").log(plain),
    ]);
}

#[test]
fn logs_of_intervals() {
    needs_stock!("logs_of_intervals");
    let setting = Setting::new(pgdyno_testkit::postgres(), "logs_intervals", &FILES);
    let intervals = |line| case(line).log(Log::Intervals).before(AGAIN).counts();
    setting.sql(TROUBLE).compare(&[
        intervals("-n -T 2 -f nap.sql -l --aggregate-interval 1"),
        intervals("-n -T 2 -f nap.sql -c 2 -j 2 -l --aggregate-interval 1 -R 30 -L 5000"),
        intervals(
            "-n -T 2 -f trouble.sql -l --aggregate-interval 1 --max-tries 2 --failures-detailed",
        ),
        intervals("-n -t 2 -f one.sql -l --aggregate-interval 100 --log-prefix mine"),
    ]);
}
