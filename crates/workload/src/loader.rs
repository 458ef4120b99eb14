//! Makes a pack's tables be there: looks, creates and fills what is missing, checks the rest. It
//! drops only what bears pgdyno's mark, or what the user names.
//!
//! A load is: tables created with the mark "loading" (one transaction); each table filled by one
//! COPY in a transaction that truncates it first, which lets PostgreSQL skip what it would write
//! for recovery and freeze the rows at once; keys; vacuum and analyze; rows counted where no single COPY
//! has counted them; the mark "complete". Wherever that ends early, the marks tell the next load what it finds. Other products
//! have their own facts for most of it: smaller transactions, settings, no vacuum. What they are is
//! reported with the load.
//!
//! Several processes can fill the tables that one of them loads: [`Others`].

use std::collections::BTreeMap;
use std::time::Duration;

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_session::{Error, Session};

use super::filling::{Connections, give_up_lost_client};
use super::manifest::Table;
use super::pack::Pack;
use super::params::Params;
use super::pgbench_tables;
use super::scale;
use super::state::{self, ExistingTable, State};
use super::stop::Stop;
use pgdyno_database::dialect::Product;
use pgdyno_database::open::Endpoint;
use pgdyno_database::{admin, trouble};
use pgdyno_model::Progress;
use pgdyno_spec::{Exit, Failure};

mod check;
mod fill;
mod grow;
mod inspect;
mod keys_aside;
mod load;
mod lock;
mod others;
mod resume;
mod settings;

use check::{Seen, check, may_take_up};
use load::Load;
use lock::{lock, unlock};

pub use grow::grow;
pub use others::{Others, Share, help};

#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub pack: &'a Pack,
    pub params: &'a Params,
    /// Drop pgdyno's own tables and load again.
    pub replace: bool,
    /// Tables that may be dropped whatever their mark.
    pub drop_tables: &'a [String],
    pub connections: Connections,
    /// The experiment that loads; its name goes into the tables' marks.
    pub experiment: Option<&'a str>,
}

impl<'a> Request<'a> {
    pub fn keeping(pack: &'a Pack, params: &'a Params) -> Self {
        Self {
            pack,
            params,
            replace: false,
            drop_tables: &[],
            connections: Connections::default(),
            experiment: None,
        }
    }
}

/// What an experiment may drop to load tables again with other parameters. Tables that it loaded
/// itself may always go; those that pgdyno did not make never, save with `replace_pgbench`.
#[derive(Debug, Clone, Copy)]
pub struct Leave<'a> {
    pub experiment: &'a str,
    /// Tables that pgdyno loaded for anything else may go.
    pub replace: bool,
    /// The tables of `pgbench -i` may go.
    pub replace_pgbench: bool,
}

/// Who watches, and who helps.
pub struct Watch<'a> {
    /// The places where the target is reached: several share the filling where rows are committed
    /// in batches.
    pub endpoints: &'a [Endpoint],
    pub progress: &'a mut dyn Progress,
    pub interrupts: Option<&'static Interrupts>,
    /// Other processes that fill the same tables.
    pub others: Option<&'a dyn Others>,
}

/// How the tables came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The pack has no tables.
    NoTables,
    /// They were loaded just now.
    LoadedNow,
    LoadedBefore,
    /// pgdyno loaded them earlier and has appended rows just now.
    Grown,
    /// Something else made them, such as `pgbench -i`.
    MadeByOthers,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// Every parameter of the pack with the value that its scripts are to see.
    pub variables: BTreeMap<String, String>,
    /// How the tables came to be.
    pub how: How,
    /// The rows of each table that was filled just now.
    pub rows: Vec<(String, u64)>,
    /// How long the load took.
    pub elapsed: Duration,
    /// How it was loaded, where that is not what PostgreSQL would get.
    pub means: Vec<String>,
    /// What the user should know; no obstacle.
    pub remarks: Vec<String>,
}

/// Loads what is missing, else checks that what is there fits; never drops anything but what an
/// interrupted load of pgdyno's left.
pub fn ensure_loaded(
    session: &mut Session,
    pack: &Pack,
    params: &Params,
    watch: &mut Watch<'_>,
) -> Result<Loaded, Failure> {
    load(session, &Request::keeping(pack, params), watch)
}

/// As [`ensure_loaded`]; tables that do not fit are loaded again if they may be dropped.
///
/// # Errors
/// Tables do not fit and may not be dropped, or the load fails.
pub fn load_as_asked(
    session: &mut Session,
    pack: &Pack,
    params: &Params,
    leave: Leave<'_>,
    watch: &mut Watch<'_>,
) -> Result<Loaded, Failure> {
    let giving_way = Look::at(session, pack, params)?.giving_way(session, pack, leave)?;
    let dropped: &[String] = match &giving_way {
        Some(tables) if tables.of_pgbench => &tables.names,
        _ => &[],
    };
    let request = Request {
        replace: giving_way.as_ref().is_some_and(|tables| !tables.of_pgbench),
        drop_tables: dropped,
        experiment: Some(leave.experiment),
        ..Request::keeping(pack, params)
    };
    let mut loaded = load(session, &request, watch)?;
    if !dropped.is_empty() {
        let names = dropped.join(", ");
        let remark = format!("replaced tables of pgbench -i: {names}");
        loaded.remarks.push(remark);
    }
    Ok(loaded)
}

/// What [`load_as_asked`] would do now; it drops and loads nothing. What it would drop, if anything.
///
/// # Errors
/// What [`load_as_asked`] would refuse: tables that do not fit and may not be dropped.
pub fn look_ahead(
    session: &mut Session,
    pack: &Pack,
    params: &Params,
    leave: Leave<'_>,
) -> Result<Option<GivingWay>, Failure> {
    let look = Look::at(session, pack, params)?;
    let giving_way = look.giving_way(session, pack, leave)?;
    if giving_way.is_some() {
        return Ok(giving_way);
    }
    look.params
        .check_on(pack, &look.product)
        .map_err(|why| Failure::with(Exit::Usage, why))?;
    let request = Request::keeping(pack, &look.params);
    check(session, look.product.dialect, &request, &look.found)?;
    Ok(None)
}

/// Tables that do not fit and may be dropped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GivingWay {
    pub names: Vec<String>,
    /// How they were loaded and by what, for people.
    pub loaded: String,
    /// Whether they are those of `pgbench -i`.
    of_pgbench: bool,
}

/// What is there before anything is dropped or loaded.
struct Look {
    product: Product,
    /// The user's, as this product takes them.
    params: Params,
    found: Vec<ExistingTable>,
}

impl Look {
    fn at(session: &mut Session, pack: &Pack, params: &Params) -> Result<Self, Failure> {
        let product = product_of(session)?;
        let params = params.clone().on(pack, product.dialect.name);
        let values = params.or_defaults(pack);
        let found = state::find(session, product.dialect, pack, &values)?;
        Ok(Self {
            product,
            params,
            found,
        })
    }

    /// The tables that do not fit and may be dropped; `None`: they fit, or nothing is to be dropped.
    fn giving_way(
        &self,
        session: &mut Session,
        pack: &Pack,
        leave: Leave<'_>,
    ) -> Result<Option<GivingWay>, Failure> {
        let (dialect, params, found) = (self.product.dialect, &self.params, &self.found);
        let seen = Seen::of(session, dialect, pack, params, found)?;
        let state = state::judge(pack, &seen.tables, found);
        let of_pgbench = match &state {
            State::Ours(_) | State::Interrupted(_) => false,
            State::Others
                if leave.replace_pgbench
                    && pgbench_tables::are_stock(session, pack, found).map_err(asking)? =>
            {
                true
            }
            State::Others | State::Nothing | State::Unusable(_) => {
                return Ok(None);
            }
        };
        // Tables that are incomplete tell nothing by what is in them, and no default is theirs.
        let (loaded, asked) = match &state {
            State::Interrupted(_) => (BTreeMap::new(), params.or_defaults(pack)),
            _ => {
                let given = params.all_given();
                let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
                let loaded = scale::of_pack(session, dialect, pack).map_err(asking)?;
                (loaded, given.collect())
            }
        };
        let other = asked.iter().find_map(|(name, asked)| {
            let of_tables = loaded.get(name).or(seen.values.get(name))?;
            (!scale::same(of_tables, asked)).then(|| (name, of_tables.clone(), asked))
        });
        let Some((name, of_tables, given)) = other else {
            return Ok(None);
        };
        let names: Vec<String> = found.iter().map(|found| found.name.clone()).collect();
        let (by, is_own) = match &state {
            State::Ours(mark) | State::Interrupted(mark) => match &mark.experiment {
                Some(experiment) if experiment == leave.experiment => {
                    ("by this experiment".to_owned(), true)
                }
                Some(experiment) => (format!("by experiment {experiment}"), false),
                None => ("by pgdyno, not by this experiment".to_owned(), false),
            },
            _ => ("by pgbench -i".to_owned(), true),
        };
        let loaded = format!("loaded with {name} = {of_tables} {by}");
        if is_own || leave.replace {
            return Ok(Some(GivingWay {
                names,
                loaded,
                of_pgbench,
            }));
        }
        Err(Failure::new(format!(
            "{name} = {given} needs other tables: {} would be dropped, {loaded}",
            names.join(", ")
        ))
        .hint("--replace drops them and loads them again")
        .hint(match &state {
            State::Interrupted(_) => {
                format!("or continue that load: params.{name} = {of_tables}")
            }
            _ => format!("or leave out params.{name} to run on the existing tables"),
        }))
    }
}

/// Every parameter as a run would see it: the user's value, that of the tables that are there, or the
/// default. Loads and checks nothing.
pub fn known(
    session: &mut Session,
    pack: &Pack,
    params: &Params,
) -> Result<BTreeMap<String, String>, Failure> {
    let dialect = product_of(session)?.dialect;
    let params = &params.clone().on(pack, dialect.name);
    let mut values = params.or_defaults(pack);
    let found = state::find(session, dialect, pack, &values)?;
    let seen = Seen::of(session, dialect, pack, params, &found)?;
    let of_tables = seen.values.into_iter();
    values.extend(of_tables.filter(|(name, _)| params.given(name).is_none()));
    Ok(values)
}

/// What the tables that are there say of the parameters that they were made with; empty where there are none.
///
/// # Errors
/// The server cannot be asked.
pub fn of_tables(session: &mut Session, pack: &Pack) -> Result<BTreeMap<String, String>, Failure> {
    let dialect = product_of(session)?.dialect;
    let params = &Params::default().on(pack, dialect.name);
    let found = state::find(session, dialect, pack, &params.or_defaults(pack))?;
    Ok(Seen::of(session, dialect, pack, params, &found)?.values)
}

/// The server's product.
///
/// # Errors
/// It cannot be asked, or lacks what every pack needs.
pub(crate) fn product_of(session: &mut Session) -> Result<Product, Failure> {
    let product = Product::ask(session).map_err(asking)?;
    match product.takes_no_packs() {
        None => Ok(product),
        Some((why, way_out)) => Err(Failure::new(why).hint(way_out)),
    }
}

fn asking(error: Error) -> Failure {
    trouble::server(&error, "could not look for the workload's tables")
}

/// As [`ensure_loaded`], with the user's leave to drop.
pub fn load(
    session: &mut Session,
    request: &Request<'_>,
    watch: &mut Watch<'_>,
) -> Result<Loaded, Failure> {
    let pack = request.pack;
    if pack.tables().is_empty() && request.drop_tables.is_empty() {
        return Ok(there(request.params.or_defaults(pack), How::NoTables));
    }
    let product = product_of(session)?;
    let params = request.params.clone().on(pack, product.dialect.name);
    let request = &Request {
        params: &params,
        ..*request
    };
    let values = params.or_defaults(pack);
    let tables = pack.made_tables(&values).map_err(Failure::new)?;
    refuse_unknown(request, &tables)?;
    if tables.is_empty() {
        return Ok(there(values, How::NoTables));
    }
    if let Some(query) = product.dialect.counts_database
        && admin::value(session, query).map_err(asking)?.as_deref() == Some("0")
    {
        let name = session.candidate().login.database();
        let failure = Failure::new(format!("database \"{name}\" does not exist"));
        return Err(failure.hint("create the database (CREATE DATABASE …), or name another"));
    }
    let reported = |mut loaded: Loaded| {
        loaded.remarks.extend(product.warning());
        loaded.variables.retain(|name, _| {
            pack.param(name)
                .is_none_or(|p| p.is_for(product.dialect.name))
        });
        loaded
    };
    params
        .check_on(pack, &product)
        .map_err(|why| Failure::with(Exit::Usage, why))?;
    let found = state::find(session, product.dialect, pack, &values)?;
    if let Some(loaded) = check(session, product.dialect, request, &found)? {
        return Ok(reported(loaded));
    }
    // Only one load at a time; the other one may have changed what is there.
    if watch.others.is_some() {
        give_up_lost_client(session, &product);
    }
    lock(session, pack, &product, watch)?;
    let found = state::find(session, product.dialect, pack, &values)?;
    let result = match check(session, product.dialect, request, &found) {
        Ok(None) => may_take_up(request, &found).and_then(|()| {
            let stop = Stop::new(watch.interrupts);
            Load {
                session,
                request,
                tables: &tables,
                product: &product,
                watch,
                stop,
                means: Vec::new(),
                resume: None,
                spread: None,
            }
            .run(&found)
        }),
        Ok(Some(loaded)) => Ok(loaded),
        Err(failure) => Err(failure),
    };
    unlock(session, product.dialect);
    result.map(reported)
}

/// Refuses to drop tables that the pack does not have.
fn refuse_unknown(request: &Request<'_>, tables: &[Table]) -> Result<(), Failure> {
    let is_unknown = |name: &&String| !tables.iter().any(|table| table.name == **name);
    let Some(name) = request.drop_tables.iter().find(is_unknown) else {
        return Ok(());
    };
    let tables: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
    Err(Failure::with(
        Exit::Usage,
        format!(
            "--drop-tables {name}: pack {} has no such table (it has: {})",
            request.pack.name(),
            tables.join(", ")
        ),
    ))
}

fn there(variables: BTreeMap<String, String>, how: How) -> Loaded {
    Loaded {
        variables,
        how,
        rows: Vec::new(),
        elapsed: Duration::ZERO,
        means: Vec::new(),
        remarks: Vec::new(),
    }
}
