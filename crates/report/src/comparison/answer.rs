//! What comes of a comparison: the sentence, the figures that it rests on, its checks, and what would tell.
//! The terminal, JSON, Markdown and the page say it in these words.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use pgdyno_model::document::Proof;
use pgdyno_model::document::answer::{Answer, AnswerState, Sure, SureState};
use pgdyno_model::document::comparison::Says;
use pgdyno_model::notebook::TrialRow;
use pgdyno_model::{Severity, stamp};
use pgdyno_spec::text;
use pgdyno_stats::{Comparison, Family, Verdict};

use super::differing::FOLLOWS_WORDS;
use super::verdict::{self, signed};
use super::{Around, Compared, Metric, Pair, again};
use crate::answer::withdraw;

/// What comes of all points together; of one point what comes of that.
pub fn of_all(points: &[(&Pair<'_>, &[Compared])], around: &Around) -> (Says, Answer) {
    let judged: Vec<(Says, Answer)> = points
        .iter()
        .map(|(pair, figures)| of(pair, figures, around))
        .collect();
    if let [_] = points {
        return judged.into_iter().next().unwrap_or_else(nothing);
    }
    if points.is_empty() {
        return nothing();
    }
    let count = |says: Says| judged.iter().filter(|(of, _)| *of == says).count();
    let parts: Vec<String> = [
        (Says::Better, "better at"),
        (Says::Worse, "worse at"),
        (Says::Mixed, "better and worse at"),
        (Says::NoDifference, "not different at"),
    ]
    .iter()
    .filter(|(says, _)| count(*says) > 0)
    .map(|(says, words)| format!("{words} {}", count(*says)))
    .collect();
    let unknown = count(Says::CannotTell);
    let of_points = format!("of {} points", points.len());
    let sentence = match (parts.is_empty(), unknown) {
        (true, _) => format!("Cannot tell at any {of_points}"),
        (false, 0) => format!("B is {} {of_points}", parts.join(", ")),
        (false, unknown) => {
            format!(
                "B is {} {of_points}; cannot tell at {unknown}",
                parts.join(", ")
            )
        }
    };
    let says = match [Says::Better, Says::Worse, Says::Mixed].map(count) {
        [0, 0, 0] if unknown > 0 => Says::CannotTell,
        [0, 0, 0] => Says::NoDifference,
        [_, 0, 0] => Says::Better,
        [0, _, 0] => Says::Worse,
        _ => Says::Mixed,
    };
    let evidence = points
        .iter()
        .zip(&judged)
        .filter_map(|((pair, figures), (_, answer))| {
            let (metric, found) = primary(figures).next()?;
            let figure = proof(metric, found).figure;
            let sentence = format!(
                "{} at {}. {}",
                metric.figure.name, pair.title, answer.sentence
            );
            Some(Proof::new(figure, sentence).at("differences", "Differences"))
        });
    let answer = Answer {
        question: format!("A against B at {} points", points.len()),
        sentence,
        state: state(says),
        evidence: evidence.take(EVIDENCE_MAX).collect(),
        careful: careful_of(points.iter().map(|(pair, _)| *pair), around),
        sure: sure_of_all(points, around),
        remedies: judged
            .iter()
            .flat_map(|(_, answer)| answer.remedies.iter().cloned())
            .take(1)
            .collect(),
        ..Answer::default()
    };
    (says, unbroken(answer))
}

/// Points that are named beside the sentence; all are in the table.
const EVIDENCE_MAX: usize = 6;

fn nothing() -> (Says, Answer) {
    let (says, sentence) = verdict::of(&[]);
    let answer = Answer {
        sentence,
        state: state(says),
        ..Answer::default()
    };
    (says, answer)
}

fn state(says: Says) -> AnswerState {
    match says {
        Says::CannotTell => AnswerState::CannotTell,
        _ => AnswerState::Known,
    }
}

/// What comes of a point.
pub fn of(pair: &Pair<'_>, figures: &[Compared], around: &Around) -> (Says, Answer) {
    let (says, sentence) = verdict::of(figures);
    let mut evidence: Vec<Proof> = primary(figures)
        .map(|(metric, found)| proof(metric, found))
        .collect();
    evidence.extend(time(figures));
    let mut remedies = Vec::new();
    if says == Says::CannotTell || says == Says::NoDifference {
        let needed = primary(figures).find_map(|(_, found)| match found.verdict {
            Verdict::NotEnoughRepeats { need, .. } => Some(need),
            _ => None,
        });
        let there = pair.a.len().max(pair.b.len());
        // More of the same where these did not show it.
        let there = if says == Says::NoDifference {
            2 * there
        } else {
            there
        };
        let repeats = needed.unwrap_or(0).max(there).max(REPEATS_LEAST);
        let by_turns = primary(figures).all(|(_, found)| found.drift.is_none_or(|of| of.by_turns));
        let command = again::command(pair, &around.differences, repeats, by_turns);
        remedies.push(command.unwrap_or_else(|| {
            "a sweep over what differs runs both sides by turns: `pgdyno help experiments`"
                .to_owned()
        }));
    }
    let answer = Answer {
        question: format!("A against B, {}", repeats_of(pair)),
        sentence,
        state: state(says),
        is_harm: false,
        evidence,
        ranking: None,
        careful: careful_of([pair], around),
        sure: sure(pair, figures, around),
        remedies,
    };
    let mut answer = unbroken(answer);
    let noted = noted([pair], around);
    let gravest = around.notes.iter();
    let gravest = gravest.filter(|of| of.note.severity == Severity::Serious);
    let remedy = gravest.max_by_key(|of| of.trials.len());
    let remedy = remedy.map(|of| &*of.note.remedy);
    if withdraw(&mut answer, noted, pair.a.len() + pair.b.len(), remedy) {
        (Says::CannotTell, answer)
    } else {
        (says, answer)
    }
}

/// Figures stay beside their %.
fn unbroken(mut answer: Answer) -> Answer {
    for text in answer.evidence.iter_mut().map(|proof| &mut proof.sentence) {
        *text = bound(std::mem::take(text));
    }
    for text in answer.sure.iter_mut().map(|sure| &mut sure.text) {
        *text = bound(std::mem::take(text));
    }
    answer.sentence = bound(answer.sentence);
    answer
}

/// Fewer are not worth running again.
const REPEATS_LEAST: usize = 6;

/// `8 repeats a side`, `6 and 8 repeats`.
pub fn repeats_of(pair: &Pair<'_>) -> String {
    match (pair.a.len(), pair.b.len()) {
        (1, 1) => "one repeat a side".to_owned(),
        (a, b) if a == b => format!("{a} repeats a side"),
        (a, b) => format!("{a} and {b} repeats"),
    }
}

fn primary(figures: &[Compared]) -> impl Iterator<Item = (&'static Metric, &Comparison)> {
    figures.iter().filter_map(|(metric, result)| {
        let found = result.as_ref().ok()?;
        (found.family == Family::Primary).then_some((*metric, found))
    })
}

/// A figure of both sides: its change is the table's.
fn proof(metric: &Metric, found: &Comparison) -> Proof {
    let name = metric.figure.name;
    let unit = metric.unit();
    let (a, b) = (metric.shown(found.a.median), metric.shown(found.b.median));
    let medians = format!("{name}, {a} to {b} {unit}");
    let bounds = found.ratio.map(|ratio| {
        let interval = ratio.interval;
        [interval.low, interval.high].map(|ratio| signed(ratio - 1.0))
    });
    let change = found
        .change_of_medians()
        .map_or_else(|| "–".to_owned(), signed);
    match (found.verdict, bounds, found.ratio) {
        (Verdict::Different { .. }, Some([low, high]), Some(ratio)) => {
            let sentence = format!("{medians}; interval {low} to {high}{}", opposite(found));
            Proof::new(signed(ratio.estimate - 1.0), sentence).at("differences", "Differences")
        }
        (Verdict::NoSignificantDifference, Some([low, high]), Some(ratio)) => {
            let sentence = format!(
                "{medians}: may be chance; {low} to {high} are possible{}",
                opposite(found)
            );
            Proof::new(signed(ratio.estimate - 1.0), sentence).at("differences", "Differences")
        }
        (Verdict::NotEnoughRepeats { .. }, ..) => {
            let why = match (found.a.n, found.b.n) {
                (1, 1) => "one trial each cannot show chance",
                _ => "too few repeats to say more",
            };
            Proof::new("–", format!("{medians}: {why}")).at("repeats", "Repeats")
        }
        _ => {
            let sentence = format!("{medians}; medians as measured, no interval given");
            Proof::new(change, sentence).at("repeats", "Repeats")
        }
    }
}

/// Where the medians go one way and the estimate, which is of all pairs of repeats, the other.
fn opposite(found: &Comparison) -> &'static str {
    let medians = found.change_of_medians().unwrap_or(0.0);
    if medians * found.change().unwrap_or(0.0) < 0.0 {
        "; the medians alone point the other way: the estimate uses all pairs of repeats"
    } else {
        ""
    }
}

/// A drift below this share is called none, where its interval excludes more.
const SMALL: f64 = 0.1;

/// What time has to do with the first figure.
fn time(figures: &[Compared]) -> Option<Proof> {
    let (_, found) = primary(figures).find(|(_, found)| found.drift.is_some())?;
    let drift = found.drift?;
    let shares = [drift.time_explains, drift.change_explains].map(text::roughly);
    let proof = match found.verdict {
        Verdict::TimeExplains => Proof::new(
            signed(drift.foretold),
            "is the change that the drift within the sides predicts for B; drift and change cannot be separated",
        ),
        _ => {
            let [low, high] = drift.first_to_last_interval;
            let [time, change] = shares;
            let explained = format!("time explains {time} of the spread, the change {change}");
            // A drift that may be 0 and cannot be large is none.
            let (figure, words) = match (low <= 0.0 && high >= 0.0, low > -SMALL && high < SMALL) {
                (true, true) => ("No drift".to_owned(), String::new()),
                (true, false) => (
                    signed(drift.first_to_last),
                    "drift over the repeats, which may be chance; ".to_owned(),
                ),
                (false, _) => (
                    signed(drift.first_to_last),
                    "drift over the repeats; ".to_owned(),
                ),
            };
            Proof::new(figure, words + &explained)
        }
    };
    Some(proof.at("repeats", "Repeats"))
}

/// That a side failed more than the other, at the point where most, and that several things changed at once.
fn careful_of<'p>(
    points: impl IntoIterator<Item = &'p Pair<'p>>,
    around: &Around,
) -> Option<String> {
    let share = |(failed, all): (u64, u64)| failed as f64 / all.max(1) as f64;
    let apart = |[a, b]: &[(u64, u64); 2]| (share(*a) - share(*b)).abs();
    let points = points.into_iter();
    let sides = points.map(|pair| [failed(&pair.a), failed(&pair.b)]);
    let most = sides.max_by(|one, other| apart(one).total_cmp(&apart(other)));
    let fails = most
        .filter(|sides| apart(sides) >= FAILED_APART)
        .map(|[a, b]| {
            let [a, b] = [a, b].map(|(failed, all)| text::percent(failed, all));
            format!("{a} of A’s transactions failed and {b} of B’s: the figures are of the others")
        });
    let own = around.differences.iter();
    let own = own.filter(|one| one.does != Some(FOLLOWS_WORDS));
    let several = own.count();
    let several = (several > 1).then(|| {
        format!("{several} things changed together: this comparison cannot tell which one matters")
    });
    let all: Vec<String> = fails.into_iter().chain(several).map(bound).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Sides whose shares of failures lie further apart are not doing the same.
const FAILED_APART: f64 = 0.001;

/// A figure stays beside its %.
fn bound(text: String) -> String {
    text.replace(" %", "\u{a0}%")
}

/// The checks of all points: of each the worst that a point has, with that point's name.
fn sure_of_all(points: &[(&Pair<'_>, &[Compared])], around: &Around) -> Vec<Sure> {
    let mut by_name: Vec<(String, Vec<(&str, Sure)>)> = Vec::new();
    for (pair, figures) in points {
        for one in sure(pair, figures, around) {
            let own = (pair.title.as_str(), one);
            match by_name.iter_mut().find(|(name, _)| *name == own.1.name) {
                Some((_, all)) => all.push(own),
                None => by_name.push((own.1.name.clone(), vec![own])),
            }
        }
    }
    let grave = |state: SureState| match state {
        SureState::Held => 0,
        SureState::Limit => 1,
        SureState::Failed => 2,
    };
    let worst = by_name.into_iter().filter_map(|(name, all)| {
        if name == TRIALS {
            return Some(trials(points.iter().map(|(pair, _)| *pair), around));
        }
        let worst = all.iter().map(|(_, one)| grave(one.state)).max()?;
        let like: Vec<&(&str, Sure)> = { all.iter() }
            .filter(|(_, one)| grave(one.state) == worst)
            .collect();
        let (title, first) = like.first()?;
        let is_of_all =
            all.len() == points.len() && all.iter().all(|(_, one)| one.text == first.text);
        let text = match (is_of_all, like.len()) {
            (true, _) => first.text.clone(),
            (false, 1) => format!("{} ({title})", first.text),
            (false, many) => format!("{} ({title}, the first of {many} such points)", first.text),
        };
        Some(Sure {
            text,
            ..first.clone()
        })
    });
    worst.collect()
}

/// What is said of the validity notes.
const TRIALS: &str = "Trials";

fn trials<'p>(points: impl IntoIterator<Item = &'p Pair<'p>>, around: &Around) -> Sure {
    let points: Vec<&Pair<'_>> = points.into_iter().collect();
    let all: usize = { points.iter() }
        .map(|pair| pair.a.len() + pair.b.len())
        .sum();
    match noted(points, around) {
        0 => Sure::held(TRIALS, format!("None of {all} has a serious note")),
        1 => Sure::failed(
            TRIALS,
            format!("1 of {all} has a serious note, which weakens its figures"),
        ),
        some => Sure::failed(
            TRIALS,
            format!("{some} of {all} have a serious note, which weakens their figures"),
        ),
    }
}

/// How many of the trials have a serious note.
fn noted<'p>(points: impl IntoIterator<Item = &'p Pair<'p>>, around: &Around) -> usize {
    let serious = around.notes.iter();
    let serious = serious.filter(|of| of.note.severity == Severity::Serious);
    let noted: BTreeSet<i64> = serious.flat_map(|of| of.trials.iter().copied()).collect();
    let own = { points.into_iter() }.flat_map(|pair| pair.a.iter().chain(&pair.b));
    own.filter(|trial| noted.contains(&trial.number)).count()
}

/// The checks of an answer.
fn sure(pair: &Pair<'_>, figures: &[Compared], around: &Around) -> Vec<Sure> {
    let mut sure = vec![order(pair, figures)];
    sure.extend(drift(figures));
    sure.push(repeats(pair, figures));
    sure.extend(failures(pair));
    sure.push(trials([pair], around));
    sure.extend(not_compared(figures));
    sure.extend(seen(pair, figures));
    let is_open = |trial: &&TrialRow| trial.spec.rate.is_some();
    if !pair.a.iter().chain(&pair.b).all(is_open) {
        sure.push(Sure::limit(
            "Closed loop",
            "Times are service times: waiting clients send no requests",
        ));
    }
    sure
}

/// What `--accept-order` costs, by the simulation of docs/statistics.md.
const STEP_PRICE: &str =
    " (a machine that changes by a step makes up to 15 of 100 such verdicts false)";

/// Whether the sides took turns.
fn order(pair: &Pair<'_>, figures: &[Compared]) -> Sure {
    let by_turns = primary(figures).find_map(|(_, found)| found.drift.map(|drift| drift.by_turns));
    let is_drawn = primary(figures).all(|(_, found)| found.is_drawn);
    let starts = |trials: &[&TrialRow]| -> Option<(SystemTime, SystemTime)> {
        let all: Option<Vec<SystemTime>> = trials
            .iter()
            .map(|trial| stamp::read(&trial.started))
            .collect();
        let all = all?;
        Some((*all.iter().min()?, *all.iter().max()?))
    };
    let sequence = starts(&pair.a).zip(starts(&pair.b));
    let is_called =
        { primary(figures) }.any(|(_, found)| matches!(found.verdict, Verdict::Different { .. }));
    let after = |first: &str, second: &str| {
        let price = if is_called { STEP_PRICE } else { "" };
        let words = format!(
            "All of {first} ran before all of {second}: other changes in between are part of the \
             difference{price}"
        );
        Sure::failed("Order", words)
    };
    match (by_turns, sequence) {
        (Some(true), _) if is_drawn => Sure::held(
            "By turns",
            "The order was random: changes of the machine favour no side",
        ),
        (Some(true), _) => Sure::limit(
            "By turns",
            "The order was not random: an effect in every second or fourth trial looks like a difference",
        ),
        (_, Some(((_, a), (b, _)))) if a < b => after("A", "B"),
        (_, Some(((a, _), (_, b)))) if b < a => after("B", "A"),
        (Some(false), _) => Sure::failed("Order", "The sides did not run by turns"),
        (None, _) => Sure::limit(
            "Order",
            "Too few repeats to say whether the sides took turns",
        ),
    }
}

fn drift(figures: &[Compared]) -> Option<Sure> {
    let found = primary(figures).filter_map(|(metric, found)| Some((metric, found, found.drift?)));
    let mut found: Vec<_> = found.collect();
    // The figure that time explains says it.
    found.sort_by_key(|(_, found, _)| found.verdict != Verdict::TimeExplains);
    let (metric, found, drift) = found.into_iter().next()?;
    let name = metric.figure.name;
    let [low, high] = drift.first_to_last_interval.map(signed);
    Some(match (found.verdict, drift.within_a, drift.within_b) {
        (Verdict::TimeExplains, Some(a), Some(b)) => {
            let later = text::about(Duration::from_secs_f64(drift.apart_s.abs()));
            let order = if drift.apart_s < 0.0 {
                "earlier"
            } else {
                "later"
            };
            let (a, b) = (signed(a), signed(b));
            let words = format!("{name} {a} within A, {b} within B; B began {later} {order}");
            Sure::failed("Drift", words)
        }
        (Verdict::Different { .. }, ..) if !drift.by_turns => {
            let [low, high] = drift.foretold_interval.map(signed);
            Sure::limit(
                "Drift",
                format!("may be {low} to {high} of {name}’s change"),
            )
        }
        _ if drift.by_turns || found.verdict.can_tell() => {
            let change = signed(drift.first_to_last);
            let words =
                format!("{name} {change} from the first repeat to the last ({low} to {high})");
            Sure::held("Drift", words)
        }
        _ => {
            let [time, change] = [drift.time_explains, drift.change_explains].map(text::roughly);
            let words = format!("A line over time explains {time} of the spread, a step {change}");
            Sure::limit("Drift", words)
        }
    })
}

fn repeats(pair: &Pair<'_>, figures: &[Compared]) -> Sure {
    let needed = primary(figures).find_map(|(_, found)| match found.verdict {
        Verdict::NotEnoughRepeats { need, .. } => Some(need),
        _ => None,
    });
    let there = match (pair.a.len(), pair.b.len()) {
        (a, b) if a == b => format!("{a} a side"),
        (a, b) => format!("{a} and {b}"),
    };
    match needed {
        Some(need) => Sure::failed("Repeats", format!("{there}, {need} needed")),
        None => Sure::held("Repeats", there),
    }
}

/// What failed, and of how many.
fn failed(trials: &[&TrialRow]) -> (u64, u64) {
    let sum = |of: fn(&TrialRow) -> Option<u64>| trials.iter().filter_map(|t| of(t)).sum::<u64>();
    let failed = sum(|trial| trial.failed);
    (failed, failed + sum(|trial| trial.committed))
}

/// Failures of both sides, where there were some: figures are of what committed.
fn failures(pair: &Pair<'_>) -> Option<Sure> {
    let (a, b) = (failed(&pair.a), failed(&pair.b));
    (a.0 + b.0 > 0).then(|| {
        let words = |name: &str, (failed, all): (u64, u64)| match failed {
            0 => format!("{name} none"),
            _ => {
                let share = text::percent(failed, all);
                format!(
                    "{name} {share}, {} of {}",
                    text::count(failed),
                    text::count(all)
                )
            }
        };
        let words = format!(
            "{}; {}: goodput and times are of what committed",
            words("A", a),
            words("B", b)
        );
        Sure::failed("Failed transactions", words)
    })
}

/// Figures of the headline that were not compared.
fn not_compared(figures: &[Compared]) -> Option<Sure> {
    let missing = figures
        .iter()
        .filter(|(metric, _)| metric.family == Family::Primary);
    let missing: Vec<(&str, &String)> = missing
        .filter_map(|(metric, result)| Some((metric.figure.name, result.as_ref().err()?)))
        .collect();
    let (_, why) = missing.first()?;
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    Some(Sure::limit(
        "Not compared",
        format!("{}: {why}", names.join(", ")),
    ))
}

/// The smallest change that would have been seen; where nothing can be known, what repeats by turns would
/// show.
fn seen(pair: &Pair<'_>, figures: &[Compared]) -> Option<Sure> {
    let cannot = primary(figures).any(|(_, found)| !found.verdict.can_tell());
    if !cannot {
        let smallest = primary(figures).filter_map(|(metric, found)| {
            let share = text::change(found.smallest_change()?);
            let share = share.trim_start_matches('+');
            Some(format!("{} ± {share}", metric.figure.name))
        });
        let smallest: Vec<String> = smallest.collect();
        let words = format!(
            "{}: smaller ones stay unseen in one of five cases or more",
            smallest.join(", ")
        );
        return (!smallest.is_empty()).then(|| Sure::limit("Smallest change seen", words));
    }
    let (metric, found) = primary(figures).next()?;
    let need = match found.verdict {
        Verdict::NotEnoughRepeats { need, .. } => need,
        _ => 0,
    };
    let repeats = need.max(pair.a.len().max(pair.b.len())).max(REPEATS_LEAST);
    let takes = pair.took().map_or_else(String::new, |each| {
        let all = each * (2 * u32::try_from(repeats).unwrap_or(1));
        format!(", about {}", text::about(all))
    });
    let shows = found.would_show(repeats).map_or_else(
        || "would tell".to_owned(),
        |share| {
            let share = text::change(share);
            format!(
                "would show a change of {} of {}",
                metric.figure.name,
                share.trim_start_matches('+')
            )
        },
    );
    Some(Sure::limit(
        "Run them by turns",
        format!("{repeats} a side{takes}, {shows}"),
    ))
}

impl Pair<'_> {
    /// The median time from the start of a trial to its end.
    fn took(&self) -> Option<Duration> {
        let took = |trial: &&&TrialRow| {
            let ended = stamp::read(trial.ended.as_ref()?)?;
            ended.duration_since(stamp::read(&trial.started)?).ok()
        };
        let mut all: Vec<Duration> = self
            .a
            .iter()
            .chain(&self.b)
            .filter_map(|t| took(&t))
            .collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests;
