//! The sentences of a sweep's answer, with the figures that they rest on.

use crate::verdict::RATE_MET;
use pgdyno_model::document::Proof;
use pgdyno_model::document::answer::{Answer, AnswerState, Ranking, RankingCell, RankingRow, Sure};
use pgdyno_model::document::page::PointLimit;
use pgdyno_model::document::points::PointResult;
use pgdyno_model::document::repeats::Summary;
use pgdyno_spec::{experiment::words, text};
use serde_json::Value;

use super::Sweep;
use super::contest::{Contest, Standing};
use super::duel::DuelResult;
use super::peak::{Peak, RateLimits};
use super::shape::{Group, and};
use super::sure::again;
use crate::points::TARGET;
use crate::verdict::lower;

/// Workloads of which an answer gives figures; the page has those of the others.
const WORKLOADS_MAX: usize = 4;

/// `What was asked: 2 workloads × 4 targets × 6 client counts`.
pub fn question(sweep: &Sweep<'_>, groups: &[Group<'_>]) -> String {
    let so_far = sweep.planned.progress(sweep.all);
    let label = if so_far.is_some_and(|of| of.done < of.of) {
        "What was asked, so far"
    } else {
        "What was asked"
    };
    let workloads: Vec<&str> = groups.iter().map(|group| group.workload.as_str()).collect();
    let mut axes: Vec<(&str, Vec<&Value>)> = Vec::new();
    for (path, _) in groups.iter().flat_map(|group| &group.varied) {
        if axes.iter().any(|(known, _)| known == path) {
            continue;
        }
        let mut values: Vec<&Value> = Vec::new();
        for value in sweep
            .points
            .iter()
            .filter_map(|point| point.varied.get(path))
        {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        axes.push((path, values));
    }
    let axes = axes.iter().map(|(path, values)| (*path, values.len()));
    format!("{label}: {}", matrix(&workloads, axes))
}

/// `tpcb × 4 scales × 6 client counts`: workloads, and how many values each other axis has.
pub fn matrix<'p>(workloads: &[&str], axes: impl IntoIterator<Item = (&'p str, usize)>) -> String {
    let mut parts = vec![match workloads {
        [only] => (*only).to_owned(),
        all => text::plural(all.len() as u64, "workload"),
    }];
    let mut axes: Vec<(&str, usize)> = axes.into_iter().collect();
    axes.sort_by_key(|(path, _)| match *path {
        TARGET => 0,
        "clients" | "rate" => 2,
        _ => 1,
    });
    for (path, count) in axes {
        let noun = match path {
            "clients" => "client count",
            "isolation" => "isolation level",
            "query_mode" => "query mode",
            TARGET | "rate" | "mix" => path,
            "params.scale" | "scale" => "scale",
            "name" => "point",
            path => {
                let (count, name) = (text::plural(count as u64, "value"), words::name(path));
                parts.push(format!("{count} of {name}"));
                continue;
            }
        };
        parts.push(match (noun, count) {
            ("mix", 2..) => format!("{count} mixes"),
            (noun, count) => text::plural(count as u64, noun),
        });
    }
    parts.join(" × ")
}

pub fn of_contests(
    sweep: &Sweep<'_>,
    groups: &[Group<'_>],
    contests: &[Vec<Contest<'_>>],
) -> Answer {
    let mut answer = Answer::default();
    let reported: Vec<(&Group<'_>, &Vec<Contest<'_>>)> = groups
        .iter()
        .zip(contests)
        .filter(|(_, of)| !of.is_empty())
        .collect();
    let all = || reported.iter().flat_map(|(_, of)| of.iter());
    let single = repeats_of(all().flat_map(|of| of.sides.iter().map(|side| side.point)));
    let what = reported
        .first()
        .map_or_else(String::new, |(group, _)| what(group));
    let few = all().find_map(|contest| match contest.front().1 {
        Standing::Cannot(DuelResult::Few { need }) => Some(need),
        _ => None,
    });
    let any_behind = all().any(|contest| contest.ranks().len() > 1);
    answer.state = AnswerState::Known;
    answer.sentence = match few.filter(|_| !any_behind) {
        Some(_) if single == 1 => {
            answer.state = AnswerState::NotKnown;
            format!("Not known which {what} is ahead: one repeat of each point")
        }
        Some(need) => {
            answer.state = AnswerState::CannotTell;
            format!("Cannot tell which {what} is ahead: {single} repeats, {need} needed")
        }
        None => {
            if !any_behind {
                answer.state = AnswerState::CannotTell;
            }
            let reported = reported.iter().map(|(group, of)| {
                let sentence = standing(of, &what);
                match groups.len() {
                    1 => sentence,
                    _ => format!("{}: {sentence}", group.workload),
                }
            });
            let sentence = reported.collect::<Vec<_>>().join("; ");
            match groups.len() {
                1 => capital(&sentence),
                _ => sentence,
            }
        }
    };
    for (group, of) in reported.iter().take(WORKLOADS_MAX) {
        evidence(&mut answer, group, of, groups.len() > 1, single);
    }
    answer.careful = unequal_isolation(&reported);
    answer.ranking = few.is_none().then(|| ranking(&reported)).flatten();
    checks(sweep, &mut answer, &all().collect::<Vec<_>>(), few);
    answer
}

/// What is held against each other: `target`, `query mode`.
fn what(group: &Group<'_>) -> String {
    match &group.contested()[..] {
        [only] => words::name(only),
        _ => "form".to_owned(),
    }
}

/// Who is ahead at the places of one workload.
fn standing(contests: &[Contest<'_>], what: &str) -> String {
    if let [only] = contests {
        return at_one_place(only, what);
    }
    // Places with the same outcome are named together.
    let mut outcomes: Vec<(Vec<String>, Standing, Vec<String>)> = Vec::new();
    for contest in contests {
        let (front, standing) = contest.front();
        let mut names = contest.names(&front);
        if standing != Standing::Ahead {
            names.sort();
        }
        match outcomes
            .iter_mut()
            .find(|(known, of, _)| *known == names && *of == standing)
        {
            Some((.., places)) => places.push(contest.place.clone()),
            None => outcomes.push((names, standing, vec![contest.place.clone()])),
        }
    }
    let is_one = outcomes.len() == 1;
    let reported = outcomes.iter().map(|(names, standing, places)| {
        let at = if is_one {
            String::new()
        } else {
            format!("at {} ", places_words(places))
        };
        let (everywhere, anywhere) = match (is_one, are_clients(places)) {
            (false, _) => ("", ""),
            (true, true) => (" at every client count", " at any client count"),
            (true, false) => (" everywhere", " anywhere"),
        };
        match standing {
            Standing::Ahead if is_one => format!("{} is ahead{everywhere}", names[0]),
            Standing::Ahead => format!("{} is ahead {}", names[0], at.trim_end()),
            Standing::Tied => format!("{at}{} cannot be distinguished{anywhere}", and(names)),
            Standing::Cannot(why) => {
                format!(
                    "{at}it is not decided which {what} is ahead, {}",
                    because(*why)
                )
            }
        }
    });
    reported.collect::<Vec<_>>().join("; ")
}

fn are_clients(places: &[String]) -> bool {
    places
        .iter()
        .all(|place| !place.contains(", ") && (place.ends_with(" clients") || place == "1 client"))
}

/// `1, 4 and 16 clients` of `1 client`, `4 clients` and `16 clients`; else joined as they are.
fn places_words(places: &[String]) -> String {
    let mut numbers = Vec::new();
    for place in places {
        match place
            .strip_suffix(" clients")
            .or(place.strip_suffix(" client"))
        {
            Some(number) if !number.contains(' ') => numbers.push(number.to_owned()),
            _ => return and(places),
        }
    }
    match &numbers[..] {
        [only] if only == "1" => "1 client".to_owned(),
        _ => format!("{} clients", and(&numbers)),
    }
}

fn at_one_place(contest: &Contest<'_>, what: &str) -> String {
    let (front, standing) = contest.front();
    if let Standing::Cannot(why) = standing {
        return format!("it is not decided which {what} is ahead, {}", because(why));
    }
    let mut ranks = contest.ranks();
    if ranks.len() == 1 {
        return format!("{} cannot be distinguished", and(&contest.names(&front)));
    }
    let first = ranks.remove(0);
    let rest = ranks.concat();
    let is_ahead = |of: &usize| rest.iter().all(|other| contest.is_ahead(*of, *other));
    let (front, behind) = (contest.names(&first), contest.names(&rest));
    let mut sentence = match front.split_first() {
        Some((leader, [])) => format!("{leader} is ahead of {}", and(&behind)),
        _ if first.iter().all(is_ahead) => format!(
            "{} cannot be distinguished and are ahead of {}",
            and(&front),
            and(&behind)
        ),
        // One that varies more may be as good as the leader, and as those behind it.
        Some((leader, others)) => format!(
            "{leader} is ahead of {}; {} cannot be distinguished from it",
            and(&behind),
            and(others)
        ),
        None => String::new(),
    };
    let tied = ranks.iter().filter(|rank| rank.len() > 1);
    for rank in tied {
        sentence += &format!(
            ", of which {} cannot be distinguished",
            and(&contest.names(rank))
        );
    }
    sentence
}

fn because(why: DuelResult) -> String {
    match why {
        DuelResult::Few { need } => format!("{need} repeats are needed"),
        DuelResult::NotByTurns => "because they ran one after the other".to_owned(),
        _ => "because a trial has no such figure".to_owned(),
    }
}

/// How far ahead, at the last place (the most load): the next, and the last one.
fn evidence(
    answer: &mut Answer,
    group: &Group<'_>,
    contests: &[Contest<'_>],
    with_workload: bool,
    repeats: usize,
) {
    let Some(contest) = contests.last() else {
        return;
    };
    let place = place_of(group, contest, with_workload);
    let section = group.section();
    let order = contest.order();
    let [leader, rest @ ..] = &order[..] else {
        return;
    };
    if repeats == 1 {
        let all = order.iter().map(|side| {
            let side = &contest.sides[*side];
            format!("{} {}", side.name, figure(contest, side.point))
        });
        let all = all.collect::<Vec<_>>().join(", ");
        let proof = Proof::new("one repeat", format!("{place}{all}"));
        answer.evidence.push(proof.at(&section, &group.workload));
        return;
    }
    let ends = match rest {
        [] => return,
        [only] => vec![*only],
        [next, .., last] => vec![*next, *last],
    };
    for other in ends {
        let (of, comparison) = contest.beside(other, *leader);
        let Some(comparison) = comparison else {
            continue;
        };
        let (one, two) = (&contest.sides[*leader], &contest.sides[other]);
        let flipped = *leader < other;
        let interval = comparison.ratio.map(|ratio| {
            let (low, high) = (ratio.interval.low, ratio.interval.high);
            if flipped {
                (1.0 / high - 1.0, 1.0 / low - 1.0)
            } else {
                (low - 1.0, high - 1.0)
            }
        });
        let change = comparison.change().map(|change| {
            if flipped {
                1.0 / (1.0 + change) - 1.0
            } else {
                change
            }
        });
        let medians = comparison.change_of_medians().map(|change| {
            if flipped {
                1.0 / (1.0 + change) - 1.0
            } else {
                change
            }
        });
        let shown = change
            .or(medians)
            .map_or_else(|| text::DASH.to_owned(), signed);
        // Names of several parts have commas themselves.
        let between = if one.name.contains(", ") { "; " } else { ", " };
        let mut sentence = format!(
            "{place}{} {}{between}{} {}",
            one.name,
            figure(contest, one.point),
            two.name,
            figure(contest, two.point)
        );
        if let Some((low, high)) = interval {
            let level = text::roughly(super::duel::LEVEL);
            sentence += &format!("; {level} interval {} to {}", signed(low), signed(high));
        }
        if of == Ok(std::cmp::Ordering::Equal) {
            sentence += ": no more than chance explains";
            if let Some(smallest) = comparison.smallest_change() {
                sentence += &format!("; {} would have been seen", text::roughly(smallest));
            }
        }
        answer
            .evidence
            .push(Proof::new(shown, sentence).at(&section, &group.workload));
    }
}

fn place_of(group: &Group<'_>, contest: &Contest<'_>, with_workload: bool) -> String {
    let workload = with_workload.then(|| group.workload.clone());
    let place = Some(contest.place.clone()).filter(|place| !place.is_empty());
    let parts: Vec<String> = workload.into_iter().chain(place).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("{}: ", parts.join(", "))
    }
}

/// The figure of a side as the tables show it.
fn figure(contest: &Contest<'_>, point: &PointResult) -> String {
    let of = point.figures.get(contest.metric.figure.name);
    if contest.is_of_latency() {
        let us = of.and_then(|of| of.together_us.flatten());
        let p99 = us.map_or_else(|| text::DASH.to_owned(), |us| text::time(us as f64));
        format!("p99 {p99}")
    } else {
        let median = of
            .and_then(|of| of.over_repeats.as_ref())
            .map(|of| of.over.median);
        median.map_or_else(|| text::DASH.to_owned(), per_s)
    }
}

/// As in tables: three digits, all of large numbers.
pub fn per_s(rate: f64) -> String {
    format!("{}/s", text::significant(rate, 3))
}

fn signed(share: f64) -> String {
    text::change(share).replace('-', "−")
}

/// What must be said beside a contest whose sides ran at different levels.
fn unequal_isolation(reported: &[(&Group<'_>, &Vec<Contest<'_>>)]) -> Option<String> {
    let mut levels: Vec<(String, Vec<String>)> = Vec::new();
    for (group, contests) in reported {
        if group
            .contested()
            .iter()
            .any(|path| path.contains("isolation"))
        {
            continue;
        }
        for side in contests.iter().flat_map(|contest| &contest.sides) {
            let Some(level) = &side.point.isolation_in_effect else {
                continue;
            };
            match levels.iter_mut().find(|(known, _)| known == level) {
                Some((_, names)) if names.contains(&side.name) => {}
                Some((_, names)) => names.push(side.name.clone()),
                None => levels.push((level.clone(), vec![side.name.clone()])),
            }
        }
    }
    (levels.len() > 1).then(|| {
        let ran = levels
            .iter()
            .map(|(level, names)| format!("{} ran {level}", and(names)));
        format!(
            "isolation was not equal: {}",
            ran.collect::<Vec<_>>().join(", ")
        )
    })
}

fn ranking(reported: &[(&Group<'_>, &Vec<Contest<'_>>)]) -> Option<Ranking> {
    let mut columns: Vec<String> = Vec::new();
    for contest in reported.iter().flat_map(|(_, of)| of.iter()) {
        if !columns.contains(&contest.place) {
            columns.push(contest.place.clone());
        }
    }
    if columns.len() * reported.len() < 2 {
        return None;
    }
    let rows = reported.iter().map(|(group, contests)| {
        let cells = columns.iter().map(|column| {
            let contest = contests.iter().find(|contest| contest.place == *column)?;
            let (front, standing) = contest.front();
            Some(RankingCell {
                names: contest.names(&front),
                is_sure: standing == Standing::Ahead,
            })
        });
        RankingRow {
            workload: group.workload.clone(),
            cells: cells.collect(),
        }
    });
    let is_clients = are_clients(&columns);
    let mut note =
        "Several names: no significant difference between them (Holm, 5 % together).".to_owned();
    if reported.len() > 1 {
        note += " A workload is never ranked against another.";
    }
    Some(Ranking {
        title: if is_clients {
            "Best at each number of clients".to_owned()
        } else {
            "Best, all else equal".to_owned()
        },
        columns: columns.clone(),
        rows: rows.collect(),
        note,
    })
}

fn checks(sweep: &Sweep<'_>, answer: &mut Answer, contests: &[&Contest<'_>], few: Option<usize>) {
    if let Some(need) = few {
        answer
            .remedies
            .extend(again(sweep, Some(need)).map(|command| format!("`{command}`")));
    }
    let by_turns = contests
        .iter()
        .all(|contest| contest.front().1 != Standing::Cannot(DuelResult::NotByTurns));
    if !by_turns {
        answer.remedies.push(
            "leave `order` out of the experiment's file: the order is then random".to_owned(),
        );
    }
    let pairs: usize = contests
        .iter()
        .map(|of| of.sides.len() * (of.sides.len() - 1) / 2)
        .sum();
    if few.is_none() {
        let pairs = text::plural(pairs as u64, "pair");
        let text = format!("{pairs} judged together, at 5 % for all of them (Holm)");
        answer.sure.push(Sure::held("Beyond chance", text));
    }
}

/// Repeats of the point that has least.
fn repeats_of<'a>(points: impl Iterator<Item = &'a PointResult>) -> usize {
    points.map(|point| point.repeats).min().unwrap_or(0)
}

fn capital(sentence: &str) -> String {
    // A name stays as it was typed.
    match sentence.strip_prefix("it is not decided") {
        Some(rest) => format!("It is not decided{rest}"),
        None => match sentence.strip_prefix("at ") {
            Some(rest) => format!("At {rest}"),
            None => sentence.to_owned(),
        },
    }
}

/// Where each workload does most.
pub fn of_peaks(
    sweep: &Sweep<'_>,
    peaks: &[Option<Peak<'_>>],
    limits: &[Option<PointLimit>],
) -> Answer {
    let mut answer = Answer::default();
    let known: Vec<(&Peak<'_>, Option<&PointLimit>)> = peaks
        .iter()
        .zip(limits)
        .filter_map(|(peak, limit)| Some((peak.as_ref()?, limit.as_ref())))
        .collect();
    let reported = known.iter().map(|(peak, limit)| sentence(peak, *limit));
    let reported: Vec<(String, AnswerState)> = reported.collect();
    let are_not_known = reported.iter().all(|(_, of)| *of == AnswerState::NotKnown);
    let has = |state: AnswerState| reported.iter().any(|(_, of)| *of == state);
    answer.state = if has(AnswerState::Known) {
        AnswerState::Known
    } else if has(AnswerState::CannotTell) {
        AnswerState::CannotTell
    } else {
        AnswerState::NotKnown
    };
    answer.sentence = match &reported[..] {
        [] => "Not known: no trial counts".to_owned(),
        [(only, _)] => only.clone(),
        // The same reason once, for all of them.
        _ if are_not_known => {
            "Not known where workloads do most: one repeat of each point".to_owned()
        }
        all => all
            .iter()
            .map(|(of, _)| of.clone())
            .collect::<Vec<_>>()
            .join("; "),
    };
    let with_workload = known.len() > 1;
    for (peak, limit) in known.iter().take(WORKLOADS_MAX) {
        peak_evidence(&mut answer, peak, *limit, with_workload);
    }
    let few = known.iter().find_map(|(peak, _)| match peak.cannot {
        Some(DuelResult::Few { need }) => Some(need),
        _ => None,
    });
    let single = known
        .iter()
        .any(|(peak, _)| peak.best.repeats == 1)
        .then_some(pgdyno_stats::MIN_REPEATS_TO_COMPARE);
    if let Some(need) = few.or(single) {
        answer
            .remedies
            .extend(again(sweep, Some(need)).map(|command| format!("`{command}`")));
    }
    if known
        .iter()
        .any(|(peak, _)| peak.cannot == Some(DuelResult::NotByTurns))
    {
        answer.remedies.push(
            "leave `order` out of the experiment's file: the order is then random".to_owned(),
        );
    }
    let unknown = known
        .iter()
        .filter(|(_, limit)| !limit.is_some_and(is_known));
    let unknown: Vec<String> = unknown.map(|(peak, _)| peak.workload.clone()).collect();
    if !unknown.is_empty() {
        let what = if with_workload {
            format!(
                "not known of {}: the trials' own pages say why",
                and(&unknown)
            )
        } else {
            "not known: the trials' own pages say why".to_owned()
        };
        answer.sure.push(Sure::limit("What limits", what));
    }
    for (peak, limit) in known.iter().filter(|(peak, _)| peak.best.repeats > 1) {
        peak_checks(&mut answer, peak, *limit, with_workload);
    }
    answer
}

/// Whether a limit is one.
fn is_known(limit: &PointLimit) -> bool {
    !matches!(limit.code.as_str(), "not-known" | "none")
}

/// The limit of most repeats, by its name.
fn limited(limit: Option<&PointLimit>) -> String {
    let surely = limit.filter(|limit| limit.agree * 2 > limit.of);
    match surely.filter(|limit| is_known(limit)) {
        Some(limit) if limit.code == RATE_MET => String::new(),
        Some(limit) => format!(", limited by {}", lower(&limit.name)),
        None => String::new(),
    }
}

fn sentence(peak: &Peak<'_>, limit: Option<&PointLimit>) -> (String, AnswerState) {
    let Peak { workload, best, .. } = peak;
    let goodput = goodput(best).map_or(0.0, |of| of.median);
    let done = per_s(goodput);
    let by = limited(limit);
    if peak.all.len() == 1 {
        return match best.repeats {
            1 => (
                format!("Not known how much {workload} does: one repeat"),
                AnswerState::NotKnown,
            ),
            _ => (format!("{workload} does {done}{by}"), AnswerState::Known),
        };
    }
    if best.repeats == 1 || peak.all.iter().any(|spot| spot.point.repeats == 1) {
        let text = format!("Not known where {workload} does most: one repeat of a point");
        return (text, AnswerState::NotKnown);
    }
    if let Some(kept) = &peak.kept {
        return of_rates(workload, kept, &by);
    }
    match peak.cannot {
        Some(DuelResult::Few { need }) => {
            let text = format!(
                "Cannot tell where {workload} does most: {} repeats, {need} needed",
                peak.all
                    .iter()
                    .map(|spot| spot.point.repeats)
                    .min()
                    .unwrap_or(0)
            );
            return (text, AnswerState::CannotTell);
        }
        Some(why) => {
            let text = format!("Cannot tell where {workload} does most, {}", because(why));
            return (text, AnswerState::CannotTell);
        }
        None => {}
    }
    if peak.front.len() == peak.all.len() {
        let medians = peak
            .all
            .iter()
            .filter_map(|spot| Some(self::goodput(spot.point)?.median));
        let (low, high) = medians.fold((f64::INFINITY, 0.0_f64), |(low, high), of| {
            (low.min(of), high.max(of))
        });
        let between = match &peak.ends {
            Some((first, last)) => format!("from {first} to {last}"),
            None => format!("between its {} points", peak.all.len()),
        };
        let text = format!(
            "Cannot tell where {workload} does most: {between} no difference is significant ({} to {})",
            per_s(low),
            per_s(high)
        );
        return (text, AnswerState::CannotTell);
    }
    let at = match peak.front.len() {
        1 => peak.place.clone(),
        _ => front_words(peak),
    };
    let text = match (peak.front.len(), peak.is_at_end) {
        (1, true) => format!("{workload} still grows at {at}: {done}{by}"),
        (_, true) => {
            format!("{workload} does most at {at}, which cannot be distinguished: {done}{by}")
        }
        (1, false) => format!("{workload} peaks at {at} with {done}{by}"),
        (_, false) => {
            format!("{workload} peaks at {at}, which cannot be distinguished, with {done}{by}")
        }
    };
    (text, AnswerState::Known)
}

fn front_words(peak: &Peak<'_>) -> String {
    let mut places: Vec<(f64, String)> = peak
        .front
        .iter()
        .map(|spot| (spot.x.unwrap_or(0.0), spot.place.clone()))
        .collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places: Vec<String> = places.into_iter().map(|(_, place)| place).collect();
    match places.len() {
        0..=4 => places_words(&places),
        many => format!("{many} of its {} points", peak.all.len()),
    }
}

fn of_rates(workload: &str, kept: &RateLimits<'_>, by: &str) -> (String, AnswerState) {
    let done = |of: &PointResult| goodput(of).map_or(0.0, |of| of.median);
    let text = match (&kept.highest, &kept.lowest_missed) {
        (Some(highest), None) => {
            format!(
                "{workload} keeps up with every rate, up to {}",
                highest.place
            )
        }
        (Some(highest), Some(missed)) => format!(
            "{workload} keeps up with {} and not with {}, of which it does {}{by}",
            highest.place,
            missed.place,
            per_s(done(missed.point))
        ),
        (None, Some(missed)) => format!(
            "{workload} keeps up with none of the rates: of {} it does {}{by}",
            missed.place,
            per_s(done(missed.point))
        ),
        (None, None) => {
            return (
                format!("Not known what {workload} keeps up with"),
                AnswerState::NotKnown,
            );
        }
    };
    (text, AnswerState::Known)
}

fn peak_evidence(
    answer: &mut Answer,
    peak: &Peak<'_>,
    limit: Option<&PointLimit>,
    with_workload: bool,
) {
    let section = peak.section.clone();
    // Of rates the highest that is kept, of which the latency means something.
    let kept = peak.kept.as_ref().and_then(|kept| kept.highest.as_ref());
    let (best, spot) = match kept {
        Some(spot) => (spot.point, spot.place.as_str()),
        None => (peak.best, peak.place.as_str()),
    };
    let Some(of) = goodput(best) else { return };
    let at = Some(spot).filter(|spot| !spot.is_empty());
    let at = at.map_or_else(String::new, |spot| format!(" at {spot}"));
    let (by, of_it) = if with_workload {
        (
            format!(" by {}", peak.workload),
            format!(" of {}", peak.workload),
        )
    } else {
        (String::new(), String::new())
    };
    if of.n == 1 {
        let words = format!("was the most{at}{by}, in one repeat");
        answer
            .evidence
            .push(Proof::new(per_s(of.median), words).at(&section, &peak.workload));
        return;
    }
    let mut words = format!("committed{by}{at}, the median of {} repeats", of.n);
    match of.interval {
        Some([low, high]) => {
            words += &format!("; 95 % interval {} to {}", figure_of(low), per_s(high))
        }
        None => words += &format!("; range {} to {}", figure_of(of.min), per_s(of.max)),
    }
    answer
        .evidence
        .push(Proof::new(per_s(of.median), words).at(&section, &peak.workload));
    let next = peak.next.as_ref().filter(|_| peak.kept.is_none());
    if let Some((next, change)) = next {
        let proof = Proof::new(
            signed(*change),
            format!("at {next}, the nearest that is significantly lower"),
        );
        answer.evidence.push(proof.at(&section, &peak.workload));
    }
    let p99 = best
        .figures
        .get("p99")
        .and_then(|of| of.together_us.flatten());
    if let Some(us) = p99 {
        let words = format!("is p99{of_it}{at}, over the transactions of all repeats");
        let proof = Proof::new(text::time(us as f64), words);
        answer.evidence.push(proof.at(&section, &peak.workload));
    }
    if let Some(knee) = &peak.knee {
        let words = "is the knee: beyond it p99 grows faster than throughput";
        let proof = Proof::new(knee.clone(), words);
        answer.evidence.push(proof.at(&section, &peak.workload));
    }
    // Of rates that are kept nothing is the limit.
    let limit = limit.filter(|limit| is_known(limit) && peak.kept.is_none());
    if let Some(limit) = limit {
        let name = lower(&limit.name);
        let words = format!("repeats there were limited by: {name}");
        let proof = Proof::new(format!("{} of {}", limit.agree, limit.of), words);
        answer.evidence.push(proof.at(&section, &peak.workload));
    }
}

fn figure_of(rate: f64) -> String {
    text::significant(rate, 3)
}

fn peak_checks(
    answer: &mut Answer,
    peak: &Peak<'_>,
    limit: Option<&PointLimit>,
    with_workload: bool,
) {
    let of = |name: &str| {
        if with_workload {
            format!("{name}, {}", peak.workload)
        } else {
            name.to_owned()
        }
    };
    if peak.cannot.is_none() && peak.kept.is_none() && peak.all.len() > 1 {
        let others = peak.all.len() - peak.front.len();
        let text = format!(
            "{} of {} other points are significantly lower (Holm, 5 % for all of them)",
            others,
            peak.all.len() - 1
        );
        answer.sure.push(match others {
            0 => Sure::failed(of("Beyond chance"), text),
            _ => Sure::held(of("Beyond chance"), text),
        });
    }
    if let Some((first, last)) = &peak.ends {
        let beyond = match &peak.kept {
            Some(kept) => kept.lowest_missed.is_none(),
            None => peak.is_at_end,
        };
        let name = of("Both sides seen");
        answer
            .sure
            .push(match (beyond, peak.is_at_start && peak.kept.is_none()) {
                (true, _) => {
                    answer
                        .remedies
                        .push(format!("more than {last}: the maximum may be higher"));
                    Sure::limit(
                        name,
                        format!("{last} was the highest tried: the peak may be higher"),
                    )
                }
                (false, true) => Sure::limit(name, format!("{first} was the lowest tried")),
                (false, false) if peak.kept.is_some() => {
                    Sure::held(name, format!("{last} is not kept"))
                }
                (false, false) => {
                    Sure::held(name, format!("from {first} to {last}, lower on both sides"))
                }
            });
    }
    match limit {
        None => {}
        Some(limit) if !is_known(limit) => {}
        Some(limit) if limit.agree * 2 > limit.of => {}
        Some(limit) => {
            let text = format!(
                "repeats disagree: {} of {} say {}",
                limit.agree,
                limit.of,
                lower(&limit.name)
            );
            answer.sure.push(Sure::limit(of("What limits"), text));
        }
    }
}

fn goodput(point: &PointResult) -> Option<&Summary> {
    Some(&point.figures.get("goodput")?.over_repeats.as_ref()?.over)
}
