//! Trials and histograms as plain rows, in a file that is exported for DuckDB, pandas and the like, which read no
//! HdrHistogram (docs/analysis.md). The tables are no part of a notebook: import leaves them out.

use std::collections::BTreeMap;

use pgdyno_measurement::{Latencies, Packed, ScriptSecond};
use pgdyno_spec::Failure;

use super::{Store, packed, seconds};
use crate::db::{self, Db, Value};

/// A file that has these, too, is still one of pgdyno's.
pub(crate) const NAMES: [&str; 3] = ["trials", "bucket", "percentile"];

/// `trials` is of the view `result`: the types of a view over generated columns are lost on DuckDB, to which each
/// is text, and the median of texts is no median.
const TABLES: &str = "
    CREATE TABLE trials AS
        SELECT number, experiment_name, point, repeat, created, ended, workload, target, server_version,
               isolation_in_effect, mix, clients, threads, query_mode, isolation, duration_s, warmup_s, rate_per_s,
               latency_limit_us, retry, seed, elapsed_us, committed, failed, skipped, unknown, late, retries, retried,
               given_up, goodput_per_s, service_mean_us, service_p50_us, service_p90_us, service_p95_us, service_p99_us,
               service_p99_9_us, service_max_us, response_mean_us, response_p50_us, response_p90_us, response_p95_us,
               response_p99_us, response_p99_9_us, response_max_us, attempt_mean_us, attempt_p50_us, attempt_p90_us,
               attempt_p95_us, attempt_p99_us, attempt_p99_9_us, attempt_max_us
        FROM result ORDER BY number;
    CREATE TABLE bucket (
        trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
        script      INTEGER NOT NULL,
        what        TEXT NOT NULL,
        low_us      INTEGER NOT NULL,
        high_us     INTEGER NOT NULL,
        count       INTEGER NOT NULL,
        PRIMARY KEY (trial, script, what, low_us)
    ) WITHOUT ROWID;
    CREATE TABLE percentile (
        trial       INTEGER NOT NULL REFERENCES trial_begun (number) ON DELETE CASCADE,
        start_us    INTEGER NOT NULL,
        warmup      INTEGER NOT NULL,
        what        TEXT NOT NULL,
        p50_us      INTEGER,
        p90_us      INTEGER,
        p95_us      INTEGER,
        p99_us      INTEGER,
        p99_9_us    INTEGER,
        PRIMARY KEY (trial, start_us, warmup, what)
    ) WITHOUT ROWID";

const PERCENTS: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

impl Store {
    /// Adds the tables with the rows of all trials that are here.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn add_tables(&self) -> Result<(), Failure> {
        let added = self.db.transaction(|db| {
            db.execute_batch(TABLES)?;
            let numbers = db.prepare("SELECT number FROM trial_begun ORDER BY number");
            let numbers: Vec<i64> = numbers.query_map([0; 0], |row| row.get(0))?;
            numbers.into_iter().try_for_each(|number| add(db, number))
        });
        added.map_err(self.failed("cannot write to"))
    }
}

/// Buckets of a trial's measured time by script; percentiles of each second, scripts together.
fn add(db: &Db, trial: i64) -> db::Result<()> {
    let mut measured: BTreeMap<(u64, &str), Latencies> = BTreeMap::new();
    for second in seconds::read(db, trial)? {
        let mut together: BTreeMap<&str, Latencies> = BTreeMap::new();
        for (script, of) in (0..).zip(&second.scripts) {
            for (what, packed) in kinds(of) {
                let latencies = packed.unpack();
                together.entry(what).or_default().merge(&latencies);
                if !second.warmup {
                    let all = measured.entry((script, what)).or_default();
                    all.merge(&latencies);
                }
            }
        }
        for (what, latencies) in together {
            let start = [
                Value::Integer(trial),
                packed::whole(second.start_us),
                Value::Integer(second.warmup.into()),
                Value::Text(what.to_owned()),
            ];
            let percentiles = PERCENTS.map(|percent| latencies.percentile_us(percent));
            let percentiles = percentiles.map(|us| us.map_or(Value::Null, packed::whole));
            let row: Vec<Value> = start.into_iter().chain(percentiles).collect();
            db.execute(
                "INSERT INTO percentile VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )?;
        }
    }
    for ((script, what), latencies) in measured {
        for bucket in latencies.histogram().buckets() {
            let row = vec![
                Value::Integer(trial),
                packed::whole(script),
                Value::Text(what.to_owned()),
                packed::whole(bucket.lowest_us),
                packed::whole(bucket.highest_us),
                packed::whole(bucket.count),
            ];
            db.execute("INSERT INTO bucket VALUES (?, ?, ?, ?, ?, ?)", row)?;
        }
    }
    Ok(())
}

/// The histograms of a second that there are.
fn kinds(of: &ScriptSecond) -> impl Iterator<Item = (&'static str, &Packed)> {
    let all = [
        ("service", Some(&of.service)),
        ("response", of.response.as_ref()),
        ("schedule_lag", of.lag.as_ref()),
        ("attempt", of.attempt.as_ref()),
    ];
    all.into_iter()
        .filter_map(|(what, packed)| Some((what, packed?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::example;
    use crate::query::Cell;
    use pgdyno_measurement::{Counts, Second};
    use std::path::Path;

    /// A thousand values, 10 µs to 10 ms, and one that is longer.
    fn service() -> Latencies {
        let mut latencies = Latencies::default();
        (1..=1000).for_each(|n| latencies.record(n * 10));
        latencies.record(5_000_000);
        latencies
    }

    fn second(start_us: u64, warmup: bool, rated: bool) -> Second {
        let mut late = Latencies::default();
        (0..7).for_each(|_| late.record(3));
        Second {
            start_us,
            length_us: 1_000_000,
            warmup,
            time: Default::default(),
            drain: false,
            scripts: vec![ScriptSecond {
                counts: Counts {
                    committed: 1001,
                    ..Counts::default()
                },
                service: service().pack(),
                lag: rated.then(|| late.pack()),
                ..ScriptSecond::default()
            }],
        }
    }

    /// An exported trial with a second of warm-up and two that were measured.
    fn exported(at: &Path) -> Store {
        let store = Store::open(&at.join("s")).unwrap();
        let mut writer = store.begin(&example()).unwrap();
        writer.keep_second(second(0, true, true));
        writer.keep_second(second(1_000_000, false, true));
        writer.keep_second(second(2_000_000, false, true));
        writer.fail("over").unwrap();
        let to = at.join("exported");
        store.export_with_tables(None, &to).unwrap();
        Store::existing(&to).unwrap()
    }

    fn rows(store: &Store, sql: &str) -> Vec<String> {
        let rows = store.query(sql).unwrap().rows.into_iter();
        rows.map(|row| row.iter().map(Cell::text).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn an_exported_file_has_buckets_of_the_measured_time_and_percentiles_of_each_second() {
        let dir = tempfile::tempdir().unwrap();
        let store = exported(dir.path());
        let mut both = service();
        both.merge(&service());
        let buckets = both.histogram().buckets().map(|bucket| {
            let (low, high) = (bucket.lowest_us, bucket.highest_us);
            format!("1 0 {low} {high} {}", bucket.count)
        });
        let sql = "SELECT trial, script, low_us, high_us, count FROM bucket WHERE what = 'service' ORDER BY low_us";
        assert_eq!(rows(&store, sql), buckets.collect::<Vec<_>>());
        let sql = "SELECT low_us, high_us, count FROM bucket WHERE what = 'schedule_lag'";
        assert_eq!(rows(&store, sql), ["3 3 14"]);
        let sql = "SELECT start_us, warmup, p50_us, p99_us, p99_9_us FROM percentile \
                   WHERE what = 'service' ORDER BY start_us";
        let (p50, p99) = (service().percentile_us(50.0), service().percentile_us(99.0));
        let of = |start: &str| format!("{start} {} {} ", p50.unwrap(), p99.unwrap());
        assert_eq!(
            rows(&store, sql),
            [of("0 1"), of("1000000 0"), of("2000000 0")]
        );
        // What DuckDB goes by.
        let sql = "SELECT type FROM pragma_table_info('trials') WHERE name IN ('clients', 'goodput_per_s')";
        assert_eq!(rows(&store, sql), ["INT", "REAL"]);
        // Seven values are too few for any.
        let sql = "SELECT count(*), count(p50_us) FROM percentile WHERE what = 'schedule_lag'";
        assert_eq!(rows(&store, sql), ["3 0"]);
    }

    #[test]
    fn what_is_imported_from_such_a_file_is_a_notebook_as_others() {
        let dir = tempfile::tempdir().unwrap();
        let file = exported(dir.path()).path().unwrap().to_owned();
        let other = Store::open(&dir.path().join("other")).unwrap();
        assert_eq!(other.import(&file).unwrap().trials, 1);
        let sql =
            "SELECT count(*) FROM sqlite_schema WHERE name IN ('trials', 'bucket', 'percentile')";
        assert_eq!(rows(&other, sql), ["0"]);
    }
}
