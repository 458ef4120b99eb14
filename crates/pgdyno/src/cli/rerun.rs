//! `pgdyno rerun`: a trial of the notebook once more, as it was asked for.

use clap::Args;
use pgdyno_model::spec::TargetSpec;
use pgdyno_model::spec::secret::{MASK, is_secret_name};
use pgdyno_model::{Exit, Failure};

use super::run::{self, ResultArgs};
use pgdyno_output::Verbosity;

/// Which trial, and where.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno rerun 12                                     the same options, the same seed, the same server
  pgdyno rerun 12 --url postgresql://me@db2/bench     the same load on another server
  pgdyno rerun 3f2a --tag again                       a trial by its UUID, with a tag

The notebook has no secrets. Passwords: set PGPASSWORD, a password file, or --url; secret parameters
(token, password, …): give --param again. Workloads and
scripts are read again from where they were.")]
pub struct RerunArgs {
    /// Its number, or the first characters of its UUID
    #[arg(value_name = "TRIAL")]
    pub trial: String,

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
    let trial = args.result.keep.store.existing()?.trial(&args.trial)?;
    let mut spec = trial.spec;
    if spec.workload.is_empty() {
        let text = format!("trial {} was run by another command", trial.number);
        return Err(Failure::with(Exit::Usage, text)
            .detail(format!("its command: {}", trial.command))
            .hint("type that command again: it names scripts that the notebook does not keep"));
    }
    spec.params = given(spec.params, &args.params);
    if let Some(name) = missing_secret(&spec.params) {
        let text = format!(
            "the notebook does not have the value of {name}, because it is a secret by its name"
        );
        return Err(Failure::with(Exit::Usage, text).hint(format!("--param {name}=VALUE")));
    }
    spec.target = elsewhere(spec.target, &args.target);
    // A command of a disturbance may have had a secret, too.
    spec.disturb.check(None)?;
    run::run(spec, &args.result, verbosity)
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
        own: match typed.own.is_empty() {
            true => own.own,
            false => typed.own.clone(),
        },
    }
}
