//! Where the database is, as it is asked for.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::secret::Address;
use super::{duration, serialized};

/// Where the database is. With none of these and none of PGHOST, PGHOSTADDR, PGPORT and PGSERVICE
/// set, pgdyno uses the server kept by `pgdyno server start`, or starts one of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "Target")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TargetSpec {
    /// Server, as postgresql://user@host:port/db [default: PG* variables, else a private server]
    ///
    /// A URL or key=value pairs; missing parts come from the PG* environment variables, as with psql. Without
    /// either, pgdyno uses the server of `pgdyno server start` or starts one for this run. Repeated, or with a
    /// list of hosts: clients are spread over all of them, client i to endpoint i modulo their number.
    #[arg(long = "url", id = "url", value_name = "URL")]
    #[serde(rename = "url")]
    #[cfg_attr(feature = "typescript", ts(as = "Vec<String>"))]
    pub urls: Vec<Address>,

    /// Use all nodes of the server's cluster as endpoints, found by SQL or through a node's HTTP
    /// port (CockroachDB: --discover=http://HOST:8080)
    #[arg(
        long,
        value_name = "HTTP_URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    #[cfg_attr(feature = "typescript", ts(as = "Option<String>"))]
    pub discover: Option<Discover>,

    /// How long the server may stay silent before it answers a query of pgdyno itself; 0: no limit.
    /// Statements that change or maintain something have no limit [default: 30s]
    #[arg(long, id = "silence_timeout_s", value_name = "TIME", value_parser = duration::parse)]
    #[serde(
        rename = "silence_timeout_s",
        with = "serialized::s",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<f64>"))]
    pub silence_timeout: Option<Duration>,

    /// How long pgdyno's own statements wait for a lock; not those of the workload
    /// [default: the server's lock_timeout]
    #[arg(long, id = "lock_timeout_s", value_name = "TIME", value_parser = duration::parse)]
    #[serde(
        rename = "lock_timeout_s",
        with = "serialized::s",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<f64>"))]
    pub lock_timeout: Option<Duration>,

    /// Give the private server a streaming standby, of the version that it has. Clients are given both, and
    /// use the one that takes writes
    #[arg(
        long,
        value_enum,
        value_name = "REPLICATION",
        help_heading = "Private server"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<String>"))]
    pub pg_standby: Option<Replication>,

    /// Never ask for a password at the terminal, as with psql
    #[arg(short = 'w', long)]
    #[serde(skip)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub no_password: bool,

    /// Ask for a password at the terminal before connecting. Without it pgdyno asks when the server wants a
    /// password that neither the URL, PGPASSWORD nor the password file has
    #[arg(short = 'W', long, conflicts_with = "no_password")]
    #[serde(skip)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub password: bool,

    /// Options of the private server.
    #[command(flatten)]
    #[serde(flatten)]
    pub own: OwnSpec,

    /// Whether only a file names the server, which may be a stranger's: no password is sent there.
    #[arg(skip)]
    #[serde(skip)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub is_of_file: bool,

    /// Whether targets that an experiment's points name are a file's, and not the command line's.
    #[arg(skip)]
    #[serde(skip)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub points_are_of_file: bool,

    /// Whether a role with rights to run programs may be used on a server that only a file names
    /// (`--allow-shell`).
    #[arg(skip)]
    #[serde(skip)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub may_run_programs: bool,
}

impl TargetSpec {
    /// What this URL or key=value string names.
    pub fn at(url: impl Into<Address>) -> Self {
        Self {
            urls: vec![url.into()],
            ..Self::default()
        }
    }
}

/// Whether a COMMIT waits for the standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replication {
    /// It does not: the default of PostgreSQL and of most who run it. What was not sent yet is lost
    Async,
    /// It does (synchronous_standby_names): nothing that was acknowledged is lost
    Sync,
}

impl Replication {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Async => "async",
            Self::Sync => "sync",
        }
    }

    /// The same in sentences.
    pub fn adjective(self) -> &'static str {
        match self {
            Self::Async => "asynchronous",
            Self::Sync => "synchronous",
        }
    }
}

/// How to find the nodes of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Discover {
    /// The server is asked in SQL.
    Sql,
    /// A node's HTTP port is asked: `http://host:port`, or https.
    Http(Address),
}

impl From<String> for Discover {
    fn from(text: String) -> Self {
        if text.is_empty() {
            Self::Sql
        } else {
            Self::Http(text.into())
        }
    }
}

/// Without the password that an address may have.
impl From<Discover> for String {
    fn from(discover: Discover) -> Self {
        match discover {
            Discover::Sql => String::new(),
            Discover::Http(url) => url.public(),
        }
    }
}

impl FromStr for Discover {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.to_owned().into())
    }
}

/// Options of a private PostgreSQL server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Private server")]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct OwnSpec {
    /// Directory of PostgreSQL's programs, for a private server
    #[arg(long, value_name = "DIR")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<String>"))]
    pub pg_bindir: Option<PathBuf>,

    /// Setting of the private server (repeatable), such as shared_buffers=1GB
    #[arg(long, value_name = "NAME=VALUE")]
    #[cfg_attr(feature = "typescript", ts(as = "Vec<String>"))]
    pub pg_set: Vec<Address>,

    /// Unprivileged system user that runs the private server when pgdyno runs as root
    #[arg(long, value_name = "USER")]
    pub pg_user: Option<String>,
}

impl OwnSpec {
    /// Whether no option was given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
