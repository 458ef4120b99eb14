//! The words of a statement. Not a parser: what they mean is in the lists (`forms.rs`).

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Word,
    /// An identifier in quotation marks.
    Quoted,
    /// A literal: text or dollar-quoted text.
    Text,
    Number,
    Parameter,
    /// An operator or a bracket.
    Sign,
}

/// A token as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub text: String,
}

impl Token {
    pub fn is(&self, text: &str) -> bool {
        self.text.eq_ignore_ascii_case(text)
    }
}

const LONG_SIGNS: [&str; 9] = ["::", "<>", ">=", "<=", "!=", "||", "//", "->", ":="];

/// The tokens of a text; comments are left out.
pub fn tokens(sql: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let (kind, length) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if rest.starts_with("--") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (None, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if first == '\'' {
            (Some(Kind::Text), quoted(rest, '\''))
        } else if first == '"' {
            (Some(Kind::Quoted), quoted(rest, '"'))
        } else if let Some(length) = dollar_quoted(rest) {
            (Some(Kind::Text), length)
        } else if first == '$' {
            let end = rest[1..].find(|c: char| !c.is_ascii_digit());
            (Some(Kind::Parameter), end.map_or(rest.len(), |end| end + 1))
        } else if first.is_ascii_digit() {
            let end = rest.find(|c: char| !word(c) && c != '.');
            (Some(Kind::Number), end.unwrap_or(rest.len()))
        } else if word(first) {
            let end = rest.find(|c: char| !word(c));
            (Some(Kind::Word), end.unwrap_or(rest.len()))
        } else {
            let long = LONG_SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let length = long.map_or(first.len_utf8(), |sign| sign.len());
            (Some(Kind::Sign), length)
        };
        if let Some(kind) = kind {
            let text = rest[..length].to_owned();
            tokens.push(Token { kind, text });
        }
        rest = &rest[length..];
    }
    tokens
}

/// How long the quoted text is that this begins with.
fn quoted(text: &str, mark: char) -> usize {
    let mut marks = text.char_indices().skip(1).filter(|(_, c)| *c == mark);
    while let Some((at, _)) = marks.next() {
        if !text[at + 1..].starts_with(mark) {
            return at + 1;
        }
        marks.next();
    }
    text.len()
}

fn dollar_quoted(text: &str) -> Option<usize> {
    let tag = text.strip_prefix('$')?;
    let end = tag.find('$')?;
    let is_tag = |c: char| c.is_alphanumeric() || c == '_';
    if !tag[..end].chars().all(is_tag) || tag.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mark = &text[..end + 2];
    let close = text[mark.len()..].find(mark)?;
    Some(close + 2 * mark.len())
}

/// The statements of a text, without the semicolons.
pub fn statements(sql: &str) -> Vec<Vec<Token>> {
    let all = tokens(sql);
    let statements = all.split(|token| token.text == ";").map(<[Token]>::to_vec);
    statements.filter(|tokens| !tokens.is_empty()).collect()
}

pub fn joined(tokens: &[Token]) -> String {
    let texts: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    texts.join(" ")
}

#[test]
fn a_statement_is_cut_into_words() {
    let texts = |sql: &str| -> Vec<String> {
        let tokens = tokens(sql).into_iter();
        tokens.map(|token| token.text).collect()
    };
    assert_eq!(
        texts("SELECT a.b::INT, 'it''s; so' -- why\n FROM \"T 1\" WHERE c>=$2 /* x */"),
        [
            "SELECT",
            "a",
            ".",
            "b",
            "::",
            "INT",
            ",",
            "'it''s; so'",
            "FROM",
            "\"T 1\"",
            "WHERE",
            "c",
            ">=",
            "$2"
        ]
    );
    assert_eq!(
        texts("do $a$ x; $$ $a$ 1.5"),
        ["do", "$a$ x; $$ $a$", "1.5"]
    );
    assert_eq!(statements("BEGIN; SELECT ';';").len(), 2);
}
