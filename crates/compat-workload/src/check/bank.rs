//! `check bank`: whether no money was lost or made, and no account.

use std::collections::BTreeMap;

use pgdyno_database::{admin, trouble};
use pgdyno_output::remark;
use pgdyno_session::Session;
use pgdyno_spec::{Failure, text};

/// Does it.
///
/// # Errors
/// A sum that is not 0, missing accounts, or what failed.
pub(super) fn check(
    session: &mut Session,
    loaded: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let number = |name: &str| loaded.get(name).and_then(|value| value.parse::<u64>().ok());
    let (rows, tables) = (number("rows"), number("tables").unwrap_or(1));
    let names = (0..tables).map(|table| match tables {
        1 => "bank".to_owned(),
        _ => format!("bank_{table}"),
    });
    let mut wrong = Vec::new();
    for name in names {
        let query = format!("SELECT count(*), sum(balance), count(balance) FROM {name}");
        let asking = |e| trouble::server(&e, &format!("could not read the balances of {name}"));
        let found = admin::rows(session.unhurried(), &query).map_err(asking)?;
        let mut values = found.into_iter().flatten();
        let mut next = || values.next().flatten().unwrap_or_default();
        let (count, sum, balances) = (next(), next(), next());
        if rows.is_some_and(|rows| count.parse() != Ok(rows)) {
            let rows = text::count(rows.unwrap_or_default());
            wrong.push(format!(
                "{name} has {count} accounts, not the {rows} that were loaded"
            ));
        }
        if balances != count {
            wrong.push(format!("{name} has accounts without a balance"));
        }
        // 0 as a number of any type: 0, 0.0.
        if sum.parse() != Ok(0.0) {
            wrong.push(format!("the balances of {name} add up to {sum}, not to 0"));
        }
    }
    let mut wrong = wrong.into_iter();
    let Some(first) = wrong.next() else {
        let rows = text::count(rows.unwrap_or_default());
        remark!(
            "pgdyno: bank has all {rows} accounts in each of {tables} tables, and their balances add up to 0"
        );
        return Ok(());
    };
    let failure = Failure::new(first);
    Err(wrong.fold(failure, Failure::detail).hint(
        "a transfer was lost or done twice, or the table was changed by something else; load it \
         again: workload init bank --drop",
    ))
}
