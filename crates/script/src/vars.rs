//! One client's variables: values and texts by slot.
//!
//! A variable assigned by `\set` has a value, and its text is made when SQL needs it. One that
//! came from outside (`-D`, `\gset`, `\aset`) has a text, which stays as it is in SQL, and its
//! value is found when an expression needs it. A text that an expression made is a value too: in SQL
//! it is quoted.

use std::cell::Cell;
use std::io::Write as _;
use std::sync::Arc;

use crate::names::{Name, Names, continues_name};
use crate::number::{BigintError, looks_like_int, parse_bigint, parse_double};
use crate::value::{Place, Text};
use crate::{EvalError, INT_ROOM, Slot, Value, put_int, write_int};

/// The most bytes a text may have that an expression makes.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// The most bytes that all texts of one evaluation may have.
const MAX_MADE_BYTES: usize = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Unset,
    /// Assigned as a value; the text is not used.
    Value(Value),
    /// Assigned as a text not yet looked at.
    Text,
    /// Assigned as a text whose value is known.
    TextOf(Value),
}

#[derive(Debug, Clone)]
struct Var {
    state: Cell<State>,
    text: Vec<u8>,
}

impl Var {
    fn unset() -> Self {
        Self {
            state: Cell::new(State::Unset),
            text: Vec::new(),
        }
    }
}

/// A variable that has a value and gets another.
pub(crate) struct ToBeSet<'a>(&'a Cell<State>);

impl ToBeSet<'_> {
    /// To a value that is no text.
    #[inline]
    pub(crate) fn set(self, value: Value) {
        self.0.set(State::Value(value));
    }
}

/// The variables of one client.
#[derive(Debug, Clone)]
pub struct Vars {
    vars: Vec<Var>,
    names: Arc<Vec<Name>>,
    /// The texts that the present evaluation has made; its memory is used over and over.
    made: Vec<u8>,
    /// Where a text is made of others.
    apart: Vec<u8>,
}

impl Vars {
    /// All names of `names`, none of them set. To be made when all scripts are parsed: a slot that
    /// comes later works, but has no name in messages.
    pub fn new(names: &Names) -> Self {
        Self {
            vars: vec![Var::unset(); names.len()],
            names: names.shared(),
            made: Vec::new(),
            apart: Vec::new(),
        }
    }

    fn var_mut(&mut self, slot: Slot) -> &mut Var {
        if slot.index() >= self.vars.len() {
            self.vars.resize(slot.index() + 1, Var::unset());
        }
        &mut self.vars[slot.index()]
    }

    #[inline]
    fn state(&self, slot: Slot) -> State {
        self.vars
            .get(slot.index())
            .map_or(State::Unset, |var| var.state.get())
    }

    /// The name of a slot, for messages.
    pub fn name(&self, slot: Slot) -> &str {
        self.names.get(slot.index()).map_or("", |name| &name.text)
    }

    /// Sets a variable to a value, whatever its name is. For names that a script gives, use
    /// [`Vars::assign`].
    pub fn set(&mut self, slot: Slot, value: Value) {
        let value = match value {
            Value::Text(text) => self.take_in(slot, text),
            other => other,
        };
        self.var_mut(slot).state.set(State::Value(value));
    }

    /// A variable that is set, to be set to a value that is no text.
    #[inline]
    pub(crate) fn to_be_set(&self, slot: Slot) -> Option<ToBeSet<'_>> {
        let var = self.vars.get(slot.index())?;
        match var.state.get() {
            State::Unset => None,
            _ => Some(ToBeSet(&var.state)),
        }
    }

    /// Where a variable that is set gets a text, which is empty yet.
    #[inline]
    pub(crate) fn own_text(&mut self, slot: Slot) -> Option<&mut Vec<u8>> {
        let var = self.vars.get_mut(slot.index())?;
        if var.state.get() == State::Unset {
            return None;
        }
        let value = Value::Text(Text(Place::Of(slot)));
        var.state.set(State::Value(value));
        var.text.clear();
        Some(&mut var.text)
    }

    /// Copies a text to where the variable's own is.
    fn take_in(&mut self, slot: Slot, text: Text) -> Value {
        if text.0 != Place::Of(slot) {
            let mut own = std::mem::take(&mut self.var_mut(slot).text);
            own.clear();
            own.extend_from_slice(self.bytes(text));
            self.var_mut(slot).text = own;
        }
        Value::Text(Text(Place::Of(slot)))
    }

    /// Sets a variable to a value as `\set` and `\setshell` do: refuses names that no variable can
    /// have. `context` is the command's word, for the message.
    pub fn assign(&mut self, context: &str, slot: Slot, value: Value) -> Result<(), EvalError> {
        if !self.is_set(slot) && !self.names.get(slot.index()).is_none_or(|n| n.valid) {
            return Err(EvalError::InvalidName {
                context: context.into(),
                name: self.name(slot).into(),
            });
        }
        self.set(slot, value);
        Ok(())
    }

    /// Sets a variable to a text, kept as it is (a NULL that `\gset` stores is the empty text).
    pub fn set_text(&mut self, slot: Slot, text: impl AsRef<[u8]>) {
        let var = self.var_mut(slot);
        var.text.clear();
        var.text.extend_from_slice(text.as_ref());
        var.state.set(State::Text);
    }

    /// Whether the variable has a value or text.
    #[inline]
    pub fn is_set(&self, slot: Slot) -> bool {
        !matches!(self.state(slot), State::Unset)
    }

    /// The variable's value for an expression. A text is looked at once: `null`, booleans (`true`,
    /// `yes`, `false`, `no` and their beginnings, `on`, `off`, `of`), integers, doubles.
    #[inline]
    pub fn value(&self, slot: Slot) -> Result<Value, EvalError> {
        match self.state(slot) {
            State::Value(value) | State::TextOf(value) => Ok(value),
            State::Text => self.value_of_text(slot),
            State::Unset => Err(EvalError::Undefined(self.name(slot).into())),
        }
    }

    /// The variable's value, if it is known to be an integer.
    #[inline]
    pub(crate) fn integer(&self, slot: Slot) -> Option<i64> {
        match self.vars.get(slot.index())?.state.get() {
            State::Value(Value::Int(int)) => Some(int),
            _ => Some(self.integer_of_text(slot)?),
        }
    }

    /// The same of a text that has been looked at.
    #[inline(never)]
    fn integer_of_text(&self, slot: Slot) -> Option<i64> {
        match self.state(slot) {
            State::TextOf(Value::Int(int)) => Some(int),
            _ => None,
        }
    }

    #[cold]
    fn value_of_text(&self, slot: Slot) -> Result<Value, EvalError> {
        let var = &self.vars[slot.index()];
        let value = value_of(&var.text, self.name(slot))?;
        var.state.set(State::TextOf(value));
        Ok(value)
    }

    /// The variable's value in pgdyno's language: what is no value of pgbench's is a text.
    #[inline]
    pub(crate) fn value_or_text(&self, slot: Slot) -> Result<Value, EvalError> {
        match self.value(slot) {
            Err(_) if self.is_set(slot) => {
                let value = Value::Text(Text(Place::Of(slot)));
                self.vars[slot.index()].state.set(State::TextOf(value));
                Ok(value)
            }
            other => other,
        }
    }

    /// The text of a variable as it came from outside, also one that looks like a number; else its
    /// value.
    pub(crate) fn text_or_value(&self, slot: Slot) -> Result<Value, EvalError> {
        match self.state(slot) {
            State::Text | State::TextOf(_) => Ok(Value::Text(Text(Place::Of(slot)))),
            _ => self.value(slot),
        }
    }

    /// What is in a text that the last evaluation with these variables gave.
    pub fn bytes(&self, text: Text) -> &[u8] {
        let bytes = match text.0 {
            Place::Made { from, to } => self.made.get(from as usize..to as usize),
            Place::Of(slot) => self.vars.get(slot.index()).map(|var| var.text.as_slice()),
        };
        bytes.unwrap_or_default()
    }

    /// Forgets the texts of the evaluation before.
    pub(crate) fn begin_texts(&mut self) {
        self.made.clear();
    }

    /// Makes a text: `make` appends it to the buffer.
    pub(crate) fn make_text(&mut self, make: impl FnOnce(&mut Vec<u8>)) -> Result<Text, EvalError> {
        let from = self.made.len();
        make(&mut self.made);
        self.made_since(from)
    }

    /// What was made since the buffer had so many bytes, as one text.
    pub(crate) fn made_since(&self, from: usize) -> Result<Text, EvalError> {
        let to = self.made.len();
        if to - from > MAX_TEXT_BYTES || to > MAX_MADE_BYTES {
            return Err(EvalError::TextTooLong(MAX_TEXT_BYTES));
        }
        Ok(Text(Place::Made {
            from: from as u32,
            to: to as u32,
        }))
    }

    /// The bytes that were made since the buffer had so many, to be changed in place.
    pub(crate) fn made_mut(&mut self, from: usize) -> &mut [u8] {
        &mut self.made[from..]
    }

    /// The buffer's length, for [`Vars::made_since`].
    pub(crate) fn made_length(&self) -> usize {
        self.made.len()
    }

    /// Appends a part of a text to the buffer.
    pub(crate) fn append(&mut self, text: Text, part: std::ops::Range<usize>) {
        match text.0 {
            Place::Made { from, .. } => {
                let from = from as usize;
                self.made
                    .extend_from_within(from + part.start..from + part.end);
            }
            Place::Of(slot) => {
                let text = &self.vars[slot.index()].text;
                self.made.extend_from_slice(&text[part]);
            }
        }
    }

    /// Appends one byte to the buffer.
    pub(crate) fn append_byte(&mut self, byte: u8) {
        self.made.push(byte);
    }

    /// Appends a value to the buffer in the form it has in SQL.
    pub(crate) fn append_value(&mut self, value: Value) {
        let mut made = std::mem::take(&mut self.made);
        match value {
            Value::Text(_) => {}
            other => self.write_value(other, &mut made),
        }
        self.made = made;
    }

    /// Makes a text of others, in a buffer of its own that is copied then.
    pub(crate) fn make_apart(
        &mut self,
        make: impl FnOnce(&Self, &mut Vec<u8>),
    ) -> Result<Text, EvalError> {
        let mut apart = std::mem::take(&mut self.apart);
        apart.clear();
        make(self, &mut apart);
        let text = self.make_text(|out| out.extend_from_slice(&apart));
        self.apart = apart;
        text
    }

    /// Whether the variable holds a text that an expression made.
    pub(crate) fn holds_text(&self, slot: Slot) -> bool {
        matches!(self.state(slot), State::Value(Value::Text(_)))
    }

    /// Writes what [`Vars::write_text`] appends at the beginning of `room`, and says how many bytes it has, if that
    /// takes no more than copying: an integer, or a text that fits. What is behind it may be overwritten.
    #[inline(always)]
    pub fn put_short(&self, slot: Slot, room: &mut [u8; INT_ROOM]) -> Option<usize> {
        match self.put_integer(slot, room) {
            Some(bytes) => Some(bytes),
            None => self.put_short_text(slot, room),
        }
    }

    /// The same for an integer alone.
    #[inline(always)]
    pub fn put_integer(&self, slot: Slot, room: &mut [u8; INT_ROOM]) -> Option<usize> {
        match self.vars.get(slot.index())?.state.get() {
            State::Value(Value::Int(int)) => Some(put_int(int, room)),
            _ => None,
        }
    }

    #[cold]
    #[inline(never)]
    fn put_short_text(&self, slot: Slot, room: &mut [u8; INT_ROOM]) -> Option<usize> {
        let var = self.vars.get(slot.index())?;
        let text = match var.state.get() {
            State::Text | State::TextOf(_) => &var.text,
            State::Value(Value::Text(text)) => self.bytes(text),
            _ => return None,
        };
        room.get_mut(..text.len())?.copy_from_slice(text);
        Some(text.len())
    }

    /// Appends a value as text.
    #[inline]
    pub fn write_value(&self, value: Value, out: &mut Vec<u8>) {
        match value {
            Value::Int(int) => write_int(int, out),
            Value::Text(text) => out.extend_from_slice(self.bytes(text)),
            // Writing to a Vec cannot fail.
            other => drop(write!(out, "{other}")),
        }
    }

    /// Appends what represents the variable in the text of a statement: a text that an expression
    /// made becomes a literal, everything else is as [`Vars::write_text`] has it.
    pub(crate) fn write_sql(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        if !self.holds_text(slot) {
            return self.write_text(slot, out);
        }
        write_literal(&self.vars[slot.index()].text, out);
        true
    }

    /// Appends the text that represents the variable in SQL; does nothing and says `false` when it
    /// is not set. Allocates only when `out` must grow.
    pub fn write_text(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        match self.state(slot) {
            State::Unset => return false,
            State::Text | State::TextOf(_) => {
                out.extend_from_slice(&self.vars[slot.index()].text);
            }
            State::Value(value) => self.write_value(value, out),
        }
        true
    }
}

/// Appends a text as a literal of SQL. One with a backslash gets the form in which a backslash means
/// the same whatever `standard_conforming_strings` says.
fn write_literal(text: &[u8], out: &mut Vec<u8>) {
    let has_backslash = text.contains(&b'\\');
    // A letter or quote right before would belong to the literal: a prefix, or one literal more.
    if out
        .last()
        .is_some_and(|&byte| matches!(byte, b'\'' | b'&') || continues_name(byte))
        || has_backslash
    {
        out.push(b' ');
    }
    out.extend_from_slice(if has_backslash { b"E'" } else { b"'" });
    for &byte in text {
        if byte == b'\'' || byte == b'\\' {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}

/// Whether `text` is the beginning of `word` or all of it, in any case.
fn begins(word: &[u8], text: &[u8]) -> bool {
    text.len() <= word.len() && word[..text.len()].eq_ignore_ascii_case(text)
}

/// The number that a text is.
pub(crate) fn number_of(text: &[u8]) -> Result<Value, EvalError> {
    let value = if looks_like_int(text) {
        parse_bigint(text).ok().map(Value::Int)
    } else {
        parse_double(text).map(Value::Double)
    };
    value.ok_or_else(|| EvalError::NotANumber(String::from_utf8_lossy(text).into()))
}

fn value_of(text: &[u8], name: &str) -> Result<Value, EvalError> {
    let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
    let shown = || Box::from(String::from_utf8_lossy(text));
    if text.is_empty() {
        return Err(EvalError::EmptyVariable);
    }
    if is("null") {
        return Ok(Value::Null);
    }
    if begins(b"true", text) || begins(b"yes", text) || is("on") {
        return Ok(Value::Bool(true));
    }
    if begins(b"false", text) || begins(b"no", text) || is("off") || is("of") {
        return Ok(Value::Bool(false));
    }
    if looks_like_int(text) {
        return parse_bigint(text).map(Value::Int).map_err(|why| match why {
            BigintError::OutOfRange => EvalError::BigintRange(shown()),
            BigintError::InvalidSyntax => EvalError::BigintSyntax(shown()),
        });
    }
    parse_double(text)
        .map(Value::Double)
        .ok_or_else(|| EvalError::Malformed {
            name: name.into(),
            text: shown(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> (Vars, Slot) {
        let mut names = Names::new();
        let slot = names.intern("x");
        (Vars::new(&names), slot)
    }

    fn text(vars: &Vars, slot: Slot) -> String {
        let mut out = b"<".to_vec();
        assert!(vars.write_text(slot, &mut out));
        String::from_utf8(out).unwrap()[1..].to_owned()
    }

    #[test]
    fn an_unset_variable_is_undefined_and_writes_nothing() {
        let (vars, x) = one();
        assert!(!vars.is_set(x));
        let error = vars.value(x).unwrap_err();
        assert_eq!(error.to_string(), "undefined variable \"x\"");
        let mut out = Vec::new();
        assert!(!vars.write_text(x, &mut out));
        assert!(out.is_empty());
    }

    #[test]
    fn values_have_their_sql_texts() {
        let (mut vars, x) = one();
        for (value, sql) in [
            (Value::Int(0), "0"),
            (Value::Int(i64::MIN), "-9223372036854775808"),
            (Value::Int(i64::MAX), "9223372036854775807"),
            (Value::Double(2.5e-9), "2.5e-09"),
            (Value::Null, "NULL"),
            (Value::Bool(false), "false"),
        ] {
            vars.set(x, value);
            assert_eq!(text(&vars, x), sql);
            assert_eq!(vars.value(x).unwrap(), value);
        }
    }

    #[test]
    fn a_text_from_outside_is_kept_and_typed_when_asked() {
        let (mut vars, x) = one();
        for (given, value) in [
            ("NuLL", Value::Null),
            ("t", Value::Bool(true)),
            ("TRUE", Value::Bool(true)),
            ("ye", Value::Bool(true)),
            ("on", Value::Bool(true)),
            ("f", Value::Bool(false)),
            ("n", Value::Bool(false)),
            ("No", Value::Bool(false)),
            ("of", Value::Bool(false)),
            ("OFF", Value::Bool(false)),
            (" +007", Value::Int(7)),
            ("1e2", Value::Double(100.0)),
            (" 0x10", Value::Double(16.0)),
        ] {
            vars.set_text(x, given);
            assert_eq!(vars.value(x).unwrap(), value, "{given}");
            assert_eq!(text(&vars, x), given);
        }
    }

    #[test]
    fn texts_without_a_value_are_errors_in_pgbenchs_words() {
        let (mut vars, x) = one();
        for (given, message) in [
            ("", ""),
            ("o", "malformed variable \"x\" value: \"o\""),
            ("truth", "malformed variable \"x\" value: \"truth\""),
            // Neither an integer nor a double may have spaces behind it.
            ("-1 ", "malformed variable \"x\" value: \"-1 \""),
            ("1 2", "malformed variable \"x\" value: \"1 2\""),
            ("1e999", "malformed variable \"x\" value: \"1e999\""),
            (
                "9223372036854775808",
                "value \"9223372036854775808\" is out of range for type bigint",
            ),
            ("+", "invalid input syntax for type bigint: \"+\""),
            ("  ", "invalid input syntax for type bigint: \"  \""),
        ] {
            vars.set_text(x, given);
            assert_eq!(vars.value(x).unwrap_err().to_string(), message, "{given:?}");
            assert_eq!(text(&vars, x), given);
        }
    }

    #[test]
    fn only_valid_names_can_be_assigned() {
        let mut names = Names::new();
        let bad = names.intern("1x");
        let mut vars = Vars::new(&names);
        let error = vars.assign("set", bad, Value::Int(1)).unwrap_err();
        assert_eq!(error.to_string(), "set: invalid variable name: \"1x\"");
        assert!(!vars.is_set(bad));
        let (mut vars, x) = one();
        vars.assign("set", x, Value::Int(1)).unwrap();
        assert_eq!(vars.value(x).unwrap(), Value::Int(1));
    }

    #[test]
    fn a_slot_interned_later_can_be_set() {
        let mut names = Names::new();
        let mut vars = Vars::new(&names);
        let late = names.intern("late");
        assert!(!vars.is_set(late));
        vars.set(late, Value::Int(3));
        assert_eq!(vars.value(late).unwrap(), Value::Int(3));
    }

    #[test]
    fn a_clone_is_independent() {
        let (mut vars, x) = one();
        vars.set(x, Value::Int(1));
        let saved = vars.clone();
        vars.set(x, Value::Int(2));
        assert_eq!(saved.value(x).unwrap(), Value::Int(1));
    }
}
