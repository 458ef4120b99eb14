//! A trial as Markdown.

use super::{common, escaped, ms, table};
use pgdyno_model::document::Phase;
use pgdyno_model::document::page::{StatementRow, TrialPage};
use pgdyno_spec::text::{self as figures, PERCENTILES};

/// It, ready to be pasted.
pub fn trial(page: &TrialPage) -> String {
    let run = &page.run;
    let mut text = common::begin(&page.common);
    text += &measured(&run.measured, run.client_cpu.us_per_transaction);
    if !page.statements.is_empty() {
        text += &statements(&page.statements);
    }
    text + &common::end(&page.common)
}

fn measured(measured: &Phase, cpu_us: Option<f64>) -> String {
    let all = &measured.all;
    let mut rows = vec![(
        "committed a second".to_owned(),
        figures::rate(all.goodput_per_s),
    )];
    for (name, latency) in [
        ("response", all.response.as_ref()),
        ("service", Some(&all.service)),
    ] {
        let Some(latency) = latency else { continue };
        for percentile in PERCENTILES {
            let percentile_name = figures::percentile_name(percentile);
            rows.push((
                format!("{name} {percentile_name}, ms"),
                latency.percentile_ms(percentile),
            ));
        }
    }
    let counts = &all.counts;
    for (name, number) in [
        ("committed", counts.committed),
        ("failed", counts.failed),
        ("retries", counts.retries),
        ("skipped", counts.skipped),
        ("unknown", counts.unknown),
    ] {
        rows.push((name.to_owned(), figures::count(number)));
    }
    if let Some(us) = cpu_us {
        rows.push((
            "pgdyno’s CPU a transaction, µs".to_owned(),
            figures::fixed(us, 1),
        ));
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(a, b)| vec![a, b]).collect();
    table(&["figure", "value"], &rows)
}

fn statements(statements: &[StatementRow]) -> String {
    let rows = statements.iter().map(|row| {
        vec![
            escaped(&row.text),
            figures::count(row.executions),
            ms(row.mean_us.map(|us| us.round() as u64)),
            ms(row.p99_us),
            ms(row.max_us),
        ]
    });
    let heading = [
        "statement",
        "executions",
        "mean, ms",
        "p99, ms",
        "worst, ms",
    ];
    table(&heading, &rows.collect::<Vec<_>>())
}
