//! What must hold of the data whatever transactions do (`[[check]]`): a query with what it must return,
//! asked, and judged.
//!
//! Not for: when a trial asks (`run/checks.rs`, `observe/checks.rs`).

use std::time::{Duration, Instant};

use pgdyno_session::{Error, Session};

use super::manifest::Moment;

/// Begins the transaction of a look, in which the server refuses writes; PostgreSQL, CockroachDB and YugabyteDB
/// all know it.
const READ_ONLY: &str = "BEGIN READ ONLY";

/// So much of what was found is shown.
const SHOWN_CHARS: usize = 200;

/// A check with its parameters filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeCheck {
    pub name: String,
    /// What holds, in one sentence.
    pub help: String,
    pub query: String,
    pub wants: Wants,
    pub at: Vec<Moment>,
    /// The time between two looks during the trial.
    pub every: Duration,
}

/// What a check's query must return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wants {
    /// No row: each row is something that is wrong.
    NoRow,
    /// A first row that begins with this value.
    Value(String),
    /// A first row that begins with the value it began with before the trial.
    Unchanged,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub held: bool,
    /// The first value, or how many rows there were with the first of them.
    pub found: String,
    /// How long the statement took.
    pub took: Duration,
}

impl MadeCheck {
    /// Asks in a transaction that cannot write, and compares with what must be; `before` is what [`Wants::Unchanged`] compares with, and
    /// without it anything holds.
    ///
    /// # Errors
    /// The server refuses the statement, or does not answer in the session's time.
    pub fn look(&self, session: &mut Session, before: Option<&str>) -> Result<Look, Error> {
        session.execute(READ_ONLY)?;
        let began = Instant::now();
        // By the extended protocol, which takes one statement alone.
        let answer = session.query_with(&self.query, &[]);
        let took = began.elapsed();
        let ended = session.execute("ROLLBACK");
        let rows = answer?.rows;
        ended?;
        let (held, found) = self.judge(&rows, before);
        Ok(Look { held, found, took })
    }

    /// Whether rows of its query are what must be, and what they are in a few words.
    pub fn judge(&self, rows: &[Vec<Option<String>>], before: Option<&str>) -> (bool, String) {
        let first = rows.first().map(|row| shown(row));
        let value = rows.first().and_then(|row| row.first().cloned()).flatten();
        let value = value.unwrap_or_else(|| "NULL".to_owned());
        let (held, found) = match &self.wants {
            Wants::NoRow => match first {
                None => (true, "no row".to_owned()),
                Some(first) if rows.len() == 1 => (false, format!("1 row: {first}")),
                Some(first) => (false, format!("{} rows, the first: {first}", rows.len())),
            },
            _ if rows.is_empty() => (false, "no row".to_owned()),
            Wants::Value(wanted) => (is_same(wanted, &value), value),
            Wants::Unchanged => (before.is_none_or(|before| is_same(before, &value)), value),
        };
        (held, cut(&found))
    }

    /// What it must return, for people; `before` is known for what must not change.
    pub fn expected(&self, before: Option<&str>) -> String {
        match (&self.wants, before) {
            (Wants::NoRow, _) => "no row".to_owned(),
            (Wants::Value(value), _) => cut(value),
            (Wants::Unchanged, Some(before)) => format!("{before}, as before the trial"),
            (Wants::Unchanged, None) => "the same as before the trial".to_owned(),
        }
    }
}

/// Texts that are the same, or numbers of the same value, however many decimal places they have.
fn is_same(one: &str, other: &str) -> bool {
    one == other || plain_number(one).is_some_and(|one| plain_number(other) == Some(one))
}

/// A number without what does not change its value: `-0012.50` is `-12.5`. Compared as text, so that
/// sums beyond 2^53 are exact.
fn plain_number(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = !digits.is_empty()
        && !whole.is_empty()
        && [whole, fraction]
            .iter()
            .all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    if !is_number {
        return None;
    }
    let (whole, fraction) = (
        whole.trim_start_matches('0'),
        fraction.trim_end_matches('0'),
    );
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(match (whole, fraction) {
        ("0", "") => "0".to_owned(),
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    })
}

fn shown(row: &[Option<String>]) -> String {
    let values = row.iter().map(|value| value.as_deref().unwrap_or("NULL"));
    values.collect::<Vec<_>>().join(" | ")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_however_they_are_written_and_exactly_so() {
        for (one, other) in [
            ("0", "0.00"),
            ("-0", "0"),
            ("12", "0012.0"),
            ("-1.50", "-1.5"),
            ("a", "a"),
        ] {
            assert!(is_same(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("0", "0.001"),
            ("1", "-1"),
            ("9007199254740993", "9007199254740992"),
            ("NULL", "0"),
            ("", "0"),
            (".", "0"),
            ("1e3", "1000"),
        ] {
            assert!(!is_same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_found_is_shown_with_a_limit() {
        assert_eq!(
            cut("é".repeat(300).as_str()).chars().count(),
            SHOWN_CHARS + 1
        );
        assert_eq!(shown(&[Some("1".to_owned()), None]), "1 | NULL");
    }
}
