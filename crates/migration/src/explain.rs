//! What a migration will lock, write anew and read, by the table of forms: nothing is run.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::Serialize;

use crate::file::Migration;
use crate::forms::{self, Mode, Work};
use crate::online;
use crate::products::{Product, Words};
use crate::statement::{Action, Known, Locked, Proofs, actions, plain};
use crate::tokens::tokens;

/// Grows when a field changes its meaning or goes.
const FORMAT: u32 = 2;
/// Characters of a statement that are shown of it.
const SHOWN_CHARS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    pub format: u32,
    pub file: String,
    pub tool: &'static str,
    /// That it is explained for. Of all but PostgreSQL by their documentation alone.
    pub product: &'static str,
    /// The major version of PostgreSQL; `null`: of another product its newest documentation.
    pub version: Option<u32>,
    /// The answer, in a sentence.
    pub says: String,
    pub statements: Vec<ExplainedStatement>,
    /// Whether the file, or one beside it, says how it is undone.
    pub has_down: bool,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedStatement {
    pub file: String,
    pub line: usize,
    pub statement: String,
    /// From 1; locks are held until its end. `null`: a transaction of its own.
    pub transaction: Option<usize>,
    pub forms: Vec<ExplainedForm>,
    /// Statements that do the same and hold clients up for less time; `null`: pgdyno makes none.
    pub online: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedForm {
    /// `null`: the table does not know it.
    pub form: Option<&'static str>,
    pub locks: Vec<Locked>,
    pub rewrite: Option<Work>,
    pub scan: Option<Work>,
    pub note: &'static str,
    /// What another product's documentation says of it; `null`: nothing, or it is PostgreSQL.
    pub elsewhere: Option<Words>,
    /// Where that is documented.
    pub source: &'static str,
    /// What can be done instead by hand.
    pub instead: Option<&'static str>,
    /// Whether this version has it.
    pub is_there: bool,
}

/// Explains a migration for this product; `known` gives types of columns where there is a server to ask.
pub fn explain(migration: &Migration, product: Product, known: Known<'_>) -> Explained {
    let version = product.version();
    let is_postgresql = matches!(product, Product::PostgreSql { .. });
    let mut proofs = Proofs::default();
    // What the file makes is no client's yet.
    let mut made = BTreeSet::new();
    let mut statements = Vec::new();
    let mut transaction = 0;
    for group in &migration.up {
        transaction += usize::from(group.begin.is_some());
        for statement in &group.statements {
            let mut actions = actions(&statement.text, version, known, &mut proofs);
            for action in &mut actions {
                action
                    .locks
                    .retain(|lock| !made.contains(&plain(&lock.name)));
                let may_be_there = tokens(&action.text)
                    .windows(3)
                    .any(|of| of[0].is("if") && of[1].is("not") && of[2].is("exists"));
                if action.is(&forms::CREATE_TABLE) && !may_be_there {
                    made.insert(plain(&action.relation));
                }
            }
            statements.push(ExplainedStatement {
                file: statement.file.clone(),
                line: statement.line,
                statement: statement.text.clone(),
                transaction: group.begin.is_some().then_some(transaction),
                online: online::statements(&statement.text, &actions, version)
                    .filter(|_| is_postgresql),
                forms: actions.iter().map(|action| form(action, product)).collect(),
            });
        }
    }
    let mut notes = migration.notes.clone();
    notes.extend(
        migration
            .up
            .iter()
            .filter_map(|group| product.of_transaction(group)),
    );
    let in_transaction = migration.up.iter().filter(|group| group.begin.is_some());
    for group in in_transaction.filter(|_| is_postgresql) {
        if let Some(wrong) = group.statements.iter().find(|it| it.refuses_transactions()) {
            notes.push(format!(
                "{}: PostgreSQL refuses it in a transaction",
                wrong.place()
            ));
        }
    }
    Explained {
        format: FORMAT,
        file: migration.path.display().to_string(),
        tool: migration.tool.words(),
        product: product.title(),
        version: is_postgresql.then_some(version),
        says: if is_postgresql {
            says(&statements)
        } else {
            says_elsewhere(&statements)
        },
        statements,
        has_down: migration.down.is_some(),
        notes,
    }
}

fn form(action: &Action, product: Product) -> ExplainedForm {
    let form = action.form;
    if !matches!(product, Product::PostgreSql { .. }) {
        let words = form.and_then(|form| product.words(form)).copied();
        return ExplainedForm {
            form: form.filter(|_| words.is_some()).map(|form| form.name),
            locks: Vec::new(),
            rewrite: None,
            scan: None,
            note: "",
            elsewhere: words,
            source: words.map_or("", |words| words.source),
            instead: None,
            is_there: true,
        };
    }
    ExplainedForm {
        form: form.map(|form| form.name),
        locks: action.locks.clone(),
        rewrite: form.map(|form| form.rewrite),
        scan: form.map(|form| form.scan),
        note: form.map_or("", |form| form.note),
        elsewhere: None,
        source: form.map_or("", |form| form.source),
        instead: form.and_then(online::advice),
        is_there: form.is_none_or(|form| form.since <= product.version()),
    }
}

/// What another product does not do online.
fn says_elsewhere(statements: &[ExplainedStatement]) -> String {
    let mut text = String::new();
    for statement in statements {
        let mut words = statement
            .forms
            .iter()
            .filter_map(|form| form.elsewhere.as_ref());
        if let Some(words) = words.find(|words| !words.is_online) {
            let _ = write!(
                text,
                "Not online: {} ({}:{})",
                words.does, statement.file, statement.line
            );
            break;
        }
    }
    if text.is_empty() {
        text.push_str("Each schema change that its documentation has is made online");
    }
    text + &unknown(statements)
}

/// Of how many statements nothing is known.
fn unknown(statements: &[ExplainedStatement]) -> String {
    let unknown = statements
        .iter()
        .filter(|it| it.forms.iter().any(|form| form.form.is_none()));
    match unknown.count() {
        0 => String::new(),
        1 => "; of 1 statement it is not known".to_owned(),
        many => format!("; of {many} statements it is not known"),
    }
}

/// The strongest lock, and what lengthens it.
fn says(statements: &[ExplainedStatement]) -> String {
    let of = |statement: &ExplainedStatement| {
        let locks = statement.forms.iter().flat_map(|form| &form.locks);
        locks.max_by_key(|lock| lock.mode).cloned()
    };
    let does = |statement: &ExplainedStatement, work: fn(&ExplainedForm) -> Option<Work>| {
        statement
            .forms
            .iter()
            .any(|form| work(form) == Some(Work::Yes))
    };
    // How long it is held counts among equal ones.
    let gravity = |statement: &ExplainedStatement| {
        let mode = of(statement).map(|lock| lock.mode);
        (
            mode,
            does(statement, |form| form.rewrite),
            does(statement, |form| form.scan),
        )
    };
    let worst = statements
        .iter()
        .rev()
        .max_by_key(|statement| gravity(statement));
    let text = match worst.and_then(|worst| Some((worst, of(worst)?))) {
        Some((worst, lock)) => {
            let work = match gravity(worst) {
                (_, true, _) => " while all rows are rewritten",
                (_, false, true) => " while all rows are read",
                _ => "",
            };
            format!(
                "Strongest lock: {} on {}{work} ({}:{}): {}",
                lock.mode.words(),
                lock.name,
                worst.file,
                worst.line,
                lock.mode.blocks()
            )
        }
        None => "No lock on a table that is there already".to_owned(),
    };
    text + &unknown(statements)
}

/// All of it for people: lines with an indent of two.
pub fn text(it: &Explained) -> String {
    let (version, by) = match it.version {
        Some(version) => (format!(" {version}"), "by the table of locks"),
        None => (
            String::new(),
            "by its documentation alone, which was held to no server",
        ),
    };
    let mut text = format!(
        "{}\n{}, as {} runs it, on {}{version}: {by}, nothing was run\n",
        it.says, it.file, it.tool, it.product
    );
    for statement in &it.statements {
        let shown: String = statement
            .statement
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let cut: String = shown.chars().take(SHOWN_CHARS).collect();
        let more = if cut.len() < shown.len() { "…" } else { "" };
        let within = match statement.transaction {
            Some(number) => format!("in transaction {number}"),
            None => "a transaction of its own".to_owned(),
        };
        let _ = write!(
            text,
            "\n{}:{}, {within}\n  {cut}{more}\n",
            statement.file, statement.line
        );
        for form in &statement.forms {
            lines_of(form, it, &mut text);
        }
        for (at, online) in statement.online.iter().flatten().enumerate() {
            let word = if at == 0 { "online:" } else { "       " };
            let _ = writeln!(text, "  {word} {online};");
        }
    }
    for note in &it.notes {
        let _ = writeln!(text, "\nnote: {note}");
    }
    text
}

fn lines_of(form: &ExplainedForm, of: &Explained, text: &mut String) {
    let Some(name) = form.form else {
        let why = if of.version.is_some() {
            "the table of locks does not have it"
        } else {
            "no schema change, or not in its documentation"
        };
        let _ = writeln!(text, "  not known: {why}");
        return;
    };
    let _ = writeln!(text, "  {name}");
    if let Some(version) = of.version.filter(|_| !form.is_there) {
        let _ = writeln!(text, "    PostgreSQL {version} does not have it");
    }
    if let Some(words) = &form.elsewhere {
        let online = if words.is_online {
            "online"
        } else {
            "not online"
        };
        let _ = writeln!(text, "    {online}: {}", words.does);
    }
    for lock in &form.locks {
        let Locked { role, name, mode } = lock;
        // Of an index alone, the statement does not name its table.
        let name = if *role == crate::forms::Role::TableOfIndex {
            "its table"
        } else {
            name
        };
        let _ = writeln!(
            text,
            "    {} on {name} ({}): {}",
            mode.words(),
            role.words(),
            mode.blocks()
        );
    }
    let work = |work: Option<Work>, does: &str, not: &str| match work {
        Some(Work::Yes) => does.to_owned(),
        Some(Work::Depends(on)) => format!("{does} or not: {on}"),
        _ => not.to_owned(),
    };
    if form.locks.iter().any(|lock| lock.mode > Mode::RowExclusive) {
        let rewrite = work(form.rewrite, "rows are rewritten", "no rewrite");
        let scan = work(form.scan, "rows are read", "no scan");
        let _ = writeln!(text, "    {rewrite}; {scan}");
    }
    if !form.note.is_empty() {
        let _ = writeln!(text, "    {}", form.note);
    }
    if let Some(instead) = form.instead {
        let _ = writeln!(text, "    instead: {instead}");
    }
    let _ = writeln!(text, "    source: {}", form.source);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_the_file_makes_is_no_clients_yet() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sql");
        let says = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let migration = crate::read(&path).unwrap();
            explain(
                &migration,
                Product::PostgreSql { version: 18 },
                &mut |_, _| None,
            )
            .says
        };
        let index = "CREATE INDEX i ON T (a);";
        assert!(
            says(&format!("CREATE TABLE t (a int); {index}")).starts_with("No lock on a table")
        );
        let maybe = says(&format!("CREATE TABLE IF NOT EXISTS t (a int); {index}"));
        assert!(maybe.starts_with("Strongest lock: SHARE on T"), "{maybe}");
        let other = says(&format!("CREATE TABLE t (a int REFERENCES r); {index}"));
        assert!(
            other.starts_with("Strongest lock: SHARE ROW EXCLUSIVE on r"),
            "{other}"
        );
    }
}
