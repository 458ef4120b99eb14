//! What instruments saw of a trial, for people: courses as sparklines, waits, statements, events, the
//! worst latencies with what went on then, and what was not seen.

mod json;
mod moments;
mod series;

use super::figures;
use super::table::{Table, one_line};
use crate::observe::{Course, Kind, Observed};
use crate::plan::trial::Outcome;

pub use json::{document, worst};
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
    /// Up to here.
    pub to_us: i64,
}

impl Window {
    /// That of a trial.
    pub fn of(outcome: &Outcome) -> Self {
        let recording = &outcome.recording;
        let warmup_us = recording.warmup.as_ref().map_or(0, |w| w.elapsed_us as i64);
        match recording.measured.elapsed_us as i64 {
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
pub fn text(outcome: &Outcome, choice: &Choice, width: usize) -> String {
    let observed = &outcome.observed;
    let window = Window::of(outcome);
    let parts = [
        series::text(observed, window, choice, width),
        waits(observed, window, width),
        statements(observed, width),
        moments::events(outcome),
        moments::worst(outcome),
        gaps(observed),
        cost(outcome),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// How many readings an instrument has made within the window, by the series that it always reads.
fn readings(observed: &Observed, instrument: usize, window: Window) -> usize {
    let (from_us, to_us) = window.pair();
    let of = observed.series.iter();
    let of = of.filter(|course| course.of.instrument == instrument);
    let within = |course: &Course| {
        let at = course.samples.iter();
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
        .filter_map(|course| {
            let readings = readings(observed, course.of.instrument, window);
            let mean = course.mean(from_us, to_us, readings)?;
            Some((course.of.series.label.as_str(), mean))
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
        let share = format!("{:.1} %", mean / all * 100.0);
        table.row([one_line(label), figures::quantity(*mean), share]);
    }
    let mut text = table.text(width);
    text += &rest(waits.len(), ROWS_MAX, "kinds of waiting");
    text
}

/// `and 3 more …`
fn rest(all: usize, shown: usize, what: &str) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        more => format!("and {more} more {what}\n"),
    }
}

fn statements(observed: &Observed, width: usize) -> String {
    let mut statements: Vec<_> = observed.statements.iter().map(|(_, s)| s).collect();
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
            calls => format!("{:.3}", statement.time_us / calls as f64 / 1e3),
        };
        let share = match all_us > 0.0 {
            true => format!("{:.1} %", statement.time_us / all_us * 100.0),
            false => "–".to_owned(),
        };
        table.row([
            one_line(&statement.text),
            figures::count(statement.calls),
            mean_ms,
            format!("{:.3}", statement.time_us / 1e6),
            share,
        ]);
    }
    table.text(width) + &rest(statements.len(), ROWS_MAX, "statements")
}

/// What was not seen, with the command that would change it.
fn gaps(observed: &Observed) -> String {
    let mut text = String::new();
    for span in &observed.gaps {
        let name = one_line(observed.instrument(span.instrument));
        let label = match span.label.as_str() {
            "" => String::new(),
            label => format!(" ({})", one_line(label)),
        };
        let seconds = |us: i64| format!("{:.1} s", us as f64 / 1e6);
        let when = match (span.from_us, span.to_us) {
            (None, None) => String::new(),
            (Some(from), None) => format!(" from {} on", seconds(from)),
            (None, Some(to)) => format!(" until {}", seconds(to)),
            (Some(from), Some(to)) => format!(" from {} to {}", seconds(from), seconds(to)),
        };
        let reason = one_line(&span.gap.reason);
        text += &format!("not seen     {name}{label}{when}: {reason}\n");
        if let Some(remedy) = &span.gap.remedy {
            text += &format!("             remedy: {}\n", one_line(remedy));
        }
    }
    text
}

/// What observing took of this host's CPU.
fn cost(outcome: &Outcome) -> String {
    let recording = &outcome.recording;
    let warmup_us = recording.warmup.as_ref().map_or(0, |w| w.elapsed_us);
    let elapsed_us = warmup_us + recording.measured.elapsed_us;
    match outcome.observed.cpu_us() {
        Some(cpu_us) if elapsed_us > 0 => format!(
            "observers    {:.1} ms of CPU on this side, {:.2} % of a core\n",
            cpu_us as f64 / 1e3,
            cpu_us as f64 / elapsed_us as f64 * 100.0
        ),
        _ => String::new(),
    }
}

/// One line for the summary of a run: how much there is to see, and what is not.
pub fn line(observed: &Observed) -> String {
    if observed.instruments.is_empty() {
        return String::new();
    }
    let series = observed.series.iter();
    let series = series.filter(|course| course.of.kind != Kind::BeforeAfter);
    let mut blind: Vec<&str> = observed
        .gaps
        .iter()
        .map(|span| observed.instrument(span.instrument))
        .collect();
    blind.dedup();
    let blind = match blind.is_empty() {
        true => String::new(),
        false => format!("; gaps in {}", blind.join(", ")),
    };
    let plural = |n: usize, what: &str| match n {
        1 => format!("1 {what}"),
        n => format!("{} {what}s", figures::count(n as u64)),
    };
    let instruments = plural(observed.instruments.len(), "instrument");
    let courses = figures::count(series.count() as u64);
    format!("observed     {courses} series by {instruments}{blind}\n")
}
