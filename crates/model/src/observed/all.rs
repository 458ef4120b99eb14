//! All that instruments saw of one trial, as reports and the notebook have it.

use super::{Batch, InstrumentRow, Kind, NewSeries, ObservedEvent, ServerStatement, Span, Total};
use crate::Note;

/// The fact of an instrument that has a session of the server's for the whole trial: CPU time that
/// the server's process took for it, from its start until clients had gone, in microseconds. With
/// several nodes each has one, with the node behind it.
pub const SERVER_CPU: &str = "server_cpu_us";

/// All of it. Instruments, series and gaps stand at the place of their number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    pub instruments: Vec<InstrumentRow>,
    /// What each used of the CPU on pgdyno's side, in microseconds; `None` when it did not end in
    /// time.
    pub instrument_cpu_us: Vec<Option<u64>>,
    /// What all of them used, collecting included; `None` when that of one is not known, or there
    /// was none.
    pub cpu_us: Option<u64>,
    pub series: Vec<Course>,
    pub gaps: Vec<Span>,
    /// What happened, in its order.
    pub events: Vec<ObservedEvent>,
    /// What the server did by statement, with the instrument's number.
    pub statements: Vec<(usize, ServerStatement)>,
    /// Facts, with the instrument's number; a name occurs once for each.
    pub facts: Vec<(usize, String, serde_json::Value)>,
    /// Validity notes that instruments have given.
    pub notes: Vec<Note>,
}

/// A series with all that was read of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    pub of: NewSeries,
    /// When (microseconds since clients began to work) and what, in its order.
    pub samples: Vec<(i64, f64)>,
    pub total: Option<Total>,
}

impl Observed {
    pub fn add(&mut self, batch: Batch) {
        self.instrument_cpu_us
            .resize(self.instruments.len() + batch.instruments.len(), None);
        self.instruments.extend(batch.instruments);
        let courses = batch.series.into_iter().map(|of| Course {
            of,
            samples: Vec::new(),
            total: None,
        });
        self.series.extend(courses);
        for sample in batch.samples {
            if let Some(course) = self.series.get_mut(sample.series) {
                course.samples.push((sample.at_us, sample.value));
            }
        }
        for total in batch.totals {
            if let Some(course) = self.series.get_mut(total.series) {
                course.total = Some(total);
            }
        }
        for gap in batch.gaps {
            match self.gaps.get_mut(gap.number) {
                Some(known) => *known = gap,
                None => self.gaps.push(gap),
            }
        }
        for (number, cpu_us) in batch.cpu {
            if let Some(known) = self.instrument_cpu_us.get_mut(number) {
                *known = Some(cpu_us);
            }
        }
        // Most batches have none, and a long trial has many batches: what is sorted is not looked at again for each.
        if !batch.events.is_empty() {
            self.events.extend(batch.events);
            self.events.sort_by_key(|event| event.at_us);
        }
        if !batch.statements.is_empty() {
            self.statements.extend(batch.statements);
            self.statements.sort_by_key(|(instrument, _)| *instrument);
        }
        for (instrument, name, value) in batch.facts {
            self.facts
                .retain(|(of, known, _)| (*of, known) != (instrument, &name));
            self.facts.push((instrument, name, value));
        }
        self.notes.extend(batch.notes);
    }

    /// The series of this name, one for each of its labels.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Course> {
        let series = self.series.iter();
        series.filter(move |course| course.of.series.name == name)
    }

    /// The fact of this name, whichever instrument gave it.
    pub fn fact(&self, name: &str) -> Option<&serde_json::Value> {
        let mut facts = self.facts.iter();
        facts.find_map(|(_, known, value)| (known == name).then_some(value))
    }

    /// What the server's processes took for the instruments' sessions that stay for the whole trial,
    /// all together, in microseconds; `None` where they are not seen from here.
    pub fn server_cpu_us(&self) -> Option<u64> {
        let facts = self.facts.iter();
        let costs = facts.filter(|(_, name, _)| {
            let rest = name.strip_prefix(SERVER_CPU);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        costs
            .filter_map(|(_, _, us)| us.as_u64())
            .reduce(|a, b| a + b)
    }

    /// The name of an instrument.
    pub fn instrument(&self, number: usize) -> &str {
        self.instruments.get(number).map_or("", |row| &row.name)
    }

    /// Nothing more comes; collecting took so much CPU time, in microseconds.
    pub fn close(&mut self, collecting_us: u64) {
        let all: Option<Vec<u64>> = self.instrument_cpu_us.iter().copied().collect();
        self.cpu_us = all
            .filter(|all| !all.is_empty())
            .map(|all| all.into_iter().sum::<u64>() + collecting_us);
    }
}

impl Course {
    pub fn mean(&self, from_us: i64, to_us: i64, readings: usize) -> Option<f64> {
        mean(self.of.kind, &self.samples, (from_us, to_us), readings)
    }
}

/// The mean of what was read of a series within these times; of one that is [sparse](Kind::Sparse)
/// over so many readings. `None` without any.
pub fn mean(
    kind: Kind,
    samples: &[(i64, f64)],
    (from_us, to_us): (i64, i64),
    readings: usize,
) -> Option<f64> {
    let within = samples.iter();
    let within = within.filter(|(at_us, _)| (from_us..to_us).contains(at_us));
    let (sum, count) = within.fold((0.0, 0), |(sum, n), (_, value)| (sum + value, n + 1));
    let count = match kind {
        Kind::Sparse => readings.max(count),
        _ => count,
    };
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_in_their_order_however_they_come() {
        let mut observed = Observed::default();
        for at_us in [5, 9, 2, 2, 7] {
            let event = ObservedEvent {
                instrument: 0,
                at_us,
                length_us: None,
                kind: "checkpoint".to_owned(),
                text: String::new(),
            };
            observed.add(Batch {
                events: vec![event],
                ..Batch::default()
            });
            observed.add(Batch::default());
        }
        let order: Vec<i64> = observed.events.iter().map(|event| event.at_us).collect();
        assert_eq!(order, [2, 2, 5, 7, 9]);
    }
}
