//! `pgdyno export` and `pgdyno import`: trials from one notebook into another, as a bundle, and the history of one as a
//! file.

use std::path::{Path, PathBuf};

use clap::Args;

use super::history_file::{self, HistoryFile, HistoryForm};
use super::pgbench_tools_results::{self, Results};
use super::{trials_arg, version};
use pgdyno_evidence::bundle::{self, Bundle};
use pgdyno_model::notebook::{Filter, PGBENCH_TOOLS};
use pgdyno_output::{StoreArgs, Verbosity, answer};
use pgdyno_spec::{Exit, Failure, text};
use pgdyno_store::{Copied, HISTORY_NOT_KEPT, Store};

/// What goes where.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno export -o all.sqlite                  every trial
  pgdyno export 12 13 disks -o some.sqlite     two trials, and the experiment \"disks\"
  pgdyno export disks --bundle disks.bundle    evidence: rows, packs, scripts, figures, hashes in one file
  pgdyno export old new --bundle both.bundle   two sets, and their comparison
  pgdyno ls --store some.sqlite                the file is a notebook like any other
  pgdyno export disks -o disks.sqlite --tables    with histograms as rows, for DuckDB and pandas
  pgdyno export 12 --history -o h.edn          what its transactions observed (pgdyno help isolation)
  pgdyno export 12 --history --format json | less

A bundle is what someone else needs to check a result and to repeat it: pgdyno verify FILE, pgdyno rerun
FILE --url …, pgdyno import FILE. It has no passwords. Packs and scripts are in it if they are still what
was run; what is not in it is said. The same trials give the same bytes: pgdyno help bundle")]
pub struct ExportArgs {
    /// Trials (number, or the first characters of the UUID), experiments (name, or the first
    /// characters of the UUID) and sets (tag:NAME, 3-8, 3,5,7) [default: everything]
    #[arg(value_name = "TRIAL|EXPERIMENT|SET")]
    pub what: Vec<String>,
    /// The file to write; it must not exist. Without it a history goes to standard output
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["history", "bundle", "parquet"])]
    pub output: Option<PathBuf>,
    /// Write a bundle instead, which others can check (pgdyno verify) and repeat (pgdyno rerun); the file must not
    /// exist
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "history"])]
    pub bundle: Option<PathBuf>,
    /// Add tables for DuckDB and pandas to the notebook that is written: trials, and histograms as rows in bucket and
    /// percentile (pgdyno help analysis)
    #[arg(long, requires = "output", conflicts_with = "history")]
    pub tables: bool,
    /// Refused: what it wrote is in a notebook's views and in the tables of --tables
    #[arg(long, value_name = "DIR", hide = true)]
    pub parquet: Option<PathBuf>,
    /// Write the history of one trial, for pgdyno check-history and Elle's tools, instead of a notebook
    #[arg(long)]
    pub history: bool,
    /// The form of a history [default: json if FILE ends in .json, else edn]
    #[arg(long, value_enum, value_name = "FORM", requires = "history")]
    pub format: Option<HistoryForm>,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `pgdyno export`
pub fn export(args: &ExportArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    if args.parquet.is_some() {
        return Err(no_parquet());
    }
    let store = args.store.existing()?;
    if let Some(bundle) = &args.bundle {
        return export_bundle(&store, args, bundle, verbosity);
    }
    let Some(output) = args.output.as_deref().filter(|_| !args.history) else {
        return export_history(&store, args, verbosity);
    };
    let mut numbers = Vec::new();
    for called in &args.what {
        numbers.extend(meant(&store, called)?);
    }
    let chosen = (!args.what.is_empty()).then_some(numbers.as_slice());
    let copied = if args.tables {
        store.export_with_tables(chosen, output)?
    } else {
        store.export(chosen, output)?
    };
    tell(
        copied,
        &format!("written to {}", output.display()),
        verbosity,
    );
    Ok(Exit::Ok)
}

/// `pgdyno export --parquet`, which earlier versions had.
fn no_parquet() -> Failure {
    Failure::with(Exit::Usage, "pgdyno writes no Parquet files any more")
        .detail("DuckDB and pandas read a notebook's file; with --tables it has histograms as rows, too")
        .hint("pgdyno export TRIAL… -o FILE.sqlite --tables, then in DuckDB: ATTACH 'FILE.sqlite' (TYPE sqlite)")
        .hint("pgdyno help analysis has queries, and how to write Parquet files with DuckDB")
}

/// The trials that are meant, by set; all in one without any name. There is at least one.
fn sets(store: &Store, args: &ExportArgs) -> Result<Vec<Vec<i64>>, Failure> {
    let mut sets = Vec::new();
    for called in &args.what {
        sets.push(meant(store, called)?);
    }
    if args.what.is_empty() {
        let all = store.trials(&Filter::default())?;
        sets.push(all.into_iter().map(|trial| trial.number).collect());
    }
    if !sets.iter().all(Vec::is_empty) {
        Ok(sets)
    } else {
        Err(Failure::with(Exit::Usage, "there is no trial to export")
            .hint("pgdyno ls lists trials"))
    }
}

/// `pgdyno export … --bundle`
fn export_bundle(
    store: &Store,
    args: &ExportArgs,
    to: &Path,
    verbosity: Verbosity,
) -> Result<Exit, Failure> {
    let sets = sets(store, args)?;
    let exported = pgdyno_evidence::export(store, &sets, to, version::COMMIT)?;
    let size = text::bytes(exported.bytes as f64);
    tell(
        exported.copied,
        &format!("written to {} ({size})", to.display()),
        verbosity,
    );
    for one in exported.missing.iter().filter(|_| !verbosity.quiet) {
        pgdyno_output::remark!("pgdyno: not in it: {}: {}", one.what, one.why);
    }
    answer!("SHA-256  {}", exported.sha256)?;
    Ok(Exit::Ok)
}

/// `pgdyno export TRIAL --history`
fn export_history(store: &Store, args: &ExportArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let [called] = args.what.as_slice() else {
        return Err(Failure::with(Exit::Usage, "a history is that of one trial")
            .hint("name it: pgdyno export 12 --history -o h.edn"));
    };
    let number = store.trial_number(called)?;
    let Some(recorded) = store.history(number)? else {
        let failure = Failure::new(format!("trial {number} has no history"));
        // Why it was not kept, if there was one.
        let notes = store.outcome(number)?.notes;
        return Err(
            match notes.iter().find(|note| note.code == HISTORY_NOT_KEPT) {
                Some(note) => failure
                    .detail(note.sentence.clone())
                    .hint(note.remedy.clone()),
                None => {
                    failure.hint("--history FILE, --check-isolation and lab isolation record one")
                }
            },
        );
    };
    match args.output.as_deref() {
        Some(path) => HistoryFile::new_at(path, args.format)?.write(&recorded, verbosity)?,
        None => history_file::print(&recorded, args.format)?,
    }
    Ok(Exit::Ok)
}

/// A trial, or those of an experiment or a set.
fn meant(store: &Store, called: &str) -> Result<Vec<i64>, Failure> {
    let no_trial = match store.trial_number(called) {
        Ok(number) => return Ok(vec![number]),
        Err(failure) => failure,
    };
    let those = |filter: &Filter| -> Result<Vec<i64>, Failure> {
        let trials = store.trials(filter)?;
        Ok(trials.into_iter().map(|trial| trial.number).collect())
    };
    if let Some(tag) = called.strip_prefix("tag:") {
        let found = those(&Filter {
            tags: vec![tag.to_owned()],
            ..Filter::default()
        })?;
        return if !found.is_empty() {
            Ok(found)
        } else {
            Err(
                Failure::with(Exit::Usage, format!("no trial has the tag {tag}"))
                    .hint("pgdyno ls lists trials and their tags"),
            )
        };
    }
    let experiment = those(&Filter {
        experiment: Some(called.to_owned()),
        ..Filter::default()
    });
    match (experiment, trials_arg::numbers(called)) {
        (Ok(found), _) => Ok(found),
        (Err(_), Ok(Some(numbers))) if numbers.len() > 1 => numbers
            .iter()
            .map(|number| store.trial_number(&number.to_string()))
            .collect(),
        _ => Err(no_trial.detail("there is no experiment of that name either")),
    }
}

/// What is added.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno import from-the-lab.sqlite    adds new trials; a second time does nothing
  pgdyno import from-the-lab.bundle    the same from a bundle
  pgdyno import --from-pgbench-tools postgresql://lab/results
                                       the same from a results database of pgbench-tools

Trials are identified by their UUIDs and get new numbers; notes and tags of trials that already exist
do not change.")]
pub struct ImportArgs {
    /// A notebook file or a bundle, such as `pgdyno export` writes, or the URL of a notebook on a server
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
            let unpacked = if bundle::is_one(file) {
                Some(Bundle::read(file)?.notebook()?)
            } else {
                None
            };
            let from = unpacked
                .as_ref()
                .map_or(file.as_path(), |unpacked| &unpacked.file);
            let copied = store.import(from)?;
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
