//! Scripts of a pack that are no transactions (schema, keys, what is explained): the statements that
//! they come to, without a server.

use std::collections::BTreeMap;

use pgdyno_script::{Language, Names, Op, Script, ScriptErrorKind, Vars};

use super::expression::{Chance, evaluate, variables};
use super::pack::Pack;

/// The statements that this file's script makes.
///
/// # Errors
/// A mistake in the script, reported with its file.
pub fn of_file(
    pack: &Pack,
    file: &str,
    dialect: &str,
    values: &BTreeMap<String, String>,
) -> Result<Vec<String>, String> {
    let mut names = Names::new();
    let script = parse(pack, file, dialect, values, &mut names)?;
    made(
        script.as_ref(),
        &variables(&names, values),
        &Chance::new(&names),
    )
}

/// Parses a file of the pack in its variant for this dialect; `None` when it has nothing in it but
/// comments.
///
/// # Errors
/// A mistake in a template or in the script, reported with its file.
pub(super) fn parse(
    pack: &Pack,
    file: &str,
    dialect: &str,
    values: &BTreeMap<String, String>,
    names: &mut Names,
) -> Result<Option<Script>, String> {
    let Some((file, text)) = pack.sql_file(file, dialect) else {
        // Pack::new has made sure that it is there.
        return Ok(None);
    };
    let place = format!("{}/{file}", pack.place);
    let text = pack.made(&place, text, values)?;
    match Language::Pgdyno.parse(&place, &text, names) {
        Ok(script) => Ok(Some(script)),
        // A dialect may need nothing to be done.
        Err(e) if e.kind == ScriptErrorKind::Empty => Ok(None),
        Err(e) => Err(e.to_string()),
    }
}

/// The statements of a script, which is run without a server: what only computes is evaluated.
///
/// # Errors
/// A value that cannot be computed, `\error`, or a command that needs a server.
pub(super) fn made(
    script: Option<&Script>,
    vars: &Vars,
    chance: &Chance,
) -> Result<Vec<String>, String> {
    let made = made_at(script, vars, chance)?;
    Ok(made.into_iter().map(|statement| statement.text).collect())
}

/// A statement that a script came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub text: String,
    pub file: String,
    /// The line in which it begins.
    pub line: usize,
}

impl Statement {
    /// Where it is, or a position in it (characters from 1, as servers tell it).
    pub fn place(&self, position: Option<usize>) -> String {
        let before = self
            .text
            .chars()
            .take(position.unwrap_or(1).saturating_sub(1));
        let line = self.line + before.filter(|c| *c == '\n').count();
        format!("{}:{line}", self.file)
    }
}

/// The same, each with its place.
pub(super) fn made_at(
    script: Option<&Script>,
    vars: &Vars,
    chance: &Chance,
) -> Result<Vec<Statement>, String> {
    let Some(script) = script else {
        return Ok(Vec::new());
    };
    let (mut vars, mut chance) = (vars.clone(), chance.clone());
    let mut statements = Vec::new();
    let mut at = 0;
    // Whether `at` was reached because a condition was false: only then is an \elif evaluated.
    let mut jumped = false;
    while let Some(command) = script.commands.get(at) {
        let fail = |why: String| format!("{}:{}: {why}", script.name, command.line);
        let next = at + 1;
        let came_by_jump = std::mem::take(&mut jumped);
        at = match &command.op {
            Op::Sql(sql) if sql.gset.is_none() => {
                let mut text = Vec::new();
                sql.check_simple(&vars).map_err(|e| fail(e.to_string()))?;
                sql.write_simple(&vars, &mut text);
                statements.push(Statement {
                    text: String::from_utf8_lossy(&text).into_owned(),
                    file: script.name.clone(),
                    line: command.line as usize,
                });
                next
            }
            Op::Set { slot, expr } => {
                let value =
                    evaluate(expr, &mut vars, &mut chance).map_err(|e| fail(e.to_string()))?;
                vars.assign("set", *slot, value)
                    .map_err(|e| fail(e.to_string()))?;
                next
            }
            Op::If { cond, on_false } | Op::Elif { cond, on_false, .. }
                if came_by_jump || matches!(command.op, Op::If { .. }) =>
            {
                let value =
                    evaluate(cond, &mut vars, &mut chance).map_err(|e| fail(e.to_string()))?;
                jumped = !value.is_true();
                if jumped { *on_false } else { next }
            }
            Op::Elif { end, .. } | Op::Else { end } => *end,
            Op::EndIf => next,
            Op::For(its) => {
                let Chance { prng, draws } = &mut chance;
                let begun = its.begin(&mut vars, prng, draws, &mut |_| {});
                if begun.map_err(|e| fail(e.to_string()))? {
                    next
                } else {
                    its.end
                }
            }
            Op::EndFor { begin } => match &script.commands[*begin].op {
                Op::For(its) if its.step(&mut vars) => begin + 1,
                _ => next,
            },
            Op::Error { message } => {
                let value =
                    evaluate(message, &mut vars, &mut chance).map_err(|e| fail(e.to_string()))?;
                let mut text = Vec::new();
                vars.write_value(value, &mut text);
                return Err(fail(String::from_utf8_lossy(&text).into_owned()));
            }
            _ => {
                return Err(fail(format!(
                    "\"{}\" cannot be used here: only SQL, \\set, \\if, \\for and \\error can",
                    command.text.lines().next().unwrap_or_default()
                )));
            }
        };
    }
    Ok(statements)
}
