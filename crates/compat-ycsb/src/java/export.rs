//! YCSB's exporters: the same results as text, as JSON objects one after the other, or as one JSON
//! array. (Facts: recordings of its TextMeasurementsExporter, JSONMeasurementsExporter and
//! JSONArrayMeasurementsExporter.)

use super::numbers::double;
use crate::YcsbRefusal;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExportValue {
    /// A count, or a latency in whole microseconds.
    Whole(u64),
    Real(f64),
    /// A line that has no figure: -1.
    None,
}

/// One result: `[READ], Operations, 1000`.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub metric: String,
    pub measurement: String,
    pub value: ExportValue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exporter {
    Text,
    /// Objects with a space between them.
    Json,
    JsonArray,
}

impl Line {
    pub fn new(metric: &str, measurement: impl Into<String>, value: ExportValue) -> Self {
        Self {
            metric: metric.to_owned(),
            measurement: measurement.into(),
            value,
        }
    }
}

impl ExportValue {
    fn text(self) -> String {
        match self {
            Self::Whole(value) => value.to_string(),
            Self::Real(value) => double(value),
            Self::None => "-1".to_owned(),
        }
    }

    /// JSON has no word for what is no number: Java's writer puts it in quotes.
    fn json(self) -> String {
        match self {
            Self::Real(value) if !value.is_finite() => format!("\"{}\"", double(value)),
            value => value.text(),
        }
    }
}

impl Exporter {
    /// The one of this class; text, if none is named.
    ///
    /// # Errors
    /// There is no such exporter.
    pub fn named(class: Option<&str>) -> Result<Self, YcsbRefusal> {
        let Some(class) = class.map(str::trim) else {
            return Ok(Self::Text);
        };
        match class.rsplit('.').next().unwrap_or(class) {
            "TextMeasurementsExporter" => Ok(Self::Text),
            "JSONMeasurementsExporter" => Ok(Self::Json),
            "JSONArrayMeasurementsExporter" => Ok(Self::JsonArray),
            _ => Err(
                YcsbRefusal::usage(format!("exporter={class}: pgdyno has no such exporter")).hint(
                    "it is TextMeasurementsExporter, JSONMeasurementsExporter or \
                     JSONArrayMeasurementsExporter of site.ycsb.measurements.exporter",
                ),
            ),
        }
    }

    /// The results in this form.
    pub fn text(self, lines: &[Line]) -> String {
        let objects = |between: &str| {
            let objects: Vec<String> = lines.iter().map(object).collect();
            objects.join(between)
        };
        match self {
            Self::Text => lines
                .iter()
                .map(|line| {
                    let (metric, measurement) = (&line.metric, &line.measurement);
                    format!("[{metric}], {measurement}, {}\n", line.value.text())
                })
                .collect(),
            Self::Json => objects(" "),
            Self::JsonArray => format!("[ {} ]", objects(", ")),
        }
    }
}

/// Names have nothing in them that JSON would escape.
fn object(line: &Line) -> String {
    format!(
        "{{\n  \"metric\" : \"{}\",\n  \"measurement\" : \"{}\",\n  \"value\" : {}\n}}",
        line.metric,
        line.measurement,
        line.value.json()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As YCSB 0.18 wrote the first two results of a run.
    #[test]
    fn each_exporter_has_the_recorded_form() {
        let lines = [
            Line::new("OVERALL", "RunTime(ms)", ExportValue::Whole(1452)),
            Line::new(
                "OVERALL",
                "Throughput(ops/sec)",
                ExportValue::Real(688.7052341597796),
            ),
        ];
        assert_eq!(
            Exporter::Text.text(&lines),
            "[OVERALL], RunTime(ms), 1452\n[OVERALL], Throughput(ops/sec), 688.7052341597796\n"
        );
        let first = "{\n  \"metric\" : \"OVERALL\",\n  \"measurement\" : \"RunTime(ms)\",\n  \
                     \"value\" : 1452\n}";
        let second = "{\n  \"metric\" : \"OVERALL\",\n  \"measurement\" : \
                      \"Throughput(ops/sec)\",\n  \"value\" : 688.7052341597796\n}";
        assert_eq!(Exporter::Json.text(&lines), format!("{first} {second}"));
        assert_eq!(
            Exporter::JsonArray.text(&lines),
            format!("[ {first}, {second} ]")
        );
    }

    #[test]
    fn what_is_no_number_is_still_json() {
        let text = Exporter::Json.text(&[Line::new("X", "Y", ExportValue::Real(f64::NAN))]);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["value"], "NaN");
    }
}
