//! Text of others (a server's errors, notices and names) in a form that only shows: it moves no
//! cursor, changes no colour, and turns no line around.

use std::borrow::Cow;
use std::fmt::Write;

/// Characters of a line of a message that are shown.
pub const LINE_CHARS_MAX: usize = 2000;
/// Lines of a message that are shown.
pub const LINES_MAX: usize = 100;

/// The text with its control characters in the form `\x1b`, or `\u202e` beyond ASCII. Line ends and
/// tabs stay. In a JSON document it changes nothing but the spelling.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        let number = u32::from(char);
        // Writing to a string does not fail.
        let _ = match number {
            _ if !is_active(char) => shown.write_char(char),
            0..0x7f => write!(shown, "\\x{number:02x}"),
            _ => write!(shown, "\\u{number:04x}"),
        };
    }
    Cow::Owned(shown)
}

/// The text as it can be shown as a message: as [`shown`], and no longer than a screen can bear.
pub fn message(text: &str) -> Cow<'_, str> {
    let is_short = text.len() <= LINE_CHARS_MAX
        || (text.lines().count() <= LINES_MAX && text.lines().all(|line| cut(line).1 == 0));
    if is_short {
        return shown(text);
    }
    let mut lines = text.split('\n');
    let mut short = String::new();
    for line in lines.by_ref().take(LINES_MAX) {
        let (begin, missing) = cut(line);
        if !short.is_empty() {
            short.push('\n');
        }
        short += &shown(begin);
        if missing > 0 {
            let _ = write!(short, "… ({missing} more bytes)");
        }
    }
    let missing = lines.count();
    if missing > 0 {
        let _ = write!(short, "\n… ({missing} more lines)");
    }
    Cow::Owned(short)
}

/// The beginning of a line, and how many bytes are left out.
fn cut(line: &str) -> (&str, usize) {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((at, _)) => (&line[..at], line.len() - at),
        None => (line, 0),
    }
}

/// Whether a terminal or an editor does something else with it than to show it: control characters
/// (C0, DEL, C1), line and paragraph separators, and what changes the direction of writing (Unicode
/// Standard Annex 9, and CVE-2021-42574).
fn is_active(char: char) -> bool {
    match char {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => char.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        let cases = [
            ("plain, ünïcödé 日本\n\tnext", "plain, ünïcödé 日本\n\tnext"),
            ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
            ("over\rwritten\x08\x7f", "over\\x0dwritten\\x08\\u007f"),
            ("\u{9b}31m", "\\u009b31m"),
            ("a\u{202e}b\u{2066}c\u{2028}", "a\\u202eb\\u2066c\\u2028"),
        ];
        for (text, want) in cases {
            assert_eq!(shown(text), want);
        }
        assert!(matches!(shown("as it is"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_json_document_means_the_same() {
        let text = "\x1b\x7f\u{9b}\u{202e}\\\"";
        let json = serde_json::to_string(text).unwrap();
        let shown = shown(&json);
        assert!(!shown.contains(is_active));
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }

    #[test]
    fn a_long_message_is_cut_at_its_lines() {
        let long = format!("é{}\nshort", "x".repeat(5000));
        let want = format!("é{}… (3001 more bytes)\nshort", "x".repeat(1999));
        assert_eq!(message(&long), want);
        let many = message(&"line\n".repeat(5000)).into_owned();
        assert_eq!(many.lines().count(), LINES_MAX + 1);
        assert!(many.ends_with("\n… (4901 more lines)"), "{many}");
        assert_eq!(message("a\nb"), "a\nb");
    }
}
