//! A trial that a command runs: kept, ended by Ctrl-C, its result printed.

use pgdyno_drive::Control;
use pgdyno_drive::record::End;
use pgdyno_model::document::WholeTrial;
use pgdyno_model::{Exit, Failure, Observer, Observers, Outcome};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_report::{documents, summary};
use pgdyno_run::interrupt::EndOnInterrupt;
use pgdyno_run::prepare::Prepared;
use pgdyno_run::trial::Trial;

use pgdyno_platform::terminal;

use crate::{Keep, Sink, hints, remark, rescued, width, write_report};

/// Prints the summary of a trial, unless JSON takes its place, and writes the JSON.
///
/// # Errors
/// A full disk.
pub fn print_document(document: &WholeTrial, json: Sink) -> Result<(), Failure> {
    if !matches!(json, Sink::Stdout) {
        let text = match terminal::width() {
            Some(_) => {
                let wanted = hints::wanted();
                hints::told(wanted);
                summary::brief(&document.trial, width(), wanted)
            }
            None => summary::text(&document.trial, width()),
        };
        write_report(format_args!("{text}"))?;
    }
    json.write(document)
}

/// A trial that was run.
pub struct Ran {
    /// What came of it.
    pub outcome: Outcome,
    /// The number that it is kept by, if it was to be kept.
    kept: Result<Option<i64>, Failure>,
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
        let outcome = EndOnInterrupt::on(&control, interrupts, interrupted_before)
            .and_then(|_until_then| trial.run(prepared, &control, &mut observers));
        match outcome {
            Ok(outcome) => Ok(Self {
                kept: keep.finish(&outcome),
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
    /// A full disk. What is not kept either then goes to a file of its own, which is named.
    pub fn print(&self, json: Sink, quiet: bool) -> Result<(), Failure> {
        let document = documents::whole(&self.outcome);
        let printed = print_document(&document, json);
        if printed.is_ok() && !quiet {
            self.say_where();
        }
        printed.map_err(|unprinted| match &self.kept {
            Ok(_) => unprinted,
            Err(unkept) => rescued(unkept.clone(), &document).detail(unprinted.message),
        })
    }

    /// Says by which number it is kept, if it is.
    pub fn say_where(&self) {
        if let Ok(Some(number)) = self.kept {
            remark!("pgdyno: kept as trial {number} (pgdyno show {number})");
        }
    }

    /// Whether something that must hold of the data did not.
    fn has_failed_check(&self) -> bool {
        let mut checks = self.outcome.checks.iter();
        checks.any(|check| check.held == Some(false))
    }

    /// What the run came to, whether or not it could be kept.
    pub fn measured(&self, interrupts: &Interrupts) -> Exit {
        let recording = &self.outcome.recording;
        if recording.end == End::Interrupted {
            Exit::Interrupted(interrupts.exit_code().unwrap_or(130))
        } else if self.outcome.has_lost_writes() {
            Exit::Failed
        } else if recording.has_lost_server() {
            Exit::Connection
        } else if recording.clients.aborted > 0
            || self.is_badly_disturbed()
            || self.has_failed_check()
        {
            Exit::Failed
        } else {
            Exit::Ok
        }
    }

    /// Whether a command that was to disturb it failed.
    fn is_badly_disturbed(&self) -> bool {
        let disturbed = self.outcome.disturbed.as_ref();
        disturbed.is_some_and(|it| !it.troubles().is_empty())
    }

    /// What came of it, after everything is printed.
    ///
    /// # Errors
    /// It could not be kept; names the file that has the complete result.
    pub fn kept(self) -> Result<Outcome, Failure> {
        match self.kept {
            Ok(_) => Ok(self.outcome),
            Err(failure) => Err(rescued(failure, &documents::whole(&self.outcome))),
        }
    }

    /// The exit of a command that has printed everything.
    ///
    /// # Errors
    /// As [`Ran::kept`], with the exit code of the run unless that is 0.
    pub fn exit(self, interrupts: &Interrupts) -> Result<Exit, Failure> {
        let exit = self.measured(interrupts);
        match self.kept() {
            Ok(_) => Ok(exit),
            Err(failure) if exit == Exit::Ok => Err(failure),
            Err(failure) => Err(Failure { exit, ..failure }),
        }
    }
}
