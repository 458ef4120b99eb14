//! `pgdyno sql`: any question to the notebook.

use clap::Args;

use super::rows_args::RowsArgs;
use pgdyno_output::StoreArgs;
use pgdyno_spec::{Exit, Failure};
use pgdyno_store::Cell;

/// What is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pgdyno sql \"SELECT workload, clients, max(goodput_per_s) FROM result GROUP BY 1, 2\"
  pgdyno sql --csv \"SELECT * FROM timeline WHERE trial = 12\" > seconds.csv
  pgdyno sql \"SELECT sql FROM sqlite_schema\"    the tables and views of a file
  pgdyno sql \"SELECT tablename FROM pg_tables WHERE schemaname = 'public'\"    those of a server

The tables are described in pgdyno help store. The query is read-only.")]
pub struct SqlArgs {
    /// A query in SQLite's SQL
    #[arg(value_name = "SELECT")]
    pub query: String,
    /// In what form.
    #[command(flatten)]
    pub rows: RowsArgs,
    /// The notebook's options.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Runs the command.
pub fn open(args: &SqlArgs) -> Result<Exit, Failure> {
    let answer = args.store.existing()?.query(&args.query)?;
    let rows = answer.rows.iter();
    let rows = rows.map(|row| row.iter().map(Cell::json).collect());
    args.rows.print(&answer.columns, rows.collect())?;
    Ok(Exit::Ok)
}
