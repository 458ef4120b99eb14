//! The two textual forms of a connection: `key=value` strings and URIs.

use super::ConnInfoError;
use super::options::{Options, is_secret};

const SCHEMES: [&str; 2] = ["postgresql://", "postgres://"];

/// What a text given in place of a database name is.
pub(super) enum Form<'a> {
    /// A URI; the text after its scheme.
    Uri(&'a str),
    KeyValue,
    /// Just the name of a database.
    Name,
}

pub(super) fn form(text: &str) -> Form<'_> {
    if let Some(rest) = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme)) {
        Form::Uri(rest)
    } else if text.contains('=') {
        Form::KeyValue
    } else {
        Form::Name
    }
}

/// Reads a text in any of its forms.
pub(super) fn parse(text: &str) -> Result<Options, ConnInfoError> {
    let mut options = Options::default();
    match form(text) {
        Form::Uri(rest) => parse_uri(text, rest, &mut options)?,
        Form::KeyValue => parse_key_value(text, &mut options)?,
        Form::Name => {
            options.set("dbname", text);
        }
    }
    Ok(options)
}

/// What separates pairs: C's `isspace`.
pub(super) fn space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

/// `key = value` pairs: a value may stand in single quotes, and a backslash protects the next
/// character, in quotes and without.
fn parse_key_value(text: &str, options: &mut Options) -> Result<(), ConnInfoError> {
    let mut rest = text.trim_start_matches(space);
    let mut after_secret = false;
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| c == '=' || space(c))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let Some(after) = after.trim_start_matches(space).strip_prefix('=') else {
            if after_secret {
                // Text in place of a name may be the rest of a password.
                return Err(ConnInfoError::new(
                    "missing \"=\" after a secret value in connection info string",
                )
                .hint("put a value with blanks in single quotes".to_owned()));
            }
            return Err(ConnInfoError::new(format!(
                "missing \"=\" after \"{name}\" in connection info string"
            )));
        };
        let after = after.trim_start_matches(space);
        let (quoted, after) = match after.strip_prefix('\'') {
            Some(after) => (true, after),
            None => (false, after),
        };
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next() {
                None if quoted => {
                    return Err(ConnInfoError::new(
                        "unterminated quoted string in connection info string",
                    ));
                }
                None => break after.len(),
                Some((at, '\'')) if quoted => break at + 1,
                Some((at, c)) if !quoted && space(c) => break at,
                Some((_, '\\')) => value.extend(chars.next().map(|(_, c)| c)),
                Some((_, c)) => value.push(c),
            }
        };
        if !options.set(name, &value) {
            return Err(ConnInfoError::new(format!(
                "invalid connection option \"{name}\""
            )));
        }
        after_secret = is_secret(name);
        rest = after[end..].trim_start_matches(space);
    }
    Ok(())
}

/// `scheme://[user[:password]@][host[:port]][,…][/dbname][?name=value[&…]]`. Errors show the URI
/// without its password.
fn parse_uri(uri: &str, rest: &str, options: &mut Options) -> Result<(), ConnInfoError> {
    let mut rest = rest;
    let store = |options: &mut Options, name: &str, encoded: &str| -> Result<(), ConnInfoError> {
        if !encoded.is_empty() {
            options.set(name, &decode(encoded, name == "password")?);
        }
        Ok(())
    };
    if let Some(at) = rest
        .find(['@', '/'])
        .filter(|&at| rest.as_bytes()[at] == b'@')
    {
        let (user, password) = match rest[..at].split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (&rest[..at], None),
        };
        store(options, "user", user)?;
        store(options, "password", password.unwrap_or_default())?;
        rest = &rest[at + 1..];
    }
    let (hosts, ports, mut rest) = parse_hosts(uri, rest)?;
    store(options, "host", &hosts)?;
    store(options, "port", &ports)?;
    if let Some(after) = rest.strip_prefix('/') {
        let end = after.find('?').unwrap_or(after.len());
        store(options, "dbname", &after[..end])?;
        rest = &after[end..];
    }
    match rest.strip_prefix('?') {
        Some(parameters) => parse_parameters(parameters, options),
        None => Ok(()),
    }
}

/// Hosts and ports, each as a list, and what follows them. `rest` is the end of `uri`.
fn parse_hosts<'a>(
    uri: &str,
    mut rest: &'a str,
) -> Result<(String, String, &'a str), ConnInfoError> {
    let shown = without_password(uri);
    let (mut hosts, mut ports) = (String::new(), String::new());
    loop {
        let host;
        if let Some(bracketed) = rest.strip_prefix('[') {
            let Some(end) = bracketed.find(']') else {
                return Err(ConnInfoError::new(format!(
                    "end of string reached when looking for matching \"]\" in IPv6 host address \
                     in URI: \"{shown}\""
                )));
            };
            if end == 0 {
                return Err(ConnInfoError::new(format!(
                    "IPv6 host address may not be empty in URI: \"{shown}\""
                )));
            }
            host = &bracketed[..end];
            rest = &bracketed[end + 1..];
            if let Some(c) = rest.chars().next().filter(|c| !":/?,".contains(*c)) {
                return Err(ConnInfoError::new(format!(
                    "unexpected character \"{c}\" at position {} in URI (expected \":\" or \
                     \"/\"): \"{shown}\"",
                    uri.len() - rest.len() + 1
                )));
            }
        } else {
            let end = rest.find([':', '/', '?', ',']).unwrap_or(rest.len());
            host = &rest[..end];
            rest = &rest[end..];
        }
        hosts.push_str(host);
        if let Some(after) = rest.strip_prefix(':') {
            let end = after.find(['/', '?', ',']).unwrap_or(after.len());
            if after[end..].contains('@') && after[..end].parse::<u16>().is_err() {
                return Err(
                    ConnInfoError::new(format!("invalid port number in URI: \"{shown}\"")).hint(
                        "a \"/\", \"?\", \",\" or \"@\" in a password is written %2F, %3F, %2C \
                           or %40"
                            .to_owned(),
                    ),
                );
            }
            ports.push_str(&after[..end]);
            rest = &after[end..];
        }
        let Some(after) = rest.strip_prefix(',') else {
            return Ok((hosts, ports, rest));
        };
        hosts.push(',');
        ports.push(',');
        rest = after;
    }
}

fn parse_parameters(parameters: &str, options: &mut Options) -> Result<(), ConnInfoError> {
    // A "&" at the very end is allowed, an empty parameter elsewhere is not.
    let parameters = parameters.strip_suffix('&').unwrap_or(parameters);
    if parameters.is_empty() {
        return Ok(());
    }
    for parameter in parameters.split('&') {
        let Some((name, value)) = parameter.split_once('=') else {
            return Err(ConnInfoError::new(format!(
                "missing key/value separator \"=\" in URI query parameter: \"{parameter}\""
            )));
        };
        if value.contains('=') {
            return Err(ConnInfoError::new(format!(
                "extra key/value separator \"=\" in URI query parameter: \"{name}\""
            )));
        }
        let name = decode(name, false)?;
        let value = decode(value, is_secret(&name))?;
        // As JDBC writes it.
        let (name, value) = match (name.as_str(), value.as_str()) {
            ("ssl", "true") => ("sslmode", "require"),
            other => other,
        };
        if !options.set(name, value) {
            return Err(ConnInfoError::new(format!(
                "invalid URI query parameter: \"{name}\""
            )));
        }
    }
    Ok(())
}

/// Percent-decodes. Blanks around the text are dropped; blanks within are an error.
fn decode(text: &str, secret: bool) -> Result<String, ConnInfoError> {
    let shown = if secret { "…" } else { text };
    let trimmed = text.trim_matches(' ');
    if trimmed.contains(' ') {
        return Err(ConnInfoError::new(format!(
            "unexpected spaces found in \"{shown}\", use percent-encoded spaces (%20) instead"
        )));
    }
    let mut bytes = Vec::with_capacity(trimmed.len());
    let mut rest = trimmed.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |at: usize| rest.get(at).and_then(|&b| char::from(b).to_digit(16));
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return Err(ConnInfoError::new(format!(
                "invalid percent-encoded token: \"{shown}\""
            )));
        };
        if high == 0 && low == 0 {
            return Err(ConnInfoError::new(format!(
                "forbidden value %00 in percent-encoded value: \"{shown}\""
            )));
        }
        bytes.push((high * 16 + low) as u8);
        rest = &rest[2..];
    }
    String::from_utf8(bytes)
        .map_err(|_| ConnInfoError::new(format!("percent-encoded value is not UTF-8: \"{shown}\"")))
}

/// A URI for messages: without parameters, and without all that may be part of a password, also of
/// one that should have been percent-encoded.
fn without_password(uri: &str) -> String {
    let start = uri.find("://").map_or(0, |at| at + 3);
    let mut shown = uri.to_owned();
    if let Some(at) = uri.rfind('@').filter(|at| *at > start)
        && let Some(colon) = uri[start..at].find(':')
    {
        shown.replace_range(start + colon + 1..at, "…");
    }
    match shown.find('?') {
        Some(query) => shown[..query].to_owned(),
        None => shown,
    }
}
