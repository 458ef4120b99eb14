//! A statement's text without its values. What is left is the same for all statements that differ in
//! values alone, so that it is recorded once; with the values it gives the very bytes again.
//!
//! Not a parser: it knows strings, numbers, comments and quoted names, and nothing of grammar.

use crate::bytes::{Cut, put_bytes};
use crate::secret;

/// Where a value was, and where a comment was. In a statement they do not occur; where they do, they
/// are values themselves.
pub const VALUE: u8 = 0;
pub const COMMENT: u8 = 1;

/// A statement's text without its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub(crate) shape: Vec<u8>,
    /// The same for texts that [`readable`] shows alike.
    pub fingerprint: u64,
}

impl Text {
    pub fn new(shape: Vec<u8>) -> Self {
        let fingerprint = fingerprint(&shape);
        Self { shape, fingerprint }
    }

    /// What all statements of this text have in common, with [`VALUE`] and [`COMMENT`] in the places of the rest.
    pub fn shape(&self) -> &[u8] {
        &self.shape
    }

    /// For people: values as `?`, without comments, in one line.
    pub fn readable(&self) -> String {
        readable(&self.shape)
    }

    /// Its first word in capitals: `SELECT`.
    pub fn command(&self) -> String {
        command(&self.shape)
    }
}

/// What [`split`] sees beside the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// It had a password. All values are `'***'` then.
    pub secret: bool,
    /// The highest `$n`.
    pub parameters: u16,
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Bytes at which a value, a comment or a quoted name may begin.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        stops[byte] = b.is_ascii_digit()
            || b == b'\''
            || b == b'"'
            || b == b'$'
            || b == b'-'
            || b == b'/'
            || b == VALUE
            || b == COMMENT;
        byte += 1;
    }
    stops
};

/// Splits a statement into its shape and its values, which are appended to `shape` and `literals`.
pub fn split(text: &[u8], shape: &mut Vec<u8>, literals: &mut Vec<u8>) -> Split {
    let mut parts = Split::default();
    let suspect = secret::is_suspect(text);
    let mut at = 0;
    // What is not in the shape yet begins here.
    let mut copied = 0;
    while at < text.len() {
        let byte = text[at];
        if !STOPS[usize::from(byte)] {
            at += 1;
            continue;
        }
        let before = at.checked_sub(1).map(|before| text[before]);
        let in_name = before.is_some_and(is_name);
        let (end, mark) = match byte {
            b'0'..=b'9' if in_name => {
                at += 1;
                continue;
            }
            b'0'..=b'9' => (number_end(text, at), VALUE),
            b'\'' => (string_end(text, at, has_escapes(text, at)), VALUE),
            b'"' => {
                let end = quoted_end(text, at, b'"');
                if memchr::memchr2(VALUE, COMMENT, &text[at..end]).is_none() {
                    at = end;
                    continue;
                }
                (end, VALUE)
            }
            b'$' if !in_name => match dollar_end(text, at) {
                Some(end) => (end, VALUE),
                None => {
                    let number = parameter(&text[at + 1..]);
                    parts.parameters = parts.parameters.max(number);
                    at += 1;
                    while text.get(at).is_some_and(u8::is_ascii_digit) {
                        at += 1;
                    }
                    continue;
                }
            },
            b'-' if text.get(at + 1) == Some(&b'-') => (line_end(text, at), COMMENT),
            b'/' if text.get(at + 1) == Some(&b'*') => (comment_end(text, at), COMMENT),
            VALUE | COMMENT => (at + 1, VALUE),
            _ => {
                at += 1;
                continue;
            }
        };
        let at_sign = byte.is_ascii_digit() && is_sign(text, at);
        at -= usize::from(at_sign);
        shape.extend_from_slice(&text[copied..at]);
        let value = &text[at..end];
        parts.secret |= suspect && (secret::is_announced(shape) || secret::is_within(value));
        shape.push(mark);
        put_bytes(literals, value);
        at = end;
        copied = end;
    }
    shape.extend_from_slice(&text[copied..]);
    if parts.secret {
        mask(shape, literals);
    }
    parts
}

/// Replaces every value by one that says nothing. A bare word behind `password`, as psql's variables
/// leave it, is no value and stays: it is a name in SQL.
fn mask(shape: &[u8], literals: &mut Vec<u8>) {
    literals.clear();
    for mark in shape.iter().filter(|byte| **byte <= COMMENT) {
        let value: &[u8] = if *mark == VALUE { b"'***'" } else { b"/* */" };
        put_bytes(literals, value);
    }
}

/// Puts the values back.
pub fn fill(shape: &[u8], literals: &[u8], out: &mut Vec<u8>) {
    fill_with(shape, literals, out, |_, _| None);
}

/// Puts the values back, or others in their places, by their numbers.
pub fn fill_with(
    shape: &[u8],
    literals: &[u8],
    out: &mut Vec<u8>,
    mut other: impl FnMut(usize, &[u8]) -> Option<Vec<u8>>,
) {
    let mut literals = Cut(literals);
    let mut rest = shape;
    let mut number = 0;
    while let Some(at) = memchr::memchr2(VALUE, COMMENT, rest) {
        out.extend_from_slice(&rest[..at]);
        let literal = literals.bytes().unwrap_or_default();
        let other = other(number, literal);
        out.extend_from_slice(other.as_deref().unwrap_or(literal));
        rest = &rest[at + 1..];
        number += 1;
    }
    out.extend_from_slice(rest);
}

/// Whether a number has a sign of its own: `= -1`, `(-1`, not `a - 1` and `a -1`.
fn is_sign(text: &[u8], number: usize) -> bool {
    let Some((b'-', before)) = text[..number].split_last() else {
        return false;
    };
    let before = before.trim_ascii_end();
    before
        .last()
        .is_some_and(|byte| b"=(,+*/<>%[".contains(byte))
}

fn number_end(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(&byte) = text.get(at) {
        let is_sign =
            matches!(byte, b'+' | b'-') && matches!(text[at - 1], b'e' | b'E') && at > from;
        let is_part = byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_';
        let is_exponent = is_sign && text.get(at + 1).is_some_and(u8::is_ascii_digit);
        if !(is_part || is_exponent) {
            break;
        }
        at += 1;
    }
    at
}

/// Whether a string's backslashes mean something: `E'…'`.
fn has_escapes(text: &[u8], quote: usize) -> bool {
    let is_letter = quote > 0 && matches!(text[quote - 1], b'e' | b'E');
    is_letter && (quote < 2 || !is_name(text[quote - 2]))
}

fn string_end(text: &[u8], from: usize, escapes: bool) -> usize {
    if !escapes {
        return quoted_end(text, from, b'\'');
    }
    let mut at = from + 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'\'' if text.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Behind the quote that ends what begins with one; a doubled one does not end it.
fn quoted_end(text: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from + 1;
    while let Some(next) = text.get(at..).and_then(|rest| memchr::memchr(quote, rest)) {
        at += next + 1;
        if text.get(at) != Some(&quote) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// Behind `$tag$ … $tag$`; `None` where none begins.
fn dollar_end(text: &[u8], from: usize) -> Option<usize> {
    let rest = &text[from + 1..];
    let length = rest.iter().position(|byte| *byte == b'$')?;
    let tag = &rest[..length];
    let is_tag = tag.iter().all(|byte| is_name(*byte) && *byte != b'$');
    if !is_tag || tag.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let mark = &text[from..from + length + 2];
    let begin = from + mark.len();
    let end = memchr::memmem::find(&text[begin..], mark).map(|at| begin + at + mark.len());
    Some(end.unwrap_or(text.len()))
}

fn line_end(text: &[u8], from: usize) -> usize {
    let end = memchr::memchr(b'\n', &text[from..]);
    end.map_or(text.len(), |at| from + at)
}

/// Comments nest.
fn comment_end(text: &[u8], from: usize) -> usize {
    let (mut at, mut depth) = (from + 2, 1);
    while let Some(next) = text
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'*', b'/', rest))
    {
        at += next;
        match text.get(at..at + 2) {
            Some(b"*/") => {
                (at, depth) = (at + 2, depth - 1);
                if depth == 0 {
                    return at;
                }
            }
            Some(b"/*") => (at, depth) = (at + 2, depth + 1),
            _ => at += 1,
        }
    }
    text.len()
}

fn parameter(rest: &[u8]) -> u16 {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).take(5);
    let number = digits.fold(0u32, |number, digit| number * 10 + u32::from(digit - b'0'));
    u16::try_from(number).unwrap_or(0)
}

/// A shape for people: values as `?`, lists of them as one, without comments, in one line.
pub fn readable(shape: &[u8]) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(shape.len());
    for &byte in shape {
        match byte {
            COMMENT => {}
            VALUE => {
                // `?, ?` and `?,?`.
                let list = out
                    .trim_ascii_end()
                    .strip_suffix(b",")
                    .map(<[u8]>::trim_ascii_end);
                match list.filter(|list| list.ends_with(b"?")).map(<[u8]>::len) {
                    Some(length) => out.truncate(length),
                    None => out.push(b'?'),
                }
            }
            b' ' | b'\t' | b'\n' | b'\r' => {
                if out.last().is_some_and(|last| *last != b' ') {
                    out.push(b' ');
                }
            }
            b')' => {
                out.push(b')');
                // Rows of values: `(?), (?)`.
                if let Some(rest) = out.strip_suffix(b"(?)")
                    && let Some(rest) = rest.trim_ascii_end().strip_suffix(b",")
                    && rest.trim_ascii_end().ends_with(b"(?)")
                {
                    let length = rest.trim_ascii_end().len();
                    out.truncate(length);
                }
            }
            byte => out.push(byte),
        }
    }
    let text = String::from_utf8_lossy(out.trim_ascii());
    text.trim_end_matches([';', ' ']).to_owned()
}

/// The first word of a shape in capitals; empty where there is none.
pub fn command(shape: &[u8]) -> String {
    let begin = shape
        .iter()
        .position(|byte| byte.is_ascii_alphabetic() || *byte == VALUE);
    let rest = &shape[begin.unwrap_or(shape.len())..];
    let word = rest.iter().take_while(|byte| byte.is_ascii_alphabetic());
    word.map(|byte| char::from(byte.to_ascii_uppercase()))
        .collect()
}

/// FNV-1a of the readable text in lower case.
fn fingerprint(shape: &[u8]) -> u64 {
    let text = readable(shape);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_stats::SplitMix64;

    use super::*;

    fn split_of(text: &str) -> (String, Vec<String>, Split) {
        let (mut shape, mut literals) = (Vec::new(), Vec::new());
        let parts = split(text.as_bytes(), &mut shape, &mut literals);
        let mut cut = Cut(&literals);
        let values = std::iter::from_fn(|| cut.text()).collect();
        (readable(&shape), values, parts)
    }

    #[test]
    fn values_leave_and_the_rest_is_the_same_for_all() {
        for (text, shape, values) in [
            ("SELECT 1", "SELECT ?", &["1"] as &[&str]),
            (
                "select a1, t2.x from t where y=-1.5e-3 and z = 'it''s'",
                "select a1, t2.x from t where y=? and z = ?",
                &["-1.5e-3", "'it''s'"],
            ),
            ("SELECT E'a\\'b', 'c\\'", "SELECT E?", &["'a\\'b'", "'c\\'"]),
            ("SELECT $1, $2::int + 3", "SELECT $1, $2::int + ?", &["3"]),
            (
                "DO $x$ begin 'a' end $x$",
                "DO ?",
                &["$x$ begin 'a' end $x$"],
            ),
            (
                "SELECT \"a 1\" /* x /* y */ 1 */ -- 2\n  , 3",
                "SELECT \"a 1\" , ?",
                &["/* x /* y */ 1 */", "-- 2", "3"],
            ),
            (
                "INSERT INTO t VALUES (1, 'a'), (2, 'b') ;",
                "INSERT INTO t VALUES (?)",
                &["1", "'a'", "2", "'b'"],
            ),
            ("SELECT 'open", "SELECT ?", &["'open"]),
        ] {
            let (shape_found, values_found, _) = split_of(text);
            assert_eq!(
                (&*shape_found, values_found),
                (shape, values.iter().map(|v| (*v).to_owned()).collect()),
                "{text}"
            );
        }
    }

    #[test]
    fn the_highest_parameter_is_seen() {
        assert_eq!(split_of("SELECT $2, $10, a$11, '$12'").2.parameters, 10);
    }

    #[test]
    fn the_same_statement_with_other_values_has_the_same_fingerprint() {
        let of = |text: &str| {
            let (mut shape, mut literals) = (Vec::new(), Vec::new());
            split(text.as_bytes(), &mut shape, &mut literals);
            Text::new(shape).fingerprint
        };
        assert_eq!(of("select 1"), of("SELECT   22 /* a */"));
        assert_eq!(of("a IN (1,2,3)"), of("a in (4, 5)"));
        assert_ne!(of("select a"), of("select b"));
    }

    #[test]
    fn passwords_never_get_into_shape_or_values() {
        for text in [
            "ALTER ROLE a PASSWORD 'hunter2'",
            "create role a login encrypted password $$hunter2$$",
            "CREATE USER MAPPING FOR a SERVER s OPTIONS (user 'u', password 'hunter2')",
            "CREATE SUBSCRIPTION s CONNECTION 'host=h password=hunter2' PUBLICATION p",
            "SELECT dblink_connect('postgresql://u:hunter2@h/d')",
            "DO $$ begin execute 'alter role a password ''hunter2'''; end $$",
            "ALTER ROLE a PASSWORD E'hunter2' -- password 'hunter2'",
        ] {
            let (mut shape, mut literals) = (Vec::new(), Vec::new());
            assert!(
                split(text.as_bytes(), &mut shape, &mut literals).secret,
                "{text}"
            );
            let mut all = shape.clone();
            fill(&shape, &literals, &mut all);
            all.extend(&literals);
            assert!(!String::from_utf8_lossy(&all).contains("hunter2"), "{text}");
        }
        assert!(
            !split_of("UPDATE users SET password = $1 WHERE name = 'a'")
                .2
                .secret
        );
    }

    #[test]
    fn any_bytes_are_the_same_after_splitting_and_filling() {
        let pieces: [&[u8]; 22] = [
            b"'",
            b"''",
            b"\\",
            b"\"",
            b"$",
            b"$$",
            b"$a$",
            b"$1",
            b"--",
            b"\n",
            b"/*",
            b"*/",
            b"E",
            b"e",
            b"1",
            b"1.5",
            b"+",
            b"a_",
            b" ",
            b"\0",
            b"\x01",
            b"\xc3\xa4",
        ];
        let mut random = SplitMix64(7);
        for _ in 0..20_000 {
            let length = random.next() % 12;
            let text: Vec<u8> = (0..length)
                .flat_map(|_| pieces[(random.next() % pieces.len() as u64) as usize].to_vec())
                .collect();
            let (mut shape, mut literals, mut again) = (Vec::new(), Vec::new(), Vec::new());
            split(&text, &mut shape, &mut literals);
            fill(&shape, &literals, &mut again);
            assert_eq!(again, text);
            readable(&shape);
        }
    }

    #[test]
    fn the_command_is_the_first_word() {
        assert_eq!(command(b"  select 1"), "SELECT");
        assert_eq!(command(b"\x01 (with a as"), "WITH");
        assert_eq!(command(b""), "");
    }
}
