//! What accompanies a trial: proxies, disturbances, receipts, checks, counters. A companion begins before clients
//! connect, may set the engine up, give an instrument and see the trial's events, and puts what it found into the
//! trial's outcome, with notes. A new one is a file and a line in [`ALL`].
//!
//! Not for: what is observed on request (`observe`), notes on the measurement itself (`validity.rs`).

mod account;
pub(crate) mod checks;
mod counters;
mod heat;
mod history;
mod isolation;
pub(crate) mod key_skew;
mod servers_after;
pub(crate) mod staleness;
pub(crate) mod truth;
pub(crate) mod via;
mod warmup;

use pgdyno_drive::{Control, Drive};
use pgdyno_measurement::{Event, EventKind, Recording};
use pgdyno_model::observed::Observed;
use pgdyno_model::{Findings, Note, Observer, Outcome};
use pgdyno_observe::Instrument;
use pgdyno_spec::{Failure, Share, TrialSpec};

use self::via::Proxies;
use crate::beforehand::Beforehand;
use crate::disturb;
use crate::prepare::Prepared;

/// In the order in which they begin, see events, and end.
const ALL: [Begin; 14] = [
    // No other observer delays the end of the warm-up.
    warmup::begin,
    via::begin,
    // Goes through the proxies. It is undone before servers are asked.
    disturb::begin,
    // Asks how many sessions there is room for, before others of pgdyno's own are there.
    counters::begin,
    staleness::begin,
    account::begin,
    heat::begin,
    |_| at_end(servers_after::cluster),
    |_| at_end(servers_after::replaced),
    truth::begin,
    history::begin,
    checks::begin,
    |_| at_end(key_skew::end),
    |_| at_end(|end| end.findings.put(&end.scene.prepared.figures(end.recording))),
];

/// Begins before clients connect.
type Begin = for<'a> fn(&mut Scene<'a>) -> Begun<'a>;

/// `None` where the trial does not ask for it.
pub type Begun<'a> = Result<Option<Box<dyn Companion + 'a>>, Failure>;

/// Accompanies one trial.
pub trait Companion: Observer<Outcome> {
    /// What the engine does for it.
    fn set_up(&self, _drive: &mut Drive) {}

    fn instrument(&self) -> Option<Box<dyn Instrument>> {
        None
    }

    /// Whether the notebook and the screen see events before it does.
    fn sees_last(&self) -> bool {
        false
    }

    fn ends_last(&self) -> bool {
        false
    }

    /// Clients have gone. Of a trial that could not connect it does not come: the companion is dropped.
    fn end(self: Box<Self>, end: &mut Ending<'_>);
}

/// One that only looks at what was recorded.
struct AtEnd(fn(&mut Ending<'_>));

fn at_end<'a>(end: fn(&mut Ending<'_>)) -> Begun<'a> {
    Ok(Some(Box::new(AtEnd(end))))
}

impl Observer<Outcome> for AtEnd {}

impl Companion for AtEnd {
    fn end(self: Box<Self>, end: &mut Ending<'_>) {
        self.0(end);
    }
}

/// What is known of a trial before clients connect.
pub struct Scene<'a> {
    pub spec: &'a TrialSpec,
    pub share: Option<Share>,
    pub prepared: &'a Prepared,
    pub control: &'a Control,
    /// Once they have begun.
    pub via: Proxies,
    pub beforehand: Beforehand,
}

impl Scene<'_> {
    /// Of several generators one does what is not to be done by each.
    pub fn is_first_generator(&self) -> bool {
        self.share.is_none_or(|share| share.generator == 0)
    }
}

/// What is known when clients have gone.
pub struct Ending<'a> {
    pub scene: &'a Scene<'a>,
    pub drive: &'a Drive,
    pub recording: &'a mut Recording,
    pub observed: &'a Observed,
    pub observer: &'a mut dyn Observer<Outcome>,
    pub findings: Findings,
    pub notes: Vec<Note>,
}

impl Ending<'_> {
    /// Adds an event that is seen only now.
    pub fn event(&mut self, kind: EventKind, text: String) {
        let warmup = self.recording.warmup.as_ref();
        let warmup_us = warmup.map_or(0, |phase| phase.elapsed_us);
        let event = Event {
            at_us: warmup_us + self.recording.measured.elapsed_us,
            kind,
            text,
        };
        self.observer.event(&event);
        self.recording.events.push(event);
    }
}

/// Those of a trial.
#[derive(Default)]
pub struct Companions<'a>(Vec<Box<dyn Companion + 'a>>);

impl<'a> Companions<'a> {
    /// Begins all.
    ///
    /// # Errors
    /// What one of them cannot do; those before it are dropped.
    pub fn begin(scene: &mut Scene<'a>) -> Result<Self, Failure> {
        let begun = ALL.into_iter().filter_map(|begin| begin(scene).transpose());
        Ok(Self(begun.collect::<Result<_, _>>()?))
    }

    pub fn set_up(&self, drive: &mut Drive) {
        self.0.iter().for_each(|companion| companion.set_up(drive));
    }

    pub fn instruments(&self) -> impl Iterator<Item = Box<dyn Instrument>> {
        self.0.iter().filter_map(|companion| companion.instrument())
    }

    /// All observers of the trial, in their order.
    pub fn observers<'o>(
        &'o mut self,
        observer: &'o mut dyn Observer<Outcome>,
    ) -> Vec<&'o mut dyn Observer<Outcome>> {
        let mut first: Vec<&mut dyn Observer<Outcome>> = Vec::new();
        let mut last = vec![observer];
        for companion in &mut self.0 {
            let sees_last = companion.sees_last();
            let list = if sees_last { &mut last } else { &mut first };
            list.push(&mut **companion);
        }
        first.append(&mut last);
        first
    }

    pub fn end(mut self, end: &mut Ending<'_>) {
        // Stable: beside that they end as they began.
        self.0.sort_by_key(|companion| companion.ends_last());
        self.0.into_iter().for_each(|companion| companion.end(end));
    }
}
