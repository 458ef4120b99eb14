//! `pgdyno show`: a trial's result again, from the notebook, or an experiment's, point by point.

use std::path::Path;

use clap::Args;

use pgdyno_model::notebook::{Filter, TrialRow};
use pgdyno_observe::catalog;
use pgdyno_output::{JsonArg, StoreArgs, Verbosity, table_width, width, write_report};
use pgdyno_report::summary::Detail;
use pgdyno_report::table::one_line;
use pgdyno_report::{calibration, capacity, documents, lab, notes, observed, points, summary};
use pgdyno_run::command_line::quoted;
use pgdyno_spec::{Exit, Failure};
use pgdyno_store::Store;

use super::sweep;

/// Which trial.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno show                  the newest trial: all that `pgdyno run -v` prints, and more
  pgdyno show -v               with what instruments saw, and the server's settings
  pgdyno show 12               this one
  pgdyno show 12 -q            only what pgdyno run printed
  pgdyno show tag:baseline     the newest one with this tag
  pgdyno show 12 --series 'pg.io*'             these series, with all their parts
  pgdyno show 3f2a --json      everything that `pgdyno run --json` gives, and `stored`
  pgdyno show --experiment article-1           one row per point: median over repeats, percentiles
  pgdyno show --experiment calibrate-db1:5432  a calibration with its verdicts

List experiments with pgdyno ls --experiments.")]
pub struct ShowArgs {
    /// Its number, the first characters of its UUID, or tag:NAME for the newest one with this tag
    /// [default: the newest]
    #[arg(value_name = "TRIAL")]
    pub trial: Option<String>,
    /// Show the points of an experiment: its name, the first characters of its UUID, or its file
    #[arg(long, value_name = "EXPERIMENT", conflicts_with = "trial")]
    pub experiment: Option<String>,
    /// Show only these series (* is a wildcard), with all of their parts, also those that never
    /// changed
    #[arg(long, value_name = "NAME", conflicts_with = "experiment")]
    pub series: Vec<String>,
    /// For programs.
    #[command(flatten)]
    pub json: JsonArg,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Runs the command.
pub fn open(args: &ShowArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let store = args.store.existing()?;
    if let Some(called) = &args.experiment {
        return experiment(args, &store, called);
    }
    let trial = match &args.trial {
        Some(called) => match called.strip_prefix("tag:") {
            Some(tag) => newest(&store, vec![tag.to_owned()])?,
            None => store.trial(called)?,
        },
        None => newest(&store, Vec::new())?,
    };
    trial.check_seconds()?;
    let outcome = store.outcome(trial.number)?;
    let json_to = args.json.open()?;
    let mut document = documents::whole(&outcome);
    if verbosity.quiet && !args.json.replaces_text() {
        let summary = summary::text(&document.trial, width(), Detail::First, None);
        write_report(format_args!("{summary}"))?;
    } else if !args.json.replaces_text() {
        let summary = summary::text(&document.trial, width(), Detail::All, None);
        let mut parts = vec![heading(&trial), summary];
        if verbosity.verbose > 0 || !args.series.is_empty() {
            let choice = observed::Choice {
                names: args.series.clone(),
                rows: catalog::row,
            };
            parts.push(observed::text(&document.trial, &choice, width()));
        }
        if verbosity.verbose > 0 {
            parts.push(summary::settings(&document.trial));
        }
        parts.retain(|part| !part.is_empty());
        write_report(format_args!("{}", parts.join("\n")))?;
    }
    let run = &mut document.trial.run;
    run.stored = Some(documents::stored(&trial));
    run.pgdyno.clone_from(&trial.pgdyno);
    json_to.write(&document)?;
    Ok(Exit::Ok)
}

/// The newest trial with all of these tags.
fn newest(store: &Store, tags: Vec<String>) -> Result<TrialRow, Failure> {
    let with = tags
        .first()
        .map_or_else(String::new, |tag| format!(" with tag {tag}"));
    let filter = Filter {
        tags,
        limit: Some(1),
        ..Filter::default()
    };
    store.trials(&filter)?.pop().ok_or_else(|| {
        Failure::with(Exit::Usage, format!("the notebook has no trial{with}"))
            .hint("pgdyno ls lists trials and their tags")
    })
}

fn experiment(args: &ShowArgs, store: &Store, called: &str) -> Result<Exit, Failure> {
    let file = Path::new(called);
    let row = if file.is_file() {
        store.experiment(&sweep::of_file(file, &sweep::text_of(file)?)?.name)?
    } else {
        store.experiment(called)?
    };
    let json_to = args.json.open()?;
    if let Some(calibrated) = pgdyno_diagnose::calibration::read::of_experiment(store, &row)? {
        let document = calibration::document(&calibrated);
        if !args.json.replaces_text() {
            let notes = notes::of_experiment(store, &row.uuid)?;
            write_report(format_args!(
                "{}{notes}",
                lab::text(&document, calibration::WIDTH)
            ))?;
        }
        return json_to.write(&document).map(|()| Exit::Ok);
    }
    let points = points::of_experiment(store, &row)?;
    if !args.json.replaces_text() {
        let (name, uuid, created) = (one_line(&row.name), &row.uuid, &row.created);
        write_report(format_args!(
            "experiment {name}, {uuid}, begun {created}\n\n{}",
            points::text(&points, table_width())
        ))?;
        if let Some(capacity) = &points.capacity {
            write_report(format_args!(
                "\n{}",
                capacity::text(capacity, table_width())
            ))?;
        }
    }
    json_to.write(&points)?;
    Ok(Exit::Ok)
}

fn heading(trial: &TrialRow) -> String {
    let mut text = format!(
        "trial {}, {}, begun {}: {}",
        trial.number, trial.uuid, trial.started, trial.state
    );
    if let Some(reason) = &trial.reason {
        text += &format!(" ({})", one_line(reason));
    }
    text.push('\n');
    if let Some(experiment) = &trial.experiment_name {
        text += &format!("experiment   {}", one_line(experiment));
        if let Some(point) = &trial.point {
            text += &format!(", point {point}");
        }
        if let Some(repeat) = trial.repeat {
            text += &format!(", repeat {repeat}");
        }
        text.push('\n');
    }
    if !trial.tags.is_empty() {
        text += &format!("tags         {}\n", one_line(&trial.tags.join(" ")));
    }
    if let Some(note) = &trial.note {
        text += &format!("note         {}\n", one_line(note));
    }
    if let Some(reason) = &trial.excluded {
        text += &format!("EXCLUDED     {}\n", one_line(reason));
    }
    text += &format!("command      {}\n", one_line(&trial.command));
    // A sweep's trials have the sweep's command; this is the trial itself.
    if trial.spec.can_be_typed() {
        let words: Vec<String> = trial.spec.words().iter().map(|word| quoted(word)).collect();
        text += &format!("as a run     pgdyno run {}\n", one_line(&words.join(" ")));
    } else if !trial.spec.workload.is_empty() {
        let settings = trial.spec.settings.iter();
        let settings: String = settings
            .map(|(name, value)| format!(", {name} {value}"))
            .collect();
        text += &format!(
            "again        pgdyno rerun {}{}\n",
            trial.number,
            one_line(&settings)
        );
    }
    text
}
