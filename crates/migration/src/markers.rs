//! By what the files of each tool are known, and the parts that it cuts them into.

use crate::file::{Group, Migration, Statement, Tool, grouped};
use crate::psql;

/// Of the time at which `sqlx migrate add` made a file.
const SQLX_DIGITS: usize = 14;

/// Which tool's it is, by its name and by comments in it.
pub fn tool(name: &str, text: &str) -> Tool {
    let has = |marker: &str| comments(text).any(|(_, comment)| begins(comment, marker));
    let is_of_flyway = name
        .strip_prefix(['V', 'v', 'R', 'U'])
        .is_some_and(|rest| rest.contains("__"));
    if has("liquibase formatted sql") {
        Tool::Liquibase
    } else if has(DBMATE.up) {
        Tool::Dbmate
    } else if has(GOOSE.up) {
        Tool::Goose
    } else if has(SQL_MIGRATE.up) {
        Tool::SqlMigrate
    } else if name.ends_with(".up.sql") || name.ends_with(".down.sql") || name == "up.sql" {
        Tool::UpDown
    } else if is_of_flyway && name.ends_with(".sql") {
        Tool::Flyway
    } else if is_named_as_of_sqlx(name) && !text.lines().any(|line| line.starts_with('\\')) {
        Tool::UpDown
    } else {
        Tool::Psql
    }
}

/// sqlx's files without a way back: `20240102030405_x.sql`.
pub fn is_named_as_of_sqlx(name: &str) -> bool {
    let version = name
        .split_once('_')
        .filter(|_| !name.ends_with(".up.sql") && name.ends_with(".sql"));
    version.is_some_and(|(version, _)| {
        version.len() == SQLX_DIGITS && version.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Lines that are comments, with their numbers from 0, without what makes them such.
fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    lines.filter_map(|(at, line)| Some((at, line.trim_start().strip_prefix("--")?.trim())))
}

/// Whether a comment begins with this marker; goose takes `no transaction` for `NO TRANSACTION`.
fn begins(comment: &str, marker: &str) -> bool {
    let head = comment.get(..marker.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(marker))
}

/// sqlx's way to say that there is no transaction: its first line.
pub fn has_no_transaction(text: &str) -> bool {
    comments(text)
        .next()
        .is_some_and(|(at, comment)| at == 0 && comment.starts_with("no-transaction"))
}

/// How a tool marks the parts of its files.
pub struct Markers {
    pub up: &'static str,
    down: &'static str,
    /// Beside `up` or `down`, or on a line of its own.
    no_transaction: &'static str,
    /// A statement from the one to the other, whatever is in it.
    one_statement: Option<(&'static str, &'static str)>,
}

pub static DBMATE: Markers = Markers {
    up: "migrate:up",
    down: "migrate:down",
    no_transaction: "transaction:false",
    one_statement: None,
};

pub static GOOSE: Markers = Markers {
    up: "+goose Up",
    down: "+goose Down",
    no_transaction: "+goose NO TRANSACTION",
    one_statement: Some(("+goose StatementBegin", "+goose StatementEnd")),
};

pub static SQL_MIGRATE: Markers = Markers {
    up: "+migrate Up",
    down: "+migrate Down",
    no_transaction: "notransaction",
    one_statement: Some(("+migrate StatementBegin", "+migrate StatementEnd")),
};

/// A file that has both parts.
///
/// # Errors
/// As [`psql::plain`].
pub fn up_down(migration: &mut Migration, text: &str, markers: &Markers) -> Result<(), String> {
    let path = migration.path.clone();
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let (mut up_is_wrapped, mut down_is_wrapped) = (true, true);
    // `None` before the first part: nothing there is run.
    let mut is_down = None;
    let mut chunk = Chunk::default();
    let mut in_one = false;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let comment = line.trim_start().strip_prefix("--").map_or("", str::trim);
        let part = [(markers.up, false), (markers.down, true)];
        let part = part.into_iter().find(|(marker, _)| begins(comment, marker));
        let edge = markers
            .one_statement
            .map(|(from, to)| [from, to].map(|edge| begins(comment, edge)));
        let is_edge = edge.is_some_and(|edge| edge.contains(&true));
        if part.is_some() || is_edge {
            let statements = if is_down == Some(true) {
                &mut down
            } else {
                &mut up
            };
            chunk.take(&path, in_one, is_down.is_some(), statements)?;
            in_one = edge.is_some_and(|[begins, _]| begins);
        }
        if let Some((_, down)) = part {
            is_down = Some(down);
        }
        let is_apart = comment
            .to_ascii_lowercase()
            .contains(&markers.no_transaction.to_ascii_lowercase());
        if is_apart {
            match part {
                Some((_, true)) => down_is_wrapped = false,
                Some((_, false)) => up_is_wrapped = false,
                // goose: for the file.
                None => (up_is_wrapped, down_is_wrapped) = (false, false),
            }
        }
        if part.is_none() && !is_edge {
            chunk.add(at, line);
        }
    }
    let statements = if is_down == Some(true) {
        &mut down
    } else {
        &mut up
    };
    chunk.take(&path, in_one, is_down.is_some(), statements)?;
    migration.up = grouped(up, up_is_wrapped);
    migration.down = Some(grouped(down, down_is_wrapped)).filter(|down| !down.is_empty());
    Ok(())
}

/// Lines that are read together.
#[derive(Default)]
struct Chunk {
    text: String,
    /// From 0.
    line: usize,
}

impl Chunk {
    fn add(&mut self, at: usize, line: &str) {
        if self.text.is_empty() {
            self.line = at;
        }
        self.text.push_str(line);
    }

    /// Reads what was added; `as_one`: as one statement.
    fn take(
        &mut self,
        path: &std::path::Path,
        as_one: bool,
        counts: bool,
        to: &mut Vec<Statement>,
    ) -> Result<(), String> {
        let text = std::mem::take(&mut self.text);
        if !counts {
            return Ok(());
        }
        if !as_one {
            to.extend(psql::plain(path, &text, self.line + 1)?);
        } else if !text.trim().is_empty() {
            let text = text.trim();
            to.push(Statement {
                text: text.strip_suffix(';').unwrap_or(text).to_owned(),
                file: path.display().to_string(),
                line: self.line + 1,
            });
        }
        Ok(())
    }
}

/// Each changeset is a transaction; `--rollback` lines undo it, the last one first.
///
/// # Errors
/// As [`psql::plain`]; SQL before the first changeset, an `endDelimiter`.
pub fn liquibase(migration: &mut Migration, text: &str) -> Result<(), String> {
    let path = migration.path.clone();
    let (mut up, mut down): (Vec<Group>, Vec<Group>) = (Vec::new(), Vec::new());
    let mut changeset: Option<bool> = None;
    let (mut chunk, mut rollback) = (Chunk::default(), Chunk::default());
    let lines = text.split_inclusive('\n').map(Some).chain([None]);
    for (at, line) in lines.enumerate() {
        let comment = line
            .and_then(|line| line.trim_start().strip_prefix("--"))
            .map_or("", str::trim);
        let begins = comment.starts_with("changeset ");
        if line.is_none() || begins {
            let (mut statements, mut undo) = (Vec::new(), Vec::new());
            chunk.take(&path, false, true, &mut statements)?;
            rollback.take(&path, false, true, &mut undo)?;
            match (changeset, statements.first()) {
                (None, Some(first)) => {
                    return Err(format!("{}: SQL before the first changeset", first.place()));
                }
                (None, None) => {}
                (Some(is_wrapped), _) => {
                    up.extend(grouped(statements, is_wrapped));
                    down.splice(..0, grouped(undo, is_wrapped));
                }
            }
        }
        let Some(line) = line else { break };
        if begins {
            if comment.contains("endDelimiter") {
                return Err(format!(
                    "{}:{}: endDelimiter is not read by pgdyno: statements end at semicolons",
                    path.display(),
                    at + 1
                ));
            }
            changeset = Some(is_in_transaction(comment));
        } else if let Some(undo) = comment.strip_prefix("rollback") {
            let is_none = ["", "empty", "not required"].contains(&undo.trim());
            if !is_none {
                rollback.add(at, &format!("{}\n", undo.trim()));
            }
        } else {
            chunk.add(at, line);
        }
    }
    migration.up = up;
    migration.down = Some(down).filter(|down| !down.is_empty());
    Ok(())
}

fn is_in_transaction(changeset: &str) -> bool {
    !changeset
        .to_ascii_lowercase()
        .contains("runintransaction:false")
}
