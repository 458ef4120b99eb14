//! Where the clients' time in transactions went, by what their sessions were seen to do: each sample
//! of `pg.waits` finds a session in the server, working or waiting, or does not find it: then its
//! client has the answer, or the answer or the next statement is on its way.

use super::ratio::ratio;
use std::collections::BTreeMap;

use super::waits::{self, Class};
use pgdyno_model::Outcome;
use pgdyno_model::observed::{Gap, Observed};

/// So many sessions must have been seen, over all samples, before shares of them say anything: with
/// 30 a share of a half is known to within 18 points (95 %, binomial).
const SEEN_MIN: f64 = 30.0;
/// Sessions of others, as a share of all, from which on what is seen is not the trial's.
const OTHERS_MAX_SHARE: f64 = 0.3;
/// How often a second sessions are looked at. A lower rate is told as a fact of the instrument.
const SAMPLES_PER_S: f64 = 10.0;

const CHECKPOINTING: [&str; 2] = ["IPC:CheckpointStart", "IPC:CheckpointDone"];
const WAITS: &str = "pg.waits";
const OTHERS: &str = "pg.sessions.others_active";

/// Sessions on average over the measured time.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// Clients in transactions.
    pub busy: f64,
    /// Sessions by event, the most frequent first.
    pub events: Vec<(String, f64)>,
    by_class: BTreeMap<Class, f64>,
}

/// The budget of a trial in whose transactions so many clients were on average.
///
/// # Errors
/// Why it was not seen.
pub fn of(outcome: &Outcome, measured_us: (i64, i64), busy: f64) -> Result<Budget, Gap> {
    let observed = &outcome.observed;
    if observed.instruments.is_empty() {
        return Err(Gap::because("the server was not observed (`--observe`)"));
    }
    let (from_us, to_us) = measured_us;
    // The gauge beside it is told with each reading.
    let others: Vec<f64> = observed
        .all(OTHERS)
        .flat_map(|course| &course.samples)
        .filter(|(at_us, _)| (from_us..to_us).contains(at_us))
        .map(|(_, value)| *value)
        .collect();
    let readings = others.len();
    if readings == 0 {
        return Err(unknown(observed));
    }
    let mut events = BTreeMap::<String, f64>::new();
    for course in observed.all(WAITS) {
        let sessions = course.mean(from_us, to_us, readings).unwrap_or(0.0);
        // With several nodes the label begins with the node's.
        let label = course
            .of
            .series
            .label
            .rsplit(' ')
            .next()
            .unwrap_or_default();
        *events.entry(label.to_owned()).or_default() += sessions;
    }
    // Whoever asks for a checkpoint waits until it is done: that is no work of anybody's.
    let asking: f64 = CHECKPOINTING
        .iter()
        .filter_map(|event| events.remove(*event))
        .sum();
    let all: f64 = events.values().sum();
    let others = others.iter().sum::<f64>() / readings as f64 - asking;
    if others > OTHERS_MAX_SHARE * all.max(busy) {
        return Err(Gap::because(
            "other sessions were active too and cannot be separated from this trial's",
        ));
    }
    let seconds = (to_us - from_us) as f64 / 1e6;
    if busy * seconds * SAMPLES_PER_S < SEEN_MIN {
        return Err(Gap::because(
            "the trial was too short to sample wait events",
        ));
    }
    Ok(Budget::new(busy, events))
}

/// Why no reading came.
fn unknown(observed: &Observed) -> Gap {
    let gaps = observed.gaps.iter();
    let mut gaps = gaps.filter(|gap| observed.instrument(gap.instrument) == WAITS);
    match gaps.next() {
        Some(span) => Gap {
            reason: format!("wait events were not observed: {}", span.gap.reason),
            remedy: span.gap.remedy.clone(),
        },
        None => Gap::because("wait events were not observed on this server"),
    }
}

impl Budget {
    /// From sessions by event, of so many clients in transactions.
    pub fn new(busy: f64, events: BTreeMap<String, f64>) -> Self {
        let mut by_class = BTreeMap::new();
        for (event, sessions) in &events {
            *by_class.entry(waits::class(event)).or_default() += sessions;
        }
        let mut events: Vec<(String, f64)> = events.into_iter().collect();
        events.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self {
            busy,
            events,
            by_class,
        }
    }

    /// Sessions of a class, on average.
    pub fn sessions(&self, class: Class) -> f64 {
        self.by_class.get(&class).copied().unwrap_or(0.0)
    }

    /// Sessions in statements, on average.
    pub fn active(&self) -> f64 {
        self.by_class.values().sum()
    }

    /// Of the time in transactions. Samples may find a little more than there can be.
    pub fn class_share(&self, class: Class) -> f64 {
        ratio(self.sessions(class), self.busy.max(self.active()))
    }

    /// Of the time in transactions: in no statement, or in one that waits for its client.
    pub fn outside_share(&self) -> f64 {
        let inside = self.active() - self.sessions(Class::Client);
        1.0 - ratio(inside, self.busy.max(self.active())).min(1.0)
    }

    /// The events of a class with the sessions in them, the most frequent first.
    pub fn events_of(&self, class: Class) -> impl Iterator<Item = (&str, f64)> {
        let events = self.events.iter();
        let events = events.filter(move |(event, _)| waits::class(event) == class);
        events.map(|(event, sessions)| (event.as_str(), *sessions))
    }
}
