//! The options that say what is observed beside a trial, the same on every verb that measures.

use clap::Args;

use crate::exit::Failure;
use crate::observe::{Asked, Wish};

/// What is observed while clients are at work: docs/instruments.md.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Observation")]
pub struct ObserveArgs {
    /// What to read once a second while clients are at work: auto (all that the server and this
    /// host have), none, or instruments or groups of them by name (pg,host.disk). What cannot be
    /// seen costs nothing and is told with its reason
    #[arg(long, value_name = "auto|none|LIST", default_value = "auto")]
    pub observe: Wish,
}

impl ObserveArgs {
    /// The same as a trial takes it.
    ///
    /// # Errors
    /// Something cannot be observed as it was asked for.
    pub fn asked(&self) -> Result<Asked, Failure> {
        Ok(Asked {
            wish: self.observe.clone(),
        })
    }
}
