//! Foreign keys that hold for new rows only: the server has not looked at those that were there.

use pgdyno_database::admin;
use pgdyno_session::{Error, Session, quote_ident, quote_literal};

const NAMED_MAX: usize = 5;

/// What to say of those of these tables in the session's first schema; `None` where all are validated.
///
/// Captured (CockroachDB 19.1): `pg_constraint` says so, and ALTER TABLE validates none. Documented
/// (release notes of 19.2): from then on it does.
///
/// # Errors
/// The catalog cannot be read.
pub fn unvalidated<'a>(
    session: &mut Session,
    tables: impl Iterator<Item = &'a str>,
) -> Result<Option<String>, Error> {
    let tables: Vec<String> = tables.map(quote_literal).collect();
    let found = admin::rows(
        session,
        &format!(
            "SELECT r.relname, c.conname FROM pg_catalog.pg_constraint c \
             JOIN pg_catalog.pg_class r ON r.oid = c.conrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace \
             WHERE c.contype = 'f' AND NOT c.convalidated AND n.nspname = current_schema() \
             AND r.relname IN ({}) ORDER BY r.relname, c.conname",
            tables.join(", ")
        ),
    )?;
    let found: Vec<(String, String)> = found
        .into_iter()
        .filter_map(|row| {
            let mut row = row.into_iter().flatten();
            row.next().zip(row.next())
        })
        .collect();
    Ok(text(&found))
}

/// What to say of keys that are not validated: table and name of each.
pub fn text(found: &[(String, String)]) -> Option<String> {
    let (table, key) = found.first()?;
    let named = found.iter().take(NAMED_MAX).map(|(_, key)| key.as_str());
    let mut named: Vec<&str> = named.collect();
    if found.len() > NAMED_MAX {
        named.push("…");
    }
    Some(format!(
        "foreign keys that are not validated: {}: the server checks new rows by them, has not checked \
         those that are there, and its planner may not rely on them; ALTER TABLE {} VALIDATE \
         CONSTRAINT {} does",
        named.join(", "),
        quote_ident(table),
        quote_ident(key)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_named_with_what_validates_one() {
        let keys = |count: usize| -> Vec<_> {
            (0..count)
                .map(|n| ("t".to_owned(), format!("k{n}")))
                .collect()
        };
        assert_eq!(text(&keys(0)), None);
        let two = text(&keys(2)).unwrap();
        assert!(two.contains("not validated: k0, k1: "), "{two}");
        assert!(
            two.contains("ALTER TABLE \"t\" VALIDATE CONSTRAINT \"k0\""),
            "{two}"
        );
        assert!(text(&keys(9)).unwrap().contains("k4, …: "));
    }
}
