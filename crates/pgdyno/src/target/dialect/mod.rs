//! What differs from one product to the next, as named facts: a file a product, a comment a fact
//! (captured from a real server, measured, or documented, and where).
//! Nothing else in pgdyno asks which product it talks to.

mod cockroachdb;
mod postgresql;
mod product;
mod retries;
mod yugabytedb;

pub use cockroachdb::COCKROACHDB;
pub use postgresql::POSTGRESQL;
pub use product::{Product, Version};
pub use retries::{RESTART_SAVEPOINT, Retries};
pub use yugabytedb::YUGABYTEDB;

/// The facts of one product.
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Name in the files of packs (`schema.NAME.sql`) and in results.
    pub name: &'static str,
    /// The product as people write it.
    pub title: &'static str,
    /// The first version whose COPY can write rows that no vacuum has to visit again; `None` when
    /// there is no such option.
    pub copy_freeze_since: Option<Version>,
    /// Statements for each table when its rows and keys are there; `{table}` is its name.
    pub after_load: &'static [&'static str],
    /// Query that takes lock number `{key}` for the session and tells `t` or `f`; `None` when there
    /// is no such lock.
    pub try_lock: Option<&'static str>,
    /// Statement that gives lock number `{key}` back.
    pub unlock: Option<&'static str>,
    /// Query that tells why this session cannot write, such as `a standby`; NULL when it can.
    pub takes_no_writes: &'static str,
    /// Query that tells `t` when the table has had rows; `{table}` is its name, `{literal}` the same
    /// as a literal.
    pub has_grown: &'static str,
    /// Statement that empties a table; `{table}` is its name.
    pub truncate: &'static str,
    /// Statement that does away with a table's dead rows and counts the others anew; `{table}` is
    /// its name. `None` where there is no such thing.
    pub vacuum: Option<&'static str>,
    /// Query that tells `f` when a table has not changed since the last of these; `{literal}` is its
    /// name as a literal. `None` where nobody counts.
    pub has_changed: Option<&'static str>,
    /// Statement that makes a checkpoint.
    pub checkpoint: Option<&'static str>,
    /// Statement after which a statement of this session waits no longer than `{ms}` milliseconds
    /// for a lock; `None` where there is no such setting.
    pub lock_timeout: Option<&'static str>,
    /// What it does about transactions that are to be tried again.
    pub retries: Retries,
}
