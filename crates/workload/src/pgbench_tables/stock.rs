//! Tables that `pgbench -i` made: known again by their columns, so that they may be replaced as
//! `pgbench -i` itself would.

use pgdyno_database::admin;
use pgdyno_session::{Error, Session, quote_literal};

use crate::pack::Pack;
use crate::state::ExistingTable;

/// Each table with its columns as the catalog tells them; from scale 20,000 on `aid` is a bigint.
const COLUMNS: [(&str, &str); 4] = [
    (
        "pgbench_accounts",
        "aid integer, bid integer, abalance integer, filler character(84)",
    ),
    (
        "pgbench_branches",
        "bid integer, bbalance integer, filler character(88)",
    ),
    (
        "pgbench_history",
        "tid integer, bid integer, aid integer, delta integer, \
         mtime timestamp without time zone, filler character(22)",
    ),
    (
        "pgbench_tellers",
        "tid integer, bid integer, tbalance integer, filler character(84)",
    ),
];

/// Whether `found`, the pack's tables, are exactly pgbench's: each with its columns, and none with a
/// comment, which pgbench does not write.
///
/// # Errors
/// The server does not answer.
pub(crate) fn are_stock(
    session: &mut Session,
    pack: &Pack,
    found: &[ExistingTable],
) -> Result<bool, Error> {
    let mut names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
    names.sort_unstable();
    if pack.tables_pack().name() != "tpcb" || names != COLUMNS.map(|(name, _)| name) {
        return Ok(false);
    }
    for (name, columns) in COLUMNS {
        let name = quote_literal(name);
        let sql = format!(
            "SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' \
             ORDER BY attnum) || coalesce(' -- ' || obj_description(to_regclass({name}), 'pg_class'), '') \
             FROM pg_attribute WHERE attrelid = to_regclass({name}) AND attnum > 0 \
             AND NOT attisdropped"
        );
        let there = admin::value(session, &sql)?.unwrap_or_default();
        if there.replace("aid bigint", "aid integer") != columns {
            return Ok(false);
        }
    }
    Ok(true)
}
