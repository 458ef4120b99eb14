//! Expressions of a pack that stand outside its scripts, in the language of scripts: evaluated over
//! the parameters, once.

use std::collections::BTreeMap;

use pgdyno_script::{
    Counters, Draws, EvalError, Expr, Language, Names, Op, Prng, ScriptError, Value, Vars,
};

/// Seed of the random functions: the same parameters make the same rows.
const SEED: u64 = 0;

/// What an expression is parsed behind.
const SET: &str = "\\set it ";

/// Whether it holds.
///
/// # Errors
/// A mistake in it, with `place`.
pub fn condition(
    place: &str,
    text: &str,
    values: &BTreeMap<String, String>,
) -> Result<bool, String> {
    match value(place, text, values)? {
        Value::Text(_) => Err(format!("{place}: \"{text}\" must be true or false")),
        value => Ok(value.is_true()),
    }
}

/// Its value as a whole number.
///
/// # Errors
/// A mistake in it, or it is none.
pub fn integer(place: &str, text: &str, values: &BTreeMap<String, String>) -> Result<i64, String> {
    match value(place, text, values)? {
        Value::Int(number) => Ok(number),
        _ => Err(format!("{place}: \"{text}\" is not a whole number")),
    }
}

/// Its value as a number.
///
/// # Errors
/// A mistake in it, or it is none.
pub fn number(place: &str, text: &str, values: &BTreeMap<String, String>) -> Result<f64, String> {
    match value(place, text, values)? {
        Value::Int(number) => Ok(number as f64),
        Value::Double(number) => Ok(number),
        _ => Err(format!("{place}: \"{text}\" is not a number")),
    }
}

/// Its value, whatever it is; of a text, only that it is one.
///
/// # Errors
/// A mistake in it, with `place`.
pub(super) fn value(
    place: &str,
    text: &str,
    values: &BTreeMap<String, String>,
) -> Result<Value, String> {
    let mut names = Names::new();
    let expr = parse(place, text, &mut names)?;
    let mut vars = variables(&names, values);
    evaluate(&expr, &mut vars, &mut Chance::new(&names)).map_err(|e| format!("{place}: {e}"))
}

/// The variables of these names, with the values that there are.
pub(super) fn variables(names: &Names, values: &BTreeMap<String, String>) -> Vars {
    let mut vars = Vars::new(names);
    for (name, value) in values {
        if let Some(slot) = names.get(name) {
            vars.set_text(slot, value);
        }
    }
    vars
}

/// Parses an expression of the manifest, by way of the `\set` that it could stand in.
///
/// # Errors
/// A mistake in it, with `place`.
pub(super) fn parse(place: &str, text: &str, names: &mut Names) -> Result<Expr, String> {
    let line = text.replace(['\n', '\r'], " ");
    let script = Language::Pgdyno
        .parse(place, &format!("{SET}{line}"), names)
        .map_err(|e| mistake(place, &e))?;
    match script.commands.into_iter().map(|c| c.op).next() {
        Some(Op::Set { expr, .. }) => Ok(expr),
        _ => Err(format!("{place}: \"{text}\" is not an expression")),
    }
}

/// A mistake in an expression, shown in the expression alone: it has no line of its own.
fn mistake(place: &str, error: &ScriptError) -> String {
    let mut text = format!("{place}: {}", error.message);
    if let Some(more) = &error.more {
        text += &format!(" ({more})");
    }
    let Some(line) = error.source_line.as_deref() else {
        return text;
    };
    text += &format!("\n{}", line.strip_prefix(SET).unwrap_or(line));
    if let Some(column) = error.column {
        let width = (column as usize).saturating_sub(SET.len()).max(1);
        text += &format!("\n{:>width$} error found here", '^');
    }
    text
}

/// Evaluates an expression; what `debug()` would print has no place in a load.
pub(super) fn evaluate(
    expr: &Expr,
    vars: &mut Vars,
    chance: &mut Chance,
) -> Result<Value, EvalError> {
    expr.eval(vars, &mut chance.prng, &mut chance.draws, &mut |_| {})
}

/// What a load draws from: the same each time.
#[derive(Debug, Clone)]
pub(super) struct Chance {
    pub(super) prng: Prng,
    pub(super) draws: Draws,
}

impl Chance {
    pub(super) fn new(names: &Names) -> Self {
        Self {
            prng: Prng::seed(SEED),
            draws: Draws::new(Counters::new(names)),
        }
    }

    /// Begins a row, whose draws depend on this seed alone.
    pub(super) fn begin(&mut self, seed: u64) {
        self.prng = Prng::seed(seed ^ SEED);
    }

    pub(super) fn end(&mut self) {
        self.draws.end();
    }
}
