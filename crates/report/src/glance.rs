//! Running trials at a glance: the last seconds of each, for a list that is made anew every second.

use std::collections::BTreeMap;

use pgdyno_drive::record::{Latencies, Second};
use pgdyno_model::document::page::PartOf;
use pgdyno_model::notebook::{Filter, Notebook, TrialRow};
use pgdyno_model::observed::Observed;
use pgdyno_model::{Failure, State};
use serde::Serialize;

use crate::growing::{now_us, planned_us};

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
    /// Everywhere.
    pub uuid: String,
    /// Its workload.
    pub workload: String,
    /// The most clients that it has at once.
    pub clients: u32,
    /// What is measured, without secrets.
    pub target: String,
    /// Its experiment's name.
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
    /// Likewise.
    pub p99_us: Option<u64>,
    /// Failed transactions of the measured time so far.
    pub failed: u64,
    /// What most sessions waited for in the last five seconds, and how many did, the most first.
    pub waits: Vec<(String, f64)>,
    /// Which part of a trial of several generators it is; `null`: none.
    pub part: Option<PartOf>,
}

/// All trials that are running, the newest first.
///
/// # Errors
/// The notebook cannot be read.
pub fn all(store: &dyn Notebook) -> Result<Vec<Glance>, Failure> {
    let running = store.trials(&Filter {
        state: Some(State::Running),
        ..Filter::default()
    })?;
    let glances = running.iter().map(|row| of(store, row));
    glances.collect()
}

/// One of them.
///
/// # Errors
/// The notebook cannot be read.
pub fn of(store: &dyn Notebook, row: &TrialRow) -> Result<Glance, Failure> {
    let seconds = store.last_seconds(row.number, COURSE_US)?;
    let now_us = now_us(&seconds);
    let since_us = now_us.map_or(0, |now_us| now_us.saturating_sub(RECENT_US));
    let recent = seconds.iter().filter(|second| second.start_us >= since_us);
    let latencies = latencies(recent);
    let observed = store.observed_after(row.number, Some(since_us as i64))?;
    let news = store.news(row.number)?;
    Ok(Glance {
        number: row.number,
        uuid: row.uuid.clone(),
        workload: row.workload.clone(),
        clients: row.spec.clients(),
        target: row.target.clone(),
        experiment: row.experiment_name.clone(),
        started: row.started.clone(),
        now_us,
        planned_us: planned_us(&row.spec, news.measured_from_us),
        warmup: seconds.last().is_some_and(|second| second.warmup),
        goodput_per_s: goodput(&seconds),
        p50_us: latencies.percentile_us(50.0),
        p99_us: latencies.percentile_us(99.0),
        failed: news.failed,
        waits: waits(&observed),
        part: store.part_of(row.number)?,
    })
}

/// By second, without what is left of one.
pub fn goodput(seconds: &[Second]) -> Vec<f64> {
    let whole = seconds.iter().filter(|second| second.length_us >= SHORT_US);
    let rate = |second: &Second| {
        let committed = second.scripts.iter().map(|script| script.counts.committed);
        committed.sum::<u64>() as f64 * 1e6 / second.length_us as f64
    };
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
pub fn waits(observed: &Observed) -> Vec<(String, f64)> {
    let mut sums = BTreeMap::<&str, f64>::new();
    let mut readings = std::collections::BTreeSet::new();
    for course in observed.all("pg.waits") {
        let sum = sums.entry(&course.of.series.label).or_default();
        for (at_us, sessions) in &course.samples {
            *sum += sessions;
            readings.insert(*at_us);
        }
    }
    // This gauge is told with each reading, whether anybody waits or not.
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
