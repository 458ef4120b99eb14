//! The statements that drop, create, empty and tidy up the tables: byte for byte those of pgbench 18
//! (its `initCreateTables` and neighbours in pgbench.c), save for the prefix.

use pgdyno_session::quote_ident;

use super::{ACCOUNTS, BRANCHES, TELLERS, Tables};

/// From this scale on pgbench numbers accounts with `bigint`.
const BIGINT_SCALE: u32 = 20_000;

/// In the order in which pgbench drops and truncates them.
const DROPPED: [&str; 4] = ["accounts", "branches", "history", "tellers"];

/// Table and primary key, in the order in which pgbench creates the keys.
const KEYS: [(&str, &str); 3] = [("branches", "bid"), ("tellers", "tid"), ("accounts", "aid")];

/// Table, foreign key column, and the table that it refers to.
const REFERENCES: [(&str, &str, &str); 5] = [
    ("tellers", "bid", "branches"),
    ("accounts", "bid", "branches"),
    ("history", "bid", "branches"),
    ("history", "tid", "tellers"),
    ("history", "aid", "accounts"),
];

/// How the accounts table is partitioned by account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionMethod {
    /// By ranges of equal size, open at both ends.
    Range,
    /// By the account's hash.
    Hash,
}

impl PartitionMethod {
    /// As SQL and pgbench's option call it.
    pub fn name(self) -> &'static str {
        match self {
            PartitionMethod::Range => "range",
            PartitionMethod::Hash => "hash",
        }
    }
}

/// The tables as they are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Schema<'a> {
    /// Whose tables.
    pub tables: Tables,
    /// Scale factor: branches.
    pub scale: u32,
    /// Fill factor in percent.
    pub fillfactor: u32,
    /// Method and number of partitions of the accounts table; none: not partitioned.
    pub partitioning: Option<(PartitionMethod, u32)>,
    /// Where the tables lie; none: the database's own place.
    pub tablespace: Option<&'a str>,
    /// Where the indexes of primary keys lie.
    pub index_tablespace: Option<&'a str>,
    /// Unlogged tables; of a partitioned accounts table only the partitions are.
    pub unlogged: bool,
}

impl Schema<'_> {
    /// One statement for all tables, so that foreign keys between them do not matter.
    pub fn drop_tables(&self) -> String {
        format!("drop table if exists {}", self.all_tables())
    }

    /// Empties all tables in one statement, for the same reason.
    pub fn truncate(&self) -> String {
        format!("truncate table {}", self.all_tables())
    }

    fn all_tables(&self) -> String {
        DROPPED.map(|table| self.name(table)).join(", ")
    }

    fn name(&self, table: &str) -> String {
        format!("{}_{table}", self.tables.prefix)
    }

    /// One statement a table.
    pub fn create_tables(&self) -> [String; 4] {
        // The blanks stand in pgbench's text.
        let (history_aid, aid) = if self.scale >= BIGINT_SCALE {
            ("aid bigint", "aid bigint")
        } else {
            ("aid    int", "aid    int")
        };
        [
            self.create_table(
                "history",
                &format!("tid int,bid int,{history_aid},delta int,mtime timestamp,filler char(22)"),
            ),
            self.create_table(
                "tellers",
                "tid int not null,bid int,tbalance int,filler char(84)",
            ),
            self.create_table(
                "accounts",
                &format!("{aid} not null,bid int,abalance int,filler char(84)"),
            ),
            self.create_table("branches", "bid int not null,bbalance int,filler char(88)"),
        ]
    }

    fn create_table(&self, table: &str, columns: &str) -> String {
        let name = self.name(table);
        let unlogged = match self.partitioning {
            None => self.unlogged_word(),
            Some(_) => "",
        };
        let key = match KEYS.iter().find(|(keyed, _)| *keyed == table) {
            Some((_, column)) if self.tables.keys_in_create => {
                format!(",primary key ({column}){}", self.index_place())
            }
            _ => String::new(),
        };
        let mut sql = format!("create{unlogged} table {name}({columns}{key})");
        match self.partitioning {
            Some((method, _)) if table == "accounts" => {
                sql += &format!(" partition by {} (aid)", method.name());
            }
            _ if table == "history" => {}
            _ => sql += &self.fillfactor_clause(),
        }
        if let Some(tablespace) = self.tablespace {
            sql += &format!(" tablespace {}", quote_ident(tablespace));
        }
        sql
    }

    /// One statement a partition of the accounts table.
    pub fn create_partitions(&self) -> impl Iterator<Item = String> + '_ {
        let (method, partitions) = self.partitioning.unwrap_or((PartitionMethod::Range, 0));
        (1..=partitions).map(move |number| {
            let accounts = self.name("accounts");
            let values = match method {
                PartitionMethod::Range => self.range(number, partitions),
                PartitionMethod::Hash => {
                    format!("with (modulus {partitions}, remainder {})", number - 1)
                }
            };
            format!(
                "create{} table {accounts}_{number}\n  partition of {accounts}\n  for values \
                 {values}{}",
                self.unlogged_word(),
                self.fillfactor_clause()
            )
        })
    }

    /// Any account finds its place: the first range has no lower end and the last no upper one.
    fn range(&self, number: u32, partitions: u32) -> String {
        let size = (ACCOUNTS * u64::from(self.scale)).div_ceil(u64::from(partitions));
        let bound = |number: u32| (u64::from(number) * size + 1).to_string();
        let from = match number {
            1 => "minvalue".to_owned(),
            _ => bound(number - 1),
        };
        let to = match number {
            _ if number == partitions => "maxvalue".to_owned(),
            _ => bound(number),
        };
        format!("from ({from}) to ({to})")
    }

    fn unlogged_word(&self) -> &'static str {
        if self.unlogged { " unlogged" } else { "" }
    }

    fn fillfactor_clause(&self) -> String {
        format!(" with (fillfactor={})", self.fillfactor)
    }

    /// Fills the tables on the server.
    pub fn generate_on_server(&self) -> [String; 3] {
        let scale = u64::from(self.scale);
        [
            format!(
                "insert into {}(bid,bbalance) select bid, 0 from generate_series(1, {}) as bid",
                self.name("branches"),
                BRANCHES * scale
            ),
            format!(
                "insert into {}(tid,bid,tbalance) select tid, (tid - 1) / {TELLERS} + 1, 0 from \
                 generate_series(1, {}) as tid",
                self.name("tellers"),
                TELLERS * scale
            ),
            format!(
                "insert into {}(aid,bid,abalance,filler) select aid, (aid - 1) / {ACCOUNTS} + 1, \
                 0, '' from generate_series(1, {}) as aid",
                self.name("accounts"),
                ACCOUNTS * scale
            ),
        ]
    }

    /// One statement a table.
    pub fn vacuum(&self) -> [String; 4] {
        ["branches", "tellers", "accounts", "history"]
            .map(|table| format!("vacuum analyze {}", self.name(table)))
    }

    /// One statement a key; none when CREATE TABLE declares them.
    pub fn primary_keys(&self) -> Vec<String> {
        if self.tables.keys_in_create {
            return Vec::new();
        }
        let key = |(table, column): (&str, &str)| {
            format!(
                "alter table {} add primary key ({column}){}",
                self.name(table),
                self.index_place()
            )
        };
        KEYS.map(key).into()
    }

    fn index_place(&self) -> String {
        match self.index_tablespace {
            Some(tablespace) => format!(" using index tablespace {}", quote_ident(tablespace)),
            None => String::new(),
        }
    }

    /// One statement a foreign key.
    pub fn foreign_keys(&self) -> [String; 5] {
        REFERENCES.map(|(table, column, referred)| {
            let name = self.name(table);
            format!(
                "alter table {name} add constraint {name}_{column}_fkey foreign key ({column}) \
                 references {}",
                self.name(referred)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Schema<'static> {
        Schema {
            tables: Tables::PGBENCH,
            scale: 1,
            fillfactor: 100,
            partitioning: None,
            tablespace: None,
            index_tablespace: None,
            unlogged: false,
        }
    }

    #[test]
    fn plain_tables_are_pgbenchs() {
        assert_eq!(
            plain().drop_tables(),
            "drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, \
             pgbench_tellers"
        );
        assert_eq!(
            plain().create_tables(),
            [
                "create table pgbench_history(tid int,bid int,aid    int,delta int,mtime \
                 timestamp,filler char(22))",
                "create table pgbench_tellers(tid int not null,bid int,tbalance int,filler \
                 char(84)) with (fillfactor=100)",
                "create table pgbench_accounts(aid    int not null,bid int,abalance int,filler \
                 char(84)) with (fillfactor=100)",
                "create table pgbench_branches(bid int not null,bbalance int,filler char(88)) \
                 with (fillfactor=100)",
            ]
        );
        assert_eq!(plain().create_partitions().count(), 0);
    }

    #[test]
    fn accounts_are_numbered_in_64_bits_from_scale_20000_on() {
        let of = |scale| Schema { scale, ..plain() }.create_tables();
        assert_eq!(of(19_999), of(1));
        let [history, tellers, accounts, branches] = of(20_000);
        assert!(history.contains("bid int,aid bigint,delta"), "{history}");
        assert!(accounts.contains("(aid bigint not null,"), "{accounts}");
        assert_eq!((&tellers, &branches), (&of(1)[1], &of(1)[3]));
        // Scales whose numbers of accounts pass 32 bits count on without wrapping.
        let schema = Schema {
            scale: 2_147_483_647,
            ..plain()
        };
        assert!(schema.generate_on_server()[2].contains("(1, 214748364700000)"));
    }

    #[test]
    fn unlogged_partitions_belong_to_a_logged_parent() {
        let schema = Schema {
            scale: 10,
            fillfactor: 80,
            partitioning: Some((PartitionMethod::Range, 3)),
            tablespace: Some("fast \"disk\""),
            unlogged: true,
            ..plain()
        };
        assert_eq!(
            schema.create_tables()[2],
            "create table pgbench_accounts(aid    int not null,bid int,abalance int,filler \
             char(84)) partition by range (aid) tablespace \"fast \"\"disk\"\"\""
        );
        // 1,000,000 rows do not divide by 3: the size is rounded up.
        assert_eq!(
            schema.create_partitions().collect::<Vec<_>>(),
            [
                "create unlogged table pgbench_accounts_1\n  partition of pgbench_accounts\n  for \
                 values from (minvalue) to (333335) with (fillfactor=80)",
                "create unlogged table pgbench_accounts_2\n  partition of pgbench_accounts\n  for \
                 values from (333335) to (666669) with (fillfactor=80)",
                "create unlogged table pgbench_accounts_3\n  partition of pgbench_accounts\n  for \
                 values from (666669) to (maxvalue) with (fillfactor=80)",
            ]
        );
        let hash = Schema {
            partitioning: Some((PartitionMethod::Hash, 2)),
            unlogged: false,
            ..schema
        };
        assert_eq!(
            hash.create_partitions().last().unwrap(),
            "create table pgbench_accounts_2\n  partition of pgbench_accounts\n  for values with \
             (modulus 2, remainder 1) with (fillfactor=80)"
        );
    }

    #[test]
    fn keys_stand_in_create_table_or_come_later() {
        let schema = Schema {
            index_tablespace: Some("i"),
            ..plain()
        };
        assert_eq!(
            schema.primary_keys()[1],
            "alter table pgbench_tellers add primary key (tid) using index tablespace \"i\""
        );
        let inline = Schema {
            tables: Tables::YSQL_BENCH,
            ..schema
        };
        assert!(inline.primary_keys().is_empty());
        let [history, tellers, ..] = inline.create_tables();
        assert!(!history.contains("primary key"), "{history}");
        assert_eq!(
            tellers,
            "create table ysql_bench_tellers(tid int not null,bid int,tbalance int,filler \
             char(84),primary key (tid) using index tablespace \"i\") with (fillfactor=100)"
        );
        assert_eq!(
            inline.foreign_keys()[4],
            "alter table ysql_bench_history add constraint ysql_bench_history_aid_fkey foreign \
             key (aid) references ysql_bench_accounts"
        );
    }
}
