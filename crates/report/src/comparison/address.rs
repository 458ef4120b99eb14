//! What differs in the addresses of two servers: the settings of sessions, the database, the host. Ports,
//! sockets and names of applications only name them.

use std::collections::BTreeMap;

use serde_json::Value;

use pgdyno_model::document::comparison::{Differing, DifferingKind};

use super::differing::readable;
use super::does::does;

/// Parts that only name a server, or the client to it.
const NAMES: [&str; 4] = ["port", "application_name", "hostaddr", "passfile"];
/// Where settings of the session are, as parts.
const SETTING: &str = "-c ";

/// What differs between the addresses of two sides (lists of URLs), and how many parts differ that
/// only name the server.
pub fn differences(a: &Value, b: &Value) -> (Vec<Differing>, usize) {
    let (a, b) = (parts(a), parts(b));
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort();
    names.dedup();
    let (mut found, mut left_out) = (Vec::new(), 0);
    for name in names {
        let (of_a, of_b) = (a.get(name), b.get(name));
        if of_a == of_b {
            continue;
        }
        let is_path = |value: Option<&String>| value.is_none_or(|value| value.starts_with('/'));
        if NAMES.contains(&name.as_str()) || (name == "host" && is_path(of_a) && is_path(of_b)) {
            left_out += 1;
            continue;
        }
        let (kind, what) = match name.as_str() {
            "host" => (DifferingKind::Server, "server address".to_owned()),
            "dbname" => (DifferingKind::Server, "database".to_owned()),
            "user" => (DifferingKind::Trial, "user".to_owned()),
            _ => match name.strip_prefix(SETTING) {
                Some(setting) => (DifferingKind::Setting, setting.to_owned()),
                None => (DifferingKind::Trial, format!("connection: {name}")),
            },
        };
        let value = |value: Option<&String>| {
            value.map_or_else(|| "default".to_owned(), |value| readable(value))
        };
        found.push(Differing {
            kind,
            does: does(&what),
            what,
            a: value(of_a),
            b: value(of_b),
        });
    }
    (found, left_out)
}

/// The parts of all URLs of a side by their names in connection strings.
fn parts(urls: &Value) -> BTreeMap<String, String> {
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    let urls = urls.as_array().map_or(&[][..], Vec::as_slice);
    for url in urls.iter().filter_map(Value::as_str) {
        for (name, value) in of_url(url) {
            let entry = parts.entry(name).or_default();
            // Several endpoints: what they share is shown once.
            if entry.is_empty() {
                *entry = value;
            } else if *entry != value {
                *entry = format!("{entry}, {value}");
            }
        }
    }
    parts
}

fn of_url(url: &str) -> Vec<(String, String)> {
    let Some((_, rest)) = url.split_once("://") else {
        // Another way to write it, as a whole.
        return vec![("host".to_owned(), url.to_owned())];
    };
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = before.split_once('/').unwrap_or((before, ""));
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (host, port) = hosts.split_once(':').unwrap_or((hosts, ""));
    let mut found = vec![
        (
            "user".to_owned(),
            decoded(user.split(':').next().unwrap_or_default()),
        ),
        ("host".to_owned(), decoded(host)),
        ("port".to_owned(), port.to_owned()),
        ("dbname".to_owned(), decoded(database)),
    ];
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value);
        if name != "options" {
            found.push((name.to_owned(), value));
            continue;
        }
        for setting in value.split("-c").map(str::trim) {
            if let Some((name, value)) = setting.split_once('=') {
                found.push((format!("{SETTING}{name}"), value.to_owned()));
            }
        }
    }
    found.retain(|(_, value)| !value.is_empty());
    found
}

/// Without `%20` and the like.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes
            .get(at + 1..at + 3)
            .and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if bytes[at] == b'%' => {
                plain.push(byte);
                at += 3;
            }
            _ => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}
