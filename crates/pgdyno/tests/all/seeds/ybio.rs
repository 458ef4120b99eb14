//! ybio's lines, as its own test.sh types them.

use crate::seeds::compare::{compare, peer, said};
use crate::seeds::pgbench::needs_stock;
use crate::seeds::shape::Columns;
use crate::seeds::shell::Shell;
use crate::seeds::table::{self, Tool};
use crate::support::Database;

/// What a run leaves in ybio's table of runs, without what depends on time.
const RUNS: &str = "SELECT job_id, table_name, tab_rows, batch_size, pct_update, prepared, index_only, \
    num_rows > 0, num_batches > 0, end_time > start_time, max_scratch > 0, \
    table_rows, table_scratch FROM benchruns ORDER BY job_id";

/// The text with each table's first notice of a batch and those of every thousandth one: ybio gives one
/// for each batch, pgdyno one every few seconds.
fn shortened(text: &str) -> String {
    let is_kept = |line: &&str| {
        let batch = line
            .split_once("batch#:")
            .map(|(_, rest)| rest.trim_start());
        let number = batch.and_then(|rest| rest.split(',').next());
        number.is_none_or(|number| number == "1" || number.ends_with("000"))
    };
    let kept = text.lines().filter(is_kept);
    kept.map(|line| format!("{line}\n")).collect()
}

#[test]
fn ybios_tables_are_set_up_and_run_on() {
    needs_stock!("ybios_tables_are_set_up_and_run_on");
    let server = pgdyno_testkit::postgres_with(&[]);
    let database = Database::on(&server, "ybio");
    let shell = Shell::ours(&server, "ybio");
    let theirs = peer("PGDYNO_PEER_YBIO").map(|ybio| {
        let database = Database::on(&server, "stock_ybio");
        let shell = Shell::theirs(&server, "stock_ybio");
        shell.must(&format!("psql -q -f {}/ybio.sql", ybio.display()));
        (shell, database)
    });
    for line in table::of(Tool::Ybio) {
        let ours = shell.run(line).expect(0, &[]);
        let theirs = theirs
            .as_ref()
            .map(|(shell, _)| shortened(&said(&shell.run(line))));
        compare(line, &said(&ours), theirs.as_deref(), Columns::Free);
    }
    let runs = database.rows(RUNS);
    assert_eq!(runs.len(), 4, "{runs:?}");
    for (run, number) in runs.iter().zip(1..) {
        assert_eq!(
            *run,
            format!("{number}|bench000{number}|20000|200|10|t|f|t|t|t|t|NULL|NULL")
        );
    }
    if let Some((_, theirs)) = theirs {
        assert_eq!(runs, theirs.rows(RUNS));
    }
}
