//! Whether the tables that are there will do for a run, and with which parameters; what may be dropped
//! for a load. Changes nothing.

use std::collections::BTreeMap;

use pgdyno_session::Session;

use super::{How, Loaded, Request, there};
use crate::manifest::Table;
use crate::mark::{self, Mark};
use crate::pack::Pack;
use crate::params::Params;
use crate::state::{self, ExistingTable, State};
use crate::{counting, own_data, scale};
use pgdyno_database::admin;
use pgdyno_database::dialect::Dialect;
use pgdyno_database::trouble;
use pgdyno_spec::Failure;

/// What tables that are there tell of themselves.
pub(super) struct Seen {
    /// Parameters that they were made with, by their marks or by what they have in them.
    pub(super) values: BTreeMap<String, String>,
    /// The pack's tables as they are to be, with these parameters.
    pub(super) tables: Vec<Table>,
}

impl Seen {
    pub(super) fn of(
        session: &mut Session,
        dialect: &Dialect,
        pack: &Pack,
        params: &Params,
        found: &[ExistingTable],
    ) -> Result<Seen, Failure> {
        let mark = found.iter().find_map(|f| f.mark.as_ref());
        let mut all = params.or_defaults(pack);
        let mut values = match mark {
            Some(mark) => mark.params.clone(),
            None if found.is_empty() => BTreeMap::new(),
            None => scale::recognised(session, dialect, pack, &all)
                .map_err(|e| trouble::server(&e, "could not read how the tables were created"))?,
        };
        if params.are_trusted() {
            values.retain(|name, _| params.given(name).is_none());
        }
        all.extend(values.clone());
        let tables = pack.made_tables(&all).map_err(Failure::new)?;
        Ok(Seen { values, tables })
    }
}

/// `None`: a load is needed and allowed. Otherwise the tables as they are, or why they will not do.
pub(super) fn check(
    session: &mut Session,
    dialect: &Dialect,
    request: &Request<'_>,
    found: &[ExistingTable],
) -> Result<Option<Loaded>, Failure> {
    let pack = request.pack;
    let name = pack.name();
    not_of_a_notebook(session, found)?;
    let seen = Seen::of(session, dialect, pack, request.params, found)?;
    let state = state::judge(pack, &seen.tables, found);
    let wants_new = request.replace || !request.drop_tables.is_empty();
    if matches!(state, State::Nothing | State::Interrupted(_)) || wants_new {
        may_drop(request, found, &state)?;
        return Ok(None);
    }
    let (how, mark) = match state {
        State::Ours(mark) => (How::LoadedBefore, Some(mark)),
        State::Others => (How::MadeByOthers, None),
        State::Unusable(why) => {
            return Err(Failure::new(format!(
                "pack {name} cannot use the tables in this database: {why}"
            ))
            .hint(way_to_drop(request, found)));
        }
        // Dealt with above.
        State::Nothing | State::Interrupted(_) => return Ok(None),
    };
    let variables = variables_of(session, dialect, request, &seen, found)?;
    let mut there = there(variables, how);
    there.remarks = remarks(pack, &seen, mark.as_ref());
    Ok(Some(there))
}

/// `pgdyno store init` made a notebook in this schema.
const HAS_NOTEBOOK: &str = "SELECT count(*) FROM information_schema.tables \
    WHERE table_schema = current_schema() AND table_name = 'notebook'";

/// A notebook has names that packs have, too (`history`): its tables, which name their trial, are neither used nor
/// dropped, whatever was asked.
fn not_of_a_notebook(session: &mut Session, found: &[ExistingTable]) -> Result<(), Failure> {
    let names_a_trial =
        |f: &&ExistingTable| f.mark.is_none() && f.columns.iter().any(|c| c == "trial");
    let Some(its) = found.iter().find(names_a_trial) else {
        return Ok(());
    };
    let notebooks = admin::value(session, HAS_NOTEBOOK)
        .map_err(|e| trouble::server(&e, "could not read the owner of the tables"))?;
    if notebooks.as_deref() == Some("0") {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the table {} of this database is a notebook's (pgdyno store init)",
        its.name
    ))
    .hint("load into another database: --url …/NAME, or PGDATABASE"))
}

/// Whether a load that was interrupted, if there is one, may be taken up. Hours may have gone into it: one with
/// other parameters takes its place only where that is said. Only who has the lock knows that it does not still
/// go on.
pub(super) fn may_take_up(request: &Request<'_>, found: &[ExistingTable]) -> Result<(), Failure> {
    let wants_new = request.replace || !request.drop_tables.is_empty();
    let mut marks = found.iter().filter_map(|found| found.mark.as_ref());
    let interrupted = marks.find(|mark| mark.state == mark::State::Loading);
    let Some(mark) = interrupted.filter(|_| !wants_new) else {
        return Ok(());
    };
    let pack = request.pack;
    let values = request.params.or_defaults(pack);
    let other = mark.params.iter().find_map(|(name, there)| {
        let asked = values.get(name)?;
        (!scale::same(there, asked)).then_some((name, there, asked))
    });
    let Some((name, there, asked)) = other else {
        return Ok(());
    };
    let all: String = mark
        .params
        .iter()
        .map(|(name, value)| format!(" --param {name}={value}"))
        .collect();
    Err(Failure::new(format!(
        "a load of {} with {name} = {there}, not {asked}, was interrupted here: its tables are incomplete",
        pack.name()
    ))
    .hint(format!(
        "`pgdyno load {}{all}` continues that load",
        pack.place
    ))
    .hint(way_to_drop(request, found)))
}

/// The parameters that the tables themselves tell.
pub(super) fn loaded(
    session: &mut Session,
    dialect: &Dialect,
    pack: &Pack,
) -> Result<BTreeMap<String, String>, Failure> {
    scale::of_pack(session, dialect, pack).map_err(|e| {
        trouble::server(
            &e,
            "could not read the parameters that the tables were loaded with",
        )
    })
}

/// Every parameter with the value that scripts are to see on the tables that are there, or why they
/// will not do.
fn variables_of(
    session: &mut Session,
    dialect: &Dialect,
    request: &Request<'_>,
    seen: &Seen,
    found: &[ExistingTable],
) -> Result<BTreeMap<String, String>, Failure> {
    let pack = request.pack;
    let name = pack.name();
    let loaded = loaded(session, dialect, pack)?;
    let mut variables = BTreeMap::new();
    for param in pack.params_on(dialect.name) {
        let recorded = seen.values.get(&param.name);
        let of_tables = loaded.get(&param.name).or(recorded);
        let given = request.params.given(&param.name);
        let value = match (of_tables, given) {
            (Some(of_tables), Some(given)) if !scale::same(of_tables, given) => {
                return Err(Failure::new(format!(
                    "the tables of {name} are loaded with {p} = {of_tables}, not {given}",
                    p = param.name
                ))
                .hint(format!(
                    "leave out --param {}={given} to run on the existing tables",
                    param.name
                ))
                .hint(way_to_drop(request, found)));
            }
            (Some(of_tables), _) => {
                param.accept(of_tables).map_err(|why| {
                    Failure::new(format!(
                        "the tables of {name} exist with {p} = {of_tables}: {why}",
                        p = param.name
                    ))
                    .hint(way_to_drop(request, found))
                })?;
                of_tables.clone()
            }
            (None, Some(given)) => given.to_owned(),
            (None, None) => request.params.default_of(param),
        };
        variables.insert(param.name.clone(), value);
    }
    for param in pack.params_on(dialect.name) {
        if let (Some(file), None) = (&param.count_by, request.params.given(&param.name)) {
            let count = counting::count(session, pack.tables_pack(), param, file, &variables)?;
            variables.insert(param.name.clone(), count.to_string());
        }
    }
    Ok(variables)
}

/// What the user should know of tables that will do.
fn remarks(pack: &Pack, seen: &Seen, mark: Option<&Mark>) -> Vec<String> {
    let name = pack.name();
    let mut remarks = Vec::new();
    if mark.is_none() && !seen.values.is_empty() {
        let seen = seen
            .values
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        let seen: Vec<String> = seen.collect();
        remarks.push(format!(
            "the tables of {name} were not created by pgdyno; found: {}",
            seen.join(", ")
        ));
    }
    if let Some(mark) = mark
        && mark.pack_sha256 != pack.tables_pack().content_hash()
    {
        remarks.push(format!(
            "the tables were loaded by another version of pack {} (pgdyno {})",
            mark.pack, mark.pgdyno
        ));
    }
    if let (Some(mark), Some(folder)) = (mark, &pack.tables_pack().folder) {
        let files = mark.files.iter();
        let others = files.filter(|(name, then)| own_data::is_other(folder, name, then));
        remarks.extend(others.map(|(name, _)| {
            format!("{name} is not the file any more from which the tables were loaded")
        }));
    }
    remarks
}

/// Every table that is there must be pgdyno's, or named by the user.
fn may_drop(request: &Request<'_>, found: &[ExistingTable], state: &State) -> Result<(), Failure> {
    let allowed = |f: &ExistingTable| {
        let ours = f.mark.is_some() && (request.replace || matches!(state, State::Interrupted(_)));
        ours || request.drop_tables.contains(&f.name)
    };
    let kept: Vec<_> = found
        .iter()
        .filter(|f| !allowed(f))
        .map(|f| f.name.as_str())
        .collect();
    if kept.is_empty() {
        return Ok(());
    }
    let foreign = found.iter().any(|f| f.mark.is_none() && !allowed(f));
    let why = if foreign {
        "pgdyno did not make them"
    } else {
        "nothing said that they may go"
    };
    Err(
        Failure::new(format!("will not drop {}: {why}", kept.join(", ")))
            .hint(way_to_drop(request, found)),
    )
}

/// The command that makes room.
fn way_to_drop(request: &Request<'_>, found: &[ExistingTable]) -> String {
    let foreign: Vec<_> = found
        .iter()
        .filter(|f| f.mark.is_none())
        .map(|f| f.name.as_str())
        .collect();
    let ours = if foreign.len() < found.len() {
        " --replace"
    } else {
        ""
    };
    let mut options: String = request
        .params
        .all_given()
        .map(|(name, value)| format!(" --param {name}={value}"))
        .collect();
    options += ours;
    if !foreign.is_empty() {
        options += &format!(" --drop-tables {}", foreign.join(","));
    }
    format!(
        "`pgdyno load {}{options}` drops the existing tables and loads again",
        request.pack.place
    )
}
