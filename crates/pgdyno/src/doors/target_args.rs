//! The options that name a target, the same on every native verb.

use clap::Args;

use super::own_args::OwnArgs;
use crate::target::discover::Discover;
use crate::target::open::Wanted;

/// Where the database is. With none of these and none of PGHOST, PGHOSTADDR, PGPORT and PGSERVICE
/// set, pgdyno uses the server kept by `pgdyno server start`, or starts one of its own.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Target")]
pub struct TargetArgs {
    /// Server to use: a URL (postgresql://user@host:port/db) or key=value pairs; what it leaves
    /// open comes from the PG* environment, as with psql. Without a target in either, pgdyno uses
    /// its kept server or starts one for this run. Several times, or with a list of hosts: clients
    /// are dealt over all of them, client i to endpoint i modulo their number
    #[arg(long, value_name = "URL")]
    pub url: Vec<String>,

    /// Use all nodes of the cluster that the server belongs to as endpoints: asked of the server
    /// in SQL, or of a node's HTTP port (CockroachDB: --discover=http://HOST:8080)
    #[arg(long, value_name = "HTTP_URL", num_args = 0..=1, require_equals = true)]
    pub discover: Option<Option<String>>,

    /// How a server of pgdyno's own is to be.
    #[command(flatten)]
    pub own: OwnArgs,
}

impl TargetArgs {
    /// The same as the target's layer takes it.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            urls: self.url.clone(),
            discover: self.discover.clone().map(|http| Discover { http }),
            own: self.own.options(),
        }
    }
}
