//! The options that say how a workload is to be, the same on every native verb.

use clap::Args;

/// What the user chooses about a workload.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub struct PackArgs {
    /// Sets one of the workload's parameters (repeatable), such as scale=100; `pgdyno pack list`
    /// tells them. What is left out is taken from the loaded tables, or else the default
    #[arg(long, value_name = "NAME=VALUE")]
    pub param: Vec<String>,
}
