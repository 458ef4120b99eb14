//! Where SQL statements end: the part of psql's lexer that pgbench uses.
//!
//! A statement ends at a semicolon outside quotes, comments, parentheses and the BEGIN … END body
//! of a routine, or before a backslash that begins a meta command. Quotes are those of a server
//! with `standard_conforming_strings` on. SQL itself is not looked at.

use std::ops::Range;

use crate::names::continues_name;
use crate::number::is_space;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Behind a semicolon, which belongs to the statement.
    Semicolon,
    /// Behind a backslash that begins a meta command.
    Backslash,
    /// At the end of the script.
    End,
}

/// Reads a script from its start. What is open at the end of a statement stays open: a parenthesis
/// before a meta command still holds the semicolons behind it.
pub struct Scanner<'a> {
    text: &'a [u8],
    /// The next byte to read; callers that read meta commands move it on.
    pub at: usize,
    parentheses: usize,
    begins: usize,
    routine: Routine,
}

/// How far the words so far spell CREATE [OR REPLACE] FUNCTION|PROCEDURE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Routine {
    Nothing,
    Create,
    CreateOr,
    CreateOrReplace,
    Is,
    IsNot,
}

impl Routine {
    fn after(self, word: &[u8]) -> Self {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword.as_bytes());
        match self {
            Routine::Nothing if is("create") => Routine::Create,
            Routine::Create if is("or") => Routine::CreateOr,
            Routine::CreateOr if is("replace") => Routine::CreateOrReplace,
            Routine::Create | Routine::CreateOrReplace if is("function") || is("procedure") => {
                Routine::Is
            }
            Routine::Is => Routine::Is,
            _ => Routine::IsNot,
        }
    }
}

fn starts_identifier(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn continues_identifier(byte: u8) -> bool {
    starts_identifier(byte) || byte.is_ascii_digit() || byte == b'$'
}

fn is_newline(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Which quoted thing is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoted {
    Plain,
    Escapes,
    Bits,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
            parentheses: 0,
            begins: 0,
            routine: Routine::Nothing,
        }
    }

    fn rest(&self) -> &'a [u8] {
        &self.text[self.at.min(self.text.len())..]
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn skip_while(&mut self, test: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&test) {
            self.at += 1;
        }
    }

    /// Appends the next statement to `out`, without space and `--` comments before it. Gives also
    /// the offset where it began, if anything was appended.
    pub fn statement(&mut self, out: &mut Vec<u8>) -> (Stop, Option<usize>) {
        let mut began = None;
        loop {
            let start = self.at;
            let Some(first) = self.peek(0) else {
                return (Stop::End, began);
            };
            if is_space(first) || self.rest().starts_with(b"--") {
                self.blank(first);
                if began.is_some() {
                    out.extend_from_slice(&self.text[start..self.at]);
                }
                continue;
            }
            if first == b'\\' {
                match self.peek(1) {
                    Some(forced @ (b';' | b':')) => {
                        began.get_or_insert(start);
                        out.push(forced);
                        self.at += 2;
                        if forced == b';' && self.is_outside() {
                            self.routine = Routine::Nothing;
                        }
                        continue;
                    }
                    _ => {
                        self.at += 1;
                        return (Stop::Backslash, began);
                    }
                }
            }
            began.get_or_insert(start);
            if let Some(length) = self.tested_variable() {
                // psql's test for a variable: pgbench's lexer knows no variables.
                self.at += length;
                out.extend_from_slice(b"FALSE");
                continue;
            }
            let ended = self.token(first);
            out.extend_from_slice(&self.text[start..self.at]);
            if ended {
                return (Stop::Semicolon, began);
            }
        }
    }

    fn is_outside(&self) -> bool {
        self.parentheses == 0 && self.begins == 0
    }

    /// Space, or a comment to the end of its line.
    fn blank(&mut self, first: u8) {
        if is_space(first) {
            self.skip_while(is_space);
        } else {
            self.skip_while(|byte| !is_newline(byte));
        }
    }

    /// The length of `:{?name}` here.
    fn tested_variable(&self) -> Option<usize> {
        let name = self.rest().strip_prefix(b":{?")?;
        let length = name
            .iter()
            .take_while(|&&byte| continues_name(byte))
            .count();
        (length > 0 && name.get(length) == Some(&b'}')).then_some(length + 4)
    }

    /// Where the next token is, without space and comments before it; `None` at the end. A word, what is quoted, a
    /// number, a variable of psql's, `::`, or one byte of anything else.
    pub fn next_token(&mut self) -> Option<Range<usize>> {
        loop {
            let (start, first) = (self.at, self.peek(0)?);
            let rest = self.rest();
            if is_space(first) || rest.starts_with(b"--") {
                self.blank(first);
                continue;
            }
            let is_comment = rest.starts_with(b"/*");
            self.token(first);
            if !is_comment {
                return Some(start..self.at);
            }
        }
    }

    /// Reads one token that is neither blank nor begins with a backslash, and says whether it was
    /// the semicolon that ends the statement.
    fn token(&mut self, first: u8) -> bool {
        match (first, self.peek(1)) {
            (b'\'', _) => self.quoted(1, Quoted::Plain),
            (b'e' | b'E', Some(b'\'')) => self.quoted(2, Quoted::Escapes),
            (b'b' | b'B' | b'x' | b'X', Some(b'\'')) => self.quoted(2, Quoted::Bits),
            // The letter alone: an ordinary string follows.
            (b'n' | b'N', Some(b'\'')) => self.at += 1,
            (b'u' | b'U', Some(b'&')) => match self.peek(2) {
                Some(b'\'') => self.quoted(3, Quoted::Plain),
                Some(b'"') => self.identifier_in_quotes(3),
                _ => self.at += 1,
            },
            (b'"', _) => self.identifier_in_quotes(1),
            (b'/', Some(b'*')) => self.comment(),
            (b'$', _) => self.dollar(),
            (b'(', _) => {
                self.parentheses += 1;
                self.at += 1;
            }
            (b')', _) => {
                self.parentheses = self.parentheses.saturating_sub(1);
                self.at += 1;
            }
            (b';', _) => {
                self.at += 1;
                if self.is_outside() {
                    self.routine = Routine::Nothing;
                    return true;
                }
            }
            (b':', Some(b':')) => self.at += 2,
            (b':', _) => self.variable(),
            (b'0'..=b'9', _) | (b'.', Some(b'0'..=b'9')) => self.number(),
            (first, _) if starts_identifier(first) => self.identifier(),
            _ => self.at += 1,
        }
        false
    }

    /// `:name`, `:'name'` or `:"name"` in one piece; else the colon alone.
    fn variable(&mut self) {
        let rest = &self.rest()[1..];
        let (quote, name) = match rest.first() {
            Some(&quote @ (b'\'' | b'"')) => (Some(quote), &rest[1..]),
            _ => (None, rest),
        };
        let length = name
            .iter()
            .take_while(|&&byte| continues_name(byte))
            .count();
        self.at += 1;
        match quote {
            None => self.at += length,
            Some(quote) if length > 0 && name.get(length) == Some(&quote) => self.at += length + 2,
            Some(_) => {}
        }
    }

    /// A string whose opening takes `opening` bytes, with those that continue it on later lines.
    fn quoted(&mut self, opening: usize, kind: Quoted) {
        self.at += opening;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\\' if kind == Quoted::Escapes => self.at += 1,
                b'\'' if kind != Quoted::Bits && self.peek(0) == Some(b'\'') => self.at += 1,
                b'\'' => match self.continuation() {
                    Some(length) => self.at += length,
                    None => return,
                },
                _ => {}
            }
        }
        // A backslash as the very last byte.
        self.at = self.at.min(self.text.len());
    }

    /// How far it is behind the quote that continues a string: space with a newline in it, perhaps
    /// comments, then a quote.
    fn continuation(&self) -> Option<usize> {
        let rest = self.rest();
        let mut at = 0;
        let mut seen_newline = false;
        loop {
            let byte = *rest.get(at)?;
            if is_newline(byte) {
                seen_newline = true;
                at += 1;
            } else if is_space(byte) {
                at += 1;
            } else if rest[at..].starts_with(b"--") {
                at += rest[at..].iter().position(|&byte| is_newline(byte))?;
            } else {
                return (seen_newline && byte == b'\'').then_some(at + 1);
            }
        }
    }

    fn identifier_in_quotes(&mut self, opening: usize) {
        self.at += opening;
        loop {
            self.skip_while(|byte| byte != b'"');
            let doubled = self.peek(1) == Some(b'"');
            self.at = (self.at + 1).min(self.text.len());
            if !doubled {
                return;
            }
            self.at += 1;
        }
    }

    /// A comment, with those nested in it.
    fn comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek(0) {
            match (byte, self.peek(1)) {
                (b'/', Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// A dollar-quoted string, a parameter, or a dollar alone.
    fn dollar(&mut self) {
        let rest = self.rest();
        let tag = &rest[1..];
        let length = tag.iter().take_while(|&&byte| continues_name(byte)).count();
        let starts_with_digit = tag.first().is_some_and(u8::is_ascii_digit);
        if !starts_with_digit && tag.get(length) == Some(&b'$') {
            let delimiter = &rest[..length + 2];
            let body = &rest[delimiter.len()..];
            let end = body
                .windows(delimiter.len())
                .position(|window| window == delimiter);
            self.at += match end {
                Some(end) => end + 2 * delimiter.len(),
                None => rest.len(),
            };
            return;
        }
        self.at += 1;
        if starts_with_digit {
            self.skip_while(|byte| byte.is_ascii_digit());
            self.junk(false);
        }
    }

    /// A word that follows a number without a space belongs to it. `in_word`: the number ended in
    /// digits behind an underscore, which are then taken for the middle of that word.
    fn junk(&mut self, in_word: bool) {
        let starts = |byte| starts_identifier(byte) || (in_word && byte == b'$');
        if self.peek(0).is_some_and(starts) {
            self.skip_while(continues_identifier);
        }
    }

    /// Digits with single underscores between them; says whether there was one.
    fn digits(&mut self) -> bool {
        let mut has_underscore = false;
        while let Some(byte) = self.peek(0) {
            let is_underscore =
                byte == b'_' && self.peek(1).is_some_and(|byte| byte.is_ascii_digit());
            if !byte.is_ascii_digit() && !is_underscore {
                break;
            }
            has_underscore |= is_underscore;
            self.at += 1;
        }
        has_underscore
    }

    fn number(&mut self) {
        let mut in_word = self.digits();
        if self.peek(0) == Some(b'.') {
            // "1..2" is a range: the number ends before the first point.
            if self.peek(1) == Some(b'.') {
                return;
            }
            self.at += 1;
            let has_fraction = self.peek(0).is_some_and(|byte| byte.is_ascii_digit());
            in_word = has_fraction && self.digits();
        }
        let has_exponent = matches!(self.peek(0), Some(b'e' | b'E'));
        if has_exponent && matches!(self.peek(1), Some(b'+' | b'-')) {
            // The sign is taken even without digits behind it, so that "1e--2" has no comment.
            self.at += 2;
            if !self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
                return;
            }
            in_word = self.digits();
        }
        // Also an exponent without sign: with what follows it looks like a word.
        self.junk(in_word);
    }

    fn identifier(&mut self) {
        let start = self.at;
        self.skip_while(continues_identifier);
        if self.parentheses != 0 {
            return;
        }
        let word = &self.text[start..self.at];
        self.routine = self.routine.after(word);
        if self.routine != Routine::Is {
            return;
        }
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword.as_bytes());
        if is("begin") || (is("case") && self.begins > 0) {
            self.begins += 1;
        } else if is("end") {
            self.begins = self.begins.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statements of a script without meta commands.
    fn statements(text: &str) -> Vec<String> {
        let mut scanner = Scanner::new(text);
        let mut all = Vec::new();
        loop {
            let mut out = Vec::new();
            let (stop, _) = scanner.statement(&mut out);
            if !out.is_empty() {
                all.push(String::from_utf8(out).unwrap());
            }
            if stop != Stop::Semicolon {
                assert_eq!(stop, Stop::End);
                return all;
            }
        }
    }

    /// Each of these is one statement, though there are semicolons in it; another follows.
    #[test]
    fn semicolons_inside_something_do_not_end_a_statement() {
        for sql in [
            "SELECT ';';",
            "SELECT 'it''s;';",
            "SELECT 'back\\';",
            "SELECT E'a\\';b';",
            "SELECT e'\\\\';",
            "SELECT B'0;1', x'1;F';",
            "SELECT N'a;\\';",
            "SELECT U&'d\\;', u&\"a;\"\"b\";",
            "SELECT \"a;\"\";\";",
            "SELECT $$a;$b$;$$;",
            "SELECT $tag$ $$;$$ $ta$ ; $tag$;",
            "SELECT $é$;$é$;",
            "SELECT /* ; */ 1;",
            "SELECT /* /* ; */ ; */ 1;",
            "SELECT /*/ ; */ 1;",
            "SELECT /**;**/ 1;",
            "SELECT 1 -- ; '\n;",
            "SELECT 1+--;\n2;",
            "SELECT 1-/*;*/2;",
            "SELECT (1;2);",
            "SELECT 'a' -- c;'\n  ';b';",
            "SELECT E'a'\n'\\';';",
            "SELECT :';';",
            "SELECT :x';';",
            "SELECT n$a$ + '$a$;';",
            "SELECT $1a$;",
            "SELECT 1a$a$;",
            "SELECT 0x1F$;",
            "SELECT 1e'\\';",
            "SELECT 1e--2;",
            "SELECT 1.5e+3a$;",
            "SELECT 1_000_a$;",
            "SELECT 1_0$a$ || '$a$;';",
            "SELECT 1e+1_0$a$ || '$a$;';",
            "SELECT 1e99$a$ || '$a$;';",
            "SELECT 1..2;",
        ] {
            assert_eq!(
                statements(&format!("{sql}\nNEXT;")),
                [sql, "NEXT;"],
                "{sql}"
            );
        }
    }

    #[test]
    fn quotes_that_are_none_do_not_hide_a_semicolon() {
        for sql in [
            "SELECT 'a\\';",
            "SELECT a$b$;",
            "SELECT $1$;",
            "SELECT a::x;",
            "SELECT 'a' 'b';",
            "SELECT ) ;",
            ";",
        ] {
            assert_eq!(statements(&format!("{sql}x';")), [sql, "x';"], "{sql}");
        }
    }

    #[test]
    fn the_bodies_of_sql_standard_routines_are_one_statement() {
        for sql in [
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END;",
            "create or replace procedure p() begin atomic select case when true then 1 end; end;",
            "CREATE FUNCTION f() BEGIN BEGIN a; END; b; END;",
        ] {
            assert_eq!(statements(&format!("{sql} NEXT;")), [sql, "NEXT;"]);
        }
        // BEGIN counts nowhere else, nor when it is a variable or in parentheses.
        assert_eq!(statements("BEGIN; SELECT 1; END;").len(), 3);
        assert_eq!(statements("CREATE TABLE begin (a int); x;").len(), 2);
        assert_eq!(
            statements("CREATE FUNCTION f(begin int) :begin; x;").len(),
            2
        );
        assert_eq!(statements("CREATE OR FUNCTION begin; x;").len(), 2);
    }

    #[test]
    fn leading_space_and_line_comments_are_dropped_others_kept() {
        assert_eq!(
            statements("-- a\n \r\t -- b\n /* c */ SELECT 1 -- d\n ; -- e\n"),
            ["/* c */ SELECT 1 -- d\n ;"]
        );
        assert_eq!(statements("-- only\n  -- comments"), Vec::<String>::new());
        assert_eq!(statements("SELECT 1\n -- c\n"), ["SELECT 1\n -- c\n"]);
        // What psql's lexer does not take for blank is a statement to pgbench.
        assert_eq!(statements("/* c */"), ["/* c */"]);
        assert_eq!(statements(";;"), [";", ";"]);
    }

    #[test]
    fn an_escaped_semicolon_or_colon_is_taken_into_the_statement() {
        assert_eq!(
            statements("SELECT 1\\; SELECT 2 \\:x;"),
            ["SELECT 1; SELECT 2 :x;"]
        );
        assert_eq!(statements("\\;a;"), [";a;"]);
        // It also forgets that a routine was being created.
        assert_eq!(
            statements("CREATE FUNCTION f() \\; BEGIN; x;"),
            ["CREATE FUNCTION f() ; BEGIN;", "x;"]
        );
    }

    #[test]
    fn psqls_test_for_a_variable_is_false() {
        assert_eq!(
            statements("SELECT :{?x}, :{?}, :{x};"),
            ["SELECT FALSE, :{?}, :{x};"]
        );
    }

    #[test]
    fn what_is_open_at_the_end_is_a_statement() {
        for sql in [
            "SELECT 'a",
            "SELECT E'a\\",
            "SELECT \"a",
            "SELECT $$a;",
            "/* /* */ ;",
            "(;",
        ] {
            assert_eq!(statements(sql), [sql]);
        }
    }
}
