//! The statements that drop, create, empty and tidy up the tables: byte for byte those of pgbench 18
//! (its `initCreateTables` and neighbours in pgbench.c), save for the prefix and for what the
//! dialect says of its product.

use pgdyno_session::quote_ident;

use super::{ACCOUNTS, BRANCHES, TELLERS, Tables};
use pgdyno_database::dialect::{Dialect, TableFacts, Version};

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
    pub tables: Tables,
    pub dialect: &'static Dialect,
    pub version: Version,
    pub scale: u32,
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
    fn facts(&self) -> &'static TableFacts {
        &self.dialect.tables
    }

    /// What the product cannot give these tables: the option, and why.
    pub fn refusals(&self) -> Vec<(&'static str, &'static str)> {
        let facts = self.facts();
        let wanted = [
            (
                self.partitioning.is_some(),
                "--partitions",
                facts.no_partitions,
            ),
            (
                self.tablespace.is_some(),
                "--tablespace",
                facts.no_tablespaces,
            ),
            (
                self.index_tablespace.is_some(),
                "--index-tablespace",
                facts.no_tablespaces,
            ),
            (self.unlogged, "--unlogged-tables", facts.no_unlogged),
        ];
        let refused = wanted.into_iter().filter(|(is_wanted, _, _)| *is_wanted);
        refused
            .filter_map(|(_, option, why)| Some((option, why?)))
            .collect()
    }

    /// Whether CREATE TABLE declares the primary keys.
    pub fn has_keys_in_create(&self) -> bool {
        self.tables.keys_in_create || self.facts().keys_in_create
    }

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
            Some((_, column)) if self.has_keys_in_create() => {
                let order = self.facts().key_order;
                format!(",primary key ({column}{order}){}", self.index_place())
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
        if !self.facts().has_fillfactor {
            return String::new();
        }
        format!(" with (fillfactor={})", self.fillfactor)
    }

    /// Fills the tables on the server: one statement a table, or for so many rows at a time where
    /// the product wants commits between.
    pub fn generate_on_server(&self) -> impl Iterator<Item = String> + '_ {
        let tables = [
            ("branches", BRANCHES),
            ("tellers", TELLERS),
            ("accounts", ACCOUNTS),
        ];
        tables
            .into_iter()
            .flat_map(move |(table, rows_per_branch)| {
                let rows = rows_per_branch * u64::from(self.scale);
                let batch = self.facts().filling.batch_rows().unwrap_or(rows).max(1);
                let starts = (0..rows).step_by(usize::try_from(batch).unwrap_or(usize::MAX));
                starts.map(move |start| self.generate(table, start + 1, rows.min(start + batch)))
            })
    }

    fn generate(&self, table: &str, first: u64, last: u64) -> String {
        let name = self.name(table);
        let divided_by = self.facts().integer_division;
        match table {
            "branches" => format!(
                "insert into {name}(bid,bbalance) select bid, 0 from generate_series({first}, \
                 {last}) as bid"
            ),
            "tellers" => format!(
                "insert into {name}(tid,bid,tbalance) select tid, (tid - 1) {divided_by} {TELLERS} \
                 + 1, 0 from generate_series({first}, {last}) as tid"
            ),
            _ => format!(
                "insert into {name}(aid,bid,abalance,filler) select aid, (aid - 1) {divided_by} \
                 {ACCOUNTS} + 1, 0, '' from generate_series({first}, {last}) as aid"
            ),
        }
    }

    /// One statement a table; none where there is nothing to be done.
    pub fn vacuum(&self) -> Vec<String> {
        let tables = ["branches", "tellers", "accounts", "history"].map(|table| self.name(table));
        if self.dialect.vacuum.is_some() {
            return tables.map(|table| format!("vacuum analyze {table}")).into();
        }
        tables
            .iter()
            .flat_map(|table| self.dialect.after_load(table, false))
            .collect()
    }

    /// One statement a key; none when CREATE TABLE declares them.
    pub fn primary_keys(&self) -> Vec<String> {
        if self.has_keys_in_create() {
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

    /// Foreign keys that the product does not validate when they are added: table and name of each.
    pub fn unvalidated_keys(&self) -> Vec<(String, String)> {
        let since = self.facts().foreign_keys_validated_since;
        let mut keys = Vec::new();
        if since.is_some_and(|since| self.version < since) {
            for (table, column, _) in REFERENCES {
                let name = self.name(table);
                let key = format!("{name}_{column}_fkey");
                keys.push((name, key));
            }
        }
        keys
    }

    /// One statement a foreign key, and before it the index on its column where it needs one.
    pub fn foreign_keys(&self) -> Vec<String> {
        let since = self.facts().foreign_keys_without_index_since;
        let needs_index = since.is_some_and(|since| self.version < since);
        let mut statements = Vec::new();
        for (table, column, referred) in REFERENCES {
            let name = self.name(table);
            if needs_index {
                statements.push(format!(
                    "create index if not exists {name}_{column}_idx on {name} ({column})"
                ));
            }
            statements.push(format!(
                "alter table {name} add constraint {name}_{column}_fkey foreign key ({column}) \
                 references {}",
                self.name(referred)
            ));
        }
        statements
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_database::dialect::{COCKROACHDB, POSTGRESQL, YUGABYTEDB};

    #[test]
    fn an_old_cockroachdb_does_not_validate_the_foreign_keys_that_are_added() {
        let of = |dialect, version| Schema {
            dialect,
            version,
            ..plain()
        };
        let old = of(&COCKROACHDB, Version::new(19, 1));
        let keys = old.unvalidated_keys();
        // The names by which they are added.
        let added = old.foreign_keys().join(";");
        assert!(keys.len() == 5 && keys.iter().all(|(_, key)| added.contains(key.as_str())));
        assert_eq!(of(&COCKROACHDB, Version::new(19, 2)).unvalidated_keys(), []);
        assert_eq!(of(&POSTGRESQL, Version::new(13, 0)).unvalidated_keys(), []);
    }

    fn plain() -> Schema<'static> {
        Schema {
            tables: Tables::PGBENCH,
            dialect: &POSTGRESQL,
            version: Version::new(18, 0),
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
        assert!(
            schema
                .generate_on_server()
                .nth(2)
                .unwrap()
                .contains("(1, 214748364700000)")
        );
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

    #[test]
    fn cockroachdb_gets_keys_in_create_and_neither_storage_parameters_nor_fractions() {
        let schema = Schema {
            dialect: &COCKROACHDB,
            version: Version::new(19, 1),
            fillfactor: 90,
            ..plain()
        };
        assert_eq!(
            schema.create_tables(),
            [
                "create table pgbench_history(tid int,bid int,aid    int,delta int,mtime \
                 timestamp,filler char(22))",
                "create table pgbench_tellers(tid int not null,bid int,tbalance int,filler \
                 char(84),primary key (tid))",
                "create table pgbench_accounts(aid    int not null,bid int,abalance int,filler \
                 char(84),primary key (aid))",
                "create table pgbench_branches(bid int not null,bbalance int,filler \
                 char(88),primary key (bid))",
            ]
        );
        assert!(schema.has_keys_in_create() && schema.primary_keys().is_empty());
        assert_eq!(
            schema.vacuum()[3],
            "CREATE STATISTICS pgdyno FROM pgbench_history"
        );
        let generate: Vec<_> = schema.generate_on_server().collect();
        assert_eq!(
            (generate.len(), &*generate[1], &*generate[11]),
            (
                12,
                "insert into pgbench_tellers(tid,bid,tbalance) select tid, (tid - 1) // 10 + 1, 0 \
                 from generate_series(1, 10) as tid",
                "insert into pgbench_accounts(aid,bid,abalance,filler) select aid, (aid - 1) // \
                 100000 + 1, 0, '' from generate_series(90001, 100000) as aid",
            )
        );
    }

    #[test]
    fn a_foreign_key_gets_an_index_only_where_the_version_wants_one() {
        let of = |dialect, version| {
            let schema = Schema {
                dialect,
                version,
                ..plain()
            };
            schema.foreign_keys()
        };
        let old = of(&COCKROACHDB, Version::new(20, 1));
        assert_eq!(
            (old.len(), &*old[0], &*old[1]),
            (
                10,
                "create index if not exists pgbench_tellers_bid_idx on pgbench_tellers (bid)",
                "alter table pgbench_tellers add constraint pgbench_tellers_bid_fkey foreign key \
                 (bid) references pgbench_branches",
            )
        );
        assert_eq!(of(&COCKROACHDB, Version::new(20, 2)).len(), 5);
        assert_eq!(
            of(&YUGABYTEDB, Version::new(2, 14)),
            of(&POSTGRESQL, Version::new(18, 0))
        );
    }

    #[test]
    fn yugabytedb_gets_sharded_keys_and_statistics() {
        let schema = Schema {
            dialect: &YUGABYTEDB,
            version: Version::new(2025, 2),
            tables: Tables::YSQL_BENCH,
            ..plain()
        };
        assert_eq!(
            schema.create_tables()[3],
            "create table ysql_bench_branches(bid int not null,bbalance int,filler \
             char(88),primary key (bid hash))"
        );
        assert_eq!(schema.vacuum()[0], "ANALYZE ysql_bench_branches");
        // A division of integers gives one.
        let generate: Vec<_> = schema.generate_on_server().collect();
        assert_eq!(
            (generate.len(), &*generate[6]),
            (
                7,
                "insert into ysql_bench_accounts(aid,bid,abalance,filler) select aid, (aid - 1) / \
                 100000 + 1, 0, '' from generate_series(80001, 100000) as aid",
            )
        );
    }

    #[test]
    fn what_a_product_cannot_give_is_refused_with_its_reason() {
        let wanted = Schema {
            partitioning: Some((PartitionMethod::Hash, 2)),
            tablespace: Some("t"),
            index_tablespace: Some("i"),
            unlogged: true,
            ..plain()
        };
        let options = |dialect| {
            let refusals = Schema { dialect, ..wanted }.refusals();
            refusals
                .into_iter()
                .map(|(option, _)| option)
                .collect::<Vec<_>>()
        };
        assert_eq!(options(&POSTGRESQL), [""; 0]);
        assert_eq!(
            options(&COCKROACHDB),
            [
                "--partitions",
                "--tablespace",
                "--index-tablespace",
                "--unlogged-tables"
            ]
        );
        assert_eq!(options(&YUGABYTEDB), ["--unlogged-tables"]);
        let plain = Schema {
            dialect: &COCKROACHDB,
            ..plain()
        };
        assert!(plain.refusals().is_empty());
    }
}
