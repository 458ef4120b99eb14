//! The words of an expression: from one logical line of a meta command to tokens.
//!
//! A logical line ends at a newline that no backslash precedes, or at the end of the script.

use crate::Language;
use crate::names::continues_name;
use crate::number::{parse_bigint, parse_double};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'a> {
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Pipe,
    Ampersand,
    Hash,
    Tilde,
    Open,
    Close,
    Comma,
    And,
    Or,
    Not,
    Is,
    IsNull,
    NotNull,
    Case,
    When,
    Then,
    Else,
    End,
    Null,
    Boolean(bool),
    Integer(i64),
    /// 2^63, which is no integer by itself; a minus makes it one.
    MaxIntegerPlusOne,
    Double(f64),
    Variable(&'a str),
    Function(&'a str),
    /// `||`; only in pgdyno's language.
    Concat,
    /// What is between quotes, each inner one still twice; only in pgdyno's language.
    Text(&'a str),
    /// The end of the logical line.
    EndOfLine,
}

/// A word with the offset just behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Word<'a> {
    pub token: Token<'a>,
    pub end: usize,
}

/// A word that is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LexicalError<'a> {
    pub message: &'static str,
    pub text: &'a str,
    pub end: usize,
}

/// The words of a logical line.
pub(crate) struct Line<'a> {
    /// The last of them is [`Token::EndOfLine`].
    pub words: Vec<Word<'a>>,
    /// The *last* error in the line: pgbench reads a line to its end before it reports anything
    /// wrong in it, and by that finds further errors, each of which takes the former's place.
    pub error: Option<LexicalError<'a>>,
    /// The offset behind the line, newline included.
    pub end: usize,
}

/// The length of a line continuation (backslash, perhaps CR, newline) at the start of `text`.
pub(crate) fn continuation(text: &[u8]) -> Option<usize> {
    match text {
        [b'\\', b'\n', ..] => Some(2),
        [b'\\', b'\r', b'\n', ..] => Some(3),
        _ => None,
    }
}

/// Space between words; a newline is none.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

fn count(text: &[u8], test: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|&&byte| test(byte)).count()
}

/// Splits the logical line that begins at `start`.
pub(crate) fn split(text: &str, start: usize, language: Language) -> Line<'_> {
    let bytes = text.as_bytes();
    let mut line = Line {
        words: Vec::new(),
        error: None,
        end: start,
    };
    let mut at = start;
    loop {
        let rest = &bytes[at..];
        let Some(&first) = rest.first() else {
            break;
        };
        if first == b'\n' {
            at += 1;
            break;
        }
        if is_blank(first) {
            at += 1;
            continue;
        }
        if let Some(length) = continuation(rest) {
            at += length;
            continue;
        }
        let (length, token) = if language.is_pgdyno() {
            own_word(text, at).unwrap_or_else(|| word(text, at))
        } else {
            word(text, at)
        };
        at += length;
        match token {
            Ok(token) => line.words.push(Word { token, end: at }),
            Err(message) => {
                line.error = Some(LexicalError {
                    message,
                    text: &text[at - length..at],
                    end: at,
                });
            }
        }
    }
    line.words.push(Word {
        token: Token::EndOfLine,
        end: at,
    });
    line.end = at;
    line
}

/// The word at `at` if it is one of those that only pgdyno's language has.
fn own_word(text: &str, at: usize) -> Option<(usize, Result<Token<'_>, &'static str>)> {
    let rest = &text.as_bytes()[at..];
    match rest {
        [b'|', b'|', ..] => return Some((2, Ok(Token::Concat))),
        [b'\'', ..] => {}
        _ => return None,
    }
    let mut length = 1;
    loop {
        match &rest[length..] {
            [] | [b'\n', ..] => return Some((length, Err("unterminated text"))),
            [b'\'', b'\'', ..] => length += 2,
            [b'\'', ..] => break,
            _ => length += 1,
        }
    }
    let inside = &text[at + 1..at + length];
    Some((length + 1, Ok(Token::Text(inside))))
}

/// The word at `at`: its length and what it is, or what is wrong with it.
fn word(text: &str, at: usize) -> (usize, Result<Token<'_>, &'static str>) {
    use Token::*;
    let rest = &text.as_bytes()[at..];
    let (length, token) = match rest {
        [b'<', b'>', ..] | [b'!', b'=', ..] => (2, NotEqual),
        [b'<', b'=', ..] => (2, LessEqual),
        [b'>', b'=', ..] => (2, GreaterEqual),
        [b'<', b'<', ..] => (2, ShiftLeft),
        [b'>', b'>', ..] => (2, ShiftRight),
        [b'<', ..] => (1, Less),
        [b'>', ..] => (1, Greater),
        [b'=', ..] => (1, Equal),
        [b'+', ..] => (1, Plus),
        [b'-', ..] => (1, Minus),
        [b'*', ..] => (1, Star),
        [b'/', ..] => (1, Slash),
        [b'%', ..] => (1, Percent),
        [b'|', ..] => (1, Pipe),
        [b'&', ..] => (1, Ampersand),
        [b'#', ..] => (1, Hash),
        [b'~', ..] => (1, Tilde),
        [b'(', ..] => (1, Open),
        [b')', ..] => (1, Close),
        [b',', ..] => (1, Comma),
        [b':', next, ..] if continues_name(*next) => {
            let length = 1 + count(&rest[1..], continues_name);
            (length, Variable(&text[at + 1..at + length]))
        }
        [b'.', b'0'..=b'9', ..] | [b'0'..=b'9', ..] => return number(rest),
        [first, ..] if continues_name(*first) => {
            let length = count(rest, continues_name);
            (length, keyword(&text[at..at + length]))
        }
        _ => return (1, Err("unexpected character")),
    };
    (length, Ok(token))
}

fn number(rest: &[u8]) -> (usize, Result<Token<'static>, &'static str>) {
    let digit = |byte: u8| byte.is_ascii_digit();
    let whole = count(rest, digit);
    let mut length = whole;
    if rest.get(length) == Some(&b'.') {
        length += 1 + count(&rest[length + 1..], digit);
    }
    if matches!(rest.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(length + 1), Some(b'+' | b'-')));
        let exponent = count(&rest[length + 1 + sign..], digit);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    let text = &rest[..length];
    let token = if length > whole {
        parse_double(text)
            .map(Token::Double)
            .ok_or("double constant overflow")
    } else if text == b"9223372036854775808" {
        Ok(Token::MaxIntegerPlusOne)
    } else {
        parse_bigint(text)
            .map(Token::Integer)
            .map_err(|_| "bigint constant overflow")
    };
    (length, token)
}

fn keyword(word: &str) -> Token<'_> {
    const KEYWORDS: [(&str, Token<'static>); 14] = [
        ("and", Token::And),
        ("or", Token::Or),
        ("not", Token::Not),
        ("is", Token::Is),
        ("isnull", Token::IsNull),
        ("notnull", Token::NotNull),
        ("case", Token::Case),
        ("when", Token::When),
        ("then", Token::Then),
        ("else", Token::Else),
        ("end", Token::End),
        ("null", Token::Null),
        ("true", Token::Boolean(true)),
        ("false", Token::Boolean(false)),
    ];
    KEYWORDS
        .iter()
        .find(|(keyword, _)| word.eq_ignore_ascii_case(keyword))
        .map_or(Token::Function(word), |&(_, token)| token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let line = split(text, 0, Language::Pgbench);
        assert_eq!(line.error, None, "{text}");
        line.words.iter().map(|word| word.token).collect()
    }

    #[test]
    fn the_longest_word_wins() {
        use Token::*;
        assert_eq!(
            tokens("1<<2<=3<>4!=5"),
            [
                Integer(1),
                ShiftLeft,
                Integer(2),
                LessEqual,
                Integer(3),
                NotEqual,
                Integer(4),
                NotEqual,
                Integer(5),
                EndOfLine
            ]
        );
        assert_eq!(
            tokens("ISNULL isnulls :1a :é_"),
            [
                IsNull,
                Function("isnulls"),
                Variable("1a"),
                Variable("é_"),
                EndOfLine
            ]
        );
        assert_eq!(
            tokens("1.5e+3 1e .5 5. 0x1"),
            [
                Double(1500.0),
                Integer(1),
                Function("e"),
                Double(0.5),
                Double(5.0),
                Integer(0),
                Function("x1"),
                EndOfLine
            ]
        );
    }

    #[test]
    fn a_line_ends_at_a_newline_without_a_backslash() {
        let line = split("1 \\\r\n + \\\n 2\n3", 0, Language::Pgbench);
        assert_eq!(line.words.len(), 4);
        assert_eq!(line.end, 13);
        assert_eq!(line.words[3].end, 13);
    }

    #[test]
    fn the_last_error_of_a_line_is_the_one_reported() {
        let line = split("@ 99999999999999999999 $ + 1\n", 0, Language::Pgbench);
        let error = line.error.unwrap();
        assert_eq!((error.message, error.text), ("unexpected character", "$"));
        let error = split("@ 99999999999999999999", 0, Language::Pgbench)
            .error
            .unwrap();
        assert_eq!(error.message, "bigint constant overflow");
        let error = split("1e400", 0, Language::Pgbench).error.unwrap();
        assert_eq!(
            (error.message, error.text),
            ("double constant overflow", "1e400")
        );
    }

    #[test]
    fn texts_are_words_of_pgdynos_language_alone() {
        let line = split("'it''s :x' || 'b'|'", 0, Language::Pgdyno);
        let tokens: Vec<_> = line.words.iter().map(|word| word.token).collect();
        use Token::*;
        assert_eq!(
            tokens,
            [Text("it''s :x"), Concat, Text("b"), Pipe, EndOfLine]
        );
        let error = line.error.unwrap();
        assert_eq!((error.message, error.text), ("unterminated text", "'"));
        let line = split("'a' || 1", 0, Language::Pgbench);
        assert_eq!(line.error.unwrap().message, "unexpected character");
        // A text does not go on in the next line, not even behind a backslash.
        let line = split("'a\\\nb'", 0, Language::Pgdyno);
        assert_eq!(line.error.unwrap().text, "'a\\");
        assert_eq!(line.end, 4);
    }
}
