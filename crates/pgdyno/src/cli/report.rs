//! `pgdyno report`: a trial, an experiment or a set of trials as one self-contained page.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use pgdyno_model::notebook::{Filter, TrialRow};
use pgdyno_model::observed::Rows;
use pgdyno_observe::catalog;
use pgdyno_output::{StoreArgs, Verbosity, answer, write_answer};
use pgdyno_report::{markdown, page};
use pgdyno_spec::{Exit, Failure};
use pgdyno_store::Store;

/// What to report on, and where to.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno report                          the newest trial, or its experiment: pgdyno-report.html
  pgdyno report 12 -o slow.html          one trial
  pgdyno report article-1                an experiment, with the pages of its trials inside
  pgdyno report 3-8 tag:pg18             trials without a common experiment
  pgdyno report article-1 --folder site  site/index.html, and site/12/index.html … a trial each
  pgdyno report 12 --markdown            for a ticket, on standard output

The file is self-contained: it opens offline and loads nothing from other hosts. To compare two
sets: pgdyno compare A B --html FILE. What the page shows: pgdyno help report")]
pub struct ReportArgs {
    /// A trial (number or UUID), an experiment's name, tag:NAME, or several trials: 3-8, 3,5,7
    #[arg(value_name = "TRIAL|SET")]
    pub called: Vec<String>,

    /// The file
    #[arg(short, long, value_name = "FILE", default_value = "pgdyno-report.html")]
    pub output: PathBuf,

    /// Overwrite a file that is not a report
    #[arg(long)]
    pub force: bool,

    /// For an experiment: leave out the pages of its trials
    #[arg(long)]
    pub without_trials: bool,

    /// Write the page to index.html in this directory instead, and that of each trial to index.html in
    /// a directory of its number there
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "markdown"])]
    pub folder: Option<PathBuf>,

    /// Print Markdown on standard output instead
    #[arg(long, conflicts_with_all = ["output", "force", "without_trials"])]
    pub markdown: bool,

    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Runs the command.
pub fn open(args: &ReportArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let store = args.store.existing()?;
    let subject = Subject::find(&store, &args.called)?;
    let with_trials = !args.without_trials && !args.markdown;
    let with_trials = with_trials.then_some(catalog::row as Rows);
    subject.check_seconds(&store)?;
    if let Some(folder) = &args.folder {
        for trial in subject.trials(&store)? {
            let document = page::trial(&store, &trial, catalog::row)?;
            let path = in_folder(&folder.join(trial.number.to_string()))?;
            put(&path, args.force, &document.common.title, &document)?;
        }
    }
    let mut progress = verbosity.progress();
    match subject {
        Subject::Trial(trial) => {
            let document = page::trial(&store, &trial, catalog::row)?;
            show(args, &document.common.title, &document, markdown::trial)?;
        }
        Subject::Experiment(uuid) => {
            let document = page::experiment(
                &store,
                &store.experiment(&uuid)?,
                with_trials,
                &mut progress,
            )?;
            show(
                args,
                &document.common.title,
                &document,
                markdown::experiment,
            )?;
        }
        Subject::Set(name, trials) => {
            let document = page::set(&store, &name, trials, with_trials, &mut progress)?;
            show(
                args,
                &document.common.title,
                &document,
                markdown::experiment,
            )?;
        }
    }
    Ok(Exit::Ok)
}

/// As it was asked for: as Markdown, or as a page.
fn show<T: Serialize>(
    args: &ReportArgs,
    title: &str,
    document: &T,
    as_markdown: fn(&T) -> String,
) -> Result<(), Failure> {
    if args.markdown {
        write_answer(format_args!("{}", as_markdown(document)))
    } else {
        match &args.folder {
            Some(folder) => put(&in_folder(folder)?, args.force, title, document),
            None => put(&args.output, args.force, title, document),
        }
    }
}

/// The page of a directory, which is made where it is not there.
fn in_folder(folder: &Path) -> Result<PathBuf, Failure> {
    std::fs::create_dir_all(folder).map_err(|e| {
        Failure::new(format!(
            "cannot make the directory {}: {e}",
            folder.display()
        ))
        .hint("name another: --folder DIR")
    })?;
    Ok(folder.join("index.html"))
}

/// Writes the page and says where it is.
pub fn put(
    path: &Path,
    force: bool,
    title: &str,
    document: &impl Serialize,
) -> Result<(), Failure> {
    let place = page::Place {
        path: path.to_owned(),
        force,
    };
    page::write(&place, document)?;
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    answer!(
        "{} ({}): {}",
        path.display(),
        pgdyno_spec::text::bytes(bytes as f64),
        pgdyno_report::table::one_line(title)
    )
}

/// What a report is on.
enum Subject {
    Trial(Box<TrialRow>),
    /// By its UUID.
    Experiment(String),
    /// Trials with the words that named them.
    Set(String, Vec<TrialRow>),
}

impl Subject {
    /// Refuses trials of which there are totals only.
    fn check_seconds(&self, store: &Store) -> Result<(), Failure> {
        let trials = self.trials(store)?;
        trials.iter().try_for_each(TrialRow::check_seconds)
    }

    /// The trials that it is on.
    fn trials(&self, store: &Store) -> Result<Vec<TrialRow>, Failure> {
        match self {
            Self::Trial(trial) => Ok(vec![(**trial).clone()]),
            Self::Set(_, trials) => Ok(trials.clone()),
            Self::Experiment(uuid) => store.trials(&Filter {
                experiment: Some(uuid.clone()),
                ..Filter::default()
            }),
        }
    }

    fn find(store: &Store, called: &[String]) -> Result<Self, Failure> {
        let [called] = called else {
            return match called {
                [] => Self::newest(store),
                several => {
                    let mut trials = Vec::new();
                    for called in several {
                        trials.extend(super::trials_arg::trials(store, called)?);
                    }
                    trials.sort_by_key(|trial| trial.number);
                    trials.dedup_by_key(|trial| trial.number);
                    Ok(Self::Set(several.join(" "), trials))
                }
            };
        };
        if called.starts_with("tag:") || called.contains([',']) || is_range(called) {
            let trials = super::trials_arg::trials(store, called)?;
            return Ok(Self::Set(called.clone(), trials));
        }
        let trial = store.trial(called);
        match store.experiment(called) {
            Ok(row) if trial.is_err() => Ok(Self::Experiment(row.uuid)),
            // A number is a trial's; what is both means the trial, which is the smaller thing.
            _ => {
                match trial {
                    Ok(trial) => Ok(Self::Trial(Box::new(trial))),
                    Err(failure) => Err(failure
                        .hint("an experiment by its name: pgdyno ls --experiments lists them")),
                }
            }
        }
    }

    fn newest(store: &Store) -> Result<Self, Failure> {
        let newest = store.trials(&Filter {
            limit: Some(1),
            ..Filter::default()
        })?;
        let Some(trial) = newest.into_iter().next() else {
            let text = format!("no trials in {} yet", store.place());
            return Err(Failure::with(Exit::Usage, text)
                .hint("measure something first: pgdyno run tpcb -T 10"));
        };
        let experiment = trial.experiment_name.clone().zip(trial.experiment);
        let Some((name, number)) = experiment else {
            return Ok(Self::Trial(Box::new(trial)));
        };
        let named = store.experiments_named(&name)?;
        let row = named.into_iter().find(|row| row.number == number);
        Ok(match row {
            Some(row) => Self::Experiment(row.uuid),
            None => Self::Trial(Box::new(trial)),
        })
    }
}

/// `3-8`
fn is_range(called: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    called
        .split_once('-')
        .is_some_and(|(first, last)| is_number(first) && is_number(last))
}
