//! A sweep's answer checks itself: repeats, order and drift, points without figures, notes that make
//! figures worthless.

use pgdyno_model::State;
use pgdyno_model::document::answer::{Answer, Sure};
use pgdyno_model::document::points::PointResult;
use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::text;
use pgdyno_stats::MIN_REPEATS_TO_COMPARE;

use super::Sweep;
use super::shape::and;

/// Fewer trials say nothing of drift.
const DRIFT_TRIALS_MIN: usize = 8;
/// More drift than this is worth a doubt, even among trials that took turns.
const DRIFT_MUCH: f64 = 0.1;
/// Names in a row; the others are counted.
const NAMES_MAX: usize = 3;

/// What holds of every answer of a sweep.
pub fn common(sweep: &Sweep<'_>, answer: &mut Answer) {
    repeats(sweep, answer);
    steady(sweep, answer);
    missing(sweep, answer);
    crate::answer::serious(sweep.points, answer);
}

fn repeats(sweep: &Sweep<'_>, answer: &mut Answer) {
    let counts = sweep
        .points
        .iter()
        .map(|point| point.repeats)
        .filter(|count| *count > 0);
    let (Some(least), Some(most)) = (counts.clone().min(), counts.max()) else {
        return;
    };
    let points = sweep
        .points
        .iter()
        .filter(|point| point.repeats > 0)
        .count();
    let each = match (least == most, points) {
        (true, 1) => least.to_string(),
        (true, _) => format!("{least} of each point"),
        (false, _) => format!("{least} to {most} of a point"),
    };
    let sure = match least {
        1 => Sure::failed("Repeats", format!("{each}; one repeat cannot show chance")),
        few if few < MIN_REPEATS_TO_COMPARE && points > 1 => Sure::failed(
            "Repeats",
            format!("{each}; a comparison takes {MIN_REPEATS_TO_COMPARE} at least"),
        ),
        _ => Sure::held("Repeats", each),
    };
    answer.sure.push(sure);
}

fn steady(sweep: &Sweep<'_>, answer: &mut Answer) {
    let turns = match sweep.planned.order() {
        Some("drawn" | "random" | "mirrored") => Some("points came in random order"),
        Some("interleaved") => Some("points took turns"),
        Some(_) => None,
        None => return,
    };
    if sweep.points.len() < 2 {
        return;
    }
    let found = drift(sweep.points, sweep.all);
    let (name, figures) = match found {
        Some(drift) => (
            "Drift",
            format!(
                "{} from the first to the last quarter of the trials",
                text::change(drift).replace('-', "−")
            ),
        ),
        None => ("Order", "too few trials to see a drift".to_owned()),
    };
    let much = found.is_some_and(|drift| drift.abs() > DRIFT_MUCH);
    answer.sure.push(match turns {
        Some(turns) if !much => {
            Sure::held(name, format!("{figures}; {turns}, so that all share it"))
        }
        Some(turns) => Sure::limit(
            name,
            format!(
                "{figures}: the machine was not steady; {turns}, so all are \
         affected alike"
            ),
        ),
        None => Sure::failed(
            name,
            format!(
                "{figures}; points ran one after the other: a change over time \
         looks like a difference"
            ),
        ),
    });
}

/// The change from the first to the last quarter of the trials, as medians of their shares of their
/// points' medians; `None` with fewer than eight.
pub fn drift(points: &[PointResult], all: &[TrialRow]) -> Option<f64> {
    let median_of = |number: i64| {
        let mut points = points.iter();
        let point = points.find(|point| point.trials.iter().any(|of| of.trial == number))?;
        let goodput = point.figures.get("goodput")?.over_repeats.as_ref()?;
        Some(goodput.over.median).filter(|median| *median > 0.0)
    };
    let shares = all
        .iter()
        .filter_map(|trial| Some(trial.goodput_per_s? / median_of(trial.number)?));
    let shares: Vec<f64> = shares.collect();
    if shares.len() < DRIFT_TRIALS_MIN {
        return None;
    }
    let quarter = shares.len() / 4;
    let [first, last] = [&shares[..quarter], &shares[shares.len() - quarter..]].map(median);
    (first > 0.0).then(|| last / first - 1.0)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[half],
        _ => (sorted[half - 1] + sorted[half]) / 2.0,
    }
}

fn missing(sweep: &Sweep<'_>, answer: &mut Answer) {
    let failed = sweep.points.iter().filter(|point| point.repeats == 0);
    let failed: Vec<String> = failed
        .map(|point| match point.left_out.first() {
            Some(first) => format!("{} ({})", point.title, first.why),
            None => point.title.clone(),
        })
        .collect();
    if !failed.is_empty() {
        let figures = format!("none of {}", shortened(&failed));
        answer
            .sure
            .push(Sure::failed("Points without figures", figures));
        answer.remedies.extend(
            again(sweep, None).map(|command| format!("`{command}` measures what is missing")),
        );
    }
    let waiting = sweep.planned.waiting(sweep.all).into_iter();
    let waiting: Vec<String> = waiting
        .map(|point| sweep.planned.title(point, sweep.points, sweep.targets))
        .collect();
    let progress = sweep.planned.progress(sweep.all);
    if let Some(progress) = progress.filter(|progress| progress.done < progress.of) {
        let mut figures = format!(
            "{} of {} trials",
            text::count(progress.done),
            text::count(progress.of)
        );
        if !waiting.is_empty() {
            figures += &format!("; not begun: {}", shortened(&waiting));
        }
        answer.sure.push(Sure::limit("So far", figures));
    }
}

fn shortened(names: &[String]) -> String {
    if names.len() <= NAMES_MAX + 1 {
        and(names)
    } else {
        let more = names.len() - NAMES_MAX;
        format!("{} and {more} more", names[..NAMES_MAX].join(", "))
    }
}

/// The command that measures what is missing, with so many repeats if they are to be more; `None` where
/// no experiment holds the trials together.
pub fn again(sweep: &Sweep<'_>, repeats: Option<usize>) -> Option<String> {
    sweep.planned.order()?;
    let newest = sweep
        .all
        .iter()
        .rev()
        .find(|trial| trial.state != State::Running);
    let newest = newest.or(sweep.all.last())?;
    let mut command = newest.command.clone();
    if repeats.is_some()
        && let Some((before, rest)) = command.clone().split_once(" --repeat ")
    {
        let rest = rest.split_once(' ').map_or("", |(_, rest)| rest);
        command = format!("{before} {rest}").trim_end().to_owned();
    }
    if !command.contains(" --resume") {
        command += " --resume";
    }
    if let Some(repeats) = repeats {
        command += &format!(" --repeat {repeats}");
    }
    Some(command)
}
