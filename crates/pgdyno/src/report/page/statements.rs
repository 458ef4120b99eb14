//! Statements of the measured time: those of the scripts, and the server's own view of them.

use pgdyno_drive::record::Recording;
use serde_json::{Value, json};

use pgdyno_model::observed::Observed;

/// The SQL commands that were executed, in the order of the scripts.
pub fn of_scripts(recording: &Recording) -> Vec<Value> {
    let mut rows = Vec::new();
    for (script, totals) in recording.scripts.iter().zip(&recording.statements) {
        for (statement, totals) in script.statements.iter().zip(totals) {
            let latencies = &totals.latencies;
            let executed = latencies.count() + totals.retries + totals.failures + totals.aborts;
            if !statement.is_sql || executed == 0 {
                continue;
            }
            rows.push(json!({
                "script": script.name,
                "text": statement.text,
                "executions": latencies.count(),
                "retries": totals.retries,
                "failures": totals.failures + totals.aborts,
                "sum_us": latencies.sum_us(),
                "mean_us": latencies.mean_us(),
                "p50_us": latencies.percentile_us(50.0),
                "p99_us": latencies.percentile_us(99.0),
                "max_us": (latencies.count() > 0).then(|| latencies.max_us()),
            }));
        }
    }
    rows
}

/// What the server counted by statement, the dearest first.
pub fn of_server(observed: &Observed) -> Vec<Value> {
    let statements = observed.statements.iter();
    statements
        .map(|(_, statement)| {
            json!({
                "text": statement.text,
                "calls": statement.calls,
                "time_us": statement.time_us,
                "rows": statement.rows,
                "details": statement.details,
            })
        })
        .collect()
}
