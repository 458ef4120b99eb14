//! What YCSB prints: its results on standard output, its status on standard error. (Facts: its Client,
//! StatusThread, Measurements and TextMeasurementsExporter; recordings of runs.)

mod export;
mod figures;
mod forms;
mod hdr_files;
mod numbers;
mod raw;
mod series;
mod status;

use std::collections::BTreeMap;

use pgdyno_measurement::Latencies;
use pgdyno_model::Outcome;
use pgdyno_output::remark;

use super::YcsbRefusal;
use super::command::{Phase, YcsbCommand, without_password};
use super::operations::{self, Kind, OperationStatus as Ended};
use super::plan::Plan;
use super::run::Tail;
use export::{ExportValue, Exporter, Line};
use figures::{CLEANUP, Errors, Figures, order};
pub use forms::has_fine_series;
use forms::{JavaForms, Printed};
pub use status::JavaStatus;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunStart {
    /// The start of an operation.
    Start,
    /// When it should have started.
    Schedule,
    Both,
}

/// What is printed on standard output.
#[derive(Debug)]
pub struct Output {
    head: String,
    exporter: Exporter,
    forms: JavaForms,
    errors: Errors,
    raw: raw::Place,
    since: RunStart,
    has_integrity: bool,
}

/// YCSB's name of an operation.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "READ",
        Kind::Update => "UPDATE",
        Kind::Insert => "INSERT",
        Kind::Scan => "SCAN",
        Kind::ReadModifyWrite => "READ-MODIFY-WRITE",
    }
}

/// What comes before a server is asked, on standard error.
pub fn say_what_comes(command: &YcsbCommand) {
    let (class, phase) = match command.phase {
        Phase::Load => ("site.ycsb.db.JdbcDBClient", "-load"),
        Phase::Run => ("site.ycsb.db.JdbcDBClient", "-t"),
    };
    let words = of_java(&command.words);
    remark!("Command line: -db {class} {words} {phase}");
    remark!("YCSB Client of pgdyno {}", env!("CARGO_PKG_VERSION"));
    remark!("\nLoading workload...");
    remark!("Starting test.");
}

/// The arguments that YCSB's launcher hands on: not those that it uses itself.
fn of_java(words: &[String]) -> String {
    let mut handed_on = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-cp" | "-jvm-args" => drop(words.next()),
            word if word.starts_with("-jvm-args=") => {}
            word => handed_on.push(word),
        }
    }
    handed_on.join(" ")
}

impl Output {
    /// As it is asked for.
    ///
    /// # Errors
    /// A kind of measurement, or an exporter, that there is not.
    pub fn of(command: &YcsbCommand, plan: &Plan) -> Result<Self, YcsbRefusal> {
        let properties = &command.properties;
        let since = since(command)?;
        let forms = JavaForms::of(properties)?;
        let exporter = Exporter::named(properties.get("exporter"))?;
        let text = |name: &str, default: &str| properties.get(name).unwrap_or(default).to_owned();
        let url = without_password(&text("db.url", ""));
        let (batch, fetch) = (text("db.batchsize", "-1"), text("jdbc.fetchsize", "-1"));
        let mut head = String::new();
        if properties.bool("dataintegrity") == Some(true) {
            head += "Data integrity is enabled.\n";
        }
        let threads = plan.spec.clients();
        if properties.count("threadcount")?.unwrap_or(1) > u64::from(threads) {
            head += "Warning: the threadcount is bigger than recordcount, the threadcount will be recordcount!\n";
        }
        for _ in 0..threads {
            head += &format!("Adding shard node URL: {url}\n");
        }
        for _ in 0..threads {
            head += &format!("Using shards: 1, batchSize:{batch}, fetchSize: {fetch}\n");
        }
        Ok(Self {
            head,
            exporter,
            errors: Errors::of(properties),
            raw: raw::Place::of(properties)?,
            forms,
            since,
            has_integrity: plan.has_integrity,
        })
    }

    /// The forms of its figures.
    pub fn forms(&self) -> &JavaForms {
        &self.forms
    }

    /// What comes before the run.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// The results of a run that was watched.
    pub fn tail(&mut self, outcome: &Outcome, status: &mut JavaStatus) -> Tail {
        let recording = &outcome.recording;
        let runtime_ms = recording.measured.elapsed_us / 1000;
        let per_s = operations::per_s(&recording.measured);
        let mut lines = vec![
            Line::new("OVERALL", "RunTime(ms)", ExportValue::Whole(runtime_ms)),
            Line::new("OVERALL", "Throughput(ops/sec)", ExportValue::Real(per_s)),
            Line::new("TOTAL_GCs", "Count", ExportValue::Whole(0)),
            Line::new("TOTAL_GC_TIME", "Time(ms)", ExportValue::Whole(0)),
            Line::new("TOTAL_GC_TIME_%", "Time(%)", ExportValue::Real(0.0)),
        ];
        let mut named = self.errors.figures(&operations::of(recording));
        let verified = self
            .has_integrity
            .then(|| verified(&named, &recording.drawn));
        let closings = Figures::of_closings(&recording.connections.closings);
        named.insert(CLEANUP.to_owned(), closings);
        let mut lost = status.write_histograms(&named);
        let (mut announced, mut raw) = (String::new(), String::new());
        for (before, name, is_of_schedule) in order(named.keys(), self.since) {
            let figures = &named[name];
            let points = status.points.of(name, is_of_schedule);
            // Statuses are those of the operations, whenever these began.
            let has_statuses = !is_of_schedule || self.since == RunStart::Schedule;
            let printed = Printed {
                latencies: figures.latencies(is_of_schedule),
                statuses: if has_statuses { &figures.returns } else { &[] },
                averages: &status.series.averages(name, is_of_schedule),
                points,
            };
            let name = format!("{before}{name}");
            lines.extend(self.forms.lines(&name, &printed));
            if let Some(before) = self.forms.raw() {
                announced += &self.raw.announcement();
                raw += &status.points.text(&format!("{before}{name}"), points);
            }
        }
        lines.extend(verified.into_iter().flatten());
        let raw = self.raw.write(raw).unwrap_or_else(|error| {
            lost.get_or_insert(error);
            String::new()
        });
        Tail {
            aside: announced + &raw,
            results: self.exporter.text(&lines),
            lost,
        }
    }
}

/// What came of the checks of rows that were read, of which `drawn` counts those that were not as they were
/// written. How long a check took is not measured: YCSB's VERIFY has no more lines here.
fn verified(named: &figures::Named, drawn: &BTreeMap<String, u64>) -> Vec<Line> {
    let read = named.get(name(Kind::Read));
    let count = |status: Ended| {
        let returns = read.into_iter().flat_map(|read| &read.returns);
        let of = returns.filter(|(name, _)| name == status.name());
        of.map(|(_, count)| count).sum::<u64>()
    };
    let unexpected = drawn.get("unexpected").copied().unwrap_or(0);
    let (found, missing) = (count(Ended::Ok), count(Ended::NotFound));
    let returns = [
        (Ended::Ok, found.saturating_sub(unexpected)),
        (Ended::Error, missing),
        (Ended::UnexpectedState, unexpected),
    ];
    let mut lines = vec![Line::new(
        "VERIFY",
        "Operations",
        ExportValue::Whole(found + missing),
    )];
    let returns = returns.into_iter().filter(|(_, count)| *count > 0);
    lines.extend(returns.map(|(status, count)| {
        Line::new(
            "VERIFY",
            format!("Return={}", status.name()),
            ExportValue::Whole(count),
        )
    }));
    lines
}

/// The latency at a percentile. The lines have no way to leave one out, however few operations stand
/// behind it: of none it is 0.
fn percentile_us(latencies: &Latencies, percent: f64) -> u64 {
    let value_us = latencies.histogram().quantile_us(percent / 100.0);
    value_us.unwrap_or(0).min(latencies.max_us())
}

fn since(command: &YcsbCommand) -> Result<RunStart, YcsbRefusal> {
    match command.properties.get("measurement.interval") {
        None | Some("op") => Ok(RunStart::Start),
        Some("intended") => Ok(RunStart::Schedule),
        Some("both") => Ok(RunStart::Both),
        Some(other) => Err(
            YcsbRefusal::usage(format!("unknown measurement.interval={other}"))
                .hint("it is op, intended or both"),
        ),
    }
}
