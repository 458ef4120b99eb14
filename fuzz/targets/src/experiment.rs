//! Experiment files. What is read, printed and read again is the same experiment.

use std::path::Path;

use pgdyno_run::experiment::plan::Plan;
use pgdyno_run::experiment::reader;
use pgdyno_run::experiment::toml_text::Source;
use pgdyno_spec::{Experiment, TargetSpec, experiment::Axis};

/// More points take long, which is no mistake.
const POINTS_MAX: usize = 200;

pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(experiment) = read(&text) else {
        return;
    };
    let printed = experiment.to_toml();
    let again = read(&printed).unwrap_or_else(|e| panic!("{text}\nis printed as\n{printed}\n{e}"));
    // A list of scripts, alone, is read back as an axis with one step, which is the same points.
    if !experiment.fixed.values().any(serde_json::Value::is_array) {
        assert_eq!(again, experiment, "{text}\nis printed as\n{printed}");
    }
    let mut axes = experiment.axes.iter();
    let points = axes.try_fold(1, |all: usize, Axis(steps)| all.checked_mul(steps.len()));
    let trials = points.and_then(|points| points.checked_mul(experiment.repeats as usize));
    if trials.is_some_and(|trials| trials <= POINTS_MAX) {
        // Plans or says why not.
        let _ = Plan::new(experiment, &TargetSpec::default(), 1);
    }
}

fn read(text: &str) -> Result<Experiment, pgdyno_spec::Failure> {
    let source = Source {
        name: "x.toml",
        text,
    };
    let read = reader::read(source, "x", Path::new("/nonexistent"));
    if let Err(error) = &read {
        // Whatever is wrong can be said.
        assert!(!error.to_string().is_empty());
    }
    read
}
