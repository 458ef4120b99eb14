//! What other products do for a statement that changes a schema, in their own words. All of this rests on their
//! documentation alone: no test holds it to a server.
//!
//! Sources: pages below https://www.cockroachlabs.com/docs/stable/ and https://docs.yugabyte.com/stable/, and files
//! and issues of `cockroachdb/cockroach` and `yugabyte/yugabyte-db` on GitHub.

use serde::Serialize;

use crate::file::Group;
use crate::forms::{self, Form};
use crate::statement::{Proofs, actions};

/// For which server a migration is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    PostgreSql {
        /// The major one.
        version: u32,
    },
    CockroachDb,
    YugabyteDb,
}

/// What a product says of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Words {
    /// Whether clients go on meanwhile.
    pub is_online: bool,
    pub does: &'static str,
    #[serde(skip)]
    pub source: &'static str,
}

const fn online(does: &'static str, source: &'static str) -> Words {
    Words {
        is_online: true,
        does,
        source,
    }
}

const fn offline(does: &'static str, source: &'static str) -> Words {
    Words {
        is_online: false,
        ..online(does, source)
    }
}

/// The words for some forms, and those for all other changes of a schema.
struct Table {
    of_forms: &'static [(&'static [&'static Form], Words)],
    others: Words,
    /// Of schema changes in a transaction with other statements.
    in_transaction: &'static str,
}

static COCKROACHDB: Table = Table {
    of_forms: &[
        (
            &[
                &forms::ADD_COLUMN,
                &forms::ADD_COLUMN_REWRITE,
                &forms::ADD_COLUMN_DEFAULT_UNKNOWN,
            ],
            online(
                "a job (SHOW JOBS); where there is a default, rows are filled in the background (backfill)",
                "online-schema-changes, How online schema changes work",
            ),
        ),
        (
            &[&forms::CREATE_INDEX, &forms::CREATE_INDEX_CONCURRENTLY],
            online(
                "a job (SHOW JOBS): the index is written by clients first, then filled in the background (backfill); \
                 CONCURRENTLY changes nothing",
                "create-index; docs/RFCS/20151014_online_schema_change.md",
            ),
        ),
        (
            &[&forms::DROP_INDEX, &forms::DROP_INDEX_CONCURRENTLY],
            online(
                "a job (SHOW JOBS); CONCURRENTLY changes nothing",
                "drop-index, Parameters",
            ),
        ),
        (
            &[&forms::SET_TYPE, &forms::SET_TYPE_REWRITE],
            online(
                "a job (SHOW JOBS); where the values are stored otherwise, with limits that its page lists",
                "alter-column, Altering column data types",
            ),
        ),
        (
            &[&forms::ADD_UNIQUE],
            online(
                "a job (SHOW JOBS) that fills an index in the background; while a primary key changes, no other \
                 schema change of the table begins",
                "online-schema-changes, Limitations",
            ),
        ),
    ],
    others: online(
        "a job (SHOW JOBS) that locks no rows: nodes go from one version of the table's schema to the next, and two \
         at most are in use at the same time",
        "online-schema-changes; docs/RFCS/20151014_online_schema_change.md",
    ),
    in_transaction: "in a transaction with others a schema change is not atomic: it can fail when they are committed; \
                     one a transaction (online-schema-changes, Schema changes within transactions)",
};

static YUGABYTEDB: Table = Table {
    of_forms: &[
        (
            &[&forms::CREATE_INDEX, &forms::CREATE_INDEX_CONCURRENTLY],
            online(
                "rows are filled in the background (backfill) while clients write it, as CONCURRENTLY or not; not so \
                 in a transaction block",
                "explore/ysql-language-features/indexes-constraints/index-backfill; issue 9550",
            ),
        ),
        (
            &[&forms::SET_TYPE_REWRITE, &forms::ADD_COLUMN_REWRITE],
            offline(
                "a table rewrite: a new table is filled, and what clients write meanwhile may be missing in it",
                "api/ysql/the-sql-language/statements/ddl_alter_table, Table rewrites; \
                 releases/techadvisories/ta-24007",
            ),
        ),
        (
            &[&forms::SET_TYPE, &forms::ADD_COLUMN_DEFAULT_UNKNOWN],
            offline(
                "a table rewrite where what is stored has to change, and what clients write meanwhile may be missing \
                 then",
                "api/ysql/the-sql-language/statements/ddl_alter_table, Table rewrites",
            ),
        ),
        (
            &[&forms::SET_TYPE_COERCIBLE],
            online(
                "no table rewrite: clients may write meanwhile",
                "api/ysql/the-sql-language/statements/ddl_alter_table, Alter type without table-rewrite",
            ),
        ),
        (
            &[&forms::ADD_UNIQUE],
            offline(
                "of a primary key a table rewrite: what clients write meanwhile may be missing in it",
                "release 2.25.1.0-b54, A regular table rewrite",
            ),
        ),
        (
            &[&forms::TRUNCATE],
            offline(
                "not transactional: ROLLBACK does not bring the rows back",
                "api/ysql/the-sql-language/statements/ddl_truncate",
            ),
        ),
    ],
    others: online(
        "the catalog's version changes: transactions on the table that began before may be aborted, and are to be \
         tried again",
        "issue 7327",
    ),
    in_transaction: "transactional DDL is a preview and off by default: without it each schema change is committed by \
                     itself (explore/transactions/transactional-ddl)",
};

/// Of these nothing is said: they are no schema changes, or not in the documentation.
static UNKNOWN: [&Form; 15] = [
    &forms::READS,
    &forms::READS_TO_LOCK,
    &forms::WRITES,
    &forms::SESSION,
    &forms::NO_TABLE,
    &forms::LOCK_TABLE,
    &forms::VACUUM,
    &forms::VACUUM_FULL,
    &forms::CLUSTER,
    &forms::ANALYZE,
    &forms::REINDEX_INDEX,
    &forms::REINDEX_TABLE,
    &forms::REINDEX_CONCURRENTLY,
    &forms::REFRESH,
    &forms::REFRESH_CONCURRENTLY,
];

impl Product {
    /// By the name that pgdyno has for it; `None`: nothing is known of it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "cockroachdb" => Some(Self::CockroachDb),
            "yugabytedb" => Some(Self::YugabyteDb),
            _ => None,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::PostgreSql { .. } => "PostgreSQL",
            Self::CockroachDb => "CockroachDB",
            Self::YugabyteDb => "YugabyteDB",
        }
    }

    /// The version of PostgreSQL whose statements it is taken to know.
    pub(crate) fn version(self) -> u32 {
        match self {
            Self::PostgreSql { version } => version,
            _ => *crate::VERSIONS.end(),
        }
    }

    fn table(self) -> Option<&'static Table> {
        match self {
            Self::PostgreSql { .. } => None,
            Self::CockroachDb => Some(&COCKROACHDB),
            Self::YugabyteDb => Some(&YUGABYTEDB),
        }
    }

    /// What its documentation says of a form; `None`: nothing, or it is PostgreSQL.
    pub fn words(self, form: &'static Form) -> Option<&'static Words> {
        let table = self.table()?;
        if UNKNOWN.contains(&form) {
            return None;
        }
        let of_form = table.of_forms.iter().find(|(of, _)| of.contains(&form));
        Some(of_form.map_or(&table.others, |(_, words)| words))
    }

    /// What is to be known of a transaction with several statements, where one changes a schema.
    pub(crate) fn of_transaction(self, group: &Group) -> Option<String> {
        let table = self.table()?;
        let changes = |text: &str| {
            let actions = actions(
                text,
                self.version(),
                &mut |_, _| None,
                &mut Proofs::default(),
            );
            let mut forms = actions.iter().filter_map(|action| action.form);
            forms.any(|form| self.words(form).is_some())
        };
        let is_shared = group.begin.is_some() && group.statements.len() > 1;
        let first = group.statements.iter().find(|it| changes(&it.text));
        let first = first.filter(|_| is_shared)?;
        Some(format!("{}: {}", first.place(), table.in_transaction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::{explain, text};

    const ELSEWHERE: [Product; 2] = [Product::CockroachDb, Product::YugabyteDb];

    #[test]
    fn each_form_has_words_with_a_source_or_is_said_to_be_unknown() {
        for product in ELSEWHERE {
            for &form in forms::ALL {
                match product.words(form) {
                    Some(words) => assert!(!words.does.is_empty() && !words.source.is_empty()),
                    None => assert!(UNKNOWN.contains(&form), "{}", form.name),
                }
            }
        }
        let postgresql = Product::PostgreSql { version: 18 };
        assert_eq!(postgresql.words(&forms::CREATE_INDEX), None);
        assert_eq!(Product::named("cockroachdb"), Some(Product::CockroachDb));
        assert_eq!(Product::named("postgresql"), None);
    }

    #[test]
    fn a_migration_is_explained_in_the_words_of_another_product() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1_x.up.sql");
        let file = "ALTER TABLE t ALTER a TYPE bigint USING a::text::bigint; CREATE INDEX CONCURRENTLY i ON t (a); \
                    VACUUM t";
        std::fs::write(&path, file).unwrap();
        let migration = crate::read(&path).unwrap();
        for (product, expected) in ELSEWHERE.into_iter().zip([
            &[
                "made online; of 1 statement it is not known",
                "on CockroachDB: by its documentation alone",
                "SHOW JOBS",
                "not atomic",
            ][..],
            &[
                "Not online: a table rewrite",
                "(backfill)",
                "off by default",
            ],
        ]) {
            let explained = explain(&migration, product, &mut |_, _| None);
            let shown = text(&explained);
            for words in expected {
                assert!(shown.contains(words), "{words}: {shown}");
            }
            assert!(
                explained.version.is_none() && !shown.contains("ACCESS EXCLUSIVE"),
                "{shown}"
            );
            assert!(explained.statements.iter().all(|it| it.online.is_none()));
        }
    }
}
