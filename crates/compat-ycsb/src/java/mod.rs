//! What YCSB prints: its results on standard output, its status on standard error. (Facts: its Client,
//! StatusThread, Measurements and TextMeasurementsExporter; recordings of runs.)

mod numbers;
mod status;

use std::fmt::Write;

use pgdyno_drive::record::Latencies;
use pgdyno_model::Outcome;
use pgdyno_output::remark;

use super::Refusal;
use super::command::{Command, Phase, without_password};
use super::operations::{self, Kind, Operation};
use super::plan::Plan;
use numbers::{double, ordinal, place};
pub use status::Status;

/// Percentiles that are printed unless others are asked for.
const PERCENTILES: &str = "50,95,99";

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
    percentiles: Vec<f64>,
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
    /// A kind of measurement that there is not.
    pub fn of(command: &Command, plan: &Plan) -> Result<Self, Refusal> {
        let properties = &command.properties;
        let since = since(command)?;
        let kinds = [
            "hdrhistogram",
            "histogram",
            "hdrhistogram+histogram",
            "hdrhistogram+raw",
            "timeseries",
            "raw",
        ];
        match properties.get("measurementtype") {
            None | Some("hdrhistogram") => {}
            Some(kind) if kinds.contains(&kind) => remark!(
                "pgdyno: warning: measurementtype={kind}: printed as hdrhistogram is, which pgdyno has"
            ),
            Some(kind) => {
                let refusal = Refusal::usage(format!("unknown measurementtype={kind}"));
                return Err(refusal.hint("it is hdrhistogram"));
            }
        }
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
            percentiles: percentiles(properties.get("hdrhistogram.percentiles")),
            since,
        })
    }

    /// What comes before the run.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// The results.
    pub fn tail(&self, outcome: &Outcome) -> String {
        let recording = &outcome.recording;
        let operations = operations::of(recording);
        let runtime_ms = recording.measured.elapsed_us / 1000;
        let per_s = recording.measured.committed_per_s();
        let mut text = format!(
            "[OVERALL], RunTime(ms), {runtime_ms}\n\
             [OVERALL], Throughput(ops/sec), {}\n\
             [TOTAL_GCs], Count, 0\n\
             [TOTAL_GC_TIME], Time(ms), 0\n\
             [TOTAL_GC_TIME_%], Time(%), 0.0\n",
            double(per_s)
        );
        let mut named: Vec<(&str, &Operation)> = operations
            .iter()
            .map(|(kind, operation)| (name(*kind), operation))
            .collect();
        // As they come out of Java's table of operations.
        named.sort_by_key(|(name, _)| place(name));
        if self.since != Since::Schedule {
            for (name, operation) in &named {
                self.operation(&mut text, name, &operation.latencies, Some(operation));
            }
        }
        if self.since != Since::Start {
            let before = if self.since == Since::Both {
                "Intended-"
            } else {
                ""
            };
            for (name, operation) in &named {
                let latencies = operation.response.as_ref().unwrap_or(&operation.latencies);
                let counts = (self.since == Since::Schedule).then_some(*operation);
                self.operation(&mut text, &format!("{before}{name}"), latencies, counts);
            }
        }
        text
    }

    /// The lines of an operation, with its statuses where they belong there.
    fn operation(
        &self,
        text: &mut String,
        name: &str,
        latencies: &Latencies,
        counts: Option<&Operation>,
    ) {
        let mut line = |measurement: &str, value: String| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "[{name}], {measurement}, {value}");
        };
        line("Operations", latencies.count().to_string());
        line(
            "AverageLatency(us)",
            double(latencies.mean_us().unwrap_or(0.0)),
        );
        let min_us = latencies.histogram().min_us().unwrap_or(0);
        line("MinLatency(us)", min_us.to_string());
        line("MaxLatency(us)", latencies.max_us().to_string());
        for percent in &self.percentiles {
            let measurement = format!("{}PercentileLatency(us)", ordinal(*percent));
            line(&measurement, percentile_us(latencies, *percent).to_string());
        }
        let Some(operation) = counts.filter(|_| name != "READ-MODIFY-WRITE") else {
            return;
        };
        for (status, count) in &operation.returns {
            line(&format!("Return={status}"), count.to_string());
        }
        // Failed operations are not timed.
        if operation.failed() > 0 {
            let _ = writeln!(text, "[{name}-FAILED], Operations, {}", operation.failed());
        }
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

fn percentiles(asked: Option<&str>) -> Vec<f64> {
    let read = |text: &str| {
        let parts = text.split(',');
        let read = parts.map(|part| part.trim().parse().ok());
        let all: Option<Vec<f64>> = read.collect();
        all.filter(|all| all.iter().all(|p| (0.0..=100.0).contains(p)))
    };
    let asked = asked.unwrap_or(PERCENTILES);
    read(asked).unwrap_or_else(|| {
        remark!(
            "[WARN] Couldn't read hdrhistogram.percentiles value: '{asked}', the default of \
             '{PERCENTILES}' will be used."
        );
        read(PERCENTILES).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operations_lines_have_ycsbs_form() {
        let mut operation = Operation::default();
        for latency_us in [100, 200, 300, 1000] {
            operation.latencies.record(latency_us);
        }
        operation.returns.insert("OK", 4);
        operation.returns.insert("NOT_FOUND", 2);
        let output = Output {
            head: String::new(),
            percentiles: percentiles(Some("50,99.9")),
            since: Since::Start,
        };
        let mut text = String::new();
        output.operation(&mut text, "READ", &operation.latencies, Some(&operation));
        assert_eq!(
            text,
            "[READ], Operations, 4\n\
             [READ], AverageLatency(us), 400.0\n\
             [READ], MinLatency(us), 100\n\
             [READ], MaxLatency(us), 1000\n\
             [READ], 50thPercentileLatency(us), 200\n\
             [READ], 99.9PercentileLatency(us), 1000\n\
             [READ], Return=NOT_FOUND, 2\n\
             [READ], Return=OK, 4\n\
             [READ-FAILED], Operations, 2\n"
        );
    }

    #[test]
    fn percentiles_that_cannot_be_read_are_the_usual_ones() {
        assert_eq!(percentiles(Some("50, 99.99")), [50.0, 99.99]);
        for wrong in ["x", "101", "", "50;99"] {
            assert_eq!(percentiles(Some(wrong)), [50.0, 95.0, 99.0], "{wrong}");
        }
    }
}
