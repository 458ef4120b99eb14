//! What differs from one product to the next when tables are created, filled and tidied up, as
//! named facts.
//! Nothing else in pgdyno asks which product it talks to.

mod postgresql;

pub use postgresql::POSTGRESQL;

/// The facts of one product.
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Name in the files of packs (`schema.NAME.sql`) and in results.
    pub name: &'static str,
    /// The product as people write it.
    pub title: &'static str,
    /// The first version, as `server_version_num`, whose COPY can write rows that no vacuum has to
    /// visit again; `None` when there is no such option.
    pub copy_freeze_since: Option<u32>,
    /// Statements for each table when its rows and keys are there; `{table}` is its name.
    pub after_load: &'static [&'static str],
    /// Query that takes lock number `{key}` for the session and tells `t` or `f`; `None` when there
    /// is no such lock.
    pub try_lock: Option<&'static str>,
    /// Statement that gives lock number `{key}` back.
    pub unlock: Option<&'static str>,
    /// Query that tells why this session cannot write, such as `a standby`; NULL when it can.
    pub takes_no_writes: &'static str,
    /// Query that tells `t` when the table has had rows; `{table}` is its name as a literal.
    pub has_grown: &'static str,
    /// Statement that empties a table; `{table}` is its name.
    pub truncate: &'static str,
    /// Statement that does away with a table's dead rows and counts the others anew; `{table}` is
    /// its name. `None` where there is no such thing.
    pub vacuum: Option<&'static str>,
    /// Query that tells `f` when a table has not changed since the last of these; `{table}` is its
    /// name as a literal. `None` where nobody counts.
    pub has_changed: Option<&'static str>,
    /// Statement that makes a checkpoint.
    pub checkpoint: Option<&'static str>,
}

/// The dialect of a server by the answer to `version()`; `None` when no dialect is written for it
/// and PostgreSQL's is to be tried.
pub fn detect(version: &str) -> Option<&'static Dialect> {
    // Products made from PostgreSQL say so too, with a mark of their own (YugabyteDB: "-YB-").
    (version.starts_with("PostgreSQL ") && !version.contains("-YB-")).then_some(&POSTGRESQL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_what_it_says_of_itself() {
        let of = |version| detect(version).map(|d| d.name);
        assert_eq!(
            of("PostgreSQL 18.1 on x86_64-pc-linux-gnu, compiled by gcc"),
            Some("postgresql")
        );
        assert_eq!(of("CockroachDB CCL v22.2.0 (x86_64-pc-linux-gnu)"), None);
        assert_eq!(of("PostgreSQL 11.2-YB-2.21.0.0-b0 on x86_64"), None);
    }
}
