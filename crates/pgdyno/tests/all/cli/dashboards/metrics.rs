//! The dashboard of running trials: the metrics, labels and series that its queries name are there, in a
//! scrape of a real run.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use pgdyno_platform::child::Signal;

use super::board::Board;
use super::{EVENTFUL_OPTIONS, eventful};
use crate::child::Running;
use crate::support::{Database, pgdyno};

/// What a Prometheus adds by itself.
const OF_PROMETHEUS: [&str; 2] = ["instance", "job"];

/// Names of metrics and labels.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    metrics: BTreeSet<String>,
    labels: BTreeSet<String>,
}

impl Names {
    /// Of what `/metrics` answers. Families that have no sample yet count.
    fn scraped(text: &str) -> Names {
        let mut names = Names::default();
        for line in text.lines() {
            if let Some(declared) = line.strip_prefix("# TYPE ") {
                let (name, kind) = declared.split_once(' ').unwrap();
                let ends: &[&str] = match kind {
                    "histogram" => &["_bucket", "_sum", "_count"],
                    _ => &[""],
                };
                let ends = ends.iter().map(|end| format!("{name}{end}"));
                names.metrics.extend(ends);
            } else if let Some((_, labels)) = line.split_once('{') {
                let parts = labels.split('"').step_by(2);
                let of_labels =
                    parts.filter_map(|part| part.trim_start_matches(',').strip_suffix('='));
                names.labels.extend(of_labels.map(str::to_owned));
            }
        }
        names
    }

    /// Of an expression: all names of pgdyno's metrics, and labels in braces and after `by`.
    pub fn queried(expr: &str) -> Names {
        let mut names = Names::default();
        // Strings are at odd places.
        let (mut is_in_braces, mut is_list) = (false, false);
        for part in expr.split('"').step_by(2) {
            let mut words = part.char_indices().peekable();
            let mut last_word = String::new();
            while let Some((at, c)) = words.next() {
                match c {
                    '{' => is_in_braces = true,
                    '}' => is_in_braces = false,
                    '(' => is_list = last_word == "by",
                    ')' => is_list = false,
                    c if c.is_ascii_alphabetic() || c == '_' => {
                        let rest = &part[at..];
                        let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                        let length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
                        while words.peek().is_some_and(|(next, _)| *next < at + length) {
                            words.next();
                        }
                        last_word = rest[..length].to_owned();
                        if is_in_braces || is_list {
                            names.labels.insert(last_word.clone());
                        } else if last_word.starts_with("pgdyno_") {
                            names.metrics.insert(last_word.clone());
                        }
                    }
                    _ => {}
                }
            }
        }
        names
    }

    /// What is queried and not scraped.
    fn missing<'a>(&'a self, queried: &'a Names) -> Vec<&'a str> {
        let metrics = queried.metrics.difference(&self.metrics);
        let labels = queried.labels.difference(&self.labels);
        let labels = labels.filter(|label| !OF_PROMETHEUS.contains(&label.as_str()));
        metrics.chain(labels).map(String::as_str).collect()
    }
}

/// A question to a server, and what it answers after the head; `None` when there is no answer.
pub fn get(at: &str, path: &str, headers: &str) -> Option<String> {
    let mut server = TcpStream::connect(at).ok()?;
    let question = format!("GET {path} HTTP/1.0\r\nHost: {at}\r\n{headers}\r\n");
    server.write_all(question.as_bytes()).ok()?;
    let mut answer = String::new();
    server.read_to_string(&mut answer).ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some(body.to_owned())
}

/// An address that was free a moment ago; who then listens there says so if it is not any more.
pub fn free_address() -> String {
    let [port] = pgdyno_testkit::free_ports();
    format!("127.0.0.1:{port}")
}

/// What a run serves when the first second has been booked and instruments have read something; nothing if it
/// ends before.
fn first_metrics(run: &mut Running, at: &str) -> Option<String> {
    let began = Instant::now();
    while !run.is_over() {
        let text = get(at, "/metrics", "").unwrap_or_default();
        if text.contains("pgdyno_response_seconds_bucket") && text.contains("series=\"pg.waits\"") {
            return Some(text);
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{text}");
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

#[test]
fn the_dashboard_names_only_metrics_that_a_run_exports() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::new("dashboard_metrics");
    let script = eventful(folder.path());
    let text = loop {
        let at = free_address();
        let listen = format!("--metrics-listen={at}");
        let run = ["run", &script, "-T60", "-R200", "--no-store", &listen];
        let run = [&run[..], &["--url", &db.url], &EVENTFUL_OPTIONS].concat();
        let mut run = Running::start(&mut pgdyno(&run));
        if let Some(text) = first_metrics(&mut run, &at) {
            run.signal(Signal::Interrupt);
            run.ended().expect(130, &[]);
            break text;
        }
        // Another process has the address by now: once more.
        run.ended().expect(1, &["cannot listen at"]);
    };
    let scraped = Names::scraped(&text);
    for query in Board::shipped("pgdyno-metrics").queries() {
        let queried = Names::queried(&query.text);
        assert!(!queried.metrics.is_empty(), "{query:?}");
        let missing = scraped.missing(&queried);
        assert!(missing.is_empty(), "{}: {missing:?}", query.panel);
    }
    // One that is not exported is found, and so is a label.
    let wrong = "sum by (scripts) (rate(pgdyno_retry_total{script=\"pgdyno_x\"}[1m]))";
    let queried = Names::queried(wrong);
    assert_eq!(scraped.missing(&queried), ["pgdyno_retry_total", "scripts"]);
}

#[test]
fn the_dashboard_names_only_series_that_instruments_have() {
    let catalog = include_str!("../../../../../../docs/instruments.md");
    let known = |name: &str| catalog.contains(&format!("\n| `{name}` |"));
    let board = Board::shipped("pgdyno-metrics");
    let queries = board.queries();
    let named = queries.iter().flat_map(|query| {
        let parts = query.text.split("series=\"").skip(1);
        parts.map(|part| part.split('"').next().unwrap().to_owned())
    });
    let chosen = board.variables().into_iter().flat_map(|(name, _, chosen)| {
        let is_series = name == "series";
        chosen.into_iter().filter(move |_| is_series)
    });
    let named: Vec<String> = named.chain(chosen).collect();
    assert!(named.len() > 5, "{named:?}");
    for name in named {
        assert!(known(&name), "{name} is in no row of docs/instruments.md");
    }
    assert!(!known("pg.no_such_series"));
}

#[test]
fn names_are_found_wherever_an_expression_has_them() {
    let expr = "histogram_quantile(0.9, sum by (le, script) (rate(pgdyno_a_bucket{job=~\"pgdyno_b{\",le!=\"1\"}[5s])))\
                and sum(pgdyno_c_count) * 0.1 >= 10";
    let names = Names::queried(expr);
    let text = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(text(&names.metrics), "pgdyno_a_bucket pgdyno_c_count");
    assert_eq!(text(&names.labels), "job le script");
    let scrape = "# TYPE pgdyno_a histogram\npgdyno_a_bucket{job=\"x,y={\",le=\"1.0\"} 1\n# TYPE pgdyno_c gauge\n";
    let scraped = Names::scraped(scrape);
    assert_eq!(
        text(&scraped.metrics),
        "pgdyno_a_bucket pgdyno_a_count pgdyno_a_sum pgdyno_c"
    );
    assert_eq!(text(&scraped.labels), "job le");
    assert_eq!(scraped.missing(&names), ["pgdyno_c_count", "script"]);
}
