//! Whether a server that says it is PostgreSQL is one: what its catalogues and functions answer.
//!
//! Many servers speak PostgreSQL's protocol and say `PostgreSQL …` to `version()` for clients' sake. Each fact is
//! an expression that is true on every PostgreSQL from 9.5 on, for every role.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pgdyno_session::{Error, MARK, Session};

use crate::admin;

/// What PostgreSQL has: for people, and as an expression.
const FACTS: &[(&str, &str)] = &[
    ("pg_backend_pid()", "pg_catalog.pg_backend_pid() > 0"),
    (
        "current_setting()",
        "pg_catalog.current_setting('server_version_num')::int > 90000",
    ),
    (
        "pg_settings",
        "EXISTS (SELECT 1 FROM pg_catalog.pg_settings WHERE name = 'server_version_num')",
    ),
    (
        "pg_class",
        "EXISTS (SELECT 1 FROM pg_catalog.pg_class WHERE oid = 'pg_catalog.pg_class'::regclass)",
    ),
    // Reported: immudb answers queries of catalogues with rows of its own, whatever is asked for.
    (
        "catalogues to be believed",
        "NOT EXISTS (SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'pgdyno has no such table')",
    ),
    (
        "pg_attribute",
        "EXISTS (SELECT 1 FROM pg_catalog.pg_attribute \
         WHERE attrelid = 'pg_catalog.pg_class'::regclass AND attname = 'relname')",
    ),
    (
        "to_regclass()",
        "pg_catalog.to_regclass('pg_catalog.pg_class') = 'pg_catalog.pg_class'::regclass \
         AND pg_catalog.to_regclass('pgdyno_has_no_such_table') IS NULL",
    ),
    (
        "comments on tables",
        "pg_catalog.obj_description('pg_catalog.pg_class'::regclass, 'pg_class') IS NULL",
    ),
    (
        "pg_database",
        "EXISTS (SELECT 1 FROM pg_catalog.pg_database \
         WHERE datname = pg_catalog.current_database())",
    ),
    (
        "pg_stat_activity",
        "EXISTS (SELECT 1 FROM pg_catalog.pg_stat_activity WHERE pid = pg_catalog.pg_backend_pid())",
    ),
    (
        "pg_locks",
        "EXISTS (SELECT 1 FROM pg_catalog.pg_locks WHERE pid = pg_catalog.pg_backend_pid())",
    ),
    (
        "pg_relation_size()",
        "pg_catalog.pg_relation_size('pg_catalog.pg_class') > 0",
    ),
    ("integer division", "7 / 2 = 3"),
];

/// What was found, by address and what the server said of itself.
static FOUND: Mutex<BTreeMap<(String, String), Vec<&str>>> = Mutex::new(BTreeMap::new());

/// What of PostgreSQL this server lacks, by name; nothing: it is PostgreSQL, as far as it can be seen. Asks once
/// for each address that says this `text` of itself.
///
/// # Errors
/// The connection is lost.
pub(super) fn missing(session: &mut Session, text: &str) -> Result<Vec<&'static str>, Error> {
    let key = (session.candidate().to_string(), text.to_owned());
    let known = |key| {
        let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        found.get(key).cloned()
    };
    if let Some(missing) = known(&key) {
        return Ok(missing);
    }
    let missing = ask(session)?;
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.insert(key, missing.clone());
    Ok(missing)
}

fn ask(session: &mut Session) -> Result<Vec<&'static str>, Error> {
    let all: Vec<&str> = FACTS.iter().map(|(_, fact)| *fact).collect();
    if holds(session, &all.join(" AND "))? == Some(true) {
        return Ok(Vec::new());
    }
    let mut missing = Vec::new();
    for (name, fact) in FACTS {
        if holds(session, fact)? == Some(false) {
            missing.push(*name);
        }
    }
    Ok(missing)
}

/// Whether the expression is true there; `None` where the server does not say, for a reason that has nothing to do
/// with the question.
fn holds(session: &mut Session, expression: &str) -> Result<Option<bool>, Error> {
    let asked = admin::value(session, &format!("SELECT {MARK} {expression}"));
    match asked {
        Ok(answer) => Ok(Some(answer.as_deref() == Some("t"))),
        Err(Error::Server(e)) if !session.is_broken() => {
            // Rights, resources, an operator's doing, a transaction that others block.
            let says_nothing = ["42501", "25", "28", "40", "53", "55", "57", "58"];
            let is_one = says_nothing
                .iter()
                .any(|class| e.sqlstate().starts_with(class));
            Ok((!is_one).then_some(false))
        }
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_postgresql_has_all_of_them_and_each_can_be_missing() {
        let server = pgdyno_testkit::postgres();
        let info = pgdyno_session::resolve(
            &pgdyno_session::Given::target(server.address().url()),
            &pgdyno_session::Env::empty(),
        );
        let candidates = info.expect("a URL").candidates().expect("an address");
        let mut session = Session::connect(&candidates.list, None).expect("a session");
        for (name, fact) in FACTS {
            let answer = holds(&mut session, fact).expect("an answer");
            assert_eq!(answer, Some(true), "{name}");
        }
        assert_eq!(ask(&mut session).expect("an answer"), [""; 0]);
        assert_eq!(
            holds(&mut session, "1 = 2").expect("an answer"),
            Some(false)
        );
        let unknown = holds(&mut session, "pg_catalog.no_such_function() > 0");
        assert_eq!(unknown.expect("an answer"), Some(false));
        // A right that is missing is no sign of another product.
        session
            .simple_query("CREATE ROLE pgdyno_proof; SET ROLE pgdyno_proof")
            .expect("a role");
        let hidden = holds(&mut session, "EXISTS (SELECT 1 FROM pg_catalog.pg_authid)");
        assert_eq!(hidden.expect("an answer"), None);
        assert_eq!(ask(&mut session).expect("an answer"), [""; 0]);
        session
            .simple_query("RESET ROLE; DROP ROLE pgdyno_proof")
            .expect("gone");
        session.close();
    }
}
