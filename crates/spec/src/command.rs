//! Shell commands that users give: run as they were typed, kept and shown without the secrets in them.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

use super::secret::{MASK, is_secret_name, word_kept};

/// A command for `sh -c`. It is serialized and printed with `***` in the place of passwords and tokens.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ShellCommand(String);

impl ShellCommand {
    /// All of it, to be run.
    pub fn secret(&self) -> &str {
        &self.0
    }

    pub fn public(&self) -> String {
        masked(&self.0)
    }

    /// Whether it was read from where its secrets are not kept: it cannot be run.
    pub fn is_masked(&self) -> bool {
        self.0.contains(MASK)
    }
}

impl From<String> for ShellCommand {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for ShellCommand {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl FromStr for ShellCommand {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

impl fmt::Debug for ShellCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.public())
    }
}

impl Serialize for ShellCommand {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.public().serialize(to)
    }
}

/// A text without what looks like a secret in it: passwords in URLs and connection strings, values of
/// `NAME=VALUE` and of `--name VALUE` where the name is that of a secret, and what follows `Bearer`.
pub fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut follows_name = false;
    for (word, between) in words(text) {
        let bare = word.trim_matches(['"', '\'']);
        let is_option = word.starts_with('-') && !word.contains('=');
        let kept = match (follows_name && !word.is_empty(), bearer(word)) {
            (true, _) => MASK.to_owned(),
            (false, Some(before)) => format!("{before}{MASK}{}", quote_at_end(word)),
            (false, None) => word_kept(word),
        };
        out.push_str(&kept);
        out.push_str(between);
        follows_name = bare.eq_ignore_ascii_case("bearer")
            || is_option && is_secret_name(word.trim_start_matches('-'));
    }
    out
}

/// What precedes a token in a quoted HTTP header, `Bearer` included.
fn bearer(word: &str) -> Option<&str> {
    let at = word.to_ascii_lowercase().find("bearer ")?;
    Some(&word[..at + "bearer ".len()])
}

fn quote_at_end(word: &str) -> &str {
    let quoted = word.ends_with(['"', '\'']);
    &word[word.len() - usize::from(quoted)..]
}

/// Words of a shell's line, what is quoted taken as part of a word, each with what separates it from
/// the next one.
fn words(text: &str) -> Vec<(&str, &str)> {
    let is_between = |c: char| c.is_whitespace() || matches!(c, ';' | '|' | '(' | ')');
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut quote = None;
        let mut is_escaped = false;
        let end = rest.find(|c: char| {
            match (is_escaped, quote, c) {
                (true, ..) => is_escaped = false,
                (_, _, '\\') => is_escaped = true,
                (_, None, '"' | '\'') => quote = Some(c),
                (_, Some(open), c) if c == open => quote = None,
                (_, None, c) => return is_between(c),
                _ => {}
            }
            false
        });
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        let next = after.find(|c| !is_between(c)).unwrap_or(after.len());
        words.push((word, &after[..next]));
        rest = &after[next..];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_kept_without_its_secrets() {
        for (typed, kept) in [
            (
                "kubectl delete pod crdb-2 --grace-period=0",
                "kubectl delete pod crdb-2 --grace-period=0",
            ),
            (
                "PGPASSWORD=s3cret psql -h db1 -c 'SELECT 1'",
                "PGPASSWORD=*** psql -h db1 -c 'SELECT 1'",
            ),
            ("PGPASSWORD='s3 cret' psql", "PGPASSWORD=*** psql"),
            (
                "psql postgresql://me:s3cret@db1/b; true",
                "psql postgresql://me:***@db1/b; true",
            ),
            (
                "cloud restart --api-token s3cret --zone a",
                "cloud restart --api-token *** --zone a",
            ),
            (
                "curl -H \"Authorization: x\" -H Bearer s3cret http://h",
                "curl -H \"Authorization: x\" -H Bearer *** http://h",
            ),
            ("echo \"it's\" | cat", "echo \"it's\" | cat"),
            ("", ""),
        ] {
            assert_eq!(masked(typed), kept, "{typed}");
            let command = ShellCommand::from(typed);
            assert_eq!(serde_json::to_value(&command).unwrap(), kept);
            assert!(!format!("{command:?}").contains("s3"), "{typed}");
            assert_eq!(command.secret(), typed);
            let again = ShellCommand::from(command.public());
            assert_eq!(again.is_masked(), typed != kept);
        }
    }

    #[test]
    fn a_token_within_a_quoted_header_is_masked() {
        let kept = masked("curl -H 'Authorization: Bearer s3cret' http://h");
        assert!(!kept.contains("s3cret"), "{kept}");
        assert!(kept.ends_with(" http://h"), "{kept}");
    }
}
