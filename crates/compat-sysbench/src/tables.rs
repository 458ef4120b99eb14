//! `prepare` and `cleanup`: sbtest1, sbtest2, …, and whether they are there for a run. Those of
//! sysbench-tpcc: `tpcc`.

use std::collections::BTreeMap;

use pgdyno_database::dialect::Product;
use pgdyno_database::open::{self, Target};
use pgdyno_database::{admin, trouble};
use pgdyno_output::{Loading, remark, write_promised};
use pgdyno_session::Session;
use pgdyno_spec::Failure;
use pgdyno_workload::loader::{self, Request, Watch};
use pgdyno_workload::pack::Pack;
use pgdyno_workload::params::Params;
use pgdyno_workload::state::ExistingTable;
use pgdyno_workload::{mark, resolve, state};

use super::Stop;
use super::options::Options;
use super::run::no_connection;
use super::script::SysbenchScript;
use super::tpcc;

/// Columns of its tables, and of those of `bulk_insert`.
const COLUMNS: [&[&str]; 2] = [&["id", "k", "c", "pad"], &["id", "k"]];

/// The driver must be PostgreSQL's.
///
/// # Errors
/// sysbench's words for another one.
pub fn driver(options: &Options) -> Result<(), Stop> {
    let Err(name) = &options.driver else {
        return Ok(());
    };
    Err(Stop::fatal(format!("invalid database driver name: '{name}'"))
        .and("FATAL: `thread_init' function failed: failed to initialize the DB driver")
        .and("FATAL: Thread initialization failed!")
        .hint("add --db-driver=pgsql: without it sysbench means MySQL, which pgdyno does not speak"))
}

/// The database, and the pack whose tables are in it.
pub struct Database {
    target: Target,
    pub session: Session,
    pub product: Product,
    pub pack: Pack,
}

impl Database {
    /// Connects; the driver must be PostgreSQL's.
    ///
    /// # Errors
    /// sysbench's words for the failure.
    pub fn open(options: &Options) -> Result<Self, Stop> {
        driver(options)?;
        let pack = resolve::pack(options.script.pack()).map_err(|e| Failure::new(e.to_string()))?;
        let target = open::existing(&options.target)?;
        let target = target.ok_or_else(|| Failure::new("no server is named"))?;
        let mut session = target
            .connect()
            .map_err(|failure| no_connection(&failure.message))?;
        let ask = |e| trouble::server(&e, "could not read the server's version");
        let product = Product::ask(&mut session).map_err(ask)?;
        Ok(Self {
            target,
            session,
            product,
            pack,
        })
    }

    /// The pack's parameters that say how the tables are made.
    fn made(&self, options: &Options) -> Result<Params, Stop> {
        let given = match options.script {
            SysbenchScript::Tpcc => options.tpcc.made().into(),
            SysbenchScript::BulkInsert => vec![format!("tables={}", options.tables)],
            _ => made(options),
        };
        Params::parse(&self.pack, None, &given).map_err(Stop::fatal)
    }

    /// Which of the tables are there.
    pub fn existing_tables(&mut self, options: &Options) -> Result<Vec<ExistingTable>, Stop> {
        let values = self.made(options)?.or_defaults(&self.pack);
        let dialect = self.product.dialect;
        Ok(state::find(
            &mut self.session,
            dialect,
            &self.pack,
            &values,
        )?)
    }

    pub fn load(&mut self, options: &Options) -> Result<(), Stop> {
        let params = self.made(options)?;
        self.as_loaded(&params)?;
        Ok(())
    }

    /// Every parameter of the pack as the tables have it. They are loaded unless they are there.
    pub fn as_loaded(&mut self, params: &Params) -> Result<BTreeMap<String, String>, Stop> {
        let mut progress = Loading::quiet();
        let mut watch = Watch {
            endpoints: &self.target.endpoints,
            progress: &mut progress,
            interrupts: Some(pgdyno_run::interrupts()?),
            others: None,
        };
        let request = Request::keeping(&self.pack, params);
        let loaded = loader::load(&mut self.session, &request, &mut watch)
            .map_err(|failure| self.target.explain(failure))?;
        Ok(loaded.variables)
    }
}

fn made(options: &Options) -> Vec<String> {
    let rows = match (options.script, options.auto_inc) {
        // Ids that it makes itself would meet those of loaded rows.
        (SysbenchScript::Insert, false) => 0,
        _ => options.table_size,
    };
    vec![
        format!("tables={}", options.tables),
        format!("table_size={rows}"),
        format!("auto_inc={}", options.auto_inc),
        format!("create_secondary={}", options.create_secondary),
        format!("k_rand_type={}", options.rand_type),
    ]
}

/// The tables of this command line's numbers.
fn names(options: &Options) -> impl Iterator<Item = String> {
    (1..=options.tables).map(|number| format!("sbtest{number}"))
}

/// Whether it is half loaded.
pub fn is_loading(table: &ExistingTable) -> bool {
    let mark = table.mark.as_ref();
    mark.is_some_and(|mark| mark.state == mark::State::Loading)
}

/// No load of the tables may have been interrupted.
///
/// # Errors
/// One was.
pub fn must_be_whole(there: &[ExistingTable]) -> Result<(), Stop> {
    if there.iter().any(is_loading) {
        Err(
            Stop::fatal("the tables are half loaded: prepare was interrupted")
                .hint("the same command with prepare goes on"),
        )
    } else {
        Ok(())
    }
}

/// A table cannot be made: sysbench's words.
pub fn exists(name: &str) -> Stop {
    let why = format!("relation \"{name}\" already exists");
    Stop::fatal(format!("PQexec() failed: 7 {why}"))
        .and(format!(
            "FATAL: `sysbench.cmdline.call_command' function failed: SQL error, errno = 0, \
             state = '42P07': {why}"
        ))
        .hint("drop it first: the same command with cleanup instead of prepare")
}

/// A table is another owner's.
pub fn will_not_drop(table: &ExistingTable) -> Stop {
    Stop::fatal(format!(
        "will not drop {}: neither sysbench nor pgdyno has made it (columns {})",
        table.name,
        table.columns.join(", ")
    ))
    .hint(format!("in SQL: DROP TABLE {}", table.name))
}

/// What a command that sysbench runs in several threads prints first.
pub fn head(options: &Options) -> Result<(), Stop> {
    if options.threads > 1 {
        write_promised(format_args!("Initializing worker threads...\n\n"))?;
    }
    Ok(())
}

/// `prepare`; gives the exit code.
///
/// # Errors
/// A table is there already, or cannot be made.
pub fn prepare(options: &Options) -> Result<u8, Stop> {
    if options.script == SysbenchScript::BulkInsert {
        return prepare_bulk(options);
    }
    head(options)?;
    let mut database = Database::open(options)?;
    let there = database.existing_tables(options)?;
    let mut text = String::new();
    for name in names(options) {
        text += &format!("Creating table '{name}'...\n");
        if let Some(table) = there.iter().find(|table| table.name == name)
            && !is_loading(table)
        {
            write_promised(format_args!("{text}"))?;
            return Err(exists(&name));
        }
    }
    let rows: u64 = database
        .made(options)?
        .or_defaults(&database.pack)
        .get("table_size")
        .and_then(|rows| rows.parse().ok())
        .unwrap_or(0);
    if rows > 0 {
        for name in names(options) {
            text += &format!("Inserting {rows} records into '{name}'\n");
        }
    }
    write_promised(format_args!("{text}"))?;
    database.load(options)?;
    if options.create_secondary {
        let lines =
            names(options).map(|name| format!("Creating a secondary index on '{name}'...\n"));
        write_promised(format_args!("{}", lines.collect::<String>()))?;
    }
    Ok(0)
}

/// Tables that are there already stay as they are: CREATE TABLE IF NOT EXISTS.
fn prepare_bulk(options: &Options) -> Result<u8, Stop> {
    let mut database = Database::open(options)?;
    let lines = names(options).map(|name| format!("Creating table '{name}'...\n"));
    write_promised(format_args!("{}", lines.collect::<String>()))?;
    database.load(options)?;
    Ok(0)
}

/// `cleanup`; gives the exit code.
///
/// # Errors
/// A table of such a name is not sysbench's, or cannot be dropped.
pub fn cleanup(options: &Options) -> Result<u8, Stop> {
    let mut database = Database::open(options)?;
    let there = database.existing_tables(options)?;
    let foreign = there.iter().find(|table| {
        table
            .mark
            .as_ref()
            .is_none_or(|mark| mark.pack != options.script.pack())
            && !COLUMNS.iter().any(|columns| table.columns == *columns)
    });
    if let Some(table) = foreign {
        return Err(will_not_drop(table));
    }
    for name in names(options) {
        write_promised(format_args!("Dropping table '{name}'...\n"))?;
        admin::run(
            &mut database.session,
            &format!("DROP TABLE IF EXISTS {name}"),
        )
        .map_err(|e| trouble::server(&e, &format!("could not drop {name}")))?;
    }
    Ok(0)
}

/// All tables that a run asks for must be there. Gives the pack's parameters that say how they were made,
/// where they have no mark of pgdyno's that says it.
///
/// # Errors
/// sysbench's words for one that is missing.
pub fn of_run(options: &Options) -> Result<Vec<String>, Stop> {
    let mut database = Database::open(options)?;
    let there = database.existing_tables(options)?;
    if options.script == SysbenchScript::Tpcc {
        tpcc::must_be_there(&options.tpcc, &there)?;
        return Ok(Vec::new());
    }
    if let Some(name) = names(options).find(|name| there.iter().all(|table| table.name != *name)) {
        return Err(Stop::fatal(format!(
            "PQprepare() failed: ERROR:  relation \"{name}\" does not exist"
        ))
        .and("FATAL: Thread initialization failed!")
        .hint("make it first: the same command with prepare instead of run"));
    }
    must_be_whole(&there)?;
    say_fewer_rows(&mut database, options)?;
    let is_marked = there.iter().any(|table| table.mark.is_some());
    Ok(if is_marked {
        Vec::new()
    } else {
        vec![format!("tables={}", options.tables)]
    })
}

/// Says in one line which table has no ids as high as those that are asked for: sysbench reads and changes
/// rows that are not there without a word.
fn say_fewer_rows(database: &mut Database, options: &Options) -> Result<(), Stop> {
    if matches!(
        options.script,
        SysbenchScript::Insert | SysbenchScript::BulkInsert
    ) {
        return Ok(());
    }
    for name in names(options) {
        let highest = admin::value(
            &mut database.session,
            &format!("SELECT coalesce(max(id), 0) FROM {name}"),
        )
        .map_err(|e| trouble::server(&e, &format!("could not look for the ids of {name}")))?;
        let highest: u64 = highest.and_then(|id| id.parse().ok()).unwrap_or(0);
        if highest < options.table_size {
            remark!(
                "pgdyno: {name} has ids up to {highest}, and --table-size={} asks for ids up to {}: what asks for the others \
                 finds no row, and is fast; give the --table-size of prepare",
                options.table_size,
                options.table_size
            );
            break;
        }
    }
    Ok(())
}
