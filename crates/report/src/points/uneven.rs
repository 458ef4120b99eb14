//! What the server did in some repeats of a point and not in others: a reason for them to differ that
//! is none of what varies.

use pgdyno_model::notebook::{Notebook, TrialRow};
use std::borrow::Cow;

use pgdyno_model::{Note, Severity};
use pgdyno_spec::Failure;

/// Kinds of events, each with its note's code, what happened, and what to do about it.
const KINDS: [(&str, &str, &str, &str); 2] = [
    (
        "checkpoint",
        "checkpoint-in-some-repeats",
        "a checkpoint",
        "measure long enough for several (checkpoint_timeout), or run one before each trial and \
         keep trials shorter than the checkpoint interval",
    ),
    (
        "autovacuum",
        "autovacuum-in-some-repeats",
        "autovacuum",
        "vacuum between trials (a sweep does so), or measure long enough for it to come in each",
    ),
];

/// The notes on these repeats of one point. Those without observation are left out.
///
/// # Errors
/// The store cannot be read.
pub fn notes(store: &dyn Notebook, trials: &[TrialRow]) -> Result<Vec<Note>, Failure> {
    let mut notes = Vec::new();
    for (kind, code, what, remedy) in KINDS {
        let mut with = Vec::new();
        let mut without = Vec::new();
        for trial in trials {
            match store.happened(trial.number, kind, "pg.events")? {
                Some(0) => without.push(trial),
                Some(_) => with.push(trial),
                None => {}
            }
        }
        if with.is_empty() || without.is_empty() {
            continue;
        }
        notes.push(Note {
            code: Cow::Borrowed(code),
            severity: Severity::Warning,
            sentence: format!("{what} was in {}, not in {}", named(&with), named(&without)),
            remedy: remedy.to_owned(),
        });
    }
    Ok(notes)
}

fn named(trials: &[&TrialRow]) -> String {
    let numbers: Vec<String> = trials
        .iter()
        .map(|trial| trial.number.to_string())
        .collect();
    match numbers.split_last() {
        Some((last, [])) => format!("trial {last}"),
        Some((last, others)) => format!("trials {} and {last}", others.join(", ")),
        None => String::new(),
    }
}
