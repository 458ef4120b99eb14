//! TOML with places: errors that name file, line and column and show the line.

use std::ops::Range;
use std::time::Duration;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use pgdyno_model::spec::secret::{has_password, is_secret_name};
use pgdyno_model::{Exit, Failure};

/// A value and where it stands.
pub type Placed<'i> = Spanned<DeValue<'i>>;

/// The text that is read, and its name for messages.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// File name, or what stands for one.
    pub name: &'a str,
    /// The whole text.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// Parses it.
    ///
    /// # Errors
    /// It is not TOML.
    pub fn parse(self) -> Result<DeTable<'a>, Failure> {
        match DeTable::parse(self.text) {
            Ok(table) => Ok(table.into_inner()),
            Err(e) => Err(self.wrong(e.span().unwrap_or(0..0), e.message())),
        }
    }

    /// What is wrong at this place.
    pub fn wrong(self, at: Range<usize>, what: &str) -> Failure {
        let (line, column) = self.place(at.start);
        let text = self.text.lines().nth(line - 1).unwrap_or_default();
        let name = self.name;
        let before = text.chars().take(column - 1);
        // Tabs stay tabs, so that the caret stands below what it points at.
        let indent: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
        let left = text.chars().count().saturating_sub(column - 1).max(1);
        let length = self.text.get(at).map_or(1, |t| t.chars().count());
        let carets = "^".repeat(length.clamp(1, left));
        let shown = match has_secret(text) {
            // The place is told; what stands there is not.
            true => String::new(),
            false => format!("\n{text}\n{indent}{carets}"),
        };
        Failure::with(
            Exit::Failed,
            format!("{name}:{line}:{column}: {what}{shown}"),
        )
    }

    /// Line and column, in characters, both from 1.
    fn place(self, at: usize) -> (usize, usize) {
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

/// What a value is, in words of TOML's users.
pub fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The whole number that a value is.
pub fn integer(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A value that is no table as JSON has it; `None` of what JSON has no form for.
pub fn json(value: &DeValue<'_>) -> Option<Value> {
    match value {
        DeValue::String(text) => Some(Value::from(text.as_ref())),
        DeValue::Integer(_) => integer(value).map(Value::from),
        DeValue::Float(_) => serde_json::Number::from_f64(number(value)?).map(Value::Number),
        DeValue::Boolean(flag) => Some(Value::from(*flag)),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

/// The time that a value is: a number of seconds, or a text with a unit.
///
/// # Errors
/// It is neither; in a clause.
pub fn time(
    value: &DeValue<'_>,
    parse: fn(&str) -> Result<Duration, String>,
) -> Result<Duration, String> {
    let text = match (value.as_str(), number(value)) {
        (Some(text), _) => text.to_owned(),
        (None, Some(seconds)) => seconds.to_string(),
        (None, None) => {
            let wanted = "a time such as 60, \"60s\" or \"500ms\"";
            return Err(format!("{wanted} is wanted, not {}", kind(value)));
        }
    };
    parse(&text).map_err(|why| format!("\"{text}\": {why}"))
}

/// The number that a value is, with or without a fraction.
pub fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        other => integer(other).map(|whole| whole as f64),
    }
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
        let e = source.parse().unwrap_err().to_string();
        assert!(e.contains("a.toml:2:"), "{e}");
        let e = source.wrong(9_999..9_999, "beyond").to_string();
        assert!(e.contains("a.toml:3:1: beyond"), "{e}");
    }
}
