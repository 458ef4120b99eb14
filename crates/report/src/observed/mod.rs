//! What instruments saw of a trial, for people: courses as sparklines, waits, statements, events, the
//! worst latencies with what went on then, and what was not seen.

mod moments;
pub(crate) mod outages;
mod series;

use super::table::{Table, one_line};
use crate::wrap::wrapped;
use pgdyno_model::document::{Observed, ObservedSeries, Run, Trial};
use pgdyno_model::observed::{EXPLAINED, Explained, Kind};
use pgdyno_spec::text as figures;

pub use series::Choice;

/// More of a list are only counted.
const ROWS_MAX: usize = 10;
/// More events are only counted.
const EVENTS_MAX: usize = 30;

/// The times between which figures are shown: the measured time, or all of it where nothing was
/// measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// From here on, in microseconds since clients began to work.
    pub from_us: i64,
    pub to_us: i64,
}

impl Window {
    pub fn of(run: &Run) -> Self {
        let warmup = run.warmup.as_ref();
        let warmup_us = warmup.map_or(0, |w| w.phase.elapsed_us as i64);
        match run.measured.elapsed_us as i64 {
            0 => Self {
                from_us: 0,
                to_us: warmup_us,
            },
            measured_us => Self {
                from_us: warmup_us,
                to_us: warmup_us + measured_us,
            },
        }
    }

    /// The same as a pair. The last readings come a moment after the last second.
    fn pair(self) -> (i64, i64) {
        (self.from_us, self.to_us + 1)
    }
}

/// All of it, ready to be printed; empty when nothing was observed.
pub fn text(trial: &Trial, choice: &Choice, width: usize) -> String {
    let nothing = Observed::default();
    let observed = trial.observed.as_ref().unwrap_or(&nothing);
    let window = Window::of(&trial.run);
    let parts = [
        series::text(observed, window, choice, width),
        waits(observed, window, width),
        statements(observed, width),
        explained(observed),
        moments::events(&trial.run, observed),
        moments::worst(&trial.run, observed),
        gaps(observed),
        cost(&trial.run, observed),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// How many readings an instrument has made within the window, by the series that it always reads.
fn readings(observed: &Observed, instrument: &str, window: Window) -> usize {
    let (from_us, to_us) = window.pair();
    let of = observed.series.iter();
    let of = of.filter(|series| series.instrument == instrument);
    let within = |series: &ObservedSeries| {
        let at = series.samples.iter();
        at.filter(|(at_us, _)| (from_us..to_us).contains(at_us))
            .count()
    };
    of.map(within).max().unwrap_or(0)
}

/// What sessions waited for, most first.
pub fn top_waits(observed: &Observed, window: Window) -> Vec<(&str, f64)> {
    let (from_us, to_us) = window.pair();
    let waits = observed.all("pg.waits");
    let mut waits: Vec<(&str, f64)> = waits
        .filter_map(|series| {
            let readings = readings(observed, &series.instrument, window);
            let mean = series.mean(from_us, to_us, readings)?;
            Some((series.label.as_str(), mean))
        })
        .filter(|(_, mean)| *mean > 0.0)
        .collect();
    waits.sort_by(|a, b| b.1.total_cmp(&a.1));
    waits
}

fn waits(observed: &Observed, window: Window, width: usize) -> String {
    let waits = top_waits(observed, window);
    let all: f64 = waits.iter().map(|(_, mean)| mean).sum();
    if waits.is_empty() {
        return String::new();
    }
    let mut table = Table::default();
    table.row(["active sessions by what they waited for", "mean", "share"]);
    for (label, mean) in waits.iter().take(ROWS_MAX) {
        let share = figures::share(mean / all);
        table.row([one_line(label), figures::quantity(*mean), share]);
    }
    let mut text = table.text(width);
    text += &rest(waits.len(), ROWS_MAX, "kinds of waiting");
    text
}

fn rest(all: usize, shown: usize, what: &str) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        more => format!("and {more} more {what}\n"),
    }
}

fn statements(observed: &Observed, width: usize) -> String {
    let mut statements: Vec<_> = observed.statements.iter().collect();
    statements.sort_by(|a, b| b.time_us.total_cmp(&a.time_us));
    let all_us: f64 = statements.iter().map(|s| s.time_us).sum();
    if statements.is_empty() {
        return String::new();
    }
    let mut table = Table::default();
    table.row([
        "statements, as the server has them",
        "calls",
        "mean ms",
        "total s",
        "share",
    ]);
    for statement in statements.iter().take(ROWS_MAX) {
        let mean_ms = match statement.calls {
            0 => "–".to_owned(),
            calls => figures::ms_precisely(statement.time_us / calls as f64),
        };
        let share = if all_us > 0.0 {
            figures::share(statement.time_us / all_us)
        } else {
            "–".to_owned()
        };
        table.row([
            one_line(&statement.text),
            figures::count(statement.calls),
            mean_ms,
            figures::fixed(statement.time_us / 1e6, 3),
            share,
        ]);
    }
    table.text(width) + &rest(statements.len(), ROWS_MAX, "statements")
}

/// The server's report on statements that were run once more after the trial, a paragraph each.
fn explained(observed: &Observed) -> String {
    let list = observed.fact(EXPLAINED).cloned().unwrap_or_default();
    let list: Vec<Explained> = serde_json::from_value(list).unwrap_or_default();
    let time = |us: u64| figures::time(us as f64);
    let lines = list.iter().map(|one| {
        let storage = one
            .storage_us
            .map(|us| format!(", {} {}", one_line(&one.layer), time(us)));
        let contention = one
            .contention_us
            .map(|us| format!(", contention {}", time(us)));
        let text = format!(
            "{}{}{} (EXPLAIN ANALYZE, {}): {}",
            time(one.execution_us),
            storage.unwrap_or_default(),
            contention.unwrap_or_default(),
            figures::plural(one.samples, "sample"),
            one_line(&one.text)
        );
        wrapped("server time", &text, 13)
    });
    lines.collect()
}

/// What was not seen, with the command that would change it.
fn gaps(observed: &Observed) -> String {
    let mut text = String::new();
    for span in &observed.gaps {
        let name = one_line(&span.instrument);
        let label = match span.label.as_str() {
            "" => String::new(),
            label => format!(" ({})", one_line(label)),
        };
        let seconds = |us: i64| format!("{} s", figures::decimal_seconds(us));
        let when = match (span.from_us, span.to_us) {
            (None, None) => String::new(),
            (Some(from), None) => format!(" from {} on", seconds(from)),
            (None, Some(to)) => format!(" until {}", seconds(to)),
            (Some(from), Some(to)) => format!(" from {} to {}", seconds(from), seconds(to)),
        };
        let reason = one_line(&span.reason);
        text += &format!("not observed {name}{label}{when}: {reason}\n");
        if let Some(remedy) = &span.remedy {
            text += &format!("             remedy: {}\n", one_line(remedy));
        }
    }
    text
}

/// What observing took of this host's CPU.
fn cost(run: &Run, observed: &Observed) -> String {
    let warmup_us = run.warmup.as_ref().map_or(0, |w| w.phase.elapsed_us);
    let elapsed_us = warmup_us + run.measured.elapsed_us;
    // Of one core. In a short trial, connecting and the last readings outweigh its own time: that is no
    // share of it.
    let share = |cpu_us: u64| {
        if cpu_us < elapsed_us {
            format!(
                ", {} of a core",
                figures::share(cpu_us as f64 / elapsed_us as f64)
            )
        } else {
            String::new()
        }
    };
    let Some(cpu_us) = observed.cpu_us.filter(|_| elapsed_us > 0) else {
        return String::new();
    };
    let on_server = match observed.server_cpu_us {
        Some(us) => format!(
            "; {} of CPU of the server{}",
            figures::time(us as f64),
            share(us)
        ),
        None => String::new(),
    };
    format!(
        "observers    {} of CPU of pgdyno{}{on_server}\n",
        figures::time(cpu_us as f64),
        share(cpu_us)
    )
}

/// For the summary of a run: how many series there are, and which instruments have gaps, with the
/// reason of the first gap of each.
pub fn line(observed: &Observed) -> String {
    let series = observed.series.iter();
    let series = series.filter(|series| series.kind != Kind::BeforeAfter);
    let instruments = figures::plural(observed.instruments.len() as u64, "instrument");
    let courses = figures::count(series.count() as u64);
    let mut text = format!("observed     {courses} series by {instruments}\n");
    text += &explained(observed);
    let mut last = None;
    for span in &observed.gaps {
        let name = one_line(&span.instrument);
        if last.replace(name.clone()) == Some(name.clone()) {
            continue;
        }
        let reason = format!("{name}: {}", one_line(&span.reason));
        text += &wrapped("not observed ", &reason, 13);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::documents::trial as document;
    use pgdyno_measurement::SlowTransaction;
    use pgdyno_model::Outcome;
    use pgdyno_model::observed::{
        self, Batch, Gap, InstrumentRow, NewSeries, ObservedEvent, Row, Sample, Series,
        ServerStatement, Span, Total,
    };
    use pgdyno_store::Store;
    use pgdyno_store::example;

    /// Ten measured seconds after two of warm-up; a checkpoint in the fifth.
    fn outcome() -> Outcome {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("s")).unwrap();
        let writer = store.begin(&example()).unwrap();
        let number = writer.number();
        writer.fail("over").unwrap();
        let mut outcome = store.outcome(number).unwrap();
        let recording = &mut outcome.recording;
        recording.warmup = Some(pgdyno_measurement::Phase {
            elapsed_us: 2_000_000,
            ..Default::default()
        });
        recording.measured.elapsed_us = 10_000_000;
        recording.worst = vec![
            SlowTransaction {
                script: 0,
                client: 7,
                ended_us: 6_000_000,
                latency_us: 900_000,
            },
            SlowTransaction {
                script: 9,
                client: 1,
                ended_us: 11_500_000,
                latency_us: 1_000,
            },
        ];
        outcome.observed.add(batch());
        outcome.observed.cpu_us = Some(120_000);
        outcome
    }

    fn batch() -> Batch {
        let series = |number, name, label: &str, unit, kind| NewSeries {
            number,
            instrument: 0,
            series: Series::new(name, unit).of(label),
            kind,
        };
        let seconds = 0..=12u32;
        let samples = seconds.clone().map(|second| Sample {
            series: 0,
            at_us: i64::from(second) * 1_000_000,
            // What is before the measured time would be the highest.
            value: if second < 2 {
                1e9
            } else {
                f64::from(second) * 1000.0
            },
        });
        let wait = Sample {
            series: 2,
            at_us: 5_500_000,
            value: 5.5,
        };
        let flat = seconds.map(|second| Sample {
            series: 3,
            at_us: i64::from(second) * 1_000_000,
            value: 0.0,
        });
        Batch {
            instruments: vec![InstrumentRow {
                number: 0,
                name: "pg.all".to_owned(),
                source: String::new(),
            }],
            series: vec![
                series(0, "pg.wal.bytes", "", "bytes/s", Kind::Counter),
                series(1, "pg.size", "t", "bytes", Kind::BeforeAfter),
                series(2, "pg.waits", "IO:WALSync", "sessions", Kind::Sparse),
                series(3, "pg.locks", "", "locks", Kind::Gauge),
            ],
            samples: samples.chain([wait]).chain(flat).collect(),
            totals: [(0, 0.0, 90_000.0), (1, 8192.0, 16384.0)]
                .map(|(series, before, after)| Total {
                    series,
                    before_at_us: -10,
                    before,
                    after_at_us: 12_000_001,
                    after,
                    resets: 0,
                })
                .into(),
            events: vec![ObservedEvent {
                instrument: 0,
                at_us: 4_500_000,
                length_us: Some(600_000),
                kind: "checkpoint".to_owned(),
                text: "by time".to_owned(),
            }],
            gaps: vec![Span {
                number: 0,
                instrument: 0,
                label: "node\n2".to_owned(),
                from_us: Some(1_000_000),
                to_us: None,
                gap: Gap::because("refused").remedy("start it"),
            }],
            statements: vec![(
                0,
                ServerStatement {
                    text: "UPDATE t".to_owned(),
                    calls: 4,
                    time_us: 8000.0,
                    ..ServerStatement::default()
                },
            )],
            facts: vec![(
                0,
                EXPLAINED.to_owned(),
                serde_json::json!([{"text": "SELECT v\nFROM t WHERE k = :k;", "samples": 3,
                    "execution_us": 5000, "layer": "KV", "storage_us": 3000, "contention_us": 0,
                    "rows": null}]),
            )],
            ..Batch::default()
        }
    }

    const LOCKS: Row = Row {
        name: "pg.locks",
        unit: "locks",
        kind: Kind::Gauge,
        source: "pg_locks",
        what: "locks held",
    };

    fn choice(names: &[&str]) -> Choice {
        Choice {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            rows: |name| (name == LOCKS.name).then_some(&LOCKS),
        }
    }

    #[test]
    fn a_trial_is_shown_with_all_that_was_seen() {
        let text = text(&document(&outcome()), &choice(&[]), 120);
        for line in [
            // Of the measured time alone: 2 to 12 thousand in a line that rises.
            "pg.wal.bytes, bytes/s  ▁▁▂▃▄▅▅▆▇██                     1.95 kB  6.84 kB  11.7 kB    \
                  +87.9 kB",
            "pg.size t, bytes                                                             8 kB \
             to 16 kB",
            // One reading of eleven had it.
            "IO:WALSync                                 0.5  100 %",
            "UPDATE t                               4    2.000    0.008  100 %",
            "     4.5  checkpoint      by time, for 0.6 s",
            "     900.000 ms  from 5.1 to 6.0 s  one, client 7; checkpoint at 4.5 s; waits: \
             IO:WALSync 1.83",
            "       1.000 ms  from 11.5 to 11.5 s  client 1",
            "server time  5.00 ms, KV 3.00 ms, contention 0 ms (EXPLAIN ANALYZE, 3 samples):",
            "             SELECT v FROM t WHERE k = :k;",
            "not observed pg.all (node 2) from 1.0 s on: refused",
            "             remedy: start it",
            "observers    120 ms of CPU of pgdyno, 1.0 % of a core",
        ] {
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_there = text.lines().any(|l| words(l) == words(line));
            assert!(is_there, "no\n{line}\nin\n{text}");
        }
        assert!(!text.contains("pg.locks"), "it never moved: {text}");
    }

    #[test]
    fn series_that_are_asked_for_are_shown_though_they_never_moved() {
        let only = choice(&["pg.l*"]);
        let text = text(&document(&outcome()), &only, 120);
        assert!(
            text.contains("pg.locks, locks") && !text.contains("pg.wal"),
            "{text}"
        );
        assert!(text.contains("pg.locks: locks held (pg_locks)"), "{text}");
    }

    #[test]
    fn what_was_not_observed_is_not_spoken_of() {
        let mut outcome = outcome();
        outcome.observed = observed::Observed::default();
        outcome.recording.worst.clear();
        let document = document(&outcome);
        assert_eq!(super::text(&document, &choice(&[]), 120), "");
        assert_eq!(document.observed, None);
    }
}
