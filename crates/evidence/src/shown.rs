//! What was shown: the documents that `pgdyno show --json` and `pgdyno compare --json` print.

use pgdyno_diagnose::calibration::read;
use pgdyno_model::document::comparison::Comparison;
use pgdyno_model::notebook::{ExperimentRow, TrialRow};
use pgdyno_report::comparison::{self, Around, Compared, Matched, Pair, Set};
use pgdyno_report::{calibration, documents, notes, points};
use pgdyno_spec::{Exit, Failure};
use pgdyno_stats::CompareOptions;
use pgdyno_store::Store;
use serde::Serialize;
use serde_json::Value;

/// What `pgdyno show TRIAL --json` prints.
pub fn trial(store: &Store, trial: &TrialRow) -> Result<Value, Failure> {
    trial.check_seconds()?;
    let mut document = documents::whole(&store.outcome(trial.number)?);
    let run = &mut document.trial.run;
    run.stored = Some(documents::stored(trial));
    run.pgdyno.clone_from(&trial.pgdyno);
    value(&document)
}

/// What `pgdyno show --experiment NAME --json` prints.
pub fn experiment(store: &Store, row: &ExperimentRow) -> Result<Value, Failure> {
    match read::of_experiment(store, row)? {
        Some(calibrated) => value(&calibration::document(&calibrated)),
        None => value(&points::of_experiment(store, row)?),
    }
}

/// What `pgdyno compare A B --json` prints, where the sides may be in different notebooks.
///
/// # Errors
/// The sides have nothing in common; a notebook cannot be read.
pub fn compared(
    (store_a, a): (&Store, &Set),
    (store_b, b): (&Store, &Set),
) -> Result<Comparison, Failure> {
    let Matched { pairs, lacking } = comparison::matched(a, b)?;
    // As `pgdyno compare`: what did not take turns is not called different.
    let options = CompareOptions {
        needs_turns: true,
        ..CompareOptions::default()
    };
    let found = comparison::compared(&pairs, &options)?;
    let compared: Vec<(&Pair<'_>, Vec<Compared>)> = pairs.iter().zip(found).collect();
    let first = pairs
        .first()
        .ok_or_else(|| Failure::new("A and B have nothing in common"))?;
    let sides = (
        comparison::surroundings(store_a, &first.a)?,
        comparison::surroundings(store_b, &first.b)?,
    );
    let (differences, left_out) = comparison::differences(&sides.0, &sides.1);
    // Numbers of trials are each notebook's own.
    let notes = if std::ptr::eq(store_a, store_b) {
        notes::of(store_a, a.trials.iter().chain(&b.trials))?
    } else {
        let mut all = Vec::new();
        for (side, store, set) in [("A", store_a, a), ("B", store_b, b)] {
            for mut of in notes::of(store, &set.trials)? {
                of.note.sentence = format!("of {side}: {}", of.note.sentence);
                all.push(of);
            }
        }
        all
    };
    let around = Around {
        lacking,
        notes,
        differences,
        left_out,
        within: comparison::Within::of(&pairs, [store_a, store_b])?,
    };
    Ok(comparison::document(&compared, &around))
}

/// The document with its keys in order.
pub fn value(document: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(document)
        .map_err(|e| Failure::with(Exit::Failed, format!("a document that has no JSON: {e}")))
}
