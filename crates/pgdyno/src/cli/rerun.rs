//! `pgdyno rerun`: a trial of the notebook once more, as it was asked for. Of a bundle: `rerun_bundle.rs`.

use clap::Args;
use pgdyno_model::notebook::TrialRow;
use pgdyno_report::table::one_line;
use pgdyno_run::command_line::quoted;
use pgdyno_spec::{
    Exit, Failure, TargetSpec, TrialSpec,
    secret::{MASK, is_secret_name},
};

use super::rerun_bundle;
use super::run::{self, ResultArgs};
use super::trust;
use pgdyno_output::{Verbosity, answer};
use pgdyno_store::Store;

/// Which trial, and where.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno rerun 12                                     the same options, the same seed, the same server
  pgdyno rerun 12 --url postgresql://me@db2/bench     the same load on another server
  pgdyno rerun 3f2a --tag again                       a trial by its UUID, with a tag
  pgdyno rerun 12 --repeat 5                          five times, with an interval
  pgdyno rerun run.bundle --url postgresql://me@db2/bench   what a bundle has, on your server, and compared
  pgdyno rerun run.bundle --dry-run                   what would be run
  pgdyno rerun all.bundle --only 3                    one trial of several in a bundle

The notebook has no secrets. Passwords: set PGPASSWORD, a password file, or --url; secret parameters
(token, password, …): give --param again. Workloads and
scripts are read again from where they were; a bundle's from the bundle, never from files of the same name.
A bundle is run on a private server unless --url names one: never on the server that it names. What was
measured is compared with it: what differs around both comes first, and as both did not take turns, a
difference is shown and not claimed.")]
pub struct RerunArgs {
    /// Its number, or the first characters of its UUID; or a bundle (pgdyno export --bundle)
    #[arg(value_name = "TRIAL|BUNDLE")]
    pub trial: String,

    /// Of a bundle with several: this trial (its number there, or its UUID) or experiment (its name or UUID)
    #[arg(long, value_name = "TRIAL|EXPERIMENT")]
    pub only: Option<String>,

    /// So many times, as an experiment of one point; of an experiment in a bundle, so many times each point
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["no_store", "note", "history_file"])]
    pub repeat: Option<u32>,

    /// Print what would be run, and exit
    #[arg(long)]
    pub dry_run: bool,

    /// Accept scripts, disturbances, restarts and settings that run programs on this host, and let scripts
    /// have all rights on a private server; what they are is shown before
    #[arg(long)]
    pub allow_shell: bool,

    /// Value of a parameter instead of the trial's; required for secrets (repeatable)
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,

    /// What becomes of the result.
    #[command(flatten)]
    pub result: ResultArgs,

    /// Another server than the trial's.
    #[command(flatten)]
    pub target: TargetSpec,
}

/// Runs the command.
pub fn open(args: &RerunArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    if rerun_bundle::is_named(&args.trial) {
        return rerun_bundle::open(args, verbosity);
    }
    if args.only.is_some() {
        let text = "--only names a trial or an experiment of a bundle";
        return Err(Failure::with(Exit::Usage, text).hint("pgdyno rerun FILE --only 3"));
    }
    let store = args.result.keep.store.existing()?;
    let trial = store.trial(&args.trial)?;
    let mut spec = trial.spec.clone();
    if spec.workload.is_empty() {
        let text = format!("trial {} was run by another command", trial.number);
        return Err(Failure::with(Exit::Usage, text)
            .detail(format!("its command: {}", trial.command))
            .hint("type that command again: it names scripts that the notebook does not keep"));
    }
    with_params(&mut spec, &args.params)?;
    spec.target = elsewhere(spec.target, &args.target);
    // A command of a disturbance may have had a secret, too.
    spec.disturb.check(None)?;
    if args.dry_run {
        return print(&spec, args.repeat);
    }
    // The trial may come from another user: a notebook that was sent, or pgdyno import.
    let of = format!("trial {}", trial.number);
    trust::trial(&of, &spec, args.allow_shell)?;
    if args.target.urls.is_empty() {
        trust::addresses(&of, &spec.target, args.allow_shell)?;
        foreign(&trial, args, &store)?;
        let is_of_file =
            { trial.point.as_ref() }.is_some_and(|point| point.get("target").is_some());
        let is_of_file = is_of_file || !store.ran_here(trial.number)?;
        spec.target.is_of_file = is_of_file && !spec.target.urls.is_empty();
        spec.target.may_run_programs = args.allow_shell;
    }
    spec.allow_shell |= args.allow_shell;
    match args.repeat {
        None => run::run(spec, &args.result, verbosity),
        Some(repeats) => run::repeated(&args.result, spec, repeats, verbosity),
    }
}

/// A trial that did not run on this host names a server, or programs of one, that its user has not chosen.
///
/// # Errors
/// It does, and neither `--url` nor `--allow-shell` was given.
fn foreign(trial: &TrialRow, args: &RerunArgs, store: &Store) -> Result<(), Failure> {
    let target = &trial.spec.target;
    let names = match &target.own.pg_bindir {
        _ if !target.urls.is_empty() => format!("a server: {}", trial.target),
        Some(bindir) if args.target.own.is_empty() => {
            format!("PostgreSQL's programs: {}", bindir.display())
        }
        _ => return Ok(()),
    };
    if args.allow_shell || store.ran_here(trial.number)? {
        return Ok(());
    }
    let number = trial.number;
    let text = format!("trial {number} did not run on this host, and names {names}");
    let hint =
        format!("check it: pgdyno rerun {number} --dry-run; then give the server: --url URL");
    Err(Failure::with(Exit::Usage, text).hint(hint))
}

/// The trial with the parameters that were typed.
///
/// # Errors
/// One is a secret, and was not typed.
pub(super) fn with_params(spec: &mut TrialSpec, typed: &[String]) -> Result<(), Failure> {
    spec.params = given(std::mem::take(&mut spec.params), typed);
    match missing_secret(&spec.params) {
        None => Ok(()),
        Some(name) => {
            let text = format!(
                "the notebook does not have the value of {name}, because it is a secret by its name"
            );
            Err(Failure::with(Exit::Usage, text).hint(format!("--param {name}=VALUE")))
        }
    }
}

/// Prints the trial that would be run.
pub(super) fn print(spec: &TrialSpec, repeat: Option<u32>) -> Result<Exit, Failure> {
    let words: Vec<String> = spec.words().iter().map(|word| quoted(word)).collect();
    let repeat = repeat.map_or_else(String::new, |count| format!(" --repeat {count}"));
    answer!("pgdyno run {}{repeat}", one_line(&words.join(" ")))?;
    if !spec.can_be_typed() {
        for (name, value) in &spec.settings {
            answer!("with the setting {} = {}", one_line(name), one_line(value))?;
        }
    }
    Ok(Exit::Ok)
}

/// The trial's parameters, replaced by those that were typed.
fn given(own: Vec<String>, typed: &[String]) -> Vec<String> {
    let name_of = |text: &str| text.split('=').next().unwrap_or_default().to_owned();
    let is_typed = |text: &String| typed.iter().any(|other| name_of(other) == name_of(text));
    let own = own.into_iter().filter(|text| !is_typed(text));
    own.chain(typed.iter().cloned()).collect()
}

/// The first parameter whose value is masked.
fn missing_secret(params: &[String]) -> Option<&str> {
    let pairs = params.iter().filter_map(|text| text.split_once('='));
    let mut masked = pairs.filter(|(name, value)| *value == MASK && is_secret_name(name));
    masked.next().map(|(name, _)| name)
}

/// The trial's target, but for what was typed: another server replaces it whole.
fn elsewhere(own: TargetSpec, typed: &TargetSpec) -> TargetSpec {
    if !typed.urls.is_empty() {
        return typed.clone();
    }
    TargetSpec {
        urls: own.urls,
        discover: typed.discover.clone().or(own.discover),
        silence_timeout: typed.silence_timeout.or(own.silence_timeout),
        lock_timeout: typed.lock_timeout.or(own.lock_timeout),
        pg_standby: typed.pg_standby.or(own.pg_standby),
        no_password: typed.no_password,
        password: typed.password,
        is_of_file: own.is_of_file,
        points_are_of_file: own.points_are_of_file,
        may_run_programs: own.may_run_programs,
        own: if typed.own.is_empty() {
            own.own
        } else {
            typed.own.clone()
        },
    }
}
