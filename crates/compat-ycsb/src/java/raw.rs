//! `measurementtype=raw`: each operation by itself, on standard output or in a file, and a summary of
//! them in the results. (Facts: recordings of YCSB's OneMeasurementRaw.)

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use pgdyno_measurement::{Closing, LoggedTransaction};

use super::export::{ExportValue, Line};
use super::figures::{CLEANUP, Errors};
use crate::YcsbRefusal;
use crate::operations::{self, Kind};
use crate::properties::Properties;

/// Percentiles of the summary, in per cent.
const PERCENTILES: [f64; 8] = [1.0, 5.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    at_us: u64,
    latency_us: u64,
}

/// All operations by the name that they are printed under, from their start and from their schedule
/// on. They stay in memory until the run is over.
#[derive(Debug, Default)]
pub struct RawPoints {
    began: Option<SystemTime>,
    by_name: BTreeMap<String, [Vec<Point>; 2]>,
}

#[derive(Debug)]
pub struct Place {
    /// The file and its path; standard output without one.
    file: Option<(File, String)>,
}

impl RawPoints {
    /// Clients are at work since then.
    pub fn begin(&mut self, began: SystemTime) {
        self.began = Some(began);
    }

    /// Adds transactions of scripts of these kinds.
    pub fn add(&mut self, kinds: &[Option<Kind>], errors: &Errors, ended: &[LoggedTransaction]) {
        for transaction in ended {
            if let Some((kind, status)) = operations::ended(kinds, transaction) {
                let LoggedTransaction {
                    at_us,
                    took_us,
                    waited_us,
                    ..
                } = *transaction;
                self.push(errors.name(kind, status), at_us, took_us, waited_us);
            }
        }
    }

    /// The run is over: connections were closed, and all that there is comes into its order.
    pub fn finish(&mut self, closings: &[Closing]) {
        for closing in closings {
            self.push(CLEANUP.to_owned(), closing.at_us, closing.latency_us, 0);
        }
        for points in self.by_name.values_mut().flatten() {
            points.sort_by_key(|point| point.at_us);
        }
    }

    fn push(&mut self, name: String, at_us: u64, took_us: u64, waited_us: u64) {
        let [service, response] = self.by_name.entry(name).or_default();
        for (points, latency_us) in [(service, took_us), (response, took_us + waited_us)] {
            points.push(Point { at_us, latency_us });
        }
    }

    pub fn of(&self, name: &str, is_of_schedule: bool) -> &[Point] {
        let both = self.by_name.get(name);
        both.map_or(&[], |both| &both[usize::from(is_of_schedule)])
    }

    /// A line each, below a title.
    pub fn text(&self, name: &str, points: &[Point]) -> String {
        let began = self.began.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let began_us = began.map_or(0, |since| since.as_micros() as u64);
        let mut text = format!("{name} latency raw data: op, timestamp(ms), latency(us)\n");
        for point in points {
            let at_ms = (began_us + point.at_us) / 1000;
            text += &format!("{name},{at_ms},{}\n", point.latency_us);
        }
        text
    }
}

impl Place {
    /// The file that is asked for, to be added to.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn of(properties: &Properties) -> Result<Self, YcsbRefusal> {
        let path = properties.get("measurement.raw.output_file");
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            return Ok(Self { file: None });
        };
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|e| {
            YcsbRefusal::impossible(format!(
                "measurement.raw.output_file: could not open {path}: {e}"
            ))
        })?;
        Ok(Self {
            file: Some((file, path.to_owned())),
        })
    }

    /// What YCSB says when it meets a name.
    pub fn announcement(&self) -> String {
        match &self.file {
            Some((_, path)) => {
                format!("Raw data measurement: will output to result file: {path}\n")
            }
            None => "Raw data measurement: will output to stdout.\n".to_owned(),
        }
    }

    /// Writes operations into the file; gives back what belongs on standard output.
    ///
    /// # Errors
    /// A full disk.
    pub fn write(&mut self, text: String) -> Result<String, String> {
        let Some((file, path)) = &mut self.file else {
            return Ok(text);
        };
        let written = file.write_all(text.as_bytes());
        let written = written.map(|()| String::new());
        written.map_err(|e| format!("measurement.raw.output_file: could not write {path}: {e}"))
    }
}

/// The summary of operations; without it their number alone.
pub fn summary(name: &str, points: &[Point], is_whole: bool) -> Vec<Line> {
    let count = points.len();
    let line = |measurement: String, value| Line::new(name, measurement, value);
    let mut lines = vec![line(
        "Total Operations".to_owned(),
        ExportValue::Whole(count as u64),
    )];
    if !is_whole || count == 0 {
        return lines;
    }
    let mut sorted: Vec<u64> = points.iter().map(|point| point.latency_us).collect();
    sorted.sort_unstable();
    let sum_us: u64 = sorted.iter().sum();
    lines.push(line(
        "Below is a summary of latency in microseconds:".to_owned(),
        ExportValue::None,
    ));
    let average_us = sum_us as f64 / count as f64;
    lines.push(line("Average".to_owned(), ExportValue::Real(average_us)));
    let at =
        |share: f64| ExportValue::Whole(sorted[((count as f64 * share) as usize).min(count - 1)]);
    lines.push(line("Min".to_owned(), at(0.0)));
    lines.push(line("Max".to_owned(), at(1.0)));
    let percentiles = PERCENTILES.iter();
    lines.extend(percentiles.map(|percent| line(format!("p{percent}"), at(percent / 100.0))));
    lines
}

#[cfg(test)]
mod tests {
    use super::super::export::Exporter;
    use super::*;
    use pgdyno_measurement::{Failure, Outcome};

    fn ended(at_us: u64, took_us: u64, outcome: Outcome) -> LoggedTransaction {
        LoggedTransaction {
            client: 0,
            number: 1,
            script: 0,
            outcome,
            tries: 1,
            latency_us: 0,
            lag_us: 0,
            took_us,
            waited_us: 50,
            at_us,
        }
    }

    fn points() -> RawPoints {
        let mut points = RawPoints::default();
        points.begin(UNIX_EPOCH + std::time::Duration::from_secs(1));
        let missing = Outcome::Failed(Failure::RowMissing);
        let interrupted = Outcome::Failed(Failure::Interrupted);
        let transactions = [
            ended(2_000, 20, Outcome::Committed),
            ended(1_000, 10, Outcome::Committed),
            ended(3_000, 30, missing),
            ended(4_000, 40, interrupted),
        ];
        points.add(&[Some(Kind::Read)], &Errors::default(), &transactions);
        points.finish(&[Closing {
            at_us: 5_999,
            latency_us: 7,
        }]);
        points
    }

    #[test]
    fn operations_come_in_the_order_of_their_ends_with_the_time_of_day() {
        let points = points();
        let text = |name: &str, is_of_schedule| points.text(name, points.of(name, is_of_schedule));
        let title = "latency raw data: op, timestamp(ms), latency(us)";
        assert_eq!(
            text("READ", false),
            format!("READ {title}\nREAD,1001,10\nREAD,1002,20\n")
        );
        assert_eq!(
            text("READ", true),
            format!("READ {title}\nREAD,1001,60\nREAD,1002,70\n")
        );
        assert!(text("READ-FAILED", false).ends_with("\nREAD-FAILED,1003,30\n"));
        assert!(text(CLEANUP, true).ends_with("\nCLEANUP,1005,7\n"));
    }

    #[test]
    fn a_summary_has_the_recorded_lines() {
        let points = points();
        let text = |is_whole| {
            let lines = summary("READ", points.of("READ", false), is_whole);
            Exporter::Text.text(&lines)
        };
        assert_eq!(text(false), "[READ], Total Operations, 2\n");
        assert_eq!(
            text(true),
            "[READ], Total Operations, 2\n\
             [READ], Below is a summary of latency in microseconds:, -1\n\
             [READ], Average, 15.0\n[READ], Min, 10\n[READ], Max, 20\n\
             [READ], p1, 10\n[READ], p5, 10\n[READ], p50, 20\n[READ], p90, 20\n[READ], p95, 20\n\
             [READ], p99, 20\n[READ], p99.9, 20\n[READ], p99.99, 20\n"
        );
        assert_eq!(summary("READ", &[], true).len(), 1);
    }
}
