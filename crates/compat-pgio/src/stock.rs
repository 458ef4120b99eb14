//! Tables that pgio's own setup.sh made: known again by their columns, so that a setup may replace
//! them as pgio's would.

use pgdyno_database::dialect::Product;
use pgdyno_database::{admin, trouble};
use pgdyno_session::{Session, quote_literal};
use pgdyno_spec::Failure;
use pgdyno_workload::mark::Mark;

use super::PREFIX;

/// As the catalog tells them.
const COLUMNS: &str = "mykey bigint, scratch bigint, filler character 1024";

/// The names of those that are there and do not bear pgdyno's mark, of so many tables and the base.
///
/// # Errors
/// The server does not answer.
pub fn find(session: &mut Session, tables: u64) -> Result<Vec<String>, Failure> {
    let ask = |e| trouble::server(&e, "could not look for pgio's tables");
    let dialect = Product::ask(session).map_err(ask)?.dialect;
    let names = (1..=tables).map(|table| format!("{PREFIX}{table}"));
    let names = names.chain([format!("{PREFIX}_base")]);
    let names: Vec<String> = names.map(|name| quote_literal(&name)).collect();
    let names = names.join(", ");
    let there = dialect.find_tables.replace("{names}", &names);
    let there = admin::rows(session, &there).map_err(ask)?;
    let is_foreign = |row: &Vec<Option<String>>| {
        let comment = row.get(1).and_then(Option::as_deref);
        comment.and_then(Mark::read).is_none()
    };
    let foreign = there.into_iter().filter(is_foreign);
    let mut foreign: Vec<String> = foreign.filter_map(|row| row.into_iter().next()?).collect();
    foreign.dedup();
    let columns = format!(
        "SELECT table_name, string_agg(column_name || ' ' || data_type || \
         coalesce(' ' || character_maximum_length::text, ''), ', ' ORDER BY ordinal_position) \
         FROM information_schema.columns WHERE table_schema = current_schema() \
         AND table_name IN ({names}) GROUP BY table_name"
    );
    let columns = admin::rows(session, &columns).map_err(ask)?;
    foreign.retain(|name| {
        let mut rows = columns.iter();
        rows.any(|row| {
            let of = |at: usize| row.get(at).and_then(Option::as_deref);
            of(0) == Some(name) && of(1) == Some(COLUMNS)
        })
    });
    Ok(foreign)
}
