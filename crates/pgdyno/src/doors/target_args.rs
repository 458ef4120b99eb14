//! The options that name a target, the same on every native verb.

use clap::Args;

use super::own_args::OwnArgs;
use crate::target::open::Wanted;

/// Where the database is. With none of these and none of PGHOST, PGHOSTADDR, PGPORT and PGSERVICE
/// set, pgdyno uses the server kept by `pgdyno server start`, or starts one of its own.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Target")]
pub struct TargetArgs {
    /// Server to use: a URL (postgresql://user@host:port/db) or key=value pairs; what it leaves
    /// open comes from the PG* environment, as with psql. Without a target in either, pgdyno uses
    /// its kept server or starts one for this run
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,

    /// How a server of pgdyno's own is to be.
    #[command(flatten)]
    pub own: OwnArgs,
}

impl TargetArgs {
    /// The same as the target's layer takes it.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            url: self.url.clone(),
            own: self.own.options(),
        }
    }
}
