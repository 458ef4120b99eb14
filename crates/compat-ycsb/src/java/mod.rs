//! What YCSB prints: its results on standard output, its status on standard error. (Facts: its Client,
//! StatusThread, Measurements and TextMeasurementsExporter; recordings of runs.)

mod export;
mod forms;
mod numbers;
mod series;
mod status;

use pgdyno_drive::record::Latencies;
use pgdyno_model::Outcome;
use pgdyno_output::remark;

use super::Refusal;
use super::command::{Command, Phase, without_password};
use super::operations::{self, Kind, Operation};
use super::plan::Plan;
use export::{Exporter, Line, Value};
use forms::Forms;
use numbers::place;
use series::Series;
pub use status::Status;

/// From when latencies count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    /// The start of an operation.
    Start,
    /// When it should have started.
    Schedule,
    /// Both.
    Both,
}

/// What is printed on standard output.
#[derive(Debug)]
pub struct Output {
    head: String,
    exporter: Exporter,
    forms: Forms,
    since: Since,
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
pub fn say_what_comes(command: &Command) {
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
    pub fn of(command: &Command, plan: &Plan) -> Result<Self, Refusal> {
        let properties = &command.properties;
        let since = since(command)?;
        let forms = Forms::of(properties)?;
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
            forms,
            since,
        })
    }

    /// The forms of its figures.
    pub fn forms(&self) -> &Forms {
        &self.forms
    }

    /// What comes before the run.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// The results; the run's averages over time are these.
    pub fn tail(&self, outcome: &Outcome, series: &Series) -> String {
        let recording = &outcome.recording;
        let operations = operations::of(recording);
        let runtime_ms = recording.measured.elapsed_us / 1000;
        let per_s = recording.measured.committed_per_s();
        let mut lines = vec![
            Line::new("OVERALL", "RunTime(ms)", Value::Whole(runtime_ms)),
            Line::new("OVERALL", "Throughput(ops/sec)", Value::Real(per_s)),
            Line::new("TOTAL_GCs", "Count", Value::Whole(0)),
            Line::new("TOTAL_GC_TIME", "Time(ms)", Value::Whole(0)),
            Line::new("TOTAL_GC_TIME_%", "Time(%)", Value::Real(0.0)),
        ];
        let mut named: Vec<(Kind, &Operation)> = operations
            .iter()
            .map(|(kind, operation)| (*kind, operation))
            .collect();
        // As they come out of Java's table of operations.
        named.sort_by_key(|(kind, _)| place(name(*kind)));
        if self.since != Since::Schedule {
            for (kind, operation) in &named {
                let averages = series.averages(*kind, false);
                let latencies = &operation.latencies;
                lines.extend(self.operation(name(*kind), latencies, Some(operation), &averages));
            }
        }
        if self.since != Since::Start {
            let before = if self.since == Since::Both {
                "Intended-"
            } else {
                ""
            };
            for (kind, operation) in &named {
                let latencies = operation.response.as_ref().unwrap_or(&operation.latencies);
                let counts = (self.since == Since::Schedule).then_some(*operation);
                let averages = series.averages(*kind, true);
                let name = format!("{before}{}", name(*kind));
                lines.extend(self.operation(&name, latencies, counts, &averages));
            }
        }
        self.exporter.text(&lines)
    }

    /// The lines of an operation, with its statuses where they belong there.
    fn operation(
        &self,
        name: &str,
        latencies: &Latencies,
        counts: Option<&Operation>,
        averages: &[(u64, f64)],
    ) -> Vec<Line> {
        let counts = counts.filter(|_| name != "READ-MODIFY-WRITE");
        let returns = counts.map(|operation| operation.returns.iter());
        let statuses: Vec<(String, u64)> = returns
            .into_iter()
            .flatten()
            .map(|(status, count)| ((*status).to_owned(), *count))
            .collect();
        let mut lines = self.forms.lines(name, latencies, &statuses, averages);
        // Failed operations are not timed.
        if let Some(failed) = counts.map(Operation::failed).filter(|failed| *failed > 0) {
            let metric = format!("{}{name}-FAILED", self.forms.before());
            lines.push(Line::new(&metric, "Operations", Value::Whole(failed)));
        }
        lines
    }
}

/// The latency at a percentile. The lines have no way to leave one out, however few operations stand
/// behind it: of none it is 0.
fn percentile_us(latencies: &Latencies, percent: f64) -> u64 {
    let value_us = latencies.histogram().quantile_us(percent / 100.0);
    value_us.unwrap_or(0).min(latencies.max_us())
}

fn since(command: &Command) -> Result<Since, Refusal> {
    match command.properties.get("measurement.interval") {
        None | Some("op") => Ok(Since::Start),
        Some("intended") => Ok(Since::Schedule),
        Some("both") => Ok(Since::Both),
        Some(other) => Err(
            Refusal::usage(format!("unknown measurement.interval={other}"))
                .hint("it is op, intended or both"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::Properties;

    #[test]
    fn failed_operations_are_counted_behind_the_others() {
        let mut operation = Operation::default();
        operation.latencies.record(100);
        operation.returns.insert("OK", 1);
        operation.returns.insert("NOT_FOUND", 2);
        let last = |kind: &str| {
            let mut properties = Properties::default();
            properties.read(&format!("measurementtype={kind}"));
            let output = Output {
                head: String::new(),
                exporter: Exporter::Text,
                forms: Forms::of(&properties).unwrap(),
                since: Since::Start,
            };
            let lines = output.operation("READ", &operation.latencies, Some(&operation), &[]);
            Exporter::Text.text(&lines[lines.len() - 1..])
        };
        assert_eq!(last("hdrhistogram"), "[READ-FAILED], Operations, 2\n");
        assert_eq!(
            last("hdrhistogram+histogram"),
            "[HdrREAD-FAILED], Operations, 2\n"
        );
    }
}
