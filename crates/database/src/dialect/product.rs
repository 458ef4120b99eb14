//! Which product a server is, from what it says about itself. Never asked of the user.

use std::fmt;

use pgdyno_session::{Error, Session};

use super::{COCKROACHDB, Dialect, OTHER, POSTGRESQL, YUGABYTEDB, other, proof};
use crate::admin;

/// So much of what a server lacks is named in a line.
const LACKED_NAMED_MAX: usize = 4;

/// A product's own version, such as 19.1; for what is no number 0.0, older than all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl Version {
    /// A version by its first two numbers.
    pub const fn new(major: u32, minor: u32) -> Version {
        Version { major, minor }
    }

    /// Reads the numbers that `text` begins with: `19.1.0-alpha`, `18beta1`.
    fn leading(text: &str) -> Version {
        fn number(text: &str) -> (u32, &str) {
            let end = text
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(text.len());
            (text[..end].parse().unwrap_or(0), &text[end..])
        }
        let (major, rest) = number(text);
        let (minor, _) = rest.strip_prefix('.').map_or((0, ""), number);
        Version { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A server's product, as it was recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// How to speak to it.
    pub dialect: &'static Dialect,
    /// Whether the dialect was written for this product; else PostgreSQL's is tried.
    pub known: bool,
    /// The product's own version: of CockroachDB 19.1, not the 9.5 that it tells as PostgreSQL's.
    pub version: Version,
    /// What the server says about itself.
    pub text: String,
    /// Of [`OTHER`]: what of PostgreSQL it was found to lack, where it was asked.
    pub missing: Vec<&'static str>,
}

/// What a trial's notes say of a product that is not known: by its dialect's name, and by what its facts have of
/// its version.
pub fn unknown(dialect: &str, version: &str) -> String {
    if dialect == OTHER.name {
        let name = version.split(" (").next().unwrap_or_default();
        format!("{name} is not PostgreSQL: what needs its catalogues was left out")
    } else {
        as_postgresql(version)
    }
}

fn as_postgresql(text: &str) -> String {
    format!("pgdyno does not know this product and treats it as PostgreSQL: {text}")
}

impl Product {
    /// Asks the server.
    ///
    /// # Errors
    /// The connection is lost. A server that does not know `version()` is an unknown product.
    pub fn ask(session: &mut Session) -> Result<Product, Error> {
        if let Some(product) = Product::reported(session) {
            return Ok(product);
        }
        let text = match admin::value(session, "SELECT version()") {
            Ok(text) => text.unwrap_or_default(),
            Err(Error::Server(e)) if !session.is_broken() => e.message().to_owned(),
            Err(e) => return Err(e),
        };
        Product::recognise(&text).proven(session)
    }

    /// The same when what it says of itself was checked: PostgreSQL is what answers as PostgreSQL.
    fn proven(self, session: &mut Session) -> Result<Product, Error> {
        if ![POSTGRESQL.name, OTHER.name].contains(&self.dialect.name) {
            return Ok(self);
        }
        let missing = proof::missing(session, &self.text)?;
        if missing.is_empty() && self.dialect.name == POSTGRESQL.name {
            return Ok(self);
        }
        let mut product = Product {
            dialect: &OTHER,
            known: false,
            version: Version::default(),
            missing,
            ..self
        };
        // It says `v1.1.3` alone.
        if other::named(&product.text).is_none()
            && admin::value(session, "SELECT library_version FROM pragma_version()").is_ok()
        {
            product.text = format!("DuckDB {}", product.text);
        }
        Ok(product)
    }

    /// What the server reported about itself at the session's start, without a question; `None` when that
    /// leaves it open.
    pub fn reported(session: &Session) -> Option<Product> {
        // CockroachDB has reported it since 2017 (captured: 19.1).
        if let Some(text) = session.parameter("crdb_version") {
            return Some(Product::recognise(text));
        }
        // "15.12-YB-2025.2.2.2-b0" (documented: articles).
        let version = session.parameter("server_version")?;
        version
            .contains("-YB-")
            .then(|| Product::recognise(version))
    }

    /// The version that the server's product has, such as `18.1` or `19.1.0-alpha.20190219`; `None` when it
    /// did not say. CockroachDB gives PostgreSQL's beside its own (captured: 9.5.0 in 19.1).
    pub fn own_version(session: &Session) -> Option<&str> {
        let own = session.parameter("crdb_version").and_then(|text| {
            let mut words = text.split(' ');
            words.find_map(|word| word.strip_prefix('v').filter(|v| v.contains('.')))
        });
        own.or_else(|| session.parameter("server_version"))
    }

    /// Without a query: a server that does not name itself is PostgreSQL.
    pub fn presumed(session: &Session) -> Product {
        Product::reported(session).unwrap_or_else(|| {
            let version = session.parameter("server_version").unwrap_or_default();
            Product::recognise(&format!("PostgreSQL {version}"))
        })
    }

    /// By the answer to `version()`, or what is in `crdb_version`.
    pub fn recognise(text: &str) -> Product {
        let found = |dialect, version| Product {
            dialect,
            known: true,
            version,
            text: text.to_owned(),
            missing: Vec::new(),
        };
        if other::named(text).is_some() {
            return Product {
                known: false,
                ..found(&OTHER, Version::default())
            };
        }
        // "CockroachDB CCL v22.2.0 (x86_64-pc-linux-gnu, built …)"; OSS and CCL are ways of building
        // it (captured: both words from one server of 19.1).
        if text.starts_with("CockroachDB ") {
            let version = text.split(' ').filter_map(|word| word.strip_prefix('v'));
            let version = version.map(Version::leading).find(|v| v.major > 0);
            return found(&COCKROACHDB, version.unwrap_or_default());
        }
        // "PostgreSQL 15.12-YB-2025.2.2.2-b0 on x86_64-pc-linux-gnu, compiled by …" (documented:
        // YugabyteDB's pages and articles).
        if let Some((_, version)) = text.split_once("-YB-") {
            return found(&YUGABYTEDB, Version::leading(version));
        }
        match text.strip_prefix("PostgreSQL ") {
            Some(version) => found(&POSTGRESQL, Version::leading(version)),
            None => Product {
                known: false,
                ..found(&POSTGRESQL, Version::default())
            },
        }
    }

    /// What the user learns when the product is not known.
    pub fn warning(&self) -> Option<String> {
        if self.is_other() {
            return Some(self.is_no_postgresql());
        }
        (!self.known).then(|| as_postgresql(&self.text))
    }

    /// Name and version, of PostgreSQL itself with the minor version that its sessions report.
    pub fn with_minor(&self, session: &Session) -> String {
        if !self.known {
            return self.text.clone();
        }
        let version = if self.dialect.name == POSTGRESQL.name {
            let reported = session.parameter("server_version").unwrap_or_default();
            reported.split(' ').next().unwrap_or_default().to_owned()
        } else {
            self.version.to_string()
        };
        format!("{} {version}", self.dialect.title)
    }

    /// Whether it speaks the protocol, and its catalogues are not to be trusted.
    pub fn is_other(&self) -> bool {
        self.dialect.name == OTHER.name
    }

    /// Whether all clients share the one session that it has.
    pub fn has_one_session(&self) -> bool {
        pgdyno_session::is_pglite(&self.text)
    }

    /// Why rows cannot be copied in; `None` where they can.
    pub fn takes_no_copy(&self) -> Option<&'static str> {
        // Measured: pglite-socket 0.2 with 0.5.
        self.has_one_session()
            .then_some("PGlite takes no COPY from a socket")
    }

    fn is_no_postgresql(&self) -> String {
        let lacks = if self.missing.is_empty() {
            String::new()
        } else {
            format!("; it lacks {}", self.lacked())
        };
        format!(
            "{} is not PostgreSQL: scripts run, but figures from PostgreSQL's catalogues are missing{lacks}",
            self.title()
        )
    }

    /// What it was found to lack, for a line.
    fn lacked(&self) -> String {
        let (named, more) = self
            .missing
            .split_at(self.missing.len().min(LACKED_NAMED_MAX));
        match (named, more.len()) {
            ([], _) => "PostgreSQL's catalogues".to_owned(),
            (named, 0) => named.join(", "),
            (named, more) => format!("{} and {more} more", named.join(", ")),
        }
    }

    /// Why packs cannot be run here, with the way out; `None` where they can.
    pub fn takes_no_packs(&self) -> Option<(String, &'static str)> {
        let why = self.lacks_for("packs need")?;
        Some((why, "run scripts of your own: pgdyno run my.sql"))
    }

    /// Why what needs PostgreSQL ("packs need") cannot be had here; `None` where it can.
    pub fn lacks_for(&self, need: &str) -> Option<String> {
        self.is_other().then(|| {
            let (title, lacked) = (self.title(), self.lacked());
            format!("{need} features that {title} does not have: {lacked}")
        })
    }

    /// Why what is known of this version rests on documentation; `None` where the product has answered
    /// to pgdyno in it.
    pub fn untried(&self) -> Option<String> {
        let Some(until) = self.dialect.tried_until else {
            return Some(format!(
                "no {0} has answered to pgdyno yet: what it knows of {0} is documented or assumed",
                self.dialect.title
            ));
        };
        let is_tried = self.version.major < until.major
            || self.version <= until
            || until.minor == 0 && self.version.major == until.major;
        (self.known && !is_tried).then(|| {
            format!(
                "pgdyno was tried with {title} until {until}: what it knows of {version} is documented or \
                 assumed",
                title = self.dialect.title,
                version = self.version
            )
        })
    }

    /// Name and version, for people.
    pub fn title(&self) -> String {
        match self.known {
            true => format!("{} {}", self.dialect.title, self.version),
            false if self.is_other() => other::named(&self.text)
                .unwrap_or_else(|| "a server that speaks the protocol".to_owned()),
            false => self.text.clone(),
        }
    }

    /// Whether the version is this one or a later one.
    pub fn is_since(&self, since: Version) -> bool {
        self.version >= since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_what_it_says_of_itself() {
        let of = |text: &str| {
            let product = Product::recognise(text);
            assert_eq!(product.known, product.warning().is_none());
            (
                product.dialect.name,
                product.version.to_string(),
                product.known,
            )
        };
        let known = |name, version: &str| (name, version.to_owned(), true);
        assert_eq!(
            of("PostgreSQL 18.1 on x86_64-pc-linux-gnu, compiled by gcc"),
            known("postgresql", "18.1")
        );
        assert_eq!(
            of("PostgreSQL 19beta1 (Debian)"),
            known("postgresql", "19.0")
        );
        assert_eq!(
            of(
                "CockroachDB OSS v19.1.0-alpha.20190219-g30e3ac0fdd (x86_64-linux-gnu, built \
                2026/11/21 19:28:21, go1.19.8)"
            ),
            known("cockroachdb", "19.1")
        );
        assert_eq!(
            of("CockroachDB CCL v22.2.0 (x86_64-pc-linux-gnu)"),
            known("cockroachdb", "22.2")
        );
        assert_eq!(of("CockroachDB CCL dev"), known("cockroachdb", "0.0"));
        assert_eq!(
            of("PostgreSQL 11.2-YB-2.21.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang"),
            known("yugabytedb", "2.21")
        );
        assert_eq!(
            of("PostgreSQL 15.12-YB-2025.2.2.2-b0 on x86_64"),
            known("yugabytedb", "2025.2")
        );
        assert_eq!(
            of("PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB"),
            ("other", "0.0".to_owned(), false)
        );
        for strange in ["Greenmask 3", "", "PostgreSQL"] {
            assert_eq!(of(strange), ("postgresql", "0.0".to_owned(), false));
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let product = Product::recognise("CockroachDB CCL v19.2.10");
        assert!(product.is_since(Version::new(19, 2)) && product.is_since(Version::new(2, 1)));
        assert!(!product.is_since(Version::new(20, 1)));
        // Preview and stable releases of YugabyteDB count in one row: 2.25 before 2024.1.
        assert!(Version::new(2024, 1) > Version::new(2, 25));
    }
}
