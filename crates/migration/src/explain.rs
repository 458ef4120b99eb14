//! What a migration will lock, write anew and read, by the table of forms: nothing is run.

use std::fmt::Write;

use serde::Serialize;

use crate::file::Migration;
use crate::forms::{Mode, Work};
use crate::online;
use crate::statement::{Action, Known, Locked, Proofs, actions};

/// Grows when a field changes its meaning or goes.
const FORMAT: u32 = 1;
/// Characters of a statement that are shown of it.
const SHOWN_CHARS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    pub format: u32,
    pub file: String,
    pub tool: &'static str,
    /// The major version of PostgreSQL that it is explained for.
    pub version: u32,
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
    /// Where that is documented.
    pub source: &'static str,
    /// What can be done instead by hand.
    pub instead: Option<&'static str>,
    /// Whether this version has it.
    pub is_there: bool,
}

/// Explains a migration for this major version; `known` gives types of columns where there is a server to ask.
pub fn explain(migration: &Migration, version: u32, known: Known<'_>) -> Explained {
    let mut proofs = Proofs::default();
    let mut statements = Vec::new();
    let mut transaction = 0;
    for group in &migration.up {
        transaction += usize::from(group.begin.is_some());
        for statement in &group.statements {
            let actions = actions(&statement.text, version, known, &mut proofs);
            statements.push(ExplainedStatement {
                file: statement.file.clone(),
                line: statement.line,
                statement: statement.text.clone(),
                transaction: group.begin.is_some().then_some(transaction),
                online: online::statements(&statement.text, &actions, version),
                forms: actions.iter().map(|action| form(action, version)).collect(),
            });
        }
    }
    let mut notes = migration.notes.clone();
    for group in migration.up.iter().filter(|group| group.begin.is_some()) {
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
        version,
        says: says(&statements),
        statements,
        has_down: migration.down.is_some(),
        notes,
    }
}

fn form(action: &Action, version: u32) -> ExplainedForm {
    let form = action.form;
    ExplainedForm {
        form: form.map(|form| form.name),
        locks: action.locks.clone(),
        rewrite: form.map(|form| form.rewrite),
        scan: form.map(|form| form.scan),
        note: form.map_or("", |form| form.note),
        source: form.map_or("", |form| form.source),
        instead: form.and_then(online::advice),
        is_there: form.is_none_or(|form| form.since <= version),
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
    let unknown = statements
        .iter()
        .filter(|it| it.forms.iter().any(|form| form.form.is_none()))
        .count();
    let mut text = match worst.and_then(|worst| Some((worst, of(worst)?))) {
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
    match unknown {
        0 => {}
        1 => text.push_str("; of 1 statement it is not known"),
        many => {
            let _ = write!(text, "; of {many} statements it is not known");
        }
    }
    text
}

/// All of it for people: lines with an indent of two.
pub fn text(it: &Explained) -> String {
    let mut text = format!(
        "{}\n{}, as {} runs it, on PostgreSQL {}: by the table of locks, nothing was run\n",
        it.says, it.file, it.tool, it.version
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
            lines_of(form, it.version, &mut text);
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

fn lines_of(form: &ExplainedForm, version: u32, text: &mut String) {
    let Some(name) = form.form else {
        text.push_str("  not known: the table of locks does not have it\n");
        return;
    };
    let _ = writeln!(text, "  {name}");
    if !form.is_there {
        let _ = writeln!(text, "    PostgreSQL {version} does not have it");
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
