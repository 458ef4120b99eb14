//! Making a bundle.

use std::collections::BTreeMap;
use std::path::Path;

use pgdyno_model::notebook::{ExperimentRow, TrialRow};
use pgdyno_report::comparison::Set;
use pgdyno_spec::Failure;
use pgdyno_store::{Copied, Store};
use serde_json::Value;

use crate::bundle::{
    self, BundledExperiment, BundledTrial, FORMAT, Maker, Manifest, Missing, NOTEBOOK, Parts,
    Shown, VERSION,
};
use crate::{shown, workloads};

#[derive(Debug)]
pub struct Exported {
    pub copied: Copied,
    /// The size of the file.
    pub bytes: u64,
    /// The hash of the whole.
    pub sha256: String,
    /// What is not in it.
    pub missing: Vec<Missing>,
}

/// Writes these trials as a bundle. With two sets of them their comparison is in it, too, where they have
/// something in common.
///
/// # Errors
/// There is a file of this name; a trial cannot be read; the file cannot be written.
pub fn export(
    store: &Store,
    sets: &[Vec<i64>],
    to: &Path,
    commit: Option<&str>,
) -> Result<Exported, Failure> {
    bundle::check_new(to)?;
    let mut numbers = sets.concat();
    numbers.sort_unstable();
    numbers.dedup();
    let directory = bundle::scratch()?;
    let file = directory.path().join(NOTEBOOK);
    let copied = store.export(Some(&numbers), &file)?;
    let new = Store::existing(&file)?;
    let mut trials = trials_of(&new)?;
    trials.sort_by_key(|trial| trial.number);
    let mut there = BTreeMap::new();
    for trial in &trials {
        there.insert(store.trial_number(&trial.uuid)?, trial.number);
    }
    let was: BTreeMap<i64, i64> = there.iter().map(|(was, is)| (*is, *was)).collect();
    let mut parts = Parts::new();
    let mut missing = Vec::new();
    let mut documents = Vec::new();
    let bundled = trials.iter().map(|trial| BundledTrial {
        number: trial.number,
        uuid: trial.uuid.clone(),
        was: was.get(&trial.number).copied().unwrap_or_default(),
    });
    let bundled = bundled.collect();
    for trial in &trials {
        let path = format!("shown/trial-{}.json", trial.number);
        match shown::trial(&new, trial) {
            Ok(document) => parts.insert(path.clone(), text(&document)),
            Err(failure) => {
                missing.push(Missing {
                    what: format!("what was shown of trial {}", trial.number),
                    why: failure.message,
                });
                continue;
            }
        };
        documents.push(Shown {
            path,
            command: format!("pgdyno show {} --json", trial.uuid),
            trials: vec![trial.number],
            experiment: None,
            against: Vec::new(),
        });
    }
    let mut experiments = Vec::new();
    for (number, row) in experiments_of(&new, &trials)?.into_iter().enumerate() {
        let path = format!("shown/experiment-{}.json", number + 1);
        parts.insert(path.clone(), text(&shown::experiment(&new, &row)?));
        documents.push(Shown {
            path,
            command: format!("pgdyno show --experiment {} --json", row.uuid),
            trials: Vec::new(),
            experiment: Some(row.uuid.clone()),
            against: Vec::new(),
        });
        let path = definition(&row).map(|toml| {
            let path = format!(
                "experiments/{}-{}.toml",
                number + 1,
                workloads::file_name(&row.name)
            );
            parts.insert(path.clone(), toml.into_bytes());
            path
        });
        experiments.push(BundledExperiment {
            uuid: row.uuid,
            name: row.name,
            path,
        });
    }
    if let [a, b] = sets {
        let side = |numbers: &[i64]| -> Vec<i64> {
            let here = numbers
                .iter()
                .filter_map(|number| there.get(number).copied());
            here.collect()
        };
        let (a, b) = (side(a), side(b));
        if let Ok(document) = shown::compared((&new, &set(&trials, &a)), (&new, &set(&trials, &b)))
        {
            let path = "shown/comparison.json".to_owned();
            parts.insert(path.clone(), text(&shown::value(&document)?));
            documents.push(Shown {
                path,
                command: "pgdyno compare A B --json".to_owned(),
                trials: a,
                experiment: None,
                against: b,
            });
        }
    }
    let workloads = workloads::collect(&new, &trials, &mut parts, &mut missing)?;
    new.seal()?;
    let notebook = std::fs::read(&file)
        .map_err(|e| Failure::new(format!("cannot read {}: {e}", file.display())))?;
    parts.insert(NOTEBOOK.to_owned(), notebook);
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        version: VERSION,
        sha256: String::new(),
        pgdyno: Maker {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: commit.map(str::to_owned),
        },
        trials: bundled,
        experiments,
        workloads,
        shown: documents,
        missing: missing.clone(),
        parts: Vec::new(),
    };
    let (bytes, sha256) = bundle::write(to, manifest, &parts)?;
    Ok(Exported {
        copied,
        bytes,
        sha256,
        missing,
    })
}

/// All trials of a notebook, what each generator measured among them.
pub fn trials_of(store: &Store) -> Result<Vec<TrialRow>, Failure> {
    let numbers = store.query("SELECT number FROM trial_begun ORDER BY number")?;
    let numbers = numbers.rows.iter().filter_map(|row| row.first());
    numbers.map(|number| store.trial(&number.text())).collect()
}

/// The experiments of these trials, in the order of their numbers.
pub fn experiments_of(store: &Store, trials: &[TrialRow]) -> Result<Vec<ExperimentRow>, Failure> {
    let mut rows: BTreeMap<i64, ExperimentRow> = BTreeMap::new();
    for trial in trials {
        let Some((number, name)) = trial.experiment.zip(trial.experiment_name.as_ref()) else {
            continue;
        };
        if !rows.contains_key(&number) {
            let named = store.experiments_named(name)?;
            rows.extend(named.into_iter().map(|row| (row.number, row)));
        }
    }
    rows.retain(|number, _| trials.iter().any(|trial| trial.experiment == Some(*number)));
    Ok(rows.into_values().collect())
}

/// The trials with these numbers that count.
pub fn set(trials: &[TrialRow], numbers: &[i64]) -> Set {
    let counts = |trial: &&TrialRow| {
        let is_complete = trial.state == pgdyno_model::State::Complete;
        is_complete && trial.excluded.is_none() && numbers.contains(&trial.number)
    };
    Set {
        trials: trials.iter().filter(counts).cloned().collect(),
        chosen: Default::default(),
    }
}

/// The text of the experiment's file.
pub fn definition(row: &ExperimentRow) -> Option<String> {
    let definition: Value = serde_json::from_str(&row.definition).ok()?;
    let texts = [&definition["definition"]["toml"], &definition["toml"]];
    texts
        .into_iter()
        .find_map(|text| text.as_str().map(str::to_owned))
}

fn text(document: &Value) -> Vec<u8> {
    format!("{document:#}\n").into_bytes()
}
