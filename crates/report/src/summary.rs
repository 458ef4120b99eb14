//! The result in the terminal: the first screen (`first_screen.rs`), and what `-v` and `pgdyno show` add.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_measurement::{EventKind, Failure};

use super::latency_table::{cells as latency_cells, heading as heading_of_latencies};
use super::table::Table;
use super::wrap::wrapped;
use super::{
    accounting, budget, checks, cluster, disturb, figures_of_pack, findings, first_screen,
    generators, observed, phases, retries, staleness, truth, units, verdict,
};
use pgdyno_model::document::{
    Counts, EndedBy, Endpoint, Figures, GeneratorShare, KeySkew, Phase, Reached, Run,
    ScriptStatements, Stall, Stalls, TimeBudget, Trial,
};
use pgdyno_model::{Fact, Note, Severity, pooler};
use pgdyno_spec::text as figures;

/// From so long on it is said how long it took until all had ended.
const DRAIN_LONG_US: u64 = 100_000;

/// For stalls this long, what happened around them is shown.
const STALL_REPORTED_US: u64 = 1_000_000;

/// For clients that wait this long for one of several endpoints, `--statement-timeout` is suggested.
const WAITED_LONG_US: u64 = 2_000_000;

/// How much of it is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// The first screen: figures, the limit, notes in a line each.
    First,
    /// With the time budget, checks, all statements and notes, what pgdyno added: `-v`.
    More,
    /// Everything but what instruments saw: `pgdyno show`.
    All,
}

/// The trial, ready to be printed. `error` is what the first client that failed said, where that is known.
pub fn text(trial: &Trial, width: usize, detail: Detail, error: Option<&str>) -> String {
    let of = |notes, statements| parts(trial, width, detail, error, (notes, statements));
    match detail {
        Detail::First => first_screen::fitted(of),
        Detail::More | Detail::All => of(0, 0),
    }
}

/// The same; `most` are lines of notes and statements on the first screen.
fn parts(
    trial: &Trial,
    width: usize,
    detail: Detail,
    error: Option<&str>,
    most: (usize, usize),
) -> String {
    let run = &trial.run;
    let has_more = detail >= Detail::More;
    let or_nothing =
        |is_reported: bool, text: String| if is_reported { text } else { String::new() };
    let truth = run.truth.as_ref().map_or_else(String::new, truth::text);
    let has_lost = run.truth.as_ref().and_then(Fact::known);
    let has_lost = has_lost.is_some_and(|truth| truth.lost > 0);
    let limit = match (&trial.verdict, has_more) {
        (Some(verdict), true) => verdict::text(verdict),
        _ => first_screen::limit(trial),
    };
    let trust = if has_more {
        notes(&run.notes)
    } else {
        first_screen::trust(trial, most.0)
    };
    let slowest = if has_more {
        statements(&run.statements, width)
    } else {
        first_screen::slowest(trial, most.1)
    };
    let parts = [
        first_screen::heading(trial) + &or_nothing(detail == Detail::All, how(run)),
        // Lost writes come before every figure.
        or_nothing(has_lost, truth.clone()),
        first_screen::serious(&run.notes),
        first_screen::figures(trial, error),
        within(&(stalls(run) + &connected(run) + &outages(run))),
        units::text(&run.measured.all.units, width),
        or_nothing(has_more, servers(run)),
        if has_more {
            limit + "\n" + &trust
        } else {
            limit + &trust
        },
        phases::text(run, width, !has_more),
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
        run.accounting
            .as_ref()
            .map_or_else(String::new, |of| accounting::text(&of.accounting)),
        run.disturbed
            .as_ref()
            .map_or_else(String::new, disturb::brief),
        or_nothing(!has_lost, truth.clone()),
        figures_of_pack::text(&run.figures, width),
        checks::text(&run.checks),
        failures(run),
        slowest,
        or_nothing(has_more, more(trial, width)),
    ];
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// Which server each endpoint is, where there are several.
fn servers(run: &Run) -> String {
    let reached = &run.target.facts.reached;
    if reached.len() < 2 {
        return String::new();
    }
    let line = |it: &Reached| {
        let version = it.version.known()?;
        let role = match it.is_standby {
            Some(true) => ", a standby",
            Some(false) | None => "",
        };
        Some(format!("{} is {version}{role}\n", it.endpoint))
    };
    within(&reached.iter().filter_map(line).collect::<String>())
}

/// What the first screen leaves out.
fn more(trial: &Trial, width: usize) -> String {
    let run = &trial.run;
    let budget = trial.budget.as_ref();
    let observed = trial.observed.as_ref();
    let parts = [
        budget.map_or_else(String::new, budget::text),
        latencies(&run.measured, &run.stalls, width) + &within(&added(budget)),
        retries::text(run),
        run.key_skew.as_ref().map_or_else(String::new, key_skew),
        findings::text(&run.findings),
        within(&(measured(&run.measured) + &warmup(run) + &client(run)))
            + &observed.map_or_else(String::new, observed::line),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// How clients ran, as far as the heading does not say it.
fn how(run: &Run) -> String {
    let trial = &run.trial;
    let mut how = format!(
        "{}, {} protocol",
        figures::plural(trial.threads().into(), "thread"),
        trial.query_mode().name()
    );
    if let Some(level) = run.target.facts.isolation.known() {
        how += &format!(", {level}");
    }
    format!("{how}, seed {}\n", trial.seed.unwrap_or_default())
}

/// The measured time, and what was committed after it.
fn measured(measured: &Phase) -> String {
    let committed = measured.all.counts.committed - measured.drain_committed;
    let elapsed_s = (measured.elapsed_us - measured.drain_us) as f64 / 1e6;
    let later = match (measured.drain_committed, measured.drain_us) {
        (0, ..DRAIN_LONG_US) => String::new(),
        (later, ..DRAIN_LONG_US) => format!(", {} later", figures::count(later)),
        (later, drain_us) => format!(
            ", and {} in the {} after it, not in tps",
            figures::count(later),
            figures::time(drain_us as f64)
        ),
    };
    format!(
        "measured     {} committed in {}{later}\n",
        figures::count(committed),
        figures::seconds(elapsed_s)
    )
}

fn warmup(run: &Run) -> String {
    let Some(warmup) = &run.warmup else {
        return String::new();
    };
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
    format!(
        "warm-up      {} transactions/s{ended}, not part of the figures\n",
        figures::rate(warmup.phase.all.goodput_per_s)
    )
}

/// Throughput of the time that clients had a connection.
fn connected(run: &Run) -> String {
    let Some(connected) = run.outages.connected_goodput_per_s else {
        return String::new();
    };
    if run.outages.unended == 0 {
        return String::new();
    }
    format!(
        "connected    {} transactions/s while connected (clients had no connection for {} of their \
         time)\n",
        figures::rate(connected),
        figures::share(run.outages.share.unwrap_or_default())
    )
}

/// Settings of the server that are not as its program has them; a line each.
pub fn settings(trial: &Trial) -> String {
    let Some(changed) = trial.run.target.facts.changed_settings.known() else {
        return String::new();
    };
    let lines = changed
        .iter()
        .map(|(name, value)| format!("  {name} = {value}\n"));
    if changed.is_empty() {
        String::new()
    } else {
        format!(
            "settings of the server that are not its defaults\n{}",
            lines.collect::<String>()
        )
    }
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

/// Long times without service: of all, of an endpoint among several, and of the client that had to wait
/// longest, where something went wrong with it.
fn stalls(run: &Run) -> String {
    let stalls = &run.stalls;
    let mut text = String::new();
    let longest = stalls.each.iter().max_by_key(|stall| stall.length_us);
    if let Some(stall) = longest.filter(|stall| stall.length_us >= STALL_REPORTED_US) {
        text += &format!(
            "no service   {}: {}{}\n",
            figures::time(stall.length_us as f64),
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
    // Of a stall of all it is reported already.
    let reported_us = STALL_REPORTED_US.max(stalls.longest_us + stalls.longest_us / 10);
    if let Some(stall) = client.filter(|stall| stall.length_us >= reported_us) {
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
    if !is_waited_for || stall.length_us < WAITED_LONG_US || run.trial.statement_timeout.is_some() {
        return "";
    }
    if run.trial.errors.reconnect {
        "             its clients waited for it: with --statement-timeout 1s they go elsewhere\n"
    } else {
        "             its clients waited for it: with --statement-timeout 1s --reconnect they go elsewhere\n"
    }
}

/// From when until when something lasted.
pub(super) fn span(start_us: u64, length_us: u64, is_over: bool) -> String {
    let second = |us: u64| figures::seconds(us as f64 / 1e6);
    let (from, to) = (second(start_us), second(start_us + length_us));
    if is_over {
        format!("from {from} to {to}")
    } else {
        format!("from {from} to the end")
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
    if all.is_empty() {
        String::new()
    } else {
        format!("; failed meanwhile: {}", all.join(", "))
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
    if text.contains(figures::DASH) {
        text += "–: fewer than ten transactions beyond it\n";
    }
    text
}

/// What of the latencies is pgdyno's own, of the transactions that were followed.
fn added(budget: Option<&TimeBudget>) -> String {
    let rows = budget.map_or(&[][..], |budget| &budget.added);
    let Some(first) = rows.first() else {
        return String::new();
    };
    let adds = rows.iter().map(|row| {
        format!(
            "{} to the {} of {} ms (at most {})",
            figures::ms_shortly(row.adds_us),
            figures::percentile_name(row.percentile),
            figures::ms_shortly(row.shown_us),
            figures::ms_shortly(row.at_most_us)
        )
    });
    format!(
        "pgdyno adds  {}; in the {} that it followed\n",
        adds.collect::<Vec<_>>().join(", "),
        figures::plural(first.followed, "transaction")
    )
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

/// What failed, by its reason; where nothing was committed the figures say it.
fn failures(run: &Run) -> String {
    match first_screen::nothing_committed(run, None) {
        Some(_) => String::new(),
        None => by_class(&run.measured.all.counts) + &of_pooler(run),
    }
}

/// What to do about errors that a pooler made, each once.
fn of_pooler(run: &Run) -> String {
    let ways = run
        .reasons
        .iter()
        .filter_map(|reason| pooler::way_out(reason.sqlstate.as_deref()?, &reason.message));
    let ways: BTreeSet<&str> = ways.collect();
    { ways.iter() }
        .map(|way| format!("try          {way}\n"))
        .collect()
}

fn by_class(counts: &Counts) -> String {
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

/// Those that are not serious, whole, with what to do.
fn notes(notes: &[Note]) -> String {
    let others = notes
        .iter()
        .filter(|note| note.severity < Severity::Serious);
    let lines = others.map(|note| {
        let word = match note.severity {
            Severity::Notice => "note",
            _ => "WARNING",
        };
        let sentence = format!("[{}]: {}.", note.code, note.sentence);
        let remedy = first_screen::capital(&note.remedy);
        wrapped(&format!("{word} "), &sentence, 2) + &wrapped("", &format!("  {remedy}."), 2)
    });
    lines.collect()
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
