//! The result in the terminal.

use std::collections::BTreeMap;

use pgdyno_drive::Until;
use pgdyno_drive::record::{EventKind, Failure};

use super::latency_table::{cells as latency_cells, heading as heading_of_latencies};
use super::table::{Table, cut, one_line};
use super::wrap::wrapped;
use super::{
    accounting, budget, checks, cluster, disturb, figures_of_pack, generators, observed, phases,
    retries, staleness, truth, units, verdict,
};
use pgdyno_model::document::{
    Counts, End, EndedBy, Endpoint, Figures, GeneratorShare, KeySkew, Latency, Phase, Run,
    ScriptStatements, Stall, Stalls, Steadiness, SteadinessVerdict, Target, TargetKind, TimeBudget,
    Trial,
};
use pgdyno_model::{Fact, Note, Severity, text as figures};

/// Parameters that say how much data there is, by their names in the packs that are built in: the heading has
/// them, and those that were chosen. All of them are in the JSON document.
pub const SIZES: [&str; 4] = ["scale", "warehouses", "recordcount", "copies"];

/// From so long on it is said how long it took until all had ended.
const DRAIN_LONG_US: u64 = 100_000;

/// Of stalls that are as long it is told what happened around them.
const STALL_TOLD_US: u64 = 1_000_000;

/// Clients that wait as long for one of several endpoints are told of `--statement-timeout`.
const WAITED_LONG_US: u64 = 2_000_000;

/// A terminal shows so many lines without scrolling.
pub const LINES: usize = 45;

/// How much of it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    /// In as few words as possible: of notes that are not serious only their codes.
    Least,
    /// Without the statements, the reasons of gaps, and what to do about notes.
    Less,
    /// Everything.
    All,
}

/// All of it, ready to be printed.
pub fn text(trial: &Trial, width: usize) -> String {
    parts(trial, width, Told::All, Hints::Whole).join("\n")
}

/// How hints are told that are the same in every run: why something was not observed, and what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hints {
    /// Each with its reason.
    Whole,
    /// What it is about, and where the reasons are.
    Short,
}

/// What of it fits a terminal; `pgdyno show` has all of it. Whole hints come on top of that.
pub fn brief(trial: &Trial, width: usize, hints: Hints) -> String {
    let text = |told, hints| parts(trial, width, told, hints).join("\n");
    let fits = |told: &Told| text(*told, Hints::Short).lines().count() <= LINES;
    let told = [Told::All, Told::Less].into_iter().find(fits);
    text(told.unwrap_or(Told::Least), hints)
}

fn parts(trial: &Trial, width: usize, told: Told, hints: Hints) -> Vec<String> {
    let has_room = told == Told::All;
    let run = &trial.run;
    let accounted = run.accounting.as_ref();
    let statements = match has_room {
        true => statements(&run.statements, width),
        false => String::new(),
    };
    let observed = trial.observed.as_ref();
    let truth = run.truth.as_ref().map_or_else(String::new, truth::text);
    let has_lost = run.truth.as_ref().and_then(Fact::known);
    let has_lost = has_lost.is_some_and(|truth| truth.lost > 0);
    let parts = [
        within(&heading(run)),
        // Lost writes come before every figure.
        if has_lost {
            truth.clone()
        } else {
            String::new()
        },
        trial
            .verdict
            .as_ref()
            .map_or_else(String::new, verdict::text),
        totals(run)
            + &units::text(&run.measured.all.units, width)
            + &latencies(&run.measured, &run.stalls, width)
            + &within(&interval(main_latency(&run.measured)))
            + &within(&added(trial.budget.as_ref())),
        phases::text(run, width, !has_room),
        endpoints(run, width),
        run.cluster.as_ref().map_or_else(String::new, |of| {
            cluster::table(of, width) + &within(&cluster::lines(of))
        }),
        run.staleness
            .as_ref()
            .map_or_else(String::new, |of| staleness::text(of, width)),
        run.generators
            .as_ref()
            .map_or_else(String::new, |all| generators::text(all, width)),
        trial.budget.as_ref().map_or_else(String::new, budget::text),
        accounted.map_or_else(String::new, |of| accounting::text(&of.accounting)),
        run.disturbed
            .as_ref()
            .map_or_else(String::new, disturb::brief),
        run.key_skew.as_ref().map_or_else(String::new, key_skew),
        if has_lost {
            String::new()
        } else {
            truth.clone()
        },
        figures_of_pack::text(&run.figures, width),
        checks::text(&run.checks),
        failures(&run.measured.all.counts),
        retries::text(run),
        statements,
        within(&client(run))
            + &observed.map_or_else(String::new, |of| {
                observed::line(of, has_room, hints == Hints::Whole)
            }),
        notes(&run.notes, told),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect()
}

/// What the draws came to.
fn key_skew(key_skew: &KeySkew) -> String {
    format!(
        "keys         hottest key {}, hottest 100 {} of {}{} requests; {} distinct keys\n             \
         (computed from the run's scripts and seed, without the server)\n",
        figures::share(key_skew.hottest_share),
        figures::share(key_skew.hottest_100_share),
        if key_skew.is_sample {
            "a sample of "
        } else {
            ""
        },
        figures::count(key_skew.draws),
        figures::count(key_skew.distinct),
    )
}

fn heading(run: &Run) -> String {
    let trial = &run.trial;
    let is_chosen = |name: &str| {
        let mut given = trial
            .params
            .iter()
            .filter_map(|given| given.split_once('='));
        given.any(|(given, _)| given == name)
    };
    let variables = run.workload.variables.iter();
    let variables = variables.filter(|(name, _)| SIZES.contains(&name.as_str()) || is_chosen(name));
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
        crate::page::clients(trial),
        figures::plural(trial.threads().into(), "thread"),
    );
    how += &retries::policy(&trial.retry);
    if let Some(rate) = &trial.rate {
        how += &match rate.constant() {
            Some(per_s) => format!(", {} transactions/s scheduled", figures::rate(per_s)),
            None => format!(", {} transactions/s scheduled", crate::page::asked(rate)),
        };
    }
    let warmup = figures::seconds(trial.warmup.longest().as_secs_f64());
    if trial.warmup.is_detected() {
        how += &format!(", after a warm-up of at most {warmup}");
    } else if !trial.warmup.longest().is_zero() {
        how += &format!(", after {warmup} of warm-up");
    }
    if let Some(level) = run.target.facts.isolation.known() {
        // The usual one says of itself what it is.
        how += match level == "read committed" && trial.isolation.is_none() {
            true => ", ",
            false => ", isolation ",
        };
        how += level;
    }
    if trial.connection_per_transaction {
        how += ", a connection for each transaction";
    }
    format!(
        "{}{} on {}\n{how}, seed {}\n",
        run.workload.name,
        variables.collect::<String>(),
        server(&run.target),
        trial.seed.unwrap_or_default()
    )
}

/// The server, with its version, which stands in the title of a private one already.
fn server(target: &Target) -> String {
    let title = &target.title;
    match (target.kind, target.facts.version.known()) {
        (TargetKind::Named, Some(version)) => format!("{}, {title}", product(version)),
        _ => title.clone(),
    }
}

/// A server may say anything of itself.
const PRODUCT_CHARS_MAX: usize = 60;

/// `PostgreSQL 15.18` of all that `version()` says.
fn product(version: &str) -> String {
    let end = [" (", " on ", ","]
        .into_iter()
        .filter_map(|end| version.find(end));
    let product = one_line(&version[..end.min().unwrap_or(version.len())]);
    cut(&product, PRODUCT_CHARS_MAX)
}

fn totals(run: &Run) -> String {
    let measured = &run.measured;
    let counts = &measured.all.counts;
    let goodput = figures::rate(measured.all.goodput_per_s);
    let mut text = String::new();
    match run.end {
        End::Complete => {}
        End::Running => text += "RUNNING: results so far\n",
        End::Interrupted => text += "INTERRUPTED: results up to the interruption\n",
        End::ClientAborted => text += "ABORTED: a client ended early\n",
        End::InvariantBroken => {
            let what = run.broken_invariant.as_deref().unwrap_or_default();
            text += &format!("BROKEN INVARIANT: {what}\n");
        }
        End::AllClientsAborted => text += "ABORTED: all clients ended early\n",
    }
    if run.clients.aborted > 0 && run.end != End::AllClientsAborted {
        let aborted = figures::plural(run.clients.aborted as u64, "client");
        text += &format!(
            "INCOMPLETE: {aborted} of {} ended early\n",
            run.clients.total
        );
    }
    if run.outages.unended > 0 {
        text += &format!(
            "SERVER LOST: {} of {} clients had no connection when the run ended\n",
            run.outages.unended, run.clients.total
        );
    }
    text += &format!(
        "goodput      {goodput} transactions/s ({} committed in {}{}\n",
        figures::count(counts.committed - measured.drain_committed),
        figures::seconds((measured.elapsed_us - measured.drain_us) as f64 / 1e6),
        drained(measured)
    );
    if let Some(connected) = run.outages.connected_goodput_per_s
        && run.outages.unended > 0
    {
        let share = run.outages.share.unwrap_or_default();
        text += &format!(
            "             {} transactions/s while connected (clients had no connection for {} of \
             their time)\n",
            figures::rate(connected),
            figures::share(share)
        );
    }
    let others = [
        ("failed", counts.failed),
        ("unknown", counts.unknown),
        ("skipped", counts.skipped),
        ("late", counts.late),
    ];
    let others = others
        .into_iter()
        .filter(|(what, number)| *number > 0 || *what == "failed");
    for (what, number) in others {
        let share = figures::percent(number, counts.total());
        text += &format!("{what:<13}{} ({share})\n", figures::count(number));
    }
    text += &stalls(run);
    text += &steadiness(&run.steadiness);
    if let Some(warmup) = &run.warmup {
        let ended = warmup.detected.map_or_else(String::new, |ended| {
            let figure = ended.figure.name();
            let why = match ended.by {
                EndedBy::Steady => format!("until {figure} was steady"),
                EndedBy::Limit => format!("its limit, before {figure} was steady"),
                EndedBy::Trial => "ended with the trial".to_owned(),
            };
            let elapsed = figures::seconds(warmup.phase.elapsed_us as f64 / 1e6);
            format!(" for {elapsed} ({why})")
        });
        text += &format!(
            "warm-up      {} transactions/s{ended}, not part of the figures\n",
            figures::rate(warmup.phase.all.goodput_per_s)
        );
    }
    text
}

/// What was committed after the asked duration; on a line of its own where that took long.
fn drained(measured: &Phase) -> String {
    let committed = figures::count(measured.drain_committed);
    match (measured.drain_committed, measured.drain_us) {
        (0, ..DRAIN_LONG_US) => ")".to_owned(),
        (_, ..DRAIN_LONG_US) => format!(", {committed} later)"),
        (_, drain_us) => format!(
            ")\n             and {committed} in the {} after it, not in goodput",
            figures::time(drain_us as f64)
        ),
    }
}

/// Times without service: of all, of an endpoint among several, and of the client that had to wait longest,
/// where something went wrong with it.
fn stalls(run: &Run) -> String {
    let stalls = &run.stalls;
    let mut text = of_all(stalls);
    let longest = stalls.each.iter().max_by_key(|stall| stall.length_us);
    if let Some(stall) = longest.filter(|stall| stall.length_us >= STALL_TOLD_US) {
        text += &format!(
            "             {}{}\n",
            span(stall.start_us, stall.length_us, stall.is_over),
            went_wrong(&stall.failed, stall.unknown)
        );
        text += &recovered(stall);
    }
    for endpoint in &run.endpoints {
        let longest = endpoint.stalls.iter().max_by_key(|stall| stall.length_us);
        if let Some(stall) = longest {
            text += &format!(
                "no service   {} at {}: {}{}\n",
                figures::time(stall.length_us as f64),
                endpoint.name,
                span(stall.start_us, stall.length_us, stall.is_over),
                went_wrong(&stall.failed, stall.unknown)
            );
            text += &recovered(stall);
            text += waited_for(run, stall);
        }
    }
    let mut clients = stalls.clients.iter();
    let client = clients.find(|stall| {
        !stall.is_over || stall.unknown > 0 || !stall.failed.is_empty() || run.outages.count > 0
    });
    // Of a stall of all it is told already.
    let told_us = STALL_TOLD_US.max(stalls.longest_us + stalls.longest_us / 10);
    if let Some(stall) = client.filter(|stall| stall.length_us >= told_us) {
        text += &format!(
            "no commit    {} of client {}: {}{}\n",
            figures::time(stall.length_us as f64),
            stall.client,
            span(stall.start_us, stall.length_us, stall.is_over),
            went_wrong(&stall.failed, stall.unknown)
        );
    }
    text
}

fn recovered(stall: &Stall) -> String {
    stall.recovered_us.map_or_else(String::new, |after_us| {
        format!(
            "             90 % of the rate before again within {}\n",
            figures::time(after_us as f64)
        )
    })
}

/// Nothing went wrong at an endpoint, and nothing was committed for long: its clients waited for it, as
/// nothing had them do something else.
fn waited_for(run: &Run, stall: &Stall) -> &'static str {
    let is_waited_for = stall.failed.is_empty() && stall.unknown == 0;
    match run.trial.statement_timeout {
        None if is_waited_for && stall.length_us >= WAITED_LONG_US => {
            "             its clients waited for it: with --statement-timeout 1s --reconnect they go elsewhere\n"
        }
        _ => "",
    }
}

/// From when until when something lasted.
pub(super) fn span(start_us: u64, length_us: u64, is_over: bool) -> String {
    let second = |us: u64| figures::seconds(us as f64 / 1e6);
    let (from, to) = (second(start_us), second(start_us + length_us));
    match is_over {
        true => format!("from {from} to {to}"),
        false => format!("from {from} to the end"),
    }
}

fn went_wrong(failed: &BTreeMap<String, u64>, unknown: u64) -> String {
    let mut all: Vec<String> = failed
        .iter()
        .map(|(class, count)| format!("{} {class}", figures::count(*count)))
        .collect();
    if unknown > 0 {
        all.push(format!("{} unknown", figures::count(unknown)));
    }
    match all.is_empty() {
        true => String::new(),
        false => format!("; failed meanwhile: {}", all.join(", ")),
    }
}

fn of_all(stalls: &Stalls) -> String {
    match stalls.count {
        0 => String::new(),
        1 => format!(
            "stalls       1 of {}, {} of the time: nothing was committed\n",
            figures::time(stalls.longest_us as f64),
            figures::share(stalls.share)
        ),
        count => format!(
            "stalls       {count}, {} of the time: nothing was committed; the longest {}\n",
            figures::share(stalls.share),
            figures::time(stalls.longest_us as f64)
        ),
    }
}

/// What was found steady; what was not is among the notes, and of short trials there is nothing to
/// say.
fn steadiness(all: &[Steadiness]) -> String {
    let steady = all.iter();
    let steady = steady.filter(|one| one.verdict == SteadinessVerdict::Steady);
    let steady: Vec<&str> = steady.map(|one| one.sentence.as_str()).collect();
    match steady.is_empty() {
        true => String::new(),
        false => format!("steadiness   {}\n", steady.join(", ")),
    }
}

fn latencies(measured: &Phase, stalls: &Stalls, width: usize) -> String {
    let mut table = Table::default();
    table.row(heading_of_latencies("latency, ms"));
    let has_response = measured.all.response.is_some();
    let mut rows = |name: &str, script: &Figures| {
        if has_response {
            table.row(latency_cells(&format!("{name}: service"), &script.service));
            attempt(&mut table, name, script);
            let response = script.response.clone().unwrap_or_default();
            table.row(latency_cells(&format!("{name}: response"), &response));
            let lag = script.schedule_lag.clone().unwrap_or_default();
            table.row(latency_cells(&format!("{name}: schedule lag"), &lag));
        } else {
            table.row(latency_cells(name, &script.service));
            attempt(&mut table, name, script);
        }
    };
    if measured.scripts.len() > 1 {
        rows("all transactions", &measured.all);
    }
    for script in &measured.scripts {
        rows(&script.name, &script.figures);
    }
    if let Some(arrival) = &stalls.random_arrival {
        table.row(latency_cells("at a random time", arrival));
    }
    let mut text = table.text(width);
    if stalls.random_arrival.is_some() {
        text += "at a random time: a request then would have waited for the end of a stall, too\n";
    }
    if text.contains(ATTEMPT) {
        text += "other latencies count from the start of the first try\n";
    }
    if text.contains('–') {
        text += match main_latency(measured).intervals {
            Some(_) => "–: fewer than ten effective transactions above it\n",
            None => "–: fewer than ten transactions above it\n",
        };
    }
    text
}

/// From the schedule where there is one.
fn main_latency(measured: &Phase) -> &Latency {
    let response = measured.all.response.as_ref();
    response.unwrap_or(&measured.all.service)
}

/// How far the 99th percentile can be trusted, where that is known.
fn interval(latency: &Latency) -> String {
    let Some(p99) = latency.interval(99.0) else {
        return String::new();
    };
    let effective = format!(
        "{} effective of {} transactions",
        figures::count(p99.effective.round() as u64),
        figures::count(latency.count)
    );
    let words = match (p99.low_us, p99.high_us, p99.needs_s) {
        (Some(low), Some(high), _) => format!(
            "{} to {} ms (95 %; {effective})",
            figures::ms(low),
            figures::ms(high)
        ),
        (Some(low), None, _) => format!("{} ms or more (95 %; {effective})", figures::ms(low)),
        (None, _, needs_s) => {
            let needs = needs_s.map_or_else(String::new, |seconds| {
                format!("; about {} would show it", figures::seconds(seconds))
            });
            format!("not known: {effective}{needs}")
        }
    };
    format!("p99          {words}\n")
}

/// What of the latencies is pgdyno's own.
fn added(budget: Option<&TimeBudget>) -> String {
    let Some(rows) = budget
        .map(|budget| &budget.added)
        .filter(|rows| !rows.is_empty())
    else {
        return String::new();
    };
    let adds = rows.iter().map(|row| {
        format!(
            "{} ms to {} (at most {})",
            figures::ms_shortly(row.adds_us),
            figures::percentile_name(row.percentile),
            figures::ms_shortly(row.at_most_us)
        )
    });
    format!("pgdyno adds  {}\n", adds.collect::<Vec<_>>().join(", "))
}

/// A row an endpoint, where there are several.
fn endpoints(run: &Run, width: usize) -> String {
    let endpoints = &run.endpoints;
    if endpoints.len() < 2 {
        return String::new();
    }
    let has_response = endpoints.iter().any(|e| e.response.is_some());
    let what = if has_response { "response" } else { "latency" };
    let mut table = Table::default();
    let mut heading = heading_of_latencies(&format!("endpoint: {what}, ms"));
    heading.insert(1, "clients".to_owned());
    type Column = (&'static str, fn(&Endpoint) -> u64);
    let columns: [Column; 5] = [
        ("failed", |e| e.counts.failed),
        ("unknown", |e| e.counts.unknown),
        ("lost", |e| e.lost),
        ("arrived", |e| e.arrived),
        ("returned", |e| e.returned),
    ];
    let columns = columns
        .iter()
        .filter(|(_, number)| endpoints.iter().any(|e| number(e) > 0));
    heading.extend(columns.clone().map(|(name, _)| (*name).to_owned()));
    table.row(heading);
    for endpoint in endpoints {
        let reached = run.target.facts.reached.iter();
        let mut reached = reached.filter(|reached| reached.endpoint == endpoint.name);
        let node = reached.find_map(|reached| reached.node.known());
        let node = node.filter(|node| **node != endpoint.name);
        let node = node.map(|node| format!("node {node}"));
        let of_node: Vec<String> = node.into_iter().chain(endpoint.locality.clone()).collect();
        let name = match of_node.as_slice() {
            [] => endpoint.name.clone(),
            of_node => format!("{} ({})", endpoint.name, of_node.join(", ")),
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

fn attempt(table: &mut Table, name: &str, script: &Figures) {
    if let Some(attempt) = script
        .attempt
        .as_ref()
        .filter(|_| script.counts.retried > 0)
    {
        table.row(latency_cells(&format!("{name}: {ATTEMPT}"), attempt));
    }
}

fn failures(counts: &Counts) -> String {
    let by_class = counts.failed_by_class.iter();
    // Of equally many in the engine's order.
    let by_class: BTreeMap<Failure, u64> = by_class
        .map(|(code, number)| (Failure::from_code(code), *number))
        .collect();
    let mut reasons: Vec<(&Failure, &u64)> = by_class.iter().collect();
    reasons.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    let mut text = String::new();
    for (failure, number) in reasons {
        text += &format!(
            "failures     {} by {} [{}]\n",
            figures::count(*number),
            failure,
            failure.code()
        );
    }
    text
}

fn statements(scripts: &[ScriptStatements], width: usize) -> String {
    let mut table = Table::default();
    let mut heading = heading_of_latencies("statement, ms");
    let mut all = scripts.iter().flat_map(|script| &script.commands);
    let has_errors = all.any(|statement| statement.retries + statement.failures > 0);
    if has_errors {
        heading.extend(["retries", "failures"].map(str::to_owned));
    }
    table.row(heading);
    for script in scripts {
        if scripts.len() > 1 {
            table.row([format!("{}:", script.script)]);
        }
        for statement in &script.commands {
            let has_waited = statement.latency.count > 0;
            if !statement.is_sql && !has_waited {
                continue;
            }
            let mut cells = latency_cells(statement.text.trim_end_matches(';'), &statement.latency);
            if has_errors {
                cells.extend([statement.retries, statement.failures].map(figures::count));
            }
            table.row(cells);
        }
    }
    table.text(width)
}

fn client(run: &Run) -> String {
    let cpu = &run.client_cpu;
    let threads = cpu.threads.iter();
    let busiest = threads.clone().map(|t| t.busy_share).fold(0.0, f64::max);
    let lag_us = threads.map(|t| t.deadline_lag_max_us).max().unwrap_or(0);
    let mut text = String::new();
    let connecting = &run.connections.latency;
    if let (Some(mean), count) = (connecting.mean_us, connecting.count) {
        text += &format!(
            "connecting   {} ms each ({})\n",
            figures::ms(mean as u64),
            figures::count(count)
        );
    }
    text += &outages(run);
    if let Some(cpu_us) = cpu.us_per_transaction {
        text += &format!(
            "pgdyno       {:.1} µs of CPU per transaction, busiest thread {} of a CPU",
            cpu_us,
            figures::roughly(busiest)
        );
        if let Some(io) = &cpu.io {
            text += &format!(", {io}");
        }
        if !cpu.pinned_cpus.is_empty() {
            text += &format!(", pinned to CPU {}", list(&cpu.pinned_cpus));
        }
        if lag_us > 1000 {
            text += &format!(", late by up to {} ms", figures::ms(lag_us));
        }
        text.push('\n');
    }
    text += &generator(run.generator_share.as_ref());
    text
}

/// Numbers of CPUs as taskset has them: `0-3,8`.
fn list(cpus: &[usize]) -> String {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    let ranges = cpus.chunk_by(|one, next| one + 1 == *next);
    let ranges = ranges.map(|range| match range {
        [first, .., last] => format!("{first}-{last}"),
        one => one.iter().map(usize::to_string).collect(),
    });
    ranges.collect::<Vec<_>>().join(",")
}

/// How much of what the generator can do the trial asked for, and how that is known.
fn generator(share: Option<&GeneratorShare>) -> String {
    let Some(share) = share else {
        return String::new();
    };
    let [asked, most] =
        [share.round_trips_per_s, share.ceiling_per_s].map(|rate| figures::count(rate as u64));
    let part = figures::roughly(share.share);
    match &share.calibration {
        Some(known) => format!(
            "generator    {asked} round trips/s, {part} of this machine's ceiling of {most} ({})\n",
            crate::ceiling::source(known, share.threads)
        ),
        None => format!("generator    {asked} round trips/s, {part} of about {most} (estimated)\n"),
    }
}

/// Clients without a connection, and those that went to another endpoint.
fn outages(run: &Run) -> String {
    let outages = &run.outages;
    let mut text = String::new();
    if outages.count > 0 {
        text += &format!("reconnects   {}", figures::count(outages.count));
        if let (Some(mean_us), Some(max_us)) = (outages.length.mean_us, outages.length.max_us) {
            text += &format!(
                ", without a connection for {} ms each, {} ms at worst",
                figures::ms(mean_us as u64),
                figures::ms(max_us)
            );
        }
        if outages.unended > 0 {
            text += &format!(
                ", {} unended at the end of the run",
                figures::count(outages.unended)
            );
        }
        text.push('\n');
    }
    let returned: u64 = run.endpoints.iter().map(|e| e.returned).sum();
    let moved: u64 = run.endpoints.iter().map(|e| e.arrived - e.returned).sum();
    if moved > 0 {
        text += &format!(
            "moved        {} to another endpoint",
            figures::plural(moved, "time")
        );
        let mut events = run.events.iter();
        if let Some(event) = events.find(|event| event.kind == EventKind::Moved.word()) {
            let at_s = event.at_us as f64 / 1e6;
            text += &format!(", the first time after {}", figures::seconds(at_s));
        }
        text.push('\n');
    }
    if returned > 0 {
        text += &format!(
            "returned     {} to the client's own endpoint",
            figures::plural(returned, "time")
        );
        let last = run.events.iter().rev();
        let mut last = last.filter(|event| event.kind == EventKind::Returned.word());
        if let Some(event) = last.next() {
            let at_s = event.at_us as f64 / 1e6;
            text += &format!(", the last time after {}", figures::seconds(at_s));
        }
        text.push('\n');
    }
    text
}

/// Lines that are longer than a terminal, in several: behind the label, where there is one.
fn within(text: &str) -> String {
    const LABEL: usize = 13;
    let lines = text.lines().map(|line| match line.split_at_checked(LABEL) {
        Some((label, rest)) if label.ends_with("  ") => wrapped(label, rest, LABEL),
        _ => wrapped("", line, 0),
    });
    lines.collect()
}

fn notes(notes: &[Note], told: Told) -> String {
    let mut text = String::new();
    let mut codes = Vec::new();
    // They come with the gravest first.
    for note in notes {
        let word = match note.severity {
            Severity::Notice => "note",
            Severity::Warning => "WARNING",
            Severity::Serious => "SERIOUS",
        };
        if told == Told::Least && note.severity < Severity::Serious {
            codes.push(note.code.as_ref());
            continue;
        }
        let sentence = format!("[{}]: {}.", note.code, note.sentence);
        text += &wrapped(&format!("{word} "), &sentence, 2);
        if told == Told::All {
            text += &wrapped("", &format!("  {}.", capital(&note.remedy)), 2);
        }
    }
    if !codes.is_empty() {
        text += &wrapped("notes        ", &codes.join(", "), 13);
    }
    text
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_that_follow_each_other_are_a_range() {
        assert_eq!(list(&[5]), "5");
        assert_eq!(list(&[0, 2, 1, 3, 8]), "0-3,8");
        assert_eq!(list(&[1, 3, 5]), "1,3,5");
    }
}
