//! A trial that a command runs: kept, ended by Ctrl-C, its result printed.

use pgdyno_drive::Control;
use pgdyno_drive::record::End;
use pgdyno_model::{Exit, Failure, Observer, Observers, Outcome};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_report::{documents, summary};
use pgdyno_run::interrupt::EndOnInterrupt;
use pgdyno_run::prepare::Prepared;
use pgdyno_run::trial::Trial;

use crate::{Keep, Sink, remark, width, write_answer};

/// A trial that was run.
pub struct Ran {
    /// What came of it.
    pub outcome: Outcome,
    /// The number that it is kept by.
    pub number: Option<i64>,
}

impl Ran {
    /// Runs what was prepared, observed and kept. Interrupts beyond the number that had come before it
    /// was prepared end it.
    ///
    /// # Errors
    /// As [`Trial::run`]; why it came to nothing is kept then.
    pub fn run(
        trial: Trial,
        prepared: &Prepared,
        mut keep: Keep,
        observer: &mut dyn Observer<Outcome>,
        (interrupts, interrupted_before): (&'static Interrupts, u32),
    ) -> Result<Self, Failure> {
        let control = Control::default();
        let mut observers = Observers::new([keep.observer(), observer]);
        let end = EndOnInterrupt::on(&control, interrupts, interrupted_before);
        let outcome = trial.run(prepared, &control, &mut observers);
        drop(end);
        match outcome {
            Ok(outcome) => Ok(Self {
                number: keep.finish(&outcome),
                outcome,
            }),
            Err(failure) => {
                keep.end_with(&failure);
                Err(failure)
            }
        }
    }

    /// Prints the summary, unless JSON takes its place, writes the JSON and says where it is kept.
    ///
    /// # Errors
    /// A full disk.
    pub fn print(&self, json: Sink, quiet: bool) -> Result<(), Failure> {
        let document = documents::whole(&self.outcome);
        if !matches!(json, Sink::Stdout) {
            write_answer(format_args!("{}", summary::text(&document.trial, width())))?;
        }
        json.write(&document)?;
        if !quiet {
            self.say_where();
        }
        Ok(())
    }

    /// Says by which number it is kept, if it is.
    pub fn say_where(&self) {
        if let Some(number) = self.number {
            remark!("pgdyno: kept as trial {number} (pgdyno show {number})");
        }
    }

    /// What it comes to for the shell.
    pub fn exit(&self, interrupts: &Interrupts) -> Exit {
        let recording = &self.outcome.recording;
        if recording.end == End::Interrupted {
            Exit::Interrupted(interrupts.exit_code().unwrap_or(130))
        } else if recording.clients.disconnected > 0 {
            Exit::Connection
        } else if recording.clients.aborted > 0 {
            Exit::Failed
        } else {
            Exit::Ok
        }
    }
}
