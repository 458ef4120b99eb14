//! What a trial's document must keep by itself: sums of scripts and seconds, rates, the order of percentiles.
//! For pages too, whose notebook is not there.

use std::fmt::Display;

use serde_json::Value;

use super::checker::Checker;
use super::rows::close;

const COUNTS: [&str; 7] = [
    "committed",
    "failed",
    "skipped",
    "unknown",
    "late",
    "retries",
    "retried",
];
const WORK: [&str; 9] = [
    "kept_us",
    "kept_statements",
    "lost_tries",
    "lost_us",
    "lost_statements",
    "backoff_us",
    "given_up",
    "cut_off",
    "server_retries",
];
/// From the shortest to the longest.
const PERCENTILES: [&str; 6] = ["p50_us", "p90_us", "p95_us", "p99_us", "p99_9_us", "max_us"];

/// A trial's document: `measured`, `warmup`, and where they are there `seconds`.
pub fn of_trial(checker: &mut Checker, document: &Value) {
    phase(checker, "measured", &document["measured"]);
    phase(checker, "warmup", &document["warmup"]);
    let Some(seconds) = document["seconds"].as_array() else {
        return;
    };
    let of = |name: &str, is_warmup: bool, of_scripts: &dyn Fn(&Value) -> u64| -> (String, u64) {
        let those = seconds
            .iter()
            .filter(|second| second["warmup"] == is_warmup);
        let scripts = those.flat_map(|second| second["scripts"].as_array().into_iter().flatten());
        (name.to_owned(), scripts.map(of_scripts).sum())
    };
    for (is_warmup, name) in [(false, "measured"), (true, "warmup")] {
        let all = &document[name];
        if all.is_null() {
            continue;
        }
        for key in COUNTS {
            let (_, sum) = of(key, is_warmup, &|script| whole(&script[key]));
            checker.equal(
                format!("{name}.{key}, the sum of its seconds"),
                whole(&all[key]),
                sum,
            );
        }
        for key in WORK {
            let (_, sum) = of(key, is_warmup, &|script| whole(&script["work"][key]));
            let what = format!("{name}.work.{key}, the sum of its seconds");
            checker.equal(what, whole(&all["work"][key]), sum);
        }
        let those = seconds
            .iter()
            .filter(|second| second["warmup"] == is_warmup);
        let length_us: u64 = those.map(|second| whole(&second["length_us"])).sum();
        let what = format!("{name}.elapsed_us, the sum of its seconds");
        checker.equal(what, whole(&all["elapsed_us"]), length_us);
    }
}

/// The figures of a stretch of time.
pub fn phase(checker: &mut Checker, name: &str, phase: &Value) {
    if phase.is_null() {
        return;
    }
    figures(checker, name, phase);
    let scripts = phase["scripts"].as_array();
    let scripts = scripts.map_or(&[][..], Vec::as_slice);
    for key in COUNTS {
        let sum: u64 = scripts.iter().map(|script| whole(&script[key])).sum();
        checker.equal(
            format!("{name}.{key}, the sum of its scripts"),
            whole(&phase[key]),
            sum,
        );
    }
    for script in scripts {
        figures(
            checker,
            &format!("{name}, script {}", script["name"]),
            script,
        );
    }
    let asked_us = whole(&phase["elapsed_us"]).saturating_sub(whole(&phase["drain_us"]));
    let counted = whole(&phase["committed"]).saturating_sub(whole(&phase["drain_committed"]));
    let goodput = match asked_us {
        0 => 0.0,
        asked_us => counted as f64 * 1e6 / asked_us as f64,
    };
    let shown = phase["goodput_per_s"].as_f64().unwrap_or(f64::NAN);
    checker.figure(
        format!("{name}.goodput_per_s"),
        shown,
        goodput,
        close(shown, goodput),
    );
}

fn figures(checker: &mut Checker, name: &str, all: &Value) {
    let committed = whole(&all["committed"]);
    let by_class = all["failed_by_class"].as_object();
    let by_class: u64 = by_class
        .into_iter()
        .flat_map(|classes| classes.values())
        .map(whole)
        .sum();
    checker.equal(
        format!("{name}.failed, the sum of its classes"),
        whole(&all["failed"]),
        by_class,
    );
    for kind in ["service", "attempt", "response", "schedule_lag"] {
        let of = &all[kind];
        if !of.is_null() {
            let what = format!("{name}.{kind}");
            checker.equal(format!("{what}.count"), whole(&of["count"]), committed);
            latency(checker, what, of);
        }
    }
    let work = &all["work"];
    let (kept, lost) = (whole(&work["kept_us"]), whole(&work["lost_us"]));
    if let Some(shown) = work["lost_time_share"].as_f64() {
        let share = lost as f64 / (kept + lost) as f64;
        checker.figure(
            format!("{name}.work.lost_time_share"),
            shown,
            share,
            close(shown, share),
        );
    }
}

/// Percentiles in their order, the mean among them.
pub fn latency(checker: &mut Checker, what: impl Display, of: &Value) {
    let known: Vec<u64> = PERCENTILES
        .iter()
        .filter_map(|name| of[*name].as_u64())
        .collect();
    checker.holds(
        known.is_sorted(),
        format!("{what}: percentiles"),
        format!("{known:?}"),
        "none above the next",
    );
    if let (Some(mean), Some(max)) = (of["mean_us"].as_f64(), of["max_us"].as_f64()) {
        checker.holds(
            mean <= max,
            format!("{what}.mean_us"),
            mean,
            format!("{max} at most, the longest"),
        );
    }
    for interval in of["intervals"].as_array().into_iter().flatten() {
        let (low, high) = (interval["low_us"].as_f64(), interval["high_us"].as_f64());
        if let (Some(low), Some(high)) = (low, high) {
            checker.holds(
                low <= high,
                format!("{what}: interval"),
                low,
                format!("{high} at most"),
            );
        }
    }
}

/// A count; nothing where there is none.
pub fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}
