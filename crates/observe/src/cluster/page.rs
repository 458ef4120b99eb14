//! From a node's page to series: which figures make which.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use super::histogram::{Between, Histogram};
use crate::{Readings, prometheus};
use pgdyno_database::dialect::metrics::{Metric, Taken};
use pgdyno_model::observed::Series;

/// More names that end otherwise than those that are known are not kept.
const ENDS_MAX: usize = 64;
/// What histograms add to the name of their family.
const PARTS: [&str; 3] = ["_sum", "_count", "_bucket"];

/// Reads one node's page again and again.
pub struct Reader {
    metrics: &'static [Metric],
    /// By the product's name: which metric, and by which of its names.
    by_name: HashMap<String, Vec<(usize, usize)>>,
    /// Of histograms, by metric, as they were at the last reading.
    last: BTreeMap<usize, BTreeMap<String, Histogram>>,
    /// Of those that the node seldom looks at: what was given last, and when.
    given: BTreeMap<usize, (f64, Instant)>,
    /// Those that are taken by the end of their name.
    by_end: Vec<usize>,
    /// The figure that is the node's number.
    number: Option<&'static str>,
}

/// What a page tells of one metric.
#[derive(Debug, Default)]
struct Found {
    /// By the place of the name in its list.
    values: BTreeMap<usize, f64>,
    by_end: BTreeMap<String, f64>,
    histograms: BTreeMap<String, Histogram>,
}

/// What is told of the page itself.
#[derive(Debug, PartialEq)]
pub struct Page {
    /// Figures that were of use.
    pub used: usize,
    /// The node's number, as it says.
    pub number: Option<f64>,
}

fn is_histogram(metric: &Metric) -> bool {
    matches!(metric.taken, Taken::Mean | Taken::P99)
}

impl Reader {
    /// Of these.
    pub fn new(metrics: &'static [Metric], number: Option<&'static str>) -> Self {
        let mut by_name: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (index, metric) in metrics.iter().enumerate() {
            for (place, name) in metric.from.iter().enumerate() {
                let names = match is_histogram(metric) {
                    true => PARTS.map(|part| format!("{name}{part}")).to_vec(),
                    false => vec![(*name).to_owned()],
                };
                for name in names {
                    by_name.entry(name).or_default().push((index, place));
                }
            }
        }
        let is_by_end = |index: &usize| metrics[*index].taken == Taken::CounterByEnd;
        let by_end = (0..metrics.len()).filter(is_by_end).collect();
        Self {
            metrics,
            by_name,
            last: BTreeMap::new(),
            given: BTreeMap::new(),
            by_end,
            number,
        }
    }

    /// Reads a page of the node of this label; the last of a trial has all.
    pub fn read(&mut self, text: &str, (label, is_last): (&str, bool), out: &mut Readings) -> Page {
        let mut page = Page {
            used: 0,
            number: None,
        };
        let mut found: BTreeMap<usize, Found> = BTreeMap::new();
        for sample in prometheus::samples(text) {
            if self.number == Some(sample.name) {
                page.number = Some(sample.value);
            }
            page.used += usize::from(self.take(&sample, &mut found));
        }
        for (index, found) in found {
            self.give(index, found, (label, is_last), out);
        }
        page
    }

    fn take(&self, sample: &prometheus::Sample<'_>, found: &mut BTreeMap<usize, Found>) -> bool {
        let known = self.by_name.get(sample.name).map_or(&[][..], Vec::as_slice);
        for (index, place) in known {
            let found = found.entry(*index).or_default();
            let metric = &self.metrics[*index];
            if is_histogram(metric) {
                take_part(sample, found);
                continue;
            }
            let value = found.values.entry(*place);
            match metric.taken {
                Taken::Largest => {
                    let value = value.or_insert(sample.value);
                    *value = value.max(sample.value);
                }
                _ => *value.or_default() += sample.value,
            }
        }
        let mut is_of_use = !known.is_empty();
        for index in &self.by_end {
            if let Some(end) = end_of(&self.metrics[*index], sample.name) {
                let found = found.entry(*index).or_default();
                if found.by_end.len() < ENDS_MAX || found.by_end.contains_key(end) {
                    *found.by_end.entry(end.to_owned()).or_default() += sample.value;
                    is_of_use = true;
                }
            }
        }
        is_of_use
    }

    /// Whether a counter is worth a reading: one that the node seldom looks at only when it has, so
    /// that its rate is over the time that it is of.
    fn is_news(&mut self, index: usize, value: f64) -> bool {
        let every_s = self.metrics[index].every_s;
        if every_s == 0 {
            return true;
        }
        let now = Instant::now();
        let is_old = |at: Instant| (now - at).as_secs() > every_s;
        let last = self.given.get(&index);
        let is_news = last.is_none_or(|(last, at)| *last != value || is_old(*at));
        if is_news {
            self.given.insert(index, (value, now));
        }
        is_news
    }

    fn give(
        &mut self,
        index: usize,
        found: Found,
        (label, is_last): (&str, bool),
        out: &mut Readings,
    ) {
        let metric = &self.metrics[index];
        let series = Series::new(metric.series, metric.unit);
        let divided = |value: f64| value / metric.divided_by as f64;
        // Of several names, the first that is there.
        let value = found.values.values().next().copied().map(divided);
        match metric.taken {
            Taken::Counter => {
                let value = value.filter(|value| *value >= 0.0);
                let value = value.filter(|value| self.is_news(index, *value) || is_last);
                value
                    .into_iter()
                    .for_each(|value| out.counter(series.of(label), value));
            }
            Taken::Sum | Taken::Largest => {
                value
                    .into_iter()
                    .for_each(|value| out.gauge(series.of(label), value));
            }
            Taken::CounterByEnd => {
                for (end, value) in found.by_end {
                    out.counter(series.of(format!("{label} {end}")), divided(value));
                }
            }
            Taken::Mean | Taken::P99 => {
                let last = self.last.insert(index, found.histograms);
                let now = self.last.get(&index);
                let Some((now, last)) = now.zip(last) else {
                    return;
                };
                let between = Between::of(now, &last);
                let value = match metric.taken {
                    Taken::Mean => between.mean(),
                    _ => between.percentile(99.0),
                };
                let value = value.map(divided);
                value
                    .into_iter()
                    .for_each(|value| out.gauge(series.of(label), value));
            }
        }
    }

    /// What was read is of another life of the node, or too old to be compared with.
    pub fn forget(&mut self) {
        self.last.clear();
        self.given.clear();
    }
}

/// What stands for `*`, of names that are no parts of a histogram.
fn end_of<'a>(metric: &Metric, name: &'a str) -> Option<&'a str> {
    let mut ends = metric.from.iter().filter_map(|pattern| {
        let end = name.strip_prefix(pattern.strip_suffix('*')?)?;
        let is_part = PARTS.iter().any(|part| end == part.trim_start_matches('_'));
        (!end.is_empty() && !is_part).then_some(end)
    });
    ends.next()
}

fn take_part(sample: &prometheus::Sample<'_>, found: &mut Found) {
    let others = sample.labels.iter().filter(|(name, _)| *name != "le");
    let part: Vec<String> = others
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let histogram = found.histograms.entry(part.join(",")).or_default();
    if sample.name.ends_with("_sum") {
        histogram.sum += sample.value;
    } else if sample.name.ends_with("_count") {
        histogram.count += sample.value;
    } else if let Some(bound) = sample.label("le").and_then(|bound| bound.parse().ok()) {
        histogram.buckets.push((bound, sample.value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Instrument;
    use crate::testing::{Bench, Figures};
    use pgdyno_database::dialect::metrics::{COCKROACHDB_VARS, YUGABYTEDB_TSERVER};
    use pgdyno_model::observed::{Batch, Gap};

    /// Reads recorded pages, one after the other.
    struct Recorded {
        reader: Reader,
        pages: std::vec::IntoIter<&'static str>,
    }

    impl Instrument for Recorded {
        fn name(&self) -> &str {
            "crdb.vars"
        }

        fn source(&self) -> String {
            "a recording".to_owned()
        }

        fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
            self.read(out)
        }

        fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
            let text = self.pages.next().expect("as many as are read");
            let is_last = self.pages.len() == 0;
            assert!(self.reader.read(text, ("node 1", is_last), out).used > 50);
            Ok(())
        }
    }

    /// The series that three pages of a node give.
    fn batch(metrics: &'static [Metric], pages: [&'static str; 3]) -> Batch {
        let mut bench = Bench::new(Recorded {
            reader: Reader::new(metrics, Some("node_id")),
            pages: Vec::from(pages).into_iter(),
        });
        bench.begin().unwrap();
        bench.read().unwrap();
        let (result, batch) = bench.end();
        result.unwrap();
        batch
    }

    const BEFORE: &str = include_str!("../../recorded/cockroachdb-19.1-status-vars-before.txt");
    const AFTER: &str = include_str!("../../recorded/cockroachdb-19.1-status-vars-after.txt");
    const END: &str = include_str!("../../recorded/cockroachdb-19.1-status-vars-end.txt");

    #[test]
    fn the_recorded_metrics_give_the_restarts_that_the_recorded_runs_had() {
        let batch = batch(&COCKROACHDB_VARS, [BEFORE, AFTER, END]);
        // What the recorded pages say, by reason: none during YCSB, and these until the end of all
        // runs.
        let restarts = |reason: &str| batch.grown("crdb.restarts", &format!("node 1 {reason}"));
        assert_eq!(restarts("writetooold"), 3388.0);
        assert_eq!(restarts("serializable"), 14.0);
        assert_eq!(restarts("asyncwritefailure"), 0.0);
        assert_eq!(restarts("possiblereplay"), 0.0);
        let names = batch
            .series
            .iter()
            .filter(|new| new.series.name == "crdb.restarts");
        assert_eq!(
            names.count(),
            4,
            "the parts of the histogram txn_restarts are no reasons"
        );
        let during_ycsb = batch.values("crdb.restarts", "node 1 writetooold")[0];
        assert_eq!(during_ycsb, 0.0);
        let grown = |name: &str| batch.grown(name, "node 1");
        assert_eq!(grown("crdb.txn.auto_retries"), 84.0);
        assert_eq!(grown("crdb.txn.commits"), 272_263.0 - 108.0);
        assert_eq!(grown("crdb.txn.aborts"), 3232.0 - 1.0);
        assert_eq!(grown("crdb.sql.select"), 198_982.0 - 3.0);
        assert_eq!(grown("crdb.cache.misses"), 18_021.0);
        assert_eq!(grown("crdb.disk.reads"), 7690.0 - 120.0);
        assert!((grown("crdb.cpu.user") - (206.25 - 0.23)).abs() < 1e-6);
    }

    #[test]
    fn the_recorded_latencies_are_those_between_two_pages() {
        let batch = batch(&COCKROACHDB_VARS, [BEFORE, AFTER, END]);
        let mean = batch.values("crdb.sql.latency.mean", "node 1");
        // From the sums and counts of the recorded pages.
        let during_ycsb = (1.2370239437e10 - 7.66103527e8) / (45_107.0 - 25.0) / 1e6;
        assert!((mean[0] - during_ycsb).abs() < 1e-9, "{mean:?}");
        let p99 = batch.values("crdb.sql.latency.p99", "node 1");
        assert_eq!(p99.len(), 2);
        assert!(p99[0] > mean[0] && p99[1] > p99[0], "{p99:?} {mean:?}");
        // What 19.1 does not have is not there.
        let mut names = batch.series.iter().map(|new| &*new.series.name);
        assert!(!names.any(|name| name == "crdb.contended"));
    }

    #[test]
    fn what_the_node_seldom_looks_at_is_read_when_it_has() {
        let pages = [BEFORE, BEFORE, END];
        let batch = batch(&COCKROACHDB_VARS, pages);
        // The second page has the same as the first.
        assert_eq!(batch.values("crdb.txn.commits", "node 1").len(), 2);
        assert_eq!(batch.values("crdb.cpu.user", "node 1").len(), 1);
        assert!((batch.grown("crdb.cpu.user", "node 1") - (206.25 - 0.23)).abs() < 1e-6);
    }

    fn read(metrics: &'static [Metric], text: &str) -> Page {
        Reader::new(metrics, Some("node_id")).read(
            text,
            ("node 1", false),
            &mut Readings::default(),
        )
    }

    #[test]
    fn a_node_says_which_it_is() {
        assert_eq!(read(&COCKROACHDB_VARS, BEFORE).number, Some(1.0));
        let nothing = Page {
            used: 0,
            number: None,
        };
        assert_eq!(read(&COCKROACHDB_VARS, "<html>\nhello 1\n"), nothing);
    }

    #[test]
    fn hostile_pages_are_survived() {
        let many: String = (0..1000)
            .map(|n| format!("txn_restarts_x{n} 1\n"))
            .collect();
        let used = read(&COCKROACHDB_VARS, &many).used;
        assert_eq!(used, ENDS_MAX);
        for text in [
            "txn_restarts_ 1\ntxn_restarts_count 5\n",
            "sql_service_latency_bucket{le=\"x\"} 1\nsql_service_latency_bucket 1\n",
            "sql_service_latency_bucket{le=\"NaN\"} NaN\nsql_service_latency_sum NaN\n",
            "sys_cpu_user_ns -1\nsys_cpu_user_ns +Inf\n",
            "\0\0\0{{{{",
        ] {
            read(&COCKROACHDB_VARS, text);
        }
    }

    #[test]
    fn tablets_are_summed_up_and_leaders_counted() {
        // In the form that documentation shows; no real server's.
        let page = |reads: u32| -> &'static str {
            let mut text = format!(
                "handler_latency_yb_tserver_TabletServerService_Read_count{{metric_type=\"server\"}} \
                 {reads} 1700000000000\n\
                 handler_latency_yb_tserver_TabletServerService_Read_sum{{metric_type=\"server\"}} \
                 {} 1700000000000\n",
                reads * 250
            );
            for tablet in 0..30 {
                text += &format!(
                    "is_raft_leader{{tablet_id=\"{tablet}\"}} {}\n\
                     rocksdb_number_db_seek{{tablet_id=\"{tablet}\"}} {}\n\
                     follower_lag_ms{{tablet_id=\"{tablet}\"}} {tablet}\n",
                    u8::from(tablet < 10),
                    reads * 2
                );
            }
            text.leak()
        };
        let batch = batch(&YUGABYTEDB_TSERVER, [page(100), page(400), page(1000)]);
        assert_eq!(batch.grown("yb.reads", "node 1"), 900.0);
        assert_eq!(batch.grown("yb.seeks", "node 1"), 30.0 * 1800.0);
        assert_eq!(batch.values("yb.leaders", "node 1"), [10.0; 3]);
        assert_eq!(batch.values("yb.follower_lag", "node 1"), [29.0; 3]);
        assert_eq!(batch.values("yb.read.latency", "node 1"), [0.25; 2]);
    }
}
