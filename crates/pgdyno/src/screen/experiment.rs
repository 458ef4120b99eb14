//! What a person sees of an experiment while it runs: a line before each trial, and one with what it
//! came to.
//!
//! Not for: the trial itself while it runs (`live.rs`).

use std::time::Duration;

use pgdyno_model::document::Accounting;
use pgdyno_model::event::{Finished, Notice, PlannedTrial};
use pgdyno_model::{Observer, Outcome};
use pgdyno_spec::{Exit, Failure, text};

use super::Form;
use pgdyno_output::{answer, remark};
use pgdyno_run::validity::Stopped;

/// Where the line with a trial's figures goes.
#[derive(Debug, Clone, Copy)]
enum Results {
    Stdout,
    Stderr,
    Hidden,
}

/// The lines of one experiment.
pub struct Lines {
    form: Form,
    results: Results,
    /// Failures that were printed, with the trial that was the first to fail so.
    failures: Vec<(Failure, usize)>,
}

impl Lines {
    /// Figures are results, or the JSON on standard output is.
    pub fn with_results(form: impl Into<Form>, json_replaces_text: bool) -> Self {
        let form = form.into();
        let results = if json_replaces_text {
            Results::Hidden
        } else {
            Results::Stdout
        };
        Self::new(form, results)
    }

    /// Figures only show that the experiment goes on: quiet, there are none.
    pub fn on_stderr(form: impl Into<Form>) -> Self {
        let form = form.into();
        let results = match form {
            Form::Quiet => Results::Hidden,
            Form::Lines | Form::Bar => Results::Stderr,
        };
        Self::new(form, results)
    }

    fn new(form: Form, results: Results) -> Self {
        Self {
            form,
            results,
            failures: Vec::new(),
        }
    }

    /// Whether a failure with this message was printed.
    pub fn has_said(&self, message: &str) -> bool {
        self.failures.iter().any(|(it, _)| it.message == message)
    }

    fn failed(&mut self, head: &str, trial: usize, failure: &Failure) {
        let first = self.failures.iter().find(|(it, _)| it == failure);
        match first {
            // The experiment ends with it, and prints it then.
            _ if failure.exit == Exit::Connection => remark!("{head}: failed"),
            Some((_, first)) => remark!("{head}: failed as trial {first} did"),
            None => {
                remark!("{head}\n{failure}");
                self.failures.push((failure.clone(), trial));
            }
        }
    }
}

impl Observer<Outcome> for Lines {
    fn trial_announced(&mut self, trial: &PlannedTrial, left: Duration) {
        if self.form != Form::Quiet {
            let (position, label) = (trial.position, &trial.label);
            match trial.trials {
                Some(trials) => {
                    let left = text::about(left);
                    remark!("pgdyno: trial {position} of {trials}: {label}; {left} left");
                }
                // How many follow is not known, nor how long they take.
                None => remark!("pgdyno: trial {position}: {label}"),
            }
        }
    }

    fn trial_skipped(&mut self, trial: &PlannedTrial, why: &str) {
        remark!("pgdyno: {}: {why}", trial.label);
    }

    fn trial_finished(&mut self, finished: &Finished<'_, Outcome>) -> Result<(), Failure> {
        let trial = finished.trial;
        let of = trial
            .trials
            .map_or_else(String::new, |trials| format!("/{trials}"));
        let head = format!("[{}{of}] {}", trial.position, trial.label);
        let outcome = match finished.outcome {
            Ok(outcome) => outcome,
            Err(failure) => {
                self.failed(&head, trial.position, failure);
                return Ok(());
            }
        };
        let trouble = finished.error.map(|error| format!("  ({error})"));
        let line = format!("{head}: {}{}", words(outcome), trouble.unwrap_or_default());
        match self.results {
            Results::Stdout => answer!("{line}")?,
            Results::Stderr => remark!("{line}"),
            Results::Hidden => {}
        }
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) {
        remark!("pgdyno: {notice}");
    }
}

/// The figures of a trial in a line.
fn words(outcome: &Outcome) -> String {
    let measured = &outcome.recording.measured;
    let all = measured.all();
    let latencies = all.response.as_ref().unwrap_or(&all.service);
    let mut line = format!("{} tx/s", text::rate(measured.goodput_per_s()));
    // Those that there are.
    let percentiles = [50.0, 99.0].into_iter().filter_map(|percent| {
        let us = latencies.percentile_us(percent)?;
        Some(format!("  p{percent} {}", text::ms(us)))
    });
    let percentiles: String = percentiles.collect();
    if !percentiles.is_empty() {
        line += &format!("{percentiles} ms");
    }
    // A transaction of it is a CALL of any length.
    if let Some(it) = outcome.findings.get::<Accounting>()
        && let (Some(liops), Some(ratio)) = (it.liops(), it.hit_ratio())
    {
        line = format!(
            "{} LIOPS  hit ratio {}",
            text::rate(liops),
            text::share(ratio)
        );
    }
    let warmup_us = { outcome.recording.warmup.as_ref() }.map_or(0, |it| it.elapsed_us);
    let stopped = Stopped::of(&outcome.recording, warmup_us).length();
    if !stopped.is_zero() {
        let stopped = text::seconds(stopped.as_secs_f64());
        line += &format!("  pgdyno itself did not run for {stopped}");
    }
    let failed = all.counts.failed_total();
    if failed > 0 {
        line += &format!("  {} failed", text::count(failed));
    }
    line
}
