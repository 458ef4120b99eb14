//! Validity notes of trials in tables, comparisons and pages that are made from them.

use std::collections::BTreeMap;

use pgdyno_model::notebook::{Filter, Notebook, TrialRow};
use pgdyno_model::{NoteOfTrials, Severity, State};
use pgdyno_spec::Failure;

/// Warnings and serious notes of these trials, one for each code, the gravest first.
///
/// # Errors
/// The store cannot be read.
pub fn of<'a>(
    store: &dyn Notebook,
    trials: impl IntoIterator<Item = &'a TrialRow>,
) -> Result<Vec<NoteOfTrials>, Failure> {
    let mut by_code: BTreeMap<String, NoteOfTrials> = BTreeMap::new();
    for trial in trials {
        for note in store.notes(trial.number)? {
            if note.severity < Severity::Warning {
                continue;
            }
            let of = by_code.entry(note.code.to_string());
            let of = of.or_insert_with(|| NoteOfTrials {
                note,
                trials: Vec::new(),
            });
            of.trials.push(trial.number);
        }
    }
    let mut notes: Vec<NoteOfTrials> = by_code.into_values().collect();
    for of in &mut notes {
        of.trials.sort_unstable();
        of.trials.dedup();
    }
    notes.sort_by_key(|of| std::cmp::Reverse(of.note.severity));
    Ok(notes)
}

/// Lines about the trials of an experiment that count, to stand below a table that is made from them.
///
/// # Errors
/// The store cannot be read.
pub fn of_experiment(store: &dyn Notebook, uuid: &str) -> Result<String, Failure> {
    let trials = store.trials(&Filter {
        experiment: Some(uuid.to_owned()),
        state: Some(State::Complete),
        ..Filter::default()
    })?;
    let counted = trials.iter().filter(|trial| trial.excluded.is_none());
    let notes = of(store, counted)?;
    Ok(notes.iter().map(|of| line(of) + "\n").collect())
}

/// A line of text: `SERIOUS   client-bound, trials 3 to 8: pgdyno's busiest thread …`.
pub fn line(of: &NoteOfTrials) -> String {
    let word = of.note.severity.word();
    let word = match of.note.severity {
        Severity::Serious => word.to_uppercase(),
        _ => word.to_owned(),
    };
    format!("{word:<9} {}", crate::table::one_line(&of.words()))
}
