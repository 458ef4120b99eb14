//! Scripts need not be UTF-8: pgbench sends what is there. Here a script is text in which each
//! octet that is not part of UTF-8 is one character of the last 128 of Unicode's private use,
//! U+10FF80 (octet 0x80) to U+10FFFF (0xFF), and becomes that octet again where it leaves. A
//! character of this range that is in a script is taken for four such octets, so that every
//! text has one meaning.

use std::borrow::Cow;

/// What is added to an octet that is not part of UTF-8.
const BASE: u32 = 0x10_FF00;

pub fn escape(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len());
    for chunk in octets.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_escape(c) {
                let mut utf8 = [0; 4];
                text.extend(c.encode_utf8(&mut utf8).bytes().map(escaped));
            } else {
                text.push(c);
            }
        }
        text.extend(chunk.invalid().iter().copied().map(escaped));
    }
    text
}

/// What [`escape`] made the text of; borrowed where there was nothing to escape.
pub fn octets(text: &str) -> Cow<'_, [u8]> {
    if !text.chars().any(is_escape) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut octets = Vec::with_capacity(text.len());
    for c in text.chars() {
        if is_escape(c) {
            octets.push(c as u8);
        } else {
            octets.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    Cow::Owned(octets)
}

/// How many octets a piece of text represents. It may begin and end within a character; an escape
/// counts when all of it is there.
pub(crate) fn count(mut text: &[u8]) -> usize {
    let mut count = 0;
    while let Some(first) = text.first() {
        let is_escape = matches!(text, [0xF4, 0x8F, 0xBE | 0xBF, _, ..]);
        let is_cut = !is_escape && *first == 0xF4 && text.len() < 4;
        count += usize::from(!is_cut);
        text = match (is_escape, is_cut) {
            (true, _) => &text[4..],
            (_, true) => &[],
            _ => &text[1..],
        };
    }
    count
}

/// The longest beginning of a text that represents at most so many octets.
pub(crate) fn beginning(text: &str, octets_max: usize) -> &str {
    let mut octets = 0;
    for (at, c) in text.char_indices() {
        octets += if is_escape(c) { 1 } else { c.len_utf8() };
        if octets > octets_max {
            return &text[..at];
        }
    }
    text
}

fn is_escape(c: char) -> bool {
    u32::from(c) >= BASE + 0x80
}

/// For octets from 0x80 on only.
fn escaped(octet: u8) -> char {
    char::from_u32(BASE + u32::from(octet)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_come_back_whatever_they_are() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [
            all.as_slice(),
            b"",
            b"plain",
            "größe 日本 \u{fffd}".as_bytes(),
            "\u{10ff7f}\u{10ff80}\u{10ffff}".as_bytes(),
            b"cut short \xe6\x97",
            b"\xf4\x8f\xbe",
        ] {
            let text = escape(bytes);
            assert_eq!(&*octets(&text), bytes, "{text:?}");
            assert_eq!(count(text.as_bytes()), bytes.len(), "{text:?}");
        }
        assert_eq!(escape("größe".as_bytes()), "größe");
        assert!(matches!(octets("größe"), Cow::Borrowed(_)));
    }

    #[test]
    fn an_escape_is_one_octet_long() {
        let text = escape(b"a\xe4b");
        assert_eq!(beginning(&text, 2), &text[..5]);
        assert_eq!(beginning(&text, 9), text);
        assert_eq!(beginning("aé", 2), "a");
        assert_eq!(count(&text.as_bytes()[..4]), 1);
    }
}
