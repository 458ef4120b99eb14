//! The rows of a notebook: totals from seconds, sums from histograms, and what must hold of every trial.

use std::collections::BTreeMap;
use std::time::SystemTime;

use pgdyno_measurement::{Counts, Latencies, Packed, Recording, Second};
use pgdyno_model::document::GeneratorEnd;
use pgdyno_model::notebook::TrialRow;
use pgdyno_model::{Outcome, State, stamp};
use pgdyno_spec::{Failure, Until};
use pgdyno_store::{Cell, Store};

use super::checker::Checker;
use super::latencies;
use crate::export::trials_of;

/// The engine's clock and the host's differ by this at most, over a trial.
const CLOCKS_US: u64 = 1_000_000;
/// Generators that begin within this time measure as one.
const TOGETHER_US: u64 = 500_000;
/// Lengths are cut to whole microseconds.
const ROUNDED_US: u64 = 10;

/// The trial's name in messages.
pub fn name(trial: &TrialRow) -> String {
    let uuid = trial.uuid.get(..8).unwrap_or(&trial.uuid);
    format!("{} ({uuid})", trial.number)
}

/// Checks all trials of a notebook. Gives whether it can be believed at all: whether its tables are pgdyno's.
pub fn check(checker: &mut Checker, store: &Store) -> Result<bool, Failure> {
    checker.of(None, "notebook");
    let foreign = store.foreign_tables()?;
    let are_own = foreign.is_empty();
    checker.holds(
        are_own,
        "tables and views",
        foreign.join(", "),
        "as pgdyno makes them",
    );
    if !are_own {
        checker.not(
            "all else that follows from the notebook",
            "its tables are not pgdyno's: what a query finds there may be anything",
        );
        return Ok(false);
    }
    for trial in trials_of(store)? {
        of_trial(checker, store, &trial)?;
    }
    checker.not(
        "what instruments read, the server's settings and facts, validity notes",
        "nothing else in a notebook has them: they are compared with what was shown, not computed",
    );
    Ok(true)
}

fn of_trial(checker: &mut Checker, store: &Store, trial: &TrialRow) -> Result<(), Failure> {
    let named = format!("trial {}", name(trial));
    checker.of(Some(name(trial)), "trial_begun");
    if let Some(reason) = &trial.excluded {
        checker.holds(
            !reason.trim().is_empty(),
            "excluded",
            "without a reason",
            "a reason",
        );
    }
    if trial.check_seconds().is_err() {
        checker.not(
            &named,
            "it has totals and no seconds, from which they would follow",
        );
        return Ok(());
    }
    if trial.state == State::Running {
        checker.not(&named, "it is running");
        return Ok(());
    }
    if trial.pgdyno == env!("CARGO_PKG_VERSION") {
        checker.equal(
            "load_sha256",
            trial.load_sha256.clone(),
            trial.spec.load_sha256(),
        );
    } else {
        checker.not(
            &format!("load_sha256 of {named}"),
            &format!(
                "it is of pgdyno {}, which may have had other options",
                trial.pgdyno
            ),
        );
    }
    let outcome = store.outcome(trial.number)?;
    let recording = &outcome.recording;
    checker.of(Some(name(trial)), "trial_ended");
    for total in store.totals(trial.number, recording)? {
        let agrees = same(&total.kept, &total.recomputed);
        checker.figure(
            &total.name,
            shown(&total.kept),
            shown(&total.recomputed),
            agrees,
        );
    }
    times(checker, store, trial, &outcome)?;
    ending(checker, trial, &outcome);
    checker.of(Some(name(trial)), "second");
    match (
        &outcome.generators,
        store.events(trial.number, "thinned")?.is_empty(),
    ) {
        (None, true) => order(checker, &recording.seconds),
        (Some(_), _) => checker.not(
            &format!("whether the seconds of {named} follow each other"),
            "several generators measured them",
        ),
        (_, false) => checker.not(
            &format!("the single seconds of {named}"),
            "they were merged: pgdyno store thin",
        ),
    }
    seconds(checker, &recording.seconds);
    failures(checker, store, trial)?;
    client_time(checker, trial, recording);
    checker.of(Some(name(trial)), "endpoint");
    endpoints(checker, recording);
    checker.of(Some(name(trial)), "command_total");
    commands(checker, store, trial, recording)?;
    checker.of(Some(name(trial)), "connecting");
    connecting(checker, store, trial, recording)?;
    checker.of(Some(name(trial)), "worst");
    worst(checker, recording);
    checker.of(Some(name(trial)), "trial_ended.generators");
    generators(checker, store, trial, &outcome)
}

fn same(kept: &Cell, recomputed: &Cell) -> bool {
    match (kept, recomputed) {
        (Cell::Real(_), _) | (_, Cell::Real(_)) => match (number(kept), number(recomputed)) {
            (Some(kept), Some(found)) => close(kept, found),
            _ => false,
        },
        (kept, recomputed) => kept == recomputed,
    }
}

/// Equal, but for the last digits of a float.
pub fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Integer(number) => Some(*number as f64),
        Cell::Real(number) => Some(*number),
        _ => None,
    }
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Null => "nothing".to_owned(),
        cell => cell.text(),
    }
}

/// When it was, by the host's clock and by that of its seconds.
fn times(
    checker: &mut Checker,
    store: &Store,
    trial: &TrialRow,
    outcome: &Outcome,
) -> Result<(), Failure> {
    let recording = &outcome.recording;
    let read = |text: &str| stamp::read(text);
    let micros = |from: SystemTime, to: SystemTime| match to.duration_since(from) {
        Ok(after) => after.as_micros() as i128,
        Err(before) => -(before.duration().as_micros() as i128),
    };
    let created = store.query(&format!(
        "SELECT created FROM trial_begun WHERE number = {}",
        trial.number
    ))?;
    let created = created
        .rows
        .first()
        .and_then(|row| row.first())
        .map(Cell::text);
    let (Some(created), Some(ended)) = (created, trial.ended.as_deref()) else {
        return Ok(());
    };
    let times = (read(&created), read(&trial.started), read(ended));
    let (Some(created_at), Some(started_at), Some(ended_at)) = times else {
        checker.holds(false, "created, started, ended", "no times", "times in UTC");
        return Ok(());
    };
    checker.holds(
        micros(started_at, ended_at) >= 0,
        "ended",
        ended,
        format!("not before it started, {}", trial.started),
    );
    // That of several generators is put there when they have measured.
    if outcome.generators.is_none() {
        checker.holds(
            micros(created_at, started_at) >= -i128::from(CLOCKS_US),
            "started",
            &trial.started,
            format!("not before it was put into the notebook, {created}"),
        );
    }
    let last_us = recording
        .seconds
        .iter()
        .map(|second| second.start_us + second.length_us)
        .max();
    let last_us = last_us.unwrap_or(0);
    checker.holds(
        micros(started_at, ended_at) + i128::from(CLOCKS_US) >= i128::from(last_us),
        "ended",
        ended,
        format!(
            "{} s or more after it started, by its seconds",
            last_us / 1_000_000
        ),
    );
    if let Some(began) = store.events(trial.number, "began")?.first() {
        checker.equal("started", trial.started.as_str(), began.as_str());
    }
    Ok(())
}

/// How it ended, and whether it measured as long as it was to.
fn ending(checker: &mut Checker, trial: &TrialRow, outcome: &Outcome) {
    let recording = &outcome.recording;
    let has_reason = trial
        .reason
        .as_deref()
        .is_some_and(|reason| !reason.trim().is_empty());
    match trial.state {
        State::Complete => {}
        state => checker.holds(has_reason, "reason", "none", format!("why it is {state}")),
    }
    if trial.state != State::Complete {
        return;
    }
    let (state, why) = pgdyno_model::notebook::state(outcome);
    checker.holds(
        state == State::Complete,
        "state",
        "complete",
        format!("{state}: {}", why.unwrap_or_default()),
    );
    let asked_us = recording.measured.asked_us();
    if let Until::Elapsed(time) = trial.spec.until()
        && !trial.spec.warmup.is_detected()
        && outcome.generators.is_none()
    {
        let wanted_us = time.as_micros() as u64;
        checker.holds(
            asked_us + CLOCKS_US / 2 >= wanted_us,
            "measured time of a complete trial, in µs",
            asked_us,
            format!("about {wanted_us}, as it was asked for"),
        );
    }
}

/// Whether seconds follow each other without a hole.
fn order(checker: &mut Checker, seconds: &[Second]) {
    for pair in seconds.windows(2) {
        let end_us = pair[0].start_us + pair[0].length_us;
        checker.holds(
            end_us.abs_diff(pair[1].start_us) <= ROUNDED_US,
            "start of a second, in µs",
            pair[1].start_us,
            format!("{end_us}, where the second before ends"),
        );
    }
}

fn seconds(checker: &mut Checker, seconds: &[Second]) {
    for second in seconds {
        for (number, script) in second.scripts.iter().enumerate() {
            let what = |kind: &str| {
                format!(
                    "second at {} µs, script {number}: {kind} times",
                    second.start_us
                )
            };
            let committed = script.counts.committed;
            latencies::check(checker, what("service"), &script.service, committed);
            let others = [
                ("response", &script.response),
                ("lag", &script.lag),
                ("attempt", &script.attempt),
            ];
            for (kind, packed) in others {
                if let Some(packed) = packed {
                    latencies::check(checker, what(kind), packed, committed);
                }
            }
            let counts = &script.counts;
            let what = format!("second at {} µs, script {number}", second.start_us);
            checker.holds(
                counts.retried <= counts.retries && (counts.retries > 0) == (counts.retried > 0),
                format!("{what}: transactions that were retried"),
                counts.retried,
                format!("as {} retries allow", counts.retries),
            );
            checker.holds(
                counts.late <= committed,
                format!("{what}: late"),
                counts.late,
                format!("of {committed} committed"),
            );
        }
    }
}

/// The failed transactions of each second by class.
fn failures(checker: &mut Checker, store: &Store, trial: &TrialRow) -> Result<(), Failure> {
    let number = trial.number;
    let sql = format!(
        "SELECT s.start_us, s.script, s.failed, (SELECT coalesce(sum(f.transactions), 0) FROM failure f \
         WHERE f.trial = s.trial AND f.start_us = s.start_us AND f.warmup = s.warmup AND f.script = s.script) \
         FROM second s WHERE s.trial = {number} ORDER BY s.start_us, s.warmup, s.script"
    );
    for row in store.query(&sql)?.rows {
        if let [start, script, failed, by_class] = row.as_slice() {
            let what = format!(
                "second at {} µs, script {}: failed",
                start.text(),
                script.text()
            );
            checker.equal(what, failed.text(), by_class.text());
        }
    }
    let sql = format!(
        "SELECT count(*) FROM failure f WHERE f.trial = {number} AND NOT EXISTS (SELECT 1 FROM second s \
         WHERE s.trial = f.trial AND s.start_us = f.start_us AND s.warmup = f.warmup AND s.script = f.script)"
    );
    let without = store.query(&sql)?;
    let without = without
        .rows
        .first()
        .and_then(|row| row.first())
        .map(Cell::text);
    let without = without.unwrap_or_default();
    checker.holds(
        without == "0",
        "failures of seconds that are not there",
        &without,
        "none",
    );
    Ok(())
}

fn client_time(checker: &mut Checker, trial: &TrialRow, recording: &Recording) {
    if recording.seconds.is_empty()
        || trial.state != State::Complete
        || recording.clients.aborted > 0
    {
        return;
    }
    let measured = &recording.measured;
    let (all_ns, us) = (measured.time.all_ns(), measured.elapsed_us);
    let must_ns = us as f64 * 1e3 * recording.clients.total as f64;
    checker.holds(
        (all_ns as f64) <= must_ns * 1.02 + 1e8,
        "time of all clients, in ns",
        all_ns,
        format!("{must_ns:.0} at most, clients × measured time"),
    );
}

/// Counts of transactions, by name.
fn numbers(counts: &Counts) -> [(&'static str, u64); 7] {
    [
        ("committed", counts.committed),
        ("failed", counts.failed_total()),
        ("skipped", counts.skipped),
        ("unknown", counts.unknown),
        ("late", counts.late),
        ("retries", counts.retries),
        ("retried", counts.retried),
    ]
}

fn endpoints(checker: &mut Checker, recording: &Recording) {
    if recording.endpoints.is_empty() {
        return;
    }
    let measured = recording.measured.all();
    let mut service = Latencies::default();
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for endpoint in &recording.endpoints {
        for (name, number) in numbers(&endpoint.counts) {
            *sums.entry(name).or_default() += number;
        }
        service.merge(&endpoint.service);
    }
    for (name, total) in numbers(&measured.counts) {
        let sum = sums.get(name).copied().unwrap_or(0);
        checker.equal(format!("{name} of all endpoints"), sum, total);
    }
    checker.equal(
        "sum of service times of all endpoints, in µs",
        service.sum_us(),
        measured.service.sum_us(),
    );
    checker.equal(
        "values in the histograms of all endpoints",
        service.count(),
        measured.service.count(),
    );
}

fn commands(
    checker: &mut Checker,
    store: &Store,
    trial: &TrialRow,
    recording: &Recording,
) -> Result<(), Failure> {
    let sql = format!(
        "SELECT script, command, executions FROM command_total WHERE trial = {} ORDER BY script, command",
        trial.number
    );
    for row in store.query(&sql)?.rows {
        let [
            Cell::Integer(script),
            Cell::Integer(command),
            Cell::Integer(executions),
        ] = row.as_slice()
        else {
            continue;
        };
        let of_script = usize::try_from(*script)
            .ok()
            .and_then(|at| recording.statements.get(at));
        let totals = usize::try_from(*command)
            .ok()
            .and_then(|at| of_script?.get(at));
        let what = format!("script {script}, command {command}");
        match totals {
            None => checker.holds(false, what, "its figures", "no command of this number"),
            Some(totals) => {
                latencies::check(checker, what, &totals.latencies.pack(), *executions as u64);
            }
        }
    }
    Ok(())
}

fn connecting(
    checker: &mut Checker,
    store: &Store,
    trial: &TrialRow,
    recording: &Recording,
) -> Result<(), Failure> {
    let sql = format!(
        "SELECT connections FROM connecting WHERE trial = {}",
        trial.number
    );
    if let Some(Cell::Integer(connections)) =
        store.query(&sql)?.rows.first().and_then(|row| row.first())
    {
        let packed: Packed = recording.connections.latencies.pack();
        latencies::check(checker, "connections", &packed, *connections as u64);
    }
    Ok(())
}

/// The longest of all transactions is that of the histograms.
fn worst(checker: &mut Checker, recording: &Recording) {
    let measured = recording.measured.all();
    let all = measured.response.as_ref().unwrap_or(&measured.service);
    let Some(first) = recording.worst.first() else {
        return;
    };
    checker.equal(
        "the longest transaction, in µs",
        first.latency_us,
        all.max_us(),
    );
    checker.holds(
        recording
            .worst
            .is_sorted_by(|a, b| a.latency_us >= b.latency_us),
        "the longest transactions",
        "in another order",
        "the longest first",
    );
}

/// What each generator measured, and what all of them did.
fn generators(
    checker: &mut Checker,
    store: &Store,
    trial: &TrialRow,
    outcome: &Outcome,
) -> Result<(), Failure> {
    let Some(all) = &outcome.generators else {
        return Ok(());
    };
    for one in &all.list {
        let Some(part) = one.trial else {
            continue;
        };
        let part = store.trial(&part.to_string())?;
        let what = format!(
            "committed by generator {}, trial {}",
            one.generator,
            name(&part)
        );
        checker.equal(what, one.committed, part.committed.unwrap_or(0));
        if !one.committed_by_second.is_empty() {
            let seconds = store.outcome(part.number)?.recording.seconds;
            // A rest that is shorter is no second.
            let whole = seconds.iter().filter(|second| second.length_us >= 900_000);
            let scripts = whole.flat_map(|second| &second.scripts);
            let sum: u64 = scripts.map(|script| script.counts.committed).sum();
            let what = format!(
                "committed by second by generator {}, together",
                one.generator
            );
            checker.equal(what, one.committed_by_second.iter().sum::<u64>(), sum);
        }
    }
    // Those that began late did not all measure at once, and then a part of it is of no generator.
    let began_together = all
        .start_spread_us
        .is_none_or(|spread_us| spread_us < TOGETHER_US);
    let are_whole = all.list.iter().all(|one| one.end == GeneratorEnd::Complete);
    if are_whole && began_together && trial.state == State::Complete {
        let sum: u64 = all.list.iter().map(|one| one.committed).sum();
        checker.equal(
            "committed by all generators",
            sum,
            trial.committed.unwrap_or(0),
        );
    }
    Ok(())
}
