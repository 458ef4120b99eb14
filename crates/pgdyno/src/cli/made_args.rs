//! The options of verbs that make an experiment themselves: `lab retries`, `slob sweep`.

use clap::Args;

use super::pack_args::PackArgs;
use super::serve::ServeArgs;
use pgdyno_output::{JsonArg, StoreArgs};
use pgdyno_spec::TargetSpec;

/// What can be said of an experiment that pgdyno makes, whatever it asks.
#[derive(Debug, Args)]
pub struct MadeArgs {
    /// Seed of the random numbers [default: from the clock]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub seed: Option<i64>,

    /// Print the experiment as TOML for `pgdyno sweep` and exit
    #[arg(long, conflicts_with = "json")]
    pub print: bool,

    /// `--json`.
    #[command(flatten, next_help_heading = "Result")]
    pub json: JsonArg,

    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,

    /// The notebook in the browser meanwhile.
    #[command(flatten)]
    pub serve: ServeArgs,

    /// Parameters of the workload.
    #[command(flatten)]
    pub pack: PackArgs,

    /// The server's options.
    #[command(flatten)]
    pub target: TargetSpec,
}
