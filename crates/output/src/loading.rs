//! How a load, or a page that reads many trials, tells what it is doing: a bar on a terminal, lines elsewhere,
//! nothing when asked to be quiet. Everything goes to standard error.

use std::fmt::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use pgdyno_model::Progress;
use pgdyno_spec::text;

use crate::reading::Reading;

/// Time between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// The teller of one load or page.
#[derive(Debug)]
pub struct Loading {
    form: Form,
    table: Option<Table>,
    reading: Option<Reading>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Quiet,
    Lines,
    Bar,
}

#[derive(Debug)]
struct Table {
    name: String,
    unit: LoadingUnit,
    total: u64,
    began: Instant,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadingUnit {
    Rows,
    Bytes,
}

impl Loading {
    pub fn quiet() -> Self {
        Self {
            form: Form::Quiet,
            table: None,
            reading: None,
        }
    }

    /// A bar when standard error is a terminal, else a line a second.
    pub fn new(terminal: bool) -> Self {
        Self {
            form: if terminal { Form::Bar } else { Form::Lines },
            table: None,
            reading: None,
        }
    }
}

impl Loading {
    fn begin(&mut self, name: &str, unit: LoadingUnit, total: u64) {
        let now = Instant::now();
        let bar = (self.form == Form::Bar).then(|| {
            let bar = ProgressBar::new(total);
            let rate = move |state: &ProgressState, out: &mut dyn Write| {
                // A rate that cannot be written leaves a gap in the bar and nothing worse.
                let _ = write!(out, "{}", unit.rate(state.per_sec()));
            };
            let of = move |state: &ProgressState, out: &mut dyn Write| {
                let _ = write!(out, "{}", unit.amount(state.len().unwrap_or(total)));
            };
            // The template is a constant; a mistake in it would only cost the bar its looks.
            let style = ProgressStyle::with_template(
                "{msg} {wide_bar} {percent} % of {of}, {rate}, {eta} left",
            )
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key("rate", rate)
            .with_key("of", of);
            bar.set_style(style);
            bar.set_message(format!("{} {name}", unit.doing()));
            bar
        });
        self.table = Some(Table {
            name: name.to_owned(),
            unit,
            total,
            began: now,
            last_line: now,
            bar,
        });
    }

    fn tell(&mut self, done: u64) {
        let Some(table) = &mut self.table else { return };
        if let Some(bar) = &table.bar {
            bar.set_position(done);
        } else if self.form == Form::Lines && table.last_line.elapsed() >= LINE_INTERVAL {
            table.last_line = Instant::now();
            crate::remark!("pgdyno: {}", line(table, done, table.began.elapsed()));
        }
    }
}

impl LoadingUnit {
    fn doing(self) -> &'static str {
        match self {
            Self::Rows => "loading",
            Self::Bytes => "reading",
        }
    }

    fn amount(self, amount: u64) -> String {
        match self {
            Self::Rows => format!("{} rows", text::count(amount)),
            Self::Bytes => text::bytes(amount as f64),
        }
    }

    fn rate(self, per_s: f64) -> String {
        match self {
            Self::Rows => format!("{} rows/s", text::count(per_s.round() as u64)),
            Self::Bytes => text::bytes_per_s(per_s),
        }
    }
}

impl Progress for Loading {
    fn is_quiet(&self) -> bool {
        self.form == Form::Quiet
    }

    fn warning(&mut self, text: &str) {
        crate::remark!("pgdyno: warning: {text}");
    }

    fn step(&mut self, text: &str) {
        if self.form != Form::Quiet {
            crate::remark!("pgdyno: {text}");
        }
    }

    fn table(&mut self, name: &str, rows_total: u64) {
        self.begin(name, LoadingUnit::Rows, rows_total);
    }

    fn rows(&mut self, rows: u64) {
        self.tell(rows);
    }

    fn file(&mut self, name: &str, bytes_total: u64) {
        self.begin(name, LoadingUnit::Bytes, bytes_total);
    }

    fn bytes(&mut self, bytes: u64) {
        self.tell(bytes);
    }

    fn table_ends(&mut self) {
        if let Some(bar) = self.table.take().and_then(|t| t.bar) {
            bar.finish_and_clear();
        }
    }

    fn trials_read(&mut self, trials: usize, of: usize) {
        let form = self.form;
        let reading = self.reading.get_or_insert_with(|| Reading::begin(form));
        reading.read(trials, of);
    }
}

fn line(table: &Table, done: u64, elapsed: Duration) -> String {
    let Table {
        name, unit, total, ..
    } = table;
    let per_s = done as f64 / elapsed.as_secs_f64().max(0.001);
    let left_s = (total.saturating_sub(done)) as f64 / per_s.max(0.001);
    let left = Duration::try_from_secs_f64(left_s).unwrap_or(Duration::MAX);
    let done_of = match unit {
        LoadingUnit::Rows => text::count(done),
        LoadingUnit::Bytes => text::bytes(done as f64),
    };
    format!(
        "{} {name}: {done_of} of {} ({}), {}, {} left",
        unit.doing(),
        unit.amount(*total),
        text::roughly(done as f64 / (*total).max(1) as f64),
        unit.rate(per_s),
        text::about(left)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_rate_and_the_time_left() {
        let mut progress = Loading::new(false);
        progress.table("t", 1000);
        let table = progress.table.unwrap();
        assert_eq!(
            line(&table, 250, Duration::from_secs(5)),
            "loading t: 250 of 1,000 rows (25 %), 50 rows/s, 15 s left"
        );
        // Nothing done yet, and an empty table, divide by nothing.
        assert!(line(&table, 0, Duration::ZERO).contains("0 rows/s"));
    }
    #[test]
    fn a_file_is_recognised_by_its_bytes() {
        let mut progress = Loading::new(false);
        progress.file("mine/a.csv", 4_000_000_000);
        let table = progress.table.unwrap();
        let line = line(&table, 1_000_000_000, Duration::from_secs(5));
        assert!(line.starts_with("reading mine/a.csv: "), "{line}");
        assert!(
            line.contains("(25 %), ") && line.ends_with(", 15 s left"),
            "{line}"
        );
    }
}
