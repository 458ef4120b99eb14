//! `pgdyno-bench watching`: what pgdyno's observers cost the server, by the server's own CPU time. The processes
//! that serve the observers' sessions are read by what they were asked for (`server_cpu_us` of a result, from
//! /proc/PID/schedstat); beside it, in turn, the same without observers, with the CPU
//! time of all the server's processes, from outside.
//!
//! Not for: what observing costs on pgdyno's side, which is printed but has no goal here.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::process::{Command, Stdio};

use pgdyno_platform::child::{Signal, die_with_parent};
use pgdyno_platform::interrupt::Interrupts;
use serde_json::Value;

use crate::Error;
use crate::figures::median;
use crate::programs::Programs;
use crate::report::markdown;
use crate::rows::RowVia;
use crate::server::Bed;

/// Of a core, in percent.
const GOAL_PERCENT: f64 = 0.5;
const CLIENTS: &str = "64";
const SECONDS: u32 = 20;
const ROUNDS: u32 = 3;

/// How 64 clients are busy, and the options for it.
const WAYS: &[(&str, &[&str])] = &[
    ("2,000 transactions/s by --rate", &["--rate=2000"]),
    ("a closed loop", &[]),
];

/// One run.
struct WatchedRun {
    /// CPU time of the server's processes for sessions of observers, by instrument, in milliseconds.
    instruments_ms: BTreeMap<String, f64>,
    /// Of all of them.
    observers_ms: f64,
    /// On pgdyno's side.
    here_ms: f64,
    /// How long clients worked, in seconds.
    elapsed_s: f64,
    transactions: f64,
    /// CPU time of all the server's processes, from outside, in milliseconds.
    server_ms: f64,
}

/// Measures, and prints the tables; writes them too, when a file is named.
///
/// # Errors
/// A run fails, or the server's processes are not seen from here.
pub fn open(arguments: &[String]) -> Result<(), Error> {
    let usage = "usage: pgdyno-bench watching [--seconds N] [--rounds N] [FILE]";
    let (mut seconds, mut rounds, mut file) = (SECONDS, ROUNDS, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse().ok()).ok_or(usage);
        match word.as_str() {
            "--seconds" => seconds = number()?,
            "--rounds" => rounds = number()?,
            option if option.starts_with('-') => return Err(usage.into()),
            name => file = Some(name.to_owned()),
        }
    }
    Interrupts::install()?;
    let programs = Programs::find()?;
    let bed = Bed::prepare(&programs)?;
    let mut text = format!(
        "<!-- Written by `make bench-watching`; not to be edited. -->\n\
         # What watching costs the server\n\n\
         - server: {}\n- pgdyno: {}\n- runs: {CLIENTS} clients, select-only over TCP, {rounds} rounds of {seconds} s with \
         observers and without in turn; medians\n\n",
        bed.description(),
        crate::programs::BenchProgram::version(&programs.pgdyno),
    );
    for (name, options) in WAYS {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for round in 1..=rounds {
            with.push(run(&bed, seconds, options)?);
            let none: Vec<&str> = options.iter().copied().chain(["--observe=none"]).collect();
            without.push(run(&bed, seconds, &none)?);
            if Interrupts::install()?.count() > 0 {
                return Err("interrupted".into());
            }
            let share = with.last().map_or(f64::NAN, percent);
            eprintln!(
                "bench: {name}, round {round} of {rounds}: observers {share:.2} % of a core of the server"
            );
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "## {name}\n\n{}\n", table(&with, &without));
    }
    print!("{text}");
    if let Some(file) = file {
        fs::write(&file, text).map_err(|e| format!("cannot write {file}: {e}"))?;
    }
    Ok(())
}

/// The observers' share of a core of the server.
fn percent(run: &WatchedRun) -> f64 {
    run.observers_ms / run.elapsed_s / 10.0
}

fn run(bed: &Bed, seconds: u32, options: &[&str]) -> Result<WatchedRun, Error> {
    let mut command = Command::new(std::env::current_exe()?.with_file_name("pgdyno"));
    command
        .args(["run", "select-only", "--quiet", "--json", "--no-store"])
        .args(["--query-mode=prepared", "--threads=2"])
        .arg(format!("--clients={CLIENTS}"))
        .arg(format!("--duration={seconds}s"))
        .arg(format!("--url={}", bed.url(RowVia::Tcp)))
        .args(options)
        .stdin(Stdio::null());
    die_with_parent(&mut command, Signal::Kill);
    let before = bed.server_cpu()?;
    let output = command.output()?;
    let server_us = bed.server_cpu_since(&before)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("pgdyno failed ({}): {}", output.status, said.trim()).into());
    }
    let result: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("pgdyno printed no JSON: {e}"))?;
    let watched = read(&result, server_us)?;
    if watched.observers_ms == 0.0 && !options.contains(&"--observe=none") {
        return Err("the processes of the observers' sessions are not seen from here".into());
    }
    Ok(watched)
}

fn read(result: &Value, server_us: u64) -> Result<WatchedRun, String> {
    let ms = |value: &Value| value.as_f64().map(|us| us / 1e3);
    let at = |pointer: &str| {
        let found = result.pointer(pointer).and_then(Value::as_f64);
        found.ok_or_else(|| format!("pgdyno's JSON has no number at {pointer}"))
    };
    let facts = result.pointer("/observed/facts").and_then(Value::as_object);
    let instruments = facts.into_iter().flatten().filter_map(|(name, facts)| {
        let us = facts.get("server_cpu_us")?;
        Some((name.clone(), ms(us)?))
    });
    let observed = |pointer: &str| result.pointer(pointer).and_then(ms).unwrap_or(0.0);
    Ok(WatchedRun {
        instruments_ms: instruments.collect(),
        observers_ms: observed("/observed/server_cpu_us"),
        here_ms: observed("/observed/cpu_us"),
        elapsed_s: at("/measured/elapsed_us")? / 1e6,
        transactions: at("/measured/committed")?,
        server_ms: server_us as f64 / 1e3,
    })
}

fn table(with: &[WatchedRun], without: &[WatchedRun]) -> String {
    let of = |runs: &[WatchedRun], figure: &dyn Fn(&WatchedRun) -> f64| {
        median(runs.iter().map(figure).collect())
    };
    let line = |what: &str, ms: &dyn Fn(&WatchedRun) -> f64| {
        let share = of(with, &|run| ms(run) / run.elapsed_s / 10.0);
        [
            what.to_owned(),
            format!("{:.1}", of(with, ms)),
            format!("{share:.2}"),
        ]
    };
    let header = ["what", "CPU, ms", "of a core, %"].map(str::to_owned);
    let mut cells = vec![header];
    cells.push(line("observers, on the server", &|run| run.observers_ms));
    let names = with.first().map(|run| run.instruments_ms.keys());
    for name in names.into_iter().flatten() {
        let of_run = |run: &WatchedRun| run.instruments_ms.get(name).copied().unwrap_or(0.0);
        cells.push(line(&format!("– {name}"), &of_run));
    }
    cells.push(line("observers, on pgdyno's side", &|run| run.here_ms));
    let share = of(with, &percent);
    let met = if share <= GOAL_PERCENT {
        "met"
    } else {
        "missed"
    };
    let each = |runs: &[WatchedRun]| of(runs, &|run| run.server_ms * 1e3 / run.transactions);
    format!(
        "{}\nGoal: at most {GOAL_PERCENT} % of a core of the server, {met} ({share:.2} %). All the server's processes, from outside: \
         {:.1} µs a transaction with observers, {:.1} µs without.\n",
        markdown(&cells),
        each(with),
        each(without),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_result_is_read_by_instrument() {
        let result = json!({
            "measured": {"elapsed_us": 2_000_000, "committed": 4000},
            "observed": {"server_cpu_us": 9000, "cpu_us": 4000, "facts": {
                "pg.waits": {"server_cpu_us": 6000}, "pg.locks": {"server_cpu_us": 3000},
                "host.server": {"processes": 7},
            }},
        });
        let watched = read(&result, 80_000).unwrap();
        assert_eq!(
            (watched.observers_ms, watched.here_ms, watched.server_ms),
            (9.0, 4.0, 80.0)
        );
        assert_eq!(watched.instruments_ms.len(), 2);
        assert_eq!(percent(&watched), 0.45);
        let reported = table(&[watched], &[read(&result, 40_000).unwrap()]);
        assert!(
            reported.contains("– pg.waits") && reported.contains("met (0.45 %)"),
            "{reported}"
        );
        assert!(
            reported.contains("20.0 µs a transaction with observers, 10.0 µs without"),
            "{reported}"
        );
    }

    #[test]
    fn without_observers_nothing_is_theirs_and_a_missing_figure_is_named() {
        let result =
            json!({"measured": {"elapsed_us": 1_000_000, "committed": 1}, "observed": null});
        assert_eq!(read(&result, 0).unwrap().observers_ms, 0.0);
        let error = read(&json!({}), 0).err().unwrap();
        assert!(error.contains("/measured/elapsed_us"), "{error}");
    }
}
