//! The workload's database and what is in it: making the one, filling the other, looking.

use std::collections::BTreeMap;

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_session::{Session, quote_ident};

use super::WorkloadOptions;
use super::generator::TransactionGenerator;
use super::options::{self, FORM_BATCH, FORM_STATEMENTS, LOCKING, NOT_LOCKING};
use pgdyno_database::dialect::{Feature, Product};
use pgdyno_database::open::{self, Target};
use pgdyno_database::{admin, trouble};
use pgdyno_model::document::TargetKind;
use pgdyno_output::{Loading, remark};
use pgdyno_spec::{Address, Failure, TargetSpec};
use pgdyno_workload::filling::Connections;
use pgdyno_workload::loader::{self, How, Request, Watch};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::params::Params;
use pgdyno_workload::{mark, resolve, state};

/// The database that every server has, from which another can be made.
/// (Documented: PostgreSQL's createdb begins with it; CockroachDB and YugabyteDB have it too.)
const MAINTENANCE: &str = "postgres";
/// SQLSTATE of a database that there is not.
const NO_DATABASE: &str = "3D000";
/// SQLSTATE of a database that another session made meanwhile.
const DATABASE_IS_THERE: &str = "42P04";

pub fn pack(generator: TransactionGenerator) -> Result<Pack, Failure> {
    resolve::pack(generator.pack()).map_err(|e| Failure::new(e.to_string()))
}

/// The servers that the URLs name.
pub fn target(urls: Vec<String>) -> Result<Target, Failure> {
    let wanted = TargetSpec {
        urls: urls.into_iter().map(Address::from).collect(),
        ..TargetSpec::default()
    };
    let target = open::existing(&wanted)?;
    target.ok_or_else(|| Failure::new("no URL names a server"))
}

/// A session in the workload's database, with what server it is. The first URL that can be reached
/// counts.
pub fn session(target: &Target) -> Result<(Session, Product), Failure> {
    let mut session = target.connect()?;
    let product = product(&mut session)?;
    Ok((session, product))
}

fn product(session: &mut Session) -> Result<Product, Failure> {
    let ask = |e| trouble::server(&e, "could not read the server's version");
    Product::ask(session).map_err(ask)
}

/// The same, in a database that is made if there is none.
pub fn session_in_new(
    options: &WorkloadOptions,
    target: &Target,
) -> Result<(Session, Product), Failure> {
    let name = &options.place.database;
    let mut first = None;
    for endpoint in &target.endpoints {
        let error = match endpoint.connect() {
            Ok(mut session) => {
                let product = product(&mut session)?;
                // Some servers let a session begin in a database that there is not.
                let count = product
                    .dialect
                    .counts_database
                    .map(|q| admin::value(&mut session, q));
                let count = count
                    .transpose()
                    .map_err(|e| trouble::server(&e, "could not look for the database"))?;
                if count.flatten().as_deref() == Some("0") {
                    create(&mut session, name)?;
                }
                return Ok((session, product));
            }
            Err(error) => error,
        };
        if error.sqlstate() == Some(NO_DATABASE) {
            let maintenance = self::target(options.place.urls_of(MAINTENANCE))?;
            let mut session = maintenance.connect()?;
            create(&mut session, name)?;
            session.close();
            return self::session(target);
        }
        first.get_or_insert(error);
    }
    match first {
        Some(error) => Err(trouble::connect(&error, TargetKind::Named)),
        None => self::session(target),
    }
}

fn create(session: &mut Session, name: &str) -> Result<(), Failure> {
    let statement = format!("CREATE DATABASE {}", quote_ident(name));
    match session.execute(&statement) {
        Err(error) if error.sqlstate() != Some(DATABASE_IS_THERE) => {
            let doing = format!("could not create database \"{name}\"");
            Err(trouble::server(&error, &doing).hint("create it, or name another with --db"))
        }
        _ => Ok(()),
    }
}

/// The pack's parameters for this product. What it does not have is left out.
pub fn params(options: &WorkloadOptions, product: &Product, pack: &Pack) -> Vec<String> {
    fitted(options, product, pack).0
}

/// Says what of the command line this product does not have.
///
/// # Errors
/// As [`pack`].
pub fn tell_left_out(options: &WorkloadOptions, product: &Product) -> Result<(), Failure> {
    if options.generator.table().is_some() {
        for remark in fitted(options, product, &pack(options.generator)?).1 {
            remark!("{remark}");
        }
    }
    Ok(())
}

/// The pack's parameters for this product, and what there is to say of them.
fn fitted(options: &WorkloadOptions, product: &Product, pack: &Pack) -> (Vec<String>, Vec<String>) {
    let dialect = product.dialect;
    let mut params = options.workload.params.clone();
    let mut remarks = Vec::new();
    // cockroach locks rows by default; where a server cannot, only who asks for it is refused.
    let lock = format!("rmw={LOCKING}");
    if let Some(rmw) = params.iter_mut().find(|param| **param == lock)
        && options.parsed.given("select-for-update").is_none()
        && let Some(why) = product.lacks(Feature::ForUpdate)
    {
        *rmw = format!("rmw={NOT_LOCKING}");
        remarks.push(format!("--select-for-update=false: {why}"));
    }
    // cockroach sends all lines of an order at once.
    if let Some(form) = params.iter_mut().find(|param| *param == FORM_BATCH)
        && let Some(why) = product.lacks(Feature::UpdateFrom)
    {
        *form = FORM_STATEMENTS.to_owned();
        remarks.push(format!(
            "each line of an order is a statement of its own: {why}"
        ));
    }
    let is_here = |name: &str| {
        let param = pack.param(name);
        param.is_none_or(|param| param.is_for(dialect.name))
    };
    let lacks = |flag: &str| {
        format!(
            "--{flag} does nothing here: {} has no such thing",
            dialect.title
        )
    };
    for (param, flag) in &options.workload.of_products {
        if is_here(param.split('=').next().unwrap_or(param)) {
            params.push(param.clone());
        } else if options.parsed.given(flag).is_some() {
            remarks.push(lacks(flag));
        }
    }
    for flag in &options.workload.of_init {
        remarks.push(if is_here(flag) {
            format!("--{flag} does nothing here: the table keeps its ranges; init or run --init --drop makes them")
        } else {
            lacks(flag)
        });
    }
    (params, remarks)
}

/// Makes and fills the tables; what is there already is checked. Only what pgdyno made is dropped.
pub fn load(
    options: &WorkloadOptions,
    target: &Target,
    session: &mut Session,
    product: &Product,
    interrupts: &'static Interrupts,
) -> Result<(), Failure> {
    let (method, jobs) = options::loading(&options.parsed).map_err(Failure::new)?;
    if options.generator.table().is_none() {
        return Ok(());
    }
    let pack = pack(options.generator)?;
    let params = params(options, product, &pack);
    let params =
        Params::parse(&pack, options.workload.mix.as_deref(), &params).map_err(Failure::new)?;
    let request = Request {
        experiment: None,
        pack: &pack,
        params: &params,
        replace: options.parsed.given("drop") == Some("true"),
        drop_tables: &[],
        connections: Connections { jobs, method },
    };
    let mut progress = Loading::quiet();
    let mut watch = Watch {
        endpoints: &target.endpoints,
        progress: &mut progress,
        interrupts: Some(interrupts),
        others: None,
    };
    let loaded = loader::load(session, &request, &mut watch)?;
    for (table, rows) in &loaded.rows {
        let elapsed_s = loaded.elapsed.as_secs_f64();
        remark!("pgdyno: imported {table} ({elapsed_s:.1}s, {rows} rows)");
    }
    if matches!(loaded.how, How::LoadedBefore | How::MadeByOthers) {
        remark!("pgdyno: the tables exist already; --drop loads them again");
    }
    for text in loaded.means.iter().chain(&loaded.remarks) {
        remark!("pgdyno: note: {text}");
    }
    Ok(())
}

/// Every parameter of the pack with the value that the tables were loaded with, or that was asked
/// for; the tables must be there.
pub fn as_loaded(
    options: &WorkloadOptions,
    target: &Target,
    session: &mut Session,
    product: &Product,
) -> Result<(BTreeMap<String, String>, How), Failure> {
    let pack = pack(options.generator)?;
    let params = params(options, product, &pack);
    let params =
        Params::parse(&pack, options.workload.mix.as_deref(), &params).map_err(Failure::new)?;
    let mut progress = Loading::quiet();
    let mut watch = Watch {
        endpoints: &target.endpoints,
        progress: &mut progress,
        interrupts: None,
        others: None,
    };
    let loaded = loader::ensure_loaded(session, &pack, &params, &mut watch)?;
    Ok((loaded.variables, loaded.how))
}

/// Fails unless the tables are there: operations on nothing would be measured otherwise, or tables
/// be loaded without a request.
pub fn must_be_there(
    options: &WorkloadOptions,
    session: &mut Session,
    product: &Product,
) -> Result<(), Failure> {
    let generator = options.generator;
    let Some(table) = generator.table() else {
        return Ok(());
    };
    let pack = pack(generator)?;
    let params = params(options, product, &pack);
    let params =
        Params::parse(&pack, options.workload.mix.as_deref(), &params).map_err(Failure::new)?;
    let values = params.or_defaults(&pack);
    let found = state::find(session, product.dialect, &pack, &values)?;
    let hint = format!(
        "make and fill it: workload init {} [flags] [URL...]",
        generator.name()
    );
    if found.is_empty() {
        let text = format!("relation \"{table}\" does not exist");
        return Err(Failure::new(text).hint(hint));
    }
    let marks = found.iter().filter_map(|table| table.mark.as_ref());
    if marks
        .map(|mark| mark.state)
        .any(|s| s == mark::State::Loading)
    {
        let text = format!("relation \"{table}\" is only half loaded");
        return Err(Failure::new(text).hint(hint));
    }
    Ok(())
}
