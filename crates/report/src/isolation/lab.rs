//! The trials of `pgdyno lab isolation`, from the notebook: by level, what was seen and what was not.

use pgdyno_isolation::NOTHING_OVERWRITTEN;
use pgdyno_model::document::Disturbed;
use pgdyno_model::document::isolation::{IsolationCheck, IsolationFound, IsolationPromise};
use pgdyno_model::document::isolation_lab::{
    IsolationCell, IsolationLab, IsolationLevel, IsolationRate, IsolationSeen, IsolationTrial,
};
use pgdyno_model::notebook::TrialRow;
use pgdyno_model::{Fact, State};
use pgdyno_spec::{Failure, text as figures};

use super::columns::{COLUMNS, Column, LOST_WRITE, NOTHING_ABORTED, at_most};
use super::sure;
use crate::lab::Trials;

/// Grows when a field changes its meaning or goes.
const FORMAT: u32 = 1;
/// Fewer pairs bound nothing below one in a hundred (1 − 0.05^(1/299) = 1 %).
const PAIRS_MIN: u64 = 299;
/// So many forbidden kinds are named in a headline.
const HEADLINE_KINDS: usize = 2;
/// The code of a note on a workload's check that failed.
const CHECK_FAILED: &str = "check-failed";
/// What the server runs when no level was asked for.
pub(super) const DEFAULT: &str = "the server's default";

/// A trial as it is judged.
pub struct Tried {
    /// Its place in the table of trials.
    pub shown: IsolationTrial,
    pub committed: u64,
    pub retries: u64,
    /// What disturbed it, without secrets.
    pub during: Vec<String>,
    /// Why it was not disturbed as it was to be.
    pub trouble: Option<String>,
    /// A check of its workload that failed: of what the transactions left behind.
    pub failed_check: Option<String>,
    pub check: Fact<IsolationCheck>,
}

/// The document of these trials, in the order of their numbers. Those that were excluded, or broken off
/// by Ctrl-C, are no part of it.
///
/// # Errors
/// The notebook cannot be read.
pub fn lab(trials: &Trials<'_>) -> Result<IsolationLab, Failure> {
    let mut lab = empty();
    let mut tried = Vec::new();
    for row in trials.all.iter().filter(|row| is_part(row)) {
        let outcome = trials.store.outcome(row.number)?;
        if lab.target.is_none() {
            lab.target = Some(row.target.clone());
            lab.server = row.server_version.clone();
            lab.clients = Some(outcome.spec.clients());
            let steps = outcome.spec.disturb.steps();
            lab.commands = steps
                .iter()
                .map(|step| {
                    let at = figures::as_typed(step.at);
                    format!("after {at}: {}", step.command.public())
                })
                .collect();
        }
        let level = outcome.spec.isolation.map_or(DEFAULT, |level| level.name());
        let mix = outcome.spec.mix.as_deref();
        let workload = mix.map_or_else(|| row.workload.clone(), str::to_owned);
        let steps = outcome.spec.disturb.steps();
        let disturbed = outcome.findings.get::<Disturbed>();
        tried.push(Tried {
            during: { steps.iter() }.map(|step| step.command.public()).collect(),
            trouble: disturbed
                .as_ref()
                .and_then(|it| it.troubles().into_iter().next()),
            failed_check: { outcome.notes.iter() }
                .find(|note| note.code == CHECK_FAILED)
                .map(|note| note.sentence.clone()),
            ..of(row, (level, workload), outcome.findings.get())
        });
    }
    finish(&mut lab, &tried);
    Ok(lab)
}

fn is_part(row: &TrialRow) -> bool {
    row.repeat.is_some()
        && row.excluded.is_none()
        && !matches!(row.state, State::Running | State::Aborted)
}

fn of(
    row: &TrialRow,
    (level, workload): (&str, String),
    check: Option<Fact<IsolationCheck>>,
) -> Tried {
    let check = check.unwrap_or_else(|| Fact::Unknown("no history was recorded".to_owned()));
    let (known, unknown) = match &check {
        Fact::Known(check) => (Some(check), check.not_whole.clone()),
        Fact::Unknown(why) => (None, Some(why.clone())),
    };
    Tried {
        shown: IsolationTrial {
            trial: row.number,
            level: level.to_owned(),
            workload,
            repeat: row.repeat.unwrap_or_default(),
            state: row.state.name().to_owned(),
            reason: row.reason.clone().or(unknown),
            counts: known.is_some(),
            goodput_per_s: row.goodput_per_s,
            recorded: known.map_or(0, |check| check.recorded),
            conflicting_pairs: known.map_or(0, |check| check.conflicting_pairs),
            found: known.map_or_else(Vec::new, |check| {
                let found = check.found.iter();
                found
                    .map(|found| (found.anomaly.clone(), found.count))
                    .collect()
            }),
            checked_ms: known.map_or(0, |check| check.took_ms),
        },
        committed: row.committed.unwrap_or(0),
        retries: row.retries.unwrap_or(0),
        during: Vec::new(),
        trouble: None,
        failed_check: None,
        check,
    }
}

pub fn empty() -> IsolationLab {
    IsolationLab {
        format: FORMAT,
        lab: "isolation".to_owned(),
        pgdyno: env!("CARGO_PKG_VERSION").to_owned(),
        workloads: Vec::new(),
        clients: None,
        target: None,
        server: None,
        commands: Vec::new(),
        reads: None,
        is_kept: None,
        says: vec!["No trial was begun".to_owned()],
        anomalies: COLUMNS.iter().map(Column::document).collect(),
        levels: Vec::new(),
        examples: Vec::new(),
        checks: Vec::new(),
        trials: Vec::new(),
    }
}

pub fn finish(lab: &mut IsolationLab, tried: &[Tried]) {
    let mut names: Vec<&str> = Vec::new();
    for trial in tried {
        let shown = &trial.shown;
        if !names.contains(&shown.level.as_str()) {
            names.push(&shown.level);
        }
        if !lab.workloads.contains(&shown.workload) {
            lab.workloads.push(shown.workload.clone());
        }
        lab.trials.push(shown.clone());
    }
    for name in names {
        let of_level: Vec<&Tried> = tried.iter().filter(|it| it.shown.level == name).collect();
        let mut level = level(name, &of_level, &lab.workloads);
        let same = lab.levels.iter().find(|before| {
            before.in_effect.known().is_some() && before.in_effect == level.in_effect
        });
        level.same_as = same.map(|before| before.asked.clone());
        lab.levels.push(level);
        lab.examples.extend(examples(name, &of_level));
    }
    // The gravest first; the sort keeps levels in their order.
    lab.examples.sort_by_key(|seen| match seen.forbidden {
        Some(true) => 0,
        None => 1,
        Some(false) => 2,
    });
    lab.reads = { tried.iter() }
        .filter_map(|it| it.check.known())
        .find_map(|check| check.reads.clone());
    lab.checks = sure::checks(lab, tried);
    if lab.levels.is_empty() {
        return;
    }
    let contradicts = lab.checks.iter().find(|check| check.held == Some(false));
    lab.is_kept = match contradicts {
        // A conclusion that fails its own check is none.
        Some(_) => None,
        None if lab.levels.iter().any(|it| it.is_kept == Some(false)) => Some(false),
        None if lab.levels.iter().all(|it| it.is_kept == Some(true)) => Some(true),
        None => None,
    };
    lab.says = match contradicts {
        Some(check) => vec![format!(
            "Not known: the verdict fails its own check: {}: {}",
            check.name, check.says
        )],
        None => headline(&lab.levels, tried),
    };
}

/// What did not hold, what is not known, and in a few words what was kept.
fn headline(levels: &[IsolationLevel], tried: &[Tried]) -> Vec<String> {
    let of = |is_kept: Option<bool>| levels.iter().filter(move |level| level.is_kept == is_kept);
    let grave = of(Some(false)).chain(of(None));
    let mut says: Vec<String> = grave.map(|level| level.says.clone()).collect();
    let kept: Vec<String> = of(Some(true)).map(named).collect();
    let (verb, them) = match kept.len() {
        1 => ("promises", "it"),
        _ => ("promise", "they"),
    };
    if let Some((last, others)) = kept.split_last() {
        let names = if others.is_empty() {
            last.clone()
        } else {
            format!("{} and {last}", others.join(", "))
        };
        let circumstances = circumstances(&tried.iter().collect::<Vec<_>>());
        says.push(format!("{names} kept what {them} {verb}{circumstances}"));
    }
    says
}

fn known<'a>(tried: &[&'a Tried]) -> Vec<&'a IsolationCheck> {
    tried.iter().filter_map(|it| it.check.known()).collect()
}

fn level(name: &str, tried: &[&Tried], workloads: &[String]) -> IsolationLevel {
    let checks = known(tried);
    let sum = |of: fn(&IsolationCheck) -> u64| checks.iter().map(|check| of(check)).sum::<u64>();
    let in_effect = agreed(&checks, |check| &check.in_effect, "levels in effect");
    let promise = agreed(&checks, |check| &check.promise, "promises");
    let promised = promise.known();
    let cells: Vec<IsolationCell> = { COLUMNS.iter() }
        .map(|column| cell(column, &checks, promised))
        .collect();
    let rates = { workloads.iter() }
        .filter_map(|workload| rate(workload, tried))
        .collect();
    let mut level = IsolationLevel {
        asked: name.to_owned(),
        in_effect,
        same_as: None,
        promise,
        is_kept: None,
        says: String::new(),
        trials: { tried.iter() }
            .filter(|it| it.shown.counts)
            .map(|it| it.shown.trial)
            .collect(),
        recorded: sum(|check| check.recorded),
        committed: sum(|check| check.committed),
        aborted: sum(|check| check.aborted),
        unknown: sum(|check| check.unknown),
        conflicting_pairs: sum(|check| check.conflicting_pairs),
        rates,
        cells,
    };
    (level.is_kept, level.says) = judged(&level, tried);
    level
}

/// What all of them say, or that they differ.
fn agreed<T: Clone + PartialEq>(
    checks: &[&IsolationCheck],
    of: fn(&IsolationCheck) -> &Fact<T>,
    what: &str,
) -> Fact<T> {
    let Some((first, others)) = checks.split_first() else {
        return Fact::Unknown("no history was checked".to_owned());
    };
    if others.iter().all(|check| of(check) == of(first)) {
        of(first).clone()
    } else {
        Fact::Unknown(format!("its trials had different {what}"))
    }
}

fn cell(
    column: &Column,
    checks: &[&IsolationCheck],
    promised: Option<&IsolationPromise>,
) -> IsolationCell {
    let found = |check: &&IsolationCheck| -> Vec<IsolationFound> {
        let found = check.found.iter();
        found
            .filter(|found| column.has(&found.anomaly))
            .cloned()
            .collect()
    };
    let all: Vec<IsolationFound> = checks.iter().flat_map(found).collect();
    let telling: Vec<&&IsolationCheck> = { checks.iter() }
        .filter(|check| column.hidden_in(check).is_none())
        .collect();
    let pairs: u64 = telling.iter().map(|check| column.pairs(check)).sum();
    let count = all.iter().map(|found| found.count).sum();
    let of = column.document().of;
    let unknown = match (count, telling.is_empty()) {
        (1.., _) => None,
        (_, true) => {
            let why = checks.iter().find_map(|check| column.hidden_in(check));
            Some(why.unwrap_or_else(|| "no history was checked".to_owned()))
        }
        _ if pairs == 0 => Some(format!(
            "no {of}: use more clients, fewer keys or longer trials"
        )),
        _ if pairs < PAIRS_MIN => Some(format!(
            "only {} {of}, {PAIRS_MIN} are needed to say \"at most 1 %\": use more clients, fewer keys \
             or longer trials",
            figures::count(pairs)
        )),
        _ => None,
    };
    let whole = promised.and_then(|promise| column.forbidden_by(promise));
    IsolationCell {
        anomaly: column.name.to_owned(),
        count,
        at_least: all.iter().any(|found| found.at_least),
        trials: checks
            .iter()
            .filter(|check| !found(check).is_empty())
            .count() as u64,
        of_trials: telling.len() as u64,
        pairs,
        at_most: match count {
            0 => at_most(pairs),
            _ => None,
        },
        forbidden: match all.is_empty() {
            true => whole,
            false if all.iter().any(|found| found.forbidden == Some(true)) => Some(true),
            false if all.iter().any(|found| found.forbidden.is_none()) => None,
            false => Some(false),
        },
        unknown,
    }
}

fn rate(workload: &str, tried: &[&Tried]) -> Option<IsolationRate> {
    let of: Vec<&&Tried> = { tried.iter() }
        .filter(|it| it.shown.workload == workload && it.shown.counts)
        .collect();
    of.first()?;
    let mut goodput: Vec<f64> = of.iter().filter_map(|it| it.shown.goodput_per_s).collect();
    goodput.sort_by(f64::total_cmp);
    let median = goodput.len().checked_sub(1).map(|last| {
        let (low, high) = (goodput[last / 2], goodput[goodput.len() / 2]);
        if low == high { low } else { (low + high) / 2.0 }
    });
    let committed: u64 = of.iter().map(|it| it.committed).sum();
    let retries: u64 = of.iter().map(|it| it.retries).sum();
    let broken = { of.iter() }
        .filter_map(|it| it.check.known())
        .any(IsolationCheck::is_broken);
    let of_workload: Vec<&Tried> = { tried.iter().copied() }
        .filter(|it| it.shown.workload == workload)
        .collect();
    let judged = not_whole(&of_workload).is_none()
        && of_workload.iter().all(|it| it.failed_check.is_none())
        && { of.iter() }
            .filter_map(|it| it.check.known())
            .all(|check| check.promise.known().is_some());
    Some(IsolationRate {
        workload: workload.to_owned(),
        repeats: of.len() as u64,
        goodput_per_s: median,
        range: goodput.first().copied().zip(goodput.last().copied()),
        retries_per_commit: (committed > 0).then(|| retries as f64 / committed as f64),
        conflicting_pairs: of.iter().map(|it| it.shown.conflicting_pairs).sum(),
        is_kept: match (broken, judged) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        },
    })
}

/// A level for people: what was in effect is said if that is another one.
fn named(level: &IsolationLevel) -> String {
    let mut name = level.asked.to_uppercase();
    let in_effect = level.in_effect.known();
    if let Some(is) = in_effect.filter(|is| **is != level.asked && level.asked != DEFAULT) {
        name += &format!(" (IN EFFECT {})", is.to_uppercase());
    }
    name
}

/// Under which circumstances these were tried, to follow a name: where reads went, what disturbed them.
fn circumstances(tried: &[&Tried]) -> String {
    let mut text = String::new();
    if let Some(reads) = known(tried).iter().find_map(|check| check.reads.as_ref()) {
        text += &format!(" with {reads}");
    }
    let mut during: Vec<&str> = Vec::new();
    for command in tried.iter().flat_map(|it| &it.during) {
        if !during.contains(&command.as_str()) {
            during.push(command);
        }
    }
    if !during.is_empty() {
        text += &format!(" during {}", during.join(", "));
    }
    text
}

/// Whether a level kept what is promised, and a sentence.
fn judged(level: &IsolationLevel, tried: &[&Tried]) -> (Option<bool>, String) {
    let name = named(level) + &circumstances(tried);
    let pairs = figures::plural(level.conflicting_pairs, "overlapping conflicting pair");
    let seen = |forbidden: Option<bool>| -> Vec<String> {
        let cells = level.cells.iter().zip(&COLUMNS);
        cells
            .filter(|(cell, _)| cell.count > 0 && cell.forbidden == forbidden)
            .map(|(cell, column)| {
                let least = if cell.at_least { "at least " } else { "" };
                format!(
                    "{} ({least}{})",
                    column.title.to_lowercase(),
                    figures::count(cell.count)
                )
            })
            .collect()
    };
    let forbidden = seen(Some(true));
    if !forbidden.is_empty() {
        // From the weakest level that forbids one: the gravest first.
        let more = match forbidden.len().saturating_sub(HEADLINE_KINDS) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let kinds = forbidden[..forbidden.len().min(HEADLINE_KINDS)].join(", ");
        return (
            Some(false),
            format!("{name} DID NOT HOLD: {kinds}{more}, which it forbids, in {pairs}"),
        );
    }
    let unknown = |why: &str| (None, format!("{name} is not known: {why}"));
    if level.trials.is_empty() {
        let why = tried.iter().find_map(|it| it.shown.reason.as_deref());
        return unknown(why.unwrap_or("no history was checked"));
    }
    if let Fact::Unknown(why) = &level.in_effect {
        return unknown(&format!("the level in effect could not be read: {why}"));
    }
    if let Fact::Unknown(why) = &level.promise {
        return unknown(&format!("what it promises is not known here: {why}"));
    }
    if let Some(why) = tried.iter().find_map(|it| it.trouble.as_ref()) {
        return unknown(&format!("it was not disturbed as planned: {why}"));
    }
    if let Some((trial, why)) = not_whole(tried) {
        return unknown(&format!("not all was checked: trial {trial}: {why}"));
    }
    if let Some((it, why)) = { tried.iter() }.find_map(|it| Some((it, it.failed_check.as_ref()?))) {
        return unknown(&format!("trial {}: {why}", it.shown.trial));
    }
    let checks = known(tried);
    let nothing_lasts = checks.iter().all(|check| check.acknowledged_writes == 0);
    let open = level.cells.iter().zip(&COLUMNS).find(|(cell, _)| {
        // That packs read no predicates, overwrite or abort nothing, or have nothing that could be lost unseen is
        // no doubt about what others show.
        let is_not_asked = cell.anomaly == "predicate"
            || [NOTHING_OVERWRITTEN, NOTHING_ABORTED]
                .map(Some)
                .contains(&cell.unknown.as_deref())
            || (cell.anomaly == LOST_WRITE && nothing_lasts);
        cell.forbidden == Some(true) && cell.unknown.is_some() && !is_not_asked
    });
    if let Some((cell, column)) = open {
        let why = cell.unknown.as_deref().unwrap_or_default();
        return unknown(&format!("{}: {why}", column.title.to_lowercase()));
    }
    let allowed = seen(Some(false));
    let documented = if allowed.is_empty() {
        String::new()
    } else {
        format!("; as documented: {}", allowed.join(", "))
    };
    let bound = match most_unseen(level) {
        Some(share) => format!(
            " (of those that could show it at most {}, 95 %)",
            share_text(share)
        ),
        None => String::new(),
    };
    (
        Some(true),
        format!("{name} kept what it promises in {pairs}{bound}{documented}"),
    )
}

/// The largest share in which something that the level forbids may occur unseen: the promise is bounded no better
/// than the least looked for of what it forbids, and pairs of a mix that cannot show that do not count.
pub(super) fn most_unseen(level: &IsolationLevel) -> Option<f64> {
    let cells = level.cells.iter();
    let known = cells.filter(|cell| cell.forbidden == Some(true) && cell.unknown.is_none());
    known.filter_map(|cell| cell.at_most).max_by(f64::total_cmp)
}

/// The first of these trials whose history was not checked as a whole, and why. What cannot be understood may be
/// the very thing that was looked for.
pub(super) fn not_whole<'a>(tried: &[&'a Tried]) -> Option<(i64, &'a str)> {
    tried.iter().find_map(|it| {
        let why = match &it.check {
            Fact::Known(check) => check.not_whole.as_ref()?,
            Fact::Unknown(why) => why,
        };
        Some((it.shown.trial, why.as_str()))
    })
}

/// A small share as `1 in 200,000`, which is read more easily than a power of ten.
pub fn share_text(share: f64) -> String {
    match share {
        0.01.. => figures::share(share),
        _ => {
            // Of an upper limit nothing is rounded away.
            let one_in = (1.0 / share).floor();
            let digits = 10_f64.powi((one_in.log10().floor() as i32 - 1).max(0));
            format!(
                "1 in {}",
                figures::count(((one_in / digits).floor() * digits) as u64)
            )
        }
    }
}

/// The smallest example of each kind.
fn examples(level: &str, tried: &[&Tried]) -> Vec<IsolationSeen> {
    let of_column = |column: &Column| -> Option<IsolationSeen> {
        let all = tried.iter().filter_map(|it| Some((it, it.check.known()?)));
        let found = all.flat_map(|(it, check)| check.found.iter().map(move |found| (it, found)));
        let smallest =
            { found.filter(|(_, found)| column.has(&found.anomaly)) }.min_by_key(|(_, found)| {
                let size = found.example.transactions.len();
                (found.forbidden != Some(true), size)
            });
        let (it, found) = smallest?;
        Some(IsolationSeen {
            level: level.to_owned(),
            column: column.name.to_owned(),
            anomaly: found.anomaly.clone(),
            meaning: found.meaning.clone(),
            trial: it.shown.trial,
            workload: it.shown.workload.clone(),
            forbidden: found.forbidden,
            file: format!("cycle-{}-{}.json", it.shown.trial, found.anomaly),
            example: found.example.clone(),
        })
    };
    COLUMNS.iter().filter_map(of_column).collect()
}
