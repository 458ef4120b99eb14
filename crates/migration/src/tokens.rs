//! The tokens of one SQL statement, without comments.

use pgdyno_script::Scanner;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A keyword or a name without quotes.
    Word,
    /// A name in quotes.
    Quoted,
    /// A string, also a dollar-quoted one, or a number.
    Literal,
    /// psql's `:name`, `:'name'` or `:"name"`.
    Variable,
    Symbol,
}

/// A token with its place in the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub at: usize,
}

impl Token<'_> {
    pub fn is(&self, word: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Symbol) && self.text.eq_ignore_ascii_case(word)
    }

    pub fn is_name(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Quoted)
    }

    pub fn end(&self) -> usize {
        self.at + self.text.len()
    }
}

/// All tokens of a statement, cut as psql cuts them.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner::new(text);
    let mut all = Vec::new();
    while let Some(mut range) = scanner.next_token() {
        // psql takes the letter of N'…' for a word of its own.
        let is_letter = matches!(&text[range.clone()], "n" | "N");
        if is_letter && text[range.end..].starts_with('\'') {
            range.end = scanner.next_token().map_or(range.end, |quoted| quoted.end);
        }
        let token = &text[range.clone()];
        all.push(Token {
            kind: kind(token),
            text: token,
            at: range.start,
        });
    }
    all
}

fn kind(token: &str) -> Kind {
    let is_long = token.len() > 1;
    match token.chars().next() {
        Some('"') => Kind::Quoted,
        Some('\'' | '$' | '0'..='9') => Kind::Literal,
        Some('.') if is_long => Kind::Literal,
        Some(':') if is_long && token != "::" => Kind::Variable,
        Some(first) if first.is_alphabetic() || first == '_' => {
            // Of names in Unicode escapes (U&"…") nothing is read.
            if token.contains('"') {
                Kind::Symbol
            } else if token.contains('\'') {
                Kind::Literal
            } else {
                Kind::Word
            }
        }
        _ => Kind::Symbol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn tokens_are_cut_as_psql_cuts_them() {
        for (text, want) in [
            (
                "ALTER TABLE a.\"B\"\"c\" -- x\n ADD",
                &["ALTER", "TABLE", "a", ".", "\"B\"\"c\"", "ADD"][..],
            ),
            ("a /* b /* c */ ; */ d", &["a", "d"]),
            (
                "'it''s' E'\\'' $$ ; $$ $t$ $$ $t$",
                &["'it''s'", "E'\\''", "$$ ; $$", "$t$ $$ $t$"],
            ),
            (
                "a::int :b :'c' :\"d\" : e",
                &["a", "::", "int", ":b", ":'c'", ":\"d\"", ":", "e"],
            ),
            ("$1 1.5e3 é_$1", &["$1", "1.5e3", "é_$1"]),
            ("'open", &["'open"]),
            ("/* open", &[]),
        ] {
            assert_eq!(texts(text), want, "{text}");
        }
        // No text breaks it, wherever it is cut.
        let odd = "é$é$ü$é$ e'\\é' :\"ü\" /* é /* */ \"é\"\"\" 1é :'é $1é U&'é' -- é";
        for (at, _) in odd.char_indices() {
            let of = |text: &str| {
                tokens(text)
                    .iter()
                    .map(|token| token.text.len())
                    .sum::<usize>()
            };
            assert!(of(&odd[at..]) <= odd.len() && of(&odd[..at]) <= odd.len());
        }
        let kinds: Vec<Kind> = tokens("a \"a\" 'a' :a ;").iter().map(|t| t.kind).collect();
        use Kind::{Literal, Quoted, Symbol, Variable, Word};
        assert_eq!(kinds, [Word, Quoted, Literal, Variable, Symbol]);
    }
}
