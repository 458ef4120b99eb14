//! Categories (targets, forms, settings) held against each other: within one workload, where all else is
//! equal.

use std::cmp::Ordering;

use pgdyno_model::document::points::PointResult;
use pgdyno_model::document::repeats::LatencyKind;
use pgdyno_stats::Comparison;

use super::Sweep;
use super::duel::{Duel, DuelResult, Judged, judge};
use super::shape::{Group, Place, number, place_words, side_words};
use crate::comparison::{METRICS, Metric};

/// So much of a rate must be done to be called kept.
const KEPT: f64 = 0.98;

/// Sides where all else is equal.
pub struct Contest<'a> {
    /// What is equal: `8 clients`; empty where nothing else varies.
    pub place: String,
    /// In the order of their names.
    pub sides: Vec<Side<'a>>,
    /// Goodput, or p99 under a rate that all keep.
    pub metric: &'static Metric,
    /// Each pair of sides (the first before the second), judged.
    pairs: Vec<(usize, usize, Judged)>,
}

/// What is held against others.
pub struct Side<'a> {
    pub name: String,
    pub point: &'a PointResult,
}

/// What may be said of who is ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Ahead,
    /// Those in front cannot be distinguished by more than chance.
    Tied,
    /// Nothing can be said, and why not.
    Cannot(DuelResult),
}

/// The contests of each group, judged together.
pub fn contests<'a>(sweep: &Sweep<'a>, groups: &[Group<'a>]) -> Vec<Vec<Contest<'a>>> {
    let mut all: Vec<Vec<Contest<'a>>> =
        groups.iter().map(|group| of_group(sweep, group)).collect();
    let mut duels = Vec::new();
    for contest in all.iter().flatten() {
        for (a, b) in pairs(contest.sides.len()) {
            duels.push(Duel {
                a: sweep.repeats(contest.sides[a].point),
                b: sweep.repeats(contest.sides[b].point),
                metric: contest.metric,
            });
        }
    }
    let mut judged = judge(sweep.planned, &duels).into_iter();
    for contest in all.iter_mut().flatten() {
        let pairs = pairs(contest.sides.len());
        contest.pairs = pairs
            .filter_map(|(a, b)| Some((a, b, judged.next()?)))
            .collect();
    }
    all
}

fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
}

fn of_group<'a>(sweep: &Sweep<'a>, group: &Group<'a>) -> Vec<Contest<'a>> {
    let contested = group.contested();
    let is_contested = |path: &str| contested.iter().any(|one| one == path);
    let mut places: Vec<(Place, Vec<Side<'a>>)> = Vec::new();
    for index in &group.points {
        let point = &sweep.points[*index];
        if sweep.goodput(point).is_none() {
            continue;
        }
        let place = group.place(*index, |path| !is_contested(path));
        let name = side_words(&group.place(*index, is_contested), sweep.targets);
        let side = Side { name, point };
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, sides)) => sides.push(side),
            None => places.push((place, vec![side])),
        }
    }
    let contests = places.into_iter().filter(|(_, sides)| sides.len() > 1);
    let contests = contests.map(|(place, sides)| Contest {
        place: place_words(&place, sweep.targets),
        metric: metric(sweep, &sides),
        sides,
        pairs: Vec::new(),
    });
    contests.collect()
}

/// Under a rate that all keep they do the same, and latency tells them apart.
fn metric(sweep: &Sweep<'_>, sides: &[Side<'_>]) -> &'static Metric {
    let keeps = |side: &Side<'_>| {
        let rate = side
            .point
            .point
            .as_ref()
            .and_then(|point| number(&point["rate"]));
        let done = sweep.goodput(side.point).map(|of| of.median);
        let is_open = side.point.latency == LatencyKind::Response;
        is_open
            && rate
                .zip(done)
                .is_some_and(|(rate, done)| done >= KEPT * rate)
    };
    let is_p99 = |metric: &&Metric| metric.figure.name == "p99";
    match METRICS
        .iter()
        .find(is_p99)
        .filter(|_| sides.iter().all(keeps))
    {
        Some(p99) => p99,
        None => &METRICS[0],
    }
}

impl Contest<'_> {
    /// Whether it is about latency, of which less is better.
    pub fn is_of_latency(&self) -> bool {
        self.metric.figure.name != "goodput"
    }

    /// The sides, the best first.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.sides.len()).collect();
        let figure = |side: usize| {
            let of = self.sides[side].point.figures.get(self.metric.figure.name);
            of.and_then(|of| of.over_repeats.as_ref())
                .map(|of| of.over.median)
        };
        order.sort_by(|a, b| {
            let by = match (figure(*a), figure(*b)) {
                (Some(a), Some(b)) => b.total_cmp(&a),
                (a, b) => b.is_some().cmp(&a.is_some()),
            };
            if self.is_of_latency() && figure(*a).is_some() && figure(*b).is_some() {
                by.reverse()
            } else {
                by
            }
        });
        order
    }

    /// What may be said of `b` beside `a`: whether it is better (greater), worse, or neither.
    pub fn beside(
        &self,
        a: usize,
        b: usize,
    ) -> (Result<Ordering, DuelResult>, Option<&Comparison>) {
        let is_it = |pair: &&(usize, usize, Judged)| (pair.0, pair.1) == (a.min(b), a.max(b));
        let Some((first, _, judged)) = self.pairs.iter().find(is_it) else {
            return (Err(DuelResult::Lacking), None);
        };
        let better = if self.is_of_latency() {
            DuelResult::Lower
        } else {
            DuelResult::Higher
        };
        let of_second = match judged.result {
            reported if reported == better => Ok(Ordering::Greater),
            DuelResult::Higher | DuelResult::Lower => Ok(Ordering::Less),
            DuelResult::Same => Ok(Ordering::Equal),
            cannot => Err(cannot),
        };
        let of_b = if *first == a {
            of_second
        } else {
            of_second.map(Ordering::reverse)
        };
        (of_b, judged.comparison.as_ref())
    }

    /// Those in front that cannot be distinguished (the first of them leads), and what may be said.
    pub fn front(&self) -> (Vec<usize>, Standing) {
        let order = self.order();
        let Some((leader, others)) = order.split_first() else {
            return (Vec::new(), Standing::Cannot(DuelResult::Lacking));
        };
        let mut front = vec![*leader];
        let mut why = None;
        for other in others {
            match self.beside(*leader, *other).0 {
                Ok(Ordering::Less) => continue,
                Err(cannot) => why = why.or(Some(cannot)),
                Ok(_) => {}
            }
            front.push(*other);
        }
        let standing = match (front.len(), why) {
            (1, _) => Standing::Ahead,
            (_, Some(cannot)) => Standing::Cannot(cannot),
            (_, None) => Standing::Tied,
        };
        (front, standing)
    }

    pub fn is_ahead(&self, of: usize, other: usize) -> bool {
        self.beside(of, other).0 == Ok(Ordering::Less)
    }

    /// All sides, the best first; those that cannot be distinguished from the first of theirs together.
    pub fn ranks(&self) -> Vec<Vec<usize>> {
        let mut rest = self.order();
        let mut ranks = Vec::new();
        while let Some(first) = rest.first().copied() {
            let is_behind = |of: &usize| self.is_ahead(first, *of);
            let (behind, rank): (Vec<usize>, Vec<usize>) = rest
                .iter()
                .copied()
                .partition(|of| *of != first && is_behind(of));
            ranks.push(rank);
            rest = behind;
        }
        ranks
    }

    pub fn names(&self, sides: &[usize]) -> Vec<String> {
        sides
            .iter()
            .map(|side| self.sides[*side].name.clone())
            .collect()
    }
}
