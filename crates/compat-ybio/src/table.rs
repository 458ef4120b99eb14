//! The table that is there: whether pgdyno's setup made it, ybio's, or something else.

use pgdyno_database::dialect::Product;
use pgdyno_database::{admin, trouble};
use pgdyno_session::{Error, Session, quote_literal};
use pgdyno_spec::Failure;
use pgdyno_workload::mark::Mark;

use super::PACK;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableMaker {
    /// `setup` here, with this `tab_rows`.
    Pgdyno {
        /// As it was given: rows that are no whole batch are not there.
        tab_rows: u64,
    },
    /// The `setup` of ybio.sql: the columns are its.
    Ybio,
    Others,
}

/// Who made the table of this name; `None`: there is none.
///
/// # Errors
/// The server does not answer.
pub fn maker(session: &mut Session, table: &str) -> Result<Option<TableMaker>, Failure> {
    find(session, table).map_err(|e| trouble::server(&e, "could not look for ybio's table"))
}

fn find(session: &mut Session, table: &str) -> Result<Option<TableMaker>, Error> {
    /// As the catalog tells them.
    const COLUMNS: &str = "mykey bigint, scratch bigint, filler character";
    let dialect = Product::ask(session)?.dialect;
    let literal = quote_literal(table);
    let rows = admin::rows(session, &dialect.find_tables.replace("{names}", &literal))?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let comment = row.get(1).and_then(Option::as_deref);
    if let Some(mark) = comment.and_then(Mark::read) {
        let tab_rows = mark
            .params
            .get("tab_rows")
            .and_then(|rows| rows.parse().ok());
        return Ok(Some(match tab_rows {
            Some(tab_rows) if mark.pack == PACK => TableMaker::Pgdyno { tab_rows },
            _ => TableMaker::Others,
        }));
    }
    let columns = format!(
        "SELECT string_agg(column_name || ' ' || data_type, ', ' ORDER BY ordinal_position) \
         FROM information_schema.columns \
         WHERE table_schema = current_schema() AND table_name = {literal}"
    );
    let columns = admin::value(session, &columns)?;
    Ok(Some(if columns.as_deref() == Some(COLUMNS) {
        TableMaker::Ybio
    } else {
        TableMaker::Others
    }))
}
