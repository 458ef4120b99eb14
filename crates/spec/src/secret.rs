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

pub const MASK: &str = "***";

/// The value to keep and show: [`MASK`] if the name is that of a secret.
pub fn masked<'v>(name: &str, value: &'v str) -> &'v str {
    if is_secret_name(name) { MASK } else { value }
}

/// Whether a value of this name is probably a secret: a word of the name is or ends with `token`,
/// `secret`, `password` or the like. `author` and `tokens` are not.
pub fn is_secret_name(name: &str) -> bool {
    const ENDS: [&str; 9] = [
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "apikey",
        "auth",
        "credentials",
    ];
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let is_key = words.windows(2).any(|two| two == ["api", "key"]);
    is_key
        || words
            .iter()
            .any(|word| ENDS.iter().any(|end| word.ends_with(end)))
}

/// A word of a command line to keep: without passwords in URLs, and without the value of `NAME=VALUE`
/// if the name is that of a secret, also after an option (`-Dtoken=x`, `--param=token=x`).
pub fn word_kept(word: &str) -> String {
    let is_name = |text: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        !text.is_empty() && text.chars().all(is_part)
    };
    let mut at = 0;
    while let Some((name, _)) = word[at..].split_once('=').filter(|(name, _)| is_name(name)) {
        at += name.len() + 1;
        if is_secret_name(name) {
            return format!("{}{MASK}", &word[..at]);
        }
    }
    without_secrets(word, Some(MASK))
}

/// Whether there is a password in an address, in whichever of libpq's forms.
pub fn has_password(address: &str) -> bool {
    without_secrets(address, None) != address
}

/// A text without the passwords that a URL or a conninfo string in it has. A mask is in their
/// place; without one they are cut out, and what is left is an address again.
pub fn without_secrets(text: &str, mask: Option<&str>) -> String {
    let Some(at) = text.find("://") else {
        return of_conninfo(text, mask);
    };
    let (before, rest) = text.split_at(at + "://".len());
    let made = format!("{before}{}", of_url(rest, mask));
    // A URL may also be a value of a conninfo string, or look like one within the password itself.
    let is_conninfo =
        text.contains(char::is_whitespace) || before.to_ascii_lowercase().contains("password");
    if is_conninfo {
        of_conninfo(&made, mask)
    } else {
        made
    }
}

/// Beside `password` also `sslpassword` and `PGPASSWORD`.
fn is_secret(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("password")
}

/// What follows `://`: the authority, a path, `?` and `name=value` with `&` between
/// (PostgreSQL's manual, "Connection URIs"; names may be percent-encoded).
fn of_url(rest: &str, mask: Option<&str>) -> String {
    // As libpq has it: a "?" before the "@" is part of the user's name or password.
    let user_end = rest
        .find(['@', '/'])
        .filter(|at| rest[*at..].starts_with('@'));
    let user_end = user_end.unwrap_or_default();
    let (place, query) = match rest[user_end..].find('?').map(|at| user_end + at) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let mut text = of_authority(place, mask);
    let params = query.into_iter().flat_map(|query| query.split('&'));
    let mut separator = '?';
    for param in params {
        let Some(kept) = of_param(param, mask) else {
            continue;
        };
        text.push(separator);
        text += &kept;
        separator = '&';
    }
    text
}

/// `name=value`; `None` where it is a secret that is left out. A "?" in it may be the one that libpq takes
/// for the first, when another is within the brackets of a host.
fn of_param(param: &str, mask: Option<&str>) -> Option<String> {
    if let Some((name, _)) = param.split_once('=')
        && is_secret(&percent_decoded(name))
    {
        return mask.map(|mask| format!("{name}={mask}"));
    }
    match param.split_once('?') {
        None => Some(param.to_owned()),
        Some((before, after)) => Some(match of_param(after, mask) {
            Some(after) => format!("{before}?{after}"),
            None => before.to_owned(),
        }),
    }
}

fn of_authority(place: &str, mask: Option<&str>) -> String {
    let authority = place.find('/').unwrap_or(place.len());
    // An unencoded slash in a password is a mistake, and no reason to keep it: it is distinguished from a port.
    let at = place[..authority].rfind('@').or_else(|| {
        let (_, after) = place[..authority].split_once(':')?;
        let is_port = after.chars().all(|c| c.is_ascii_digit() || c == ',');
        (!is_port).then(|| place.rfind('@')).flatten()
    });
    let Some(at) = at else {
        return place.to_owned();
    };
    match (place[..at].split_once(':'), mask) {
        (Some((user, _)), Some(mask)) => format!("{user}:{mask}{}", &place[at..]),
        (Some((user, _)), None) => format!("{user}{}", &place[at..]),
        (None, _) => place.to_owned(),
    }
}

/// A text of a URL without percent-encoding; a `%` without two digits stays.
pub fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let code = text_of(others.get(..2)).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        rest = match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                &others[2..]
            }
            (byte, _) => {
                bytes.push(*byte);
                others
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn text_of(bytes: Option<&[u8]>) -> Option<&str> {
    std::str::from_utf8(bytes?).ok()
}

/// `name = value` pairs with white space between (PostgreSQL's manual, "Keyword/Value Connection
/// Strings"): a value may stand in quotes, and a backslash escapes.
fn of_conninfo(text: &str, mask: Option<&str>) -> String {
    let mut text = text.to_owned();
    let mut from = 0;
    while let Some(at) = text[from..].to_ascii_lowercase().find("password") {
        let name_end = from + at + "password".len();
        let value = text[name_end..].trim_start();
        let Some(value) = value.strip_prefix('=').map(str::trim_start) else {
            from = name_end;
            continue;
        };
        let start = text.len() - value.len();
        let end = start + secret_length(value);
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

/// Takes a `name=value` out, with the white space that separates it from its neighbours; gives where
/// it was.
fn cut(text: &mut String, name_at: usize, end: usize) -> usize {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let start = text[..name_at].trim_end_matches(is_name).len();
    let after = text[end..].len() - text[end..].trim_start().len();
    let start = if end + after == text.len() {
        text[..start].trim_end().len()
    } else {
        start
    };
    text.replace_range(start..end + after, "");
    start
}

/// How long the value is that must not be kept. What looks like a value may be the name of the next one, as
/// in `host=xpassword= password = s3cret`: that one's value goes with it.
fn secret_length(value: &str) -> usize {
    let mut length = value_length(value);
    while is_secret(&value[..length])
        && let Some(next) = value[length..].trim_start().strip_prefix('=')
    {
        let next = next.trim_start();
        length = value.len() - next.len() + value_length(next);
    }
    length
}

/// How long a value of a conninfo string is, quotes included.
fn value_length(value: &str) -> usize {
    let is_quoted = value.starts_with('\'');
    let mut chars = value.char_indices().skip(usize::from(is_quoted));
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '\'' if is_quoted => return at + 1,
            c if c.is_whitespace() && !is_quoted => return at,
            _ => {}
        }
    }
    value.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_names_that_look_like_secrets_are_masked() {
        for name in [
            "token",
            "API_TOKEN",
            "authToken",
            "secret",
            "client-secret",
            "secret_id",
            "password",
            "db.passwd",
            "pwd",
            "api_key",
            "apiKey",
            "auth",
            "oauth",
            "passphrase",
            "credentials",
        ] {
            assert_eq!(masked(name, "s3"), MASK, "{name}");
        }
        for name in [
            "scale",
            "author",
            "tokens",
            "key",
            "authority",
            "passes",
            "",
            "=",
            "api",
        ] {
            assert_eq!(masked(name, "s3"), "s3", "{name}");
        }
        for (word, want) in [
            ("token=s3=x", "token=***"),
            ("-Dtoken=s3", "-Dtoken=***"),
            ("--param=api_key=s3", "--param=api_key=***"),
            ("--define=scale=3", "--define=scale=3"),
            (
                "--url=postgresql://me:s3@h/d?token=1",
                "--url=postgresql://me:***@h/d?token=1",
            ),
            ("auth=https://me@h/s3", "auth=***"),
            ("SELECT 1 AS token", "SELECT 1 AS token"),
        ] {
            assert_eq!(word_kept(word), want);
        }
    }

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
            (
                "host=h password=abc&defs3 dbname=d",
                "host=h password=*** dbname=d",
                "host=h dbname=d",
            ),
            (
                "postgresql:///d?user=me&%70assword=s3cret",
                "postgresql:///d?user=me&%70assword=***",
                "postgresql:///d?user=me",
            ),
            (
                "postgresql:///d?password=it's3&host=/tmp&user=me",
                "postgresql:///d?password=***&host=/tmp&user=me",
                "postgresql:///d?host=/tmp&user=me",
            ),
            (
                "postgresql://:5432/d?application_name=me@home",
                "postgresql://:5432/d?application_name=me@home",
                "postgresql://:5432/d?application_name=me@home",
            ),
            (
                "primary_conninfo=host=x password=s3cret",
                "primary_conninfo=host=x password=***",
                "primary_conninfo=host=x",
            ),
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

    #[test]
    fn a_password_behind_letters_of_any_alphabet_is_cut_out() {
        let cut = |text: &str| without_secrets(text, None);
        assert_eq!(cut("host=dbépassword=x"), "host=dbé");
        assert_eq!(
            cut("host=db\u{fffd}password=x user=me"),
            "host=db\u{fffd}user=me"
        );
        assert_eq!(cut("host=h sslpassword=x user=me"), "host=h user=me");
    }

    #[test]
    fn a_url_within_a_conninfo_string_does_not_keep_its_password() {
        for text in [
            "password='s3' application_name=http://a",
            "application_name=http://a password = s3",
            "password=s3://s3",
            "host=h password='s3://s3 s3' user=me",
            "application_name=http://me:s3@h sslpassword=s3",
            "postgresql://me:s3?x@h/d",
            "postgresql://me?x@h/d?password=s3",
            "postgres://h1,[:?1]:2/d?password=s3",
            "host=xpassword= password = s3",
            "host=xpassword= sslpassword = password = s3",
        ] {
            for mask in [Some(MASK), None] {
                let kept = without_secrets(text, mask);
                assert!(!kept.contains("s3"), "{text}: {kept}");
            }
        }
    }
}
