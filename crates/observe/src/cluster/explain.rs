//! What the server tells of a statement's time: how much of it is the storage layer's, how much it waited for
//! other transactions. A few of the scripts' own reads are run once more when clients have gone, under the
//! dialect's form of EXPLAIN.
//!
//! Never during the trial: EXPLAIN ANALYZE traces what it runs, which costs the server.

use std::time::{Duration, Instant};

use pgdyno_session::Session;

use super::moves::one_line;
use crate::{Instrument, IsStopping, Readings, Scene};
use pgdyno_database::admin;
use pgdyno_database::dialect::{Product, Times};
use pgdyno_database::open::Target;
use pgdyno_model::observed::{EXPLAINED, Explained, Gap};

pub const NAME: &str = "cluster.explain";

/// How long connecting may take, and an answer.
const LIMIT: Duration = Duration::from_secs(1);
/// How long all of it may take: less than the trial waits for it.
const ALL_MAX: Duration = Duration::from_millis(1_500);
/// How long the trial waits for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// A statement of a script that only reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainRead {
    /// As the script has it.
    pub text: String,
    /// The same with values, as often as it is to be run.
    pub drawn: Vec<String>,
}

struct Explain {
    target: Target,
    product: Product,
    times: &'static Times,
    reads: Vec<PlainRead>,
    is_stopping: IsStopping,
}

/// One, where the product tells such times and a script has such a statement.
pub fn instrument(scene: &Scene<'_>) -> Option<Box<dyn Instrument>> {
    let times = scene.product.dialect.explain.as_ref()?;
    if scene.reads.is_empty() {
        return None;
    }
    Some(Box::new(Explain {
        target: scene.target.clone(),
        product: scene.product.clone(),
        times,
        reads: scene.reads.to_vec(),
        is_stopping: scene.is_stopping.clone(),
    }))
}

impl Instrument for Explain {
    fn name(&self) -> &str {
        NAME
    }

    fn source(&self) -> String {
        self.times.statement.replace(" {statement}", "")
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(3_600)
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn begin(&mut self, _out: &mut Readings) -> Result<(), Gap> {
        let (title, since) = (self.product.dialect.title, self.times.since);
        if self.product.is_since(since) {
            Ok(())
        } else {
            Err(Gap::because(format!(
                "{title} tells the parts of a statement's time from {since} on, and this is {}",
                self.product.version
            )))
        }
    }

    fn read(&mut self, _out: &mut Readings) -> Result<(), Gap> {
        Ok(())
    }

    fn end(&mut self, out: &mut Readings) -> Result<(), Gap> {
        if (self.is_stopping)() {
            return Ok(());
        }
        let until = Instant::now() + ALL_MAX;
        let connected = self.target.connect_within(LIMIT);
        let mut session = connected.map_err(|e| Gap::because(one_line(&e)))?;
        let mut all = Vec::new();
        for read in &self.reads {
            let (samples, missing) = self.samples(&mut session, read, until);
            if let Some(why) = missing {
                out.gap(&*read.text, Gap::because(why));
            }
            all.extend(explained(&read.text, self.times, &samples));
            if session.is_broken() {
                break;
            }
        }
        let all: Vec<serde_json::Value> = { all.into_iter() }
            .filter_map(|one| serde_json::to_value(one).ok())
            .collect();
        if !all.is_empty() {
            out.fact(EXPLAINED, all);
        }
        Ok(())
    }
}

impl Explain {
    /// Samples of its executions, and why there are no more of them.
    fn samples(
        &self,
        session: &mut Session,
        read: &PlainRead,
        until: Instant,
    ) -> (Vec<Sample>, Option<String>) {
        let mut samples = Vec::new();
        for sql in &read.drawn {
            let left = until.saturating_duration_since(Instant::now());
            if (self.is_stopping)() {
                return (samples, None);
            }
            if left.is_zero() {
                let why = format!("no time was left: all may take {} s", ALL_MAX.as_secs_f64());
                return (samples, Some(why));
            }
            session.set_answer_timeout(Some(left.min(LIMIT)));
            let sql = self.times.statement.replace("{statement}", sql);
            let lines = match admin::rows(session, &sql) {
                Ok(rows) => rows.into_iter().flatten().flatten().collect::<Vec<_>>(),
                Err(e) => return (samples, Some(one_line(&e))),
            };
            match sample(&lines.join("\n"), self.times) {
                Some(sample) => samples.push(sample),
                None => {
                    let why = format!("the answer has no line `{}`", self.times.execution);
                    return (samples, Some(why));
                }
            }
        }
        (samples, None)
    }
}

/// One execution's figures; times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    execution_us: f64,
    storage_us: Option<f64>,
    contention_us: Option<f64>,
    rows: Option<f64>,
}

/// Reads an answer; `None` when it does not tell how long the execution took.
fn sample(answer: &str, times: &Times) -> Option<Sample> {
    let lines: Vec<(&str, &str)> = { answer.lines() }
        .filter_map(|line| {
            // A plan is drawn as a tree.
            let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
            line.split_once(':')
        })
        .collect();
    let named = |name: &str, read: fn(&str) -> Option<f64>| -> Option<f64> {
        let of = lines.iter().filter(|(label, _)| *label == name);
        of.map(|(_, text)| read(text.trim()))
            .try_fold(None, |sum: Option<f64>, value| {
                Some(Some(sum.unwrap_or(0.0) + value?))
            })?
    };
    let first = |names: &[&str], read: fn(&str) -> Option<f64>| {
        names.iter().find_map(|name| named(name, read))
    };
    Some(Sample {
        // Nodes of the plan may tell theirs under the same name, further down.
        execution_us: { lines.iter() }
            .find(|(label, _)| *label == times.execution)
            .and_then(|(_, text)| duration_us(text.trim()))?,
        storage_us: first(times.storage, duration_us),
        contention_us: first(times.contention, duration_us),
        rows: first(times.rows, count),
    })
}

/// `1m22s`, `1.2s`, `353µs`, `0.971 ms` in microseconds.
fn duration_us(text: &str) -> Option<f64> {
    let (mut rest, mut all) = (text, None);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let number: f64 = rest[..end].parse().ok()?;
        let from = rest[end..].trim_start();
        let end = from.find(|c: char| !c.is_alphabetic());
        let (unit, after) = from.split_at(end.unwrap_or(from.len()));
        let us = match unit {
            "ns" => 1e-3,
            // The sign for micro, and the Greek letter.
            "µs" | "μs" | "us" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            "m" => 60e6,
            "h" => 3_600e6,
            _ => return None,
        };
        all = Some(all.unwrap_or(0.0) + number * us);
        rest = after.trim_start();
    }
    all
}

/// `125,000 (21 MiB)`: the number that it begins with.
fn count(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == ',' || c == '.'));
    text[..end.unwrap_or(text.len())]
        .replace(',', "")
        .parse()
        .ok()
}

/// The medians; `None` without a sample.
fn explained(text: &str, times: &Times, samples: &[Sample]) -> Option<Explained> {
    let median = |of: fn(&Sample) -> Option<f64>| {
        let all: Vec<f64> = samples.iter().filter_map(of).collect();
        Some(pgdyno_stats::Sample::new(&all).ok()?.median().round() as u64)
    };
    Some(Explained {
        text: text.to_owned(),
        samples: samples.len() as u64,
        execution_us: median(|sample| Some(sample.execution_us))?,
        layer: times.layer.to_owned(),
        storage_us: median(|sample| sample.storage_us),
        contention_us: median(|sample| sample.contention_us),
        rows: median(|sample| sample.rows),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::Bench;
    use pgdyno_database::dialect::{COCKROACHDB, Dialect, YUGABYTEDB};
    use pgdyno_database::open;
    use pgdyno_spec::TargetSpec;

    /// Execution, storage, contention and rows, rounded.
    fn rounded(answer: &str, dialect: &Dialect) -> Option<[Option<f64>; 4]> {
        let sample = sample(answer, dialect.explain.as_ref().unwrap())?;
        let rest = [sample.storage_us, sample.contention_us, sample.rows];
        let [storage, contention, rows] = rest.map(|value| value.map(f64::round));
        Some([Some(sample.execution_us.round()), storage, contention, rows])
    }

    #[test]
    fn answers_are_read_in_the_words_of_each_version() {
        // Lines as in the pages of EXPLAIN ANALYZE, v21.1 and later.
        let old = "  planning time: 604µs\n  execution time: 51ms\n  rows read from KV: 125,000 (21 MiB)\n  \
            cumulative time spent in KV: 106ms\n\n  • group\n  │ nodes: n1\n  │\n  └── • scan\n        \
            KV time: 106ms\n        KV contention time: 0µs\n        KV rows read: 125,000";
        let new = "planning time: 1ms\nexecution time: 1.2s\nrows decoded from KV: 4 (244 B, 1 gRPC calls)\n\
            cumulative time spent in KV: 1m22s\ncumulative time spent due to contention: 1m20s\n\n\
            • scan\n  KV contention time: 3ms";
        let without_sums = "execution time: 5ms\n├── • scan\n│     execution time: 2ms\n│     KV time: 1ms\n\
            │     KV rows decoded: 2\n└── • scan\n      KV time: 2ms\n      KV rows decoded: 1,001";
        for (answer, expected) in [
            (old, [Some(51e3), Some(106e3), Some(0.0), Some(125e3)]),
            (new, [Some(1.2e6), Some(82e6), Some(80e6), Some(4.0)]),
            (without_sums, [Some(5e3), Some(3e3), None, Some(1003.0)]),
        ] {
            assert_eq!(rounded(answer, &COCKROACHDB), Some(expected), "{answer}");
        }
        // Lines as in the pages of EXPLAIN of YugabyteDB, 2.20 and later.
        let read = " Index Scan using kvstore_pkey on kvstore (actual time=1.087..1.090 rows=1 loops=1)\n   \
            Storage Table Read Execution Time: 0.971 ms\n Planning Time: 0.063 ms\n Execution Time: 1.150 ms\n \
            Storage Read Requests: 1\n Storage Read Execution Time: 0.971 ms\n Storage Rows Scanned: 1\n \
            Catalog Read Execution Time: 25.815 ms\n Storage Execution Time: 26.786 ms";
        let nothing = " Execution Time: 0.063 ms\n Storage Read Requests: 0\n Storage Execution Time: 0.000 ms";
        for (answer, expected) in [
            (read, [Some(1150.0), Some(971.0), None, Some(1.0)]),
            (nothing, [Some(63.0), Some(0.0), None, None]),
        ] {
            assert_eq!(rounded(answer, &YUGABYTEDB), Some(expected), "{answer}");
        }
        for answer in [
            "",
            "https://cockroachdb.github.io/distsqlplan/decode.html#eJy",
            "execution time: soon",
        ] {
            assert_eq!(rounded(answer, &COCKROACHDB), None, "{answer}");
        }
    }

    #[test]
    fn the_median_of_the_samples_is_kept() {
        let of = |execution_us: f64, storage_us: Option<f64>| Sample {
            execution_us,
            storage_us,
            contention_us: None,
            rows: Some(1.0),
        };
        let times = COCKROACHDB.explain.as_ref().unwrap();
        let samples = [of(900.0, Some(10.0)), of(5.0, None), of(7.0, Some(20.0))];
        let kept = explained("SELECT 1", times, &samples).unwrap();
        assert_eq!((kept.samples, kept.execution_us), (3, 7));
        assert_eq!((kept.storage_us, kept.contention_us), (Some(15), None));
        assert_eq!(explained("SELECT 1", times, &[]), None);
    }

    fn asked(version: &str, is_stopping: bool) -> Bench<Explain> {
        let url = pgdyno_testkit::postgres().address().url();
        let target = open::existing(&TargetSpec::at(url)).map(Option::unwrap);
        let product = Product::recognise(version);
        Bench::new(Explain {
            target: target.unwrap_or_else(|e| panic!("{e}")),
            times: product.dialect.explain.as_ref().unwrap(),
            product,
            reads: vec![PlainRead {
                text: "SELECT :a".to_owned(),
                drawn: vec!["SELECT 1".to_owned(); 3],
            }],
            is_stopping: Arc::new(move || is_stopping),
        })
    }

    #[test]
    fn a_refused_or_strange_plan_is_a_gap_and_an_interrupt_ends_it() {
        // PostgreSQL has no DIST, and other words in the answer to EXPLAIN ANALYZE.
        for (version, why) in [
            (
                "PostgreSQL 15.12-YB-2025.2.2.2-b0",
                "unrecognized EXPLAIN option",
            ),
            (
                "CockroachDB CCL v23.2.0",
                "the answer has no line `execution time`",
            ),
        ] {
            let mut bench = asked(version, false);
            bench.begin().unwrap();
            let (_, batch) = bench.end();
            assert_eq!(batch.gaps[0].label, "SELECT :a");
            assert!(batch.gaps[0].gap.reason.contains(why), "{:?}", batch.gaps);
            assert_eq!(batch.facts, []);
        }
        let gap = asked("CockroachDB CCL v20.2.19", false).begin();
        let reason = gap.unwrap_err().reason;
        assert!(
            reason.contains("from 21.1 on, and this is 20.2"),
            "{reason}"
        );
        let mut bench = asked("CockroachDB CCL v23.2.0", true);
        bench.begin().unwrap();
        let (result, batch) = bench.end();
        assert_eq!(
            (result, batch.gaps),
            (Ok(()), Vec::new()),
            "nothing is asked"
        );
    }
}
