//! `measurementtype`: which figures of an operation's latencies are printed. (Facts: recordings of
//! YCSB's measurements; its buckets are milliseconds, and the last one counts all that took longer.)

use pgdyno_measurement::Latencies;
use pgdyno_output::remark;

use super::export::{ExportValue, Line};
use super::numbers::{ordinal, two_digits};
use super::percentile_us;
use super::raw::{Point, summary};
use crate::YcsbRefusal;
use crate::properties::Properties;

/// Percentiles that are printed unless others are asked for.
const PERCENTILES: &str = "50,95,99";
/// Those of a status line.
const PERCENTILES_OF_STATUS: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];
const BUCKETS: u64 = 1000;
/// More buckets than a reader needs; each is a line of its own.
const BUCKETS_MAX: u64 = 1_000_000;
/// YCSB's. The engine adds up seconds: a series of whole ones is made of these.
const GRANULARITY_MS: u64 = 1000;

/// A form that figures are printed in.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    Hdr(Vec<f64>),
    /// Buckets of a millisecond; whether they are printed too.
    Buckets {
        count: u64,
        is_verbose: bool,
    },
    Series,
    /// Each operation by itself; whether a summary is printed too.
    Raw {
        has_summary: bool,
    },
}

/// What is printed under a name.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    pub latencies: &'a Latencies,
    /// How many ended with which status.
    pub statuses: &'a [(String, u64)],
    /// Averages over time; with a series only.
    pub averages: &'a [(u64, f64)],
    /// Each of them; with `raw` only.
    pub points: &'a [Point],
}

/// The forms that are asked for, with what comes before an operation's name there.
#[derive(Debug, Clone, PartialEq)]
pub struct JavaForms {
    forms: Vec<(&'static str, Form)>,
    /// How long an interval of a series is.
    pub granularity_ms: u64,
}

impl JavaForms {
    /// As it is asked for.
    ///
    /// # Errors
    /// A kind of measurement that there is not, or one that cannot be had with these numbers.
    pub fn of(properties: &Properties) -> Result<Self, YcsbRefusal> {
        let hdr = || Form::Hdr(percentiles(properties.get("hdrhistogram.percentiles")));
        let raw = || Form::Raw {
            has_summary: properties.bool("measurement.raw.no_summary") != Some(true),
        };
        let kind = properties.get("measurementtype").unwrap_or("hdrhistogram");
        let forms = match kind {
            "hdrhistogram" => vec![("", hdr())],
            "histogram" => vec![("", buckets(properties)?)],
            "hdrhistogram+histogram" => vec![("Hdr", hdr()), ("Bucket", buckets(properties)?)],
            "timeseries" => vec![("", Form::Series)],
            "raw" => vec![("", raw())],
            "hdrhistogram+raw" => vec![("Hdr", hdr()), ("Raw", raw())],
            kind => {
                let refusal = YcsbRefusal::usage(format!("unknown measurementtype={kind}"));
                return Err(refusal.hint(
                    "it is hdrhistogram, histogram, timeseries, raw, hdrhistogram+histogram or \
                     hdrhistogram+raw",
                ));
            }
        };
        let granularity_ms = properties.count("timeseries.granularity")?;
        let granularity_ms = granularity_ms.unwrap_or(GRANULARITY_MS);
        let forms = Self {
            forms,
            granularity_ms,
        };
        if forms.has_series() && granularity_ms == 0 {
            let refusal =
                YcsbRefusal::usage("timeseries.granularity=0: it is a number of milliseconds");
            return Err(refusal.hint("such as timeseries.granularity=1000"));
        }
        Ok(forms)
    }

    /// Whether a series has parts of seconds, which only single operations tell.
    pub fn has_fine_series(&self) -> bool {
        self.has_series() && is_fine(self.granularity_ms)
    }

    /// What comes before a name in an HdrHistogram, if there is one.
    pub fn hdr(&self) -> Option<&'static str> {
        let mut forms = self.forms.iter();
        let is_hdr = |form: &Form| matches!(form, Form::Hdr(_));
        forms.find_map(|(before, form)| is_hdr(form).then_some(*before))
    }

    /// Whether averages over time are printed.
    pub fn has_series(&self) -> bool {
        self.forms.iter().any(|(_, form)| *form == Form::Series)
    }

    /// What comes before the name of operations that are printed one by one, if they are.
    pub fn raw(&self) -> Option<&'static str> {
        let mut forms = self.forms.iter();
        let is_raw = |form: &Form| matches!(form, Form::Raw { .. });
        forms.find_map(|(before, form)| is_raw(form).then_some(*before))
    }

    /// The lines of an operation. Statuses (`Return=OK`) come with the first form only.
    pub fn lines(&self, name: &str, printed: &Printed<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for (at, (before, form)) in self.forms.iter().enumerate() {
            let name = format!("{before}{name}");
            let statuses = if at == 0 { printed.statuses } else { &[] };
            let printed = Printed {
                statuses,
                ..*printed
            };
            form.lines(&mut lines, &name, &printed);
        }
        lines
    }

    /// An operation's part of a status line.
    pub fn status(&self, name: &str, latencies: &Latencies) -> String {
        let forms = self.forms.iter();
        let parts: Vec<String> = forms
            .map(|(before, form)| form.status(&format!("{before}{name}"), latencies))
            .collect();
        parts.join("\n") + " "
    }
}

fn is_fine(granularity_ms: u64) -> bool {
    !granularity_ms.is_multiple_of(GRANULARITY_MS)
}

/// Whether averages over parts of seconds are asked for.
///
/// # Errors
/// A granularity that is no number.
pub fn has_fine_series(properties: &Properties) -> Result<bool, YcsbRefusal> {
    let granularity_ms = properties.count("timeseries.granularity")?;
    let is_series = properties.get("measurementtype") == Some("timeseries");
    Ok(is_series && granularity_ms.is_some_and(is_fine))
}

impl Form {
    fn lines(&self, lines: &mut Vec<Line>, name: &str, printed: &Printed<'_>) {
        let Printed {
            latencies,
            statuses,
            averages,
            points,
        } = *printed;
        if let Self::Raw { has_summary } = self {
            lines.extend(summary(name, points, *has_summary));
            lines.extend(returns(name, statuses));
            return;
        }
        let mut line = |measurement: String, value| lines.push(Line::new(name, measurement, value));
        let mean_us = latencies.mean_us().unwrap_or(0.0);
        let min_us = latencies.histogram().min_us().unwrap_or(0);
        line(
            "Operations".to_owned(),
            ExportValue::Whole(latencies.count()),
        );
        line("AverageLatency(us)".to_owned(), ExportValue::Real(mean_us));
        if let Self::Buckets { .. } = self {
            let variance = latencies.variance_us2().unwrap_or(0.0);
            line(
                "LatencyVariance(us)".to_owned(),
                ExportValue::Real(variance),
            );
        }
        line("MinLatency(us)".to_owned(), ExportValue::Whole(min_us));
        line(
            "MaxLatency(us)".to_owned(),
            ExportValue::Whole(latencies.max_us()),
        );
        let percentile = |percent: f64| format!("{}PercentileLatency(us)", ordinal(percent));
        let counts = self.counts(latencies);
        match self {
            Self::Hdr(percents) => {
                for percent in percents {
                    let value_us = percentile_us(latencies, *percent);
                    line(percentile(*percent), ExportValue::Whole(value_us));
                }
            }
            Self::Buckets { .. } => {
                for percent in [95.0, 99.0] {
                    if let Some(ms) = bucket_at(&counts, percent) {
                        line(percentile(percent), ExportValue::Whole(ms * 1000));
                    }
                }
            }
            Self::Series | Self::Raw { .. } => {}
        }
        lines.extend(returns(name, statuses));
        let mut line = |measurement: String, value| lines.push(Line::new(name, measurement, value));
        match self {
            Self::Buckets {
                is_verbose: true,
                count,
            } => {
                for (ms, counted) in counts.iter().enumerate() {
                    let last = ms as u64 == *count;
                    let bucket = if last {
                        format!(">{ms}")
                    } else {
                        ms.to_string()
                    };
                    line(bucket, ExportValue::Whole(*counted));
                }
            }
            Self::Series => {
                for (start_ms, average_us) in averages {
                    line(start_ms.to_string(), ExportValue::Real(*average_us));
                }
            }
            _ => {}
        }
    }

    /// How many took so many whole milliseconds, and behind them how many took longer.
    fn counts(&self, latencies: &Latencies) -> Vec<u64> {
        let Self::Buckets { count, .. } = self else {
            return Vec::new();
        };
        let mut counts = vec![0; *count as usize + 1];
        for bucket in latencies.histogram().buckets() {
            counts[(bucket.lowest_us / 1000).min(*count) as usize] += bucket.count;
        }
        counts
    }

    fn status(&self, name: &str, latencies: &Latencies) -> String {
        let mean = two_digits(latencies.mean_us().unwrap_or(0.0));
        match self {
            Self::Hdr(_) => {
                let min_us = latencies.histogram().min_us().unwrap_or(0);
                let (count, max_us) = (latencies.count(), latencies.max_us());
                let at = PERCENTILES_OF_STATUS.map(|percent| {
                    let value_us = percentile_us(latencies, percent);
                    format!("{percent}={value_us}")
                });
                format!(
                    "[{name}: Count={count}, Max={max_us}, Min={min_us}, Avg={mean}, {}]",
                    at.join(", ")
                )
            }
            _ if latencies.count() == 0 => String::new(),
            Self::Raw { .. } => format!(
                "{name} count: {}, average latency(us): {:.2}",
                latencies.count(),
                latencies.mean_us().unwrap_or(0.0)
            ),
            _ => format!("[{name} AverageLatency(us)={mean}]"),
        }
    }
}

/// How many operations ended with which status.
fn returns<'a>(
    name: &'a str,
    statuses: &'a [(String, u64)],
) -> impl Iterator<Item = Line> + use<'a> {
    let line = move |(status, count): &(String, u64)| {
        Line::new(name, format!("Return={status}"), ExportValue::Whole(*count))
    };
    statuses.iter().map(line)
}

/// The bucket in which this percentage is reached; none, if that is behind the last one.
fn bucket_at(counts: &[u64], percent: f64) -> Option<u64> {
    let total: u64 = counts.iter().sum();
    let (_, distinct) = counts.split_last()?;
    let mut sum = 0;
    let reached = distinct.iter().position(|count| {
        sum += count;
        total > 0 && sum as f64 / total as f64 >= percent / 100.0
    });
    reached.map(|bucket| bucket as u64)
}

fn buckets(properties: &Properties) -> Result<Form, YcsbRefusal> {
    let count = properties.count("histogram.buckets")?.unwrap_or(BUCKETS);
    if count > BUCKETS_MAX {
        let text = format!("histogram.buckets={count}: at most {BUCKETS_MAX}");
        return Err(YcsbRefusal::usage(text).hint("a bucket is a millisecond"));
    }
    Ok(Form::Buckets {
        count,
        is_verbose: properties.bool("measurement.histogram.verbose") == Some(true),
    })
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
    use super::super::export::Exporter;
    use super::*;

    fn forms(text: &str) -> Result<JavaForms, YcsbRefusal> {
        let mut properties = Properties::default();
        properties.read(text);
        JavaForms::of(&properties)
    }

    fn printed(forms: &JavaForms, averages: &[(u64, f64)]) -> String {
        let mut latencies = Latencies::default();
        for latency_us in [100, 200, 300, 1000] {
            latencies.record(latency_us);
        }
        let statuses = [("NOT_FOUND".to_owned(), 2), ("OK".to_owned(), 4)];
        let printed = Printed {
            latencies: &latencies,
            statuses: &statuses,
            averages,
            points: &[],
        };
        Exporter::Text.text(&forms.lines("READ", &printed))
    }

    #[test]
    fn percentiles_come_before_statuses() {
        let forms = forms("hdrhistogram.percentiles=50,99.9").unwrap();
        assert_eq!(
            printed(&forms, &[]),
            "[READ], Operations, 4\n\
             [READ], AverageLatency(us), 400.0\n\
             [READ], MinLatency(us), 100\n\
             [READ], MaxLatency(us), 1000\n\
             [READ], 50thPercentileLatency(us), 200\n\
             [READ], 99.9PercentileLatency(us), 1000\n\
             [READ], Return=NOT_FOUND, 2\n\
             [READ], Return=OK, 4\n"
        );
    }

    #[test]
    fn buckets_are_milliseconds_and_a_percentile_behind_them_is_left_out() {
        let of = "measurementtype=histogram\nmeasurement.histogram.verbose=true\n";
        let text = |buckets| {
            let forms = forms(&format!("{of}histogram.buckets={buckets}")).unwrap();
            printed(&forms, &[])
        };
        assert_eq!(
            text(2),
            "[READ], Operations, 4\n\
             [READ], AverageLatency(us), 400.0\n\
             [READ], LatencyVariance(us), 125000.0\n\
             [READ], MinLatency(us), 100\n\
             [READ], MaxLatency(us), 1000\n\
             [READ], 95thPercentileLatency(us), 1000\n\
             [READ], 99thPercentileLatency(us), 1000\n\
             [READ], Return=NOT_FOUND, 2\n\
             [READ], Return=OK, 4\n\
             [READ], 0, 3\n\
             [READ], 1, 1\n\
             [READ], >2, 0\n"
        );
        assert!(!text(1).contains("Percentile"));
        assert!(text(1).ends_with("[READ], 0, 3\n[READ], >1, 1\n"));
    }

    #[test]
    fn a_series_has_averages_and_no_percentiles() {
        let forms = forms("measurementtype=timeseries\ntimeseries.granularity=2000").unwrap();
        assert_eq!(forms.granularity_ms, 2000);
        let text = printed(&forms, &[(0, 500.0), (2000, 300.5)]);
        assert!(!text.contains("Percentile"), "{text}");
        assert!(
            text.ends_with("Return=OK, 4\n[READ], 0, 500.0\n[READ], 2000, 300.5\n"),
            "{text}"
        );
    }

    #[test]
    fn status_parts_have_the_recorded_forms() {
        let mut latencies = Latencies::default();
        latencies.record(246);
        let status = |kind: &str| {
            let forms = forms(&format!("measurementtype={kind}")).unwrap();
            forms.status("READ", &latencies)
        };
        assert_eq!(status("timeseries"), "[READ AverageLatency(us)=246] ");
        let both = status("hdrhistogram+histogram");
        assert!(both.starts_with("[HdrREAD: Count=1, Max=246, "), "{both}");
        assert!(
            both.ends_with("99.99=246]\n[BucketREAD AverageLatency(us)=246] "),
            "{both}"
        );
        let none = forms("measurementtype=histogram").unwrap();
        assert_eq!(none.status("READ", &Latencies::default()), " ");
        let raw = "READ count: 1, average latency(us): 246.00 ";
        assert_eq!(status("raw"), raw);
        assert!(status("hdrhistogram+raw").ends_with(&format!("]\nRaw{raw}")));
    }

    #[test]
    fn what_cannot_be_had_is_named() {
        for (text, said) in [
            ("measurementtype=x", "unknown measurementtype=x"),
            (
                "measurementtype=timeseries\ntimeseries.granularity=0",
                "it is a number of milliseconds",
            ),
            (
                "measurementtype=histogram\nhistogram.buckets=1000001",
                "at most 1000000",
            ),
        ] {
            let refused = forms(text).unwrap_err().failure.to_string();
            assert!(refused.contains(said), "{refused}");
        }
    }

    #[test]
    fn percentiles_that_cannot_be_read_are_the_usual_ones() {
        assert_eq!(percentiles(Some("50, 99.99")), [50.0, 99.99]);
        for wrong in ["x", "101", "", "50;99"] {
            assert_eq!(percentiles(Some(wrong)), [50.0, 95.0, 99.0], "{wrong}");
        }
    }
}
