//! The dashboard of running trials on a real Prometheus, Debian's package, that scrapes a real run.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pgdyno_testkit::debian;
use serde_json::Value;

use super::board::Board;
use super::metrics::{free_address, get};
use super::{EVENTFUL_OPTIONS, eventful};
use crate::child::Running;
use crate::support::pgdyno;

/// How long the trial runs: some scrapes, and windows of rates.
const TRIAL_S: u64 = 40;
const INTERVAL: &str = "10s";
/// Connections that ask nothing, all the while.
const STUCK: usize = 200;

/// A series that is observed and may be 0 all the time: these transactions read little, and that is cached.
const MAY_BE_ZERO: &str = "pg.blocks.read";

/// A Prometheus with its data in a folder; it ends with this.
struct Prometheus {
    child: Child,
    at: String,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    /// Scrapes this address each second.
    fn start(folder: &Path, target: &str) -> Prometheus {
        let config = folder.join("prometheus.yml");
        let text = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n\
             scrape_configs: [{{job_name: pgdyno, static_configs: [{{targets: ['{target}']}}]}}]\n"
        );
        std::fs::write(&config, text).unwrap();
        let at = free_address();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.join("data").display()
            ))
            .arg(format!("--web.listen-address={at}"))
            .arg("--log.level=error")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let is_ready = || get(&at, "/-/ready", "").is_some_and(|said| said.contains("Ready"));
        while !is_ready() {
            assert!(began.elapsed() < Duration::from_secs(60), "no Prometheus");
            std::thread::sleep(Duration::from_millis(100));
        }
        Prometheus { child, at }
    }

    /// What an expression gives, over the time or at its end: values of all series.
    fn ask(&self, expr: &str, (begin_s, end_s): (f64, f64), is_instant: bool) -> Vec<f64> {
        let expr: String = expr.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = if is_instant {
            format!("/api/v1/query?query={expr}&time={end_s}")
        } else {
            format!("/api/v1/query_range?query={expr}&start={begin_s}&end={end_s}&step=1")
        };
        let text = get(&self.at, &path, "").unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["status"], "success", "{answer}");
        let series = answer["data"]["result"].as_array().unwrap();
        let samples = series.iter().flat_map(|one| {
            let many = one["values"].as_array().cloned().unwrap_or_default();
            many.into_iter().chain([one["value"].clone()])
        });
        let values = samples.filter_map(|sample| sample[1].as_str()?.parse().ok());
        values.collect()
    }
}

fn now_s() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs_f64()
}

/// As Grafana does for a dashboard on which all is chosen.
fn replaced(board: &Board, expr: &str) -> String {
    let mut text = expr.replace("$__rate_interval", INTERVAL);
    for (name, _, chosen) in board.variables() {
        let value = if chosen.iter().any(|value| value == "$__all") {
            ".*".to_owned()
        } else {
            // A regular expression, as Grafana escapes it.
            format!("({})", chosen.join("|").replace('.', "\\\\."))
        };
        text = text.replace(&format!("${name}"), &value);
    }
    assert!(!text.contains('$'), "Grafana replaces nothing here: {text}");
    text
}

#[test]
#[ignore = "needs Debian's prometheus and a minute: make test-long PART=wired"]
fn every_query_finds_samples_in_a_prometheus_that_scrapes_a_run() {
    let name = "every_query_finds_samples_in_a_prometheus_that_scrapes_a_run";
    if let Err(why) = debian(&["prometheus", "promtool"], &["prometheus"]) {
        pgdyno_testkit::skip!(name, why);
    }
    let folder = tempfile::tempdir().unwrap();
    let metrics = free_address();
    let prometheus = Prometheus::start(folder.path(), &metrics);
    let script = eventful(folder.path());
    let bindir = pgdyno_testkit::installation().bindir.display().to_string();
    let duration = format!("-T{TRIAL_S}");
    let listen = format!("--metrics-listen={metrics}");
    let run = [
        "run",
        &script,
        &duration,
        "-R400",
        "--no-store",
        "--json",
        &listen,
    ];
    let private = ["--pg-standby=async", "--pg-bindir", &bindir];
    let run = Running::start(&mut pgdyno(
        &[&run[..], &private, &EVENTFUL_OPTIONS].concat(),
    ));
    let began = Instant::now();
    while !get(&metrics, "/metrics", "").is_some_and(|text| text.contains("pgdyno_clients 8")) {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "it does not run"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    let begin_s = now_s();
    // They hold their places as long as they are let.
    let mut stuck: Vec<TcpStream> = Vec::new();
    let mut last = String::new();
    while now_s() < begin_s + TRIAL_S as f64 - 3.0 {
        stuck = (0..STUCK)
            .filter_map(|_| TcpStream::connect(&metrics).ok())
            .collect();
        last = get(&metrics, "/metrics", "").unwrap_or(last);
        std::thread::sleep(Duration::from_millis(500));
    }
    drop(stuck);
    let time = (begin_s + 12.0, now_s());
    let board = Board::shipped("pgdyno-metrics");
    let mut without = Vec::new();
    for query in board.queries() {
        let found = prometheus.ask(&replaced(&board, &query.text), time, query.is_instant);
        println!("{}: {} values", query.panel, found.len());
        let may_be_zero = query.text.contains(MAY_BE_ZERO);
        let is_shown = |value: &f64| value.is_finite() && (may_be_zero || *value > 0.0);
        if !found.iter().any(is_shown) {
            without.push(format!("{}: {found:?} from {}", query.panel, query.text));
        }
    }
    // Before the run listened there was no answer.
    let scrapes = format!("min_over_time(up[{}s])", (time.1 - time.0).floor());
    let up = prometheus.ask(&scrapes, time, true);
    let median_s = "histogram_quantile(0.5, sum by (le) (pgdyno_service_seconds_bucket))";
    let median_s = prometheus.ask(median_s, time, true);
    let ran = run.ended().expect(0, &[]);
    assert!(without.is_empty(), "no samples: {without:#?}");
    assert_eq!(up, [1.0], "a scrape failed beside {STUCK} stuck ones");

    // What Prometheus makes of the buckets is what the run has measured.
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let exact_s = document["measured"]["service"]["p50_us"].as_f64().unwrap() / 1e6;
    println!("median: {median_s:?} s, exactly {exact_s} s");
    let share = median_s[0] / exact_s;
    // A bucket, and the last seconds of the run, which were not scraped.
    assert!((0.7..1.4).contains(&share), "{share}");

    // Prometheus itself has read OpenMetrics. Its tool has no complaint of the text format, names and units.
    let file = folder.path().join("metrics.txt");
    std::fs::write(&file, &last).unwrap();
    let checked = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(std::fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "promtool: {said}");
}
