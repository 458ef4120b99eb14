//! What all generators have kept becomes one result.

use pgdyno_drive::planted;
use pgdyno_measurement::{End, Merge, Recording, ThreadUse};
use pgdyno_model::client_bound::CLIENT_BOUND_SHARE;
use pgdyno_model::document::{ClockReading, Generator, GeneratorEnd, Generators};
use pgdyno_model::document::{ClusterAfter, DataCheck, Disturbed, ServerCounters};
use pgdyno_model::note::Severity;
use pgdyno_model::notebook::state;
use pgdyno_model::{Fact, Finding, Findings, Note, Outcome, State};
use pgdyno_spec::{Failure, TrialSpec, generators as shares, text};

use super::company::{Company, Part, Ready, words};
use crate::companion::{checks, key_skew};
use crate::prepare::Prepared;
use crate::validity;

/// Of so many each has its own line over time.
const SHOWN_MAX: u32 = 32;

/// Findings that one generator makes for all, or that are the same for each.
const OF_ONE: [&str; 3] = [<Vec<DataCheck>>::NAME, Disturbed::NAME, ClusterAfter::NAME];

/// What came of all parts.
pub struct Merged {
    /// As if one had measured it.
    pub outcome: Outcome,
    /// The part whose instruments saw the server.
    pub observed_by: i64,
}

/// What was said of each generator.
struct Said {
    parts: Vec<(u32, i64)>,
    hosts: Vec<(u32, String)>,
    done: Vec<(u32, Part)>,
    ready: Vec<(u32, Ready)>,
    began: Vec<u32>,
}

/// Adds up what the generators of a trial have kept, one after another.
///
/// # Errors
/// The notebook cannot be reached; no generator measured anything.
pub fn merge(company: &Company, whole: &TrialSpec, prepared: &Prepared) -> Result<Merged, Failure> {
    let mut merged = sum(company, whole)?;
    let outcome = &mut merged.outcome;
    let seed = whole.seed.unwrap_or_default();
    if let Some(key_skew) = key_skew::by(prepared, &outcome.recording, seed) {
        outcome.findings.put(&key_skew);
    }
    outcome.findings.put(&prepared.figures(&outcome.recording));
    let recording = Some(&outcome.recording);
    let mut notes = prepared.notes(recording, None, Some(&outcome.observed), None);
    validity::of_course(&mut notes, whole, &outcome.recording);
    let checks: Option<Vec<DataCheck>> = outcome.findings.get();
    notes.extend(checks::notes(&checks.unwrap_or_default()));
    notes.append(&mut outcome.notes);
    outcome.notes = notes;
    Ok(merged)
}

/// The same without what is known of the workload.
pub(super) fn sum(company: &Company, whole: &TrialSpec) -> Result<Merged, Failure> {
    let said = Said::of(company)?;
    let mut all = Merge::default();
    let mut list = Vec::new();
    let mut first: Option<(i64, Outcome)> = None;
    let mut of_one = Findings::default();
    for number in 0..company.generators() {
        let share = shares::share(whole, number, company.generators())?;
        let mut row = said.row(number, shares::part(whole, &share).clients());
        let measured = said.measured(number).map(|trial| {
            let outcome = company.room.outcome(trial)?;
            Ok::<_, Failure>((trial, outcome))
        });
        if let Some((trial, mut outcome)) = measured.transpose()? {
            // The notebook was away when the start was named, perhaps.
            planted!(7, row.began_late_us = None);
            let late_us = row.began_late_us.unwrap_or_default();
            let first_us = said.first_late_us();
            outcome
                .recording
                .begins_late(late_us.saturating_sub(first_us));
            measure(&mut row, &outcome.recording);
            if company.generators() <= SHOWN_MAX {
                row.committed_by_second = by_second(&outcome.recording);
            }
            outcome.findings.retain(&OF_ONE);
            of_one.extend(std::mem::take(&mut outcome.findings));
            let seen = |outcome: &Outcome| outcome.observed.series.len();
            let recording = std::mem::take(&mut outcome.recording);
            if first
                .as_ref()
                .is_none_or(|(_, first)| seen(first) < seen(&outcome))
            {
                first = Some((trial, outcome));
            }
            let is_gone = matches!(row.end, GeneratorEnd::Died | GeneratorEnd::Waits);
            let is_gone =
                is_gone || row.end == GeneratorEnd::Early && recording.end != End::Complete;
            planted!(6, all.add(recording, None); list.push(row); continue;);
            all.add(recording, is_gone.then_some(row.until_us));
        }
        list.push(row);
    }
    let no_results = || Failure::new("no generator measured anything");
    let (observed_by, first) = first.ok_or_else(no_results)?;
    let recording = all.finish().ok_or_else(no_results)?;
    let mut generators = Generators {
        asked: company.generators(),
        list,
        start_spread_us: None,
        start_uncertainty_us: None,
    };
    spread(&mut generators);
    let uncounted = "each of several generators would count all".to_owned();
    of_one.put(&Fact::<ServerCounters>::Unknown(uncounted));
    let mut outcome = Outcome {
        spec: TrialSpec {
            query_mode: first.spec.query_mode,
            ..whole.clone()
        },
        recording,
        findings: of_one,
        generators: Some(generators),
        notes: Vec::new(),
        ..first
    };
    outcome.notes = of_generators(&outcome);
    Ok(Merged {
        outcome,
        observed_by,
    })
}

impl Said {
    fn of(company: &Company) -> Result<Self, Failure> {
        let (room, meeting) = (&company.room, &company.meeting);
        let done = room.heard(meeting, words::DONE)?.into_iter();
        let done =
            done.filter_map(|word| Some((word.generator, serde_json::from_str(&word.text).ok()?)));
        let ready = room.heard(meeting, words::READY)?.into_iter();
        let ready =
            ready.filter_map(|word| Some((word.generator, serde_json::from_str(&word.text).ok()?)));
        Ok(Self {
            parts: room.parts(meeting)?,
            hosts: room.hosts(meeting)?,
            done: done.collect(),
            ready: ready.collect(),
            began: company.started()?.generators,
        })
    }

    /// How late the first began that began. Of one that died it is not known: it counts as in time.
    fn first_late_us(&self) -> u64 {
        let has_part = |number: &&u32| find(&self.parts, **number).is_some();
        let began = self.began.iter().filter(has_part);
        let late = began.map(|number| find(&self.done, *number)?.began_late_us);
        late.map(Option::unwrap_or_default)
            .min()
            .unwrap_or_default()
    }

    /// The trial of a generator that began.
    fn measured(&self, number: u32) -> Option<i64> {
        find(&self.parts, number)
            .filter(|_| self.began.contains(&number))
            .copied()
    }

    /// What is known of a generator without its figures.
    fn row(&self, number: u32, clients: u32) -> Generator {
        let done = find(&self.done, number);
        let end = match done {
            _ if !self.began.contains(&number) => GeneratorEnd::NeverArrived,
            None => GeneratorEnd::Died,
            Some(part) if !part.has_arrived => GeneratorEnd::Waits,
            Some(part) if part.is_complete => GeneratorEnd::Complete,
            Some(_) => GeneratorEnd::Early,
        };
        let clock = done.and_then(|part| part.began_clock);
        let clock = clock.or(find(&self.ready, number).map(|ready| ready.clock));
        let drift =
            |(before, after): (ClockReading, ClockReading)| after.offset_us - before.offset_us;
        Generator {
            generator: number,
            end,
            trial: find(&self.parts, number).copied(),
            // Without what tells hosts of one name apart.
            host: find(&self.hosts, number)
                .and_then(|host| host.split(' ').next())
                .map(str::to_owned),
            clients,
            committed: 0,
            goodput_per_s: 0.0,
            cpu_us: None,
            busiest_share: None,
            lag_max_us: None,
            added_mean_us: None,
            began_late_us: done.and_then(|part| part.began_late_us),
            clock,
            clock_drift_us: clock.zip(done.and_then(|part| part.clock)).map(drift),
            until_us: 0,
            committed_by_second: Vec::new(),
        }
    }
}

fn find<T>(list: &[(u32, T)], number: u32) -> Option<&T> {
    let found = list.iter().find(|(generator, _)| *generator == number);
    found.map(|(_, it)| it)
}

/// What it committed in each second; a rest that is shorter is no second.
fn by_second(recording: &Recording) -> Vec<u64> {
    let mut all = Vec::new();
    let seconds = recording.seconds.iter();
    seconds.for_each(|second| second.add_committed(&mut all));
    all
}

/// The figures of a generator.
fn measure(row: &mut Generator, recording: &Recording) {
    row.committed = recording.measured.all().counts.committed;
    row.goodput_per_s = recording.measured.goodput_per_s();
    let last = recording.seconds.last();
    row.until_us = last.map_or(0, |second| second.start_us + second.length_us);
    if recording.threads.is_empty() {
        return;
    }
    let (user_us, system_us) = recording.cpu_us();
    row.cpu_us = Some(user_us + system_us);
    let busiest = recording.threads.iter().map(ThreadUse::wanted_share);
    row.busiest_share = busiest.max_by(f64::total_cmp);
    row.lag_max_us = recording
        .threads
        .iter()
        .map(|thread| thread.lag_max_us)
        .max();
    let (shown, without) = (&recording.added.shown, &recording.added.without);
    row.added_mean_us = shown
        .mean_us()
        .zip(without.mean_us())
        .map(|(shown, without)| shown - without);
}

/// How far apart those began that began: each by its own clock, so that what is not known of two clocks
/// is not known of it.
fn spread(all: &mut Generators) {
    let began = || all.list.iter().filter(|one| one.began_late_us.is_some());
    let late = || began().filter_map(|one| one.began_late_us);
    let mut uncertain: Vec<u64> = began()
        .filter_map(|one| Some(one.clock?.uncertainty_us))
        .collect();
    uncertain.sort_unstable();
    let spread = late()
        .max()
        .zip(late().min())
        .map(|(last, first)| last - first);
    all.start_spread_us = spread;
    all.start_uncertainty_us = spread.map(|_| uncertain.iter().rev().take(2).sum());
}

/// What a reader must know of them.
fn of_generators(outcome: &Outcome) -> Vec<Note> {
    let mut notes = Vec::new();
    let Some(all) = &outcome.generators else {
        return notes;
    };
    if let Some(missing) = all.missing() {
        let (state, _) = state(outcome);
        let what = match state {
            State::Partial => "the trial is partial",
            _ => "not all generators measured the whole trial",
        };
        notes.push(Note::new(
            "generators-missing",
            Severity::Serious,
            format!("{what}: {missing}"),
            "run the trial again with all generators",
        ));
    }
    if let Some(bound) = bound(&all.list) {
        notes.push(bound);
    }
    if let Some(spread_us) = all
        .start_spread_us
        .filter(|us| *us > Generators::APART_MAX_US)
    {
        notes.push(Note::new(
            "generators-apart",
            Severity::Warning,
            format!(
                "the generators began {} apart: in the first and the last part of the trial some did not work",
                text::time(spread_us as f64)
            ),
            "use fewer generators per host, or hosts with more free CPU",
        ));
    }
    notes
}

/// Those that were the limit themselves, when others were not: then the result mixes two things.
fn bound(list: &[Generator]) -> Option<Note> {
    let is_bound = |one: &&Generator| {
        one.busiest_share
            .is_some_and(|share| share >= CLIENT_BOUND_SHARE)
    };
    let bound: Vec<String> = list
        .iter()
        .filter(is_bound)
        .map(|one| one.generator.to_string())
        .collect();
    if bound.is_empty() || bound.len() == list.len() {
        return None;
    }
    Some(Note::new(
        "generators-uneven",
        Severity::Warning,
        format!(
            "some generators were limited by their own CPU, others not: {}",
            bound.join(", ")
        ),
        "give all generators the same CPU, or use more generators",
    ))
}
