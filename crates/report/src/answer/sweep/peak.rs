//! Where along its numbers (clients, a rate, scale) a workload does most.

use pgdyno_model::document::points::PointResult;
use pgdyno_stats::{Bootstrap, Curve, Estimate, Knee, LoadPoint};
use serde_json::Value;

use super::Sweep;
use super::duel::{Duel, DuelResult, judge};
use super::shape::{Group, number, place_words};
use crate::comparison::METRICS;

/// Fewer points make no knee.
const KNEE_POINTS_MIN: usize = 4;
/// A rate is kept when so much of it is done, but for chance.
const KEPT: f64 = 0.95;

/// What a workload did at most.
pub struct Peak<'a> {
    pub workload: String,
    /// Where the page has it.
    pub section: String,
    /// The point with the highest median goodput.
    pub best: &'a PointResult,
    /// Where it is: `scale 100, 32 clients`; empty for a single point.
    pub place: String,
    /// Points that more than chance sets apart from it are not among these; it is.
    pub front: Vec<Spot<'a>>,
    /// All points with figures, along the axis of what runs to the right.
    pub all: Vec<Spot<'a>>,
    /// Why nothing can be said, for the first pair of which nothing can.
    pub cannot: Option<DuelResult>,
    /// Least and most of what runs to the right, in words.
    pub ends: Option<(String, String)>,
    /// Whether one of the front is at the greatest value of what runs to the right.
    pub is_at_end: bool,
    /// Whether one of the front is at the least.
    pub is_at_start: bool,
    /// How far behind the nearest point that is surely less lies, and where: as a share of the best.
    pub next: Option<(String, f64)>,
    /// Beyond it latency grows faster than throughput.
    pub knee: Option<String>,
    /// Of rates: which were kept and which were not.
    pub kept: Option<RateLimits<'a>>,
}

/// A point and where it is.
#[derive(Clone)]
pub struct Spot<'a> {
    pub point: &'a PointResult,
    pub place: String,
    /// On what runs to the right.
    pub x: Option<f64>,
}

pub struct RateLimits<'a> {
    /// The highest below which all are.
    pub highest: Option<Spot<'a>>,
    /// The lowest that is not.
    pub lowest_missed: Option<Spot<'a>>,
}

/// That of each group; `None` where a group has no figures.
pub fn peaks<'a>(sweep: &Sweep<'a>, groups: &[Group<'a>]) -> Vec<Option<Peak<'a>>> {
    let spots: Vec<Vec<Spot<'a>>> = groups.iter().map(|group| spots(sweep, group)).collect();
    let best: Vec<Option<usize>> = spots.iter().map(|spots| best(sweep, spots)).collect();
    let mut duels = Vec::new();
    for (spots, best) in spots.iter().zip(&best) {
        let Some(best) = best else { continue };
        for (_, spot) in spots.iter().enumerate().filter(|(at, _)| at != best) {
            duels.push(Duel {
                a: sweep.repeats(spots[*best].point),
                b: sweep.repeats(spot.point),
                metric: &METRICS[0],
            });
        }
    }
    let mut judged = judge(sweep.planned, &duels).into_iter();
    let mut peaks = Vec::new();
    for ((group, spots), best) in groups.iter().zip(spots).zip(best) {
        let Some(best) = best else {
            peaks.push(None);
            continue;
        };
        let (mut front, mut cannot) = (vec![spots[best].clone()], None);
        let mut next: Option<(String, f64)> = None;
        for (_, spot) in spots.iter().enumerate().filter(|(at, _)| *at != best) {
            let Some(of) = judged.next() else { continue };
            if of.result == DuelResult::Lower {
                let change = of.comparison.as_ref().and_then(|of| of.change_of_medians());
                if let Some(change) = change
                    && next.as_ref().is_none_or(|(_, nearest)| change > *nearest)
                {
                    next = Some((spot.place.clone(), change));
                }
                continue;
            }
            if !matches!(of.result, DuelResult::Same | DuelResult::Higher) {
                cannot = cannot.or(Some(of.result));
            }
            front.push(spot.clone());
        }
        peaks.push(Some(peak(sweep, group, spots, best, front, cannot, next)));
    }
    peaks
}

#[allow(clippy::too_many_arguments, reason = "what was found of one group")]
fn peak<'a>(
    sweep: &Sweep<'a>,
    group: &Group<'a>,
    spots: Vec<Spot<'a>>,
    best: usize,
    front: Vec<Spot<'a>>,
    cannot: Option<DuelResult>,
    next: Option<(String, f64)>,
) -> Peak<'a> {
    let along = group.along().map(str::to_owned);
    let xs = || spots.iter().filter_map(|spot| spot.x);
    let (low, high) = (
        xs().fold(f64::INFINITY, f64::min),
        xs().fold(f64::NEG_INFINITY, f64::max),
    );
    let ends = along.as_ref().filter(|_| low < high).and_then(|path| {
        let words = |end: f64| {
            let spot = spots.iter().find(|spot| spot.x == Some(end))?;
            let value = spot.point.varied.get(path)?;
            Some(place_words(&[(path.clone(), value.clone())], sweep.targets))
        };
        Some((words(low)?, words(high)?))
    });
    let is_at = |end: f64| ends.is_some() && front.iter().any(|spot| spot.x == Some(end));
    let kept = (along.as_deref() == Some("rate"))
        .then(|| rate_limits(sweep, &spots))
        .flatten();
    Peak {
        workload: group.workload.clone(),
        section: group.section(),
        best: spots[best].point,
        place: spots[best].place.clone(),
        is_at_end: is_at(high),
        is_at_start: is_at(low),
        knee: (group.varied.len() == 1)
            .then(|| knee(sweep, &spots))
            .flatten(),
        kept,
        front,
        cannot,
        ends,
        next,
        all: spots,
    }
}

/// The points of a group that have figures, along what runs to the right.
fn spots<'a>(sweep: &Sweep<'a>, group: &Group<'a>) -> Vec<Spot<'a>> {
    let along = group.along();
    let with_figures = group
        .points
        .iter()
        .filter(|at| sweep.goodput(&sweep.points[**at]).is_some());
    let spots = with_figures.map(|at| {
        let point = &sweep.points[*at];
        let value: Option<&Value> = along.and_then(|path| point.varied.get(path));
        Spot {
            point,
            place: place_words(&group.place(*at, |_| true), sweep.targets),
            x: value.and_then(number),
        }
    });
    let mut spots: Vec<Spot<'a>> = spots.collect();
    spots.sort_by(|a, b| a.x.unwrap_or(0.0).total_cmp(&b.x.unwrap_or(0.0)));
    spots
}

/// The one with the highest median; of equals the first.
fn best(sweep: &Sweep<'_>, spots: &[Spot<'_>]) -> Option<usize> {
    let median = |spot: &Spot<'_>| sweep.goodput(spot.point).map_or(0.0, |of| of.median);
    let mut places = 0..spots.len();
    let first = places.next()?;
    Some(places.fold(first, |best, at| {
        if median(&spots[at]) > median(&spots[best]) {
            at
        } else {
            best
        }
    }))
}

/// Where p99 over throughput bends, in words; `None` where too little was measured, or it does not.
fn knee(sweep: &Sweep<'_>, spots: &[Spot<'_>]) -> Option<String> {
    if spots.len() < KNEE_POINTS_MIN || spots.iter().any(|spot| spot.point.repeats < 2) {
        return None;
    }
    let loads = spots.iter().map(|spot| {
        let p99 = spot.point.figures.get("p99")?.over_repeats.as_ref()?;
        let latencies: Option<Vec<f64>> = p99.values.iter().copied().collect();
        Some(LoadPoint {
            load: sweep.goodput(spot.point)?.median,
            latencies: latencies?,
        })
    });
    let loads: Vec<LoadPoint> = loads.collect::<Option<_>>()?;
    let Knee::At(Estimate { load, .. }) = Curve::new(&loads).ok()?.knee(&Bootstrap::default())
    else {
        return None;
    };
    let at = loads.iter().position(|of| of.load == load)?;
    Some(spots[at].place.clone())
}

/// Which rates were kept: in all repeats so much was done as was due, but for chance.
fn rate_limits<'a>(sweep: &Sweep<'a>, spots: &[Spot<'a>]) -> Option<RateLimits<'a>> {
    let is_kept = |spot: &Spot<'a>| -> Option<bool> {
        let mut all = true;
        for trial in sweep.repeats(spot.point) {
            let rate = trial.spec.rate.as_ref()?.constant()?;
            let due = rate * trial.elapsed_us? as f64 / 1e6;
            let done = trial.committed? + trial.failed.unwrap_or(0);
            all &= done as f64 >= KEPT * due - 3.0 * due.sqrt();
        }
        Some(all)
    };
    let known: Option<Vec<bool>> = spots.iter().map(is_kept).collect();
    let known = known?;
    let missed = known.iter().position(|kept| !kept);
    Some(RateLimits {
        highest: match missed {
            None => spots.last().cloned(),
            Some(missed) => missed.checked_sub(1).map(|at| spots[at].clone()),
        },
        lowest_missed: missed.map(|at| spots[at].clone()),
    })
}
