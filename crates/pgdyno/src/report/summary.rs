//! The result in the terminal.

use pgdyno_drive::Until;
use pgdyno_drive::record::{
    Counts, End, EndpointRecord, EventKind, Failure, Latencies, Phase, Recording, ScriptInterval,
};
use pgdyno_platform::terminal;
use pgdyno_stats::Steadiness;

use super::accounting;
use super::table::Table;
use crate::plan::steady::courses;
use crate::plan::trial::Outcome;
use crate::plan::warmup::By;
use pgdyno_model::Severity;
use pgdyno_model::text::{self as figures, PERCENTILES};

/// Where standard output is no terminal.
const WIDTH_DEFAULT: usize = 110;

/// More variables than this are not told one by one.
const VARIABLES_MAX: usize = 12;

/// How wide what is printed may be.
pub fn width() -> usize {
    terminal::width().map_or(WIDTH_DEFAULT, usize::from)
}

/// All of it, ready to be printed.
pub fn text(outcome: &Outcome) -> String {
    let width = width();
    let recording = &outcome.recording;
    let parts = [
        heading(outcome),
        totals(outcome),
        super::units::text(recording, width),
        latencies(recording, width),
        endpoints(outcome, width),
        outcome
            .accounting
            .as_ref()
            .map_or_else(String::new, accounting::text),
        touched(outcome),
        failures(&recording.measured.all().counts),
        super::retries::text(outcome),
        statements(recording, width),
        client(recording),
        super::verdict::text(outcome),
        super::observed::line(&outcome.observed),
        notes(outcome),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// What the draws came to.
fn touched(outcome: &Outcome) -> String {
    let Some(touched) = &outcome.touched else {
        return String::new();
    };
    format!(
        "keys         hottest one {}, hottest 100 {} of {}{} requests; {} different ones\n             \
         (the run's scripts and seed, drawn again without the server)\n",
        figures::share(touched.hottest_share),
        figures::share(touched.hottest_100_share),
        if touched.is_sample {
            "a sample of "
        } else {
            ""
        },
        figures::count(touched.draws),
        figures::count(touched.distinct),
    )
}

fn heading(outcome: &Outcome) -> String {
    let trial = &outcome.spec;
    // Of many only those that somebody chose: the others are in the JSON document.
    let is_chosen = |name: &str| {
        let mut given = trial
            .params
            .iter()
            .filter_map(|given| given.split_once('='));
        given.any(|(given, _)| given == name)
    };
    let are_few = outcome.variables.len() <= VARIABLES_MAX;
    let variables = outcome.variables.iter();
    let variables = variables.filter(|(name, _)| are_few || is_chosen(name));
    let variables = variables.map(|(name, value)| format!(", {name} {value}"));
    let mix = trial.mix.iter().map(|mix| format!(", mix {mix}"));
    let variables = mix.chain(variables);
    let mode = trial.query_mode().name();
    let until = match trial.until() {
        Until::Elapsed(time) => figures::seconds(time.as_secs_f64()),
        Until::Transactions(count) => format!("{} transactions each", figures::count(count.get())),
    };
    let mut how = format!(
        "{}, {}, {until}, {mode} protocol",
        figures::plural(trial.clients().into(), "client"),
        figures::plural(outcome.threads as u64, "thread"),
    );
    how += &super::retries::policy(&trial.retry);
    if let Some(rate) = trial.rate {
        how += &format!(", {} transactions/s scheduled", figures::rate(rate));
    }
    let warmup = figures::seconds(trial.warmup.longest().as_secs_f64());
    if trial.warmup.is_detected() {
        how += &format!(", after a warm-up of at most {warmup}");
    } else if !trial.warmup.longest().is_zero() {
        how += &format!(", after {warmup} of warm-up");
    }
    if let Some(level) = outcome.facts.isolation.seen()
        && (trial.isolation.is_some() || level != "read committed")
    {
        how += &format!(", isolation {level}");
    }
    if trial.connection_per_transaction {
        how += ", a connection for each transaction";
    }
    format!(
        "{}{} on {}\n{how}, seed {}\n",
        outcome.workload,
        variables.collect::<String>(),
        outcome.target,
        trial.seed.unwrap_or_default()
    )
}

fn totals(outcome: &Outcome) -> String {
    let recording = &outcome.recording;
    let measured = &recording.measured;
    let all = measured.all();
    let counts = &all.counts;
    let goodput = figures::rate(measured.goodput_per_s());
    let mut text = String::new();
    match recording.end {
        End::Complete => {}
        End::Interrupted => text += "INTERRUPTED: this is what was measured until then\n",
        End::ClientAborted { .. } => text += "ABORTED: a client ended before its time\n",
        End::InvariantBroken => {
            let what = recording.broken_invariant.as_deref().unwrap_or_default();
            text += &format!("BROKEN INVARIANT: {what}\n");
        }
        End::AllClientsAborted => text += "ABORTED: every client ended before its time\n",
    }
    if recording.clients.aborted > 0 && recording.end != End::AllClientsAborted {
        let aborted = figures::plural(recording.clients.aborted as u64, "client");
        text += &format!(
            "INCOMPLETE: {aborted} of {} ended early\n",
            recording.clients.total
        );
    }
    text += &format!(
        "goodput      {goodput} transactions/s ({} committed in {})\n",
        figures::count(counts.committed),
        figures::seconds(measured.elapsed_us as f64 / 1e6)
    );
    let others = [
        ("failed", counts.failed_total()),
        ("unknown", counts.unknown),
        ("skipped", counts.skipped),
        ("late", counts.late),
    ];
    let others = others
        .into_iter()
        .filter(|(what, number)| *number > 0 || *what == "failed");
    let others: Vec<String> = others
        .map(|(what, number)| {
            let share = figures::percent(number, counts.total());
            format!("{} {what} ({share})", figures::count(number))
        })
        .collect();
    text += &format!("not good     {}\n", others.join(", "));
    text += &steadiness(recording);
    if let Some(warmup) = &recording.warmup {
        let ended = outcome.warmup_ended.map_or_else(String::new, |ended| {
            let figure = ended.figure.name();
            let why = match ended.by {
                By::Steady => format!("until {figure} was steady"),
                By::Limit => format!("its limit, before {figure} was steady"),
                By::Trial => "ended with the trial".to_owned(),
            };
            let elapsed = figures::seconds(warmup.elapsed_us as f64 / 1e6);
            format!(" for {elapsed} ({why})")
        });
        text += &format!(
            "warm-up      {} transactions/s{ended}, apart from the figures\n",
            figures::rate(warmup.goodput_per_s())
        );
    }
    text
}

/// What was found steady; what was not is among the notes, and of short trials there is nothing to
/// say.
fn steadiness(recording: &Recording) -> String {
    let courses = courses(recording).into_iter();
    let steady = courses.filter(|c| matches!(c.steadiness, Steadiness::Steady { .. }));
    let steady: Vec<String> = steady.map(|course| course.sentence()).collect();
    match steady.is_empty() {
        true => String::new(),
        false => format!("steadiness   {}\n", steady.join(", ")),
    }
}

fn latencies(recording: &Recording, width: usize) -> String {
    let mut table = Table::default();
    table.row(heading_of_latencies("latency, ms"));
    let has_response = recording.measured.all().response.is_some();
    let mut rows = |name: &str, script: &ScriptInterval| {
        if has_response {
            table.row(latency_cells(&format!("{name}: service"), &script.service));
            attempt(&mut table, name, script);
            let response = script.response.clone().unwrap_or_default();
            table.row(latency_cells(&format!("{name}: response"), &response));
            let lag = script.lag.clone().unwrap_or_default();
            table.row(latency_cells(&format!("{name}: schedule lag"), &lag));
        } else {
            table.row(latency_cells(name, &script.service));
            attempt(&mut table, name, script);
        }
    };
    if recording.scripts.len() > 1 {
        rows("all transactions", &recording.measured.all());
    }
    let Phase { scripts, .. } = &recording.measured;
    for (record, script) in recording.scripts.iter().zip(scripts) {
        rows(&record.name, script);
    }
    let mut text = table.text(width);
    if text.contains(ATTEMPT) {
        text += "the others count from the start of the first try\n";
    }
    if text.contains('–') {
        text += "–: fewer than ten transactions beyond it\n";
    }
    text
}

/// A row an endpoint, where there are several.
fn endpoints(outcome: &Outcome, width: usize) -> String {
    let endpoints = &outcome.recording.endpoints;
    if endpoints.len() < 2 {
        return String::new();
    }
    let has_response = endpoints.iter().any(|e| e.response.is_some());
    let what = if has_response { "response" } else { "latency" };
    let mut table = Table::default();
    let mut heading = heading_of_latencies(&format!("endpoint: {what}, ms"));
    heading.insert(1, "clients".to_owned());
    type Column = (&'static str, fn(&EndpointRecord) -> u64);
    let columns: [Column; 4] = [
        ("failed", |e| e.counts.failed_total()),
        ("unknown", |e| e.counts.unknown),
        ("lost", |e| e.lost),
        ("arrived", |e| e.arrived),
    ];
    let columns = columns
        .iter()
        .filter(|(_, number)| endpoints.iter().any(|e| number(e) > 0));
    heading.extend(columns.clone().map(|(name, _)| (*name).to_owned()));
    table.row(heading);
    for endpoint in endpoints {
        let reached = outcome.facts.reached.iter();
        let mut reached = reached.filter(|reached| reached.endpoint == endpoint.name);
        let node = reached.find_map(|reached| reached.node.seen());
        let name = match node.filter(|node| **node != endpoint.name) {
            Some(node) => format!("{} (node {node})", endpoint.name),
            None => endpoint.name.clone(),
        };
        let latencies = endpoint.response.as_ref().unwrap_or(&endpoint.service);
        let mut cells = latency_cells(&name, latencies);
        cells.insert(1, figures::count(endpoint.clients));
        cells.extend(columns.clone().map(|(_, of)| figures::count(of(endpoint))));
        table.row(cells);
    }
    table.text(width)
}

/// A row of its own where some transactions were tried more than once.
const ATTEMPT: &str = "last try alone";

fn attempt(table: &mut Table, name: &str, script: &ScriptInterval) {
    if let Some(attempt) = script
        .attempt
        .as_ref()
        .filter(|_| script.counts.retried > 0)
    {
        table.row(latency_cells(&format!("{name}: {ATTEMPT}"), attempt));
    }
}

/// What a table of latencies has over its columns, in milliseconds.
pub fn heading_of_latencies(first: &str) -> Vec<String> {
    let percentiles = PERCENTILES.map(figures::percentile_name);
    let names = [first, "count", "mean"].map(str::to_owned).into_iter();
    names.chain(percentiles).chain(["max".to_owned()]).collect()
}

/// A row of such a table.
pub fn latency_cells(name: &str, latencies: &Latencies) -> Vec<String> {
    let mean = latencies
        .mean_us()
        .map_or_else(|| "–".to_owned(), figures::ms_precisely);
    let max = if latencies.count() == 0 {
        "–".to_owned()
    } else {
        figures::ms(latencies.max_us())
    };
    let mut cells = vec![name.to_owned(), figures::count(latencies.count()), mean];
    cells.extend(PERCENTILES.map(|percent| figures::percentile_ms(latencies, percent)));
    cells.push(max);
    cells
}

fn failures(counts: &Counts) -> String {
    let mut reasons: Vec<(&Failure, &u64)> = counts.failed.iter().collect();
    reasons.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    let mut text = String::new();
    for (failure, number) in reasons {
        text += &format!(
            "failed       {} by {} [{}]\n",
            figures::count(*number),
            failure,
            failure.code()
        );
    }
    text
}

fn statements(recording: &Recording, width: usize) -> String {
    let mut table = Table::default();
    let mut heading = heading_of_latencies("statement, ms");
    let all = recording.statements.iter().flatten();
    let has_errors = all
        .clone()
        .any(|statement| statement.retries + statement.failures + statement.aborts > 0);
    if has_errors {
        heading.extend(["retries", "failures"].map(str::to_owned));
    }
    table.row(heading);
    for (record, totals) in recording.scripts.iter().zip(&recording.statements) {
        if recording.scripts.len() > 1 {
            table.row([format!("{}:", record.name)]);
        }
        for (statement, totals) in record.statements.iter().zip(totals) {
            let has_waited = totals.latencies.count() > 0;
            if !statement.is_sql && !has_waited {
                continue;
            }
            let mut cells = latency_cells(statement.text.trim_end_matches(';'), &totals.latencies);
            if has_errors {
                cells.extend([totals.retries, totals.failures + totals.aborts].map(figures::count));
            }
            table.row(cells);
        }
    }
    table.text(width)
}

fn client(recording: &Recording) -> String {
    let busiest = recording
        .threads
        .iter()
        .map(|t| t.busy_share())
        .fold(0.0, f64::max);
    let lag_us = recording
        .threads
        .iter()
        .map(|t| t.lag_max_us)
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    if let (Some(mean), count) = (
        recording.connections.latencies.mean_us(),
        recording.connections.latencies.count(),
    ) {
        text += &format!(
            "connecting   {} ms each ({})\n",
            figures::ms(mean as u64),
            figures::count(count)
        );
    }
    text += &outages(recording);
    if let Some(cpu_us) = recording.cpu_us_per_transaction() {
        text += &format!(
            "pgdyno       {:.1} µs of CPU for each transaction, busiest thread {} of a CPU",
            cpu_us,
            figures::roughly(busiest)
        );
        if let Some(io) = &recording.io {
            text += &format!(", {}", io.backend.name());
        }
        if lag_us > 1000 {
            text += &format!(", late by up to {} ms", figures::ms(lag_us));
        }
        text.push('\n');
    }
    text
}

/// Clients without a connection, and those that went to another endpoint.
fn outages(recording: &Recording) -> String {
    let outages = &recording.outages;
    let mut text = String::new();
    if outages.count > 0 {
        text += &format!("outages      {}", figures::count(outages.count));
        if let Some(mean_us) = outages.lengths.mean_us() {
            text += &format!(
                ", without a connection for {} ms each, {} ms at worst",
                figures::ms(mean_us as u64),
                figures::ms(outages.lengths.max_us())
            );
        }
        if outages.unended > 0 {
            text += &format!(", {} had not ended", figures::count(outages.unended));
        }
        text.push('\n');
    }
    let moved: u64 = recording.endpoints.iter().map(|e| e.arrived).sum();
    if moved > 0 {
        text += &format!(
            "moved        {} to another endpoint",
            figures::plural(moved, "time")
        );
        let mut events = recording.events.iter();
        if let Some(event) = events.find(|event| event.kind == EventKind::Moved) {
            let at_s = event.at_us as f64 / 1e6;
            text += &format!(", the first time after {}", figures::seconds(at_s));
        }
        text.push('\n');
    }
    text
}

fn notes(outcome: &Outcome) -> String {
    let mut text = String::new();
    // They come with the gravest first.
    for note in &outcome.notes {
        let word = match note.severity {
            Severity::Notice => "note",
            Severity::Warning => "WARNING",
            Severity::Serious => "SERIOUS",
        };
        text += &format!(
            "{word} [{}]: {}.\n  {}.\n",
            note.code,
            note.sentence,
            capital(&note.remedy)
        );
    }
    text
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
