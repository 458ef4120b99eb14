//! What an instrument has read, on its way to the trial's clock.

use std::time::{Duration, Instant};

use pgdyno_model::Note;
use pgdyno_model::observed::{Gap, Kind, Series, ServerStatement};

/// Takes what one reading of an instrument found.
#[derive(Debug, Default)]
pub struct Readings {
    at: Option<Instant>,
    pub(super) values: Vec<Value>,
    pub(super) events: Vec<Event>,
    pub(super) statements: Vec<ServerStatement>,
    pub(super) facts: Vec<(String, serde_json::Value)>,
    pub(super) notes: Vec<Note>,
    pub(super) gaps: Vec<(String, Gap)>,
}

#[derive(Debug)]
pub(super) struct Value {
    pub(super) series: Series,
    pub(super) kind: Kind,
    pub(super) at: Instant,
    pub(super) value: f64,
}

#[derive(Debug)]
pub(super) struct Event {
    pub(super) kind: String,
    pub(super) from: Instant,
    pub(super) length: Option<Duration>,
    pub(super) text: String,
}

impl Readings {
    /// With figures that were read then.
    #[cfg(test)]
    pub(super) fn starting(at: Instant) -> Self {
        Self {
            at: Some(at),
            ..Self::default()
        }
    }

    /// Takes over what was read into another.
    pub fn append(&mut self, other: Readings) {
        self.values.extend(other.values);
        self.events.extend(other.events);
        self.statements.extend(other.statements);
        self.facts.extend(other.facts);
        self.notes.extend(other.notes);
        self.gaps.extend(other.gaps);
    }

    /// What follows was read now. Without it: when the first figure comes in, which is right for
    /// one answer; an instrument that asks several parts calls it before each.
    pub fn now(&mut self) {
        self.at = Some(Instant::now());
    }

    fn at(&mut self) -> Instant {
        *self.at.get_or_insert_with(Instant::now)
    }

    fn push(&mut self, series: Series, kind: Kind, value: f64) {
        let at = self.at();
        // What is no number is not known.
        if value.is_finite() {
            self.values.push(Value {
                series,
                kind,
                at,
                value,
            });
        }
    }

    /// A figure as it is at this moment.
    pub fn gauge(&mut self, series: Series, value: f64) {
        self.push(series, Kind::Gauge, value);
    }

    /// The same of a part that comes and goes: where a reading does not speak of it, it is 0.
    pub fn sparse(&mut self, series: Series, value: f64) {
        self.push(series, Kind::Sparse, value);
    }

    /// A counter as it is, in the unit of the series without its `/s`. Kept are its rate and how
    /// it stood before and after; one that falls was reset, and is counted on from there.
    pub fn counter(&mut self, series: Series, value: f64) {
        self.push(series, Kind::Counter, value);
    }

    /// What is read in [`super::Instrument::begin`] and [`super::Instrument::end`] only, because it
    /// is dear.
    pub fn before_after(&mut self, series: Series, value: f64) {
        self.push(series, Kind::BeforeAfter, value);
    }

    /// Something happened (`checkpoint`, `autovacuum`), from then on and for so long; the length is
    /// `None` for what has none. The text has no secrets and no newline.
    pub fn event(
        &mut self,
        kind: impl Into<String>,
        from: Instant,
        length: Option<Duration>,
        text: impl Into<String>,
    ) {
        self.events.push(Event {
            kind: kind.into(),
            from,
            length,
            text: text.into(),
        });
    }

    /// What the server did for one statement, given once, in [`super::Instrument::end`], the dearest
    /// first.
    pub fn statement(&mut self, statement: ServerStatement) {
        self.statements.push(statement);
    }

    /// Information that is not a series: `statement_sampling` and a number or words. The
    /// last one of a name stays.
    pub fn fact(&mut self, name: impl Into<String>, value: impl Into<serde_json::Value>) {
        self.facts.push((name.into(), value.into()));
    }

    /// A validity note that comes from what was seen.
    pub fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    /// One part (`node 3`) is missing from this reading while others are there. It ends with the
    /// next reading that does not say so.
    pub fn gap(&mut self, label: impl Into<String>, gap: Gap) {
        self.gaps.push((label.into(), gap));
    }
}
