//! An error or notice of the server, kept whole beyond the message that brought it.

use std::fmt;

use crate::backend::ErrorFields;
use crate::cursor;
use crate::redact;

/// An ErrorResponse with all its fields.
///
/// `Display` is libpq's text with the SQLSTATE added; [`ServerError::libpq_text`] is libpq's own.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerError {
    fields: Vec<(u8, String)>,
}

/// A NoticeResponse has the same fields as an error.
pub type Notice = ServerError;

impl ServerError {
    /// Copies the fields out of the message. Bytes that are not UTF-8 are replaced, and secrets
    /// ([`redact::keep_out`]) cut out.
    pub fn new(fields: ErrorFields<'_>) -> ServerError {
        ServerError {
            fields: fields
                .map(|(code, text)| {
                    let text = String::from_utf8_lossy(text).into_owned();
                    (code, redact::without_secrets(text))
                })
                .collect(),
        }
    }

    /// One field by its code in the protocol: S V C M D H P p q W s t c d n F L R.
    pub fn field(&self, code: u8) -> Option<&str> {
        self.fields
            .iter()
            .find(|(c, _)| *c == code)
            .map(|(_, text)| text.as_str())
    }

    /// Every field with its code, in the server's order.
    pub fn fields(&self) -> impl Iterator<Item = (u8, &str)> {
        self.fields
            .iter()
            .map(|(code, text)| (*code, text.as_str()))
    }

    /// ERROR, FATAL, WARNING…: in the server's language where it sends nothing else.
    pub fn severity(&self) -> &str {
        self.field(b'V')
            .or_else(|| self.field(b'S'))
            .unwrap_or("ERROR")
    }

    /// The SQLSTATE, or an empty text if the server sent none.
    pub fn sqlstate(&self) -> &str {
        self.field(b'C').unwrap_or("")
    }

    pub fn message(&self) -> &str {
        self.field(b'M').unwrap_or("")
    }

    pub fn detail(&self) -> Option<&str> {
        self.field(b'D')
    }

    pub fn hint(&self) -> Option<&str> {
        self.field(b'H')
    }

    /// What libpq makes of it at its default verbosity, without a final newline. Given the
    /// statement, the place of the error is shown in it; without, its position is a number.
    pub fn libpq_text(&self, statement: Option<&str>) -> String {
        self.text(statement, false)
    }

    /// The same for a notice: libpq leaves a notice's context out.
    pub fn libpq_notice_text(&self) -> String {
        let mut notice = self.clone();
        notice.fields.retain(|(code, _)| *code != b'W');
        notice.text(None, false)
    }

    /// The same with `excerpt` below the message in place of the statement's line: where the statement
    /// came from, as the caller has it.
    pub fn text_with(&self, excerpt: Option<&str>) -> String {
        let severity = self.field(b'S').unwrap_or_else(|| self.severity());
        let mut text = format!("{severity}:  {}", self.message());
        self.finish(&mut text, excerpt);
        text
    }

    fn text(&self, statement: Option<&str>, with_sqlstate: bool) -> String {
        let severity = self.field(b'S').unwrap_or_else(|| self.severity());
        let mut text = format!("{severity}:  {}", self.message());
        // A position in the statement itself, or in one that a function ran.
        let (position, statement) = match self.field(b'P') {
            Some(position) => (Some(position), statement),
            None => (self.field(b'p'), self.field(b'q')),
        };
        let mut cursor = None;
        match (position, statement) {
            // Only a part of it would be shown, maybe with a part of the secret.
            (Some(position), Some(statement)) if !redact::has_secret(statement) => {
                cursor = position
                    .parse()
                    .ok()
                    .and_then(|at| cursor::show(statement, at));
            }
            (Some(position), _) => text.push_str(&format!(" at character {position}")),
            (None, _) => {}
        }
        if with_sqlstate && !self.sqlstate().is_empty() {
            text.push_str(&format!(" (SQLSTATE {})", self.sqlstate()));
        }
        self.finish(&mut text, cursor.as_deref());
        text
    }

    fn finish(&self, text: &mut String, excerpt: Option<&str>) {
        if let Some(excerpt) = excerpt {
            text.push('\n');
            text.push_str(excerpt);
        }
        for (code, label) in [
            (b'D', "DETAIL"),
            (b'H', "HINT"),
            (b'q', "QUERY"),
            (b'W', "CONTEXT"),
        ] {
            if let Some(value) = self.field(code) {
                text.push_str(&format!("\n{label}:  {value}"));
            }
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(None, true))
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (code, text) in &self.fields {
            map.entry(&char::from(*code), text);
        }
        map.finish()
    }
}

impl std::error::Error for ServerError {}
