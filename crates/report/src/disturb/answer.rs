//! The answer of the laboratory for disturbances: what was lost, how long service was gone, when it was
//! back, and how sure that is. Lost writes outrank every figure.

use pgdyno_model::Fact;
use pgdyno_model::document::answer::{Answer, AnswerState, Sure};
use pgdyno_model::document::disturb_lab::{
    DisturbLab, DisturbRepeat, DisturbSummary, DisturbTarget,
};
use pgdyno_model::document::{DisturbFigures, Metastable, Proof, Truth};
use pgdyno_spec::text as figures;
use pgdyno_stats::recovery::MIN_REPEATS_FOR_EFFECT;

use super::lab::within;

/// Where the page shows it.
const SECTION: &str = "disturb";
const LINK: &str = "Repeats";
/// Trials that lost writes are named one by one, up to so many.
const LOSING_MAX: usize = 3;
/// From so many repeats on a median has an interval.
const REPEATS_FOR_INTERVAL: &str = "six";

/// The answer; `None`: no trial was begun.
pub fn answer(lab: &DisturbLab) -> Option<Answer> {
    if super::migrate::is_of(lab) {
        return super::migrate::answer(lab);
    }
    let first = lab.targets.first()?;
    let lost = lab.lost_writes();
    let found = match &lab.targets[..] {
        [only] => of_one(only),
        several => of_several(several),
    };
    let (state, is_harm, sentence) = match lost {
        0 => found,
        lost => (AnswerState::Known, true, lost_writes(lab, first, lost)),
    };
    let mut evidence = Vec::new();
    if lost > 0 {
        let words = "transactions that the database had acknowledged are not there";
        evidence.push(Proof::new(figures::count(lost), words).at(SECTION, LINK));
    }
    for (at, target) in lab.targets.iter().enumerate() {
        let name = match lab.targets.len() {
            1 => String::new(),
            _ => format!(" ({})", nth(at)),
        };
        evidence.extend(of_target(target, &name));
    }
    Some(Answer {
        question: question(lab),
        sentence,
        state,
        is_harm,
        evidence,
        sure: sure(lab),
        remedies: remedies(lab),
        ..Answer::default()
    })
}

fn question(lab: &DisturbLab) -> String {
    let under = lab.offered.as_ref();
    let under = under.map_or_else(String::new, |offered| format!(", under {offered}"));
    format!("What was asked: what does this disturbance do{under}?")
}

/// `the first database`: their addresses stand in the table, once.
fn nth(at: usize) -> String {
    match at {
        0 => "the first database".to_owned(),
        1 => "the second database".to_owned(),
        more => format!("database {}", more + 1),
    }
}

fn trials(lab: &DisturbLab) -> impl Iterator<Item = &DisturbRepeat> {
    let targets = lab.targets.iter();
    targets.flat_map(|target| target.repeats.iter().chain(&target.controls))
}

fn truth(repeat: &DisturbRepeat) -> Option<&Truth> {
    repeat.truth.as_ref()?.known()
}

fn lost_writes(lab: &DisturbLab, first: &DisturbTarget, lost: u64) -> String {
    let asked = trials(lab).filter(|repeat| truth(repeat).is_some()).count();
    let losing = trials(lab).filter(|repeat| truth(repeat).is_some_and(|truth| truth.lost > 0));
    let losing = losing.count();
    let writes = figures::plural(lost, "acknowledged write");
    let were = if lost == 1 { "was" } else { "were" };
    let runs = match asked {
        1 => "the only run".to_owned(),
        of => format!("{losing} of {of} runs"),
    };
    let gone = of(first, "no_service_us").filter(|it| it.n > 1 && lab.targets.len() == 1);
    let gone = gone.and_then(|it| it.median).filter(|us| *us > 0.0);
    let gone = gone.map_or_else(String::new, |us| {
        format!("; service was gone for {}", figures::time(us))
    });
    format!("{writes} {were} lost in {runs}{gone}")
}

pub(super) fn of<'a>(target: &'a DisturbTarget, figure: &str) -> Option<&'a DisturbSummary> {
    target.summary.iter().find(|it| it.figure == figure)
}

/// Its state, whether it is harm, and the sentence.
pub(super) type Judgement = (AnswerState, bool, String);

pub(super) fn of_one(target: &DisturbTarget) -> Judgement {
    let gone = of(target, "no_service_us");
    let counted = gone.map_or(0, |it| it.n);
    let not_known = |words: String| (AnswerState::NotKnown, false, words);
    if counted == 0 {
        let troubles = target.repeats.iter().flat_map(|repeat| &repeat.troubles);
        let reasons = target
            .repeats
            .iter()
            .filter_map(|repeat| repeat.reason.as_ref());
        let why = troubles.chain(reasons).next();
        let why = why.map_or("there is no run with figures", String::as_str);
        return not_known(format!("Not known what the disturbance does: {why}"));
    }
    if counted == 1 {
        let words = "Not known how long service is gone: one run says nothing of the next";
        return not_known(words.to_owned());
    }
    if target.effect.is_seen == Some(false) {
        let words = "Cannot tell that the disturbance does anything: as much is missed without it";
        return (AnswerState::CannotTell, false, words.to_owned());
    }
    let stays = runs_with(target, |it| it.metastable == Metastable::Yes);
    if stays > 0 {
        let words = format!(
            "Goodput stays down when the disturbance is over, in {stays} of {counted} runs"
        );
        return (AnswerState::Known, true, words);
    }
    let known = |words: String| (AnswerState::Known, false, words);
    let nothing_lost = is_nothing_lost(target);
    let kept = if nothing_lost {
        "; nothing acknowledged was lost"
    } else {
        ""
    };
    let back = of(target, "back_us");
    if let Some(back) = back.filter(|it| it.never > 0) {
        return known(format!(
            "In {} of {} runs service was not back when the trial ended{kept}",
            back.never, back.n
        ));
    }
    let most = |it: Option<&DisturbSummary>| it.and_then(|it| it.max).unwrap_or(0.0);
    let median = |it: Option<&DisturbSummary>| it.and_then(|it| it.median).unwrap_or(0.0);
    let time = figures::time;
    let in_all = gone.and_then(|it| it.min).unwrap_or(0.0) > 0.0;
    known(match (median(gone), median(back)) {
        // In some runs only: the median says nothing of it.
        _ if most(gone) > 0.0 && !in_all => format!(
            "Service was gone in {} of {counted} runs, for {} at most{kept}",
            runs_with(target, |it| it.no_service_us > 0),
            time(most(gone))
        ),
        (gone, back) if gone > 0.0 && back > 0.0 => {
            format!(
                "Service was gone for {} and back after {}{kept}",
                time(gone),
                time(back)
            )
        }
        (gone, _) if gone > 0.0 => format!("Service was gone for {}{kept}", time(gone)),
        (_, back) if back > 0.0 => format!(
            "Service was never gone altogether, and back in full after {}{kept}",
            time(back)
        ),
        _ if most(back) > 0.0 => format!(
            "Service was never gone altogether; less than 90 % was answered in {} of {counted} runs, for \
             {} at most{kept}",
            runs_with(target, |it| it.back_us.known().is_some_and(|us| *us > 0)),
            time(most(back))
        ),
        _ => format!("Service was never gone{kept}"),
    })
}

/// In how many of the runs that count this is so.
fn runs_with(target: &DisturbTarget, is_so: fn(&DisturbFigures) -> bool) -> usize {
    let counted = target.repeats.iter().filter(|repeat| repeat.counts);
    let of = counted.filter_map(|repeat| repeat.figures.as_ref());
    of.filter(|it| is_so(it)).count()
}

/// Whether all receipts of all trials were read, and all are there.
fn is_nothing_lost(target: &DisturbTarget) -> bool {
    let mut all = target.repeats.iter().chain(&target.controls).peekable();
    all.peek().is_some() && all.all(|repeat| truth(repeat).is_some_and(|truth| truth.lost == 0))
}

/// Each beside the others: only intervals that lie apart say which fares better.
fn of_several(targets: &[DisturbTarget]) -> Judgement {
    let missed: Vec<Option<&DisturbSummary>> = { targets.iter() }
        .map(|target| of(target, "missed").filter(|it| it.n > 1))
        .collect();
    let apart = |a: &DisturbSummary, b: &DisturbSummary| {
        let (a, b) = (a.interval.as_ref()?, b.interval.as_ref()?);
        Some(a.high? < b.low?)
    };
    let all: Option<Vec<&DisturbSummary>> = missed.iter().copied().collect();
    let Some(all) = all else {
        let words =
            "Cannot tell which database fares better: one run of each says nothing of the next";
        return (AnswerState::CannotTell, false, words.to_owned());
    };
    let median = |it: &DisturbSummary| it.median.unwrap_or(f64::INFINITY);
    let best = (0..all.len()).min_by(|a, b| median(all[*a]).total_cmp(&median(all[*b])));
    let best = best.unwrap_or(0);
    let is_apart = { all.iter().enumerate() }
        .filter(|(at, _)| *at != best)
        .all(|(_, other)| apart(all[best], other) == Some(true));
    let count = |it: &DisturbSummary| figures::count(median(it).round() as u64);
    if is_apart {
        let others: Vec<String> = { all.iter().enumerate() }
            .filter(|(at, _)| *at != best)
            .map(|(at, other)| format!("{} {}", nth(at), count(other)))
            .collect();
        let mut first = nth(best);
        first.replace_range(..1, &first[..1].to_uppercase());
        let words = format!(
            "{first} missed least: {} transactions, {}",
            count(all[best]),
            others.join(", ")
        );
        (AnswerState::Known, false, words)
    } else {
        let words = "Cannot tell which database fares better: what they missed overlaps";
        (AnswerState::CannotTell, false, words.to_owned())
    }
}

/// How long service was gone, when it was back, and what was missed.
pub(super) fn of_target(target: &DisturbTarget, name: &str) -> Vec<Proof> {
    let within = within(target);
    let proofs = [
        ("no_service_us", format!("without a single commit{name}")),
        (
            "back_us",
            format!("until 90 % of the usual were answered {within} for 5 s{name}"),
        ),
        (
            "missed",
            format!("transactions that were due and not answered {within}{name}"),
        ),
    ];
    let shown = proofs.into_iter().filter_map(|(figure, says)| {
        let it = of(target, figure).filter(|it| it.n > 0)?;
        let value = |value: f64| {
            if figure.ends_with("_us") {
                figures::time(value)
            } else {
                figures::count(value.round() as u64)
            }
        };
        let median = it.median?;
        let says = match (&it.interval, it.min, it.max) {
            (Some(interval), ..) => format!(
                "{says}, median of {}; {} interval {} to {}",
                it.n,
                figures::share(interval.level),
                interval.low.map_or("never".to_owned(), value),
                interval.high.map_or("never".to_owned(), value),
            ),
            (None, Some(min), Some(max)) if it.n > 1 => format!(
                "{says}, median of {}; range {} to {}",
                it.n,
                value(min),
                value(max)
            ),
            _ => format!("{says}, one run"),
        };
        Some(Proof::new(value(median), says).at(SECTION, LINK))
    });
    shown.collect()
}

/// What was checked, the gravest first.
pub(super) fn sure(lab: &DisturbLab) -> Vec<Sure> {
    let mut all = of_truth(lab);
    let repeats: Vec<&DisturbRepeat> = { lab.targets.iter() }
        .flat_map(|target| &target.repeats)
        .collect();
    let failed: Vec<&&DisturbRepeat> = { repeats.iter() }
        .filter(|repeat| !repeat.troubles.is_empty())
        .collect();
    let runs = figures::plural(repeats.len() as u64, "run");
    all.extend(match failed.first() {
        Some(first) => Some(Sure::failed(
            format!("A command failed in {} of {runs}", failed.len()),
            first.troubles[0].clone(),
        )),
        None if repeats.is_empty() => None,
        None if repeats.len() == 1 => Some(Sure::held("The command did its work", "in one run")),
        None => Some(Sure::held(
            "The commands did their work",
            format!("in {runs}"),
        )),
    });
    for (at, target) in lab.targets.iter().enumerate() {
        let place = match lab.targets.len() {
            1 => String::new(),
            _ if super::migrate::is_of(lab) => format!("{}: ", target.title),
            _ => format!("{}: ", nth(at)),
        };
        let says = format!("{place}{}", target.effect.says);
        all.push(match target.effect.is_seen {
            _ if target.controls.is_empty() => Sure::limit("No controls", says),
            Some(true) => Sure::held("By turns with controls", says),
            Some(false) => Sure::failed("No more than without it", says),
            None => Sure::limit("Too few to compare with controls", says),
        });
    }
    let counted = |target: &DisturbTarget| {
        let counted = target.repeats.iter().filter(|repeat| repeat.counts);
        counted.count() as u64
    };
    let counted = lab.targets.iter().map(counted).min().unwrap_or(0);
    let mut intervals = { lab.targets.iter().flat_map(|target| &target.summary) }
        .filter_map(|it| it.interval.as_ref());
    all.push(match intervals.next() {
        Some(interval) => Sure::held(
            format!("{} interval", figures::share(interval.level)),
            format!(
                "from {}: between two of them in order",
                figures::plural(counted, "run")
            ),
        ),
        None if counted == 1 => Sure::limit(
            "One run",
            format!("no range and no interval; it takes {REPEATS_FOR_INTERVAL}"),
        ),
        None => Sure::limit(
            "A range, no interval",
            format!(
                "{}; it takes {REPEATS_FOR_INTERVAL}",
                figures::plural(counted, "run")
            ),
        ),
    });
    all
}

/// Whether the database has what it acknowledged.
fn of_truth(lab: &DisturbLab) -> Vec<Sure> {
    let known: Vec<(i64, &Truth)> = trials(lab)
        .filter_map(|repeat| Some((repeat.trial, truth(repeat)?)))
        .collect();
    let sum = |of: fn(&Truth) -> u64| known.iter().map(|(_, truth)| of(truth)).sum::<u64>();
    let losing: Vec<&(i64, &Truth)> = known.iter().filter(|(_, truth)| truth.lost > 0).collect();
    let mut all: Vec<Sure> = { losing.iter().take(LOSING_MAX) }
        .map(|(trial, truth)| {
            let are = if truth.lost == 1 { "is" } else { "are" };
            Sure::failed(
                format!("Trial {trial}"),
                format!(
                    "{} {are} missing",
                    figures::plural(truth.lost, "acknowledged transaction")
                ),
            )
        })
        .collect();
    if losing.len() > LOSING_MAX {
        let more = figures::plural((losing.len() - LOSING_MAX) as u64, "trial");
        all.push(Sure::failed(format!("{more} more"), "lost writes too"));
    }
    if known.is_empty() {
        all.push(Sure::limit(
            "Lost writes were not looked for",
            "transactions left no receipts",
        ));
    } else if losing.is_empty() {
        all.push(Sure::held(
            "No lost writes",
            format!(
                "all {} acknowledged transactions are there",
                figures::count(sum(|truth| truth.acknowledged))
            ),
        ));
    }
    let unread = trials(lab).find_map(|repeat| match repeat.truth.as_ref()? {
        Fact::Known(_) => None,
        Fact::Unknown(why) => Some((repeat.trial, why)),
    });
    if let Some((trial, why)) = unread {
        let name = format!("Receipts of trial {trial} could not be read");
        all.push(Sure::limit(name, why.clone()));
    }
    let (doubt, landed) = (
        sum(|truth| truth.in_doubt),
        sum(|truth| truth.in_doubt_landed),
    );
    if doubt > 0 {
        let are = if landed == 1 { "is" } else { "are" };
        all.push(Sure::held(
            "Unknown, resolved",
            format!(
                "of {} without an answer {} {are} there, {} not",
                figures::plural(doubt, "COMMIT"),
                figures::count(landed),
                figures::count(doubt - landed)
            ),
        ));
    }
    let mut sums = known
        .iter()
        .filter_map(|(trial, truth)| Some((trial, truth.sums.as_ref()?.known()?)));
    let uneven = sums.clone().find(|(_, sums)| !sums.agree());
    if let Some((trial, sums)) = uneven {
        let grown: Vec<String> = { sums.grown.iter() }
            .map(|(table, by)| format!("{table} {by}"))
            .collect();
        all.push(Sure::failed(
            format!("Sums of trial {trial} differ"),
            grown.join(", "),
        ));
    } else if let Some((_, sums)) = sums.next() {
        let names: Vec<&str> = { sums.grown.iter() }
            .map(|(table, _)| table.trim_start_matches("pgbench_"))
            .collect();
        let text = format!("{} grew by the same amount", names.join(", "));
        all.push(Sure::held("Sums hold", text));
    }
    all
}

pub(super) fn remedies(lab: &DisturbLab) -> Vec<String> {
    let least = |of: fn(&DisturbTarget) -> usize| lab.targets.iter().map(of).min().unwrap_or(0);
    let repeats = least(|target| target.repeats.iter().filter(|it| it.counts).count());
    let controls = least(|target| target.controls.iter().filter(|it| it.counts).count());
    let mut all = Vec::new();
    if repeats < MIN_REPEATS_FOR_EFFECT || controls < MIN_REPEATS_FOR_EFFECT {
        all.push(
            "six runs and six controls give an interval and say what would have happened without \
             the disturbance: `--repeat 6`, with controls"
                .to_owned(),
        );
    }
    let ended = { lab.targets.iter() }
        .filter_map(|target| of(target, "back_us"))
        .any(|it| it.never > 0);
    if ended {
        all.push("watch for longer: `--after`".to_owned());
    }
    all
}

#[cfg(test)]
mod tests;
