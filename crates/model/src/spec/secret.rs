//! Secrets in what users type: addresses are used whole, and kept and shown without passwords.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

/// The way to a server or an endpoint: a URL, `key=value` pairs, or `NAME=URL`. It is serialized and
/// printed without the passwords in it, so that nothing that keeps a spec keeps them.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Address(String);

impl Address {
    /// All of it, for connecting.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Without its passwords.
    pub fn public(&self) -> String {
        without_secrets(&self.0, None)
    }
}

impl From<String> for Address {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Address {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl FromStr for Address {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.public())
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.public().serialize(to)
    }
}

/// Whether there is a password in an address, in whichever of libpq's forms.
pub fn has_password(address: &str) -> bool {
    without_secrets(address, None) != address
}

/// A text without the passwords that a URL or a conninfo string in it has. A mask stands in their
/// place; without one they are cut out, and what is left is an address again.
pub fn without_secrets(text: &str, mask: Option<&str>) -> String {
    let mut text = without_user_password(text, mask);
    // Beside `password` also `sslpassword`, which ends the same; in a URL's query or a conninfo
    // string.
    let mut from = 0;
    while let Some(at) = text[from..].to_ascii_lowercase().find("password") {
        let name_end = from + at + "password".len();
        let rest = &text[name_end..];
        let value = rest.trim_start();
        let Some(value) = value.strip_prefix('=').map(str::trim_start) else {
            from = name_end;
            continue;
        };
        let start = text.len() - value.len();
        let end = start + value_length(value);
        match mask {
            Some(mask) => {
                text.replace_range(start..end, mask);
                from = start + mask.len();
            }
            None => from = cut(&mut text, from + at, end),
        }
    }
    text
}

/// Takes a `name=value` out, with what separates it from its neighbours; gives where it was.
fn cut(text: &mut String, name_at: usize, end: usize) -> usize {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = text[..name_at].rfind(|c| !is_name(c));
    let start = name.map_or(0, |before| before + 1);
    let rest = &text[end..];
    // What separates it from its right neighbour; the last one has its left one's.
    let separators = rest.len() - rest.trim_start_matches(['&', ' ', '\t', '\n']).len();
    let is_last = separators == rest.len();
    let left = match is_last {
        true => text[..start]
            .trim_end_matches(['&', '?', ' ', '\t', '\n'])
            .len(),
        false => start,
    };
    text.replace_range(left..end + separators, "");
    left
}

/// How long a value of a conninfo string or of a URL's query is, quotes included.
fn value_length(value: &str) -> usize {
    let mut is_quoted = false;
    let mut chars = value.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '\'' => is_quoted = !is_quoted,
            '&' | ' ' | '\t' | '\n' if !is_quoted => return at,
            _ => {}
        }
    }
    value.len()
}

/// `postgresql://user:password@host` without the password.
fn without_user_password(text: &str, mask: Option<&str>) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    // A password may have any character but those that end the authority; the last @ ends it.
    let end = rest.find('/').unwrap_or(rest.len());
    let Some(at) = rest[..end].rfind('@').or_else(|| rest.rfind('@')) else {
        return text.to_owned();
    };
    match (rest[..at].split_once(':'), mask) {
        (Some((user, _)), Some(mask)) => format!("{scheme}://{user}:{mask}{}", &rest[at..]),
        (Some((user, _)), None) => format!("{scheme}://{user}{}", &rest[at..]),
        (None, _) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_masked_or_cut_out_in_whatever_form_they_are_given() {
        for (typed, masked, public) in [
            (
                "postgresql://me:s3cret@db:5432/b",
                "postgresql://me:***@db:5432/b",
                "postgresql://me@db:5432/b",
            ),
            (
                "postgres://me:s3@cret@db/b",
                "postgres://me:***@db/b",
                "postgres://me@db/b",
            ),
            (
                "postgres://me:s3/cret@db",
                "postgres://me:***@db",
                "postgres://me@db",
            ),
            (
                "--url=postgresql://me:s3cret@db",
                "--url=postgresql://me:***@db",
                "--url=postgresql://me@db",
            ),
            (
                "postgresql://db/b?password=s3cret&user=me",
                "postgresql://db/b?password=***&user=me",
                "postgresql://db/b?user=me",
            ),
            (
                "postgresql://db/b?user=me&password=s3cret",
                "postgresql://db/b?user=me&password=***",
                "postgresql://db/b?user=me",
            ),
            (
                "postgresql://db/b?password=s3cret",
                "postgresql://db/b?password=***",
                "postgresql://db/b",
            ),
            (
                "host=db password=s3cret user=me",
                "host=db password=*** user=me",
                "host=db user=me",
            ),
            (
                "host=db PASSWORD = 's3 cre\\'t' user=me",
                "host=db PASSWORD = *** user=me",
                "host=db user=me",
            ),
            ("password=s3cret host=db", "password=*** host=db", "host=db"),
            (
                "host=db sslpassword=s3cret password=s3cret",
                "host=db sslpassword=*** password=***",
                "host=db",
            ),
            ("sslpassword=s3cret", "sslpassword=***", ""),
            (
                "node=http://me:s3cret@db:9100/metrics,node_load1",
                "node=http://me:***@db:9100/metrics,node_load1",
                "node=http://me@db:9100/metrics,node_load1",
            ),
            (
                "postgresql://me@db/b",
                "postgresql://me@db/b",
                "postgresql://me@db/b",
            ),
            ("password", "password", "password"),
        ] {
            assert_eq!(without_secrets(typed, Some("***")), masked, "{typed}");
            assert_eq!(without_secrets(typed, None), public, "{typed}");
            assert_eq!(has_password(typed), typed != public, "{typed}");
            let address = Address::from(typed);
            assert_eq!(address.secret(), typed);
            assert_eq!(serde_json::to_value(&address).unwrap(), public);
            assert!(!format!("{address:?}").contains("s3"), "{address:?}");
        }
    }
}
