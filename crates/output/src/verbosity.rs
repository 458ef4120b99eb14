//! `--verbose` and `--quiet`, the same on every native verb.

use clap::{ArgAction, Args};
use pgdyno_platform::terminal;

use crate::Loading;

/// How much to say on standard error; results are printed either way. In each `--help` they stand before `-h`.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Verbosity {
    /// Print more; -vv prints everything
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 990)]
    pub verbose: u8,
    /// No progress output, only results and errors
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        display_order = 991
    )]
    pub quiet: bool,
}

impl Verbosity {
    /// How a load reports.
    pub fn progress(self) -> Loading {
        if self.quiet {
            Loading::quiet()
        } else {
            Loading::new(terminal::stderr_is_terminal())
        }
    }
}
