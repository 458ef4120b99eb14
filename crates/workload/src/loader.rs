//! Makes a pack's tables be there: looks, creates and fills what is missing, checks the rest. It
//! drops only what bears pgdyno's mark, or what the user names.
//!
//! A load is: tables created with the mark "loading" (one transaction); each table filled by one
//! COPY in a transaction that truncates it first, which lets PostgreSQL skip what it would write
//! for recovery and freeze the rows at once; keys; vacuum and analyze; rows counted; the mark
//! "complete". Wherever that ends early, the marks tell the next load what it finds. Other products
//! have their own facts for most of it: smaller transactions, settings, no vacuum. What they are is
//! told with the load.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_session::{Session, quote_literal};
use sha2::{Digest, Sha256};

use super::filling::{Connections, Job};
use super::manifest::Table;
use super::mark::{self, Mark};
use super::pack::Pack;
use super::params::Params;
use super::recipe::{Form, Recipe, TableRows};
use super::spread::Spread;
use super::state::{self, Found, State};
use super::stop::Stop;
use super::{counting, scale};
use pgdyno_database::dialect::{Dialect, Filling, Product, TableFacts};
use pgdyno_database::open::Endpoint;
use pgdyno_database::{admin, trouble};
use pgdyno_model::{Exit, Failure, Progress, text};

/// Bytes of COPY data made between two looks at the clock and at interrupts.
const CHUNK_BYTES: usize = 64 << 10;

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The workload.
    pub pack: &'a Pack,
    /// What the user chose.
    pub params: &'a Params,
    /// Drop pgdyno's own tables and load anew.
    pub replace: bool,
    /// Tables that may be dropped whoever made them.
    pub drop_tables: &'a [String],
    /// How rows travel.
    pub connections: Connections,
}

/// Who watches, and who helps.
pub struct Watch<'a> {
    /// The places where the target is reached: several share the filling where rows are committed
    /// in batches.
    pub endpoints: &'a [Endpoint],
    /// Told what happens.
    pub progress: &'a mut dyn Progress,
    /// Asked whether to stop.
    pub interrupts: Option<&'static Interrupts>,
}

/// How the tables came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The pack has no tables.
    NoTables,
    /// They were loaded just now.
    LoadedNow,
    /// pgdyno loaded them earlier.
    LoadedBefore,
    /// Something else made them, such as `pgbench -i`.
    MadeByOthers,
}

/// The tables are there.
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
    let request = Request {
        pack,
        params,
        replace: false,
        drop_tables: &[],
        connections: Connections::default(),
    };
    load(session, &request, watch)
}

/// As [`ensure_loaded`]; tables that pgdyno loaded with other parameters are loaded anew, those of
/// anybody else never.
pub fn load_as_asked(
    session: &mut Session,
    pack: &Pack,
    params: &Params,
    watch: &mut Watch<'_>,
) -> Result<Loaded, Failure> {
    let ask = |e| trouble::server(&e, "could not look for the workload's tables");
    let dialect = Product::ask(session).map_err(ask)?.dialect;
    let found = state::find(session, dialect, pack, &params.or_defaults(pack))?;
    let seen = Seen::of(session, dialect, pack, params, &found)?;
    let replace = match state::judge(pack, &seen.tables, &found) {
        State::Ours(mark) => {
            let loaded = scale::of_pack(session, dialect, pack).map_err(ask)?;
            params.all_given().any(|(name, given)| {
                let of_tables = loaded.get(name).or(mark.params.get(name));
                of_tables.is_some_and(|of_tables| !scale::same(of_tables, given))
            })
        }
        _ => false,
    };
    let request = Request {
        pack,
        params,
        replace,
        drop_tables: &[],
        connections: Connections::default(),
    };
    load(session, &request, watch)
}

/// Every parameter as a run would see it: the user's value, that of the tables that are there, or the
/// default. Loads and checks nothing.
pub fn known(
    session: &mut Session,
    pack: &Pack,
    params: &Params,
) -> Result<BTreeMap<String, String>, Failure> {
    let ask = |e| trouble::server(&e, "could not look for the workload's tables");
    let dialect = Product::ask(session).map_err(ask)?.dialect;
    let mut values = params.or_defaults(pack);
    let found = state::find(session, dialect, pack, &values)?;
    let seen = Seen::of(session, dialect, pack, params, &found)?;
    let of_tables = seen.values.into_iter();
    values.extend(of_tables.filter(|(name, _)| params.given(name).is_none()));
    Ok(values)
}

/// As [`ensure_loaded`], with the user's leave to drop.
pub fn load(
    session: &mut Session,
    request: &Request<'_>,
    watch: &mut Watch<'_>,
) -> Result<Loaded, Failure> {
    let pack = request.pack;
    let values = request.params.or_defaults(pack);
    let tables = pack.made_tables(&values).map_err(Failure::new)?;
    if let Some(name) = request
        .drop_tables
        .iter()
        .find(|n| !tables.iter().any(|t| t.name == **n))
    {
        let tables: Vec<_> = tables.iter().map(|t| t.name.as_str()).collect();
        return Err(Failure::with(
            Exit::Usage,
            format!(
                "--drop-tables {name}: pack {} has no such table (it has: {})",
                pack.name(),
                tables.join(", ")
            ),
        ));
    }
    if tables.is_empty() {
        return Ok(there(request.params.or_defaults(pack), How::NoTables));
    }
    let ask = |e| trouble::server(&e, "could not look for the workload's tables");
    let product = Product::ask(session).map_err(ask)?;
    if let Some(query) = product.dialect.counts_database
        && admin::value(session, query).map_err(ask)?.as_deref() == Some("0")
    {
        let name = session.candidate().login.database();
        let failure = Failure::new(format!("database \"{name}\" does not exist"));
        return Err(failure.hint("create the database (CREATE DATABASE …), or name another"));
    }
    let told = |mut loaded: Loaded| {
        loaded.remarks.extend(product.warning());
        loaded.variables.retain(|name, _| {
            pack.param(name)
                .is_none_or(|p| p.is_for(product.dialect.name))
        });
        loaded
    };
    request
        .params
        .check_on(pack, &product)
        .map_err(|why| Failure::with(Exit::Usage, why))?;
    let found = state::find(session, product.dialect, pack, &values)?;
    if let Some(loaded) = check(session, product.dialect, request, &found)? {
        return Ok(told(loaded));
    }
    // Only one load at a time; the other one may have changed what is there.
    lock(session, pack, &product)?;
    let found = state::find(session, product.dialect, pack, &values)?;
    let result = match check(session, product.dialect, request, &found) {
        Ok(None) => {
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
        }
        Ok(Some(loaded)) => Ok(loaded),
        Err(failure) => Err(failure),
    };
    unlock(session, product.dialect);
    result.map(told)
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

/// What tables that are there tell of themselves.
struct Seen {
    /// Parameters that they were made with, by their marks or by what they have in them.
    values: BTreeMap<String, String>,
    /// The pack's tables as they are to be, with these parameters.
    tables: Vec<Table>,
}

impl Seen {
    fn of(
        session: &mut Session,
        dialect: &Dialect,
        pack: &Pack,
        params: &Params,
        found: &[Found],
    ) -> Result<Seen, Failure> {
        let mark = found.iter().find_map(|f| f.mark.as_ref());
        let values = match mark {
            Some(mark) => mark.params.clone(),
            None if found.is_empty() => BTreeMap::new(),
            None => scale::recognised(session, dialect, pack)
                .map_err(|e| trouble::server(&e, "could not tell how the tables were made"))?,
        };
        let mut all = params.or_defaults(pack);
        all.extend(values.clone());
        let tables = pack.made_tables(&all).map_err(Failure::new)?;
        Ok(Seen { values, tables })
    }
}

/// `None`: a load is needed and allowed. Otherwise the tables as they are, or why they will not do.
fn check(
    session: &mut Session,
    dialect: &Dialect,
    request: &Request<'_>,
    found: &[Found],
) -> Result<Option<Loaded>, Failure> {
    let pack = request.pack;
    let name = pack.name();
    let seen = Seen::of(session, dialect, pack, request.params, found)?;
    let state = state::judge(pack, &seen.tables, found);
    let wants_new = request.replace || !request.drop_tables.is_empty();
    if matches!(state, State::Nothing | State::Interrupted) || wants_new {
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
        State::Nothing | State::Interrupted => return Ok(None),
    };
    let loaded = scale::of_pack(session, dialect, pack)
        .map_err(|e| trouble::server(&e, "could not tell what the tables were loaded with"))?;
    let mut variables = BTreeMap::new();
    for param in pack.params_on(dialect.name) {
        let recorded = seen.values.get(&param.name);
        if let (None, None, Some(why)) = (&mark, recorded, &param.unrecognised) {
            return Err(Failure::new(format!(
                "the tables of {name} were made by something else: {why}"
            ))
            .hint(way_to_drop(request, found)));
        }
        let of_tables = loaded.get(&param.name).or(recorded);
        let given = request.params.given(&param.name);
        let value = match (of_tables, given) {
            (Some(of_tables), Some(given)) if !scale::same(of_tables, given) => {
                return Err(Failure::new(format!(
                    "the tables of {name} are loaded with {p} = {of_tables}, not {given}",
                    p = param.name
                ))
                .hint(format!(
                    "leave out --param {}={given} to run on what is there",
                    param.name
                ))
                .hint(way_to_drop(request, found)));
            }
            (Some(of_tables), _) => {
                param.accept(of_tables).map_err(|why| {
                    Failure::new(format!(
                        "the tables of {name} are there, but with {p} = {of_tables}: {why}",
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
    let mut there = there(variables, how);
    if mark.is_none() && !seen.values.is_empty() {
        let seen = seen
            .values
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        let seen: Vec<String> = seen.collect();
        there.remarks.push(format!(
            "the tables of {name} were made by something else; what they tell of themselves: {}",
            seen.join(", ")
        ));
    }
    if let Some(mark) = mark
        && mark.pack_sha256 != pack.tables_pack().content_hash()
    {
        there.remarks.push(format!(
            "the tables were loaded by another version of pack {} (pgdyno {})",
            mark.pack, mark.pgdyno
        ));
    }
    Ok(Some(there))
}

/// Every table that is there must be pgdyno's, or named by the user.
fn may_drop(request: &Request<'_>, found: &[Found], state: &State) -> Result<(), Failure> {
    let allowed = |f: &Found| {
        let ours = f.mark.is_some() && (request.replace || *state == State::Interrupted);
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
fn way_to_drop(request: &Request<'_>, found: &[Found]) -> String {
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
        "`pgdyno load {}{options}` drops what is there and loads anew",
        request.pack.place
    )
}

/// Taken for the session, so that a lost connection frees it.
fn lock(session: &mut Session, pack: &Pack, product: &Product) -> Result<(), Failure> {
    let Some(query) = product.dialect.try_lock else {
        return Ok(());
    };
    let query = query.replace("{key}", &lock_key().to_string());
    let got = match admin::value(session, &query) {
        // A product that is not known may have no such lock.
        Err(_) if !product.known && !session.is_broken() => return Ok(()),
        got => got.map_err(|e| trouble::server(&e, "could not lock the load"))?,
    };
    if got.as_deref() == Some("t") {
        return Ok(());
    }
    Err(Failure::new(format!(
        "cannot load {}: another pgdyno is loading into this database",
        pack.tables_pack().name()
    ))
    .hint("wait until it is done"))
}

fn unlock(session: &mut Session, dialect: &Dialect) {
    if let Some(query) = dialect.unlock {
        // A connection that is lost has given the lock back already.
        let _ = admin::run(session, &query.replace("{key}", &lock_key().to_string()));
    }
}

/// A number that no other program is likely to lock.
fn lock_key() -> i64 {
    let hash = Sha256::digest(b"pgdyno load");
    i64::from_be_bytes(std::array::from_fn(|i| hash[i]))
}

/// What of the tables would stay if the load ended now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// All as it was.
    Nothing,
    /// The old tables are gone for good, and perhaps some new ones are there.
    Dropped,
    /// The new ones are there, with the mark that they are not complete.
    Created,
}

/// Where a load of this pack's tables records what it has done, while it lasts.
fn record_name(pack: &Pack) -> String {
    let name = pack.tables_pack().name().to_lowercase().replace('-', "_");
    format!("pgdyno_loading_{name}")
}

fn range_done(row: Vec<Option<String>>) -> Option<(String, u64)> {
    let mut values = row.into_iter().flatten();
    Some((values.next()?, values.next()?.parse().ok()?))
}

/// One load under way.
struct Load<'s, 'r, 'w, 'p> {
    session: &'s mut Session,
    request: &'r Request<'r>,
    /// As the parameters have them.
    tables: &'r [Table],
    product: &'r Product,
    watch: &'w mut Watch<'p>,
    stop: Stop,
    means: Vec<String>,
    /// For tables that are filled by ranges throughout.
    resume: Option<Resume>,
    /// Sessions on every node, where there are several to fill through.
    spread: Option<Spread>,
}

/// What a load can go on from.
struct Resume {
    /// The table where it is recorded what has been done.
    record: String,
    /// The tables and the first rows of ranges that are in; with the empty name, steps behind them.
    done: BTreeSet<(String, u64)>,
    /// Whether this load goes on with what another one began.
    goes_on: bool,
}

impl Load<'_, '_, '_, '_> {
    fn run(mut self, found: &[Found]) -> Result<Loaded, Failure> {
        let began = Instant::now();
        let pack = self.request.pack;
        let variables = self.request.params.or_defaults(pack);
        let mut recipe = Recipe::new(pack.tables_pack(), self.product.dialect.name, &variables)
            .map_err(Failure::new)?;
        let create = recipe.schema().map_err(Failure::new)?;
        let after_load = recipe.after_load().map_err(Failure::new)?;
        let mut reached = Reached::Nothing;
        self.resume = self.resume(&recipe, found);
        let result = self
            .settings(&recipe)
            .and_then(|()| self.steps(found, &mut recipe, &create, &after_load, &mut reached));
        self.watch.progress.table_ends();
        self.session.clean_up();
        if result.is_err() {
            // Leave no transaction open; on a lost connection there is none.
            let _ = self.sql("ROLLBACK");
            // What is there already is pgdyno's: without the mark nothing would know.
            if reached == Reached::Dropped && self.mark_each(&recipe) {
                reached = Reached::Created;
            }
        }
        self.reset_settings();
        match result {
            Ok(rows) => Ok(Loaded {
                variables,
                how: How::LoadedNow,
                rows,
                elapsed: began.elapsed(),
                means: self.means,
                remarks: Vec::new(),
            }),
            Err(failure) => {
                let failure = match self.stop.exit_code() {
                    Some(code) => Failure::with(
                        Exit::Interrupted(code),
                        format!("loading {} was interrupted", pack.name()),
                    ),
                    None => failure,
                };
                Err(self.left_behind(failure, reached, found))
            }
        }
    }

    fn left_behind(&self, failure: Failure, reached: Reached, found: &[Found]) -> Failure {
        let what = match (reached, found.is_empty()) {
            (Reached::Created, _) => None,
            (Reached::Dropped, false) => {
                Some("the old tables are dropped, and there are no new ones")
            }
            (Reached::Nothing, false) => Some("the tables are as they were: nothing was changed"),
            (_, true) => Some("no table was created"),
        };
        if let Some(what) = what {
            return failure.detail(what);
        }
        let tables: Vec<_> = self.tables.iter().map(|t| t.name.as_str()).collect();
        failure
            .detail(format!(
                "left behind, not complete: tables {}",
                tables.join(", ")
            ))
            .hint(format!(
                "the next `pgdyno load {}` or run of it {}",
                self.request.pack.place,
                match self.resume {
                    Some(_) => "with the same parameters goes on from there",
                    None => "drops them and starts again",
                }
            ))
    }

    fn steps(
        &mut self,
        found: &[Found],
        recipe: &mut Recipe,
        create: &[String],
        after_load: &[String],
        reached: &mut Reached,
    ) -> Result<Vec<(String, u64)>, Failure> {
        let tables = self.tables;
        let creating = |e| trouble::server(&e, "could not create the tables");
        self.watch.progress.step("creating tables");
        let in_one = self.facts().transactional_ddl;
        if self.resume.as_ref().is_some_and(|resume| resume.goes_on) {
            *reached = Reached::Created;
            return self.rows_and_keys(tables, recipe, after_load);
        }
        if in_one {
            self.sql("BEGIN").map_err(creating)?;
        }
        if !found.is_empty() {
            // In one statement, so that keys between the tables do not matter; no CASCADE, so that
            // nothing else goes with them.
            let names: Vec<_> = found.iter().map(|f| f.name.as_str()).collect();
            self.sql(&format!("DROP TABLE {}", names.join(", ")))
                .map_err(|e| trouble::server(&e, "could not drop the old tables"))?;
        }
        if !in_one {
            *reached = Reached::Dropped;
        }
        for statement in create {
            self.sql(statement).map_err(creating)?;
        }
        if let Some(resume) = &self.resume {
            if !found.is_empty() && found.iter().all(|f| f.mark.is_some()) {
                // Left by a load that was interrupted.
                admin::run(
                    self.session,
                    &format!("DROP TABLE IF EXISTS {}", resume.record),
                )
                .map_err(creating)?;
            }
            let sql = format!(
                "CREATE TABLE {} (filled text NOT NULL, row_first bigint NOT NULL, row_end bigint \
                 NOT NULL, PRIMARY KEY (filled, row_first))",
                resume.record
            );
            self.sql(&sql).map_err(creating)?;
        }
        self.mark(recipe, mark::State::Loading).map_err(creating)?;
        if in_one {
            self.sql("COMMIT").map_err(creating)?;
        }
        *reached = Reached::Created;
        self.rows_and_keys(tables, recipe, after_load)
    }

    /// What comes when the tables are there.
    fn rows_and_keys(
        &mut self,
        tables: &[Table],
        recipe: &mut Recipe,
        after_load: &[String],
    ) -> Result<Vec<(String, u64)>, Failure> {
        let in_one = self.facts().transactional_ddl;
        let mut filled = Vec::new();
        for table in &mut recipe.tables {
            filled.push((table.name.clone(), self.fill(table)?));
        }
        if !after_load.is_empty() {
            self.watch.progress.step("creating keys");
        }
        for (number, statement) in after_load.iter().enumerate() {
            self.step(number as u64, statement)
                .map_err(|e| trouble::server(&e, "could not create the keys"))?;
        }
        let dialect = self.product.dialect;
        let settles = self.request.pack.tables_pack().manifest.settles;
        if !dialect.after_load.is_empty() {
            self.watch.progress.step(match dialect.vacuum {
                Some(_) => "vacuuming",
                None => "analyzing",
            });
        }
        for table in tables {
            for statement in dialect.after_load(&table.name, settles) {
                self.sql(&statement).map_err(|e| {
                    trouble::server(&e, &format!("could not tidy up {}", table.name))
                })?;
            }
        }
        for (table, rows) in &filled {
            self.count(table, *rows)?;
        }
        for (table, rows) in &filled {
            if tables.iter().any(|t| t.row_per_block && t.name == *table) {
                self.check_blocks(table, *rows)?;
            }
        }
        if settles {
            self.checkpoint();
        }
        let finishing = |e| trouble::server(&e, "could not finish the load");
        if in_one {
            self.sql("BEGIN").map_err(finishing)?;
        }
        self.mark(recipe, mark::State::Complete)
            .map_err(finishing)?;
        if let Some(resume) = &self.resume {
            let sql = format!("DROP TABLE {}", resume.record);
            self.sql(&sql).map_err(finishing)?;
        }
        if in_one {
            self.sql("COMMIT").map_err(finishing)?;
        }
        Ok(filled)
    }

    /// Whether and from where a load that ends early can be gone on with; `None`: it begins anew.
    fn resume(&mut self, recipe: &Recipe, found: &[Found]) -> Option<Resume> {
        // Rows that the product commits in the middle of a statement cannot be recorded with it.
        let commits_by_itself = matches!(self.facts().filling, Filling::Committing { .. });
        let by_ranges = recipe.tables.iter().all(|table| table.by_ranges);
        if commits_by_itself || !by_ranges || recipe.tables.is_empty() {
            return None;
        }
        let mut resume = Resume {
            record: record_name(self.request.pack),
            done: BTreeSet::new(),
            goes_on: false,
        };
        let mark = self.mark_for(recipe, mark::State::Loading);
        let is_all_of_it = found.len() == self.tables.len()
            && found.iter().all(|found| found.mark.as_ref() == Some(&mark));
        if is_all_of_it && !self.request.replace && self.request.drop_tables.is_empty() {
            let sql = format!("SELECT filled, row_first FROM {}", resume.record);
            // Without the record there is nothing to go on from.
            if let Ok(rows) = admin::rows(self.session, &sql) {
                resume.goes_on = true;
                resume.done = rows.into_iter().filter_map(range_done).collect();
            }
        }
        Some(resume)
    }

    /// One statement behind the rows; one that an interrupted load has executed is left out.
    fn step(&mut self, number: u64, statement: &str) -> Result<(), pgdyno_session::Error> {
        let Some(resume) = &self.resume else {
            return self.sql(statement);
        };
        if resume.done.contains(&(String::new(), number)) {
            return Ok(());
        }
        let note = format!("INSERT INTO {} VALUES ('', {number}, 0)", resume.record);
        let in_one = self.facts().transactional_ddl;
        if in_one {
            self.sql("BEGIN")?;
        }
        self.sql(statement)?;
        self.sql(&note)?;
        if in_one {
            self.sql("COMMIT")?;
        }
        Ok(())
    }

    fn facts(&self) -> &'static TableFacts {
        &self.product.dialect.tables
    }

    /// What makes loading bearable on this product; a setting that the server does not take is
    /// left alone.
    fn settings(&mut self, recipe: &Recipe) -> Result<(), Failure> {
        if recipe.tables.is_empty() {
            return Ok(());
        }
        if let Some(rows) = self.facts().filling.batch_rows() {
            self.means
                .push(format!("committed every {} rows", text::count(rows)));
            // Ranges have connections of their own.
            let spreads = recipe.tables.iter().any(|table| !table.by_ranges);
            let endpoints = if spreads { self.watch.endpoints } else { &[] };
            let (spread, left_out) = Spread::connect(endpoints);
            for node in left_out {
                self.means.push(format!("not filled through {node}"));
            }
            if let Some(spread) = &spread {
                let nodes = spread.nodes();
                self.means
                    .push(format!("filled through {nodes} nodes at once"));
            }
            self.spread = spread;
        }
        for setting in self.product.load_settings() {
            let (name, value) = (setting.name, setting.value);
            let set = format!("SET {name} = {value}");
            let done = self.sql(&set).and_then(|()| match &mut self.spread {
                Some(spread) => spread.each(&set),
                None => Ok(()),
            });
            match done {
                Ok(()) => self
                    .means
                    .push(format!("{name} = {value}: {}", setting.why)),
                Err(e) if self.session.is_broken() => {
                    return Err(trouble::server(&e, "could not prepare the session"));
                }
                Err(e) => {
                    let why = e
                        .server()
                        .map_or_else(String::new, |e| e.message().to_owned());
                    self.means.push(format!(
                        "without {name} = {value}, which the server does not take: {why}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The session goes on as the user wanted it.
    fn reset_settings(&mut self) {
        for setting in self.product.load_settings() {
            // What was not set needs no reset, and a lost session none either.
            let _ = self.sql(&format!("RESET {}", setting.name));
        }
    }

    /// Marks whichever tables are there; whether there are any.
    fn mark_each(&mut self, recipe: &Recipe) -> bool {
        let statements = self.comments(recipe, mark::State::Loading);
        let marked = statements.iter().filter(|sql| self.sql(sql).is_ok());
        marked.count() > 0
    }

    fn sql(&mut self, sql: &str) -> Result<(), pgdyno_session::Error> {
        admin::run(self.session, sql)
    }

    fn mark(&mut self, recipe: &Recipe, state: mark::State) -> Result<(), pgdyno_session::Error> {
        let statements = self.comments(recipe, state);
        statements.iter().try_for_each(|sql| self.sql(sql))
    }

    fn mark_for(&self, recipe: &Recipe, state: mark::State) -> Mark {
        let pack = self.request.pack.tables_pack();
        Mark {
            pack: pack.name().to_owned(),
            state,
            params: recipe.params.clone(),
            pack_sha256: pack.content_hash(),
            pgdyno: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn comments(&self, recipe: &Recipe, state: mark::State) -> Vec<String> {
        let comment = quote_literal(&self.mark_for(recipe, state).comment());
        let tables = self.tables.iter();
        tables
            .map(|table| format!("COMMENT ON TABLE {} IS {comment}", table.name))
            .collect()
    }

    /// One table's rows, as the product wants them.
    fn fill(&mut self, table: &mut TableRows) -> Result<u64, Failure> {
        let name = table.name.clone();
        let rows = table.rows;
        self.watch.progress.table(&name, rows);
        let record = self.resume.as_ref().map(|resume| resume.record.clone());
        let job = Job {
            product: self.product,
            connections: self.request.connections,
            endpoints: self.watch.endpoints,
            record: record.as_deref(),
            stop: self.stop,
        };
        if job.is_for(table) {
            let resume = self.resume.iter().flat_map(|resume| &resume.done);
            let there = resume.filter(|(table, _)| *table == name);
            let there: BTreeSet<u64> = there.map(|(_, row)| *row).collect();
            let (session, progress) = (&*self.session, &mut *self.watch.progress);
            let filled = job.fill(session, table, progress, &mut self.means, &there);
            self.watch.progress.table_ends();
            return filled.map(|()| rows);
        }
        let filling = |e| trouble::server(&e, &format!("could not fill {name}"));
        let copy = format!("COPY {name} ({}) FROM STDIN", table.column_list());
        let copied = match (self.facts().filling, &mut self.spread) {
            (
                Filling::Batches { rows: batch } | Filling::Committing { rows: batch },
                Some(spread),
            ) if rows > batch => {
                let copy = format!("{copy}{}", self.product.dialect.tables.filling.options());
                let progress = &mut self.watch.progress;
                let mut told = |row| progress.rows(row);
                spread.copy(&copy, table, 0..rows, batch, self.stop, &mut told)?
            }
            (Filling::Whole, _) => {
                let since = self.facts().copy_freeze_since;
                let freeze = since.is_some_and(|since| self.product.is_since(since));
                let options = if freeze { " WITH (FREEZE ON)" } else { "" };
                self.sql("BEGIN").map_err(filling)?;
                self.sql(&format!("TRUNCATE {name}")).map_err(filling)?;
                let copied = self.copy(&format!("{copy}{options}"), table, 0..rows)?;
                self.sql("COMMIT").map_err(filling)?;
                copied
            }
            (Filling::Batches { rows: batch }, _) => {
                let mut copied = 0;
                let mut row = 0;
                while row < rows {
                    let end = rows.min(row.saturating_add(batch.max(1)));
                    copied += self.copy(&copy, table, row..end)?;
                    row = end;
                }
                copied
            }
            (filling @ Filling::Committing { .. }, _) => {
                let copy = format!("{copy}{}", filling.options());
                self.copy(&copy, table, 0..rows)?
            }
        };
        self.watch.progress.table_ends();
        if copied != rows {
            return Err(Failure::new(format!(
                "the server took {copied} rows of {name} and not {rows}"
            )));
        }
        Ok(rows)
    }

    /// These rows (the first is 0) by one COPY; how many the server says it took.
    fn copy(&mut self, sql: &str, table: &mut TableRows, rows: Range<u64>) -> Result<u64, Failure> {
        let name = table.name.clone();
        let filling = |e| trouble::server(&e, &format!("could not fill {name}"));
        let mut copy = self.session.copy_in(sql).map_err(filling)?;
        let mut row = rows.start;
        while row < rows.end {
            let mut made = Ok(());
            copy.write_with(|out| {
                let full = out.len() + CHUNK_BYTES;
                while row < rows.end && out.len() < full && made.is_ok() {
                    row += 1;
                    made = table.push_row(row, Form::Copy, out);
                }
            })
            .map_err(filling)?;
            if let Err(why) = made {
                let _ = copy.abort("a row could not be made");
                return Err(Failure::new(why));
            }
            self.watch.progress.rows(row);
            if self.stop.asked() {
                let _ = copy.abort("interrupted");
                return Err(Failure::new("interrupted"));
            }
        }
        copy.finish().map_err(filling)
    }

    /// Each row must have a block to itself.
    fn check_blocks(&mut self, table: &str, rows: u64) -> Result<(), Failure> {
        let Some(query) = self.product.dialect.rows_and_blocks else {
            return Ok(());
        };
        let query = query.replace("{table}", table);
        let query = query.replace("{literal}", &quote_literal(table));
        let counted = admin::rows(self.session.unhurried(), &query)
            .map_err(|e| trouble::server(&e, &format!("could not count the blocks of {table}")))?;
        let mut numbers = counted.into_iter().flatten().flatten();
        let (others, blocks) = (numbers.next(), numbers.next());
        if others.as_deref() == Some("0") {
            let blocks: u64 = blocks.and_then(|b| b.parse().ok()).unwrap_or_default();
            // A COPY takes some blocks in advance and may leave a few of them unused.
            let empty = match blocks.saturating_sub(rows) {
                0 => String::new(),
                empty => format!(", {} of them empty", text::count(empty)),
            };
            let (rows, blocks) = (text::count(rows), text::count(blocks));
            let told = format!("{table}: a block to each of {rows} rows ({blocks} blocks{empty})");
            self.means.push(told);
            return Ok(());
        }
        Err(Failure::new(format!(
            "{table} is to have one row in a block, and {} rows share one with others",
            others.unwrap_or_default()
        ))
        .hint("make its rows longer, so that no second one fits (pack slob: --param filler=…)"))
    }

    /// So that nothing of the load is left to be written later. What is not allowed is told.
    fn checkpoint(&mut self) {
        let Some(checkpoint) = self.product.dialect.checkpoint else {
            return;
        };
        self.watch.progress.step("checkpoint");
        if let Err(e) = self.sql(checkpoint) {
            let why = e
                .server()
                .map_or_else(String::new, |e| format!(": {}", e.message()));
            self.means.push(format!("without a checkpoint{why}"));
        }
    }

    /// The rows must be there, all of them.
    fn count(&mut self, table: &str, rows: u64) -> Result<(), Failure> {
        let all = format!("SELECT count(*) FROM {table}");
        let counted = admin::value(self.session.unhurried(), &all)
            .map_err(|e| trouble::server(&e, &format!("could not count the rows of {table}")))?
            .unwrap_or_default();
        if counted == rows.to_string() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "{table} has {counted} rows after the load, not {rows}"
        ))
        .hint("something else changes the table; load into a database of its own"))
    }
}
