//! SQL commands: their text cut at the variables.

use crate::names::{continues_name, is_valid_name, starts_name};
use crate::{EvalError, Names, Slot, TooManyArguments, Vars};

/// The most parameters pgbench gives a statement in extended and prepared mode.
pub const MAX_PARAMETERS: usize = 255;

/// A part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text to send as it is.
    Text(String),
    /// `:name`.
    Var(Slot),
}

/// Whether `\gset` or `\aset` follows a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GsetKind {
    /// The last query must give one row; it becomes variables.
    Gset,
    /// The last row of every query that has one becomes variables.
    Aset,
}

/// What to do with a statement's result: each column becomes a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gset {
    /// Which command it was.
    pub kind: GsetKind,
    /// What the variables' names begin with.
    pub prefix: String,
}

impl Gset {
    /// The command's name, for messages: `gset` or `aset`.
    pub fn name(&self) -> &'static str {
        match self.kind {
            GsetKind::Gset => "gset",
            GsetKind::Aset => "aset",
        }
    }

    /// The variable that a column is stored in; `None` when its name is fine but no script
    /// mentions it, so that nobody could see the value. An error when no variable can have the
    /// name.
    pub fn variable(&self, column: &str, names: &Names) -> Result<Option<Slot>, EvalError> {
        let joined;
        let name = if self.prefix.is_empty() {
            column
        } else {
            joined = format!("{}{column}", self.prefix);
            &joined
        };
        if is_valid_name(name) {
            return Ok(names.get(name));
        }
        Err(EvalError::InvalidName {
            context: self.name().into(),
            name: name.into(),
        })
    }
}

/// An SQL command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// The statement as written, without leading space; with its semicolon, if it has one.
    pub text: String,
    /// The same, cut at the variables. Texts are not empty and do not follow each other.
    pub pieces: Vec<Piece>,
    /// The `\gset` or `\aset` behind it.
    pub gset: Option<Gset>,
}

impl Sql {
    pub(crate) fn new(text: String, names: &mut Names) -> Self {
        Self {
            pieces: cut(&text, names),
            text,
            gset: None,
        }
    }

    /// Appends the statement for the simple query protocol: values in place of variables; the name
    /// of one that is not set stays.
    pub fn write_simple(&self, vars: &Vars, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Var(slot) => {
                    if !vars.write_text(*slot, out) {
                        out.push(b':');
                        out.extend_from_slice(vars.name(*slot).as_bytes());
                    }
                }
            }
        }
    }

    /// The statement for the extended protocol: `$1`, `$2`, … in place of variables, a new one for
    /// each mention, and the variables in that order. One that is not set is sent as NULL.
    pub fn numbered(&self) -> Result<(String, Vec<Slot>), TooManyArguments> {
        let mut sql = String::with_capacity(self.text.len());
        let mut slots = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => sql.push_str(text),
                Piece::Var(slot) => {
                    if slots.len() == MAX_PARAMETERS {
                        return Err(TooManyArguments {
                            maximum: MAX_PARAMETERS,
                            statement: self.text.clone(),
                        });
                    }
                    slots.push(*slot);
                    sql.push_str(&format!("${}", slots.len()));
                }
            }
        }
        Ok((sql, slots))
    }
}

/// Cuts a statement at `:name`, also inside quotes and comments. Of several colons in a row only a
/// single one begins a variable (`a::int` is a cast).
fn cut(text: &str, names: &mut Names) -> Vec<Piece> {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(ahead) = text[at..].find(':') {
        let colon = at + ahead;
        let name = colon + 1;
        if !bytes.get(name).is_some_and(|&byte| starts_name(byte)) {
            at = name;
            while bytes.get(at) == Some(&b':') {
                at += 1;
            }
            continue;
        }
        at = name;
        while bytes.get(at).is_some_and(|&byte| continues_name(byte)) {
            at += 1;
        }
        if from < colon {
            pieces.push(Piece::Text(text[from..colon].to_owned()));
        }
        pieces.push(Piece::Var(names.intern(&text[name..at])));
        from = at;
    }
    if from < text.len() {
        pieces.push(Piece::Text(text[from..].to_owned()));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    fn simple(text: &str) -> String {
        let mut names = Names::new();
        let sql = Sql::new(text.to_owned(), &mut names);
        let mut vars = Vars::new(&names);
        for (name, value) in [("x", "7"), ("é", "8"), ("x_1", ":x")] {
            let slot = names.intern(name);
            vars.set_text(slot, value);
        }
        let mut out = Vec::new();
        sql.write_simple(&vars, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn variables_are_substituted_everywhere_but_in_casts() {
        for (text, sent) in [
            ("SELECT :x;", "SELECT 7;"),
            ("SELECT :x:x", "SELECT 77"),
            ("SELECT ':x', \":x\" /* :x */", "SELECT '7', \"7\" /* 7 */"),
            ("SELECT a::x, :::x, :x::int", "SELECT a::x, :::x, 7::int"),
            ("SELECT :é :x_1 :unset", "SELECT 8 :x :unset"),
            ("SELECT :1, : x, a[1:2], :", "SELECT :1, : x, a[1:2], :"),
            ("SELECT :x-:x.:x", "SELECT 7-7.7"),
        ] {
            assert_eq!(simple(text), sent);
        }
    }

    #[test]
    fn each_mention_has_its_own_number() {
        let mut names = Names::new();
        let sql = Sql::new("SELECT :a + :b + ':a'::int;".into(), &mut names);
        let (text, slots) = sql.numbered().unwrap();
        assert_eq!(text, "SELECT $1 + $2 + '$3'::int;");
        let (a, b) = (names.get("a").unwrap(), names.get("b").unwrap());
        assert_eq!(slots, [a, b, a]);
        assert_eq!(sql.pieces.len(), 7);
    }

    #[test]
    fn more_than_255_mentions_are_too_many_for_the_extended_protocol() {
        let mut names = Names::new();
        let text = format!("SELECT {}", vec![":x"; 255].join(","));
        let sql = Sql::new(text.clone(), &mut names);
        assert_eq!(sql.numbered().unwrap().1.len(), 255);
        let text = text + ",:x";
        let error = Sql::new(text.clone(), &mut names).numbered().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("statement has too many arguments (maximum is 255): {text}")
        );
    }

    #[test]
    fn columns_become_variables_that_someone_mentions() {
        let mut names = Names::new();
        let slot = names.intern("p_a");
        let gset = |prefix: &str| Gset {
            kind: GsetKind::Aset,
            prefix: prefix.into(),
        };
        assert_eq!(gset("p_").variable("a", &names), Ok(Some(slot)));
        assert_eq!(gset("p_").variable("b", &names), Ok(None));
        let error = gset("").variable("?column?", &names).unwrap_err();
        assert_eq!(
            error.to_string(),
            "aset: invalid variable name: \"?column?\""
        );
        let mut vars = Vars::new(&names);
        vars.set(slot, Value::Int(1));
        assert!(vars.is_set(slot));
    }
}
