//! Settings for the statements of a session, which never stay on a server session that others get, too.
//!
//! A pooler in transaction mode runs each transaction on any of the server's sessions. There a setting goes
//! along with each statement and ends with its transaction; on a session of the client's own it is set once.

use crate::quote::quote_literal;
use crate::{Error, Session};
use pgdyno_wire::backend::TransactionStatus;

/// A mark in a session's own queries, by which pg_stat_statements' readers leave it out.
pub const MARK: &str = "/* pgdyno observer */";

/// The process that PGlite names, which has none (measured: 0.5, as Emscripten's C library has it).
const PROCESS_OF_PGLITE: i32 = 42;

/// Whether a server that says this of itself (`version()`) is PGlite.
pub fn is_pglite(version: &str) -> bool {
    version.contains("PGlite") || version.contains("compiled by emcc")
}

/// Settings that go along with statements.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    /// Whether the server's session is this client's alone, once that was asked.
    is_own: Option<bool>,
    /// Whether another process than the one announced answers.
    is_shared: bool,
    settings: Vec<(String, String)>,
}

impl Brought {
    fn set(&mut self, settings: &[(&str, &str)]) {
        for (name, value) in settings {
            self.settings.retain(|(known, _)| known != name);
            self.settings
                .push(((*name).to_owned(), (*value).to_owned()));
        }
    }

    /// Statements that set them for a transaction, and how many; they take no snapshot, so that an
    /// isolation level can still be set behind them.
    pub(crate) fn statements(&self) -> (String, usize) {
        (local(&self.settings), self.settings.len())
    }

    /// A query that does so, for the extended query protocol, in which SET LOCAL warns.
    pub(crate) fn query(&self) -> String {
        let call = |(name, value): &(String, String)| {
            let (name, value) = (quote_literal(name), quote_literal(value));
            format!("pg_catalog.set_config({name}, {value}, true)")
        };
        let calls: Vec<String> = self.settings.iter().map(call).collect();
        format!("SELECT {MARK} {}", calls.join(", "))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }
}

fn local<N: AsRef<str>, V: AsRef<str>>(settings: &[(N, V)]) -> String {
    let set = |(name, value): &(N, V)| {
        let (name, value) = (name.as_ref(), literal(value.as_ref()));
        format!("SET {MARK} LOCAL {name} = {value}; ")
    };
    settings.iter().map(set).collect()
}

/// A value as SET has it: CockroachDB takes no text where it wants a number (captured: 19.1), PostgreSQL takes both.
fn literal(value: &str) -> String {
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        value.to_owned()
    } else {
        quote_literal(value)
    }
}

/// Whether a server refuses this statement together with others.
fn must_be_alone(sql: &str) -> bool {
    let beginning: String = sql.chars().take(200).collect();
    let text = beginning.to_ascii_uppercase();
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut word = || words.find(|word| !word.is_empty()).unwrap_or_default();
    match word() {
        "VACUUM" | "CLUSTER" | "CALL" => true,
        "CREATE" | "DROP" if matches!(word(), "DATABASE" | "TABLESPACE") => true,
        "ALTER" if word() == "SYSTEM" => true,
        _ => text.contains("CONCURRENTLY"),
    }
}

impl Session {
    /// Whether the server's session is this client's alone: its process is the one that the client was
    /// got when it connected. Behind a pooler it is another. Asks the server once; where that does not say,
    /// nothing is proven.
    ///
    /// A server that tells no process, or 0, has no pooler before it, and is not asked: a pooler gives each
    /// client a key of its own to cancel by (seen: PgBouncer). CockroachDB tells none before 21.1
    /// (captured: 19.1), 0 in 21, and from 22.1 on what `pg_backend_pid()` gives (documented: its pull
    /// requests 60281, 67501 and 82952; psycopg's page on CockroachDB).
    ///
    /// PGlite runs all clients' statements on the only session that it has, whose process is each one's (measured: 0.5).
    pub fn is_own(&mut self) -> bool {
        if let Some(known) = self.brought.is_own {
            return known;
        }
        let reported = self.backend_pid();
        let process = match reported {
            0 => None,
            _ => self.process(),
        };
        let is_own = (reported == 0 || process == Some(reported)) && !self.is_of_pglite();
        self.brought.is_own = Some(is_own);
        // CockroachDB names none, -1, in versions that name one (documented, as above).
        self.brought.is_shared =
            process.is_some_and(|process| ![-1, 0, reported].contains(&process));
        is_own
    }

    /// Whether it is known that another process serves it than the one announced: there is a pooler.
    pub fn is_pooled(&mut self) -> bool {
        !self.is_own() && self.brought.is_shared
    }

    /// Whether the server is PGlite.
    fn is_of_pglite(&mut self) -> bool {
        if self.backend_pid() != PROCESS_OF_PGLITE {
            return false;
        }
        let version = self.query_one_value(&format!("SELECT {MARK} pg_catalog.version()"));
        is_pglite(&version.ok().flatten().unwrap_or_default())
    }

    /// The process that the server names now; `None` where it does not.
    fn process(&mut self) -> Option<i32> {
        let asked = self.query_one_value(&format!("SELECT {MARK} pg_catalog.pg_backend_pid()"));
        let reported: i64 = asked.ok().flatten()?.parse().ok()?;
        // CockroachDB's is without a sign, and the protocol's has one.
        i32::try_from(reported)
            .ok()
            .or_else(|| u32::try_from(reported).ok().map(u32::cast_signed))
    }

    /// Has all that is asked from here on run with these settings (names and plain values): set once where
    /// the session [is the client's own](Session::is_own), else in the transaction of each request. Statements that a server
    /// takes in no transaction (VACUUM, CREATE DATABASE) run without them there.
    ///
    /// # Errors
    /// The server does not take one of them: none holds then.
    pub fn apply_settings(&mut self, settings: &[(&str, &str)]) -> Result<(), Error> {
        if settings.is_empty() {
            return Ok(());
        }
        if self.is_own() {
            let set =
                |(name, value): &(&str, &str)| format!("SET {MARK} {name} = {}", literal(value));
            let all: Vec<String> = settings.iter().map(set).collect();
            return self.simple_query(&all.join("; ")).map(drop);
        }
        self.simple_query(&format!("{}SELECT {MARK} 1", local(settings)))?;
        self.brought.set(settings);
        Ok(())
    }

    /// Has these settings be again what they are without [`Session::apply_settings`].
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn reset_settings(&mut self, names: &[&str]) -> Result<(), Error> {
        let known = &mut self.brought.settings;
        known.retain(|(name, _)| !names.contains(&name.as_str()));
        if names.is_empty() || self.brought.is_own != Some(true) {
            return Ok(());
        }
        let reset = |name: &&str| format!("RESET {name}");
        let all: Vec<String> = names.iter().map(reset).collect();
        self.simple_query(&all.join("; ")).map(drop)
    }

    /// Whether settings go along with this statement.
    pub(crate) fn brings_settings(&self, sql: &str) -> bool {
        !self.brought.is_empty()
            && self.transaction_status() == TransactionStatus::Idle
            && !must_be_alone(sql)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_transaction_takes_is_alone() {
        for sql in [
            "VACUUM ANALYZE t",
            " vacuum t",
            "CREATE DATABASE x",
            "create index concurrently i on t (a)",
            "ALTER SYSTEM SET a = 1",
            "CALL p()",
        ] {
            assert!(must_be_alone(sql), "{sql}");
        }
        for sql in [
            "CREATE TABLE database (a int)",
            "CHECKPOINT",
            "SELECT 1",
            "",
        ] {
            assert!(!must_be_alone(sql), "{sql}");
        }
    }
}
