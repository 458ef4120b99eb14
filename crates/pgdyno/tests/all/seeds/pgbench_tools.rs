//! pgbench-tools' lines: what a set has run, test by test, and that the article's set is one of 72
//! tests.

use crate::seeds::compare::{compare, peer};
use crate::seeds::pgbench::needs_stock;
use crate::seeds::shape::Columns;
use crate::seeds::shell::Shell;
use crate::seeds::table::{self, Tool};
use crate::support::Database;

/// The article's configuration, but for what says how long a set takes.
const CONFIG: &str = "SCRIPT=\"select\"\nSCALES=\"1 2\"\nSETCLIENTS=\"1 2\"\nSETTIMES=1\nRUNTIME=1\n\
    MAX_WORKERS=\"\"\n";

/// The tests of the set as pgbench-tools' results database has them. (It takes no rate from a report of
/// pgbench 14 or later.)
const TESTS: &str = "SELECT s.info, t.script, t.scale, t.clients, t.trans > 0, \
    t.end_time - t.start_time >= interval '1 second' FROM tests t JOIN testset s USING (set, server) \
    WHERE t.script NOT LIKE ':%' ORDER BY t.test";

/// The same of the notebook.
const TRIALS: &str = "SELECT concat_ws('|', e.name, iif(t.workload = 'select-only', 'select', t.workload), \
    t.point ->> '$.params.scale', t.clients, iif(t.committed > 0, 't', 'f'), \
    iif(t.elapsed_us >= 1000000, 't', 'f')) AS test FROM trial t \
    JOIN experiment e ON e.number = t.experiment ORDER BY t.number";

#[test]
fn seed_3_a_set_is_named_and_run() {
    needs_stock!("seed_3_a_set_is_named_and_run");
    let server = pgdyno_testkit::postgres_with(&[]);
    Database::on(&server, "pgbench");
    let shell = Shell::ours(&server, "pgbench");
    shell.write("config", CONFIG);
    for line in table::of(Tool::PgbenchTools) {
        shell.run(line).expect(0, &[]);
    }
    shell.write("trials.sql", TRIALS);
    let ours = shell.must("pgdyno sql --json \"$(cat trials.sql)\"").stdout;
    let ours: Vec<serde_json::Value> = serde_json::from_str(&ours).expect("JSON");
    let test = |row: &serde_json::Value| row["test"].as_str().map(|text| format!("{text}\n"));
    let ours: String = ours.iter().filter_map(test).collect();
    let theirs = peer("PGDYNO_PEER_PGBENCH_TOOLS").map(|tools| {
        Database::on(&server, "real_pgbench");
        let results = Database::on(&server, "results");
        let shell = Shell::theirs(&server, "results");
        // Its script is one transaction, which ends at a view that a new database has not.
        let init = "grep -v '^BEGIN;' init/resultdb.sql | psql -q";
        shell.must(&format!("cp -r {}/. . && {init}", tools.display()));
        shell.write("own", CONFIG);
        shell.must(
            "cat own >> config && cat >> config <<END
TESTHOST=localhost
TESTUSER=postgres
TESTPORT=$PGPORT
TESTDB=real_pgbench
RESULTHOST=localhost
RESULTUSER=postgres
RESULTPORT=$PGPORT
END",
        );
        for line in table::of(Tool::PgbenchTools) {
            shell.run(line).expect(0, &[]);
        }
        results.rows(TESTS).join("\n") + "\n"
    });
    let line = table::line("pgbench-tools-runset");
    compare(line, &ours, theirs.as_deref(), Columns::Figures);
}
