//! The options of a PostgreSQL of pgdyno's own, the same wherever one is started.

use std::path::PathBuf;

use clap::Args;

use crate::target::own;

/// How a server of pgdyno's own is to be.
#[derive(Debug, Clone, Default, Args)]
pub struct OwnArgs {
    /// Where the PostgreSQL server's programs are, for a server of pgdyno's own
    #[arg(long, value_name = "DIR")]
    pub pg_bindir: Option<PathBuf>,

    /// Setting for a server of pgdyno's own (repeatable), such as shared_buffers=1GB
    #[arg(long, value_name = "NAME=VALUE")]
    pub pg_set: Vec<String>,

    /// Unprivileged system user that runs a server of pgdyno's own when pgdyno is root
    #[arg(long, value_name = "USER")]
    pub pg_user: Option<String>,
}

impl OwnArgs {
    /// The same as the target's layer takes it.
    pub fn options(&self) -> own::Options {
        own::Options {
            bindir: self.pg_bindir.clone(),
            settings: self.pg_set.clone(),
            user: self.pg_user.clone(),
            ..own::Options::default()
        }
    }
}
