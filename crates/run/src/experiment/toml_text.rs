//! A text with places: errors that name file, line and column and show the line.

use std::ops::Range;

use pgdyno_spec::{
    Exit, Failure,
    secret::{has_password, is_secret_name},
};

/// The text that is read, and its name for messages.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// File name, or what represents one.
    pub name: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    /// What is wrong at this place.
    pub fn wrong(self, at: Range<usize>, what: &str) -> Failure {
        let (line, column) = self.line_and_column(at.start);
        let text = self.text.lines().nth(line - 1).unwrap_or_default();
        let place = self.place(at.start);
        let before = text.chars().take(column - 1);
        // Tabs stay tabs, so that the caret is below what it points at.
        let indent: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
        let left = text.chars().count().saturating_sub(column - 1).max(1);
        let length = self.text.get(at).map_or(1, |t| t.chars().count());
        let carets = "^".repeat(length.clamp(1, left));
        // Only its place.
        let shown = if has_secret(text) {
            String::new()
        } else {
            format!("\n{text}\n{indent}{carets}")
        };
        Failure::with(Exit::Failed, format!("{place}: {what}{shown}"))
    }

    /// A place as errors have it: `name:line:column`.
    pub fn place(self, at: usize) -> String {
        let (line, column) = self.line_and_column(at);
        format!("{}:{line}:{column}", self.name)
    }

    /// Both from 1, in characters.
    fn line_and_column(self, at: usize) -> (usize, usize) {
        let before = &self.text[..self.text.floor_char_boundary(at)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }
}

/// Whether a line has a password or another secret in it.
fn has_secret(line: &str) -> bool {
    let mut urls = line.match_indices("://");
    let key = line.split_once('=').map_or("", |(key, _)| key);
    urls.any(|(at, _)| has_password(&line[at..]))
        || has_password(&line.replace("://", " "))
        || is_secret_name(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_secret_is_not_shown() {
        for text in [
            "target = 'postgresql://me:s3cret@db/b'",
            "target = 'host=db password=s3cret'",
            "target = ['postgresql://me@db/b', 'postgresql://me:s3cret@db2/b']",
            "target = ['postgresql://me@db/b', 'host=db password = s3cret']",
            "params.api_token = 's3cret' x",
        ] {
            let source = Source {
                name: "a.toml",
                text,
            };
            let e = source.wrong(9..text.len(), "no").to_string();
            assert_eq!(e, "pgdyno: error: a.toml:1:10: no", "{text}");
        }
    }

    #[test]
    fn a_mistake_is_shown_with_its_line_and_column() {
        let source = Source {
            name: "a.toml",
            text: "x = 1\nü = [1, oops]\n",
        };
        let e = source.wrong(15..19, "what is this").to_string();
        assert!(
            e.contains("a.toml:2:9: what is this\nü = [1, oops]\n        ^^^^"),
            "{e}"
        );
        let e = source.wrong(9_999..9_999, "beyond").to_string();
        assert!(e.contains("a.toml:3:1: beyond"), "{e}");
    }
}
