//! What a person sees while a run goes on: a bar with a view of the present figures on a terminal, a
//! line a second elsewhere. It goes to standard error; the result does not.

pub mod experiment;
mod recent;
mod said;
mod view;

use std::time::{Duration, SystemTime};

use indicatif::{ProgressBar, ProgressStyle};
use pgdyno_measurement::{
    Counts, DriveError, Event, EventKind, Interval, Level, Message, Recording,
};
use pgdyno_model::Observer;
use pgdyno_model::event::Title;
use pgdyno_model::observed::Batch;
use pgdyno_spec::{Until, text as figures};

use pgdyno_output::Verbosity;
use pgdyno_platform::terminal;

use self::recent::Recent;
use self::said::Said;
use self::view::View;

/// After so many events of connections the rest is only counted.
const EVENTS_MAX: u64 = 20;

/// Where a terminal does not say how wide it is.
const WIDTH_DEFAULT: usize = 80;

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Quiet,
    Lines,
    /// A bar, and a view of what goes on.
    Bar,
}

/// When a run will be over.
#[derive(Debug, Clone, Copy)]
enum Length {
    /// After so much time of warm-up, at most, and so much that is measured.
    Time {
        warmup: Duration,
        measured: Duration,
    },
    /// After so many transactions, beside the warm-up.
    Transactions(u64),
}

impl Length {
    fn of(trial: &Title) -> Self {
        match trial.until {
            Until::Elapsed(measured) => Self::Time {
                warmup: trial.warmup,
                measured,
            },
            Until::Transactions(count) => {
                Self::Transactions(count.get().saturating_mul(trial.clients as u64))
            }
        }
    }
}

/// The screen of one run after the other.
pub struct Screen {
    form: Form,
    length: Length,
    bar: Option<ProgressBar>,
    view: View,
    recent: Recent,
    is_measuring: bool,
    transactions: u64,
    errors: Said,
    notices: Said,
    outages: Said,
    /// What else happened to connections.
    events: u64,
    /// Connections restored that were not shown.
    unshown: u64,
}

impl From<Verbosity> for Form {
    fn from(verbosity: Verbosity) -> Self {
        match (verbosity.quiet, terminal::stderr_is_terminal()) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Bar,
            (false, false) => Self::Lines,
        }
    }
}

impl Screen {
    /// Nothing is shown before the run begins.
    pub fn new(form: impl Into<Form>) -> Self {
        let form = form.into();
        Self {
            form,
            length: Length::Transactions(0),
            bar: None,
            view: View::default(),
            recent: Recent::default(),
            is_measuring: false,
            transactions: 0,
            errors: Said::default(),
            notices: Said::default(),
            outages: Said::default(),
            events: 0,
            unshown: 0,
        }
    }

    fn print(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| pgdyno_output::remark!("{line}")),
            None => pgdyno_output::remark!("{line}"),
        }
    }
}

/// `7 failed`; `None` where there are none.
fn counted(number: u64, what: &str) -> Option<String> {
    (number > 0).then(|| format!("{} {what}", figures::count(number)))
}

fn retries(counts: &Counts) -> Option<String> {
    (counts.retries > 0).then(|| figures::plural(counts.retries, "retry"))
}

/// The view below the bar's line.
fn message(view: &View) -> String {
    // The last column makes some terminals begin a new line.
    let width = terminal::width().map_or(WIDTH_DEFAULT, |width| usize::from(width) - 1);
    let lines = view.lines(width).into_iter();
    lines
        .map(|line| format!("\n{}", figures::shown(&line)))
        .collect()
}

impl<O> Observer<O> for Screen {
    fn starting(&mut self, title: &Title) {
        *self = Self {
            length: Length::of(title),
            ..Self::new(self.form)
        };
    }

    fn begun(&mut self, _started: SystemTime) {
        if self.form != Form::Bar {
            return;
        }
        let (total, template) = match self.length {
            Length::Time { warmup, measured } => (
                (warmup + measured).as_secs().max(1),
                "{elapsed:>4} {bar:30} {eta:>4} left{msg}",
            ),
            Length::Transactions(count) => (count, "{percent:>3}% {bar:30} {eta:>4} left{msg}"),
        };
        let bar = ProgressBar::new(total);
        // The template is a constant that parses; a plain bar is the way out if not.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        self.bar = Some(bar);
    }

    fn second(&mut self, interval: &Interval) {
        let all = interval.all();
        let counts = &all.counts;
        self.transactions += counts.total();
        let elapsed_s = interval.start_s() + interval.length_s();
        // A rest of a second would show a rate that never was.
        let is_whole = interval.length_s() >= 0.5;
        if let Some(bar) = &self.bar {
            self.view.second(interval, is_whole);
            // A warm-up may end before its time.
            if let Length::Time { measured, .. } = self.length
                && !interval.warmup
                && !std::mem::replace(&mut self.is_measuring, true)
            {
                let end = Duration::from_secs_f64(interval.start_s()) + measured;
                bar.set_length(end.as_secs().max(1));
            }
            bar.set_position(match self.length {
                Length::Time { .. } => elapsed_s.round() as u64,
                Length::Transactions(_) => self.transactions,
            });
            bar.set_message(message(&self.view));
            return;
        }
        if !is_whole || self.form == Form::Quiet {
            return;
        }
        let mut text = String::new();
        let units = all.units.iter().map(|units| (units.count(), units.rows));
        let units = units.reduce(|(a, b), (c, d)| (a + c, b + d));
        if let Some((units, rows)) = units.filter(|(units, _)| *units > 0) {
            let rate = |number: u64| figures::rate(number as f64 / interval.length_s());
            text += &format!("{} units/s  {} rows/s  ", rate(units), rate(rows));
        }
        self.recent
            .second(all.response.as_ref().unwrap_or(&all.service));
        text += &format!(
            "{} tx/s{}",
            figures::rate(counts.committed as f64 / interval.length_s()),
            self.recent.text()
        );
        let others = [
            counted(counts.failed_total(), "failed"),
            retries(counts),
            counted(counts.skipped, "skipped"),
            counted(counts.unknown, "unknown"),
        ];
        for what in others.into_iter().flatten() {
            text += &format!("  {what}");
        }
        if interval.warmup {
            text += "  (warm-up)";
        }
        pgdyno_output::remark!("pgdyno: {elapsed_s:>5.0} s  {text}");
    }

    fn observed(&mut self, batch: &Batch) {
        if let Some(bar) = &self.bar {
            self.view.observed(batch);
            bar.set_message(message(&self.view));
        }
    }

    fn event(&mut self, event: &Event) {
        if event.kind == EventKind::Outage {
            if self.outages.is_new(&event.text) && self.form != Form::Quiet {
                self.print(&format!("pgdyno: {}", event.text));
            }
            return;
        }
        self.events += 1;
        if self.events > EVENTS_MAX {
            self.unshown += u64::from(matches!(
                event.kind,
                EventKind::Reconnected | EventKind::Moved
            ));
        } else if self.form != Form::Quiet {
            self.print(&format!("pgdyno: {}", event.text));
        }
    }

    fn message(&mut self, message: &Message) {
        match message.level {
            Level::Trace | Level::Debug => self.print(&message.text),
            Level::Info => self.print(&format!("pgdyno: {}", message.text)),
            Level::Notice => {
                if self.notices.is_new(&message.text) {
                    self.print(&message.text);
                }
            }
            Level::Error => {
                if self.errors.is_new(&message.text) {
                    self.print(&format!("pgdyno: error: {}", message.text));
                }
            }
        }
    }

    /// Removes the bar and prints the lines held back.
    fn ended(&mut self, _result: Result<&Recording, &DriveError>) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        for line in self.errors.rest("messages of clients") {
            pgdyno_output::remark!("pgdyno: error: {line}");
        }
        for line in self.notices.rest("notices of the server") {
            pgdyno_output::remark!("pgdyno: {line}");
        }
        for line in self.outages.rest("lost connections") {
            pgdyno_output::remark!("pgdyno: {line}");
        }
        if self.unshown > 0 {
            pgdyno_output::remark!(
                "pgdyno: not shown: {} restored",
                figures::plural(self.unshown, "connection")
            );
        }
    }
}
