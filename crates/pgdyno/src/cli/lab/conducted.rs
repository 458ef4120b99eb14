//! What laboratories of disturbances and of isolation have in common: how their trials are carried out, and
//! what `--with` means.

use clap::Args;
use pgdyno_model::Observers;
use pgdyno_observe::ObserveOptions;
use pgdyno_output::{JsonArg, Sink, Verbosity, remark, table_width, write_answer, write_report};
use pgdyno_report::lab::{self, Lab};
use pgdyno_report::notes;
use pgdyno_run::disturb::catalogue;
use pgdyno_run::experiment::conduct::{self, Ended, Means};
use pgdyno_run::experiment::notebook::StoredExperiment;
use pgdyno_run::experiment::plan::Plan;
use pgdyno_run::experiment::study::{Study, TrialsAlone};
use pgdyno_run::generators::Conductor;
use pgdyno_run::settings;
use pgdyno_spec::command::ShellCommand;
use pgdyno_spec::experiment::Commented;
use pgdyno_spec::{DisturbSpec, Step, TargetSpec, Timed};
use pgdyno_spec::{Exit, Failure};
use pgdyno_store::Store;
use serde::Serialize;

use crate::screen::Screen;
use crate::screen::experiment::Lines;

/// What is said when a laboratory ended early.
const RESUME: &str = "continue with incomplete trials: the same command with --resume";

/// Disturbances by name.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Disturbance")]
pub struct WithArgs {
    /// Disturb by what pgdyno can do itself, such as sigstop:for=3s (repeatable)
    ///
    /// Short for --during 'pgdyno:NAME KEY=VALUE …', with a --for that fits; all of them begin at the same moment.
    /// Which there are: pgdyno lab disturb --list. random, of lab disturb: a sequence with pauses, drawn by --seed
    /// from what the target allows, one by one for --for [default: 1m].
    #[arg(long, value_name = "NAME")]
    pub with: Vec<String>,
}

impl WithArgs {
    /// Adds what is asked for, and says how long the whole lasts.
    ///
    /// # Errors
    /// There is no disturbance of this name, or it does not take an option.
    pub fn add(&self, disturb: &mut DisturbSpec) -> Result<(), Failure> {
        let before = disturb.before();
        for with in &self.with {
            let command = ShellCommand::from(catalogue::command(with));
            match disturb.during {
                None => disturb.during = Some(command),
                Some(_) => disturb.at.push(Timed(Step {
                    at: before,
                    command,
                })),
            }
        }
        if disturb.lasting.is_none() && !self.with.is_empty() {
            catalogue::last_as_the_longest(disturb)?;
        }
        Ok(())
    }
}

/// Prints the experiment for `pgdyno sweep`, without its secrets.
///
/// # Errors
/// It cannot be written.
pub fn print(made: Commented) -> Result<Exit, Failure> {
    let made = Commented {
        experiment: made.experiment.without_secrets(),
        ..made
    };
    write_answer(format_args!("{}", made.to_toml())).map(|()| Exit::Ok)
}

/// Prints what a laboratory found, unless there is nothing (`None`), with its notes, and writes its document.
///
/// # Errors
/// The notebook cannot be read, or the document cannot be written.
pub fn show(
    found: Option<&dyn Lab>,
    document: &impl Serialize,
    (store, notebook): (&Store, &StoredExperiment<'_>),
    (json, json_to): (&JsonArg, Sink),
    width: usize,
) -> Result<(), Failure> {
    let written = json_to.write(document);
    if let Some(found) = found.filter(|_| !json.replaces_text()) {
        let text = lab::text(found, table_width().min(width));
        let notes = notes::of_experiment(store, notebook.uuid()?)?;
        write_report(format_args!("{text}{notes}"))?;
    }
    written
}

/// # Errors
/// The laboratory ended early, or a trial failed, with how to go on.
pub fn all_complete(ended: Ended) -> Result<(), Failure> {
    match ended.early {
        Some(failure) => Err(failure.hint(RESUME)),
        None if ended.failed > 0 => Err(ended.of_failed().hint(RESUME)),
        None => Ok(()),
    }
}

/// A laboratory that is carried out.
pub struct Conducted<'a> {
    /// What it is called for people: `lab disturb`.
    pub name: &'a str,
    /// Its trials.
    pub plan: &'a Plan,
    /// Where they are kept.
    pub notebook: &'a StoredExperiment<'a>,
    /// The target of points that name none.
    pub wanted: TargetSpec,
    /// What is observed beside trials.
    pub observe: ObserveOptions,
    /// The other generators.
    pub generators: Option<Conductor<'a>>,
}

impl Conducted<'_> {
    /// Runs what is not complete, and shows how far it is.
    ///
    /// # Errors
    /// As [`conduct::conduct`].
    pub fn run(self, verbosity: Verbosity) -> Result<Ended, Failure> {
        self.run_with(&mut TrialsAlone, verbosity)
    }

    /// The same, with what is done around each trial.
    ///
    /// # Errors
    /// As [`conduct::conduct`].
    pub fn run_with(self, study: &mut dyn Study, verbosity: Verbosity) -> Result<Ended, Failure> {
        self.run_with_lines(study, verbosity, &mut Lines::on_stderr(verbosity))
    }

    /// The same; `lines` then knows what it has said.
    ///
    /// # Errors
    /// As [`conduct::conduct`].
    pub fn run_with_lines(
        self,
        study: &mut dyn Study,
        verbosity: Verbosity,
        lines: &mut Lines,
    ) -> Result<Ended, Failure> {
        let interrupts = pgdyno_run::interrupts()?;
        if !verbosity.quiet {
            let (_, words) = conduct::whole_time(self.plan);
            remark!(
                "pgdyno: {}: {} trials, {words}",
                self.name,
                self.plan.slots.len()
            );
        }
        let journals = settings::directory()?;
        let mut screen = Screen::new(verbosity);
        conduct::conduct(
            self.plan,
            Means {
                wanted: self.wanted,
                observe: self.observe,
                target: None,
                replace: true,
                journals: &journals,
                progress: &mut verbosity.progress(),
                observer: &mut Observers::new([&mut screen, lines]),
                study,
                notebook: self.notebook,
                generators: self.generators,
                interrupts,
            },
        )
    }
}
