//! The answer of a search for a capacity: how much load keeps the limit, and how sure that is.

use std::collections::BTreeMap;
use std::time::Duration;

use pgdyno_model::document::Proof;
use pgdyno_model::document::answer::{Answer, AnswerState, Sure};
use pgdyno_model::document::capacity::{
    Capacity, Estimate, EstimateIs, Ladder, LimitSide, SearchStep,
};
use pgdyno_spec::text as figures;

use super::text::{by_p99_alone, contradiction_words};
use crate::verdict::RATE_MET;

/// Where the page shows it.
const SECTION: &str = "capacity";
const LINK: &str = "Curve";
/// The code of the limit that is pgdyno itself.
const CLIENT: &str = "client";
/// So many ladders have a line of evidence each.
const LADDERS_MAX: usize = 4;

/// The answer; `judged` are the codes of what limited each trial, by number. `None`: nothing was searched.
pub fn answer(found: &Capacity, judged: Option<&BTreeMap<i64, String>>) -> Option<Answer> {
    let searched = found.ladders.iter();
    let searched: Vec<&Ladder> = searched.filter(|ladder| ladder.search.steps > 0).collect();
    match searched[..] {
        [] => None,
        [ladder] => Some(of_one(found, ladder, judged)),
        _ => Some(of_several(found, &searched)),
    }
}

fn question(found: &Capacity) -> String {
    format!(
        "What was asked: the highest rate with p99 ≤ {}",
        limit(found)
    )
}

fn of_one(found: &Capacity, ladder: &Ladder, judged: Option<&BTreeMap<i64, String>>) -> Answer {
    let mut evidence = Vec::new();
    let mut proof = |figure: String, words: String| {
        evidence.push(Proof::new(figure, words).at(SECTION, LINK));
    };
    if let Some(capacity) = &ladder.capacity
        && let Some((figure, words)) = interval(found, ladder, capacity)
    {
        proof(figure, words);
    }
    // Of one repeat at each rate the bend is a look and no finding.
    let knee = ladder.knee.as_ref();
    let has_interval = |knee: &&Estimate| matches!(&knee.interval, Some(Some(_)));
    if let Some(knee) = knee
        .filter(|knee| knee.is == EstimateIs::At)
        .filter(has_interval)
    {
        let words = "is the knee: beyond it p99 grows faster than the rate";
        proof(per_s(knee.per_s), words.to_owned());
    }
    let limited = judged.and_then(|judged| limited(ladder, judged));
    if let Some((code, agree, of)) = limited {
        let words = format!(
            "steps not clearly within the limit were limited by: {}",
            pgdyno_diagnose::name(code)
        );
        proof(format!("{agree} of {of}"), words);
    }
    // The estimate itself is as likely too high as too low.
    let low = ladder.capacity.as_ref().and_then(ends).and_then(|of| of.0);
    if let Some(low) = low {
        let words = "is the rate to plan with: the interval's lower end";
        proof(per_s(low), words.to_owned());
    }
    let mut sure = sure(found, ladder);
    if let Some((CLIENT, agree, of)) = limited {
        let text =
            format!("{agree} of {of} steps there were limited by pgdyno: the server may do more");
        sure.push(Sure::failed("The generator had no room", text));
    }
    Answer {
        question: question(found),
        sentence: sentence(found, ladder),
        state: match ladder.capacity {
            Some(_) => AnswerState::Known,
            None => AnswerState::NotKnown,
        },
        evidence,
        sure,
        remedies: remedies(found, ladder),
        ..Answer::default()
    }
}

fn sentence(found: &Capacity, ladder: &Ladder) -> String {
    let limit = limit(found);
    let within = format!("with a p99 of at most {limit}");
    let Some(capacity) = &ladder.capacity else {
        if let Some(contradiction) = &ladder.search.contradiction {
            let words = contradiction_words(contradiction, &limit);
            return format!("The capacity is not known: {words}");
        }
        return format!(
            "The capacity is not known: no step is clearly within {limit} or over it; by p99 alone {}",
            by_p99_alone(found, ladder)
        );
    };
    let rate = figures::some(capacity.per_s);
    match capacity.is {
        EstimateIs::At => format!("It serves {rate} transactions a second {within}"),
        EstimateIs::Below | EstimateIs::AtOrBelow => {
            let lower = ladder
                .steps
                .iter()
                .any(|step| step.rate_per_s < capacity.per_s);
            let why = if !lower {
                "the lowest rate tried is too much"
            } else {
                "that is too much, and lower rates are undecided"
            };
            format!("It serves fewer than {rate} transactions a second {within}: {why}")
        }
        EstimateIs::AtLeast | EstimateIs::Above => format!(
            "It serves {rate} transactions a second or more {within}: no rate tried broke the limit"
        ),
    }
}

/// The interval as a figure: ± where it has both ends.
fn interval(found: &Capacity, ladder: &Ladder, capacity: &Estimate) -> Option<(String, String)> {
    let of = capacity.interval.as_ref()?.as_ref()?;
    let level = figures::roughly(of.level);
    let asked = figures::roughly(found.width);
    let width = if ladder.search.is_narrow {
        "no wider"
    } else {
        "wider"
    };
    Some(match (of.low, of.high) {
        (Some(low), Some(high)) => (
            format!("± {}", figures::share((high - low) / 2.0 / capacity.per_s)),
            format!(
                "{level} interval {} to {}, {width} than the ± {asked} asked for",
                figures::some(low),
                per_s(high)
            ),
        ),
        (Some(low), None) => (
            format!("≥ {}", per_s(low)),
            format!("is the {level} interval: its upper end is above all rates tried"),
        ),
        (None, Some(high)) => (
            format!("≤ {}", per_s(high)),
            format!("is the {level} interval: its lower end is below all rates tried"),
        ),
        (None, None) => return None,
    })
}

fn ends(capacity: &Estimate) -> Option<(Option<f64>, Option<f64>)> {
    let of = capacity.interval.as_ref()?.as_ref()?;
    Some((of.low, of.high))
}

/// What speaks for the answer and against it.
fn sure(found: &Capacity, ladder: &Ladder) -> Vec<Sure> {
    let search = &ladder.search;
    let (within, over) = (within(&ladder.steps), over(&ladder.steps));
    let mut all = vec![match (within, over) {
        (Some(within), Some(over)) if within >= over => {
            let name = "Steps contradict each other";
            let text = format!(
                "one at {} is within the limit and one at {} over it, each in its whole interval",
                per_s(within),
                per_s(over)
            );
            // The interval of a line is as wide as they differ.
            if search.line_steps > 0 {
                Sure::limit(name, text)
            } else {
                Sure::failed(name, text)
            }
        }
        _ if search.contradiction.is_some() => Sure::failed(
            "Steps contradict each other",
            "a step at a higher rate kept the limit, and one at a lower rate broke it",
        ),
        (Some(within), Some(over)) => Sure::held(
            "Both sides were seen",
            format!(
                "{} is within and {} over, each in its whole interval",
                per_s(within),
                per_s(over)
            ),
        ),
        (Some(within), None) => Sure::limit(
            "One side was seen",
            format!("{} is within; no step is clearly over", per_s(within)),
        ),
        (None, Some(over)) => Sure::limit(
            "One side was seen",
            format!("{} is over; no step is clearly within", per_s(over)),
        ),
        (None, None) => Sure::limit(
            "No step is clearly within or over",
            format!("the interval of each step crosses {}", limit(found)),
        ),
    }];
    let interval = ladder.capacity.as_ref().and_then(ends);
    // The answer is a line through all steps: one of them may disagree.
    let outside = interval.and_then(|(low, high)| match (within, over) {
        (Some(at), _) if high.is_some_and(|high| at > high) => Some((at, "within")),
        (_, Some(at)) if low.is_some_and(|low| at < low) => Some((at, "over")),
        _ => None,
    });
    if let Some((at, side)) = outside {
        all.push(Sure::limit(
            "A step disagrees with the interval",
            format!("one at {} was clearly {side}", per_s(at)),
        ));
    }
    if let Some(capacity) = ladder
        .capacity
        .as_ref()
        .filter(|it| it.is == EstimateIs::At)
    {
        let asked = figures::roughly(found.width);
        let half = interval.and_then(|(low, high)| Some((high? - low?) / 2.0 / capacity.per_s));
        all.push(match half.map(figures::share) {
            Some(half) if search.is_narrow => Sure::held(
                "As narrow as asked",
                format!("± {half}, ± {asked} asked for"),
            ),
            Some(half) => Sure::limit("Wider than asked", format!("± {half}, ± {asked} asked for")),
            None => Sure::limit("No interval with both ends", "the search ended before"),
        });
    }
    if search.line_steps > 0 {
        let text = format!(
            "{} on both sides of the answer, of {}",
            figures::plural(search.line_steps, "step"),
            lengths(&ladder.steps)
        );
        all.push(Sure::held("Steps were repeated", text));
        all.push(match search.drift {
            None => Sure::held(
                "No drift",
                "the answer did not change significantly over time",
            ),
            Some(drift) => Sure::failed(
                "Drift",
                format!(
                    "the capacity {} by {} during the search: the answer is its middle",
                    if drift < 0.0 { "fell" } else { "rose" },
                    figures::roughly(drift.abs())
                ),
            ),
        });
    } else if ladder
        .capacity
        .as_ref()
        .is_some_and(|it| it.is == EstimateIs::At)
    {
        let text = "the highest step within and the lowest one over give the interval";
        all.push(Sure::limit("No line through several steps", text));
    }
    all
}

/// The highest rate of a step that is surely within the limit.
fn within(steps: &[SearchStep]) -> Option<f64> {
    let within = steps.iter().filter(|step| step.side == LimitSide::Within);
    within.map(|step| step.rate_per_s).max_by(f64::total_cmp)
}

/// The lowest rate of a step that is surely over it.
fn over(steps: &[SearchStep]) -> Option<f64> {
    let over = steps.iter().filter(|step| step.side == LimitSide::Over);
    over.map(|step| step.rate_per_s).min_by(f64::total_cmp)
}

/// `20.0 s`, `10.0 to 60.0 s`.
fn lengths(steps: &[SearchStep]) -> String {
    let seconds = steps.iter().map(|step| step.seconds);
    let (least, most) = (
        seconds.clone().fold(f64::INFINITY, f64::min),
        seconds.fold(0.0, f64::max),
    );
    if figures::seconds(least) == figures::seconds(most) {
        figures::seconds(most)
    } else {
        format!("{} to {}", figures::seconds(least), figures::seconds(most))
    }
}

fn remedies(found: &Capacity, ladder: &Ladder) -> Vec<String> {
    let allowed = figures::seconds(found.time_s);
    let more = format!("allow more than {allowed} (`--capacity-time`)");
    let rates = ladder.steps.iter().map(|step| step.rate_per_s);
    let lowest = per_s(rates.fold(f64::INFINITY, f64::min));
    let remedy = match &ladder.capacity {
        None if ladder.search.contradiction.is_some() => {
            format!("measure on an idle machine, or {more}")
        }
        None => format!("{more}: steps have to be longer"),
        Some(capacity) => match capacity.is {
            EstimateIs::Below | EstimateIs::AtOrBelow => {
                format!("begin below {lowest}, the lowest rate tried, or {more}")
            }
            EstimateIs::AtLeast | EstimateIs::Above => {
                format!("begin at a higher rate, or {more}")
            }
            EstimateIs::At if ladder.search.is_narrow => return Vec::new(),
            EstimateIs::At => format!("{more} for a narrower interval"),
        },
    };
    vec![remedy]
}

/// The limit that most steps not surely within had, how many, and of how many that were judged.
fn limited<'a>(
    ladder: &Ladder,
    judged: &'a BTreeMap<i64, String>,
) -> Option<(&'a str, usize, usize)> {
    let steps = ladder.steps.iter();
    let steps = steps.filter(|step| step.side != LimitSide::Within);
    let codes: Vec<&str> = steps
        .filter_map(|step| judged.get(&step.trial).map(String::as_str))
        .filter(|code| *code != RATE_MET)
        .collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for code in &codes {
        *counts.entry(code).or_default() += 1;
    }
    // Of equally many the first by name, so that a report is always the same.
    let (code, agree) = counts.into_iter().rev().max_by_key(|(_, agree)| *agree)?;
    Some((code, agree, codes.len()))
}

/// Searches that differ in something else than their rates.
fn of_several(found: &Capacity, ladders: &[&Ladder]) -> Answer {
    let known = |ladder: &&&Ladder| {
        let capacity = ladder.capacity.as_ref();
        capacity.is_some_and(|it| matches!(it.is, EstimateIs::At | EstimateIs::AtLeast))
    };
    let mut ranked: Vec<&&Ladder> = ladders.iter().filter(known).collect();
    let rate = |ladder: &Ladder| ladder.capacity.as_ref().map_or(0.0, |it| it.per_s);
    ranked.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let limit = limit(found);
    let searches = figures::plural(ladders.len() as u64, "search").replace("searchs", "searches");
    let (state, sentence) = match ranked[..] {
        [] => (
            AnswerState::NotKnown,
            format!(
                "The capacity is not known in any of {searches}: no step is clearly within {limit}"
            ),
        ),
        [best, ref others @ ..] => {
            let peer = others.iter().find(|other| !is_above(best, other));
            let unknown = ladders
                .iter()
                .find(|ladder| !known(ladder) && !is_below(ladder, best));
            match peer {
                Some(peer) => (
                    AnswerState::CannotTell,
                    format!(
                        "Cannot tell which serves most with a p99 of at most {limit}: `{}` and `{}` \
                         overlap",
                        best.title, peer.title
                    ),
                ),
                None if let Some(unknown) = unknown => (
                    AnswerState::CannotTell,
                    format!(
                        "Cannot tell which serves most with a p99 of at most {limit}: `{}` has no capacity",
                        unknown.title
                    ),
                ),
                None => (
                    AnswerState::Known,
                    format!(
                        "With a p99 of at most {limit} `{}` serves most: {} transactions a second{}",
                        best.title,
                        figures::some(rate(best)),
                        match best.capacity.as_ref().map(|it| it.is) {
                            Some(EstimateIs::AtLeast) => " or more",
                            _ => "",
                        }
                    ),
                ),
            }
        }
    };
    let evidence = ladders.iter().take(LADDERS_MAX).map(|ladder| {
        let (figure, words) = match &ladder.capacity {
            None => {
                let why = if ladder.search.contradiction.is_some() {
                    "the machine changes from step to step"
                } else {
                    "no step is clearly within"
                };
                ("?".to_owned(), format!("not known: {why}"))
            }
            Some(it) => {
                let sign = match it.is {
                    EstimateIs::At => "",
                    EstimateIs::Below | EstimateIs::AtOrBelow => "< ",
                    EstimateIs::AtLeast | EstimateIs::Above => "≥ ",
                };
                let words =
                    interval(found, ladder, it).map_or_else(String::new, |(_, words)| words);
                (format!("{sign}{}", per_s(it.per_s)), words)
            }
        };
        let joint = if words.is_empty() { "" } else { ": " };
        Proof::new(figure, format!("`{}`{joint}{words}", ladder.title)).at(SECTION, LINK)
    });
    let mut all = Vec::new();
    let narrow = ladders
        .iter()
        .filter(|ladder| ladder.search.is_narrow)
        .count();
    let text = format!(
        "{narrow} of {searches} reached ± {}",
        figures::roughly(found.width)
    );
    all.push(if narrow == ladders.len() {
        Sure::held("As narrow as asked", text)
    } else {
        Sure::limit("Not all as narrow as asked", text)
    });
    let drifted: Vec<&str> = { ladders.iter() }
        .filter(|ladder| ladder.search.drift.is_some())
        .map(|ladder| ladder.title.as_str())
        .collect();
    all.push(match drifted[..] {
        [] => Sure::held("No drift", "not significant in any search"),
        _ => Sure::failed("Drift", format!("during: {}", drifted.join(", "))),
    });
    Answer {
        question: question(found),
        sentence,
        state,
        evidence: evidence.collect(),
        sure: all,
        remedies: match state {
            AnswerState::Known => Vec::new(),
            _ => vec![format!(
                "allow more than {} for each search (`--capacity-time`)",
                figures::seconds(found.time_s)
            )],
        },
        ..Answer::default()
    }
}

/// Whether all that is known of the one is that it serves less than the other surely does.
fn is_below(one: &Ladder, other: &Ladder) -> bool {
    let most = one
        .capacity
        .as_ref()
        .filter(|it| it.is == EstimateIs::Below);
    let least = other.capacity.as_ref().and_then(ends).and_then(|of| of.0);
    matches!((most, least), (Some(most), Some(least)) if most.per_s <= least)
}

/// Whether the one's interval lies wholly above the other's.
fn is_above(one: &Ladder, other: &Ladder) -> bool {
    let of = |ladder: &Ladder| {
        let capacity = ladder.capacity.as_ref()?;
        match capacity.is {
            EstimateIs::AtLeast | EstimateIs::Above => Some((Some(capacity.per_s), None)),
            _ => ends(capacity),
        }
    };
    matches!((of(one), of(other)), (Some((Some(low), _)), Some((_, Some(high)))) if low > high)
}

fn limit(found: &Capacity) -> String {
    figures::asked(Duration::from_secs_f64(found.slo_us.max(0.0) / 1e6))
}

fn per_s(rate: f64) -> String {
    figures::per_second(rate)
}

#[cfg(test)]
mod tests;
