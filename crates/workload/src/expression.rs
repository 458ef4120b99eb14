//! Expressions of a pack that stand outside its scripts, in the language of scripts: evaluated over
//! the parameters, once.

use std::collections::BTreeMap;

use pgdyno_script::{Names, Value, Vars};

use super::recipe::{self, Chance};

/// Whether it holds.
///
/// # Errors
/// A mistake in it, told with `place`.
pub fn condition(
    place: &str,
    text: &str,
    values: &BTreeMap<String, String>,
) -> Result<bool, String> {
    match evaluate(place, text, values)? {
        Value::Text(_) => Err(format!("{place}: \"{text}\" is neither true nor false")),
        value => Ok(value.is_true()),
    }
}

/// Its value as a whole number.
///
/// # Errors
/// A mistake in it, or it is none.
pub fn integer(place: &str, text: &str, values: &BTreeMap<String, String>) -> Result<i64, String> {
    match evaluate(place, text, values)? {
        Value::Int(number) => Ok(number),
        _ => Err(format!("{place}: \"{text}\" is not a whole number")),
    }
}

/// Its value as a number.
///
/// # Errors
/// A mistake in it, or it is none.
pub fn number(place: &str, text: &str, values: &BTreeMap<String, String>) -> Result<f64, String> {
    match evaluate(place, text, values)? {
        Value::Int(number) => Ok(number as f64),
        Value::Double(number) => Ok(number),
        _ => Err(format!("{place}: \"{text}\" is not a number")),
    }
}

fn evaluate(place: &str, text: &str, values: &BTreeMap<String, String>) -> Result<Value, String> {
    let mut names = Names::new();
    let expr = recipe::expression(place, text, &mut names)?;
    let mut vars = Vars::new(&names);
    for (name, value) in values {
        if let Some(slot) = names.get(name) {
            vars.set_text(slot, value);
        }
    }
    recipe::evaluate(&expr, &mut vars, &mut Chance::new(&names))
        .map_err(|e| format!("{place}: {e}"))
}
