//! What sources must be, as documents (`documents.rs`): names, strings and comments say who does what.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::documents::{NARRATORS, root};

/// More comments than this with a narrator are too many.
const COMMENTS_MAX: usize = 20;
/// The only name that is such a word: an account of the operating system.
const ACCOUNT: &str = "nobody";
/// A column of the notebook, whose name stays.
const COLUMN_OWNER: &str = "store/src/observed.rs";
/// Participles that say nothing: a function or type is named by a verb or noun.
const NO_NAMES: [&str; 4] = ["found", "kept", "stands", "told"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Comment,
    String,
    Code,
}

fn sources_in(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let ends = |ends: &[&str]| {
            path.extension()
                .is_some_and(|end| ends.iter().any(|e| end == *e))
        };
        if path.is_dir() && !path.ends_with("node_modules") && !path.ends_with("target") {
            sources_in(&path, files);
        } else if ends(&["rs", "ts"]) {
            files.push(path);
        }
    }
}

/// The index of the first byte after `end`, from `from` on; a backslash takes the next byte along where `escapes`.
fn after(text: &[u8], from: usize, end: &[u8], escapes: bool) -> usize {
    let mut at = from;
    while at < text.len() && !text[at..].starts_with(end) {
        at += if escapes && text[at] == b'\\' { 2 } else { 1 };
    }
    (at + end.len()).min(text.len())
}

/// The end of a string or comment that begins here.
fn end_of(text: &[u8], at: usize, is_rust: bool) -> Option<(Kind, usize)> {
    let rest = &text[at..];
    if rest.starts_with(b"//") {
        return Some((Kind::Comment, after(text, at, b"\n", false)));
    }
    if rest.starts_with(b"/*") {
        return Some((Kind::Comment, after(text, at + 2, b"*/", false)));
    }
    let is_within_word = at > 0 && (text[at - 1].is_ascii_alphanumeric() || text[at - 1] == b'_');
    if is_rust && rest[0] == b'r' && !is_within_word {
        let hashes = rest[1..].iter().take_while(|b| **b == b'#').count();
        if rest.get(1 + hashes) == Some(&b'"') {
            let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
            return Some((Kind::String, after(text, at + 2 + hashes, &end, false)));
        }
    }
    match rest[0] {
        // A character; else it begins a lifetime.
        b'\'' if is_rust => {
            let end = after(text, at + 1, b"'", true);
            let is_char = rest.get(1) == Some(&b'\\') || rest.get(2) == Some(&b'\'');
            is_char.then_some((Kind::Code, end))
        }
        b'"' => Some((Kind::String, after(text, at + 1, b"\"", true))),
        quote @ (b'\'' | b'`') if !is_rust => {
            Some((Kind::String, after(text, at + 1, &[quote], true)))
        }
        _ => None,
    }
}

/// A text in its parts: comments, strings, and the code between them.
fn parts(text: &str, is_rust: bool) -> Vec<(Kind, &str)> {
    let bytes = text.as_bytes();
    let (mut parts, mut code, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        match end_of(bytes, at, is_rust) {
            Some((Kind::Code, end)) => at = end,
            Some((kind, end)) => {
                parts.push((Kind::Code, &text[code..at]));
                parts.push((kind, &text[at..end]));
                (code, at) = (end, end);
            }
            None => at += 1,
        }
    }
    parts.push((Kind::Code, &text[code..]));
    parts
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Names that a text of code gives to functions and types.
fn names(code: &str) -> impl Iterator<Item = &str> {
    let mut before = "";
    words(code)
        .filter(|word| !word.is_empty())
        .filter(move |word| {
            let is_name = [
                "fn",
                "function",
                "struct",
                "enum",
                "type",
                "trait",
                "class",
                "interface",
            ]
            .contains(&before);
            before = word;
            is_name
        })
}

fn is_narrator(word: &str) -> bool {
    NARRATORS.contains(&&*word.to_lowercase())
}

#[test]
fn names_strings_and_comments_have_no_narrator() {
    let mut files = Vec::new();
    for folder in ["crates", "bench", "fuzz/targets", "fuzz/driver", "web/src"] {
        sources_in(&root().join(folder), &mut files);
    }
    assert!(files.len() > 1500, "{} files", files.len());
    let (mut wrong, mut comments) = (Vec::new(), Vec::new());
    let is_list =
        |file: &&PathBuf| file.ends_with("cli/documents.rs") || file.ends_with("cli/sources.rs");
    for file in files.iter().filter(|file| !is_list(file)) {
        let text = fs::read_to_string(file).unwrap();
        for (kind, part) in parts(&text, file.extension().is_some_and(|end| end == "rs")) {
            let of_file = |what: &str| format!("{}: {what}", file.display());
            match kind {
                Kind::Comment => {
                    comments.extend(words(part).filter(|w| is_narrator(w)).map(of_file))
                }
                Kind::String
                    if part.trim_matches('"') == ACCOUNT || file.ends_with(COLUMN_OWNER) => {}
                Kind::String => wrong.extend(words(part).filter(|w| is_narrator(w)).map(of_file)),
                Kind::Code => wrong.extend(
                    names(part)
                        .filter(|name| {
                            name.split('_').any(is_narrator)
                                || NO_NAMES.contains(&&*name.to_lowercase())
                        })
                        .map(of_file),
                ),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(comments.len() <= COMMENTS_MAX, "{comments:#?}");
}

#[test]
fn narrators_are_seen_in_each_kind_of_text() {
    let text = "fn is_told(c: char) { c == '\"' || x('\\'', r#\"so \"nobody\" is\"#, \"a \\\" stands\") } // whoever\n";
    let kinds: Vec<(Kind, &str)> = parts(text, true)
        .into_iter()
        .flat_map(|(kind, part)| {
            words(part)
                .filter(|w| w.split('_').any(is_narrator))
                .map(move |w| (kind, w))
        })
        .collect();
    assert_eq!(
        kinds,
        [
            (Kind::Code, "is_told"),
            (Kind::String, "nobody"),
            (Kind::String, "stands"),
            (Kind::Comment, "whoever")
        ]
    );
    assert_eq!(
        names("pub fn kept<'a>() {} struct Found;").collect::<Vec<_>>(),
        ["kept", "Found"]
    );
    assert_eq!(
        parts("a('told') /* x */", false)[1],
        (Kind::String, "'told'")
    );
}
