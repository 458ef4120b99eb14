//! The two text formats in which metrics are exported: Prometheus' text format 0.0.4 and OpenMetrics
//! 1.0.0. A page is written once; what the formats write differently is decided here.
//!
//! Not for: which metrics there are (`prometheus_export.rs`), reading others' (`prometheus.rs`).

use std::fmt::Write as _;

use pgdyno_spec::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    OpenMetrics,
}

impl Format {
    /// What the header `Content-Type` says of it.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The format that a request's header `Accept` prefers: OpenMetrics only where it is named, and no
    /// less wanted than the text format.
    pub fn accepted(accept: &str) -> Self {
        let (mut text, mut open_metrics) = (0.0_f64, 0.0_f64);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default().to_ascii_lowercase();
            let parameters: Vec<(&str, &str)> = parts.filter_map(|p| p.split_once('=')).collect();
            let parameter = |name: &str| {
                let mut all = parameters.iter();
                all.find_map(|(known, value)| {
                    let value = value.trim().trim_matches('"');
                    known.trim().eq_ignore_ascii_case(name).then_some(value)
                })
            };
            let version = parameter("version");
            let quality = parameter("q").map_or(Some(1.0), |q| q.parse::<f64>().ok());
            // What cannot be read is not wanted.
            let quality = quality.filter(|q| (0.0..=1.0).contains(q)).unwrap_or(0.0);
            match (&*media, version) {
                ("application/openmetrics-text", None | Some("1.0.0")) => {
                    open_metrics = open_metrics.max(quality);
                }
                ("text/plain", None | Some("0.0.4")) => text = text.max(quality),
                _ => {}
            }
        }
        if open_metrics > 0.0 && open_metrics >= text {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }
}

/// What a family of metrics is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows; its samples end in `_total`.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Cumulative buckets with their sum and count.
    Histogram,
}

/// The text as it grows.
#[derive(Debug)]
pub struct Exposition {
    format: Format,
    text: String,
}

impl Exposition {
    pub fn new(format: Format) -> Self {
        Self {
            format,
            text: String::new(),
        }
    }

    /// Begins a family; its samples follow. `name` is the samples', a counter's with `_total`.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let word = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let family = match self.format {
            Format::Text => name,
            Format::OpenMetrics => name.strip_suffix("_total").unwrap_or(name),
        };
        // Writing to memory does not fail.
        let _ = write!(
            self.text,
            "# HELP {family} {help}\n# TYPE {family} {word}\n"
        );
        if self.format == Format::OpenMetrics && family.ends_with("_seconds") {
            let _ = writeln!(self.text, "# UNIT {family} seconds");
        }
    }

    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text += name;
        for (index, (name, value)) in labels.iter().enumerate() {
            self.text.push(if index == 0 { '{' } else { ',' });
            let _ = write!(self.text, "{name}=\"{}\"", escaped(value));
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    pub fn end(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text += "# EOF\n";
        }
        self.text
    }
}

fn escaped(value: &str) -> String {
    text::shown(value)
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_metrics_is_for_those_that_ask_for_it() {
        use Format::{OpenMetrics, Text};
        // Prometheus 2.42, 2.54 and 3.0, curl, a browser.
        let prometheus_2 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
            version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let prometheus_3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
            application/openmetrics-text;version=0.0.1;q=0.5,\
            text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for (accept, format) in [
            (prometheus_2, OpenMetrics),
            (prometheus_3, OpenMetrics),
            (
                "application/openmetrics-text; version=\"1.0.0\"",
                OpenMetrics,
            ),
            ("Application/OpenMetrics-Text", OpenMetrics),
            ("", Text),
            ("*/*", Text),
            (browser, Text),
            ("text/plain;version=0.0.4", Text),
            ("application/openmetrics-text;version=0.0.1", Text),
            ("application/openmetrics-text;q=0", Text),
            ("application/openmetrics-text;q=x", Text),
            ("application/openmetrics-text;q=0.2,text/plain;q=0.3", Text),
            (";;=,,q=1;", Text),
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }

    #[test]
    fn the_formats_differ_in_names_of_counters_units_and_the_end() {
        let written = |format| {
            let mut page = Exposition::new(format);
            page.family("a_seconds_total", Kind::Counter, "Help.");
            page.sample("a_seconds_total", &[("b", "x\"\\\n")], 1.5);
            page.end()
        };
        assert_eq!(
            written(Format::Text),
            "# HELP a_seconds_total Help.\n# TYPE a_seconds_total counter\n\
             a_seconds_total{b=\"x\\\"\\\\\\n\"} 1.5\n"
        );
        assert_eq!(
            written(Format::OpenMetrics),
            "# HELP a_seconds Help.\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n\
             a_seconds_total{b=\"x\\\"\\\\\\n\"} 1.5\n# EOF\n"
        );
    }
}
