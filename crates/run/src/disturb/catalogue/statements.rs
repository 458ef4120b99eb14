//! Maintenance that is everyday and hurts: a statement, and the one that puts back what it left.

use pgdyno_database::open::Target;
use pgdyno_model::document::TargetKind;
use pgdyno_session::{Session, quote_literal};
use pgdyno_spec::text;
use std::time::Instant;

use super::given::TABLE;
use super::{Act, Entry, Key, Kind, Need, Scene, sql};
use crate::disturb::own::Control;
use crate::settings::Journal;

/// PostgreSQL's `duplicate_table`, also of an index.
const EXISTS_ALREADY: &str = "42P07";
/// What an index of pgdyno's is called.
const INDEX: &str = "pgdyno_disturbance";

pub(super) static ENTRIES: [Entry; 7] = [
    Entry {
        name: "checkpoint",
        summary: "CHECKPOINT: writes all dirty buffers at once",
        keys: &[],
        needs: &[Need::Checkpointer],
        risks: "writes, and full pages in WAL after it, for some seconds",
        harms: false,
        undone: "nothing is changed",
        lasts: None,
        make: |scene, _| {
            of_administration(scene, |_| {
                Ok(Plan::plain("CHECKPOINT", "made a checkpoint"))
            })
        },
    },
    Entry {
        name: "analyze",
        summary: "ANALYZE of all tables of the workload",
        keys: &[],
        needs: &[Need::Table, Need::Maintainer],
        risks: "reads, and plans that change",
        harms: false,
        undone: "undo is not needed: only statistics change",
        lasts: None,
        make: |scene, _| {
            let tables = existing(scene)?;
            let sql = format!("ANALYZE {}", tables.join(", "));
            let said = format!("analyzed {}", tables.join(", "));
            of(scene, "", true, |_, _| Ok(Plan::plain(&sql, &said)))
        },
    },
    Entry {
        name: "vacuum-full",
        summary: "VACUUM FULL of a table: rewrites it and blocks all access meanwhile",
        keys: &[TABLE],
        needs: &[Need::Table, Need::Maintainer],
        risks: "the table cannot be read or written meanwhile; it needs room for a second copy",
        harms: true,
        undone: "undo is not needed: the table is smaller",
        lasts: None,
        make: |scene, given| {
            of(scene, given.text("table"), true, |_, table| {
                let sql = format!("VACUUM FULL {table}");
                Ok(Plan::plain(
                    &sql,
                    &format!("rewrote {table} by VACUUM FULL"),
                ))
            })
        },
    },
    Entry {
        name: "create-index",
        summary: "CREATE INDEX on a table: blocks writes meanwhile",
        keys: &[TABLE],
        needs: &[Need::Table, Need::Owner],
        risks: "the table cannot be written meanwhile; it needs room for the index, and I/O",
        harms: true,
        undone: "the index is dropped after the trial; after kill -9 by pgdyno restore",
        lasts: None,
        make: |scene, given| of(scene, given.text("table"), true, |s, t| index(s, t, "")),
    },
    Entry {
        name: "create-index-concurrently",
        summary: "CREATE INDEX CONCURRENTLY on a table: blocks nothing and takes longer",
        keys: &[TABLE],
        needs: &[Need::Table, Need::Owner],
        risks: "two scans of the table and writes of a further index; waits for all old transactions",
        harms: true,
        undone: "the index is dropped after the trial, also an invalid one; after kill -9 by pgdyno restore",
        lasts: None,
        make: |scene, given| {
            of(scene, given.text("table"), true, |s, t| {
                index(s, t, "CONCURRENTLY ")
            })
        },
    },
    Entry {
        name: "alter-table-rewrite",
        summary: "ALTER TABLE … TYPE of a column (char(n) to char(n+1), or integer to bigint): rewrites the table",
        keys: &[
            TABLE,
            Key {
                name: "column",
                default: "",
                kind: Kind::Name,
                help: "the column; unless given, one that is in no index: char before integer",
            },
        ],
        needs: &[Need::Table, Need::Owner],
        risks: "the table cannot be read or written meanwhile, and again when it is put back; it needs room for a second \
                copy; prepared statements that read the column fail until clients reconnect",
        harms: true,
        undone: "a second ALTER TABLE gives the column its type back after the trial, and ANALYZE its statistics; after \
                 kill -9 pgdyno restore",
        lasts: None,
        make: |scene, given| {
            let column = given.text("column").to_owned();
            of(scene, given.text("table"), true, move |s, t| {
                rewrite(s, t, &column)
            })
        },
    },
    Entry {
        name: "drop-statistics",
        summary: "removes the planner's statistics of the workload's tables",
        keys: &[],
        needs: &[Need::Superuser, Need::Table],
        risks: "plans without statistics, for every session with these tables",
        harms: true,
        undone: "ANALYZE of these tables after the trial; after kill -9 by pgdyno restore, or by autovacuum",
        lasts: None,
        make: |scene, _| {
            let tables = existing(scene)?;
            of_administration(scene, move |session| no_statistics(session, &tables))
        },
    },
];

/// What is to be done.
struct Plan {
    statement: String,
    said: String,
    /// Does no harm where nothing was done.
    undo: Option<String>,
    undone: String,
}

impl Plan {
    fn plain(statement: &str, said: &str) -> Self {
        Self {
            statement: statement.to_owned(),
            said: said.to_owned(),
            undo: None,
            undone: String::new(),
        }
    }
}

struct Statement {
    target: Target,
    /// Where it is run: in the same role, or the administrator's.
    runs_on: Target,
    plan: Plan,
    /// Whether something may be changed.
    has_begun: bool,
    journal: Option<Journal>,
}

/// Makes it of the table that the user or the workload names, if it is about one.
fn of(
    scene: &Scene<'_>,
    table: &str,
    is_largest: bool,
    plan: impl FnOnce(&mut Session, &str) -> Result<Plan, String>,
) -> Result<Box<dyn Act>, String> {
    let mut session = sql::connect(scene.target)?;
    let table = match sql::table(&mut session, scene, table, is_largest) {
        Err(why) if !table.is_empty() => return Err(why),
        found => found.unwrap_or_default(),
    };
    let plan = plan(&mut session, &table)?;
    Ok(Box::new(Statement {
        target: scene.target.clone(),
        runs_on: scene.target.clone(),
        plan,
        has_begun: false,
        journal: None,
    }))
}

/// What is about no table by name: the statement is one of the server's administration. It is planned, and
/// undone, in the workload's role.
fn of_administration(
    scene: &Scene<'_>,
    plan: impl FnOnce(&mut Session) -> Result<Plan, String>,
) -> Result<Box<dyn Act>, String> {
    let plan = plan(&mut sql::connect(scene.target)?)?;
    Ok(Box::new(Statement {
        target: scene.target.clone(),
        runs_on: scene.target.administration(),
        plan,
        has_begun: false,
        journal: None,
    }))
}

/// The workload's tables that exist.
fn existing(scene: &Scene<'_>) -> Result<Vec<String>, String> {
    let mut session = sql::connect(scene.target)?;
    let names: Vec<String> = scene
        .tables
        .iter()
        .map(|name| quote_literal(name))
        .collect();
    let sql = format!(
        "SELECT string_agg(c.oid::regclass::text, ',' ORDER BY c.relname) \
         FROM unnest(ARRAY[{}]::text[]) AS named(name) \
         JOIN pg_class AS c ON c.oid = to_regclass(named.name) WHERE c.relkind = 'r'",
        names.join(", ")
    );
    let found = sql::value(&mut session, &sql)?;
    let found = found.ok_or("the workload has no tables here")?;
    Ok(found.split(',').map(str::to_owned).collect())
}

fn index(session: &mut Session, table: &str, how: &str) -> Result<Plan, String> {
    if table.is_empty() {
        return Err("no table of the workload has rows: name one, table=NAME".to_owned());
    }
    let column = format!(
        "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = {}::regclass \
         AND attnum > 0 AND NOT attisdropped \
         AND atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'text'::regtype, \
             'bpchar'::regtype, 'varchar'::regtype, 'numeric'::regtype, 'timestamptz'::regtype) \
         ORDER BY attnum DESC LIMIT 1",
        quote_literal(table)
    );
    let column = sql::value(session, &column)?.ok_or("no column can be indexed")?;
    let of_table = format!(
        "SELECT quote_ident(n.nspname) || '.' || quote_ident({name}), \
         to_regclass(quote_ident(n.nspname) || '.' || {name}) IS NOT NULL, \
         CASE WHEN NOT has_schema_privilege(n.oid, 'CREATE') THEN quote_ident(n.nspname) END \
         FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE c.oid = {table}::regclass",
        name = quote_literal(INDEX),
        table = quote_literal(table)
    );
    let rows = session.query(&of_table).map_err(|e| e.to_string())?.rows;
    let mut row = rows
        .into_iter()
        .next()
        .unwrap_or_default()
        .into_iter()
        .flatten();
    let name = row.next().unwrap_or_default();
    if row.next().as_deref() == Some("t") {
        return Err(format!(
            "there is an index {name} already: a trial that was killed may have left it (pgdyno restore, or DROP \
             INDEX {name})"
        ));
    }
    if let Some(schema) = row.next() {
        return Err(format!(
            "it needs the privilege CREATE on the schema {schema}"
        ));
    }
    Ok(Plan {
        statement: format!("CREATE INDEX {how}{INDEX} ON {table} ({column})"),
        said: format!("created an index on {table} ({column})"),
        undo: Some(format!("DROP INDEX IF EXISTS {name}")),
        undone: format!("dropped index {name}"),
    })
}

fn rewrite(session: &mut Session, table: &str, column: &str) -> Result<Plan, String> {
    if table.is_empty() {
        return Err("no table of the workload has rows: name one, table=NAME".to_owned());
    }
    let named = match column {
        "" => "true".to_owned(),
        column => format!("a.attname = {}", quote_literal(column)),
    };
    // Nothing that other things depend on: they would have to be made anew, too.
    let sql = format!(
        "SELECT quote_ident(a.attname), format_type(a.atttypid, a.atttypmod), \
             CASE a.atttypid WHEN 'bpchar'::regtype THEN format_type(a.atttypid, a.atttypmod + 1) ELSE 'bigint' END \
         FROM pg_attribute AS a WHERE a.attrelid = {table}::regclass AND a.attnum > 0 \
         AND NOT a.attisdropped AND a.attidentity = '' AND a.attgenerated = '' AND {named} \
         AND (a.atttypid = 'int4'::regtype OR a.atttypid = 'bpchar'::regtype AND a.atttypmod > 0) \
         AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = a.attrelid AND a.attnum = ANY (indkey)) \
         AND NOT EXISTS (SELECT FROM pg_depend WHERE refobjid = a.attrelid AND refobjsubid = a.attnum) \
         ORDER BY a.atttypid = 'bpchar'::regtype DESC, a.attnum LIMIT 1",
        table = quote_literal(table)
    );
    let rows = session.query(&sql).map_err(|e| e.to_string())?.rows;
    let row = rows.into_iter().next().unwrap_or_default();
    let row: Vec<String> = row.into_iter().flatten().collect();
    let [column, before, after] = &row[..] else {
        return Err(format!(
            "{table} has no column of type char(n) or integer that nothing depends on: name another, \
             table=NAME or column=NAME"
        ));
    };
    let alter = |to: &str| format!("ALTER TABLE {table} ALTER COLUMN {column} TYPE {to}");
    Ok(Plan {
        statement: alter(after),
        said: format!("rewrote {table}: {column} is {after}"),
        undo: Some(format!(
            // A rewrite forgets the column's statistics, and so does the second one.
            "DO $undo$ BEGIN IF to_regclass({}) IS NOT NULL THEN {}; ANALYZE {table} ({column}); END IF; END $undo$",
            quote_literal(table),
            alter(before)
        )),
        undone: format!("{table}.{column} is {before} again"),
    })
}

fn no_statistics(session: &mut Session, tables: &[String]) -> Result<Plan, String> {
    let version = session.parameter("server_version").unwrap_or_default();
    let major = version.split(['.', ' ', 'b', 'r', 'd']).next();
    let major: u32 = major
        .and_then(|major| major.parse().ok())
        .unwrap_or_default();
    let mut of = Vec::new();
    for table in tables {
        let sql = format!("SELECT {}::regclass::oid", quote_literal(table));
        of.extend(sql::value(session, &sql)?);
    }
    let of = of.join(", ");
    // Documented: pg_clear_attribute_stats and pg_clear_relation_stats since 18; before, a superuser deletes.
    let statement = match major {
        18.. => format!(
            "SELECT pg_clear_attribute_stats(n.nspname::text, c.relname::text, a.attname::text, false) \
             FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
             JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
             WHERE c.oid IN ({of}); \
             SELECT pg_clear_relation_stats(n.nspname::text, c.relname::text) \
             FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid IN ({of})"
        ),
        _ => format!("DELETE FROM pg_statistic WHERE starelid IN ({of})"),
    };
    let names = tables.join(", ");
    Ok(Plan {
        statement,
        said: format!("removed the statistics of {names}"),
        undo: Some(format!("ANALYZE {names}")),
        undone: format!("analyzed {names}"),
    })
}

impl Statement {
    /// Nothing is done before it can be undone after kill -9. A private server ends with pgdyno.
    fn write_down(&mut self, session: &mut Session) -> Result<(), String> {
        let Some(undo) = &self.plan.undo else {
            return Ok(());
        };
        if self.target.kind == TargetKind::Own {
            return Ok(());
        }
        let mut journal = sql::journal(&self.target, session)?;
        journal.note_undo(undo).map_err(|e| e.message)?;
        self.journal = Some(journal);
        Ok(())
    }
}

impl Act for Statement {
    fn run(&mut self, control: &Control) -> Result<(), String> {
        let mut session = sql::connect(&self.runs_on)?;
        self.write_down(&mut session)?;
        self.has_begun = true;
        let begun = Instant::now();
        control.cancels(Some(session.cancel_handle()));
        if control.is_over() {
            control.say("it was not begun any more");
            return Ok(());
        }
        let done = session.simple_query(&self.plan.statement);
        control.cancels(None);
        let took = text::time(begun.elapsed().as_micros() as f64);
        match done {
            Ok(_) => control.say(format_args!("{} in {took}", self.plan.said)),
            Err(e) if control.is_over() => control.say(format_args!("ended after {took}: {e}")),
            Err(e) => {
                // Another trial's, made since this one was prepared: that one drops it.
                if e.sqlstate() == Some(EXISTS_ALREADY) {
                    self.has_begun = false;
                    let journal = self.journal.take();
                    journal
                        .map_or(Ok(()), Journal::remove)
                        .map_err(|e| e.message)?;
                }
                return Err(format!("{}: {e}", self.plan.statement));
            }
        }
        Ok(())
    }

    fn undo(&mut self) -> Result<Option<String>, String> {
        let Some(undo) = self.plan.undo.clone().filter(|_| self.has_begun) else {
            return Ok(None);
        };
        let failed = |why: String| format!("{why}; put it back by {undo}");
        let mut session = sql::connect_again(&self.target).map_err(failed)?;
        session.set_answer_timeout(Some(sql::UNDO_LIMIT * 10));
        session
            .simple_query(&undo)
            .map_err(|e| failed(e.to_string()))?;
        if let Some(journal) = self.journal.take() {
            journal.remove().map_err(|e| e.message)?;
        }
        Ok(Some(self.plan.undone.clone()))
    }
}
