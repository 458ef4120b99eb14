//! What happens while operations run: rows of ticks, the histogram file, errors.

use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pgdyno_measurement::{Event, Interval, Latencies, Level, Message};
use pgdyno_model::Observer;

use super::format::{Printer, Tick};
use super::metrics::WorkloadMetrics;
use super::snapshot::HistogramFile;
use super::tpmc;

/// One operation: one script, several that are the same to cockroach, or a work unit of scripts.
#[derive(Debug)]
struct WatchedOperation {
    name: String,
    /// The tick that is under way.
    tick: Latencies,
    all: Latencies,
    /// Whether it was ever done: before that there are no rows of it.
    is_known: bool,
}

pub struct Watch {
    printer: Printer,
    histograms: Option<HistogramFile>,
    metrics: Option<WorkloadMetrics>,
    every_s: u64,
    /// By name, as their rows come.
    operations: Vec<WatchedOperation>,
    /// The operation of each script.
    of_script: Vec<usize>,
    /// The operation of each work unit: scripts that have some are no operation themselves.
    of_unit: Vec<usize>,
    /// When clients began to work.
    started: SystemTime,
    is_ramp: bool,
    /// When the part began that rows count from, in seconds since clients began to work.
    part_began_s: f64,
    tick_s: f64,
    end_s: f64,
    /// Errors printed in this tick; more are only counted.
    reported: u64,
    tolerates_errors: bool,
    /// The first that a client ended with.
    pub first_error: Option<String>,
}

impl Watch {
    /// Scripts and work units by name, in their order.
    pub fn new(
        printer: Printer,
        histograms: Option<HistogramFile>,
        every_s: u64,
        scripts: &[String],
        units: &[String],
        tolerates_errors: bool,
    ) -> Self {
        let names: Vec<&str> = scripts.iter().map(|name| operation(name)).collect();
        let mut sorted: Vec<&str> = names
            .iter()
            .copied()
            .chain(units.iter().map(String::as_str))
            .collect();
        sorted.sort_unstable();
        sorted.dedup();
        let place = |name: &&str| sorted.iter().position(|known| known == name);
        Self {
            printer,
            histograms,
            metrics: None,
            every_s,
            of_script: names.iter().filter_map(place).collect(),
            of_unit: units
                .iter()
                .filter_map(|name| place(&name.as_str()))
                .collect(),
            operations: sorted
                .into_iter()
                .map(|name| WatchedOperation {
                    name: name.to_owned(),
                    tick: Latencies::default(),
                    all: Latencies::default(),
                    is_known: false,
                })
                .collect(),
            started: UNIX_EPOCH,
            is_ramp: false,
            part_began_s: 0.0,
            tick_s: 0.0,
            end_s: 0.0,
            reported: 0,
            tolerates_errors,
            first_error: None,
        }
    }

    /// Serves figures by Prometheus' wishes too.
    pub fn serve(&mut self, metrics: WorkloadMetrics) {
        self.metrics = Some(metrics);
    }

    /// The run is over: what is left of a tick goes into the histogram file, and into a row of its
    /// own when it is most of one: with a rate the last operation comes before the end. Gives that,
    /// what the workload says at its end, and the totals.
    pub fn finish(&mut self, said: &str) -> String {
        let mut text = String::new();
        if self.tick_s >= self.every_s as f64 / 2.0 {
            text = self.rows();
        } else {
            self.write_histograms();
        }
        if let Some(file) = &mut self.histograms {
            file.end();
        }
        let known = self
            .operations
            .iter()
            .filter(|operation| operation.is_known);
        let totals: Vec<(&str, &Latencies)> = known
            .map(|operation| (operation.name.as_str(), &operation.all))
            .collect();
        let elapsed_s = self.end_s - self.part_began_s;
        text + said + &self.printer.totals(elapsed_s, &totals)
    }

    /// An operation that is known at the end alone.
    pub fn add(&mut self, name: &str, latencies: &Latencies) {
        self.operations.push(WatchedOperation {
            name: name.to_owned(),
            tick: Latencies::default(),
            all: latencies.clone(),
            is_known: true,
        });
    }

    /// What an operation did since the ramp, and the time until now in seconds.
    pub fn total(&self, name: &str) -> Option<(&Latencies, f64)> {
        let mut known = self.operations.iter();
        let operation = known.find(|operation| operation.name == name)?;
        Some((&operation.all, self.end_s - self.part_began_s))
    }

    /// What could not be written.
    pub fn take_error(&mut self) -> Option<String> {
        self.histograms.as_mut().and_then(HistogramFile::take_error)
    }

    /// The ramp is over: rows count from now.
    fn restart(&mut self, now_s: f64) {
        for operation in &mut self.operations {
            operation.tick.clear();
            operation.all.clear();
        }
        (self.part_began_s, self.tick_s) = (now_s, 0.0);
        self.printer.restart();
    }

    fn now(&self) -> SystemTime {
        self.started + Duration::from_secs_f64(self.end_s)
    }

    /// The text of a tick that is over; a new one begins.
    fn rows(&mut self) -> String {
        let mut text = String::new();
        let (now, elapsed_s) = (self.now(), self.end_s - self.part_began_s);
        self.write_histograms();
        for operation in self.operations.iter_mut().filter(|o| o.is_known) {
            text += &self.printer.tick(&Tick {
                name: &operation.name,
                latencies: &operation.tick,
                length_s: self.tick_s,
                count: operation.all.count(),
                elapsed_s,
                now,
            });
            operation.tick.clear();
        }
        self.tick_s = 0.0;
        self.reported = 0;
        text
    }

    fn write_histograms(&mut self) {
        let now = self.now();
        let Some(file) = self.histograms.as_mut().filter(|_| !self.is_ramp) else {
            return;
        };
        let length = Duration::from_secs_f64(self.tick_s);
        for operation in self.operations.iter().filter(|o| o.is_known) {
            file.tick(&operation.name, &operation.tick, length, now);
        }
    }

    fn tell(&mut self, text: &str) {
        // A row a tick is enough of a kind of trouble that goes on and on.
        if self.reported == 0 {
            pgdyno_output::remark!("pgdyno: {text}");
        }
        self.reported += 1;
    }
}

/// cockroach's name for what a script does: the pack's scripts are named after the operation and,
/// behind a dash, its form. tpcc's operations have names of two words.
fn operation(script: &str) -> &str {
    for (words, name) in tpmc::OPERATIONS {
        if script.starts_with(words) {
            return name;
        }
    }
    match script.split('-').next().unwrap_or(script) {
        "readmodifywrite" => "readModifyWrite",
        name => name,
    }
}

impl<O> Observer<O> for Watch {
    fn begun(&mut self, started: SystemTime) {
        self.started = started;
    }

    fn second(&mut self, interval: &Interval) {
        if self.is_ramp && !interval.warmup {
            self.restart(interval.start_s());
        }
        self.is_ramp = interval.warmup;
        for (script, place) in interval.scripts.iter().zip(&self.of_script) {
            let units = script.units.iter().zip(&self.of_unit);
            let units = units.map(|(unit, place)| (&unit.latencies, *place));
            let whole = (&script.service, *place);
            let whole = script.units.is_empty().then_some(whole);
            for (latencies, place) in whole.into_iter().chain(units) {
                let operation = &mut self.operations[place];
                operation.tick.merge(latencies);
                operation.all.merge(latencies);
                if let Some(metrics) = &self.metrics {
                    metrics.add(&operation.name, latencies);
                }
                operation.is_known |= latencies.count() > 0;
            }
            self.printer.errors += script.counts.failed_total() + script.counts.unknown;
        }
        self.tick_s += interval.length_s();
        self.end_s = interval.start_s() + interval.length_s();
        // Seconds are whole but for the last one of a phase.
        if self.tick_s + 1e-6 < self.every_s as f64 {
            return;
        }
        let rows = self.rows();
        // A closed output is no error: it must not end a measurement.
        let mut out = io::stdout().lock();
        let _ = out.write_all(rows.as_bytes()).and_then(|()| out.flush());
    }

    fn event(&mut self, event: &Event) {
        self.tell(&event.text);
    }

    fn message(&mut self, message: &Message) {
        match message.level {
            Level::Error if self.tolerates_errors => self.tell(&message.text),
            Level::Error => {
                self.first_error.get_or_insert_with(|| message.text.clone());
            }
            Level::Info => self.tell(&message.text),
            Level::Debug | Level::Notice | Level::Trace => {
                pgdyno_output::remark!("{}", message.text)
            }
        }
    }
}
