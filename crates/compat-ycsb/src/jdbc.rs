//! `db.url`, a JDBC URL of PostgreSQL, as libpq and pgdyno write it. (Facts: pgJDBC's documentation.)

use pgdyno_spec::secret::percent_decoded;

use super::YcsbRefusal;

/// Where the database is, and what of the URL does nothing here.
#[derive(Debug, PartialEq)]
pub struct Place {
    pub url: String,
    pub ignored: Vec<String>,
}

/// The beginnings of such URLs.
const SCHEMES: [&str; 2] = ["jdbc:postgresql:", "jdbc:yugabytedb:"];

/// Parameters and what libpq calls them.
const PARAMETERS: [(&str, &str); 7] = [
    ("sslmode", "sslmode"),
    ("sslrootcert", "sslrootcert"),
    ("sslcert", "sslcert"),
    ("sslkey", "sslkey"),
    ("ApplicationName", "application_name"),
    ("connectTimeout", "connect_timeout"),
    ("options", "options"),
];

/// Reads it; user and password beside it go before those in it.
///
/// # Errors
/// It is none of PostgreSQL's, or names several servers that rows would be dealt to.
pub fn place(url: &str, user: &str, password: &str) -> Result<Place, YcsbRefusal> {
    let shown = super::command::without_password(url);
    if url.contains(';') {
        let text =
            format!("db.url={shown}: pgdyno does not deal rows to several databases by their keys");
        return Err(YcsbRefusal::usage(text).hint(
            "measure each database by a run of its own; hosts of one cluster are separated by commas",
        ));
    }
    let Some(rest) = SCHEMES.iter().find_map(|scheme| url.strip_prefix(scheme)) else {
        let text = format!("db.url={shown}: it is no URL of PostgreSQL's JDBC driver");
        return Err(
            YcsbRefusal::usage(text).hint("it has the form jdbc:postgresql://host:port/database")
        );
    };
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (hosts, database) = match path.strip_prefix("//") {
        Some(path) => path.split_once('/').unwrap_or((path, "")),
        // `jdbc:postgresql:database`, or with one slash.
        None => ("", path.trim_start_matches('/')),
    };
    let hosts = if hosts.is_empty() { "localhost" } else { hosts };
    let (mut own_user, mut own_password) = (user.to_owned(), password.to_owned());
    let (mut parameters, mut ignored) = (Vec::new(), Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let known = PARAMETERS.iter().find(|(theirs, _)| *theirs == name);
        match (name, known) {
            ("user", _) if own_user.is_empty() => own_user = decoded(value),
            ("password", _) if own_password.is_empty() => own_password = decoded(value),
            ("user" | "password", _) => {}
            ("ssl", _) if value == "false" => {}
            // What `ssl=true` means since pgJDBC 42.2.5.
            ("ssl", _) => parameters.push("sslmode=verify-full".to_owned()),
            ("targetServerType", _) => parameters.push(format!(
                "target_session_attrs={}",
                match value {
                    "primary" | "master" => "read-write",
                    "secondary" | "slave" => "standby",
                    "preferSecondary" | "preferSlave" => "prefer-standby",
                    _ => "any",
                }
            )),
            (_, Some((_, ours))) => parameters.push(format!("{ours}={value}")),
            (name, None) => ignored.push(name.to_owned()),
        }
    }
    let mut made = "postgresql://".to_owned();
    if !own_user.is_empty() {
        made += &encoded(&own_user);
        if !own_password.is_empty() {
            made += &format!(":{}", encoded(&own_password));
        }
        made += "@";
    }
    made += &format!("{hosts}/{database}");
    if !parameters.is_empty() {
        made += &format!("?{}", parameters.join("&"));
    }
    Ok(Place { url: made, ignored })
}

/// A text as it may stand in a URL.
pub fn encoded(text: &str) -> String {
    let mut made = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                made.push(char::from(byte));
            }
            _ => made += &format!("%{byte:02X}"),
        }
    }
    made
}

fn decoded(text: &str) -> String {
    percent_decoded(&text.replace('+', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> String {
        place(text, "", "").unwrap().url
    }

    #[test]
    fn jdbc_urls_become_libpqs() {
        assert_eq!(
            place("jdbc:postgresql://h:5433/d", "me", "a/b")
                .unwrap()
                .url,
            "postgresql://me:a%2Fb@h:5433/d"
        );
        assert_eq!(url("jdbc:postgresql:d"), "postgresql://localhost/d");
        assert_eq!(url("jdbc:postgresql:///d"), "postgresql://localhost/d");
        assert_eq!(url("jdbc:postgresql://h"), "postgresql://h/");
        assert_eq!(
            url("jdbc:yugabytedb://a:1,b:2/d?user=u&password=p%40+q&ssl=true"),
            "postgresql://u:p%40%20q@a:1,b:2/d?sslmode=verify-full"
        );
        let place = place(
            "jdbc:postgresql://h/d?targetServerType=primary&reWriteBatchedInserts=true&sslmode=require",
            "",
            "",
        );
        let place = place.unwrap();
        assert_eq!(
            place.url,
            "postgresql://h/d?target_session_attrs=read-write&sslmode=require"
        );
        assert_eq!(place.ignored, ["reWriteBatchedInserts"]);
    }

    #[test]
    fn other_urls_are_refused_without_their_passwords() {
        let refused = |text: &str| place(text, "", "").unwrap_err().failure.to_string();
        let text = refused("jdbc:mysql://h/d?password=secret");
        assert!(
            text.contains("jdbc:postgresql://host:port/database"),
            "{text}"
        );
        assert!(!text.contains("secret"), "{text}");
        let text = refused("jdbc:postgresql://a/d;jdbc:postgresql://b/d");
        assert!(text.contains("several databases"), "{text}");
    }
}
