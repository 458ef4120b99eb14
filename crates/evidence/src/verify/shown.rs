//! The documents of a bundle beside those that its notebook gives.

use std::collections::BTreeSet;

use pgdyno_model::notebook::TrialRow;
use pgdyno_spec::Failure;
use pgdyno_store::Store;
use serde_json::Value;

use super::arithmetic;
use super::checker::Checker;
use super::rows::{close, name};
use crate::bundle::{Bundle, Shown};
use crate::export::{definition, experiments_of, set, trials_of};
use crate::shown;

/// What is computed from histograms, counts and times. All else of a document is what was written down.
const COMPUTED: [&str; 27] = [
    "measured",
    "warmup",
    "seconds",
    "phases",
    "client_course",
    "rate_steps",
    "steadiness",
    "budget",
    "verdict",
    "stalls",
    "outages",
    "connections",
    "endpoints",
    "statements",
    "generator_share",
    "generators",
    "client_cpu",
    "accounting",
    "disturbed",
    "points",
    "capacity",
    "maxima",
    "values",
    "figures",
    "latencies",
    "growth",
    "observed.server_cpu_us",
];

pub fn check(checker: &mut Checker, bundle: &Bundle, store: &Store) -> Result<(), Failure> {
    let trials = trials_of(store)?;
    let same_version = bundle.manifest.pgdyno.version == env!("CARGO_PKG_VERSION");
    if !same_version {
        checker.not(
            "figures that this pgdyno computes otherwise",
            &format!(
                "the bundle was made by pgdyno {}, this is {}: where only their documents differ, verify with \
                 the one that made it",
                bundle.manifest.pgdyno.version,
                env!("CARGO_PKG_VERSION")
            ),
        );
    }
    named_trials(checker, bundle, &trials);
    let mut shown_trials = BTreeSet::new();
    for one in &bundle.manifest.shown {
        let Some(bytes) = bundle.parts.get(&one.path) else {
            // Said with the files.
            continue;
        };
        let document: Value = match serde_json::from_slice(bytes) {
            Ok(document) => document,
            Err(e) => {
                checker.of(None, &one.path);
                checker.holds(false, "document", format!("no JSON: {e}"), "a document");
                continue;
            }
        };
        if one.against.is_empty() {
            shown_trials.extend(one.trials.iter().copied());
        }
        of_document(checker, one, &document, store, &trials, same_version)?;
    }
    for trial in trials
        .iter()
        .filter(|trial| !shown_trials.contains(&trial.number))
    {
        if trial.check_seconds().is_ok() {
            checker.of(Some(name(trial)), "manifest.json");
            checker.holds(false, "what was shown of it", "nothing", "a document");
        }
    }
    experiments(checker, bundle, store, &trials)
}

/// The trials of the manifest are those of the notebook.
fn named_trials(checker: &mut Checker, bundle: &Bundle, trials: &[TrialRow]) {
    checker.of(None, "manifest.json");
    for named in &bundle.manifest.trials {
        let there = trials.iter().find(|trial| trial.number == named.number);
        let there = there.map_or("not in the notebook", |trial| trial.uuid.as_str());
        let what = format!("trial {}", named.number);
        checker.value(what, &named.uuid, there, named.uuid == there);
    }
    for trial in trials {
        let is_named = bundle
            .manifest
            .trials
            .iter()
            .any(|named| named.uuid == trial.uuid);
        checker.holds(
            is_named,
            format!("trial {}", name(trial)),
            "in the notebook",
            "named in the manifest",
        );
    }
}

fn of_document(
    checker: &mut Checker,
    one: &Shown,
    document: &Value,
    store: &Store,
    trials: &[TrialRow],
    same_version: bool,
) -> Result<(), Failure> {
    checker.of(None, &one.path);
    let find = |number: &i64| trials.iter().find(|trial| trial.number == *number);
    let found = match (
        &one.experiment,
        one.trials.as_slice(),
        one.against.is_empty(),
    ) {
        (Some(uuid), _, _) => {
            let rows = experiments_of(store, trials)?;
            match rows.iter().find(|row| row.uuid == *uuid) {
                None => {
                    checker.holds(false, "the experiment", uuid, "one of the notebook");
                    return Ok(());
                }
                Some(row) => shown::experiment(store, row)?,
            }
        }
        (None, [number], true) => match find(number) {
            None => {
                checker.holds(false, "the trial", number, "one of the notebook");
                return Ok(());
            }
            Some(trial) => {
                checker.of(Some(name(trial)), &one.path);
                arithmetic::of_trial(checker, document);
                shown::trial(store, trial)?
            }
        },
        (None, a, _) => {
            let (a, b) = (set(trials, a), set(trials, &one.against));
            match shown::compared((store, &a), (store, &b)) {
                Ok(document) => shown::value(&document)?,
                Err(failure) => {
                    checker.holds(false, "the comparison", "shown", failure.message);
                    return Ok(());
                }
            }
        }
    };
    beside(checker, &Path::default(), document, &found, same_version);
    Ok(())
}

/// The files of experiments are those that the notebook has.
fn experiments(
    checker: &mut Checker,
    bundle: &Bundle,
    store: &Store,
    trials: &[TrialRow],
) -> Result<(), Failure> {
    let rows = experiments_of(store, trials)?;
    for one in &bundle.manifest.experiments {
        checker.of(None, one.path.as_deref().unwrap_or("manifest.json"));
        let row = rows.iter().find(|row| row.uuid == one.uuid);
        let Some(row) = row else {
            checker.holds(
                false,
                format!("experiment {}", one.name),
                &one.uuid,
                "one of the notebook",
            );
            continue;
        };
        checker.value(
            "name of the experiment",
            &one.name,
            &row.name,
            one.name == row.name,
        );
        let text = one.path.as_ref().and_then(|path| bundle.parts.get(path));
        let kept = definition(row).map(String::into_bytes);
        let agrees = text == kept.as_ref();
        checker.value(
            "the experiment's file",
            "other text",
            "that of the notebook",
            agrees,
        );
    }
    for row in rows {
        let is_named = bundle
            .manifest
            .experiments
            .iter()
            .any(|one| one.uuid == row.uuid);
        checker.holds(
            is_named,
            format!("experiment {}", row.name),
            "in the notebook",
            "named in the manifest",
        );
    }
    Ok(())
}

#[derive(Debug, Clone, Default)]
struct Path {
    text: String,
    is_computed: bool,
}

impl Path {
    fn key(&self, key: &str) -> Self {
        let text = if self.text.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.text)
        };
        let is_computed = self.is_computed || COMPUTED.contains(&text.as_str());
        Self { text, is_computed }
    }

    fn at(&self, index: usize) -> Self {
        Self {
            text: format!("{}[{index}]", self.text),
            ..*self
        }
    }
}

/// Compares value by value. What only one side has differs, unless the two are of different versions.
fn beside(checker: &mut Checker, path: &Path, shown: &Value, found: &Value, same_version: bool) {
    match (shown, found) {
        (Value::Object(shown), Value::Object(found)) => {
            let keys: BTreeSet<&String> = shown.keys().chain(found.keys()).collect();
            for key in keys {
                let path = path.key(key);
                match (shown.get(key), found.get(key)) {
                    (Some(shown), Some(found)) => {
                        beside(checker, &path, shown, found, same_version)
                    }
                    (shown, found) if same_version => leaf(checker, &path, shown, found, false),
                    _ => checker.not(
                        &format!("{} of documents", path.text),
                        "one of the two versions of pgdyno does not have it",
                    ),
                }
            }
        }
        (Value::Array(shown), Value::Array(found)) => {
            if shown.len() != found.len() {
                let what = format!("{}: how many", path.text);
                checker.figure(what, shown.len(), found.len(), false);
                return;
            }
            for (index, (shown, found)) in shown.iter().zip(found).enumerate() {
                beside(checker, &path.at(index), shown, found, same_version);
            }
        }
        (Value::Number(a), Value::Number(b)) => {
            let agrees = a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| close(a, b));
            leaf(checker, path, Some(shown), Some(found), agrees);
        }
        (a, b) => leaf(checker, path, Some(a), Some(b), a == b),
    }
}

fn leaf(
    checker: &mut Checker,
    path: &Path,
    shown: Option<&Value>,
    found: Option<&Value>,
    agrees: bool,
) {
    let text = |value: Option<&Value>| match value {
        None => "nothing".to_owned(),
        Some(value) => cut(&value.to_string()),
    };
    let is_number = |value: Option<&Value>| value.is_some_and(Value::is_number);
    let is_figure = path.is_computed && (is_number(shown) || is_number(found));
    if is_figure {
        checker.figure(&path.text, text(shown), text(found), agrees)
    } else {
        checker.value(&path.text, text(shown), text(found), agrees)
    }
}

/// Long values say enough by their beginning.
fn cut(text: &str) -> String {
    match text.char_indices().nth(120) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
