//! SQL commands: their text cut at the variables.

use crate::names::{continues_name, is_valid_name, starts_name};
use crate::{EvalError, Names, Observe, Slot, TooManyArguments, Vars, escape, octets};

/// The most parameters pgbench gives a statement in extended and prepared mode.
pub const MAX_PARAMETERS: usize = 255;

/// A part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Octets to send as they are.
    Text(Vec<u8>),
    Var(Slot),
}

impl Piece {
    /// Appends it for the simple query protocol; `is_behind_text`: whether the piece before was a text that an
    /// expression made.
    fn write_simple(&self, vars: &Vars, is_behind_text: &mut bool, out: &mut Vec<u8>) {
        match self {
            Piece::Text(text) => {
                if *is_behind_text && text.starts_with(b"'") {
                    // Two literals side by side would be one.
                    out.push(b' ');
                }
                *is_behind_text = false;
                out.extend_from_slice(text);
            }
            Piece::Var(slot) => {
                *is_behind_text = vars.holds_text(*slot);
                if !vars.write_sql(*slot, out) {
                    out.push(b':');
                    out.extend_from_slice(&octets(vars.name(*slot)));
                }
            }
        }
    }
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
    /// mentions it, so that the value could not be seen. An error when no variable can have the
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

/// Work units that a statement does: what a workload counts when a transaction is not it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Units {
    /// `\unit NAME`: each execution is a unit of this operation.
    One(String),
    /// `\units NAME…`: the server has done units of these operations and tells of them in the
    /// columns of these names; the other columns become variables, as with `\gset`.
    Reported(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// The statement as written, without leading space; with its semicolon, if it has one.
    pub text: String,
    /// The same, cut at the variables. Texts are not empty and do not follow each other.
    pub pieces: Vec<Piece>,
    /// The `\gset` or `\aset` behind it.
    pub gset: Option<Gset>,
    /// The `\unit` or `\units` behind it.
    pub units: Option<Units>,
    pub observed: Vec<Observe>,
    /// The variables that are mentioned inside quotes or comments, where no text can be pasted.
    quoted: Vec<Slot>,
}

impl Sql {
    pub(crate) fn new(text: String, names: &mut Names) -> Self {
        let (pieces, quoted) = cut(&text, names);
        Self {
            pieces,
            text,
            gset: None,
            units: None,
            observed: Vec::new(),
            quoted,
        }
    }

    /// Whether [`Sql::write_simple`] can paste all values where they are to stand.
    ///
    /// # Errors
    /// A text that an expression made is mentioned inside quotes or a comment.
    #[inline]
    pub fn check_simple(&self, vars: &Vars) -> Result<(), EvalError> {
        if self.quoted.is_empty() {
            Ok(())
        } else {
            self.check_quoted(vars)
        }
    }

    fn check_quoted(&self, vars: &Vars) -> Result<(), EvalError> {
        match self.quoted.iter().find(|slot| vars.holds_text(**slot)) {
            Some(slot) => Err(EvalError::QuotedText(vars.name(*slot).into())),
            None => Ok(()),
        }
    }

    /// Appends the statement for the simple query protocol: values in place of variables, a text
    /// that an expression made as a literal; the name of one that is not set stays.
    pub fn write_simple(&self, vars: &Vars, out: &mut Vec<u8>) {
        let mut is_behind_text = false;
        for piece in &self.pieces {
            piece.write_simple(vars, &mut is_behind_text, out);
        }
    }

    /// Where in [`Sql::text`] lies what was sent at this place: characters from 0, of what
    /// [`Sql::write_simple`] makes with `vars`, or of what [`Sql::numbered`] does if the statement `is_numbered`.
    /// Gives characters from 0, and the variable if it is the place of one.
    pub fn origin(
        &self,
        place: usize,
        vars: &Vars,
        is_numbered: bool,
    ) -> Option<(usize, Option<Slot>)> {
        let (mut sent, mut written) = (0, 0);
        let (mut is_behind_text, mut number) = (false, 0);
        let mut out = Vec::new();
        for piece in &self.pieces {
            out.clear();
            let (slot, own) = match piece {
                Piece::Text(text) => (None, escape(text).chars().count()),
                Piece::Var(slot) => (Some(*slot), 1 + vars.name(*slot).chars().count()),
            };
            match slot {
                Some(_) if is_numbered => {
                    number += 1;
                    out.extend_from_slice(format!("${number}").as_bytes());
                }
                _ => piece.write_simple(vars, &mut is_behind_text, &mut out),
            }
            let length = escape(&out).chars().count();
            if place < sent + length {
                // Within a value there are no places of the script.
                let ahead = if slot.is_some() { 0 } else { place - sent };
                return Some((written + ahead, slot));
            }
            sent += length;
            written += own;
        }
        // Behind its end: what is missing there.
        (place == sent).then_some((written, None))
    }

    /// The statement for the extended protocol: `$1`, `$2`, … in place of variables, a new one for
    /// each mention, and the variables in that order. One that is not set is sent as NULL.
    pub fn numbered(&self) -> Result<(Vec<u8>, Vec<Slot>), TooManyArguments> {
        let mut sql = Vec::with_capacity(self.text.len());
        let mut slots = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => sql.extend_from_slice(text),
                Piece::Var(slot) => {
                    if slots.len() == MAX_PARAMETERS {
                        return Err(TooManyArguments {
                            maximum: MAX_PARAMETERS,
                            statement: self.text.clone(),
                        });
                    }
                    slots.push(*slot);
                    sql.extend_from_slice(format!("${}", slots.len()).as_bytes());
                }
            }
        }
        Ok((sql, slots))
    }
}

/// Cuts a statement at `:name`, also inside quotes and comments. Of several colons in a row only a
/// single one begins a variable (`a::int` is a cast).
///
/// Gives the variables inside quotes and comments apart, too.
fn cut(text: &str, names: &mut Names) -> (Vec<Piece>, Vec<Slot>) {
    let bytes = text.as_bytes();
    let mut pieces = Vec::new();
    let mut quoted = Vec::new();
    let mut quotes = Quotes::new(bytes);
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
            pieces.push(Piece::Text(octets(&text[from..colon]).into_owned()));
        }
        let slot = names.intern(&text[name..at]);
        if quotes.are_open(colon) {
            quoted.push(slot);
        }
        pieces.push(Piece::Var(slot));
        from = at;
    }
    if from < text.len() {
        pieces.push(Piece::Text(octets(&text[from..]).into_owned()));
    }
    (pieces, quoted)
}

/// Follows a statement's quotes and comments.
struct Quotes<'a> {
    text: &'a [u8],
    at: usize,
    /// What ends the quotes or comment that is open; nothing when none is.
    end: &'a [u8],
    /// Whether a backslash takes the next byte with it.
    escapes: bool,
    /// How many comments are open, one in the other.
    comments: usize,
}

impl<'a> Quotes<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            end: b"",
            escapes: false,
            comments: 0,
        }
    }

    /// Whether what is at `place`, which is not before the last one, is inside.
    fn are_open(&mut self, place: usize) -> bool {
        while self.at < place {
            let rest = &self.text[self.at..];
            self.at += if self.end.is_empty() {
                self.outside(rest)
            } else {
                self.inside(rest)
            };
        }
        !self.end.is_empty()
    }

    /// Passes what is outside of all quotes; says how much.
    fn outside(&mut self, rest: &'a [u8]) -> usize {
        self.escapes = false;
        let (end, length): (&[u8], usize) = match rest {
            [quote @ (b'\'' | b'"'), ..] => {
                let before = self.at.checked_sub(1).map(|at| self.text[at]);
                // Only E'…' has escapes for sure; an identifier that ends in e is taken for it.
                self.escapes = *quote == b'\'' && matches!(before, Some(b'e' | b'E'));
                (&rest[..1], 1)
            }
            [b'-', b'-', ..] => (b"\n", 2),
            [b'/', b'*', ..] => {
                self.comments = 1;
                (b"*/", 2)
            }
            [b'$', after @ ..] => match after.iter().position(|byte| !continues_name(*byte)) {
                Some(length) if after[length] == b'$' => (&rest[..length + 2], length + 2),
                _ => (b"", 1),
            },
            _ => (b"", 1),
        };
        self.end = end;
        length
    }

    fn inside(&mut self, rest: &[u8]) -> usize {
        if self.escapes && rest[0] == b'\\' {
            return 2;
        }
        if let [b'\'', b'\'', ..] = rest
            && self.end == b"'"
        {
            return 2;
        }
        if self.comments > 0 && rest.starts_with(b"/*") {
            self.comments += 1;
            return 2;
        }
        if !rest.starts_with(self.end) {
            return 1;
        }
        let length = self.end.len();
        self.comments = self.comments.saturating_sub(1);
        if self.comments == 0 {
            self.end = b"";
        }
        length
    }
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
    fn a_place_in_what_was_sent_is_found_in_the_script() {
        let mut names = Names::new();
        let text = "SELECT :value, é\n FROM :nothing;";
        let sql = Sql::new(text.to_owned(), &mut names);
        let mut vars = Vars::new(&names);
        vars.set_text(names.intern("value"), "'long value'");
        let nothing = Some(names.intern("nothing"));
        let mut sent = Vec::new();
        sql.write_simple(&vars, &mut sent);
        let sent = String::from_utf8(sent).unwrap();
        let (numbered, _) = sql.numbered().unwrap();
        let numbered = String::from_utf8(numbered).unwrap();
        for (sent, is_numbered) in [(&sent, false), (&numbered, true)] {
            let at = |word: &str| {
                let before = sent.find(word).map(|at| &sent[..at]).unwrap();
                sql.origin(before.chars().count(), &vars, is_numbered)
            };
            assert_eq!(at("SELECT"), Some((0, None)));
            assert_eq!(at("é"), Some((15, None)));
            assert_eq!(at("FROM"), Some((18, None)));
            assert_eq!(at(";"), Some((31, None)));
            assert_eq!(
                at(if is_numbered { "$2" } else { ":nothing" }),
                Some((23, nothing))
            );
            let end = sent.chars().count();
            assert_eq!(sql.origin(end, &vars, is_numbered), Some((32, None)));
            assert_eq!(sql.origin(end + 1, &vars, is_numbered), None);
        }
    }

    #[test]
    fn a_text_is_pasted_as_a_literal() {
        let mut names = Names::new();
        let slot = names.intern("t");
        let mut pasted = |text: &str, value: &str| {
            let sql = Sql::new(text.to_owned(), &mut names);
            let mut vars = Vars::new(&names);
            let made = vars.make_text(|out| out.extend_from_slice(value.as_bytes()));
            vars.set(slot, Value::Text(made.unwrap()));
            sql.check_simple(&vars).map_err(|error| error.to_string())?;
            let mut out = Vec::new();
            sql.write_simple(&vars, &mut out);
            Ok::<_, String>(String::from_utf8(out).unwrap())
        };
        for (text, value, sent) in [
            ("a = :t;", "x", "a = 'x';"),
            ("a = :t;", "it's", "a = 'it''s';"),
            (
                "a = :t;",
                "', 'b'); DROP TABLE t; --",
                "a = ''', ''b''); DROP TABLE t; --';",
            ),
            ("a = :t", "\\", "a =  E'\\\\'"),
            ("a = :t", "\\'", "a =  E'\\\\'''"),
            ("(:t,:t)", "", "('','')"),
            // Never one literal with its neighbours.
            ("a:t", "x", "a 'x'"),
            ("U&:t", "x", "U& 'x'"),
            ("'a':t'b'", "x", "'a' 'x' 'b'"),
            (":t:t", "x", "'x' 'x'"),
            (
                "-- c's\n:t /* ' */ = $$'$$ || $a$'$a$ || E'\\'' || \"'\" || :t",
                "x",
                "-- c's\n'x' /* ' */ = $$'$$ || $a$'$a$ || E'\\'' || \"'\" || 'x'",
            ),
            ("$1 || :t", "x", "$1 || 'x'"),
        ] {
            assert_eq!(pasted(text, value), Ok(sent.to_owned()), "{text} {value}");
        }
        for text in [
            "a = ':t'",
            "\":t\"",
            "'it''s :t'",
            "E'\\' :t'",
            "/* /* */ :t */",
            "-- :t",
            "$$ :t $$",
            "$a$ $$ :t $a$",
            "E'it''s\\' :t'",
            "'unterminated :t",
        ] {
            let error = pasted(text, "x").unwrap_err();
            assert!(
                error.starts_with("variable \"t\" holds a text"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn each_mention_has_its_own_number() {
        let mut names = Names::new();
        let sql = Sql::new("SELECT :a + :b + ':a'::int;".into(), &mut names);
        let (text, slots) = sql.numbered().unwrap();
        assert_eq!(text, b"SELECT $1 + $2 + '$3'::int;");
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
