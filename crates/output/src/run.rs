//! A trial that a command runs: kept, ended by Ctrl-C, its result printed.

use pgdyno_drive::Control;
use pgdyno_measurement::{End, Level, Message};
use pgdyno_model::document::{DataCheck, Disturbed, WholeTrial};
use pgdyno_model::{Observer, Observers, Outcome};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_report::summary::Detail;
use pgdyno_report::{documents, first_screen, summary};
use pgdyno_run::interrupt::EndOnInterrupt;
use pgdyno_run::prepare::Prepared;
use pgdyno_run::trial::Trial;
use pgdyno_spec::{Exit, Failure};

use crate::{Keep, Sink, StoredRun, Verbosity, remark, rescued, width, write_report};

/// What a command knows of a trial beside its document.
#[derive(Debug, Clone, Copy, Default)]
pub struct Said<'a> {
    pub kept: Option<StoredRun>,
    /// What the first client that failed said, with the place in its script.
    pub first_error: Option<&'a str>,
}

/// The first error of a client.
#[derive(Default)]
struct FirstError(Option<String>);

impl<O> Observer<O> for FirstError {
    fn message(&mut self, message: &Message) {
        if message.level == Level::Error && self.0.is_none() {
            self.0 = Some(message.text.clone());
        }
    }
}

/// Prints the summary of a trial, unless JSON takes its place, and writes the JSON. With `-v` the summary
/// says more; it ends with what to type for more of a trial that is kept.
///
/// # Errors
/// A full disk.
pub fn print_document(
    document: &WholeTrial,
    json: Sink,
    verbosity: Verbosity,
    said: Said<'_>,
) -> Result<(), Failure> {
    let prints = !matches!(json, Sink::Stdout);
    // First: output that cannot be written must not cost the file.
    let written = json.write(document);
    if prints {
        let detail = match verbosity.verbose {
            0 => Detail::First,
            _ => Detail::More,
        };
        let text = summary::text(&document.trial, width(), detail, said.first_error);
        let more = said.kept.filter(|_| !verbosity.quiet);
        let more = more.map_or_else(String::new, |kept| {
            format!("\n{}", first_screen::more(kept.number, kept.before))
        });
        write_report(format_args!("{text}{more}"))?;
    }
    written
}

/// A trial that was run.
pub struct Ran {
    pub outcome: Outcome,
    /// Where it is kept, if it was to be kept.
    kept: Result<Option<StoredRun>, Failure>,
    first_error: Option<String>,
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
        let mut first_error = FirstError::default();
        let mut observers = Observers::new([keep.observer(), observer, &mut first_error]);
        let outcome = EndOnInterrupt::on(&control, interrupts, interrupted_before)
            .and_then(|_until_then| trial.run(prepared, &control, &mut observers));
        match outcome {
            Ok(outcome) => Ok(Self {
                kept: keep.finish(&outcome),
                outcome,
                first_error: first_error.0,
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
    pub fn print(&self, json: Sink, verbosity: Verbosity) -> Result<(), Failure> {
        let document = documents::whole(&self.outcome);
        let has_text = !matches!(json, Sink::Stdout);
        let said = Said {
            kept: self.kept.as_ref().ok().copied().flatten(),
            first_error: self.first_error.as_deref(),
        };
        let printed = print_document(&document, json, verbosity, said);
        if printed.is_ok() && !verbosity.quiet && !has_text {
            self.say_where();
        }
        printed.map_err(|unprinted| match &self.kept {
            Ok(_) => unprinted,
            Err(unkept) => rescued(unkept.clone(), &document).detail(unprinted.message),
        })
    }

    /// Says by which number it is kept, if it is.
    pub fn say_where(&self) {
        if let Ok(Some(StoredRun { number, .. })) = self.kept {
            remark!("pgdyno: kept as trial {number} (pgdyno show {number})");
        }
    }

    /// Whether transactions failed and none was committed: other programs end well then, a measurement
    /// of pgdyno's own does not.
    pub fn has_only_failed(&self) -> bool {
        let counts = self.outcome.recording.measured.all().counts;
        counts.committed == 0 && counts.failed_total() > 0
    }

    /// Whether something that must hold of the data did not.
    fn has_failed_check(&self) -> bool {
        let checks: Option<Vec<DataCheck>> = self.outcome.findings.get();
        checks.is_some_and(|checks| checks.iter().any(|check| check.held == Some(false)))
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
        let disturbed: Option<Disturbed> = self.outcome.findings.get();
        disturbed.is_some_and(|it| !it.troubles().is_empty())
    }

    /// What came of it, after everything is printed.
    ///
    /// # Errors
    /// It could not be kept; names the file that has the complete result.
    pub fn stored(self) -> Result<Outcome, Failure> {
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
        match self.stored() {
            Ok(_) => Ok(exit),
            Err(failure) if exit == Exit::Ok => Err(failure),
            Err(failure) => Err(Failure { exit, ..failure }),
        }
    }
}
