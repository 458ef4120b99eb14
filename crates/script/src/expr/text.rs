//! What expressions do with texts, and what becomes one. Lengths and positions count characters.

use std::cmp::Ordering;

use super::function::TextFunction;
use super::operator::Binary;
use crate::digits::Digits;
use crate::hash::{Octets, fnv1_bytes, fnv1a_bytes, sha1_of};
use crate::value::Text;
use crate::vars::{MAX_TEXT_BYTES, number_of};
use crate::ycsb::{KeyFormat, write_key, write_value};
use crate::{EvalError, Value, Vars};

/// An operator between values one of which is a text, or `||`.
pub(super) fn binary(
    operator: Binary,
    left: Value,
    right: Value,
    vars: &mut Vars,
) -> Result<Value, EvalError> {
    if left == Value::Null || right == Value::Null {
        return Ok(Value::Null);
    }
    if operator == Binary::Concat {
        let (left, right) = (as_text(left, vars)?, as_text(right, vars)?);
        let from = vars.made_length();
        for text in [left, right] {
            vars.append(text, 0..vars.bytes(text).len());
        }
        return vars.made_since(from).map(Value::Text);
    }
    let holds = match operator {
        Binary::Equal => Ordering::is_eq,
        Binary::NotEqual => Ordering::is_ne,
        Binary::Less => Ordering::is_lt,
        Binary::LessEqual => Ordering::is_le,
        // Arithmetic: the error that a text is none of a number's kind.
        _ => {
            left.to_int()?;
            right.to_int()?;
            return Ok(Value::Null);
        }
    };
    let (left, right) = (as_text(left, vars)?, as_text(right, vars)?);
    Ok(Value::Bool(holds(vars.bytes(left).cmp(vars.bytes(right)))))
}

/// A text as the number that it spells; other values as they are.
pub(super) fn number(value: Value, vars: &Vars) -> Result<Value, EvalError> {
    match value {
        Value::Text(text) => number_of(vars.bytes(text)),
        other => Ok(other),
    }
}

/// Any value as text, in the form it has in SQL.
pub(super) fn as_text(value: Value, vars: &mut Vars) -> Result<Text, EvalError> {
    if let Value::Text(text) = value {
        return Ok(text);
    }
    // A number needs a few bytes, which would have to be borrowed from the same buffer.
    let from = vars.made_length();
    vars.append_value(value);
    vars.made_since(from)
}

pub(super) fn call(
    function: TextFunction,
    arguments: &[Value],
    vars: &mut Vars,
) -> Result<Value, EvalError> {
    let first = arguments[0];
    let int = |index: usize| arguments[index].to_int();
    Ok(match function {
        TextFunction::Text => Value::Text(as_text(first, vars)?),
        TextFunction::Length => {
            let text = as_text(first, vars)?;
            Value::Int(characters(vars.bytes(text)) as i64)
        }
        TextFunction::Elt => {
            let place = usize::try_from(int(0)?).unwrap_or(0);
            let value = arguments.get(place).filter(|_| place > 0);
            value.copied().unwrap_or(Value::Null)
        }
        TextFunction::Lpad | TextFunction::Rpad => return pad(function, arguments, vars),
        TextFunction::ZeroPad => {
            let text = as_text(first, vars)?;
            return zero_pad(text, int(1)?, vars);
        }
        TextFunction::Substring => {
            let text = as_text(first, vars)?;
            let count = arguments.get(2).map(|count| count.to_int()).transpose()?;
            return substring(text, int(1)?, count, vars);
        }
        TextFunction::Unsigned => {
            let number = int(0)? as u64;
            Value::Text(vars.make_text(|out| Digits::of(number).append_to(out))?)
        }
        TextFunction::Fnv1 => Value::Int(fnv("fnv1", fnv1_bytes, arguments, vars)?),
        TextFunction::Fnv1a => Value::Int(fnv("fnv1a", fnv1a_bytes, arguments, vars)?),
        TextFunction::Sha1 => {
            let second = arguments.get(1).map(|second| second.to_int());
            Value::Int(sha1_of(int(0)?, second.transpose()?))
        }
        TextFunction::YcsbKey => return ycsb_key(arguments, vars),
        TextFunction::YcsbValue => return ycsb_value(arguments, vars),
    })
}

/// Whether a byte begins a character of UTF-8.
fn begins_character(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

fn characters(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| begins_character(byte)).count()
}

/// Where the character of this number (from 0) begins; the text's end when it has no so many.
fn offset(text: &[u8], character: usize) -> usize {
    let mut begins = (0..text.len()).filter(|&at| begins_character(text[at]));
    begins.nth(character).unwrap_or(text.len())
}

/// How long a text is to be; a negative length is none at all, as in PostgreSQL.
fn wanted(length: i64) -> Result<usize, EvalError> {
    let length = length.max(0) as u64;
    match usize::try_from(length) {
        Ok(length) if length <= MAX_TEXT_BYTES => Ok(length),
        _ => Err(EvalError::TextTooLong(MAX_TEXT_BYTES)),
    }
}

/// `lpad` and `rpad`, as PostgreSQL has them: a longer text is cut at its end.
fn pad(function: TextFunction, arguments: &[Value], vars: &mut Vars) -> Result<Value, EvalError> {
    let length = wanted(arguments[1].to_int()?)?;
    let fill = match arguments.get(2) {
        Some(fill) => as_text(*fill, vars)?,
        None => vars.make_text(|out| out.push(b' '))?,
    };
    let text = as_text(arguments[0], vars)?;
    let bytes = vars.bytes(text);
    let kept = offset(bytes, length);
    let missing = length - characters(&bytes[..kept]);
    let (fill_bytes, per_fill) = (vars.bytes(fill).len(), characters(vars.bytes(fill)));
    let rest = match per_fill {
        0 => 0,
        _ => offset(vars.bytes(fill), missing % per_fill),
    };
    let times = missing.checked_div(per_fill).unwrap_or(0);
    if kept + times * fill_bytes + rest > MAX_TEXT_BYTES {
        return Err(EvalError::TextTooLong(MAX_TEXT_BYTES));
    }
    let from = vars.made_length();
    if function == TextFunction::Rpad {
        vars.append(text, 0..kept);
    }
    for _ in 0..times {
        vars.append(fill, 0..fill_bytes);
    }
    vars.append(fill, 0..rest);
    if function == TextFunction::Lpad {
        vars.append(text, 0..kept);
    }
    vars.made_since(from).map(Value::Text)
}

/// `zero_pad`, as C's `%0*d`: zeros behind the sign, and nothing is cut.
fn zero_pad(text: Text, width: i64, vars: &mut Vars) -> Result<Value, EvalError> {
    let bytes = vars.bytes(text);
    let (length, sign) = (bytes.len(), usize::from(bytes.first() == Some(&b'-')));
    let zeros = wanted(width)?.saturating_sub(characters(bytes));
    let from = vars.made_length();
    vars.append(text, 0..sign);
    for _ in 0..zeros {
        vars.append_byte(b'0');
    }
    vars.append(text, sign..length);
    vars.made_since(from).map(Value::Text)
}

/// `substring`, as PostgreSQL has it: from a position (the first is 1, and there are positions
/// before it) so many characters.
fn substring(
    text: Text,
    position: i64,
    count: Option<i64>,
    vars: &mut Vars,
) -> Result<Value, EvalError> {
    if let Some(value @ ..0) = count {
        let what = "the count of substring";
        return Err(EvalError::Negative { what, value });
    }
    let bytes = vars.bytes(text);
    let behind = count.map_or(i64::MAX, |count| position.saturating_add(count));
    // No text has more characters than that.
    let character = |position: i64| (position.max(1) - 1).min(MAX_TEXT_BYTES as i64) as usize;
    let from = offset(bytes, character(position));
    let to = match behind {
        i64::MAX => bytes.len(),
        _ => offset(bytes, character(behind)),
    };
    let begin = vars.made_length();
    vars.append(text, from..to.max(from));
    vars.made_since(begin).map(Value::Text)
}

/// `fnv1` and `fnv1a`: over a text's bytes, or over the octets of an integer.
fn fnv(
    function: &'static str,
    hash: fn(&[u8]) -> u64,
    arguments: &[Value],
    vars: &mut Vars,
) -> Result<i64, EvalError> {
    let octets = match arguments.get(1) {
        None => Octets::Little,
        Some(&name) => {
            let name = as_text(name, vars)?;
            let name = vars.bytes(name);
            Octets::find(name)
                .ok_or_else(|| unknown(function, name, "little, big, uvarint8 and uvarint10"))?
        }
    };
    if let Value::Text(text) = arguments[0] {
        return Ok(hash(vars.bytes(text)) as i64);
    }
    let number = arguments[0].to_int()?;
    let hash = octets.of(number as u64, hash);
    let too_large = EvalError::TooLargeFor {
        number,
        what: "uvarint8",
    };
    hash.map(|hash| hash as i64).ok_or(too_large)
}

#[cold]
fn unknown(function: &'static str, name: &[u8], known: &'static str) -> EvalError {
    EvalError::UnknownName {
        function,
        name: String::from_utf8_lossy(name).into(),
        known,
    }
}

fn ycsb_key(arguments: &[Value], vars: &mut Vars) -> Result<Value, EvalError> {
    let value = arguments[0].to_int()?;
    let Ok(number) = u64::try_from(value) else {
        let what = "a key number";
        return Err(EvalError::Negative { what, value });
    };
    let name = as_text(arguments[1], vars)?;
    let name = vars.bytes(name);
    let known = "java, go-ycsb, crdb-old, crdb and ordered";
    let format = KeyFormat::find(name).ok_or_else(|| unknown("ycsb_key", name, known))?;
    let number = format
        .number_in_key(number)
        .ok_or_else(|| EvalError::TooLargeFor {
            number: value,
            what: format.name(),
        })?;
    let width = match arguments.get(2) {
        Some(width) => wanted(width.to_int()?)?,
        None => 1,
    };
    let text = vars.make_text(|out| write_key(number, width, out))?;
    Ok(Value::Text(text))
}

fn ycsb_value(arguments: &[Value], vars: &mut Vars) -> Result<Value, EvalError> {
    let (key, field) = (as_text(arguments[0], vars)?, as_text(arguments[1], vars)?);
    let length = wanted(arguments[2].to_int()?)?;
    // Made in a buffer that is not the one the two texts may be in.
    let text = vars.make_apart(|vars, out| {
        write_value(vars.bytes(key), vars.bytes(field), length, out);
    })?;
    Ok(Value::Text(text))
}
