//! From a node's page to series: which figures make which.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use super::histogram::{Between, Histogram};
use crate::{Readings, prometheus};
use pgdyno_database::dialect::metrics::{Metric, Refreshed, Taken};
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
    /// Of those that the node looks at now and then: the last page's, and the node's looks.
    refreshed: BTreeMap<Refreshed, Group>,
    /// Those that are taken by the end of their name.
    by_end: Vec<usize>,
    /// The figure that is the node's number.
    number: Option<&'static str>,
}

/// What the node looks at together.
#[derive(Debug, Default)]
struct Group {
    /// Counters as the last page had them, by metric.
    values: BTreeMap<usize, f64>,
    /// When pages had others for the first time and for the last, and how many did.
    first: Option<Instant>,
    last: Option<Instant>,
    looks: u32,
}

impl Group {
    /// Takes note of a page; whether the node has looked since the one before. The first tells values of
    /// it is not known when.
    fn has_looked(&mut self, values: BTreeMap<usize, f64>, now: Instant) -> bool {
        let has_looked = !self.values.is_empty() && self.values != values;
        self.values = values;
        if has_looked {
            self.first.get_or_insert(now);
            self.last = Some(now);
            self.looks += 1;
        }
        has_looked
    }

    /// Seconds from one look to the next; `None` before the second.
    fn every_s(&self) -> Option<f64> {
        let (first, last) = self.first.zip(self.last)?;
        let between = self.looks.checked_sub(1).filter(|between| *between > 0)?;
        Some((last - first).as_secs_f64() / f64::from(between))
    }
}

/// What a page tells of one metric.
#[derive(Debug, Default)]
struct MetricSamples {
    /// By the place of the name in its list.
    values: BTreeMap<usize, f64>,
    by_end: BTreeMap<String, f64>,
    histograms: BTreeMap<String, Histogram>,
}

/// What is reported of the page itself.
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
    pub fn new(metrics: &'static [Metric], number: Option<&'static str>) -> Self {
        let mut by_name: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (index, metric) in metrics.iter().enumerate() {
            for (place, name) in metric.from.iter().enumerate() {
                let names = if is_histogram(metric) {
                    PARTS.map(|part| format!("{name}{part}")).to_vec()
                } else {
                    vec![(*name).to_owned()]
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
            refreshed: BTreeMap::new(),
            by_end,
            number,
        }
    }

    /// Reads a page of the node of this label, as it was at that moment.
    pub fn read(&mut self, text: &str, label: &str, now: Instant, out: &mut Readings) -> Page {
        let mut page = Page {
            used: 0,
            number: None,
        };
        let mut found: BTreeMap<usize, MetricSamples> = BTreeMap::new();
        for sample in prometheus::samples(text) {
            if self.number == Some(sample.name) {
                page.number = Some(sample.value);
            }
            page.used += usize::from(self.take(&sample, &mut found));
        }
        let looked = self.looked(&found, now);
        for (index, found) in found {
            // A counter is given when the node has looked at it, so that its rate is over the time from
            // look to look.
            let metric = &self.metrics[index];
            let is_news = match metric.refreshed {
                Some(group) if metric.taken == Taken::Counter => looked.contains(&group),
                _ => true,
            };
            if is_news {
                self.give(index, found, label, out);
            }
        }
        page
    }

    /// What the node has looked at since the last page.
    fn looked(&mut self, found: &BTreeMap<usize, MetricSamples>, now: Instant) -> Vec<Refreshed> {
        let mut groups: BTreeMap<Refreshed, BTreeMap<usize, f64>> = BTreeMap::new();
        for (index, found) in found {
            let metric = &self.metrics[*index];
            let value = found.values.values().next();
            let is_counter = metric.taken == Taken::Counter;
            if let Some((group, value)) = metric.refreshed.filter(|_| is_counter).zip(value) {
                groups.entry(group).or_default().insert(*index, *value);
            }
        }
        let groups = groups.into_iter();
        let looked = groups.filter_map(|(group, values)| {
            let known = self.refreshed.entry(group).or_default();
            known.has_looked(values, now).then_some(group)
        });
        looked.collect()
    }

    /// How often the node looks at what it does not always look at, in seconds; `None` where it was not
    /// seen to look twice.
    pub fn refreshed(&self) -> impl Iterator<Item = (Refreshed, Option<f64>)> {
        self.refreshed
            .iter()
            .map(|(group, of)| (*group, of.every_s()))
    }

    fn take(
        &self,
        sample: &prometheus::Sample<'_>,
        found: &mut BTreeMap<usize, MetricSamples>,
    ) -> bool {
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

    fn give(&mut self, index: usize, found: MetricSamples, label: &str, out: &mut Readings) {
        let metric = &self.metrics[index];
        let series = Series::new(metric.series, metric.unit);
        let divided = |value: f64| value / metric.divided_by as f64;
        // Of several names, the first that is there, or all.
        let value = match metric.taken {
            Taken::CounterOfAll => found.values.values().copied().reduce(|a, b| a + b),
            _ => found.values.values().next().copied(),
        };
        let value = value.map(divided);
        match metric.taken {
            Taken::Counter | Taken::CounterOfAll => {
                let value = value.filter(|value| *value >= 0.0);
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
        self.refreshed.clear();
    }
}

/// What represents `*`, of names that are no parts of a histogram.
fn end_of<'a>(metric: &Metric, name: &'a str) -> Option<&'a str> {
    let mut ends = metric.from.iter().filter_map(|pattern| {
        let end = name.strip_prefix(pattern.strip_suffix('*')?)?;
        let is_part = PARTS.iter().any(|part| end == part.trim_start_matches('_'));
        (!end.is_empty() && !is_part).then_some(end)
    });
    ends.next()
}

fn take_part(sample: &prometheus::Sample<'_>, found: &mut MetricSamples) {
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
    use crate::recorder::Recorder;
    use crate::testing::{Bench, Figures};
    use pgdyno_database::dialect::metrics::{COCKROACHDB_VARS, YUGABYTEDB_TSERVER};
    use pgdyno_model::observed::{Batch, Gap};
    use std::time::Duration;

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
            let page = self.reader.read(text, "node 1", Instant::now(), out);
            assert!(page.used > 50);
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
        assert_eq!(grown("crdb.kv.batches"), 555_239.0 - 410.0);
        // Looked at between these pages; the time of the first one's values is not known.
        assert!((grown("crdb.cpu.user") - (206.25 - 12.16)).abs() < 1e-6);
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
    fn what_requests_took_in_all_is_the_sum_of_the_recorded_histograms() {
        let batch = batch(&COCKROACHDB_VARS, [BEFORE, AFTER, END]);
        let grown = |name: &str| batch.grown(name, "node 1");
        let assert_grown = |name: &str, expected: f64| {
            let grown = grown(name);
            assert!(
                (grown - expected).abs() < 1e-6,
                "{name}: {grown}, not {expected}"
            );
        };
        // From the recorded pages, in seconds.
        assert_grown("crdb.sql.time", 1022.653599007 - 0.766103527);
        assert_grown("crdb.kv.time", 1413.087027393 - 0.273073763);
        assert_grown("crdb.raft.log.time", 152.850162572 - 0.089071446);
        assert_grown("crdb.raft.log.commits", 171_124.0 - 170.0);
        assert_grown("crdb.raft.applied", 192_403.0 - 212.0);
        assert_grown("crdb.round_trip.time", 2.45596147 - 0.19795148);
        assert_grown("crdb.round_trips", 130.0 - 8.0);
        assert_grown("crdb.rpc.sent", 567_871.0 - 413.0);
        // One node has no other to ask.
        assert_grown("crdb.rpc.local", 567_871.0 - 413.0);
        assert_eq!(batch.values("crdb.replicas", "node 1"), [21.0, 22.0, 97.0]);
        assert_eq!(batch.values("crdb.ranges", "node 1"), [20.0, 22.0, 97.0]);
        let share = batch.values("crdb.cpu.share", "node 1");
        assert!(
            share.iter().all(|share| (0.0..=1.0).contains(share)),
            "{share:?}"
        );
        // What came later is not there.
        let mut names = batch.series.iter().map(|new| &*new.series.name);
        assert!(!names.any(|name| {
            [
                "crdb.admission.waited",
                "crdb.lsm.write_stalled",
                "crdb.host.cpu.share",
            ]
            .contains(&name)
        }));
    }

    #[test]
    fn later_names_are_read_as_they_are_documented() {
        // In the form of 19.1's page, with names of the lists of 23.1 and later; no real server's.
        let page = |second: u64| -> &'static str {
            let more: String = (0..60).map(|n| format!("txn_restarts_x{n} 0\n")).collect();
            format!(
                "node_id 1\nadmission_wait_durations_kv_sum {}\nadmission_wait_durations_kv_count 9\n\
                 admission_wait_durations_kv_stores_sum{{store=\"1\"}} {}\n\
                 admission_wait_durations_kv_stores_sum{{store=\"2\"}} {}\n\
                 round_trip_default_class_latency_sum {}\nround_trip_default_class_latency_count {}\n\
                 storage_write_stall_nanos{{store=\"1\"}} {}\n\
                 sys_cpu_host_combined_percent_normalized 0.75\n{more}",
                second * 200_000_000,
                second * 100_000_000,
                second * 300_000_000,
                second * 4_000_000,
                second * 2,
                second * 400_000_000,
            )
            .leak()
        };
        let batch = batch(&COCKROACHDB_VARS, [page(1), page(2), page(3)]);
        let assert_grown = |name: &str, expected: f64| {
            let grown = batch.grown(name, "node 1");
            assert!(
                (grown - expected).abs() < 1e-9,
                "{name}: {grown}, not {expected}"
            );
        };
        // Of the CPU's queue and of those of both stores.
        assert_grown("crdb.admission.waited", 1.2);
        assert_grown("crdb.round_trip.time", 0.008);
        assert_grown("crdb.round_trips", 4.0);
        // From look to look.
        assert_grown("crdb.lsm.write_stalled", 0.4);
        assert_eq!(batch.values("crdb.host.cpu.share", "node 1"), [0.75; 3]);
    }

    #[test]
    fn rates_of_what_is_refreshed_now_and_then_are_from_look_to_look() {
        // A process that uses 1.5 CPUs, looked at every ten seconds, read from three seconds after a look on;
        // reads of a disk that come to rest, and stores that are looked at at other times.
        let page = |second: u32| {
            let look = (second + 7) / 10;
            let of_stores = (second + 2) / 10;
            let reads = [0, 1000, 3000, 3000, 3000][look as usize];
            format!(
                "node_id 1\nsys_cpu_user_ns {}\nsys_host_disk_read_count {reads}\n\
                 rocksdb_block_cache_hits {}\ntxn_commits {second}\n",
                u64::from(look) * 15_000_000_000,
                of_stores * 500,
            )
        };
        let mut reader = Reader::new(&COCKROACHDB_VARS, Some("node_id"));
        let epoch = Instant::now();
        let mut recorder = Recorder::new(epoch);
        recorder.instrument("crdb.vars".to_owned(), String::new());
        for second in 0..=30 {
            let now = epoch + Duration::from_secs(second.into());
            let mut out = Readings::starting(now);
            reader.read(&page(second), "node 1", now, &mut out);
            recorder.reading(0, out, Ok(()), now);
        }
        recorder.end();
        let batch = recorder.take(epoch);
        let of = |name: &str| batch.values(name, "node 1");
        assert_eq!(of("crdb.cpu.user"), [1.5, 1.5]);
        assert_eq!(of("crdb.disk.reads"), [200.0, 0.0]);
        assert_eq!(of("crdb.cache.hits"), [50.0, 50.0]);
        assert_eq!(of("crdb.txn.commits").len(), 30);
        assert_eq!(batch.grown("crdb.cpu.user", "node 1"), 30.0);
        let cpu = batch
            .series
            .iter()
            .find(|new| new.series.name == "crdb.cpu.user");
        let cpu = cpu.unwrap().number;
        let total = batch
            .totals
            .iter()
            .find(|total| total.series == cpu)
            .unwrap();
        assert_eq!(total.after_at_us - total.before_at_us, 20_000_000);
        let refreshed: Vec<_> = reader.refreshed().collect();
        let every_ten = Some(10.0);
        assert_eq!(
            refreshed,
            [
                (Refreshed::Process, every_ten),
                (Refreshed::Stores, every_ten)
            ]
        );
    }

    #[test]
    fn what_was_looked_at_once_has_no_rate() {
        let batch = batch(&COCKROACHDB_VARS, [BEFORE, BEFORE, END]);
        assert_eq!(batch.values("crdb.txn.commits", "node 1").len(), 2);
        assert!(batch.values("crdb.cpu.user", "node 1").is_empty());
        let cpu = batch
            .series
            .iter()
            .find(|new| new.series.name == "crdb.cpu.user");
        let cpu = cpu.unwrap().number;
        assert!(batch.totals.iter().all(|total| total.series != cpu));
    }

    fn read(metrics: &'static [Metric], text: &str) -> Page {
        Reader::new(metrics, Some("node_id")).read(
            text,
            "node 1",
            Instant::now(),
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
                 {} 1700000000000\n\
                 handler_latency_yb_consensus_ConsensusService_UpdateConsensus_sum {}\n",
                reads * 250,
                reads * 1000
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
        assert!((batch.grown("yb.read.time", "node 1") - 0.225).abs() < 1e-9);
        assert!((batch.grown("yb.consensus.time", "node 1") - 0.9).abs() < 1e-9);
        assert_eq!(batch.grown("yb.seeks", "node 1"), 30.0 * 1800.0);
        assert_eq!(batch.values("yb.leaders", "node 1"), [10.0; 3]);
        assert_eq!(batch.values("yb.follower_lag", "node 1"), [29.0; 3]);
        assert_eq!(batch.values("yb.read.latency", "node 1"), [0.25; 2]);
    }
}
