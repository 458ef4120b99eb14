//! What is in the database before a load: none of the pack's tables, pgdyno's own, another
//! else's that fit, or something that does not fit. Looks, and changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_session::{Session, quote_literal};

use super::manifest::Table;
use super::mark::{self, Mark};
use super::pack::Pack;
use pgdyno_database::dialect::Dialect;
use pgdyno_database::{admin, trouble};
use pgdyno_spec::Failure;

/// One of the pack's tables as the server has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExistingTable {
    pub name: String,
    /// pgdyno's mark, if it bears one.
    pub mark: Option<Mark>,
    /// Its columns, in their order.
    pub columns: Vec<String>,
}

/// What the tables are, taken together.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// None of them is there.
    Nothing,
    /// All are there and bear the mark of a load that ended.
    Ours(Mark),
    /// A load of pgdyno's that leaves this mark was interrupted; what is there is its own.
    Interrupted(Mark),
    /// All are there with the right columns, made by something else, such as `pgbench -i`.
    Others,
    /// They cannot be used; why.
    Unusable(String),
}

/// Looks up the tables that the pack has with these parameters, and those that it had with the
/// parameters that their marks tell, through the session's search path.
///
/// # Errors
/// The parameters make no tables, or the server does not answer.
pub fn find(
    session: &mut Session,
    dialect: &Dialect,
    pack: &Pack,
    values: &BTreeMap<String, String>,
) -> Result<Vec<ExistingTable>, Failure> {
    let ask = |e| trouble::server(&e, "could not look for the workload's tables");
    let mut names = names(pack, values)?;
    let found = find_named(session, dialect, &names).map_err(ask)?;
    let Some(mark) = found.iter().find_map(|found| found.mark.as_ref()) else {
        return Ok(found);
    };
    let mut values = values.clone();
    values.extend(mark.params.clone());
    let before = self::names(pack, &values)?;
    let known = names.len();
    names.extend(
        before
            .into_iter()
            .filter(|name| !names.contains(name))
            .collect::<Vec<_>>(),
    );
    if names.len() == known {
        Ok(found)
    } else {
        find_named(session, dialect, &names).map_err(ask)
    }
}

fn names(pack: &Pack, values: &BTreeMap<String, String>) -> Result<Vec<String>, Failure> {
    let tables = pack.made_tables(values).map_err(Failure::new)?;
    Ok(tables.into_iter().map(|table| table.name).collect())
}

fn find_named(
    session: &mut Session,
    dialect: &Dialect,
    names: &[String],
) -> Result<Vec<ExistingTable>, pgdyno_session::Error> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let literals: Vec<_> = names.iter().map(|name| quote_literal(name)).collect();
    let query = dialect.find_tables.replace("{names}", &literals.join(", "));
    let mut found: Vec<ExistingTable> = Vec::new();
    for row in admin::rows(session, &query)? {
        let mut row = row.into_iter();
        let mut next = || row.next().flatten();
        let (name, comment, column) = (next().unwrap_or_default(), next(), next());
        if found.last().is_none_or(|table| table.name != name) {
            found.push(ExistingTable {
                name,
                mark: comment.as_deref().and_then(Mark::read),
                columns: Vec::new(),
            });
        }
        if let Some(table) = found.last_mut() {
            table.columns.extend(column);
        }
    }
    // In the pack's order.
    let place = |found: &ExistingTable| names.iter().position(|name| *name == found.name);
    found.sort_by_key(place);
    Ok(found)
}

/// Judges what was found; `tables` are the pack's with the columns that they are to have.
pub fn judge(pack: &Pack, tables: &[Table], found: &[ExistingTable]) -> State {
    if found.is_empty() {
        return State::Nothing;
    }
    let marks: Vec<_> = found.iter().filter_map(|f| f.mark.as_ref()).collect();
    let loading = marks.iter().find(|m| m.state == mark::State::Loading);
    if let (Some(mark), true) = (loading, marks.len() == found.len()) {
        return State::Interrupted((*mark).clone());
    }
    let there: BTreeMap<_, _> = found.iter().map(|f| (f.name.as_str(), f)).collect();
    for table in tables {
        let Some(found) = there.get(table.name.as_str()) else {
            let names: Vec<_> = there.keys().copied().collect();
            return State::Unusable(format!(
                "table {} is missing, while {} is there",
                table.name,
                names.join(", ")
            ));
        };
        let columns = || table.columns.iter().filter(|column| !column.hidden);
        let want: BTreeSet<_> = columns().map(|c| c.name.as_str()).collect();
        let have: BTreeSet<_> = found.columns.iter().map(String::as_str).collect();
        let fits = want == have || (table.more_columns && want.is_subset(&have));
        if !fits {
            let want: Vec<_> = columns().map(|c| c.name.as_str()).collect();
            return State::Unusable(format!(
                "table {} has the columns {}, but pack {} needs {}",
                table.name,
                found.columns.join(", "),
                pack.name(),
                want.join(", ")
            ));
        }
    }
    match marks.first() {
        Some(first) if marks.len() == found.len() && marks.iter().all(|m| m == first) => {
            State::Ours((*first).clone())
        }
        _ => State::Others,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped;

    fn mark(state: mark::State) -> Option<Mark> {
        Some(Mark {
            pack: "tpcb".to_owned(),
            state,
            params: BTreeMap::new(),
            pack_sha256: String::new(),
            pgdyno: String::new(),
            experiment: None,
            files: BTreeMap::new(),
        })
    }

    /// All tables of tpcb, each with this mark.
    fn all(mark: Option<Mark>) -> Vec<ExistingTable> {
        let tables = shipped::find("tpcb").unwrap().tables().to_vec();
        tables
            .into_iter()
            .map(|t| ExistingTable {
                name: t.name,
                mark: mark.clone(),
                columns: t.columns.into_iter().map(|c| c.name).collect(),
            })
            .collect()
    }

    fn state(found: &[ExistingTable]) -> State {
        let pack = shipped::find("tpcb").unwrap();
        judge(&pack, pack.tables(), found)
    }

    #[test]
    fn whole_sets_are_distinguished_by_their_marks() {
        assert_eq!(state(&[]), State::Nothing);
        assert_eq!(state(&all(None)), State::Others);
        assert!(matches!(
            state(&all(mark(mark::State::Complete))),
            State::Ours(_)
        ));
        assert!(matches!(
            state(&all(mark(mark::State::Loading))),
            State::Interrupted(_)
        ));
    }

    #[test]
    fn an_interrupted_load_needs_every_table_to_be_pgdynos() {
        let mut found = all(mark(mark::State::Loading));
        found[1].mark = mark(mark::State::Complete);
        assert!(matches!(state(&found), State::Interrupted(_)));
        found[1].mark = None;
        assert_eq!(state(&found), State::Others);
        found.pop();
        assert!(matches!(state(&found), State::Unusable(why) if why.contains("is missing")));
    }

    #[test]
    fn other_columns_are_named() {
        let mut found = all(None);
        found[0].columns.push("extra".to_owned());
        let State::Unusable(why) = state(&found) else {
            panic!("usable")
        };
        assert!(
            why.contains("pgbench_branches has the columns bid, bbalance, filler, extra"),
            "{why}"
        );
    }
}
