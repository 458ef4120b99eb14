//! Statements of the measured time: those of the scripts, and the server's own view of them.

use pgdyno_measurement::Recording;
use pgdyno_model::document::page::{ServerStatement, StatementRow};
use pgdyno_model::document::{Observed, in_pipeline};

/// The SQL commands that were executed, in the order of the scripts.
pub fn of_scripts(recording: &Recording) -> Vec<StatementRow> {
    let mut rows = Vec::new();
    for (script, totals) in recording.scripts.iter().zip(&recording.statements) {
        let pipelined = in_pipeline(&script.statements);
        for (at, (statement, totals)) in script.statements.iter().zip(totals).enumerate() {
            let latencies = &totals.latencies;
            let has_own = !pipelined[at] && latencies.count() > 0;
            let percentile = |percent| latencies.percentile_us(percent).filter(|_| has_own);
            let executed = latencies.count() + totals.retries + totals.failures + totals.aborts;
            if !statement.is_sql || executed == 0 {
                continue;
            }
            rows.push(StatementRow {
                script: script.name.clone(),
                text: statement.text.clone(),
                executions: latencies.count(),
                retries: totals.retries,
                failures: totals.failures + totals.aborts,
                sum_us: latencies.sum_us(),
                mean_us: latencies.mean_us().filter(|_| has_own),
                p50_us: percentile(50.0),
                p99_us: percentile(99.0),
                max_us: has_own.then(|| latencies.max_us()),
                wait: None,
            });
        }
    }
    rows
}

/// What the server counted by statement, the most expensive first.
pub fn of_server(observed: &Observed) -> Vec<ServerStatement> {
    let statements = observed.statements.iter();
    statements
        .map(|statement| ServerStatement {
            text: statement.text.clone(),
            calls: statement.calls,
            time_us: statement.time_us,
            rows: statement.rows,
            details: statement.details.clone(),
        })
        .collect()
}
