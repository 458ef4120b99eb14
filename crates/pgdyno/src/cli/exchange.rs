//! `pgdyno export` and `pgdyno import`: trials from one notebook into another.

use std::path::PathBuf;

use clap::Args;

use super::pgbench_tools_results::{self, Results};
use pgdyno_model::notebook::{Filter, PGBENCH_TOOLS};
use pgdyno_model::{Exit, Failure, text};
use pgdyno_output::{StoreArgs, Verbosity};
use pgdyno_store::{Copied, Store};

/// What goes where.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno export -o all.sqlite                  every trial
  pgdyno export 12 13 disks -o some.sqlite     two trials, and the experiment \"disks\"
  pgdyno ls --store some.sqlite                the file is a notebook like any other")]
pub struct ExportArgs {
    /// Trials (number, or the first characters of the UUID) and experiments (name, or the first
    /// characters of the UUID) [default: everything]
    #[arg(value_name = "TRIAL|EXPERIMENT")]
    pub what: Vec<String>,
    /// The file to write; it must not exist
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `pgdyno export`
pub fn export(args: &ExportArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let store = args.store.existing()?;
    let mut numbers = Vec::new();
    for called in &args.what {
        numbers.extend(meant(&store, called)?);
    }
    let chosen = (!args.what.is_empty()).then_some(numbers.as_slice());
    let copied = store.export(chosen, &args.output)?;
    tell(
        copied,
        &format!("written to {}", args.output.display()),
        verbosity,
    );
    Ok(Exit::Ok)
}

/// A trial, or those of an experiment.
fn meant(store: &Store, called: &str) -> Result<Vec<i64>, Failure> {
    let no_trial = match store.trial_number(called) {
        Ok(number) => return Ok(vec![number]),
        Err(failure) => failure,
    };
    let filter = Filter {
        experiment: Some(called.to_owned()),
        ..Filter::default()
    };
    match store.trials(&filter) {
        Ok(trials) => Ok(trials.into_iter().map(|trial| trial.number).collect()),
        Err(_) => Err(no_trial.detail("there is no experiment of that name either")),
    }
}

/// What is added.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno import from-the-lab.sqlite    adds new trials; a second time does nothing
  pgdyno import --from-pgbench-tools postgresql://lab/results
                                       the same from a results database of pgbench-tools

Trials are identified by their UUIDs and get new numbers; notes and tags of trials that already exist
do not change.")]
pub struct ImportArgs {
    /// A notebook file, such as `pgdyno export` writes, or the URL of a notebook on a server
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Add the tests of a results database of pgbench-tools: its sets become experiments
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    pub from_pgbench_tools: Option<String>,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `pgdyno import`
pub fn import(args: &ImportArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let mut not_taken = Vec::new();
    let (store, copied) = match (&args.file, &args.from_pgbench_tools) {
        (_, Some(url)) => {
            let results = pgbench_tools_results::read(url)?;
            let store = args.store.open()?;
            let copied = store.add_foreign(PGBENCH_TOOLS, &results.experiments)?;
            not_taken = not_taken_over(&results);
            (store, copied)
        }
        (Some(file), None) => {
            let store = args.store.open()?;
            let copied = store.import(file)?;
            (store, copied)
        }
        (None, None) => {
            return Err(Failure::with(Exit::Usage, "nothing to import")
                .hint("name a notebook file: pgdyno import FILE")
                .hint("or a results database: pgdyno import --from-pgbench-tools URL"));
        }
    };
    tell(copied, &format!("added to {}", store.place()), verbosity);
    for what in not_taken.iter().filter(|_| !verbosity.quiet) {
        pgdyno_output::remark!("pgdyno: {what}");
    }
    Ok(Exit::Ok)
}

/// What of a results database is not in the notebook, a line each.
fn not_taken_over(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    if results.unended > 0 {
        let tests = results.unended;
        lines.push(format!("tests that have not ended were left out: {tests}"));
    }
    if results.without_rate > 0 {
        lines.push(format!(
            "tests without a rate became failed trials: {} (their tps is NULL or 0; what pgbench said is \
             in results.txt of the test's folder)",
            results.without_rate
        ));
    }
    if !results.left_out.is_empty() {
        let tables = results.left_out.iter();
        let tables = tables.map(|(name, rows)| format!("{name} ({})", text::count(*rows)));
        let tables: Vec<String> = tables.collect();
        lines.push(format!(
            "tables without a place in the notebook were left out, with their rows: {}",
            tables.join(", ")
        ));
    }
    lines
}

pub(super) fn tell(copied: Copied, what: &str, verbosity: Verbosity) {
    if verbosity.quiet {
        return;
    }
    let trials = |count: usize| {
        if count == 1 {
            "1 trial".to_owned()
        } else {
            format!("{count} trials")
        }
    };
    let mut text = format!("pgdyno: {} {what}", trials(copied.trials));
    if copied.known > 0 {
        text += &format!(", {} there already", trials(copied.known));
    }
    if copied.running > 0 {
        text += &format!(
            ", {} left out because still running",
            trials(copied.running)
        );
    }
    pgdyno_output::remark!("{text}");
}
