//! Prometheus export: the metrics of the running trial that `--metrics-listen` serves. Counters and
//! histograms continue from trial to trial, as long as pgdyno runs.
//!
//! Not for: the connection it goes over (`crates/serve`), how it is written (`exposition.rs`, `buckets.rs`).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use pgdyno_measurement::{
    Activity, ClientTime, Counts, DriveError, Event, EventKind, Failure, Interval, Latencies,
    Recording, ScriptInterval,
};
use pgdyno_model::Observer;
use pgdyno_model::event::Title;
use pgdyno_model::observed::{self, Batch, Series};

use crate::buckets::Buckets;
use crate::exposition::{Exposition, Format, Kind};

/// Percentiles of the last second.
const PERCENTS: [f64; 4] = [50.0, 90.0, 95.0, 99.0];

/// An observer of trials, shared with what reads it.
#[derive(Debug, Default)]
pub struct PrometheusExport(Mutex<State>);

#[derive(Debug, Default, Clone)]
struct State {
    /// The trial whose clients connect.
    starting: Option<Title>,
    title: Option<Title>,
    is_warmup: bool,
    /// By script, since pgdyno began.
    scripts: BTreeMap<String, Script>,
    /// Of all clients, since pgdyno began.
    time: ClientTime,
    /// By the order of [`EventKind::ALL`], since pgdyno began.
    events: [u64; EventKind::ALL.len()],
    /// What instruments last read, by number; of the running trial only.
    series: Vec<Reading>,
}

#[derive(Debug, Clone)]
struct Reading {
    series: Series,
    kind: observed::Kind,
    last: Option<f64>,
    is_new: bool,
}

#[derive(Debug, Default, Clone)]
struct Script {
    counts: Counts,
    retried_after: BTreeMap<Failure, u64>,
    service: Times,
    response: Option<Times>,
    lag: Option<Times>,
}

/// All of them by size, and percentiles of the last second.
#[derive(Debug, Default, Clone)]
struct Times {
    buckets: Buckets,
    percentiles_us: [Option<u64>; PERCENTS.len()],
}

impl PrometheusExport {
    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked left whole figures.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of it, in this format.
    pub fn text(&self, format: Format) -> String {
        // A copy: the trial's thread does not wait while text is written.
        let state = self.state().clone();
        state.text(format)
    }
}

impl<O> Observer<O> for &PrometheusExport {
    fn starting(&mut self, title: &Title) {
        self.state().starting = Some(title.clone());
    }

    fn begun(&mut self, _started: SystemTime) {
        let mut state = self.state();
        state.title = state.starting.take();
        let scripts = state.title.iter().flat_map(|title| title.scripts.clone());
        for script in scripts.collect::<Vec<_>>() {
            state.scripts.entry(script).or_default();
        }
    }

    fn second(&mut self, interval: &Interval) {
        let mut state = self.state();
        state.is_warmup = interval.warmup;
        state.time.merge(&interval.time);
        let names = state.title.as_ref().map(|title| title.scripts.clone());
        for (name, second) in names.unwrap_or_default().into_iter().zip(&interval.scripts) {
            state.scripts.entry(name).or_default().add(second);
        }
    }

    fn event(&mut self, event: &Event) {
        let place = EventKind::ALL.iter().position(|kind| *kind == event.kind);
        if let Some(place) = place {
            self.state().events[place] += 1;
        }
    }

    fn observed(&mut self, batch: &Batch) {
        let mut state = self.state();
        for new in &batch.series {
            state.series.resize_with(new.number, Reading::none);
            state.series.push(Reading {
                series: new.series.clone(),
                kind: new.kind,
                last: None,
                is_new: false,
            });
        }
        for reading in &mut state.series {
            reading.is_new = false;
        }
        for sample in &batch.samples {
            if let Some(reading) = state.series.get_mut(sample.series) {
                reading.last = Some(sample.value);
                reading.is_new = true;
            }
        }
        // What comes and goes has gone.
        for reading in &mut state.series {
            if reading.kind == observed::Kind::Sparse && !reading.is_new {
                reading.last = None;
            }
        }
    }

    fn ended(&mut self, _result: Result<&Recording, &DriveError>) {
        let mut state = self.state();
        state.starting = None;
        state.title = None;
        state.is_warmup = false;
        state.series.clear();
    }
}

impl Reading {
    /// A placeholder whose series is not exported.
    fn none() -> Self {
        Self {
            series: Series::new("", ""),
            kind: observed::Kind::BeforeAfter,
            last: None,
            is_new: false,
        }
    }
}

impl Script {
    fn add(&mut self, second: &ScriptInterval) {
        self.counts.merge(&second.counts);
        Failure::merge_counts(&mut self.retried_after, &second.retried_after);
        self.service.add(&second.service);
        for (mine, theirs) in [
            (&mut self.response, &second.response),
            (&mut self.lag, &second.lag),
        ] {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().add(theirs);
            }
        }
    }
}

impl Times {
    fn add(&mut self, second: &Latencies) {
        self.buckets.add(second);
        self.percentiles_us = PERCENTS.map(|percent| second.percentile_us(percent));
    }
}

impl State {
    fn text(&self, format: Format) -> String {
        let mut page = Exposition::new(format);
        page.family("pgdyno_info", Kind::Gauge, "The version of pgdyno.");
        page.sample(
            "pgdyno_info",
            &[("version", env!("CARGO_PKG_VERSION"))],
            1.0,
        );
        page.family(
            "pgdyno_trial_running",
            Kind::Gauge,
            "Whether clients are at work.",
        );
        let is_running = f64::from(u8::from(self.title.is_some()));
        page.sample("pgdyno_trial_running", &[], is_running);
        if let Some(title) = &self.title {
            page.family("pgdyno_trial_info", Kind::Gauge, "What runs, and where.");
            let labels = [("workload", &*title.workload), ("target", &*title.target)];
            page.sample("pgdyno_trial_info", &labels, 1.0);
            page.family(
                "pgdyno_trial_warmup",
                Kind::Gauge,
                "Whether it is still warming up.",
            );
            let is_warmup = f64::from(u8::from(self.is_warmup));
            page.sample("pgdyno_trial_warmup", &[], is_warmup);
            page.family(
                "pgdyno_clients",
                Kind::Gauge,
                "Clients of the running trial.",
            );
            page.sample("pgdyno_clients", &[], title.clients as f64);
        }
        self.counts(&mut page);
        self.clients(&mut page);
        self.times(&mut page);
        let readings = self.series.iter().filter_map(|r| Some((r, r.last?)));
        let mut readings: Vec<_> = readings.collect();
        readings.sort_by(|(a, _), (b, _)| a.series.cmp(&b.series));
        if !readings.is_empty() {
            let help = "What instruments read last: pgdyno help instruments; counters as rates.";
            page.family("pgdyno_observed", Kind::Gauge, help);
        }
        for (reading, value) in readings {
            let Series { name, label, unit } = &reading.series;
            let labels = [("series", &**name), ("label", label), ("unit", unit)];
            page.sample("pgdyno_observed", &labels, value);
        }
        page.end()
    }

    fn counts(&self, page: &mut Exposition) {
        let name = "pgdyno_transactions_total";
        let help = "Transactions that have ended, by how they did; warm-up included.";
        page.family(name, Kind::Counter, help);
        for (script, of) in &self.scripts {
            let outcomes = [
                ("committed", of.counts.committed),
                ("failed", of.counts.failed_total()),
                ("skipped", of.counts.skipped),
                ("unknown", of.counts.unknown),
            ];
            for (outcome, count) in outcomes {
                page.sample(
                    name,
                    &[("script", script), ("outcome", outcome)],
                    count as f64,
                );
            }
        }
        type ByFailure = (
            &'static str,
            &'static str,
            fn(&Script) -> &BTreeMap<Failure, u64>,
        );
        let by_failure: [ByFailure; 2] = [
            (
                "pgdyno_failures_total",
                "Failed transactions by SQLSTATE, or a word.",
                |script| &script.counts.failed,
            ),
            (
                "pgdyno_retried_tries_total",
                "Failed tries that another one followed, by SQLSTATE, or a word.",
                |script| &script.retried_after,
            ),
        ];
        for (name, help, counts) in by_failure {
            page.family(name, Kind::Counter, help);
            for (script, of) in &self.scripts {
                for (failure, count) in counts(of) {
                    let labels = [("script", script.as_str()), ("class", failure.code())];
                    page.sample(name, &labels, *count as f64);
                }
            }
        }
        type Column = (&'static str, &'static str, fn(&Counts) -> u64);
        let columns: [Column; 2] = [
            (
                "pgdyno_retries_total",
                "Tries after the first, of transactions that have ended.",
                |c| c.retries,
            ),
            (
                "pgdyno_late_total",
                "Transactions over the latency limit.",
                |c| c.late,
            ),
        ];
        for (name, help, number) in columns {
            page.family(name, Kind::Counter, help);
            for (script, of) in &self.scripts {
                page.sample(name, &[("script", script)], number(&of.counts) as f64);
            }
        }
    }

    /// Where clients were, and what happened to their connections.
    fn clients(&self, page: &mut Exposition) {
        let name = "pgdyno_client_seconds_total";
        let help = "Time of all clients together, by what they were at.";
        page.family(name, Kind::Counter, help);
        let at = Activity::ALL.map(|activity| (activity.word(), self.time.at(activity)));
        for (activity, time_ns) in at.into_iter().chain([("late", self.time.late_ns)]) {
            page.sample(name, &[("activity", activity)], time_ns as f64 / 1e9);
        }
        let name = "pgdyno_connection_events_total";
        let help = "What happened to clients' connections: pgdyno help store, events.";
        page.family(name, Kind::Counter, help);
        for (kind, count) in EventKind::ALL.iter().zip(self.events) {
            page.sample(name, &[("event", kind.word())], count as f64);
        }
    }

    fn times(&self, page: &mut Exposition) {
        type Column = (&'static str, &'static str, fn(&Script) -> Option<&Times>);
        let columns: [Column; 3] = [
            (
                "service",
                "From the start of committed transactions to their end",
                |script| Some(&script.service),
            ),
            (
                "response",
                "From the scheduled start of committed transactions to their end",
                |script| script.response.as_ref(),
            ),
            (
                "schedule_lag",
                "How late committed transactions started",
                |script| script.lag.as_ref(),
            ),
        ];
        for (what, help, times) in columns {
            let all = self.scripts.iter();
            let all: Vec<_> = all
                .filter_map(|(script, of)| Some((("script", script.as_str()), times(of)?)))
                .collect();
            if all.is_empty() {
                continue;
            }
            let name = format!("pgdyno_{what}_seconds");
            page.family(&name, Kind::Histogram, &format!("{help}."));
            for (script, times) in &all {
                times.buckets.write(page, &name, *script);
            }
            let name = format!("pgdyno_{what}_percentile_seconds");
            let help = format!("{help}: of the last second, where at least ten values lie beyond.");
            page.family(&name, Kind::Gauge, &help);
            for (script, times) in &all {
                for (percent, value_us) in PERCENTS.iter().zip(times.percentiles_us) {
                    if let Some(value_us) = value_us {
                        let percent = percent.to_string();
                        let labels = [*script, ("percentile", &*percent)];
                        page.sample(&name, &labels, value_us as f64 / 1e6);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::observed::{Kind, NewSeries, Sample};
    use pgdyno_spec::Until;
    use std::time::Duration;

    /// A title of one client.
    fn title(workload: &str, script: &str) -> Title {
        Title {
            workload: workload.to_owned(),
            target: "db1".to_owned(),
            clients: 4,
            scripts: vec![script.to_owned()],
            warmup: Duration::ZERO,
            until: Until::Elapsed(Duration::ZERO),
        }
    }

    fn second(committed: u64, latency_us: u64) -> Interval {
        let mut script = ScriptInterval::default();
        script.counts.committed = committed;
        (0..committed).for_each(|_| script.service.record(latency_us));
        let mut interval = Interval::default();
        interval.scripts.push(script);
        interval
    }

    #[test]
    fn counters_go_on_from_trial_to_trial() {
        let export = PrometheusExport::default();
        let trial: &mut dyn Observer<()> = &mut &export;
        for _ in 0..2 {
            trial.starting(&title("tpcb", "tpcb"));
            assert!(
                !export.text(Format::Text).contains("pgdyno_trial_info"),
                "it only connects"
            );
            trial.begun(SystemTime::now());
            assert!(export.text(Format::Text).contains("pgdyno_trial_info"));
            trial.second(&second(100, 2000));
            trial.second(&second(50, 1000));
            trial.ended(Err(&DriveError::Interrupted));
            assert!(!export.text(Format::Text).contains("pgdyno_trial_info"));
        }
        let text = export.text(Format::Text);
        for line in [
            "pgdyno_transactions_total{script=\"tpcb\",outcome=\"committed\"} 300",
            "pgdyno_service_seconds_sum{script=\"tpcb\"} 0.5",
            "pgdyno_service_seconds_count{script=\"tpcb\"} 300",
            "pgdyno_service_seconds_bucket{script=\"tpcb\",le=\"0.001\"} 100",
            "pgdyno_service_seconds_bucket{script=\"tpcb\",le=\"0.002\"} 300",
            "pgdyno_service_percentile_seconds{script=\"tpcb\",percentile=\"50\"} 0.001",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
        // Five of fifty lie beyond it.
        assert!(!text.contains("percentile=\"90\""), "{text}");
        assert!(
            !text.contains("pgdyno_response_seconds"),
            "there is no rate"
        );
    }

    #[test]
    fn a_parser_of_the_format_reads_all_of_it() {
        let export = PrometheusExport::default();
        let trial: &mut dyn Observer<()> = &mut &export;
        trial.starting(&title("a\"b\\c\nd", "one"));
        trial.begun(SystemTime::now());
        let text = export.text(Format::accepted("text/plain"));
        let mut samples = crate::prometheus::samples(&text);
        let all: Vec<_> = samples.by_ref().collect();
        assert_eq!(samples.bad_lines, 0, "{text}");
        let value = |name: &str| all.iter().find(|s| s.name == name).map(|s| s.value);
        assert_eq!(value("pgdyno_clients"), Some(4.0));
        let info = all.iter().find(|s| s.name == "pgdyno_trial_info").unwrap();
        assert_eq!(info.label("workload"), Some("a\"b\\c\nd"));
        let open_metrics = export.text(Format::accepted("application/openmetrics-text"));
        assert!(open_metrics.ends_with("\n# EOF\n"), "{open_metrics}");
    }

    #[test]
    fn the_last_readings_are_exported() {
        let export = PrometheusExport::default();
        let trial: &mut dyn Observer<()> = &mut &export;
        let new = |number, label: &str, kind| NewSeries {
            number,
            instrument: 0,
            series: Series::new("pg.waits", "sessions").of(label),
            kind,
        };
        let sample = |series, value| Sample {
            series,
            at_us: 0,
            value,
        };
        trial.observed(&Batch {
            series: vec![new(0, "IO", Kind::Sparse), new(1, "all", Kind::Gauge)],
            samples: vec![sample(0, 2.0), sample(1, 5.0)],
            ..Batch::default()
        });
        let line = |label| format!("{{series=\"pg.waits\",label=\"{label}\",unit=\"sessions\"}}");
        assert!(
            export
                .text(Format::Text)
                .contains(&format!("{} 2\n", line("IO")))
        );
        trial.observed(&Batch {
            samples: vec![sample(1, 6.0)],
            ..Batch::default()
        });
        let text = export.text(Format::Text);
        assert!(text.contains(&format!("{} 6\n", line("all"))), "{text}");
        assert!(!text.contains(&line("IO")), "it has gone: {text}");
    }
}
