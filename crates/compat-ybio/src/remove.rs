//! `remove`: drops the table that `setup` made, with its procedure. `benchruns` stays.

use pgdyno_database::{admin, trouble};
use pgdyno_output::answer;
use pgdyno_session::{Session, quote_ident, quote_literal};
use pgdyno_spec::{Exit, Failure};
use pgdyno_workload::mark::ProcedureMark;

use super::YbioArgs;
use super::parameters::Parameters;
use super::table::{self, TableMaker};

pub fn open(args: &YbioArgs, parameters: &Parameters) -> Result<Exit, Failure> {
    let target = args.target()?;
    let mut session = target.connect()?;
    let name = parameters.table();
    match table::maker(&mut session, &name)? {
        Some(TableMaker::Pgdyno { .. }) => {}
        None => return Err(Failure::new(format!("there is no table {name}"))),
        Some(TableMaker::Ybio | TableMaker::Others) => {
            let text = format!("will not drop {name}: `pgdyno ybio setup` did not make it");
            return Err(Failure::new(text).hint(format!("in SQL: DROP TABLE {name}")));
        }
    }
    let failed = |e| trouble::server(&e, &format!("could not drop {name}"));
    let table = quote_ident(&name);
    admin::run(&mut session, &format!("DROP TABLE {table}")).map_err(failed)?;
    for procedure in procedures(&mut session, &name).map_err(failed)? {
        admin::run(&mut session, &format!("DROP PROCEDURE {procedure}")).map_err(failed)?;
    }
    answer!("CALL")?;
    Ok(Exit::Ok)
}

/// The procedures that runs have left for the table, with pgdyno's mark.
fn procedures(session: &mut Session, table: &str) -> Result<Vec<String>, pgdyno_session::Error> {
    let query = format!(
        "SELECT p.oid::regprocedure, obj_description(p.oid, 'pg_proc') FROM pg_proc p \
         JOIN pg_namespace n ON n.oid = p.pronamespace \
         WHERE n.nspname = current_schema() AND p.proname = {}",
        quote_literal(&format!("pgdyno_{table}"))
    );
    let marked = admin::rows(session, &query)?.into_iter().filter_map(|row| {
        let mut row = row.into_iter().flatten();
        let (procedure, comment) = (row.next()?, row.next()?);
        ProcedureMark::read(&comment).map(|_| procedure)
    });
    Ok(marked.collect())
}
