//! How far the trials of a page have been read: a bar on a terminal, elsewhere a line now and then. What is done
//! in a moment says nothing.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use pgdyno_spec::text;

use crate::loading::Form;
use crate::remark;

/// Until then, nothing is shown.
const SILENCE: Duration = Duration::from_secs(1);
/// Between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// The progress of reading trials.
#[derive(Debug)]
pub struct Reading {
    form: Form,
    began: Instant,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

impl Reading {
    pub fn begin(form: Form) -> Self {
        let now = Instant::now();
        Self {
            form,
            began: now,
            last_line: now,
            bar: None,
        }
    }

    /// So many trials of so many have been read.
    pub fn read(&mut self, trials: usize, of: usize) {
        if self.form == Form::Quiet || self.began.elapsed() < SILENCE {
            return;
        }
        if self.form == Form::Bar {
            let bar = self.bar.get_or_insert_with(|| {
                let template = "reading trials {wide_bar} {human_pos} of {human_len}, {eta} left";
                // The template is a constant; a mistake in it would only cost the bar its looks.
                let style = ProgressStyle::with_template(template);
                let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
                ProgressBar::new(of as u64).with_style(style)
            });
            bar.set_position(trials as u64);
        } else if self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Instant::now();
            remark!("pgdyno: {}", line(trials, of, self.began.elapsed()));
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn line(trials: usize, of: usize, elapsed: Duration) -> String {
    let left = elapsed.mul_f64(of.saturating_sub(trials) as f64 / trials.max(1) as f64);
    let (trials, of) = (text::count(trials as u64), text::count(of as u64));
    format!("{trials} of {of} trials read, {} left", text::about(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_time_left() {
        let elapsed = Duration::from_secs(10);
        assert_eq!(
            line(1000, 4000, elapsed),
            "1,000 of 4,000 trials read, 30 s left"
        );
        assert!(line(0, 0, elapsed).starts_with("0 of 0"));
    }
}
