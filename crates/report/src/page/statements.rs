//! Statements of the measured time: those of the scripts, and the server's own view of them.

use pgdyno_drive::record::Recording;
use pgdyno_model::document::Observed;
use pgdyno_model::document::page::{ServerStatement, StatementRow};

/// The SQL commands that were executed, in the order of the scripts.
pub fn of_scripts(recording: &Recording) -> Vec<StatementRow> {
    let mut rows = Vec::new();
    for (script, totals) in recording.scripts.iter().zip(&recording.statements) {
        for (statement, totals) in script.statements.iter().zip(totals) {
            let latencies = &totals.latencies;
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
                mean_us: latencies.mean_us(),
                p50_us: latencies.percentile_us(50.0),
                p99_us: latencies.percentile_us(99.0),
                max_us: (latencies.count() > 0).then(|| latencies.max_us()),
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
