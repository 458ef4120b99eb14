//! What sessions were at, from samples of which the observer reports means about once a second (`pg.waits`).
//!
//! A reading covers the time since the one before it; a stretch of the trial has of each as much as it shares with it.
//! Readings do not keep step with the trial's seconds, so that none may fall into one of them.

use std::collections::BTreeMap;

use pgdyno_model::observed::{Course, Observed};

use super::ratio::ratio;

pub const WAITS: &str = "pg.waits";
const OTHERS_WAITS: &str = "pg.waits.others";
/// Reported with each reading, whether any session waits or not.
const OTHERS: &str = "pg.sessions.others_active";

/// So long a single reading covers.
const READING_US: i64 = 1_000_000;
/// A reading that comes later than so many usual ones covers no more: the server, or the way to it, did not answer.
const LATE: i64 = 2;

/// Whose sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Trials,
    Others,
}

pub struct Sampled<'a> {
    places: Vec<Place<'a>>,
}

/// A server that was sampled.
struct Place<'a> {
    /// Ends of its readings, and how many sessions of others were in statements.
    others: &'a [(i64, f64)],
    spans: Vec<(i64, i64)>,
    courses: Vec<(Whose, &'a str, &'a Course)>,
}

impl<'a> Sampled<'a> {
    pub fn new(observed: &'a Observed) -> Self {
        let places = observed.all(OTHERS).map(|others| {
            let node = others.of.series.label.as_str();
            let of = |name, whose| {
                let courses = observed.all(name);
                courses.filter_map(move |course| {
                    let label = course.of.series.label.as_str();
                    // With several nodes the label begins with the node's.
                    let (of, event) = label.rsplit_once(' ').unwrap_or(("", label));
                    (of == node).then_some((whose, event, course))
                })
            };
            Place {
                others: &others.samples,
                spans: spans(&others.samples),
                courses: of(WAITS, Whose::Trials)
                    .chain(of(OTHERS_WAITS, Whose::Others))
                    .collect(),
            }
        });
        Self {
            places: places.collect(),
        }
    }

    /// Sessions by event on average; `None` where no reading covers any of this time.
    pub fn events(&self, whose: Whose, within: (i64, i64)) -> Option<BTreeMap<&'a str, f64>> {
        let mut events = BTreeMap::new();
        let mut is_seen = false;
        for place in &self.places {
            let covered = place.covered(within);
            is_seen |= covered > 0.0;
            for (of, event, course) in &place.courses {
                if *of == whose && covered > 0.0 {
                    let sessions = place.sum(&course.samples, within) / covered;
                    *events.entry(*event).or_default() += sessions;
                }
            }
        }
        events.retain(|_, sessions| *sessions > 0.0);
        is_seen.then_some(events)
    }

    /// Sessions of others in statements on average, with those that have the trial's own name.
    pub fn others(&self, within: (i64, i64)) -> f64 {
        let places = self.places.iter();
        let means =
            places.map(|place| ratio(place.sum(place.others, within), place.covered(within)));
        means.sum()
    }
}

impl Place<'_> {
    /// How much of this time readings cover, in microseconds.
    fn covered(&self, within: (i64, i64)) -> f64 {
        let first = self
            .spans
            .partition_point(|(_, end_us)| *end_us <= within.0);
        let spans = self.spans[first..].iter();
        let spans = spans.take_while(|(from_us, _)| *from_us < within.1);
        spans.map(|span| shared(*span, within)).sum()
    }

    /// Readings, each times what it covers of this time.
    fn sum(&self, samples: &[(i64, f64)], within: (i64, i64)) -> f64 {
        let first = samples.partition_point(|(at_us, _)| *at_us <= within.0);
        let samples = samples[first..].iter();
        let readings = samples.map_while(|(at_us, value)| {
            let reading = self
                .spans
                .binary_search_by_key(at_us, |(_, end_us)| *end_us);
            let span = reading.map_or((*at_us, *at_us), |reading| self.spans[reading]);
            (span.0 < within.1).then(|| value * shared(span, within))
        });
        readings.sum()
    }
}

/// What each reading covers; it ends when the reading was reported.
fn spans(readings: &[(i64, f64)]) -> Vec<(i64, i64)> {
    let ends: Vec<i64> = readings.iter().map(|(at_us, _)| *at_us).collect();
    let mut apart: Vec<i64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    apart.sort_unstable();
    let usual_us = apart.get(apart.len() / 2).copied().unwrap_or(READING_US);
    let before = ends.iter().copied();
    let before = ends
        .first()
        .map(|first| first - usual_us)
        .into_iter()
        .chain(before);
    let spans = before.zip(&ends);
    spans
        .map(|(before_us, end_us)| (before_us.max(end_us - LATE * usual_us), *end_us))
        .collect()
}

/// How much two spans share, in microseconds.
fn shared(a: (i64, i64), b: (i64, i64)) -> f64 {
    (a.1.min(b.1) - a.0.max(b.0)).max(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::observed::{Kind, NewSeries, Series};

    fn course(name: &'static str, label: &str, samples: &[(i64, f64)]) -> Course {
        Course {
            of: NewSeries {
                number: 0,
                instrument: 0,
                series: Series::new(name, "").of(label),
                kind: Kind::Sparse,
            },
            samples: samples.to_vec(),
            total: None,
        }
    }

    #[test]
    fn sessions_of_several_nodes_add_up_each_over_its_own_readings() {
        let s = 1_000_000;
        let observed = Observed {
            series: vec![
                course(OTHERS, "a", &[(s, 0.0), (2 * s, 0.0)]),
                course(OTHERS, "b", &[(s, 1.0), (2 * s, 1.0)]),
                course(WAITS, "a Lock:tuple", &[(s, 3.0), (2 * s, 3.0)]),
                course(WAITS, "b Lock:tuple", &[(2 * s, 4.0)]),
                course(OTHERS_WAITS, "b Timeout:PgSleep", &[(s, 1.0), (2 * s, 1.0)]),
            ],
            ..Observed::default()
        };
        let sampled = Sampled::new(&observed);
        let of = |whose, within| sampled.events(whose, within);
        assert_eq!(
            of(Whose::Trials, (0, 2 * s)),
            Some([("Lock:tuple", 5.0)].into())
        );
        assert_eq!(
            of(Whose::Trials, (0, s)),
            Some([("Lock:tuple", 3.0)].into())
        );
        assert_eq!(
            of(Whose::Others, (0, s)),
            Some([("Timeout:PgSleep", 1.0)].into())
        );
        assert_eq!(of(Whose::Trials, (3 * s, 4 * s)), None);
        assert_eq!(sampled.others((0, 2 * s)), 1.0);
    }

    #[test]
    fn a_reading_covers_the_time_since_the_one_before_but_for_a_silence() {
        let readings = [1_100, 2_200, 3_300, 9_000].map(|at_us| (at_us, 0.0));
        let expected = [(0, 1_100), (1_100, 2_200), (2_200, 3_300), (6_800, 9_000)];
        assert_eq!(spans(&readings), expected);
        assert_eq!(spans(&[(5_000_000, 1.0)]), [(4_000_000, 5_000_000)]);
        assert_eq!(spans(&[]), []);
    }
}
