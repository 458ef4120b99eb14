//! The dashboards of `examples/grafana`: each panel's query finds rows in what real trials leave behind, and
//! names nothing that is not exported. Grafana itself is not needed: what it replaces in a query is replaced
//! here, as docs/dashboards.md says ("How they are tested").

mod board;
mod metrics;
mod notebook;
mod prometheus;

use std::path::Path;

/// A workload in which all happens that a dashboard shows, the same with each seed: transactions that are
/// tried again, fail, take long, and lose their connection.
const EVENTFUL: &str = "\
\\set n random(1, 100)
SELECT pg_logical_emit_message(true, 'pgdyno', 'written to the log');
\\if :n = 1
DO $$ BEGIN RAISE EXCEPTION 'tried again' USING ERRCODE = '40001'; END $$;
\\elif :n = 2
SELECT 1 / 0;
\\elif :n = 3
SELECT pg_sleep(0.03);
\\elif :n = 4
SELECT pg_terminate_backend(pg_backend_pid());
\\endif
";

/// What makes of it retries, failures, late transactions and outages.
const EVENTFUL_OPTIONS: [&str; 7] = [
    "--max-tries=2",
    "--backoff=exponential=2ms,2ms,none",
    "--continue-on-error",
    "--reconnect",
    "--latency-limit=20ms",
    "--seed=1",
    "-c8",
];

/// The script as a file in this folder.
fn eventful(folder: &Path) -> String {
    let path = folder.join("eventful.sql");
    std::fs::write(&path, EVENTFUL).unwrap();
    path.display().to_string()
}
