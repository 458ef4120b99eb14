//! `pgdyno rerun`: a trial of the notebook once more, as it was asked for.

use clap::Args;
use pgdyno_model::spec::TargetSpec;
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

The notebook has no passwords: set PGPASSWORD, a password file, or --url. Workloads and
scripts are read again from where they were.")]
pub struct RerunArgs {
    /// Its number, or the first characters of its UUID
    #[arg(value_name = "TRIAL")]
    pub trial: String,

    /// What becomes of the result.
    #[command(flatten)]
    pub result: ResultArgs,

    /// Another server than the trial's.
    #[command(flatten)]
    pub target: TargetSpec,
}

/// Runs the command.
pub fn open(args: &RerunArgs, verbosity: Verbosity) -> Result<Exit, Failure> {
    let trial = args.result.store.existing()?.trial(&args.trial)?;
    let mut spec = trial.spec;
    if spec.workload.is_empty() {
        let text = format!("trial {} was run by another command", trial.number);
        return Err(Failure::with(Exit::Usage, text)
            .detail(format!("its command: {}", trial.command))
            .hint("type that command again: it names scripts that the notebook does not keep"));
    }
    spec.target = elsewhere(spec.target, &args.target);
    run::run(spec, &args.result, verbosity)
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
        own: match typed.own.is_empty() {
            true => own.own,
            false => typed.own.clone(),
        },
    }
}
