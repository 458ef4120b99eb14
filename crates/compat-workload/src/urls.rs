//! Where the database is, as cockroach's command line says it: URLs without a database, or with
//! the one that is expected.

use super::flags::ParsedFlags;
use super::flags::go_values::quoted;
use super::generator::TransactionGenerator;

#[derive(Debug, PartialEq)]
pub struct Place {
    pub database: String,
    urls: Vec<Url>,
}

/// A URL, taken apart around its path.
#[derive(Debug, PartialEq)]
struct Url {
    server: String,
    /// `?` and what follows, or nothing.
    query: String,
}

impl Place {
    /// Reads them; the database is named after the workload unless `--db` names another.
    ///
    /// # Errors
    /// cockroach's text for what is no URL of a server of this kind, or names another database.
    pub fn of(generator: TransactionGenerator, parsed: &ParsedFlags) -> Result<Self, String> {
        let database = parsed.given("db").filter(|name| !name.is_empty());
        let database = database.unwrap_or(generator.name()).to_owned();
        let default = [default_url(parsed)];
        let given = match parsed.arguments.as_slice() {
            [] => &default,
            given => given,
        };
        let urls = given.iter().map(|url| Url::read(url, &database));
        let urls = urls.collect::<Result<_, _>>()?;
        Ok(Self { database, urls })
    }

    /// The URLs, with the database in each.
    pub fn urls(&self) -> Vec<String> {
        self.urls_of(&self.database)
    }

    /// The same servers' URLs, of another database.
    pub fn urls_of(&self, database: &str) -> Vec<String> {
        let database = encoded(database);
        let url = |url: &Url| format!("{}/{database}{}", url.server, url.query);
        self.urls.iter().map(url).collect()
    }
}

fn default_url(parsed: &ParsedFlags) -> String {
    let user = encoded(parsed.given("user").unwrap_or("root"));
    let password = parsed
        .given("password")
        .filter(|password| !password.is_empty());
    if parsed.given("secure") != Some("true") {
        return format!("postgres://{user}@localhost:26257?sslmode=disable");
    }
    let tls = "sslmode=require&sslrootcert=certs/ca.crt";
    match password {
        Some(password) => {
            let password = encoded(password);
            format!("postgres://{user}:{password}@localhost:26257?{tls}")
        }
        None => format!(
            "postgres://{user}@localhost:26257?sslcert=certs/client.{user}.crt&sslkey=certs/client.{user}.key&{tls}"
        ),
    }
}

impl Url {
    fn read(text: &str, database: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or((text, ""));
        if !["postgres", "postgresql"].contains(&scheme) {
            let scheme = if text.contains("://") { scheme } else { "" };
            return Err(format!("unsupported scheme: {scheme}"));
        }
        let (before, query) = match rest.find('?') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (authority, path) = before.split_once('/').unwrap_or((before, ""));
        if !path.is_empty() && path != database && path != encoded(database) {
            let shown = without_password(scheme, authority, path, query);
            let (found, expected) = (quoted(path), quoted(database));
            return Err(format!(
                "{shown} specifies database {found}, but database {expected} is expected"
            ));
        }
        Ok(Self {
            server: format!("{scheme}://{authority}"),
            query: query.to_owned(),
        })
    }
}

fn without_password(scheme: &str, authority: &str, path: &str, query: &str) -> String {
    let authority = match authority.rsplit_once('@') {
        Some((login, host)) => match login.split_once(':') {
            Some((user, _)) => format!("{user}:***@{host}"),
            None => authority.to_owned(),
        },
        None => authority.to_owned(),
    };
    let query = if query.to_ascii_lowercase().contains("password") {
        "?***"
    } else {
        query
    };
    format!("{scheme}://{authority}/{path}{query}")
}

/// A name as it may stand in a URL.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::flags::{Verb, all, parse};
    use super::*;

    fn place(arguments: &[&str]) -> Result<Place, String> {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        let flags = all(TransactionGenerator::Ycsb, Verb::Run);
        Place::of(
            TransactionGenerator::Ycsb,
            &parse(&flags, &arguments).unwrap(),
        )
    }

    #[test]
    fn each_url_gets_the_workloads_database() {
        let place = place(&["postgres://root@a:1?sslmode=disable", "postgresql://b/ycsb"]).unwrap();
        assert_eq!(
            place.urls(),
            [
                "postgres://root@a:1/ycsb?sslmode=disable",
                "postgresql://b/ycsb"
            ]
        );
        assert_eq!(place.urls_of("postgres")[1], "postgresql://b/postgres");
        let other = self::place(&["--db=it's", "postgres:///?host=/tmp/x"]).unwrap();
        assert_eq!(other.urls(), ["postgres:///it%27s?host=/tmp/x"]);
        let encoded = self::place(&["--db=it's", "postgres://h/it%27s"]).unwrap();
        assert_eq!(encoded.urls(), ["postgres://h/it%27s"]);
    }

    #[test]
    fn without_a_url_it_is_cockroachs_default() {
        let url = |arguments: &[&str]| place(arguments).unwrap().urls().remove(0);
        assert_eq!(
            url(&[]),
            "postgres://root@localhost:26257/ycsb?sslmode=disable"
        );
        assert_eq!(
            url(&["--user=me", "--db", "d"]),
            "postgres://me@localhost:26257/d?sslmode=disable"
        );
        assert_eq!(
            url(&["--secure"]),
            "postgres://root@localhost:26257/ycsb?sslcert=certs/client.root.crt&sslkey=certs/client.root.key&sslmode=require&sslrootcert=certs/ca.crt"
        );
        assert_eq!(
            url(&["--secure", "--password=a/b"]),
            "postgres://root:a%2Fb@localhost:26257/ycsb?sslmode=require&sslrootcert=certs/ca.crt"
        );
    }

    /// The texts are those of cockroach 19.1; a password is not repeated.
    #[test]
    fn other_databases_and_schemes_are_refused() {
        let refused = |url: &str| place(&[url]).unwrap_err();
        assert_eq!(refused("mysql://x"), "unsupported scheme: mysql");
        assert_eq!(
            refused("postgres://x/abc"),
            "postgres://x/abc specifies database \"abc\", but database \"ycsb\" is expected"
        );
        assert_eq!(refused("localhost"), "unsupported scheme: ");
        let text = refused("postgres://me:secret@x/abc?password=secret");
        assert!(!text.contains("secret"), "{text}");
    }
}
