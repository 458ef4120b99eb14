//! What differs from one product to the next, as named facts: a file a product, a comment a fact
//! (captured from a real server, measured, or documented, and where).
//! Nothing else in pgdyno asks which product it talks to.

mod cluster;
mod cockroachdb;
mod disturbances;
mod explain;
mod feature;
pub mod metrics;
mod other;
mod postgresql;
mod probes;
mod processes;
mod product;
mod promises;
mod proof;
mod retries;
mod server_views;
pub mod sources;
mod storage;
mod tables;
mod yugabytedb;

pub use cluster::{Cluster, FollowerReads, PlacementQueries, View};
pub use cockroachdb::COCKROACHDB;
pub use disturbances::Disturbances;
pub use explain::Times;
pub use feature::{Feature, Lack};
pub use other::OTHER;
pub use postgresql::POSTGRESQL;
pub use probes::Probes;
pub use processes::Processes;
pub use product::{Product, Version, unknown};
pub use promises::{Possible, Promise, Promises, Substitute};
pub use retries::{RESTART_SAVEPOINT, Retries};
pub use server_views::ServerView;
pub use storage::{Buffers, Since, Storage};
pub use tables::{Filling, LoadSetting, SplitSetting, TableFacts};
pub use yugabytedb::YUGABYTEDB;

/// The facts of one product.
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Name in the files of packs (`schema.NAME.sql`) and in results.
    pub name: &'static str,
    /// The product as people write it.
    pub title: &'static str,
    /// The newest version that has answered to pgdyno; without a minor number all of that major one.
    /// `None`: no version has.
    pub tried_until: Option<Version>,
    /// Query that tells how many databases have the name of the session's; `None` where a session
    /// cannot begin without one.
    pub counts_database: Option<&'static str>,
    /// How tables are made and filled.
    pub tables: TableFacts,
    /// Query for the tables of these names (`{names}`, literals) that the session sees, whatever
    /// its search path: a row for each column in its place, with the table's name, its comment and
    /// the column's name.
    pub find_tables: &'static str,
    /// Query for the name of the table that `{literal}` is to the session; NULL or no row when there
    /// is none.
    pub find_table: &'static str,
    /// Query for about how many rows the table has that `{literal}` is to the session (NULL where the server
    /// has counted them), and for its keys and indexes in one text; no row when there is none. `None` where
    /// the product does not tell.
    pub table_shape: Option<&'static str>,
    /// Statements for each table when its rows and keys are there; `{table}` is its name.
    pub after_load: &'static [&'static str],
    /// The same for rows that no vacuum shall have to visit again.
    pub after_settled_load: &'static [&'static str],
    /// Query about a table that was just loaded: how many rows are not the first of their block, and
    /// how many blocks it has; `{table}` is its name, `{literal}` the same as a literal. `None` where
    /// rows do not lie in blocks.
    pub rows_and_blocks: Option<&'static str>,
    /// Query that takes lock number `{key}` for the session and tells `t` or `f`; `None` when there
    /// is no such lock.
    pub try_lock: Option<&'static str>,
    /// Statement that gives lock number `{key}` back.
    pub unlock: Option<&'static str>,
    /// Query that tells why this session cannot write, such as `a standby`; NULL when it can.
    pub takes_no_writes: &'static str,
    /// Query that tells `t` when the server is a standby or still recovering; `None` where there is
    /// no such thing.
    pub is_standby: Option<&'static str>,
    /// Query for the number that tells a server's data from all others'; `None` where there is none, or where it
    /// was not seen that there is.
    pub system_identifier: Option<&'static str>,
    /// Query for the size in bytes of the session's database; `None` when the server does not say.
    pub database_size: Option<&'static str>,
    /// Whether the server has the settings that PostgreSQL has.
    pub has_postgresqls_settings: bool,
    /// Query for the settings that are not as the server's program has them: name, value, unit.
    pub changed_settings: &'static str,
    /// Query that tells `t` when the table has had rows; `{table}` is its name, `{literal}` the same
    /// as a literal.
    pub has_grown: &'static str,
    /// Statement that empties a table; `{table}` is its name.
    pub truncate: &'static str,
    /// Statement that does away with a table's dead rows and counts the others again; `{table}` is
    /// its name. `None` where there is no such thing.
    pub vacuum: Option<&'static str>,
    /// The same, which leaves out a table that is locked instead of waiting.
    pub vacuum_unless_locked: Option<&'static str>,
    /// Query that tells `f` when a table has not changed since the last of these; `{literal}` is its
    /// name as a literal. `None` where the server does not count.
    pub has_changed: Option<&'static str>,
    /// Statement that makes a session hand its statistics over at once, and the first version that
    /// has it; `None` where there is none.
    pub flush_statistics: Option<(&'static str, Version)>,
    /// Statement that makes a checkpoint.
    pub checkpoint: Option<&'static str>,
    /// What of pgdyno's catalogue can disturb it.
    pub disturbances: Disturbances,
    /// How a session is given settings when it starts.
    pub settings_at_start: AtStart,
    /// Setting for how long a statement waits for a lock, in milliseconds; `None` where there is none.
    pub lock_timeout: Option<&'static str>,
    /// Settings with which the server ends this session, and what it executes, within 20 s when its
    /// client or the client's host is gone: names and values. One that is refused is left out.
    pub gives_up_lost_clients: &'static [(&'static str, &'static str)],
    /// Query for what the session of process `{pid}` waits for, such as `a lock on t held by pid 1`;
    /// NULL or no row when it waits for no lock. `None` if the product has no such view.
    pub waits_for: Option<&'static str>,
    /// Query for limits of the session's server, role and database: their names, and how many more sessions each
    /// admits, those that there are deducted, the session itself too. A superuser is held to the first alone. `None`
    /// where it is not known how the product limits them.
    pub session_limits: Option<&'static str>,
    /// What workloads may need and it does not have.
    pub lacks: &'static [Lack],
    /// What it tells about its cluster.
    pub cluster: Cluster,
    /// What it tells of the parts of a commit.
    pub probes: Probes,
    /// What instruments can read of it over SQL.
    pub server_views: &'static [ServerView],
    /// What it does about transactions that are to be tried again.
    pub retries: Retries,
    /// What it counts of its storage layer.
    pub storage: Storage,
    /// How it tells the parts of one statement's time; `None` where it does not.
    pub explain: Option<Times>,
    /// How its processes are known again.
    pub processes: Processes,
    /// Where its nodes tell their figures over HTTP.
    pub metrics: metrics::Metrics,
    /// What it documents of its isolation levels.
    pub promises: Promises,
}

/// How a session is given settings when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtStart {
    Options,
    /// Each as a start-up parameter of its own name.
    Parameters,
}

impl Dialect {
    /// Why nothing is taken from the server's catalogues; `None` where they are PostgreSQL's, or known.
    pub fn untrusted_catalogues(&self) -> Option<&'static str> {
        (self.name == OTHER.name).then_some("its catalogues are not PostgreSQL's")
    }

    /// The dialect of this [`Dialect::name`].
    pub fn named(name: &str) -> Option<&'static Self> {
        let all = [&POSTGRESQL, &COCKROACHDB, &YUGABYTEDB, &OTHER];
        all.into_iter().find(|dialect| dialect.name == name)
    }

    /// The statements for this table when its rows and keys are there; `settles`: so that the first
    /// reads find nothing to be done.
    pub fn after_load(&self, table: &str, settles: bool) -> impl Iterator<Item = String> {
        let statements = if settles {
            self.after_settled_load.iter()
        } else {
            self.after_load.iter()
        };
        statements.map(move |statement| statement.replace("{table}", table))
    }
}
