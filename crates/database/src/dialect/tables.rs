//! How a product wants its tables made and filled.

use super::Version;

/// What CREATE TABLE takes, and how rows go in.
#[derive(Debug, PartialEq, Eq)]
pub struct TableFacts {
    /// Whether what CREATE and DROP did in a transaction is undone with it.
    pub transactional_ddl: bool,
    /// Whether tables have a fill factor.
    pub has_fillfactor: bool,
    /// Whether primary keys must stand in CREATE TABLE, or had better.
    pub keys_in_create: bool,
    /// What follows the first column of a primary key, so that its order is stated.
    pub key_order: &'static str,
    /// Why a table cannot be made of partitions with names of their own; `None` when it can.
    pub no_partitions: Option<&'static str>,
    /// Why a table or an index cannot be given its place; `None` when it can.
    pub no_tablespaces: Option<&'static str>,
    /// Why a table cannot be unlogged; `None` when it can.
    pub no_unlogged: Option<&'static str>,
    /// The operator that divides integers and gives an integer.
    pub integer_division: &'static str,
    /// From this version on a foreign key needs no index on its columns; `None`: it never did.
    pub foreign_keys_without_index_since: Option<Version>,
    /// Before it a foreign key that is added to a table is not validated; `None`: it always is.
    pub foreign_keys_validated_since: Option<Version>,
    /// The first version whose COPY can write rows that no vacuum has to visit again; `None` when
    /// there is no such option.
    pub copy_freeze_since: Option<Version>,
    pub filling: Filling,
    /// Settings of the session that loads, so that it is done in bearable time; they are reported.
    pub load_settings: &'static [LoadSetting],
    /// The server's setting without which it takes no SPLIT AT; `None` where it takes it.
    pub splits_need: Option<SplitSetting>,
}

impl super::Product {
    /// What this version needs before a table is split; `None`: nothing.
    pub fn splits_need(&self) -> Option<&'static SplitSetting> {
        let setting = self.dialect.tables.splits_need.as_ref()?;
        (!self.is_since(setting.until)).then_some(setting)
    }

    /// The settings for a load that this version has; of one that records what it has done in the same
    /// transactions.
    pub fn load_settings(&self, is_recorded: bool) -> impl Iterator<Item = &'static LoadSetting> {
        let settings = self.dialect.tables.load_settings.iter();
        let settings = settings.filter(move |s| s.keeps_transactions || !is_recorded);
        settings.filter(|setting| self.is_since(setting.since))
    }
}

/// How the rows of a table go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    /// All in one transaction, which empties the table first.
    Whole,
    /// So many rows at a time, each by a COPY that is a transaction of its own.
    Batches { rows: u64 },
    /// By one COPY outside any transaction that commits after so many rows by itself.
    Committing { rows: u64 },
}

impl Filling {
    /// What follows a COPY of it.
    pub fn options(self) -> String {
        match self {
            Filling::Committing { rows } => format!(" WITH (ROWS_PER_TRANSACTION {rows})"),
            _ => String::new(),
        }
    }

    /// After how many rows there is a commit; `None`: only at the end.
    pub fn batch_rows(self) -> Option<u64> {
        match self {
            Filling::Whole => None,
            Filling::Batches { rows } | Filling::Committing { rows } => Some(rows),
        }
    }
}

/// A setting for a load. The statement that empties its name again is RESET.
#[derive(Debug, PartialEq, Eq)]
pub struct LoadSetting {
    pub name: &'static str,
    /// Its value during the load.
    pub value: &'static str,
    /// The first version that has it.
    pub since: Version,
    /// Whether transactions are still all or nothing with it, and wait for each other.
    pub keeps_transactions: bool,
    /// What it does, for people.
    pub why: &'static str,
}

/// A setting of the whole server that a split of a table needs. It stays: put back, it would undo the split.
#[derive(Debug, PartialEq, Eq)]
pub struct SplitSetting {
    pub name: &'static str,
    /// The value that a split needs.
    pub value: &'static str,
    /// Query for the value that it has; no row where the server has no such setting.
    pub query: &'static str,
    pub set: &'static str,
    /// The first version that takes splits without it.
    pub until: Version,
    /// What it does, for people.
    pub why: &'static str,
}
