//! For fuzz/targets: what must hold of any bytes where only this crate can look.

use pgdyno_session::{Env, Given, resolve};

use crate::properties::Properties;
use crate::{jdbc, lengths};

const PASSWORD: &str = "hUnTeR2-XyZ";

/// A properties file. As Java would write it, it reads back the same; its numbers and its URL are
/// taken or refused, without a word of the password.
pub fn properties(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut properties = Properties::default();
    properties.read(&text);
    let mut printed = String::new();
    for (name, value) in properties.all() {
        printed += &format!("{}={}\n", written(name), written(value));
        for error in [properties.count(name).err(), properties.share(name).err()] {
            assert!(error.is_none_or(|error| error.failure.to_string().contains(name)));
        }
    }
    let mut again = Properties::default();
    again.read(&printed);
    assert_eq!(again, properties, "{text:?} is printed as {printed:?}");

    let url = properties.get("db.url");
    if let Some(url) = url.filter(|url| !url.contains("passfile") && !url.contains(PASSWORD)) {
        place(url);
    }
    lengths::fuzz(&text);
}

/// A JDBC URL becomes one that libpq's rules take or refuse.
fn place(url: &str) {
    match jdbc::place(url, "me", PASSWORD) {
        Ok(place) => {
            let shown = match resolve(&Given::target(place.url), &Env::empty()) {
                Ok(info) => info.to_string(),
                Err(error) => error.to_string(),
            };
            assert!(!shown.contains(PASSWORD), "{shown}");
        }
        Err(refusal) => assert!(!refusal.failure.to_string().contains(PASSWORD)),
    }
}

fn written(text: &str) -> String {
    let mut written = String::new();
    for c in text.chars() {
        match c {
            '\n' => written += "\\n",
            '\r' => written += "\\r",
            '\t' => written += "\\t",
            '\u{c}' => written += "\\f",
            c if c.is_whitespace() || matches!(c, '=' | ':' | '#' | '!' | '\\') => {
                written.push('\\');
                written.push(c);
            }
            c => written.push(c),
        }
    }
    written
}
