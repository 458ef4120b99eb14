//! Which program was called: pgbench, or ysql_bench, YugabyteDB's copy of it. What they do
//! differently is here and nowhere else.
//!
//! Facts about ysql_bench rest on documentation and articles alone (YugabyteDB 2.1's copy of
//! pgbench 11 with the retry patch of the time); its reports here have pgbench 18's form.

use super::init::Tables;

/// The PostgreSQL release whose pgbench this command equals.
pub const PG_VERSION: &str = "18.6";
/// The same as PostgreSQL's `server_version_num`.
pub const PG_VERSION_NUM: &str = "180006";

#[derive(Debug, PartialEq, Eq)]
pub struct Flavour {
    pub name: &'static str,
    /// What the names of its tables begin with.
    pub prefix: &'static str,
    /// What `-i` does by default.
    pub init_steps: &'static str,
    /// Whether CREATE TABLE declares the primary keys.
    pub keys_in_create: bool,
    /// Whether `--batch-size` is an option.
    pub has_batch_size: bool,
    /// `--max-tries` unless it is given.
    pub max_tries: u32,
    /// Whether no limit on the tries means but one try.
    pub zero_tries_is_one: bool,
    /// Whether a client ends when the last try of a transaction has failed.
    pub ends_on_last_try: bool,
}

pub const PGBENCH: Flavour = Flavour {
    name: "pgbench",
    prefix: "pgbench",
    init_steps: "dtgvp",
    keys_in_create: false,
    has_batch_size: false,
    max_tries: 1,
    zero_tries_is_one: false,
    ends_on_last_try: false,
};

pub const YSQL_BENCH: Flavour = Flavour {
    name: "ysql_bench",
    prefix: "ysql_bench",
    init_steps: "dtgp",
    keys_in_create: true,
    has_batch_size: true,
    max_tries: 0,
    zero_tries_is_one: true,
    ends_on_last_try: true,
};

impl Flavour {
    /// The flavour that a program of this name is.
    pub fn called(name: &str) -> Option<&'static Self> {
        [&PGBENCH, &YSQL_BENCH]
            .into_iter()
            .find(|flavour| flavour.name == name)
    }

    /// How its tables are made.
    pub fn tables(&self, batch_rows: Option<u64>) -> Tables {
        Tables {
            prefix: self.prefix,
            keys_in_create: self.keys_in_create,
            batch_rows,
        }
    }

    /// A text with the names of its tables in it, from one with those of pgbench's.
    pub fn renamed(&self, text: &str) -> String {
        text.replace("pgbench_", &format!("{}_", self.prefix))
    }
}
