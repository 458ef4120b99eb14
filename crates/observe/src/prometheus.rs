//! The text that Prometheus endpoints answer with (exposition format 0.0.4, and of OpenMetrics what
//! goes beyond it): a sample a line, with the kind of its family. Whatever comes in is taken for
//! foreign text: a line that is not in the format is left out and counted.
//!
//! Not for: fetching it (`crates/database/src/http.rs`), which samples are wanted (`scrape.rs`).

use std::borrow::Cow;
use std::collections::HashMap;

/// Longer lines are left out: a sample has a name, labels and a number.
const LINE_BYTES_MAX: usize = 16 << 10;
/// A sample with more labels is left out.
const LABELS_MAX: usize = 64;

/// How to interpret a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// It grows; also the parts of histograms and summaries that do.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// Names and values of labels.
pub type Labels<'a> = Vec<(&'a str, Cow<'a, str>)>;

#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    pub name: &'a str,
    /// Names and values of its labels, in their order.
    pub labels: Labels<'a>,
    /// Its value; may be NaN or infinite.
    pub value: f64,
    pub kind: Type,
}

impl Sample<'_> {
    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        let mut labels = self.labels.iter();
        labels.find_map(|(known, value)| (*known == name).then_some(&**value))
    }
}

/// The samples of an answer, one after the other.
pub struct Samples<'a> {
    lines: std::str::Lines<'a>,
    kinds: HashMap<&'a str, Declared>,
    /// Lines that could not be read.
    pub bad_lines: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Declared {
    Counter,
    Gauge,
    Histogram,
    Summary,
    Untyped,
}

pub fn samples(text: &str) -> Samples<'_> {
    Samples {
        lines: text.lines(),
        kinds: HashMap::new(),
        bad_lines: 0,
    }
}

impl<'a> Iterator for Samples<'a> {
    type Item = Sample<'a>;

    fn next(&mut self) -> Option<Sample<'a>> {
        loop {
            let line = self.lines.next()?.trim();
            if let Some(comment) = line.strip_prefix('#') {
                self.comment(comment);
            } else if !line.is_empty() {
                match sample(line) {
                    Some((name, labels, value)) => {
                        return Some(Sample {
                            name,
                            labels,
                            value,
                            kind: self.kind(name),
                        });
                    }
                    None => self.bad_lines += 1,
                }
            }
        }
    }
}

impl<'a> Samples<'a> {
    fn comment(&mut self, comment: &'a str) {
        let mut words = comment.split_whitespace();
        if words.next() != Some("TYPE") {
            return;
        }
        let (Some(name), Some(kind)) = (words.next(), words.next()) else {
            return;
        };
        let declared = match kind {
            "counter" => Declared::Counter,
            "gauge" => Declared::Gauge,
            "histogram" => Declared::Histogram,
            "summary" => Declared::Summary,
            _ => Declared::Untyped,
        };
        self.kinds.insert(name, declared);
    }

    /// By what was declared of it or of its family, else by how the name ends, as the conventions
    /// of Prometheus have it.
    fn kind(&self, name: &str) -> Type {
        let of_family = |ends: &[&str]| {
            let mut families = ends.iter().filter_map(|end| name.strip_suffix(end));
            families.find_map(|family| self.kinds.get(family))
        };
        match self.kinds.get(name) {
            Some(Declared::Counter) => return Type::Counter,
            // The bare name of a summary is a quantile.
            Some(Declared::Gauge | Declared::Summary | Declared::Histogram) => return Type::Gauge,
            Some(Declared::Untyped) | None => {}
        }
        let ends = ["_bucket", "_sum", "_count"];
        // Another one's own name may look like a part of it.
        if let Some(Declared::Histogram | Declared::Summary) = of_family(&ends) {
            return Type::Counter;
        }
        // OpenMetrics declares the family without it.
        let is_counter = ["_total", "_bucket", "_sum", "_count"]
            .iter()
            .any(|end| name.ends_with(end));
        if is_counter {
            Type::Counter
        } else {
            Type::Gauge
        }
    }
}

type Parts<'a> = (&'a str, Labels<'a>, f64);

fn sample(line: &str) -> Option<Parts<'_>> {
    if line.len() > LINE_BYTES_MAX {
        return None;
    }
    let end = line
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))
        .unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let rest = rest.trim_start();
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    // A time and an exemplar may follow.
    let mut words = rest.split_whitespace();
    let value = number(words.next()?)?;
    match words.next() {
        None => {}
        Some(word) if word == "#" || number(word).is_some() => {}
        Some(_) => return None,
    }
    Some((name, labels, value))
}

fn labels(text: &str) -> Option<(Labels<'_>, &str)> {
    let mut labels = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        if labels.len() >= LABELS_MAX {
            return None;
        }
        let (name, after) = rest.split_once('=')?;
        let name = name.trim();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let (value, after) = quoted(after.trim_start())?;
        labels.push((name, value));
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if after.starts_with('}') => after,
            None => return None,
        };
    }
}

/// `"text"` and what follows; `\\`, `\"` and `\n` stand for what cannot be written.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let text = text.strip_prefix('"')?;
    let end = text.find(['"', '\\'])?;
    if text[end..].starts_with('"') {
        return Some((Cow::Borrowed(&text[..end]), &text[end + 1..]));
    }
    let mut value = text[..end].to_owned();
    let mut chars = text[end..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((Cow::Owned(value), &text[end + at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                c @ ('\\' | '"') => value.push(c),
                // As Prometheus reads it.
                other => value.extend(['\\', other]),
            },
            c => value.push(c),
        }
    }
    None
}

fn number(word: &str) -> Option<f64> {
    // Rust reads all that Go prints, and a few words more.
    word.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, usize) {
        let mut samples = samples(text);
        let reported = samples.by_ref().map(|s| {
            let labels: String = s
                .labels
                .iter()
                .map(|(n, v)| format!(" {n}={v:?}"))
                .collect();
            format!("{}{labels} {} {:?}", s.name, s.value, s.kind)
        });
        let reported: Vec<String> = reported.collect();
        (reported, samples.bad_lines)
    }

    #[test]
    fn samples_are_read_with_their_labels_and_kinds() {
        let text = "\
# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000
http_requests_total { method = \"post\" , code=\"400\", } 3 # {trace=\"x\"} 1 2
# A comment
msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find\\nfile: \\\"F\\\" \\x\"} 1.458255915e9
metric_without_timestamp_and_labels 12.47
something_weird{problem=\"division by zero\"} +Inf -3982045
# TYPE rpc summary
rpc{quantile=\"0.01\"} 3102
rpc_sum 1.7560473e+07
# TYPE h histogram
h_bucket{le=\"+Inf\"} 144320
h_count 144320
# TYPE rows_count gauge
rows_count 7
# TYPE opened counter
opened_total 5
untyped_bytes NaN
untyped_total 4
# EOF";
        let expected = [
            r#"http_requests_total method="post" code="200" 1027 Counter"#,
            r#"http_requests_total method="post" code="400" 3 Counter"#,
            r#"msdos_file_access_time_seconds path="C:\\DIR\\FILE.TXT" error="Cannot find\nfile: \"F\" \\x" 1458255915 Gauge"#,
            "metric_without_timestamp_and_labels 12.47 Gauge",
            r#"something_weird problem="division by zero" inf Gauge"#,
            r#"rpc quantile="0.01" 3102 Gauge"#,
            "rpc_sum 17560473 Counter",
            r#"h_bucket le="+Inf" 144320 Counter"#,
            "h_count 144320 Counter",
            "rows_count 7 Gauge",
            "opened_total 5 Counter",
            "untyped_bytes NaN Gauge",
            "untyped_total 4 Counter",
        ];
        let (reported, bad) = read(text);
        assert_eq!(reported, expected);
        assert_eq!(bad, 0);
    }

    #[test]
    fn lines_that_are_no_samples_are_counted_and_the_others_read() {
        let long = format!("a{{b=\"{}\"}} 1", "x".repeat(LINE_BYTES_MAX));
        let many = format!("a{{{}}} 1", "b=\"1\",".repeat(LABELS_MAX + 1));
        let text = format!(
            "a 1\n9a 1\na\na{{ 1\na{{b}} 1\na{{b=1}} 1\na{{b=\"1}} 1\na{{b=\"1\\\na{{b=\"1\"c=\"2\"}} 1\n\
             a{{b=\"1\"}}\na one\na 1 then\n{{b=\"1\"}} 1\n<html>\n\u{1f600} 1\na{{\u{e9}=\"1\"}} 1\n\
             {long}\n{many}\n# TYPE\n# TYPE a\n#\nb 2\n"
        );
        let (reported, bad) = read(&text);
        assert_eq!(reported, ["a 1 Gauge", "b 2 Gauge"]);
        assert_eq!(bad, 17);
    }

    #[test]
    fn no_bytes_whatever_break_it() {
        // A small generator: every run the same bytes.
        let mut state = 0x2545_f491_4f6c_dd1du64;
        let alphabet: Vec<char> = "ab_{}=\",\\\n #9.+e\u{e9}\u{1f600} TYPE".chars().collect();
        for _ in 0..2000 {
            let text: String = (0..60)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    alphabet[(state % alphabet.len() as u64) as usize]
                })
                .collect();
            let (reported, bad) = read(&text);
            assert!(reported.len() + bad <= text.lines().count());
        }
    }
}
