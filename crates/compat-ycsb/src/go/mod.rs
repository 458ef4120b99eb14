//! What go-ycsb prints: its properties, summaries each interval, the table at the end, all on standard
//! output. (Facts: go-ycsb's cmd, pkg/measurement and pkg/util; recordings of runs.)

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use pgdyno_measurement::{Interval, Latencies, LoggedTransaction};
use pgdyno_model::{Observer, Outcome};
use pgdyno_platform::Output;

use super::YcsbRefusal;
use super::command::{Phase, YcsbCommand};
use super::operations::{self, Kind, OperationStatus, Operations};
use super::plan::Plan;
use super::run::Tail;

mod each;
mod spectrum;

use each::Each;

/// All statements that went well.
const TOTAL: &str = "TOTAL";
const STARS: &str = "**********************************************";

const HEADER: [&str; 13] = [
    "Operation",
    "Takes(s)",
    "Count",
    "OPS",
    "Avg(us)",
    "Min(us)",
    "Max(us)",
    "50th(us)",
    "90th(us)",
    "95th(us)",
    "99th(us)",
    "99.9th(us)",
    "99.99th(us)",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Table,
    Json,
}

/// Prints summaries while it runs.
pub struct ReportTicks {
    style: Style,
    /// Without it operations are kept as histograms.
    each: Option<Each>,
    /// `measurement.output_file`: what comes at the end goes here, not to standard output.
    file: Option<(Output, String)>,
    /// `histogram.percentiles.export.filepath`, if histograms are exported: how names of files begin.
    spectra: Option<String>,
    every_s: u64,
    /// The kinds of the run's scripts.
    pub kinds: Vec<Option<Kind>>,
    operations: Operations,
    is_warmup: bool,
    begin_s: f64,
    tick_s: f64,
    end_s: f64,
}

/// What comes before the run.
pub fn head(command: &YcsbCommand, plan: &Plan) -> String {
    let mut properties = command.properties.clone();
    let (phase, transactions) = match command.phase {
        Phase::Load => ("load", "false"),
        Phase::Run => ("run", "true"),
    };
    properties.set("command", phase);
    properties.set("dotransactions", transactions);
    properties.set("table", &plan.usertable);
    if properties.get("pg.password").is_some() {
        properties.set("pg.password", "***");
    }
    let (first, last) = plan.key_range;
    let mut text = format!(
        "Using request distribution '{}' a keyrange of [{first} {last}]\n\
         ***************** properties *****************\n",
        plan.distribution
    );
    for (name, value) in properties.all() {
        text += &format!("\"{name}\"=\"{value}\"\n");
    }
    text + STARS + "\n"
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "READ",
        Kind::Update => "UPDATE",
        Kind::Insert => "INSERT",
        Kind::Scan => "SCAN",
        Kind::ReadModifyWrite => "READ_MODIFY_WRITE",
    }
}

impl ReportTicks {
    /// Nothing is done yet.
    ///
    /// # Errors
    /// A style, or a kind of measurement, that there is not.
    pub fn new(command: &YcsbCommand) -> Result<Self, YcsbRefusal> {
        let properties = &command.properties;
        let style = match properties.get("outputstyle").unwrap_or("plain") {
            "plain" => Style::Plain,
            "table" => Style::Table,
            "json" => Style::Json,
            other => {
                let refusal = YcsbRefusal::usage(format!("unsupported outputstyle: {other}"));
                return Err(refusal.hint("it is plain, table or json"));
            }
        };
        let each = match properties.get("measurementtype").unwrap_or("histogram") {
            "histogram" => None,
            "csv" | "raw" => Some(Each::default()),
            other => {
                let refusal = YcsbRefusal::usage(format!("unsupported measurement type: {other}"));
                return Err(refusal.hint("it is histogram, csv or raw"));
            }
        };
        let path = properties.get("measurement.output_file");
        let file = path.filter(|path| !path.is_empty()).map(|path| {
            let file = Output::open(Path::new(path)).map_err(|e| {
                let text = format!("measurement.output_file: could not create {path}: {e}");
                YcsbRefusal::impossible(text)
            })?;
            Ok::<_, YcsbRefusal>((file, path.to_owned()))
        });
        let has_spectra = properties.bool("histogram.percentiles.export") == Some(true);
        let spectra = properties
            .get("histogram.percentiles.export.filepath")
            .unwrap_or("./");
        let spectra = (has_spectra && each.is_none()).then(|| spectra.to_owned());
        if let Some(before) = &spectra {
            // All that a run has; a new file that nothing is written to is removed again.
            open_spectrum(before, TOTAL).map_err(YcsbRefusal::impossible)?;
        }
        Ok(Self {
            style,
            each,
            file: file.transpose()?,
            spectra,
            every_s: properties
                .count("measurement.interval")?
                .unwrap_or(10)
                .max(1),
            kinds: Vec::new(),
            operations: Operations::new(),
            is_warmup: false,
            begin_s: 0.0,
            tick_s: 0.0,
            end_s: 0.0,
        })
    }

    /// What comes after the run.
    pub fn tail(&mut self, outcome: &Outcome) -> Tail {
        let recording = &outcome.recording;
        let elapsed_us = recording.measured.elapsed_us;
        let operations = operations::of(recording);
        let summary = match &mut self.each {
            Some(each) => each.text(),
            None => self.summary(&operations, elapsed_us as f64 / 1e6),
        };
        // The warm-up is part of what go-ycsb says here, and of nothing else.
        let warmup_us = (self.begin_s * 1e6) as u64;
        let took = go_duration(warmup_us + elapsed_us);
        let mut aside = format!("{STARS}\nRun finished, takes {took}\n");
        let mut lost = None;
        if let Some(before) = &self.spectra {
            for (name, latencies) in named(&operations) {
                aside += &format!(
                    "Exporting the full latency spectrum for operation '{name}' in percentile output format \
                     into file: {before}{name}-percentiles.txt.\n"
                );
                if let Err(error) = write_spectrum(before, &name, &latencies) {
                    lost.get_or_insert(error);
                }
            }
        }
        let results = match self.file.take() {
            None => summary,
            Some((file, path)) => {
                if let Err(e) = file.replace(summary.as_bytes()) {
                    let text = format!("measurement.output_file: could not write {path}: {e}");
                    lost.get_or_insert(text);
                }
                String::new()
            }
        };
        Tail {
            aside,
            results,
            lost,
        }
    }

    fn summary(&self, operations: &Operations, elapsed_s: f64) -> String {
        if self.each.is_some() {
            // There is none before the end.
            return String::new();
        }
        let named = named(operations);
        let rows = named
            .iter()
            .map(|(name, latencies)| row(name, latencies, elapsed_s));
        let rows: Vec<Row> = rows.collect();
        match self.style {
            _ if rows.is_empty() => String::new(),
            Style::Plain => plain(&rows),
            Style::Table => table(&rows),
            Style::Json => json(&rows),
        }
    }
}

/// go-ycsb's name of an operation that failed.
fn failed(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "READ_ERROR",
        Kind::Update => "UPDATE_ERROR",
        Kind::Insert => "INSERT_ERROR",
        Kind::Scan => "SCAN_ERROR",
        Kind::ReadModifyWrite => "READ_MODIFY_WRITE_ERROR",
    }
}

/// A histogram for each kind of operation, for each of them that failed, and for all that went well, by name.
fn named(operations: &Operations) -> BTreeMap<String, Latencies> {
    let mut named: BTreeMap<String, Latencies> = BTreeMap::new();
    // Until the end the parts of read-modify-writes are not known, and a total neither.
    let is_whole =
        !operations.contains_key(&Kind::ReadModifyWrite) || operations.contains_key(&Kind::Read);
    for (kind, operation) in operations {
        let mut add = |name: &str, latencies: &Latencies| {
            if latencies.count() > 0 {
                named.entry(name.to_owned()).or_default().merge(latencies);
            }
        };
        add(name(*kind), &operation.latencies);
        if *kind != Kind::ReadModifyWrite && is_whole {
            add(TOTAL, &operation.latencies);
        }
        // A row that is not there is no error there.
        if let Some(tries) = operation.failed.get(&OperationStatus::Error) {
            add(failed(*kind), &tries.service);
        }
    }
    named
}

fn open_spectrum(before: &str, name: &str) -> Result<Output, String> {
    let path = format!("{before}{name}-percentiles.txt");
    Output::open(Path::new(&path))
        .map_err(|e| format!("histogram.percentiles.export.filepath: could not create {path}: {e}"))
}

fn write_spectrum(before: &str, name: &str, latencies: &Latencies) -> Result<(), String> {
    let file = open_spectrum(before, name)?;
    let place = file.path().display().to_string();
    let written = file.replace(spectrum::text(latencies.histogram()).as_bytes());
    written.map_err(|e| format!("histogram.percentiles.export: could not write {place}: {e}"))
}

type Row = [String; 13];

fn row(name: &str, latencies: &Latencies, elapsed_s: f64) -> Row {
    let max_us = latencies.max_us();
    let at = |percent: f64| {
        let value_us = latencies.histogram().quantile_us(percent / 100.0);
        value_us.unwrap_or(0).min(max_us).to_string()
    };
    let count = latencies.count();
    [
        name.to_owned(),
        format!("{elapsed_s:.1}"),
        count.to_string(),
        format!("{:.1}", count as f64 / elapsed_s.max(1e-6)),
        (latencies.mean_us().unwrap_or(0.0) as u64).to_string(),
        latencies.histogram().min_us().unwrap_or(0).to_string(),
        max_us.to_string(),
        at(50.0),
        at(90.0),
        at(95.0),
        at(99.0),
        at(99.9),
        at(99.99),
    ]
}

fn plain(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let pairs = HEADER.iter().zip(row).skip(1);
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        format!("{:<6} - {}\n", row[0], pairs.join(", "))
    };
    rows.iter().map(line).collect()
}

fn json(rows: &[Row]) -> String {
    let object = |row: &Row| {
        let pairs = HEADER.iter().zip(row);
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), value.clone().into()));
        serde_json::Value::Object(pairs.collect())
    };
    let rows: serde_json::Value = rows.iter().map(object).collect();
    format!("{rows}\n")
}

/// Headers in the middle, names on the left, numbers on the right.
fn table(rows: &[Row]) -> String {
    let header = HEADER.map(str::to_uppercase);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].len());
        cells.max().unwrap_or(0).max(header[column].len())
    };
    let widths: [usize; 13] = std::array::from_fn(width);
    let lines = widths.map(|width| "-".repeat(width + 2));
    let rule = format!("+{}+\n", lines.join("+"));
    let titles: [String; 13] =
        std::array::from_fn(|i| format!(" {:^w$} ", header[i], w = widths[i]));
    let mut text = format!("{rule}|{}|\n{rule}", titles.join("|"));
    for row in rows {
        let cells: [String; 13] = std::array::from_fn(|i| match i {
            0 => format!(" {:<w$} ", row[i], w = widths[i]),
            _ => format!(" {:>w$} ", row[i], w = widths[i]),
        });
        text += &format!("|{}|\n", cells.join("|"));
    }
    text + &rule
}

/// A length of time as Go prints it: `495.012ms`, `3.0635s`, `1m3.5s`.
fn go_duration(us: u64) -> String {
    let trimmed = |whole: u64, rest: String| match rest.trim_end_matches('0') {
        "" => whole.to_string(),
        rest => format!("{whole}.{rest}"),
    };
    if us < 1000 {
        return format!("{us}µs");
    }
    if us < 1_000_000 {
        return trimmed(us / 1000, format!("{:03}", us % 1000)) + "ms";
    }
    let seconds = us / 1_000_000;
    let last = trimmed(seconds % 60, format!("{:06}", us % 1_000_000)) + "s";
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => last,
        (0, minutes) => format!("{minutes}m{last}"),
        (hours, minutes) => format!("{hours}h{minutes}m{last}"),
    }
}

impl<O> Observer<O> for ReportTicks {
    fn begun(&mut self, started: SystemTime) {
        if let Some(each) = &mut self.each {
            each.begin(started);
        }
    }

    fn logged(&mut self, _thread: usize, transactions: &[LoggedTransaction]) {
        if let Some(each) = &mut self.each {
            each.add(&self.kinds, transactions);
        }
    }

    fn second(&mut self, interval: &Interval) {
        if self.is_warmup && !interval.warmup {
            (self.begin_s, self.tick_s) = (interval.start_s(), 0.0);
            self.operations.clear();
        }
        self.is_warmup = interval.warmup;
        operations::add_interval(&mut self.operations, &self.kinds, interval);
        self.tick_s += interval.length_s();
        self.end_s = interval.start_s() + interval.length_s();
        // Seconds are whole but for the last one.
        if self.is_warmup || self.tick_s + 1e-6 < self.every_s as f64 {
            return;
        }
        self.tick_s = 0.0;
        let text = self.summary(&self.operations, self.end_s - self.begin_s);
        // A closed output is no error: it must not end a measurement.
        let mut out = io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_rows() -> Vec<Row> {
        let mut read = Latencies::default();
        read.record(2041);
        vec![row("READ", &read, 0.5), row("TOTAL", &read, 0.5)]
    }

    #[test]
    fn summaries_have_the_recorded_forms() {
        let rows = two_rows();
        assert!(plain(&rows).starts_with(
            "READ   - Takes(s): 0.5, Count: 1, OPS: 2.0, Avg(us): 2041, Min(us): 2041, Max(us): 2041, \
             50th(us): 2041, 90th(us): 2041, 95th(us): 2041, 99th(us): 2041, 99.9th(us): 2041, \
             99.99th(us): 2041\nTOTAL  - "
        ));
        let text = table(&rows);
        let lines: Vec<&str> = text.lines().collect();
        let recorded = [
            "+-----------+----------+-------+-----+---------+---------+---------+----------+----------+----------+----------+------------+-------------+",
            "| OPERATION | TAKES(S) | COUNT | OPS | AVG(US) | MIN(US) | MAX(US) | 50TH(US) | 90TH(US) | 95TH(US) | 99TH(US) | 99.9TH(US) | 99.99TH(US) |",
        ];
        assert_eq!(lines[..2], recorded);
        assert!(lines[3].starts_with("| READ      |      0.5 |     1 | 2.0 |    2041 |"));
        assert_eq!((lines[2], lines[5], lines.len()), (lines[0], lines[0], 6));
        assert!(json(&rows).starts_with("[{\"50th(us)\":\"2041\",\"90th(us)\":\"2041\""));
    }

    #[test]
    fn lengths_of_time_are_gos() {
        let texts = [999, 495_012, 2_000, 3_063_537, 63_500_000, 3_600_000_000].map(go_duration);
        assert_eq!(
            texts,
            ["999µs", "495.012ms", "2ms", "3.063537s", "1m3.5s", "1h0m0s"]
        );
    }
}
