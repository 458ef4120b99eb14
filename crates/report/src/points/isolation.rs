//! Isolation levels of points: asked for, and in effect. Servers take levels that they do not have and run
//! another (PostgreSQL's read uncommitted, CockroachDB's read committed where it is not enabled).

use std::borrow::Cow;
use std::collections::BTreeMap;

use pgdyno_model::document::points::PointResult;
use pgdyno_model::notebook::TrialRow;
use pgdyno_model::{Note, NoteOfTrials, Severity};
use serde_json::Value;

use pgdyno_spec::experiment::words;

/// The code of the note on points whose levels are one.
const SAME_ISOLATION: &str = "same-isolation";
const ISOLATION: &str = "isolation";
const SETTING: &str = "settings.default_transaction_isolation";

/// The level of all of them.
pub fn in_effect(trials: &[TrialRow]) -> Option<String> {
    let mut levels = trials
        .iter()
        .map(|trial| trial.isolation_in_effect.as_ref());
    let first = levels.next()??;
    levels
        .all(|level| level == Some(first))
        .then(|| first.clone())
}

/// Names the level in effect where another was asked for, and notes which points differ in nothing but
/// levels that are one.
pub fn mark(points: &mut [PointResult]) {
    // By what else varies, and by the level in effect.
    let mut same: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (at, point) in points.iter_mut().enumerate() {
        let (Some(asked), Some(is)) = (asked(point), point.isolation_in_effect.clone()) else {
            continue;
        };
        if asked != is {
            point.title += &format!(" (ran {is})");
        }
        let mut others = point.varied.clone();
        others.retain(|path, _| !is_isolation(path));
        let others = format!("{} {}", point.workload, Value::from_iter(others));
        same.entry((others, is)).or_default().push(at);
    }
    for ((_, level), places) in same {
        let levels = places.iter().filter_map(|at| asked(&points[*at]));
        let mut asked: Vec<String> = Vec::new();
        for level in levels {
            if !asked.contains(&level) {
                asked.push(level);
            }
        }
        if asked.len() < 2 {
            continue;
        }
        let note = Note {
            code: Cow::Borrowed(SAME_ISOLATION),
            severity: Severity::Warning,
            sentence: format!(
                "isolation {} ran at one level, {level}: the level does not explain differences between these \
                 points",
                asked.join(" and ")
            ),
            remedy: "compare levels that the server has, or enable the requested one".to_owned(),
        };
        for at in places {
            let point = &mut points[at];
            let trials = point.trials.iter().map(|repeat| repeat.trial).collect();
            point.notes.push(NoteOfTrials {
                note: note.clone(),
                trials,
            });
        }
    }
}

/// The notes that [`mark`] made, each once.
pub fn same(points: &[PointResult]) -> Vec<NoteOfTrials> {
    let mut all: Vec<NoteOfTrials> = Vec::new();
    for of in points.iter().flat_map(|point| &point.notes) {
        if of.note.code != SAME_ISOLATION {
            continue;
        }
        match all.iter_mut().find(|one| one.note == of.note) {
            Some(one) => one.trials.extend(&of.trials),
            None => all.push(of.clone()),
        }
    }
    all
}

fn is_isolation(path: &str) -> bool {
    [ISOLATION, SETTING].contains(&path)
}

/// The level that was asked for, where levels vary.
fn asked(point: &PointResult) -> Option<String> {
    let level = point.varied.get(ISOLATION).or(point.varied.get(SETTING))?;
    Some(words::value(level).to_lowercase())
}
