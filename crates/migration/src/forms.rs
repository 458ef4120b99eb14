//! The table: what PostgreSQL 13 to 18 do for each form of a statement that changes a schema: locks by relation,
//! whether rows are written anew or read, and where that is documented.
//!
//! Sources: the manual's reference page, which says so for all of these versions unless a version is named
//! (`sql-altertable` is https://www.postgresql.org/docs/18/sql-altertable.html); where it is silent, the source
//! file and its function. A test holds the table to real servers (`tests/all/forms.rs`).

use serde::Serialize;

/// A mode of a table's lock, weakest first (the manual, 13.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "&'static str")]
pub enum Mode {
    AccessShare,
    RowShare,
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    AccessExclusive,
}

impl Mode {
    pub const ALL: [Mode; 8] = [
        Mode::AccessShare,
        Mode::RowShare,
        Mode::RowExclusive,
        Mode::ShareUpdateExclusive,
        Mode::Share,
        Mode::ShareRowExclusive,
        Mode::Exclusive,
        Mode::AccessExclusive,
    ];

    /// As SQL has it.
    pub fn words(self) -> &'static str {
        match self {
            Mode::AccessShare => "ACCESS SHARE",
            Mode::RowShare => "ROW SHARE",
            Mode::RowExclusive => "ROW EXCLUSIVE",
            Mode::ShareUpdateExclusive => "SHARE UPDATE EXCLUSIVE",
            Mode::Share => "SHARE",
            Mode::ShareRowExclusive => "SHARE ROW EXCLUSIVE",
            Mode::Exclusive => "EXCLUSIVE",
            Mode::AccessExclusive => "ACCESS EXCLUSIVE",
        }
    }

    /// Of `pg_locks.mode`.
    pub fn of_view(name: &str) -> Option<Mode> {
        let name = name.strip_suffix("Lock")?;
        Mode::ALL
            .into_iter()
            .find(|mode| mode.words().replace(' ', "").eq_ignore_ascii_case(name))
    }

    /// What waits while it is held.
    pub fn blocks(self) -> &'static str {
        match self {
            Mode::AccessExclusive => "reads and writes wait",
            Mode::Share | Mode::ShareRowExclusive | Mode::Exclusive => "writes wait",
            Mode::ShareUpdateExclusive => "other DDL and VACUUM wait",
            _ => "stronger DDL waits",
        }
    }
}

impl From<Mode> for &'static str {
    fn from(mode: Mode) -> Self {
        mode.words()
    }
}

/// Which relation of the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Table,
    /// The table that a foreign key refers to.
    Referenced,
    /// A partitioned table, or one that is inherited from.
    Parent,
    Partition,
    Index,
    /// The table of an index that is named alone.
    TableOfIndex,
    View,
    Sequence,
    /// Read by a query in it.
    Read,
}

impl Role {
    pub fn words(self) -> &'static str {
        match self {
            Role::Table => "table",
            Role::Referenced => "referenced table",
            Role::Parent => "parent",
            Role::Partition => "partition",
            Role::Index => "index",
            Role::TableOfIndex => "table of the index",
            Role::View => "view",
            Role::Sequence => "sequence",
            Role::Read => "table that is read",
        }
    }
}

/// Whether rows are written anew, or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is", content = "on")]
pub enum Work {
    No,
    Yes,
    /// What decides it.
    Depends(&'static str),
}

/// A form of a statement.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Form {
    pub name: &'static str,
    pub locks: &'static [(Role, Mode)],
    /// Whether the table (or index, or view) is written anew while the lock is held.
    pub rewrite: Work,
    /// Whether rows are read for it while the lock is held.
    pub scan: Work,
    /// More than its locks say.
    pub note: &'static str,
    pub source: &'static str,
    /// The first version that has it.
    pub since: u32,
}

use Mode::{
    AccessExclusive as AEL, AccessShare as AS, Exclusive as EXCL, RowExclusive as RX,
    RowShare as RS, Share as SHARE, ShareRowExclusive as SRX, ShareUpdateExclusive as SUX,
};
use Role::{Index, Parent, Partition, Read, Referenced, Sequence, Table, TableOfIndex, View};
use Work::{Depends, No, Yes};

const ALTER_TABLE: &str = "sql-altertable, Description";
const LEVELS: &str = "sql-altertable, Description; tablecmds.c, AlterTableGetLockLevel";

const fn form(name: &'static str, locks: &'static [(Role, Mode)], source: &'static str) -> Form {
    Form {
        name,
        locks,
        rewrite: No,
        scan: No,
        note: "",
        source,
        since: 13,
    }
}

impl Form {
    const fn rewrites(self, rewrite: Work) -> Form {
        Form { rewrite, ..self }
    }

    const fn scans(self, scan: Work) -> Form {
        Form { scan, ..self }
    }

    const fn noted(self, note: &'static str) -> Form {
        Form { note, ..self }
    }

    const fn since(self, since: u32) -> Form {
        Form { since, ..self }
    }
}

/// Declares forms by the names that the reader of statements knows them by.
macro_rules! forms {
    ($($id:ident = $form:expr;)*) => {
        $(pub static $id: Form = $form;)*
        /// All of the table.
        pub static ALL: &[&Form] = &[$(&$id),*];
    };
}

forms! {
    ADD_COLUMN = form("ALTER TABLE ADD COLUMN, no default or a constant one", &[(Table, AEL)], ALTER_TABLE)
        .noted("the default is evaluated once (sql-altertable, Notes)");
    ADD_COLUMN_REWRITE = form("ALTER TABLE ADD COLUMN, volatile default, identity or stored generated", &[(Table, AEL)],
        "sql-altertable, Notes").rewrites(Yes);
    ADD_COLUMN_DEFAULT_UNKNOWN = form("ALTER TABLE ADD COLUMN, default by a function", &[(Table, AEL)],
        "sql-altertable, Notes").rewrites(Depends("whether the function is volatile"));
    ADD_COLUMN_VIRTUAL = form("ALTER TABLE ADD COLUMN, virtual generated", &[(Table, AEL)], "sql-altertable, Notes (18)")
        .since(18);
    ADD_COLUMN_REFERENCES = form("ALTER TABLE ADD COLUMN … REFERENCES, no default", &[(Table, AEL), (Referenced, SRX)],
        "sql-altertable, ADD table_constraint; parse_utilcmd.c, transformFKConstraints");
    DROP_COLUMN = form("ALTER TABLE DROP COLUMN", &[(Table, AEL)], "sql-altertable, Notes")
        .noted("the column's room is given back by later updates only");
    SET_DEFAULT = form("ALTER TABLE ALTER COLUMN SET or DROP DEFAULT", &[(Table, AEL)], LEVELS);
    SET_NOT_NULL = form("ALTER TABLE ALTER COLUMN SET NOT NULL", &[(Table, AEL)], "sql-altertable, SET/DROP NOT NULL")
        .scans(Yes).noted("no scan where a valid CHECK (column IS NOT NULL) proves it");
    SET_NOT_NULL_PROVED = form("ALTER TABLE ALTER COLUMN SET NOT NULL, proved by a valid CHECK", &[(Table, AEL)],
        "sql-altertable, SET/DROP NOT NULL");
    DROP_NOT_NULL = form("ALTER TABLE ALTER COLUMN DROP NOT NULL", &[(Table, AEL)], LEVELS);
    SET_TYPE = form("ALTER TABLE ALTER COLUMN TYPE", &[(Table, AEL)], "sql-altertable, Notes")
        .rewrites(Depends("the old type: none where it is binary coercible to the new one")).scans(Depends("the old type"));
    SET_TYPE_REWRITE = form("ALTER TABLE ALTER COLUMN TYPE, other representation", &[(Table, AEL)],
        "sql-altertable, Notes").rewrites(Yes).noted("indexes on the column are rebuilt, too");
    SET_TYPE_COERCIBLE = form("ALTER TABLE ALTER COLUMN TYPE, binary coercible", &[(Table, AEL)],
        "sql-altertable, Notes").noted("an index is rebuilt where the new type sorts differently");
    SET_STATISTICS = form("ALTER TABLE ALTER COLUMN SET STATISTICS or SET (n_distinct)", &[(Table, SUX)],
        "sql-altertable, SET STATISTICS");
    SET_STORAGE = form("ALTER TABLE ALTER COLUMN SET STORAGE", &[(Table, AEL)], LEVELS);
    SET_COMPRESSION = form("ALTER TABLE ALTER COLUMN SET COMPRESSION", &[(Table, AEL)], LEVELS).since(14);
    IDENTITY = form("ALTER TABLE ALTER COLUMN ADD, SET or DROP IDENTITY", &[(Table, AEL)], LEVELS);
    DROP_EXPRESSION = form("ALTER TABLE ALTER COLUMN DROP EXPRESSION", &[(Table, AEL)], LEVELS);
    SET_EXPRESSION = form("ALTER TABLE ALTER COLUMN SET EXPRESSION", &[(Table, AEL)], "sql-altertable, SET EXPRESSION (17)")
        .rewrites(Yes).since(17);
    ADD_CHECK = form("ALTER TABLE ADD CHECK", &[(Table, AEL)], "sql-altertable, Notes").scans(Yes);
    ADD_CHECK_NOT_VALID = form("ALTER TABLE ADD CHECK … NOT VALID", &[(Table, AEL)], "sql-altertable, Notes");
    ADD_NOT_NULL = form("ALTER TABLE ADD NOT NULL constraint", &[(Table, AEL)], "sql-altertable, Notes (18)")
        .scans(Yes).since(18);
    ADD_NOT_NULL_NOT_VALID = form("ALTER TABLE ADD NOT NULL … NOT VALID", &[(Table, AEL)], "sql-altertable, Notes (18)")
        .since(18);
    ADD_FOREIGN_KEY = form("ALTER TABLE ADD FOREIGN KEY", &[(Table, SRX), (Referenced, SRX)],
        "sql-altertable, ADD table_constraint").scans(Yes);
    ADD_FOREIGN_KEY_NOT_VALID = form("ALTER TABLE ADD FOREIGN KEY … NOT VALID", &[(Table, SRX), (Referenced, SRX)],
        "sql-altertable, ADD table_constraint").noted("not on a partitioned table before 18");
    ADD_UNIQUE = form("ALTER TABLE ADD UNIQUE, PRIMARY KEY or EXCLUDE", &[(Table, AEL)], LEVELS)
        .scans(Yes).noted("an index is built under the lock");
    ADD_UNIQUE_USING = form("ALTER TABLE ADD UNIQUE USING INDEX", &[(Table, AEL)],
        "sql-altertable, ADD table_constraint_using_index")
        .noted("where the index has another name, it is renamed: SHARE UPDATE EXCLUSIVE on it");
    ADD_PRIMARY_USING = form("ALTER TABLE ADD PRIMARY KEY USING INDEX", &[(Table, AEL)],
        "sql-altertable, ADD table_constraint_using_index")
        .scans(Depends("whether its columns are NOT NULL already"));
    VALIDATE = form("ALTER TABLE VALIDATE CONSTRAINT", &[(Table, SUX)], "sql-altertable, VALIDATE CONSTRAINT, Notes")
        .scans(Yes).noted("of a foreign key ROW SHARE on the referenced table, too");
    DROP_CONSTRAINT = form("ALTER TABLE DROP CONSTRAINT", &[(Table, AEL)], LEVELS)
        .noted("of a foreign key ACCESS EXCLUSIVE on the referenced table, too (trigger.c, RemoveTriggerById)");
    ALTER_CONSTRAINT = form("ALTER TABLE ALTER CONSTRAINT", &[(Table, AEL)], LEVELS);
    RENAME = form("ALTER TABLE RENAME", &[(Table, AEL)], "sql-altertable, RENAME")
        .noted("clients that use the old name fail from the commit on");
    SET_SCHEMA = form("ALTER TABLE SET SCHEMA", &[(Table, AEL)], ALTER_TABLE);
    OWNER = form("ALTER TABLE OWNER TO", &[(Table, AEL)], LEVELS);
    TRIGGERS = form("ALTER TABLE ENABLE or DISABLE TRIGGER", &[(Table, SRX)], "sql-altertable, DISABLE/ENABLE TRIGGER");
    RULES = form("ALTER TABLE ENABLE or DISABLE RULE", &[(Table, AEL)], LEVELS);
    ROW_SECURITY = form("ALTER TABLE … ROW LEVEL SECURITY", &[(Table, AEL)], LEVELS);
    REPLICA_IDENTITY = form("ALTER TABLE REPLICA IDENTITY", &[(Table, AEL)], LEVELS);
    CLUSTER_ON = form("ALTER TABLE CLUSTER ON or SET WITHOUT CLUSTER", &[(Table, SUX)], "sql-altertable, CLUSTER ON");
    SET_LOGGED = form("ALTER TABLE SET LOGGED or UNLOGGED", &[(Table, AEL)], "sql-altertable, SET LOGGED").rewrites(Yes);
    SET_TABLESPACE = form("ALTER TABLE SET TABLESPACE", &[(Table, AEL)], "sql-altertable, SET TABLESPACE")
        .rewrites(Yes).noted("files are copied as they are");
    SET_ACCESS_METHOD = form("ALTER TABLE SET ACCESS METHOD", &[(Table, AEL)], "sql-altertable, SET ACCESS METHOD (15)")
        .rewrites(Yes).since(15);
    SET_PARAMETERS = form("ALTER TABLE SET or RESET (storage parameter)", &[(Table, SUX)],
        "sql-altertable, SET (storage_parameter); reloptions.c, lock levels of each")
        .noted("existing rows are not changed");
    SET_CATALOG_PARAMETER = form("ALTER TABLE SET (user_catalog_table)", &[(Table, AEL)],
        "reloptions.c, boolRelOpts");
    INHERIT = form("ALTER TABLE INHERIT", &[(Table, AEL), (Parent, SUX)], "tablecmds.c, ATExecAddInherit");
    NO_INHERIT = form("ALTER TABLE NO INHERIT", &[(Table, AEL), (Parent, AS)], "tablecmds.c, ATExecDropInherit");
    ATTACH = form("ALTER TABLE ATTACH PARTITION", &[(Parent, SUX), (Partition, AEL)], "sql-altertable, ATTACH PARTITION")
        .scans(Yes)
        .noted("no scan where a valid CHECK implies the bounds; a default partition is locked ACCESS EXCLUSIVE, and read");
    DETACH = form("ALTER TABLE DETACH PARTITION", &[(Parent, AEL), (Partition, AEL)],
        "sql-altertable, DETACH PARTITION; tablecmds.c, AlterTableGetLockLevel");
    DETACH_13 = form("ALTER TABLE DETACH PARTITION, before 14", &[(Parent, AEL), (Partition, SUX)],
        "tablecmds.c, ATExecDetachPartition (13)");
    DETACH_CONCURRENTLY = form("ALTER TABLE DETACH PARTITION CONCURRENTLY", &[(Parent, SUX), (Partition, SUX)],
        "sql-altertable, DETACH PARTITION (14)")
        .noted("ACCESS EXCLUSIVE on the partition in its second transaction, when nothing uses it any more").since(14);
    DETACH_FINALIZE = form("ALTER TABLE DETACH PARTITION FINALIZE", &[(Parent, SUX), (Partition, AEL)],
        "sql-altertable, DETACH PARTITION (14)").since(14);
    CREATE_INDEX = form("CREATE INDEX", &[(Table, SHARE)], "sql-createindex, Building Indexes Concurrently")
        .scans(Yes);
    CREATE_INDEX_CONCURRENTLY = form("CREATE INDEX CONCURRENTLY", &[(Table, SUX)],
        "sql-createindex, Building Indexes Concurrently").scans(Yes)
        .noted("two scans; waits for all old transactions; leaves an invalid index when it fails");
    DROP_INDEX = form("DROP INDEX", &[(TableOfIndex, AEL), (Index, AEL)], "sql-dropindex, CONCURRENTLY; index.c, index_drop");
    DROP_INDEX_CONCURRENTLY = form("DROP INDEX CONCURRENTLY", &[(TableOfIndex, SUX), (Index, SUX)],
        "sql-dropindex, CONCURRENTLY; index.c, index_drop");
    REINDEX_INDEX = form("REINDEX INDEX", &[(TableOfIndex, SHARE), (Index, AEL)], "sql-reindex, Notes").rewrites(Yes)
        .noted("plans that could use the index wait for it, reads too");
    REINDEX_TABLE = form("REINDEX TABLE", &[(Table, SHARE)], "sql-reindex, Notes").rewrites(Yes)
        .noted("ACCESS EXCLUSIVE on each of its indexes: reads wait, too");
    REINDEX_CONCURRENTLY = form("REINDEX CONCURRENTLY", &[(Table, SUX)], "sql-reindex, Rebuilding Indexes Concurrently")
        .rewrites(Yes).noted("waits for all old transactions");
    ALTER_INDEX_RENAME = form("ALTER INDEX RENAME", &[(Index, SUX)], "sql-alterindex, RENAME");
    ALTER_INDEX_SET = form("ALTER INDEX SET (storage parameter)", &[(Index, SUX)],
        "reloptions.c, lock levels of each; tablecmds.c, AlterTableGetLockLevel");
    ALTER_INDEX_ATTACH = form("ALTER INDEX ATTACH PARTITION", &[(Index, SUX), (Partition, AEL)],
        "sql-alterindex; tablecmds.c, ATExecAttachPartitionIdx");
    CREATE_TRIGGER = form("CREATE TRIGGER", &[(Table, SRX)], "sql-createtrigger; explicit-locking, SHARE ROW EXCLUSIVE");
    DROP_TRIGGER = form("DROP TRIGGER", &[(Table, AEL)], "trigger.c, RemoveTriggerById");
    RENAME_TRIGGER = form("ALTER TRIGGER RENAME", &[(Table, AEL)], "trigger.c, renametrig");
    POLICY = form("CREATE, ALTER or DROP POLICY", &[(Table, AEL)], "policy.c, CreatePolicy, AlterPolicy, RemovePolicyById");
    RULE = form("CREATE or DROP RULE", &[(Table, AEL)], "rewriteDefine.c, DefineQueryRewrite; rewriteRemove.c");
    CREATE_TABLE = form("CREATE TABLE", &[], "sql-createtable").noted("a new table is not in use yet");
    CREATE_TABLE_REFERENCES = form("CREATE TABLE … REFERENCES", &[(Referenced, SRX)],
        "sql-createtable, REFERENCES");
    CREATE_TABLE_PARTITION = form("CREATE TABLE PARTITION OF", &[(Parent, AEL)], "sql-createtable, PARTITION OF");
    CREATE_TABLE_INHERITS = form("CREATE TABLE INHERITS", &[(Parent, SUX)], "tablecmds.c, MergeAttributes");
    CREATE_TABLE_LIKE = form("CREATE TABLE LIKE", &[(Read, AS)], "parse_utilcmd.c, transformTableLikeClause");
    CREATE_TABLE_AS = form("CREATE TABLE AS", &[(Read, AS)], "sql-createtableas; explicit-locking, ACCESS SHARE");
    DROP_TABLE = form("DROP TABLE", &[(Table, AEL)], "explicit-locking, ACCESS EXCLUSIVE")
        .noted("and each table that its foreign keys refer to (trigger.c, RemoveTriggerById)");
    TRUNCATE = form("TRUNCATE", &[(Table, AEL)], "sql-truncate, Description")
        .noted("its file is new and empty: nothing is copied; with CASCADE the tables that refer to it, too");
    VACUUM = form("VACUUM", &[(Table, SUX)], "explicit-locking, SHARE UPDATE EXCLUSIVE").scans(Yes);
    VACUUM_FULL = form("VACUUM FULL", &[(Table, AEL)], "sql-vacuum, FULL").rewrites(Yes);
    CLUSTER = form("CLUSTER", &[(Table, AEL)], "sql-cluster, Description").rewrites(Yes);
    ANALYZE = form("ANALYZE", &[(Table, SUX)], "explicit-locking, SHARE UPDATE EXCLUSIVE")
        .scans(Depends("a sample of 300 rows a unit of the statistics target"));
    REFRESH = form("REFRESH MATERIALIZED VIEW", &[(View, AEL)], "explicit-locking, ACCESS EXCLUSIVE").rewrites(Yes);
    REFRESH_CONCURRENTLY = form("REFRESH MATERIALIZED VIEW CONCURRENTLY", &[(View, EXCL)],
        "sql-refreshmaterializedview, CONCURRENTLY");
    COMMENT = form("COMMENT ON a relation or column", &[(Table, SUX)], "sql-comment, Description");
    COMMENT_ON_PART = form("COMMENT ON a constraint, trigger, rule or policy", &[(Table, AS)],
        "objectaddress.c, get_object_address_relobject");
    CREATE_STATISTICS = form("CREATE STATISTICS", &[(Table, SUX)], "explicit-locking, SHARE UPDATE EXCLUSIVE");
    CREATE_VIEW = form("CREATE VIEW", &[(Read, AS)], "sql-createview; parse_relation.c, parserOpenTable");
    REPLACE_VIEW = form("CREATE OR REPLACE VIEW", &[(View, AEL), (Read, AS)], "view.c, DefineVirtualRelation");
    CREATE_MATERIALIZED_VIEW = form("CREATE MATERIALIZED VIEW", &[(Read, AS)], "sql-creatematerializedview");
    ALTER_VIEW = form("ALTER VIEW", &[(View, AEL)], LEVELS);
    DROP_VIEW = form("DROP VIEW or MATERIALIZED VIEW", &[(View, AEL)], "tablecmds.c, RemoveRelations");
    ALTER_SEQUENCE = form("ALTER SEQUENCE", &[(Sequence, SRX)], "sql-altersequence, Notes")
        .noted("its one row is written to a new file");
    ALTER_SEQUENCE_RENAME = form("ALTER SEQUENCE RENAME, OWNER or SET SCHEMA", &[(Sequence, AEL)],
        "tablecmds.c, RenameRelation, AlterTableNamespace");
    DROP_SEQUENCE = form("DROP SEQUENCE", &[(Sequence, AEL)], "tablecmds.c, RemoveRelations");
    ADD_PUBLICATION_TABLE = form("CREATE or ALTER PUBLICATION … TABLE", &[(Table, SUX)],
        "publicationcmds.c, OpenTableList");
    WRITES = form("INSERT, UPDATE, DELETE, MERGE or COPY FROM", &[(Table, RX)], "explicit-locking, ROW EXCLUSIVE")
        .noted("rows stay locked until the commit; for many rows: batches");
    READS = form("SELECT", &[(Read, AS)], "explicit-locking, ACCESS SHARE");
    READS_TO_LOCK = form("SELECT … FOR UPDATE or SHARE", &[(Read, RS)], "explicit-locking, ROW SHARE");
    LOCK_TABLE = form("LOCK TABLE", &[(Table, AEL)], "sql-lock, lockmode");
    ALTER_DOMAIN = form("ALTER DOMAIN ADD CONSTRAINT or SET NOT NULL", &[], "typecmds.c, get_rels_with_domain")
        .scans(Yes).noted("each table with a column of the domain is locked SHARE, and read");
    ENUM_VALUE = form("ALTER TYPE ADD or RENAME VALUE", &[], "sql-altertype, Notes")
        .noted("a new value can be used after the commit only");
    NO_TABLE = form("a statement about no table", &[], "the statement's reference page")
        .noted("locks rows of catalogs, and what it names");
    SESSION = form("a setting or a savepoint", &[], "sql-set, sql-savepoint");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_a_name_of_its_own_and_a_source() {
        for (at, form) in ALL.iter().enumerate() {
            assert!(
                !form.source.is_empty() && crate::VERSIONS.contains(&form.since),
                "{form:?}"
            );
            assert!(
                ALL[..at].iter().all(|other| other.name != form.name),
                "{form:?}"
            );
        }
    }

    #[test]
    fn modes_are_known_as_the_view_names_them() {
        assert_eq!(
            Mode::of_view("AccessExclusiveLock"),
            Some(Mode::AccessExclusive)
        );
        assert_eq!(
            Mode::of_view("ShareUpdateExclusiveLock"),
            Some(Mode::ShareUpdateExclusive)
        );
        assert_eq!(Mode::of_view("SIReadLock"), None);
        assert!(Mode::ALL.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
