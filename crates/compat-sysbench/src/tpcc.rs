//! sysbench-tpcc's options and commands, on the pack `tpcc`. (Facts: Percona-Lab/sysbench-tpcc, tpcc.lua,
//! tpcc_common.lua, tpcc_check.lua.)

use std::collections::BTreeSet;

use pgdyno_database::{admin, trouble};
use pgdyno_measurement::ScriptInterval;
use pgdyno_output::{remark, write_promised};
use pgdyno_session::{Outcome, quote_ident};
use pgdyno_spec::Isolation;
use pgdyno_workload::params::Params;
use pgdyno_workload::state::ExistingTable;

use super::Stop;
use super::options::Options;
use super::report::SysbenchTally;
use super::tables::{self, Database};
use super::typed::TypedOptions;

/// The pack's script of new orders that are rolled back by design.
const ROLLBACK: &str = "new-order-rollback";
/// The pack's conditions return at most so many rows.
const ROWS_MAX: usize = 100;

/// What only sysbench-tpcc's script has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tpcc {
    pub warehouses: u64,
    /// Whether the tables have foreign keys.
    pub has_keys: bool,
    pub isolation: Isolation,
    /// Progress lines are rows of CSV.
    pub is_csv: bool,
}

impl Tpcc {
    /// Reads it.
    ///
    /// # Errors
    /// What the pack does not have, and the way out.
    pub fn of(typed: &TypedOptions) -> Result<Self, Stop> {
        refuse(typed)?;
        let isolation = match typed.text("trx-level") {
            "RR" => Isolation::RepeatableRead,
            "RC" => Isolation::ReadCommitted,
            "SER" => Isolation::Serializable,
            other => {
                return Err(
                    Stop::fatal(format!("Invalid value for --trx-level: {other}"))
                        .hint("it is RR (the default), RC or SER"),
                );
            }
        };
        let warehouses = typed.number("scale");
        if warehouses == 0 || warehouses > 1_000_000 {
            return Err(Stop::fatal("--scale is 1 to 1000000 warehouses"));
        }
        Ok(Self {
            warehouses,
            has_keys: typed.is_on("use-fk"),
            isolation,
            is_csv: is_yes(typed, "report-csv")?,
        })
    }

    /// Parameters of the pack for its tables.
    pub fn made(&self) -> [String; 2] {
        [
            format!("warehouses={}", self.warehouses),
            format!("fks={}", self.has_keys),
        ]
    }

    /// The same for a run. The mix is the pack's own: 10, 10, 1, 1 and 1 of 23.
    pub fn params(&self) -> Vec<String> {
        vec![
            format!("active_warehouses={}", self.warehouses),
            // It draws the warehouse of each transaction.
            "home=any".to_owned(),
            "form=statements".to_owned(),
            "count_writes=true".to_owned(),
        ]
    }
}

fn is_yes(typed: &TypedOptions, name: &str) -> Result<bool, Stop> {
    match typed.text(name) {
        "yes" => Ok(true),
        "no" => Ok(false),
        other => {
            Err(Stop::fatal(format!("Invalid value for --{name}: {other}")).hint("it is yes or no"))
        }
    }
}

fn refuse(typed: &TypedOptions) -> Result<(), Stop> {
    let refused = |name: &str, why: &str, way: &str| {
        Err(Stop::fatal(format!("--{name}: {why}")).hint(way.to_owned()))
    };
    if typed.number("tables") != 1 {
        return refused(
            "tables",
            "pgdyno has one set of tables",
            "more data: --scale=N warehouses; sets beside it: a database each (--pgsql-db)",
        );
    }
    if is_yes(typed, "enable-purge")? {
        return refused(
            "enable-purge",
            "TPC-C deletes no orders, and pgdyno neither",
            "leave it out; tables that have grown: the same command with cleanup, then with prepare",
        );
    }
    if is_yes(typed, "splittable")? {
        return refused(
            "splittable",
            "pgdyno begins all transactions alike",
            "leave it out; reads at other servers: pgdyno run with several --url",
        );
    }
    if typed.text("pgsql-schema") != "public" {
        return refused(
            "pgsql-schema",
            "pgdyno's tables are in the first schema of the role's search_path",
            "in SQL: ALTER ROLE … SET search_path = …; then leave it out",
        );
    }
    for name in ["force-pk", "mysql-storage-engine", "mysql-table-options"] {
        if typed.is_given(name) && !["", "0"].contains(&typed.text(name)) {
            return refused(
                name,
                "its SQL is MySQL's",
                "leave it out: PostgreSQL's tables need none of it",
            );
        }
    }
    Ok(())
}

/// How statements of the pack are counted as sysbench counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// The place of new orders that are rolled back among the scripts.
    rollback: Option<usize>,
}

impl Counts {
    /// For a run of these scripts.
    pub fn of<'a>(mut scripts: impl Iterator<Item = &'a str>) -> Self {
        Self {
            rollback: scripts.position(|name| name == ROLLBACK),
        }
    }

    /// What the script at this place did. A rollback by design is an event and an ignored error, as in
    /// sysbench-tpcc.
    pub fn tally(self, place: usize, script: &ScriptInterval) -> SysbenchTally {
        let events = script.counts.committed;
        let statements = script.work.kept_statements;
        let others = 2 * events;
        let is_rollback = self.rollback == Some(place);
        let writes = if is_rollback {
            // Work units that are rolled back are forgotten. Such an order has eight statements, two of
            // them writes, and four for each line, of which two are writes.
            (statements / 2).saturating_sub(2 * events)
        } else {
            script.units.iter().map(|units| units.count()).sum()
        };
        let failed = script.counts.failed_total() + script.counts.unknown;
        SysbenchTally {
            events,
            reads: statements.saturating_sub(writes + others),
            writes,
            others,
            errors: failed + if is_rollback { events } else { 0 },
            reconnects: 0,
        }
    }
}

/// All warehouses must be there, whole.
///
/// # Errors
/// What is missing.
pub fn must_be_there(tpcc: &Tpcc, there: &[ExistingTable]) -> Result<(), Stop> {
    if there.is_empty() {
        return Err(
            Stop::fatal("PQexec() failed: 7 relation \"warehouse\" does not exist")
                .hint("make it first: the same command with prepare")
                .hint("tables that sysbench-tpcc itself has made (warehouse1, …) are others"),
        );
    }
    tables::must_be_whole(there)?;
    let mut marks = there.iter().filter_map(|table| table.mark.as_ref());
    let loaded = marks.find_map(|mark| mark.params.get("warehouses"));
    let Some(loaded) = loaded.and_then(|number| number.parse::<u64>().ok()) else {
        return Ok(());
    };
    if tpcc.warehouses > loaded {
        Err(Stop::fatal(format!(
            "--scale={}: there are only {loaded} warehouses",
            tpcc.warehouses
        ))
        .hint(format!(
            "--scale={loaded}, or more of them: pgdyno load tpcc --param warehouses={} --grow",
            tpcc.warehouses
        )))
    } else {
        Ok(())
    }
}

/// `prepare`; gives the exit code.
///
/// # Errors
/// A table is there already, or cannot be made.
pub fn prepare(options: &Options) -> Result<u8, Stop> {
    let tpcc = &options.tpcc;
    tables::head(options)?;
    let mut database = Database::open(options)?;
    write_promised(format_args!("Creating tables: 1\n\n"))?;
    let there = database.existing_tables(options)?;
    if let Some(table) = there.iter().find(|table| !tables::is_loading(table)) {
        return Err(tables::exists(&table.name));
    }
    let lines = (1..=tpcc.warehouses)
        .map(|number| format!("loading tables: 1 for warehouse: {number}\n\n"));
    write_promised(format_args!("{}", lines.collect::<String>()))?;
    database.load(options)?;
    write_promised(format_args!("Adding indexes 1 ... \n\n"))?;
    if tpcc.has_keys {
        write_promised(format_args!("Adding FK 1 ... \n\n"))?;
    }
    Ok(0)
}

/// `cleanup`; gives the exit code.
///
/// # Errors
/// A table of such a name is not pgdyno's, or they cannot be dropped.
pub fn cleanup(options: &Options) -> Result<u8, Stop> {
    let mut database = Database::open(options)?;
    let there = database.existing_tables(options)?;
    let is_ours = |table: &&ExistingTable| {
        let mark = table.mark.as_ref();
        mark.is_some_and(|mark| mark.pack == options.script.pack())
    };
    if let Some(table) = there.iter().find(|table| !is_ours(table)) {
        return Err(tables::will_not_drop(table));
    }
    write_promised(format_args!("Dropping tables '1'...\n"))?;
    if there.is_empty() {
        return Ok(0);
    }
    // Together, because foreign keys hold them.
    let names: Vec<String> = there.iter().map(|table| quote_ident(&table.name)).collect();
    let statement = format!("DROP TABLE IF EXISTS {}", names.join(", "));
    admin::run(&mut database.session, &statement)
        .map_err(|e| trouble::server(&e, "could not drop the tables"))?;
    Ok(0)
}

/// `check`: the pack's conditions; gives the exit code, which is 0 whether they hold or not.
///
/// # Errors
/// The tables are not there, or a condition cannot be looked at.
pub fn check(options: &Options) -> Result<u8, Stop> {
    tables::head(options)?;
    let mut database = Database::open(options)?;
    let there = database.existing_tables(options)?;
    must_be_there(&options.tpcc, &there)?;
    let variables = database.as_loaded(&Params::default())?;
    let checks = database
        .pack
        .made_checks(database.product.dialect.name, &variables)
        .map_err(Stop::fatal)?;
    for check in checks {
        let found = database
            .session
            .unhurried()
            .query(&check.query)
            .map_err(|e| trouble::server(&e, &format!("could not check {}", check.name)))?;
        let broken = BrokenCheck::of(&found);
        let lines = (1..=options.tpcc.warehouses).map(|number| {
            format!(
                "Check {}, warehouse: {number} {}\n",
                check.name,
                broken.word(number)
            )
        });
        write_promised(format_args!("{}", lines.collect::<String>()))?;
        let (holds, what) = check.judge(&found.rows, None);
        if !holds {
            let (name, help) = (&check.name, &check.help);
            remark!("pgdyno: condition {name} does not hold: {help} ({what})");
        }
    }
    Ok(0)
}

/// Where a condition does not hold.
#[derive(Debug, PartialEq, Eq)]
struct BrokenCheck {
    warehouses: BTreeSet<u64>,
    /// Whether there may be more of them.
    is_cut: bool,
}

impl BrokenCheck {
    /// By the rows of its query, each of which has the number of its warehouse in a column w_id, d_w_id, …;
    /// where rows are joined in more than one.
    fn of(found: &Outcome) -> Self {
        let is_number = |name: &str| name == "w_id" || name.ends_with("_w_id");
        let columns = found.columns.iter().enumerate();
        let places: Vec<usize> = columns
            .filter(|(_, column)| is_number(&column.name))
            .map(|(place, _)| place)
            .collect();
        let number = |row: &Vec<Option<String>>| {
            let mut values = places.iter().filter_map(|place| row[*place].as_ref());
            values.next().and_then(|value| value.parse().ok())
        };
        Self {
            warehouses: found.rows.iter().filter_map(number).collect(),
            is_cut: found.rows.len() >= ROWS_MAX,
        }
    }

    fn word(&self, warehouse: u64) -> &'static str {
        match (self.warehouses.contains(&warehouse), self.is_cut) {
            (true, _) => "FAILED!!!",
            (false, true) => "NOT KNOWN",
            (false, false) => "PASSED",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_session::Column;

    fn outcome(names: &[&str], rows: &[&[Option<&str>]]) -> Outcome {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            type_oid: 23,
        };
        let row = |row: &&[Option<&str>]| row.iter().map(|v| v.map(str::to_owned)).collect();
        Outcome {
            columns: names.iter().map(column).collect(),
            rows: rows.iter().map(row).collect(),
            ..Outcome::default()
        }
    }

    #[test]
    fn a_condition_is_broken_where_its_rows_say() {
        let columns = ["o_w_id", "o_d_id", "no_w_id"];
        let rows: [&[Option<&str>]; 2] = [
            &[Some("2"), Some("7"), None],
            // An order that is not there.
            &[None, None, Some("4")],
        ];
        let broken = BrokenCheck::of(&outcome(&columns, &rows));
        let words = (1..=4).map(|number| broken.word(number));
        assert!(words.eq(["PASSED", "FAILED!!!", "PASSED", "FAILED!!!"]));
        let row: &[Option<&str>] = &[Some("2"), Some("7"), None];
        let cut = BrokenCheck::of(&outcome(&columns, &[row; ROWS_MAX]));
        assert_eq!((cut.word(1), cut.word(2)), ("NOT KNOWN", "FAILED!!!"));
    }

    #[test]
    fn a_rollback_counts_as_event_error_and_the_statements_that_it_had() {
        let counts = Counts::of(["new-order", ROLLBACK].into_iter());
        let mut script = ScriptInterval::default();
        script.counts.committed = 2;
        // Of 5 and of 7 lines, besides the one whose item is missing.
        script.work.kept_statements = (8 + 4 * 5) + (8 + 4 * 7);
        let tally = counts.tally(1, &script);
        assert_eq!(
            (tally.reads, tally.writes, tally.others),
            (2 * 4 + 2 * 12, 2 * 2 + 2 * 12, 4)
        );
        assert_eq!((tally.events, tally.errors), (2, 2));
        assert_eq!(counts.tally(0, &script).errors, 0);
    }
}
