//! Running trials at a glance: the last seconds of each, for a list that is made anew every second.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use pgdyno_measurement::{Latencies, Second};
use pgdyno_model::State;
use pgdyno_model::document::page::{GeneratorNow, GeneratorPart, PartOf};
use pgdyno_model::notebook::{Filter, News, Notebook, TrialRow};
use pgdyno_model::observed::Observed;
use pgdyno_spec::{Failure, TrialSpec};
use serde::Serialize;

use crate::growing::{Silence, now_us, planned_us};
use crate::together;

/// So much of it is drawn.
const COURSE_US: u64 = 40_000_000;
/// So much is put together for percentiles and waits: one second has too few values.
const RECENT_US: u64 = 5_000_000;
/// Shorter ones stand where a phase ends: a rate over a few milliseconds would be chance.
const SHORT_US: u64 = 200_000;
/// So many events that sessions wait for are named.
const WAITS_MAX: usize = 3;

/// A running trial at a glance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Glance {
    /// Its number in the notebook.
    pub number: i64,
    pub uuid: String,
    pub workload: String,
    /// The most clients that it has at once.
    pub clients: u32,
    /// What is measured, without secrets.
    pub target: String,
    pub experiment: Option<String>,
    /// When it was begun, UTC.
    pub started: String,
    /// The end of its last second, in microseconds since clients began to work; `null` before the first.
    pub now_us: Option<u64>,
    /// When it will be over on the same clock; `null` where it ends by transactions.
    pub planned_us: Option<u64>,
    /// Whether its warm-up is under way.
    pub warmup: bool,
    /// Committed transactions a second, of the last 40 seconds; the last is now.
    pub goodput_per_s: Vec<f64>,
    /// Over the last five seconds, from the scheduled start where there is a rate; `null` with fewer than ten
    /// values beyond it.
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
    /// Failed transactions of the measured time so far.
    pub failed: u64,
    /// What most sessions waited for in the last five seconds, and how many did, the most first.
    pub waits: Vec<(String, f64)>,
    /// For how many seconds nothing has come that should have, in steps of five; `null`: for less than 15 s,
    /// or no [`Watch`] repeats it.
    pub silent_s: Option<u64>,
    /// Whether its process, which ran on this host, has ended without a word.
    pub is_gone: bool,
    /// Which part of a trial of several generators it is; `null`: none.
    pub part: Option<PartOf>,
    /// Where it is all of them together: each. Else empty.
    pub generators: Vec<GeneratorNow>,
}

/// Looks again and again, and so sees of what nothing comes any more.
#[derive(Debug, Default)]
pub struct Watch {
    silences: BTreeMap<String, Silence>,
}

impl Watch {
    /// All trials that are running, the newest first; those of several generators once.
    ///
    /// # Errors
    /// The notebook cannot be read.
    pub fn all(&mut self, store: &dyn Notebook) -> Result<Vec<Glance>, Failure> {
        self.of_rows(store, &running(store)?)
    }

    pub(crate) fn of_rows(
        &mut self,
        store: &dyn Notebook,
        rows: &[TrialRow],
    ) -> Result<Vec<Glance>, Failure> {
        let mut all = of_rows(store, rows)?;
        let at = Instant::now();
        let mut before = std::mem::take(&mut self.silences);
        for one in &mut all {
            let silence = before.remove(&one.uuid);
            let mut silence = silence.unwrap_or_else(|| Silence::new(at));
            one.silent_s = silence.after(one.now_us, one.planned_us, at);
            self.silences.insert(one.uuid.clone(), silence);
        }
        Ok(all)
    }
}

pub(crate) fn running(store: &dyn Notebook) -> Result<Vec<TrialRow>, Failure> {
    store.trials(&Filter {
        state: Some(State::Running),
        ..Filter::default()
    })
}

/// Those of one trial's generators are one.
fn of_rows(store: &dyn Notebook, rows: &[TrialRow]) -> Result<Vec<Glance>, Failure> {
    let mut shown = BTreeSet::new();
    let mut all = Vec::new();
    for row in rows {
        if shown.contains(&row.number) {
            continue;
        }
        let part = store.part_of(row.number)?;
        let asked = match part {
            Some(_) => store.asked_of_all(row.number)?,
            None => None,
        };
        let (Some(part), Some(asked)) = (part, asked) else {
            all.push(of(store, row)?);
            continue;
        };
        shown.extend(part.parts.iter().map(|one| one.trial));
        // The same one each time, as long as it lives.
        let lead = rows.iter();
        let lead = lead.filter(|row| part.parts.iter().any(|one| one.trial == row.number));
        let lead = lead.min_by_key(|row| row.number).unwrap_or(row);
        all.push(of_all(store, lead, &part, &asked)?);
    }
    Ok(all)
}

/// One of them; of several generators that one by itself.
///
/// # Errors
/// The notebook cannot be read.
fn of(store: &dyn Notebook, row: &TrialRow) -> Result<Glance, Failure> {
    let seconds = store.last_seconds(row.number, COURSE_US)?;
    let news = store.news(row.number)?;
    let observed = store.observed_after(row.number, Some(recent_from_us(&seconds) as i64))?;
    Ok(Glance {
        failed: news.failed,
        planned_us: planned_us(&row.spec, news.measured_from_us),
        waits: waits(&observed),
        is_gone: store.is_gone(row.number)?,
        part: store.part_of(row.number)?,
        ..of_seconds(row, &row.spec, &seconds)
    })
}

/// All generators of a trial together.
fn of_all(
    store: &dyn Notebook,
    lead: &TrialRow,
    part: &PartOf,
    asked: &TrialSpec,
) -> Result<Glance, Failure> {
    let mut each = Vec::new();
    for one in part.newest() {
        let seconds = store.last_seconds(one.trial, COURSE_US)?;
        each.push((one, seconds, store.news(one.trial)?));
    }
    let now = each.iter().map(|(one, seconds, _)| (*one, now_us(seconds)));
    let until_us = together::known_until_us(now);
    let known = each.iter().flat_map(|(_, seconds, _)| seconds);
    let known = known.filter(|second| second.end_us() <= until_us);
    let mut seconds = together::sums(known.cloned().collect());
    let from_us = now_us(&seconds).map_or(0, |now_us| now_us.saturating_sub(COURSE_US));
    // One that died long ago has older ones; of one that is ahead fewer of the oldest were read.
    let alive = each.iter().filter(|(one, ..)| !one.has_died());
    let begins = alive.filter_map(|(_, seconds, _)| Some(seconds.first()?.start_us));
    let from_us = from_us.max(begins.max().unwrap_or_default());
    seconds.retain(|second| second.start_us >= from_us);
    let mut observed = Vec::new();
    let from_us = recent_from_us(&seconds) as i64;
    for (one, ..) in &each {
        observed = match waits(&store.observed_after(one.trial, Some(from_us))?) {
            none if none.is_empty() => observed,
            some => some,
        };
    }
    let measured = each.iter().filter_map(|(.., news)| news.measured_from_us);
    let of_each = |(one, seconds, news): &(&GeneratorPart, Vec<Second>, News)| GeneratorNow {
        generator: one.generator,
        trial: one.trial,
        has_died: one.has_died(),
        clients: together::clients(asked, one.generator, part.generators),
        now_us: now_us(seconds),
        goodput_per_s: goodput(seconds).last().copied(),
        p99_us: recent_latencies(seconds).percentile_us(99.0),
        failed: news.failed,
    };
    Ok(Glance {
        failed: each.iter().map(|(.., news)| news.failed).sum(),
        planned_us: planned_us(asked, measured.min()),
        waits: observed,
        generators: each.iter().map(of_each).collect(),
        part: Some(part.clone()),
        ..of_seconds(lead, asked, &seconds)
    })
}

fn of_seconds(row: &TrialRow, spec: &TrialSpec, seconds: &[Second]) -> Glance {
    let latencies = recent_latencies(seconds);
    Glance {
        number: row.number,
        uuid: row.uuid.clone(),
        workload: row.workload.clone(),
        clients: spec.clients(),
        target: row.target.clone(),
        experiment: row.experiment_name.clone(),
        started: row.started.clone(),
        now_us: now_us(seconds),
        planned_us: None,
        warmup: seconds.last().is_some_and(|second| second.warmup),
        goodput_per_s: goodput(seconds),
        p50_us: latencies.percentile_us(50.0),
        p99_us: latencies.percentile_us(99.0),
        failed: 0,
        waits: Vec::new(),
        silent_s: None,
        is_gone: false,
        part: None,
        generators: Vec::new(),
    }
}

fn recent_from_us(seconds: &[Second]) -> u64 {
    now_us(seconds).map_or(0, |now_us| now_us.saturating_sub(RECENT_US))
}

fn recent_latencies(seconds: &[Second]) -> Latencies {
    let from_us = recent_from_us(seconds);
    latencies(seconds.iter().filter(|second| second.start_us >= from_us))
}

/// By second, without what is left of one.
fn goodput(seconds: &[Second]) -> Vec<f64> {
    let whole = seconds.iter().filter(|second| second.length_us >= SHORT_US);
    let rate = |second: &Second| second.committed() as f64 * 1e6 / second.length_us as f64;
    whole.map(rate).collect()
}

/// Of all scripts: from the scheduled start where there is a rate.
fn latencies<'a>(seconds: impl Iterator<Item = &'a Second>) -> Latencies {
    let mut all = Latencies::default();
    for script in seconds.flat_map(|second| &second.scripts) {
        all.merge(&script.response.as_ref().unwrap_or(&script.service).unpack());
    }
    all
}

/// What most sessions waited for, on average over the readings that there are.
fn waits(observed: &Observed) -> Vec<(String, f64)> {
    let mut sums = BTreeMap::<&str, f64>::new();
    let mut readings = std::collections::BTreeSet::new();
    for course in observed.all("pg.waits") {
        let sum = sums.entry(&course.of.series.label).or_default();
        for (at_us, sessions) in &course.samples {
            *sum += sessions;
            readings.insert(*at_us);
        }
    }
    // This gauge is reported with each reading, also when no session waits.
    let others = observed.all("pg.sessions.others_active");
    readings.extend(others.flat_map(|course| course.samples.iter().map(|(at_us, _)| *at_us)));
    let count = readings.len().max(1) as f64;
    let mut waits: Vec<(String, f64)> = sums
        .into_iter()
        .filter(|(_, sum)| *sum > 0.0)
        .map(|(event, sum)| (event.to_owned(), sum / count))
        .collect();
    waits.sort_by(|a, b| b.1.total_cmp(&a.1));
    waits.truncate(WAITS_MAX);
    waits
}
