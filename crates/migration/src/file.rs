//! A migration's file: its statements in the transactions that its tool makes of them, and those that undo it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::tokens::tokens;
use crate::{markers, psql};

/// Bytes of a migration, with all that it includes.
pub(crate) const BYTES_MAX: u64 = 16 << 20;

/// What runs the file for its users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// `psql -f`, which also loads Rails' structure.sql: each statement is a transaction of its own unless the
    /// file says BEGIN.
    Psql,
    Flyway,
    Liquibase,
    /// golang-migrate, sqlx or Diesel: files are named alike.
    UpDown,
    Dbmate,
    Goose,
    SqlMigrate,
}

impl Tool {
    pub fn words(self) -> &'static str {
        match self {
            Tool::Psql => "psql",
            Tool::Flyway => "Flyway",
            Tool::Liquibase => "Liquibase",
            Tool::UpDown => "golang-migrate, sqlx or Diesel",
            Tool::Dbmate => "dbmate",
            Tool::Goose => "goose",
            Tool::SqlMigrate => "sql-migrate",
        }
    }
}

/// A statement with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// As it is sent, without the semicolon.
    pub text: String,
    pub file: String,
    /// From 1.
    pub line: usize,
}

impl Statement {
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    /// The words that say what it is.
    pub(crate) fn starts_with(&self, words: &[&str]) -> bool {
        let tokens = tokens(&self.text);
        tokens.len() >= words.len()
            && words
                .iter()
                .zip(&tokens)
                .all(|(word, token)| token.is(word))
    }

    /// Whether PostgreSQL refuses it in a transaction block.
    pub fn refuses_transactions(&self) -> bool {
        let tokens = tokens(&self.text);
        let has = |word: &str| tokens.iter().any(|token| token.is(word));
        let first = |words: &[&str]| self.starts_with(words);
        // REFRESH … CONCURRENTLY may be in one.
        has("concurrently") && (has("index") || first(&["reindex"]) || has("detach"))
            || first(&["vacuum"])
            || first(&["alter", "system"])
            || ["database", "tablespace"].iter().any(|of| {
                ["create", "drop"].iter().any(|verb| first(&[verb, of])) || first(&["reindex", of])
            })
            || first(&["reindex", "schema"])
            || first(&["reindex", "system"])
            // Without a table it goes through all of them.
            || first(&["cluster"]) && tokens.len() == 1
    }
}

/// Statements of one transaction, or statements that each are one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// What begins the transaction; `null`: each statement is one of its own.
    pub begin: Option<String>,
    /// What ends it.
    pub end: String,
    pub statements: Vec<Statement>,
}

/// A migration, ready to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Migration {
    pub path: PathBuf,
    pub tool: Tool,
    pub up: Vec<Group>,
    /// What undoes it; `null`: the file and its neighbours have nothing.
    pub down: Option<Vec<Group>>,
    /// What its tool does differently, or what was left out.
    pub notes: Vec<String>,
}

impl Migration {
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.up.iter().flat_map(|group| &group.statements)
    }
}

/// Reads a file, and the one beside it that undoes it.
///
/// # Errors
/// It cannot be read, has nothing to run, or has what pgdyno cannot run; with file and line.
pub fn read(path: &Path) -> Result<Migration, String> {
    let text = text_of(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut migration = Migration {
        path: path.to_owned(),
        tool: markers::tool(&name, &text),
        up: Vec::new(),
        down: None,
        notes: Vec::new(),
    };
    match migration.tool {
        Tool::Psql => migration.up = grouped(psql::script(path, &text)?, false),
        Tool::Flyway | Tool::UpDown => of_two_files(&mut migration, &text)?,
        Tool::Liquibase => markers::liquibase(&mut migration, &text)?,
        Tool::Dbmate => markers::up_down(&mut migration, &text, &markers::DBMATE)?,
        Tool::Goose => markers::up_down(&mut migration, &text, &markers::GOOSE)?,
        Tool::SqlMigrate => markers::up_down(&mut migration, &text, &markers::SQL_MIGRATE)?,
    }
    if migration.statements().next().is_none() {
        return Err(format!("{}: there is no statement to run", path.display()));
    }
    Ok(migration)
}

pub(crate) fn text_of(path: &Path) -> Result<String, String> {
    let failed = |why: String| format!("{}: {why}", path.display());
    let size = fs::metadata(path).map_err(|e| failed(e.to_string()))?.len();
    if size > BYTES_MAX {
        return Err(failed(format!(
            "a migration has at most {BYTES_MAX} bytes, not {size}"
        )));
    }
    fs::read_to_string(path).map_err(|e| failed(e.to_string()))
}

/// `V2__x.sql` has `U2__x.sql` beside it, `2_x.up.sql` has `2_x.down.sql`, Diesel's `up.sql` has `down.sql`.
fn of_two_files(migration: &mut Migration, text: &str) -> Result<(), String> {
    let path = migration.path.clone();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if markers::is_named_as_of_sqlx(&name) {
        migration.notes.push(
            "taken for sqlx's by its name and run in one transaction; psql -f runs each statement by itself: \
             another name"
                .to_owned(),
        );
    }
    // Documented (diesel_migrations): a file beside it says so.
    let of_diesel = fs::read_to_string(path.with_file_name("metadata.toml"));
    let of_diesel =
        of_diesel.is_ok_and(|text| text.replace(' ', "").contains("run_in_transaction=false"));
    let statements = psql::plain(&path, text, 1)?;
    let is_flyway = migration.tool == Tool::Flyway;
    let has_one = statements.len() == 1;
    let apart = statements
        .iter()
        .filter(|it| it.refuses_transactions())
        .count();
    let is_wrapped = match (is_flyway, apart) {
        _ if !is_flyway && (of_diesel || markers::has_no_transaction(text)) => false,
        (_, 0) => true,
        (true, apart) if apart < statements.len() => {
            migration.notes.push(
                "Flyway refuses a file that mixes statements which cannot be in a transaction with others, unless \
                 mixed=true: run here without a transaction"
                    .to_owned(),
            );
            false
        }
        (true, _) => false,
        (false, _) if has_one => {
            migration
                .notes
                .push("sqlx runs it with -- no-transaction at its top only".to_owned());
            false
        }
        (false, _) => true,
    };
    migration.up = grouped(statements, is_wrapped);
    let down = match (is_flyway, name.strip_suffix(".up.sql")) {
        (true, _) => name.strip_prefix(['V', 'v']).map(|rest| format!("U{rest}")),
        (false, Some(stem)) => Some(format!("{stem}.down.sql")),
        (false, None) => (name == "up.sql").then(|| "down.sql".to_owned()),
    };
    if let Some(down) = down
        .map(|down| path.with_file_name(down))
        .filter(|down| down.exists())
    {
        let text = text_of(&down)?;
        let statements = psql::plain(&down, &text, 1)?;
        let is_wrapped = !of_diesel
            && !markers::has_no_transaction(&text)
            && !statements.iter().any(Statement::refuses_transactions);
        migration.down = Some(grouped(statements, is_wrapped)).filter(|down| !down.is_empty());
    }
    Ok(())
}

/// Statements in their transactions: BEGIN and COMMIT of the file keep their meaning; `is_wrapped`: the tool
/// has begun one before.
pub(crate) fn grouped(statements: Vec<Statement>, is_wrapped: bool) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let opened = |begin: Option<&str>| Group {
        begin: begin.map(str::to_owned),
        end: "COMMIT".to_owned(),
        statements: Vec::new(),
    };
    let mut open = is_wrapped.then(|| opened(Some("BEGIN")));
    for statement in statements {
        let is = |words: &[&str]| statement.starts_with(words);
        let begins = is(&["begin"]) || is(&["start", "transaction"]);
        let commits = is(&["commit"]) && !is(&["commit", "prepared"]) || is(&["end"]);
        let rolls_back = (is(&["rollback"]) || is(&["abort"]))
            && !statement.starts_with(&["rollback", "to"])
            && !statement.starts_with(&["rollback", "prepared"]);
        match &mut open {
            // The server says that there is one already.
            Some(_) if begins => {}
            Some(_) if commits || rolls_back => {
                let mut group = open.take().unwrap_or_else(|| opened(None));
                if rolls_back {
                    group.end = "ROLLBACK".to_owned();
                }
                groups.push(group);
            }
            Some(group) => group.statements.push(statement),
            None if begins => open = Some(opened(Some(&statement.text))),
            None if commits || rolls_back => {}
            None => match groups.last_mut().filter(|last| last.begin.is_none()) {
                Some(last) => last.statements.push(statement),
                None => groups.push(Group {
                    statements: vec![statement],
                    ..opened(None)
                }),
            },
        }
    }
    // What is never committed is rolled back when the session ends, but by a tool that wraps.
    if let Some(mut group) = open {
        if !is_wrapped || group.begin.as_deref() != Some("BEGIN") {
            group.end = "ROLLBACK".to_owned();
        }
        groups.push(group);
    }
    groups.retain(|group| !group.statements.is_empty());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        (dir, path)
    }

    /// Groups as `BEGIN[a;b]COMMIT` or `[a;b]`.
    fn shape(groups: &[Group]) -> String {
        let of = |group: &Group| {
            let texts: Vec<&str> = group.statements.iter().map(|it| it.text.as_str()).collect();
            match &group.begin {
                Some(begin) => format!("{begin}[{}]{}", texts.join(";"), group.end),
                None => format!("[{}]", texts.join(";")),
            }
        };
        groups.iter().map(of).collect::<Vec<_>>().join(" ")
    }

    fn read_as(name: &str, text: &str) -> Migration {
        let (_dir, path) = written(name, text);
        read(&path).unwrap()
    }

    #[test]
    fn each_tools_transactions_are_as_it_makes_them() {
        for (name, text, tool, up) in [
            (
                "a.sql",
                "A; B;\nBEGIN; C; D; COMMIT; E;",
                Tool::Psql,
                "[A;B] BEGIN[C;D]COMMIT [E]",
            ),
            (
                "a.sql",
                "start transaction isolation level serializable; C; rollback;",
                Tool::Psql,
                "start transaction isolation level serializable[C]ROLLBACK",
            ),
            ("a.sql", "BEGIN; C", Tool::Psql, "BEGIN[C]ROLLBACK"),
            (
                "structure.sql",
                "SET a = 1; CREATE TABLE x ();",
                Tool::Psql,
                "[SET a = 1;CREATE TABLE x ()]",
            ),
            ("V2__x.sql", "A; B", Tool::Flyway, "BEGIN[A;B]COMMIT"),
            (
                "V2__x.sql",
                "CREATE INDEX CONCURRENTLY i ON t (a)",
                Tool::Flyway,
                "[CREATE INDEX CONCURRENTLY i ON t (a)]",
            ),
            ("V2__x.sql", "A; VACUUM t", Tool::Flyway, "[A;VACUUM t]"),
            ("1_x.up.sql", "A; B", Tool::UpDown, "BEGIN[A;B]COMMIT"),
            (
                "1_x.up.sql",
                "-- no-transaction\nA; B",
                Tool::UpDown,
                "[A;B]",
            ),
            (
                "1_x.up.sql",
                "DROP INDEX CONCURRENTLY i",
                Tool::UpDown,
                "[DROP INDEX CONCURRENTLY i]",
            ),
            // It commits what its tool has begun.
            (
                "1_x.up.sql",
                "A; COMMIT; B",
                Tool::UpDown,
                "BEGIN[A]COMMIT [B]",
            ),
            (
                "1_x.sql",
                "-- migrate:up transaction:false\nA;\nB;\n-- migrate:down\nC;",
                Tool::Dbmate,
                "[A;B]",
            ),
            (
                "1_x.sql",
                "-- migrate:up\nA;\n\n-- migrate:down\nC;",
                Tool::Dbmate,
                "BEGIN[A]COMMIT",
            ),
            (
                "1_x.sql",
                "-- +goose Up\n-- +goose StatementBegin\nA; B;\n-- +goose StatementEnd\nC;",
                Tool::Goose,
                "BEGIN[A; B;C]COMMIT",
            ),
            (
                "1_x.sql",
                "-- +goose no transaction\n-- +goose Up\nA;\n-- +goose Down\nB;",
                Tool::Goose,
                "[A]",
            ),
            (
                "1.sql",
                "-- +migrate Up\nA;\nCOMMIT;\nB;\nBEGIN;\n-- +migrate Down\nC;",
                Tool::SqlMigrate,
                "BEGIN[A]COMMIT [B]",
            ),
            (
                "1.sql",
                "-- +migrate Up notransaction\nA;\nB;",
                Tool::SqlMigrate,
                "[A;B]",
            ),
            ("up.sql", "A; B", Tool::UpDown, "BEGIN[A;B]COMMIT"),
            (
                "20240102030405_x.sql",
                "A; B",
                Tool::UpDown,
                "BEGIN[A;B]COMMIT",
            ),
            (
                "20240102030405_x.sql",
                "\\set a 1\nA; B",
                Tool::Psql,
                "[A;B]",
            ),
            (
                "x.sql",
                "--liquibase formatted sql\n--changeset me:1\nA;\n--rollback C;\n\
                       --changeset me:2 runInTransaction:false\nB;\n--rollback D;\n",
                Tool::Liquibase,
                "BEGIN[A]COMMIT [B]",
            ),
        ] {
            let migration = read_as(name, text);
            assert_eq!(
                (migration.tool, shape(&migration.up).as_str()),
                (tool, up),
                "{text}"
            );
        }
    }

    #[test]
    fn what_undoes_it_is_in_the_file_or_beside_it() {
        let down = |migration: &Migration| migration.down.as_deref().map(shape);
        let dbmate = read_as(
            "1.sql",
            "-- migrate:up\nA;\n-- migrate:down transaction:false\nB; C;",
        );
        assert_eq!(down(&dbmate).as_deref(), Some("[B;C]"));
        let liquibase = read_as(
            "1.sql",
            "-- liquibase formatted sql\n-- changeset a:1\nA;\n-- rollback B;\n-- rollback C;\n\
             -- changeset a:2\nD;\n-- rollback not required\n-- changeset a:3\nE;\n-- rollback F",
        );
        assert_eq!(
            down(&liquibase).as_deref(),
            Some("BEGIN[F]COMMIT BEGIN[B;C]COMMIT")
        );
        let (dir, path) = written("3_x.up.sql", "A;");
        assert_eq!(read(&path).unwrap().down, None);
        fs::write(dir.path().join("3_x.down.sql"), "B;").unwrap();
        assert_eq!(
            down(&read(&path).unwrap()).as_deref(),
            Some("BEGIN[B]COMMIT")
        );
        let (dir, path) = written("up.sql", "A;");
        fs::write(dir.path().join("down.sql"), "B;").unwrap();
        fs::write(
            dir.path().join("metadata.toml"),
            "run_in_transaction = false\n",
        )
        .unwrap();
        let diesel = read(&path).unwrap();
        assert_eq!(
            (shape(&diesel.up).as_str(), down(&diesel).as_deref()),
            ("[A]", Some("[B]"))
        );
        let (dir, path) = written("V1__x.sql", "A;");
        fs::write(dir.path().join("U1__x.sql"), "B;").unwrap();
        assert_eq!(
            down(&read(&path).unwrap()).as_deref(),
            Some("BEGIN[B]COMMIT")
        );
    }

    #[test]
    fn statements_know_their_lines_and_what_cannot_be_run_is_refused_with_its_line() {
        let migration = read_as(
            "1.sql",
            "-- migrate:up\n\n-- why\nA\n;\nB;\n-- migrate:down\n",
        );
        let lines: Vec<usize> = migration.statements().map(|it| it.line).collect();
        assert_eq!(lines, [4, 6]);
        assert_eq!(migration.down, None);
        for (name, text, words) in [
            ("a.sql", "-- nothing\n", "no statement"),
            ("a.sql", "A;\n\\! rm x\n", "a.sql:2: psql's \\!"),
            ("a.sql", "A;\nCOPY t FROM stdin;\n1\n\\.\n", "a.sql:2: COPY"),
            ("a.sql", "A;\n\\ir nowhere.sql\n", "nowhere.sql"),
            ("a.sql", "SELECT :x;", "a.sql:1: the variable x"),
            ("a.sql", "\\ir a.sql", "16 deep"),
            ("V1__a.sql", "A;\n\\set x 1\n", "V1__a.sql:2: psql's \\set"),
            (
                "a.sql",
                "--liquibase formatted sql\nA;",
                "before the first changeset",
            ),
            (
                "a.sql",
                "--liquibase formatted sql\n--changeset a:1 endDelimiter:go\nA;",
                "endDelimiter",
            ),
        ] {
            let (_dir, path) = written(name, text);
            let why = read(&path).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
        assert!(
            read(Path::new("/nowhere.sql"))
                .unwrap_err()
                .contains("/nowhere.sql: ")
        );
    }

    #[test]
    fn psqls_variables_and_includes_are_followed() {
        let (dir, path) = written(
            "a.sql",
            "\\set ON_ERROR_STOP on\n\\set t 'my table'\n\\set n 5\n\\timing on\n\\ir b.sql\n\
             SELECT :n, :'t', :\"t\", ':n', 1::int FROM x -- :none\n;\n\\unset n\n",
        );
        fs::write(dir.path().join("b.sql"), "B;\n\n$$ ; $$ C\n").unwrap();
        let migration = read(&path).unwrap();
        let texts: Vec<&str> = migration.statements().map(|it| it.text.as_str()).collect();
        let last = "SELECT 5, 'my table', \"my table\", ':n', 1::int FROM x -- :none";
        assert_eq!(texts, ["B", "$$ ; $$ C", last]);
        let places: Vec<String> = migration
            .statements()
            .map(|it| {
                format!(
                    "{}:{}",
                    Path::new(&it.file).file_name().unwrap().display(),
                    it.line
                )
            })
            .collect();
        assert_eq!(places, ["b.sql:1", "b.sql:3", "a.sql:6"]);
    }

    #[test]
    fn what_refuses_transactions_is_known() {
        for (text, refuses) in [
            ("CREATE UNIQUE INDEX CONCURRENTLY i ON t (a)", true),
            ("create index i on t (concurrently_x)", false),
            ("REINDEX TABLE CONCURRENTLY t", true),
            ("REINDEX (CONCURRENTLY) INDEX i", true),
            ("ALTER TABLE t DETACH PARTITION p CONCURRENTLY", true),
            ("REFRESH MATERIALIZED VIEW CONCURRENTLY m", false),
            ("VACUUM (FULL) t", true),
            ("CLUSTER", true),
            ("CLUSTER t USING i", false),
            ("CREATE DATABASE d", true),
            ("ALTER SYSTEM SET a = 1", true),
            ("ALTER TYPE e ADD VALUE 'x'", false),
        ] {
            let statement = Statement {
                text: text.to_owned(),
                file: String::new(),
                line: 1,
            };
            assert_eq!(statement.refuses_transactions(), refuses, "{text}");
        }
    }
}
