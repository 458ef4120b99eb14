//! The options of verbs that make an experiment themselves: `lab retries`, `slob sweep`.

use clap::Args;

use super::pack_args::PackArgs;
use pgdyno_model::spec::TargetSpec;
use pgdyno_output::{JsonArg, StoreArgs};

/// What can be said of an experiment that pgdyno makes, whatever it asks.
#[derive(Debug, Args)]
pub struct MadeArgs {
    /// Where the random numbers come from [default: from the clock]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub seed: Option<i64>,

    /// Show the experiment as TOML for `pgdyno sweep`, and do nothing
    #[arg(long, conflicts_with = "json")]
    pub print: bool,

    /// Where machines find the result.
    #[command(flatten)]
    pub json: JsonArg,

    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,

    /// How the workload is to be.
    #[command(flatten)]
    pub pack: PackArgs,

    /// Where the database is.
    #[command(flatten)]
    pub target: TargetSpec,
}
