//! The tokens of one SQL statement, without comments.

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

fn starts_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn prefix(text: &str, is_in: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_in(c)).unwrap_or(text.len())
}

/// The length of what is quoted by `quote`, which begins at `from`.
fn quoted(text: &str, from: usize, quote: char, has_escapes: bool) -> usize {
    let mut chars = text[from + 1..].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if has_escapes && c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return from + 1 + at + 1;
        }
    }
    text.len()
}

/// The length of a comment, with those in it.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a dollar-quoted string, or of a parameter.
fn dollar(text: &str) -> usize {
    let tag = 1 + prefix(&text[1..], |c| c.is_alphanumeric() || c == '_');
    let is_number = text[1..].starts_with(|c: char| c.is_ascii_digit());
    if is_number || !text[tag..].starts_with('$') {
        return tag.max(1);
    }
    let delimiter = &text[..=tag];
    let body = &text[delimiter.len()..];
    body.find(delimiter)
        .map_or(text.len(), |end| end + 2 * delimiter.len())
}

/// The length of a variable of psql's; 0: a colon alone.
fn variable(text: &str) -> usize {
    let rest = &text[1..];
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let name = &rest[usize::from(quote.is_some())..];
    let length = prefix(name, |c| c.is_alphanumeric() || c == '_');
    match quote {
        _ if length == 0 => 0,
        Some(quote) if name[length..].starts_with(quote) => length + 3,
        Some(_) => 0,
        None => length + 1,
    }
}

/// All tokens of a statement.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let blank = if first.is_whitespace() {
            prefix(rest, char::is_whitespace)
        } else if rest.starts_with("--") {
            prefix(rest, |c| c != '\n')
        } else if rest.starts_with("/*") {
            comment(rest)
        } else {
            0
        };
        if blank > 0 {
            at += blank;
            continue;
        }
        let lower = rest.get(..2).map(str::to_ascii_lowercase);
        let (kind, length) = match (first, lower.as_deref()) {
            (_, Some("e'")) => (Kind::Literal, quoted(rest, 1, '\'', true)),
            (_, Some("b'" | "x'" | "n'")) => (Kind::Literal, quoted(rest, 1, '\'', false)),
            ('\'', _) => (Kind::Literal, quoted(rest, 0, '\'', false)),
            ('"', _) => (Kind::Quoted, quoted(rest, 0, '"', false)),
            ('$', _) => (Kind::Literal, dollar(rest)),
            (':', Some("::")) => (Kind::Symbol, 2),
            (':', _) => match variable(rest) {
                0 => (Kind::Symbol, 1),
                length => (Kind::Variable, length),
            },
            (c, _) if starts_word(c) => (Kind::Word, prefix(rest, continues_word)),
            (c, _) if c.is_ascii_digit() => (
                Kind::Literal,
                prefix(rest, |c| c.is_ascii_alphanumeric() || c == '.'),
            ),
            _ => (Kind::Symbol, first.len_utf8()),
        };
        all.push(Token {
            kind,
            text: &rest[..length],
            at,
        });
        at += length;
    }
    all
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
