//! A report's page: its figures beside the histograms and columns that it draws. What a page does not draw cannot
//! be computed from it.

use std::fs;
use std::path::Path;

use pgdyno_report::page::{BEGIN, END};
use pgdyno_spec::{Exit, Failure};
use pgdyno_stats::{Bootstrap, Sample};
use serde_json::Value;

use super::arithmetic::{self, whole};
use super::checker::Checker;
use super::rows::close;
use super::{Kind, Of};
use crate::bundle::sha256;

/// A percentile is shown where so many values lie beyond it.
const BEYOND_MIN: f64 = 10.0;
const PERCENTILES: [(&str, f64); 5] = [
    ("p50_us", 0.5),
    ("p90_us", 0.9),
    ("p95_us", 0.95),
    ("p99_us", 0.99),
    ("p99_9_us", 0.999),
];
/// Columns of the timeline that are counts of transactions.
const COUNTS: [&str; 6] = [
    "committed",
    "failed",
    "skipped",
    "unknown",
    "late",
    "retries",
];

/// Whether a file begins as a page does.
pub fn is_one(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = fs::File::open(path).and_then(|file| {
        use std::io::Read;
        file.take(64).read_to_end(&mut begin)
    });
    let begin = String::from_utf8_lossy(&begin).to_ascii_lowercase();
    read.is_ok() && begin.trim_start().starts_with("<!doctype html")
}

pub fn verify(checker: &mut Checker, path: &Path) -> Result<Of, Failure> {
    let place = path.display();
    let no_report = |why: &str| {
        Failure::with(
            Exit::Usage,
            format!("{place} is not a report of pgdyno: {why}"),
        )
        .hint("pgdyno report writes one; of other files pgdyno verify reads bundles and notebooks")
    };
    let page = fs::read_to_string(path)
        .map_err(|e| Failure::with(Exit::Usage, format!("cannot read {place}: {e}")))?;
    let data = page
        .split_once(BEGIN)
        .and_then(|(_, rest)| rest.split_once(END));
    let (data, _) = data.ok_or_else(|| no_report("it has no data"))?;
    let data: Value =
        serde_json::from_str(data).map_err(|e| no_report(&format!("its data is no JSON: {e}")))?;
    let trials = match data["kind"].as_str() {
        Some("trial") => {
            of_trial(checker, &data);
            1
        }
        Some("experiment") => of_experiment(checker, &data),
        Some("compare") => of_comparison(checker, &data),
        kind => {
            return Err(no_report(&format!(
                "it shows {kind:?}, which this pgdyno does not know"
            )));
        }
    };
    checker.not(
        "figures that the page does not draw the histograms or counts of",
        "connections, statements' percentiles, intervals, budget, verdict, instruments: a bundle has what they \
         follow from",
    );
    let made_by = data["pgdyno"].as_str().map(str::to_owned);
    Ok((Kind::Page, made_by, sha256(page.as_bytes()), trials))
}

fn of_trial(checker: &mut Checker, page: &Value) {
    let run = &page["run"];
    let stored = &run["stored"];
    let uuid = stored["uuid"].as_str().unwrap_or_default();
    let name = format!("{} ({})", stored["number"], uuid.get(..8).unwrap_or(uuid));
    checker.of(Some(name), "page");
    arithmetic::of_trial(checker, run);
    let measured = &run["measured"];
    for kind in ["service", "response", "attempt"] {
        let histogram = &page["histograms"][kind];
        if !histogram.is_null() && !measured[kind].is_null() {
            of_histogram(
                checker,
                &format!("measured.{kind}"),
                &measured[kind],
                histogram,
            );
        }
    }
    timeline(checker, &page["timeline"], run, &page["histograms"]);
}

/// The figures of latencies beside their histogram.
fn of_histogram(checker: &mut Checker, what: &str, shown: &Value, histogram: &Value) {
    let values = numbers(&histogram["value_us"]);
    let counts = numbers(&histogram["count"]);
    let count: u64 = counts.iter().sum();
    checker.equal(format!("{what}.count"), whole(&shown["count"]), count);
    let max_us = whole(&histogram["max_us"]);
    checker.equal(format!("{what}.max_us"), whole(&shown["max_us"]), max_us);
    for (name, share) in PERCENTILES {
        // One that few independent transactions show is left out of the page.
        let Some(shown) = shown[name].as_u64() else {
            continue;
        };
        let beyond = count as f64 * (1.0 - share);
        checker.holds(
            beyond + 1e-6 >= BEYOND_MIN,
            format!("{what}.{name}"),
            shown,
            "nothing: fewer than ten values lie beyond it",
        );
        let wanted = (share * count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let mut reached = values.iter().zip(&counts).filter_map(|(value, count)| {
            seen += count;
            (seen >= wanted).then_some(*value)
        });
        let found = reached.next().unwrap_or(0).min(max_us);
        checker.equal(format!("{what}.{name}"), shown, found);
    }
    if let Some(mean) = shown["mean_us"].as_f64() {
        let sum: f64 = values
            .iter()
            .zip(&counts)
            .map(|(value, count)| *value as f64 * *count as f64)
            .sum();
        let high = sum / count.max(1) as f64;
        // A bucket's values are a thousandth apart, and less than a microsecond is one.
        let low = high * (1.0 - 1.5e-3) - 1.0;
        checker.figure(
            format!("{what}.mean_us"),
            mean,
            format!("{low:.3} to {high:.3} by the histogram"),
            low <= mean && mean <= high + 1e-6,
        );
    }
}

/// The columns of seconds beside the totals.
fn timeline(checker: &mut Checker, timeline: &Value, run: &Value, histograms: &Value) {
    let committed = numbers(&timeline["committed"]);
    let warmup = timeline["warmup"]
        .as_array()
        .map(|_| numbers(&timeline["warmup"]));
    let is_warmup = |at: usize| {
        warmup
            .as_ref()
            .is_some_and(|warmup| warmup.get(at) == Some(&1))
    };
    let sum = |column: &[u64], of_warmup: bool| -> u64 {
        let those = column
            .iter()
            .enumerate()
            .filter(|(at, _)| is_warmup(*at) == of_warmup);
        those.map(|(_, number)| number).sum()
    };
    for (of_warmup, name) in [(false, "measured"), (true, "warmup")] {
        if run[name].is_null() {
            continue;
        }
        for key in COUNTS {
            let found = sum(&numbers(&timeline[key]), of_warmup);
            checker.equal(
                format!("{name}.{key}, the sum of the seconds"),
                whole(&run[name][key]),
                found,
            );
        }
        let length_us = sum(&numbers(&timeline["length_us"]), of_warmup);
        let what = format!("{name}.elapsed_us, the sum of the seconds");
        checker.equal(what, whole(&run[name]["elapsed_us"]), length_us);
    }
    let buckets = numbers(&timeline["buckets_us"]);
    let is_fine = timeline["resolution"]
        .as_f64()
        .is_some_and(|resolution| resolution <= 0.001);
    for kind in ["service", "response"] {
        let Some(seconds) = timeline[kind].as_array() else {
            continue;
        };
        let mut all = std::collections::BTreeMap::<u64, u64>::new();
        for (at, second) in seconds.iter().enumerate() {
            let pairs = numbers(second);
            let mut place = 0;
            let mut count = 0;
            for pair in pairs.chunks_exact(2) {
                place += pair[0] as usize;
                count += pair[1];
                if let Some(bucket) = buckets.get(place).filter(|_| !is_warmup(at)) {
                    *all.entry(*bucket).or_default() += pair[1];
                }
            }
            let what = format!("second {at}: {kind} times in its histogram");
            checker.equal(what, count, committed.get(at).copied().unwrap_or(0));
        }
        let histogram = &histograms[kind];
        if is_fine && !histogram.is_null() {
            let whole: Vec<(u64, u64)> = numbers(&histogram["value_us"])
                .into_iter()
                .zip(numbers(&histogram["count"]))
                .collect();
            let agrees = whole.iter().copied().eq(all);
            checker.figure(
                format!("histogram of {kind} times"),
                "another",
                "that of the seconds together",
                agrees,
            );
        }
    }
}

fn of_experiment(checker: &mut Checker, page: &Value) -> usize {
    let trials = list(&page["trials"]);
    let pages = list(&page["pages"]);
    for trial in pages {
        of_trial(checker, trial);
    }
    for trial in trials {
        let uuid = trial["uuid"].as_str().unwrap_or_default();
        let Some(own) = pages
            .iter()
            .find(|page| page["run"]["stored"]["uuid"] == uuid)
        else {
            continue;
        };
        let name = format!("{} ({})", trial["trial"], uuid.get(..8).unwrap_or(uuid));
        checker.of(Some(name), "page, list of trials");
        let measured = &own["run"]["measured"];
        if let Some(goodput) = trial["goodput_per_s"].as_f64() {
            let found = measured["goodput_per_s"].as_f64().unwrap_or(f64::NAN);
            checker.figure("goodput_per_s", goodput, found, close(goodput, found));
        }
    }
    for point in list(&page["points"]) {
        let title = point["title"].as_str().unwrap_or_default();
        checker.of(None, format!("page, point {title}"));
        let figures = point["figures"].as_object();
        for (name, figure) in figures.into_iter().flatten() {
            spread(checker, name, &figure["over_repeats"]);
        }
        let values = list(&point["figures"]["goodput"]["over_repeats"]["values"]);
        for (repeat, value) in list(&point["trials"]).iter().zip(values) {
            let found = trials
                .iter()
                .find(|trial| trial["trial"] == repeat["trial"]);
            let found = found.and_then(|trial| trial["goodput_per_s"].as_f64());
            if let (Some(value), Some(found)) = (value.as_f64(), found) {
                checker.figure(
                    format!("goodput of trial {}", repeat["trial"]),
                    value,
                    found,
                    close(value, found),
                );
            }
        }
    }
    trials.len()
}

/// The median and range of repeats, and its interval.
fn spread(checker: &mut Checker, name: &str, shown: &Value) {
    let values: Vec<f64> = list(&shown["values"])
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    let Ok(sample) = Sample::new(&values) else {
        return;
    };
    let found = sample.summary(&Bootstrap::default());
    let mut figure = |what: &str, found: f64, value: &Value| {
        let shown = value.as_f64().unwrap_or(f64::NAN);
        checker.figure(
            format!("{what} of {name}"),
            shown,
            found,
            close(shown, found),
        );
    };
    figure("median", found.median, &shown["median"]);
    figure("minimum", found.min, &shown["min"]);
    figure("maximum", found.max, &shown["max"]);
    if let (Some(found), Some([low, high])) = (
        found.interval,
        shown["interval"].as_array().map(Vec::as_slice),
    ) {
        figure("lower bound of the interval", found.low, low);
        figure("upper bound of the interval", found.high, high);
    }
}

fn of_comparison(checker: &mut Checker, page: &Value) -> usize {
    let mut trials = 0;
    for pair in list(&page["pairs"]) {
        let title = pair["point"].as_str().unwrap_or_default().to_owned();
        trials += list(&pair["a"]["trials"]).len() + list(&pair["b"]["trials"]).len();
        for difference in list(&pair["differences"]) {
            let name = difference["name"].as_str().unwrap_or_default();
            for side in ["a", "b"] {
                checker.of(
                    None,
                    format!("page, point {title}, {}", side.to_uppercase()),
                );
                spread(checker, name, &difference[side]);
            }
            let medians = (
                difference["a"]["median"].as_f64(),
                difference["b"]["median"].as_f64(),
            );
            let shown = difference["change_of_medians"].as_f64();
            if let ((Some(a), Some(b)), Some(shown)) = (medians, shown) {
                checker.of(None, format!("page, point {title}"));
                let found = b / a - 1.0;
                let agrees = close(shown, found) || (shown - found).abs() < 1e-12;
                checker.figure(format!("change of medians of {name}"), shown, found, agrees);
            }
        }
    }
    checker.not(
        "verdicts of a comparison's page",
        "they follow from when trials began, too: pgdyno compare on the notebook computes them",
    );
    trials
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn numbers(value: &Value) -> Vec<u64> {
    list(value).iter().map(whole).collect()
}
