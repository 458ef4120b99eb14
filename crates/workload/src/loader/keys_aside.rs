//! Foreign keys of tables that get many rows: the server would look up the key of each row by a trigger.
//! Without the key, and with it made again behind the rows, one join checks them all, in a third of the time.
//!
//! Only within a transaction, at whose end every key is there again, checked. Until then others wait for
//! both tables of a key. A load needs none of this: its keys come after its rows.

use std::collections::BTreeMap;

use pgdyno_database::admin;
use pgdyno_session::{Error, Session, quote_ident, quote_literal};

/// The check of a whole table is worth it when so many of its rows are new.
const NEW_SHARE_MIN: f64 = 0.25;

/// A key that is not there for now.
pub(super) struct Aside {
    table: String,
    name: String,
    definition: String,
}

/// Takes the foreign keys from these tables that this role may make again. `appended`: by table, its
/// rows before and afterwards.
///
/// # Errors
/// The catalog cannot be read, or the server refuses.
pub(super) fn take(
    session: &mut Session,
    appended: &BTreeMap<String, (u64, u64)>,
) -> Result<Vec<Aside>, Error> {
    let grows_much = |(before, after): (u64, u64)| {
        after.saturating_sub(before) as f64 >= NEW_SHARE_MIN * after as f64
    };
    let tables = appended.iter().filter(|(_, rows)| grows_much(**rows));
    let tables: Vec<String> = tables.map(|(name, _)| quote_literal(name)).collect();
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    // Who owns both tables may make the key again. A key of a partition is its parent's; one that is not
    // validated would not look at the new rows either when it is made again.
    let found = admin::rows(
        session,
        &format!(
            "SELECT r.relname, c.conname, pg_catalog.pg_get_constraintdef(c.oid) \
             FROM pg_catalog.pg_constraint c \
             JOIN pg_catalog.pg_class r ON r.oid = c.conrelid \
             JOIN pg_catalog.pg_class f ON f.oid = c.confrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace \
             WHERE c.contype = 'f' AND c.convalidated AND c.conparentid = 0 AND n.nspname = current_schema() \
             AND r.relname IN ({}) AND pg_catalog.pg_has_role(r.relowner, 'usage') \
             AND pg_catalog.pg_has_role(f.relowner, 'usage') ORDER BY r.relname, c.conname",
            tables.join(", ")
        ),
    )?;
    let mut taken = Vec::new();
    for row in found {
        let mut row = row.into_iter().flatten();
        let (Some(table), Some(name), Some(definition)) = (row.next(), row.next(), row.next())
        else {
            continue;
        };
        let (of, key) = (quote_ident(&table), quote_ident(&name));
        admin::run(session, &format!("ALTER TABLE {of} DROP CONSTRAINT {key}"))?;
        taken.push(Aside {
            table,
            name,
            definition,
        });
    }
    Ok(taken)
}

/// Makes the keys again, by which all rows are checked.
///
/// # Errors
/// A row has no partner, or the server refuses.
pub(super) fn put_back(session: &mut Session, taken: &[Aside]) -> Result<(), Error> {
    taken.iter().try_for_each(|key| {
        let (table, name) = (quote_ident(&key.table), quote_ident(&key.name));
        let definition = &key.definition;
        admin::run(
            session,
            &format!("ALTER TABLE {table} ADD CONSTRAINT {name} {definition}"),
        )
    })
}
