//! The values of the language and how one type is taken for another.

use std::fmt;

use crate::number::General;
use crate::{EvalError, Slot, Vars};

/// What an expression gives and a variable holds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    /// A text; only in pgdyno's language.
    Text(Text),
}

/// Where a text is: in the [`crate::Vars`] that it was evaluated with, until the next evaluation.
/// Two of them are equal when they are in the same place; [`crate::Vars::bytes`] has what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text(pub(crate) Place);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Among those that the present evaluation has made.
    Made {
        from: u32,
        to: u32,
    },
    Of(Slot),
}

impl Value {
    /// The type's name in pgbench's messages.
    pub fn type_name(self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Int(_) => "int",
            Value::Double(_) => "double",
            Value::Text(_) => "text",
        }
    }

    /// The value as a condition (`\if`, `\elif`, CASE): numbers other than zero are true, NULL is
    /// false. (A text is no condition; evaluating one as such is an error before it comes here.)
    pub fn is_true(self) -> bool {
        match self {
            Value::Null | Value::Text(_) => false,
            Value::Bool(bool) => bool,
            Value::Int(int) => int != 0,
            Value::Double(double) => double != 0.0,
        }
    }

    /// As a boolean; only booleans are.
    #[inline]
    pub(crate) fn to_bool(self) -> Result<bool, EvalError> {
        match self {
            Value::Bool(bool) => Ok(bool),
            _ => Err(self.cannot_become("boolean")),
        }
    }

    /// As an integer; doubles are rounded, halves to the even neighbour.
    #[inline]
    pub(crate) fn to_int(self) -> Result<i64, EvalError> {
        match self {
            Value::Int(int) => Ok(int),
            Value::Double(double) => {
                let rounded = double.round_ties_even();
                // Both limits are powers of two, which doubles represent exactly.
                const LIMIT: f64 = 9_223_372_036_854_775_808.0;
                if (-LIMIT..LIMIT).contains(&rounded) {
                    Ok(rounded as i64)
                } else {
                    Err(EvalError::DoubleToInt(rounded))
                }
            }
            _ => Err(self.cannot_become("int")),
        }
    }

    #[inline]
    pub fn to_double(self) -> Result<f64, EvalError> {
        match self {
            Value::Double(double) => Ok(double),
            Value::Int(int) => Ok(int as f64),
            _ => Err(self.cannot_become("double")),
        }
    }

    #[cold]
    pub(crate) fn cannot_become(self, target: &'static str) -> EvalError {
        EvalError::Coerce {
            from: self.type_name(),
            to: target,
        }
    }
}

/// The text of the value in SQL: `NULL`, `true`, `false`, digits, and doubles as `%.15g`. Of a text
/// only that it is one: what is in it, the variables know.
impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => out.write_str("NULL"),
            Value::Bool(bool) => write!(out, "{bool}"),
            Value::Int(int) => write!(out, "{int}"),
            Value::Double(double) => General(*double).fmt(out),
            Value::Text(_) => out.write_str("a text"),
        }
    }
}

/// What `debug()` prints after its `debug(script=S,command=C): `; the numbers are the caller's to
/// know (S counts scripts from 0, C commands from 1).
#[derive(Debug, Clone, PartialEq)]
pub struct DebugOutput {
    value: Value,
    /// What is in it, if it is a text.
    text: Option<Box<str>>,
}

impl DebugOutput {
    pub(crate) fn new(value: Value, vars: &Vars) -> Self {
        let text = match value {
            Value::Text(text) => Some(String::from_utf8_lossy(vars.bytes(text)).into()),
            _ => None,
        };
        Self { value, text }
    }
}

impl fmt::Display for DebugOutput {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.value.type_name();
        match (self.value, &self.text) {
            (Value::Null, _) => out.write_str(kind),
            (_, Some(text)) => write!(out, "{kind} {text}"),
            (value, None) => write!(out, "{kind} {value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Names;

    #[test]
    fn values_have_pgbenchs_texts() {
        let values = [
            (Value::Null, "NULL", "null"),
            (Value::Bool(true), "true", "boolean true"),
            (Value::Int(-3), "-3", "int -3"),
            (Value::Double(0.1), "0.1", "double 0.1"),
        ];
        for (value, sql, debug) in values {
            assert_eq!(value.to_string(), sql);
            let output = DebugOutput::new(value, &Vars::new(&Names::new()));
            assert_eq!(output.to_string(), debug);
        }
    }

    #[test]
    fn conditions_are_true_for_numbers_other_than_zero() {
        for value in [Value::Bool(true), Value::Int(-1), Value::Double(0.1)] {
            assert!(value.is_true());
        }
        for value in [
            Value::Null,
            Value::Bool(false),
            Value::Int(0),
            Value::Double(-0.0),
        ] {
            assert!(!value.is_true());
        }
    }

    #[test]
    fn doubles_become_integers_by_rounding_halves_to_even() {
        for (double, int) in [
            (2.5, 2),
            (3.5, 4),
            (-2.5, -2),
            (1e15 + 0.4, 1_000_000_000_000_000),
        ] {
            assert_eq!(Value::Double(double).to_int().unwrap(), int);
        }
        for double in [9.3e18, f64::NAN, f64::INFINITY, 9_223_372_036_854_775_808.0] {
            assert!(Value::Double(double).to_int().is_err());
        }
        assert_eq!(
            Value::Double(-9_223_372_036_854_775_808.0)
                .to_int()
                .unwrap(),
            i64::MIN
        );
    }
}
