//! How a load, or a page that reads many trials, tells what it is doing: a bar on a terminal, lines elsewhere,
//! nothing when asked to be quiet. Everything goes to standard error.

use std::fmt::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use pgdyno_model::{Progress, text};

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
    rows_total: u64,
    began: Instant,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

impl Loading {
    /// Says nothing.
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
        let now = Instant::now();
        let bar = (self.form == Form::Bar).then(|| {
            let bar = ProgressBar::new(rows_total);
            // The template is a constant; a mistake in it would only cost the bar its looks.
            let style = ProgressStyle::with_template(
                "{msg} {wide_bar} {percent} % of {human_len} rows, {rate} rows/s, {eta} left",
            )
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
                // A rate that cannot be written leaves a gap in the bar and nothing worse.
                let _ = write!(out, "{}", text::count(state.per_sec() as u64));
            });
            bar.set_style(style);
            bar.set_message(format!("loading {name}"));
            bar
        });
        self.table = Some(Table {
            name: name.to_owned(),
            rows_total,
            began: now,
            last_line: now,
            bar,
        });
    }

    fn rows(&mut self, rows: u64) {
        let Some(table) = &mut self.table else { return };
        if let Some(bar) = &table.bar {
            bar.set_position(rows);
        } else if self.form == Form::Lines && table.last_line.elapsed() >= LINE_INTERVAL {
            table.last_line = Instant::now();
            crate::remark!("pgdyno: {}", line(table, rows, table.began.elapsed()));
        }
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

fn line(table: &Table, rows: u64, elapsed: Duration) -> String {
    let Table {
        name, rows_total, ..
    } = table;
    let rows_per_s = rows as f64 / elapsed.as_secs_f64().max(0.001);
    let left_s = (rows_total.saturating_sub(rows)) as f64 / rows_per_s.max(0.001);
    let left = Duration::try_from_secs_f64(left_s).unwrap_or(Duration::MAX);
    format!(
        "loading {name}: {} of {} rows ({}), {} rows/s, {} left",
        text::count(rows),
        text::count(*rows_total),
        text::roughly(rows as f64 / (*rows_total).max(1) as f64),
        text::count(rows_per_s.round() as u64),
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
}
