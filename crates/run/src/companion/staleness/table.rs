//! The tables that stamps lie in, a row for each session.

use std::time::SystemTime;

use pgdyno_database::dialect::Dialect;
use pgdyno_database::open::Endpoint;
use pgdyno_database::{admin, trouble};
use pgdyno_session::{Session, quote_literal};
use pgdyno_spec::Failure;

/// So many rows are inserted at once.
const ROWS_MAX: usize = 1000;

/// What tells the stamps of this trial from those of another, which a standby may still show.
pub fn mark() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_micros() as i64
}

/// Makes the table, with rows of these sessions. One of that name that is another's is left alone.
///
/// # Errors
/// It is another's, or cannot be made.
pub fn make(
    session: &mut Session,
    dialect: &Dialect,
    table: &str,
    (sessions, mark): (u32, i64),
) -> Result<(), Failure> {
    let find = dialect
        .find_table
        .replace("{literal}", &quote_literal(table));
    let failed = |e| {
        trouble::server(&e, &format!("could not make the table {table} for stamps")).hint(
            "--staleness needs a user that may create a table and write to it; or run without it",
        )
    };
    if admin::value(session, &find).map_err(failed)?.is_some() {
        let sql = format!("SELECT session, mark, stamp FROM {table} LIMIT 0");
        admin::run(session, &sql).map_err(|e| {
            trouble::server(&e, &format!("the table {table} is not pgdyno's"))
                .hint("rename it, or run without --staleness")
        })?;
        admin::run(session, &format!("DROP TABLE {table}")).map_err(failed)?;
    }
    let sql = format!("CREATE TABLE {table} (session int PRIMARY KEY, mark bigint, stamp bigint)");
    admin::run(session, &sql).map_err(failed)?;
    let rows: Vec<String> = (0..sessions).map(|n| format!("({n}, {mark}, 0)")).collect();
    for rows in rows.chunks(ROWS_MAX) {
        let sql = format!("INSERT INTO {table} VALUES {}", rows.join(", "));
        admin::run(session, &sql).map_err(failed)?;
    }
    Ok(())
}

/// Drops it. What is left of an earlier trial is dropped by the next one.
pub fn drop(primary: &Endpoint, table: &str) {
    if let Ok(mut session) = primary.connect() {
        let _ = admin::run(&mut session, &format!("DROP TABLE IF EXISTS {table}"));
    }
}
