//! The trials of `pgdyno lab disturb`, from the notebook: repeats and controls side by side.

use std::collections::BTreeSet;

use pgdyno_model::State;
use pgdyno_model::document::disturb_lab::{
    DisturbEffect, DisturbInterval, DisturbLab, DisturbRepeat, DisturbSummary, DisturbTarget,
};
use pgdyno_model::document::phases::Phase;
use pgdyno_model::document::{CommandRun, DisturbFigures, Disturbed};
use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::OWN;
use pgdyno_spec::experiment::migrate_lab::{file_of, form_of};
use pgdyno_spec::{Failure, text as figures};
use pgdyno_stats::recovery::{MIN_REPEATS_FOR_EFFECT, Seen, effect, ordered_interval};

use super::{answer, document};
use crate::lab::Trials;

/// Grows when a field changes its meaning or goes.
const FORMAT: u32 = 1;
/// So many times in which a client got no commit are listed of a trial.
const CLIENTS_MAX: usize = 50;

/// The document of these trials, in the order of their numbers. Those that were excluded, or broken off
/// by Ctrl-C, are no part of it.
///
/// # Errors
/// The notebook cannot be read.
pub fn lab(trials: &Trials<'_>) -> Result<DisturbLab, Failure> {
    let mut lab = DisturbLab {
        format: FORMAT,
        lab: "disturb".to_owned(),
        pgdyno: env!("CARGO_PKG_VERSION").to_owned(),
        workload: None,
        clients: None,
        offered: None,
        commands: Vec::new(),
        undo: None,
        targets: Vec::new(),
        says: Vec::new(),
    };
    // Forms of a migration have one control.
    let mut controls_of_all = Vec::new();
    for row in trials.all.iter().filter(|row| counts(row)) {
        let outcome = trials.store.outcome(row.number)?;
        let spec = &outcome.spec;
        if lab.workload.is_none() {
            lab.workload = Some(outcome.workload.clone());
            lab.clients = Some(spec.clients());
            lab.offered = spec.rate.as_ref().map(|rate| match rate.constant() {
                // A share of something is no round number.
                Some(per_s) if per_s.fract() != 0.0 => {
                    format!("{} transactions a second", figures::rate(per_s))
                }
                _ => format!("{rate} transactions a second"),
            });
            let steps = spec.disturb.steps();
            lab.commands = steps
                .iter()
                .map(|step| {
                    let at = figures::as_typed(step.at);
                    let command = step.command.public();
                    let file = file_of(&command).map(|file| format!("the migration {file}"));
                    format!("after {at}: {}", file.unwrap_or(command))
                })
                .collect();
            lab.undo = spec.disturb.undo.as_ref().map(|undo| undo.public());
        }
        let shown = document(&outcome);
        let troubles = shown
            .as_ref()
            .map_or_else(Vec::new, |it| it.troubles.clone());
        let of_trial = shown.and_then(|it| it.figures);
        let disturbed: Option<Disturbed> = outcome.findings.get();
        let since = disturbed.as_ref().and_then(|it| it.began_us);
        let stalls = outcome.recording.client_stalls.iter();
        let stalls: Vec<_> = stalls
            .filter(|stall| Some(stall.start_us + stall.length_us) > since)
            .collect();
        let repeat = DisturbRepeat {
            trial: row.number,
            repeat: row.repeat.unwrap_or_default(),
            state: row.state.name().to_owned(),
            reason: row.reason.clone(),
            counts: of_trial.is_some() && troubles.is_empty(),
            troubles,
            commands: disturbed
                .iter()
                .flat_map(|it| &it.commands)
                .filter_map(ran)
                .collect(),
            truth: outcome.findings.get(),
            reasons: outcome.recording.reasons.iter().map(Into::into).collect(),
            endpoints: outcome.recording.endpoints.iter().map(Into::into).collect(),
            clients_stalls: stalls.len() as u64,
            clients_stalled: {
                let clients: BTreeSet<usize> = stalls.iter().map(|stall| stall.client).collect();
                clients.len() as u64
            },
            clients: stalls
                .into_iter()
                .take(CLIENTS_MAX)
                .map(Into::into)
                .collect(),
            figures: of_trial,
            migration: disturbed
                .iter()
                .flat_map(|it| &it.commands)
                .find_map(|command| command.migration.clone()),
        };
        let during = spec.disturb.during.as_ref().map(|command| command.public());
        if let Some(form) = during.as_deref().and_then(form_of) {
            lab.lab = "migrate".to_owned();
            if spec.disturb.control {
                controls_of_all.push(repeat);
            } else {
                target(&mut lab, &form).repeats.push(repeat);
            }
            continue;
        }
        let target = target(&mut lab, &row.target);
        if spec.disturb.control {
            target.controls.push(repeat)
        } else {
            target.repeats.push(repeat)
        }
    }
    for target in &mut lab.targets {
        target.controls.extend(controls_of_all.iter().cloned());
        sum_up(target);
    }
    lab.says = match answer::answer(&lab) {
        Some(answer) => vec![format!("{}.", answer.sentence)],
        None => vec!["No trial was begun.".to_owned()],
    };
    Ok(lab)
}

fn ran(run: &CommandRun) -> Option<Phase> {
    let name = run.command.trim();
    let name = name.strip_prefix(OWN).unwrap_or(name);
    Some(Phase::new(name, run.began_us?, run.ended_us?))
}

fn counts(row: &TrialRow) -> bool {
    row.repeat.is_some()
        && row.excluded.is_none()
        && !matches!(row.state, State::Running | State::Aborted)
}

fn target<'a>(lab: &'a mut DisturbLab, title: &str) -> &'a mut DisturbTarget {
    let known = lab.targets.iter().position(|target| target.title == title);
    let at = known.unwrap_or_else(|| {
        lab.targets.push(DisturbTarget {
            title: title.to_owned(),
            repeats: Vec::new(),
            controls: Vec::new(),
            summary: Vec::new(),
            controls_summary: Vec::new(),
            effect: DisturbEffect {
                is_seen: None,
                p: None,
                says: String::new(),
            },
            says: String::new(),
        });
        lab.targets.len() - 1
    });
    &mut lab.targets[at]
}

/// What a trial says of a figure: it has it, it never came, or nothing is known.
enum Of {
    Came(f64),
    Never,
    Unknown,
}

/// How a figure is read from a trial.
type Reads = fn(&DisturbFigures) -> Of;

/// The figures of a summary by name.
const FIGURES: [(&str, Reads); 10] = [
    ("first_error_us", |it| match it.first_error_us {
        Some(us) => Of::Came(us as f64),
        None => Of::Unknown,
    }),
    ("first_success_us", |it| {
        match (it.first_error_us, it.first_success_us) {
            (_, Some(us)) => Of::Came(us as f64),
            (Some(_), None) => Of::Never,
            (None, None) => Of::Unknown,
        }
    }),
    ("no_service_us", |it| Of::Came(it.no_service_us as f64)),
    ("back_us", |it| match (it.back_us.known(), it.is_back) {
        (Some(us), _) => Of::Came(*us as f64),
        (None, Some(false)) => Of::Never,
        (None, _) => Of::Unknown,
    }),
    ("worst_client_us", |it| {
        Of::Came(it.worst_client_us.unwrap_or(0) as f64)
    }),
    ("missed", |it| {
        it.missed
            .map_or(Of::Unknown, |missed| Of::Came(missed as f64))
    }),
    ("failed", |it| Of::Came(it.failed as f64)),
    ("unknown", |it| Of::Came(it.unknown as f64)),
    ("skipped", |it| Of::Came(it.skipped as f64)),
    ("late", |it| {
        it.late.map_or(Of::Unknown, |late| Of::Came(late as f64))
    }),
];

fn summaries(repeats: &[DisturbRepeat]) -> Vec<DisturbSummary> {
    let counted = || repeats.iter().filter(|repeat| repeat.counts);
    let of = |(name, read): &(&str, Reads)| {
        let (mut values, mut never) = (Vec::new(), 0);
        for of_trial in counted().filter_map(|repeat| repeat.figures.as_ref()) {
            match read(of_trial) {
                Of::Came(value) => values.push(value),
                Of::Never => {
                    never += 1;
                    values.push(f64::INFINITY);
                }
                Of::Unknown => {}
            }
        }
        values.sort_by(f64::total_cmp);
        let finite = |value: f64| value.is_finite().then_some(value);
        let median = values.len().checked_sub(1).map(|last| {
            let (low, high) = (values[last / 2], values[values.len() / 2]);
            if low == high { low } else { (low + high) / 2.0 }
        });
        let mut came = values.iter().copied().filter(|value| value.is_finite());
        DisturbSummary {
            figure: (*name).to_owned(),
            n: values.len() as u64,
            never,
            median: median.and_then(finite),
            min: came.clone().next(),
            max: came.next_back(),
            interval: ordered_interval(&values).map(|it| DisturbInterval {
                low: finite(it.low),
                high: finite(it.high),
                level: it.level,
            }),
        }
    };
    FIGURES.iter().map(of).collect()
}

/// The share of what was due that was missed, of each trial that counts.
fn missed_shares(repeats: &[DisturbRepeat]) -> Vec<f64> {
    let counted = repeats.iter().filter(|repeat| repeat.counts);
    let share = |it: &DisturbFigures| Some(it.missed? as f64 / (it.due.max(1)) as f64);
    counted
        .filter_map(|repeat| share(repeat.figures.as_ref()?))
        .collect()
}

pub(super) fn sum_up(target: &mut DisturbTarget) {
    target.summary = summaries(&target.repeats);
    target.controls_summary = summaries(&target.controls);
    let (a, b) = (
        missed_shares(&target.repeats),
        missed_shares(&target.controls),
    );
    let seen = effect(&a, &b);
    target.effect = DisturbEffect {
        is_seen: match seen {
            Seen::Yes { .. } => Some(true),
            Seen::No { .. } => Some(false),
            Seen::TooFew => None,
        },
        p: match seen {
            Seen::Yes { p } | Seen::No { p } => Some(p),
            Seen::TooFew => None,
        },
        says: match seen {
            Seen::Yes { p } => format!(
                "more is missed than in {} without the disturbance (rank sum test, p = {p:.3})",
                figures::plural(b.len() as u64, "control")
            ),
            Seen::No { p } => format!(
                "no more is missed than in {} without the disturbance (rank sum test, p = {p:.3})",
                figures::plural(b.len() as u64, "control")
            ),
            Seen::TooFew if b.is_empty() => {
                "there are no controls, so it is not known what would have happened without the \
                 disturbance"
                    .to_owned()
            }
            Seen::TooFew => format!(
                "too few repeats to compare with controls: {MIN_REPEATS_FOR_EFFECT} of each are needed"
            ),
        },
    };
    target.says = format!("{}.", answer::of_one(target).2);
}

/// The limit, if all repeats have the same.
pub(super) fn within(target: &DisturbTarget) -> String {
    let limits = target.repeats.iter().filter(|repeat| repeat.counts);
    let limits = limits.filter_map(|repeat| repeat.figures.as_ref()?.limit_us.known().copied());
    let limits: BTreeSet<u64> = limits.collect();
    let time = |us: &u64| figures::time(*us as f64);
    match (limits.first(), limits.last()) {
        (Some(low), Some(high)) if low == high => format!("within {}", time(low)),
        (Some(low), Some(high)) => format!("within {} to {}", time(low), time(high)),
        _ => "in time".to_owned(),
    }
}
