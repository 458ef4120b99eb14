//! Whether an experiment's parameters take its values. What is read from a file was held against
//! them already, with the line of each mistake; what is made by pgdyno from a user's numbers was not.

use std::collections::BTreeSet;

use serde_json::Value;

use super::parameter;
use pgdyno_spec::{
    Experiment, Failure,
    experiment::{Axis, POINT_NAME},
};

/// Checks all of them.
///
/// # Errors
/// A name that is no parameter, a value that it does not take, a parameter in two places, repeats
/// out of range.
pub fn check(experiment: &Experiment) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    let once = |name| {
        if seen.insert(name) {
            Ok(())
        } else {
            Err(Failure::new(format!("{name} is given twice")))
        }
    };
    let of_axes = experiment.axes.iter().flat_map(Axis::names);
    let fixed = experiment.fixed.keys().map(String::as_str);
    fixed.chain(of_axes).try_for_each(once)?;

    let steps = experiment.axes.iter().flat_map(|axis| &axis.0).flatten();
    let steps = steps.map(|(name, value)| (name, value));
    let excludes = experiment.excludes.iter().flat_map(|e| &e.values);
    let excludes = excludes.flat_map(|(name, all)| all.iter().map(move |value| (name, value)));
    for (name, value) in experiment.fixed.iter().chain(steps).chain(excludes) {
        takes(name, value)?;
    }
    if let Some(name) = experiment.varied_secret() {
        let text = format!(
            "{name} has several values, but by its name it is a secret, and secrets are not kept"
        );
        return Err(Failure::new(text).hint(
            "give it one value, or vary another parameter and choose the secret in the script",
        ));
    }
    let most = Experiment::REPEATS_MAX;
    if !(1..=most).contains(&experiment.repeats) {
        return Err(Failure::new(format!(
            "repeats: expected a whole number from 1 to {most}"
        )));
    }
    Ok(())
}

fn takes(name: &str, value: &Value) -> Result<(), Failure> {
    let wrong = |what: &str| Failure::new(format!("{name}: {what}"));
    if name == POINT_NAME && value.is_string() {
        return Ok(());
    }
    let kind = parameter::find(name).ok_or_else(|| wrong("no such parameter"))?;
    kind.accept(value).map_err(|why| wrong(&why))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_not_read_from_a_file_is_held_against_the_parameters_too() {
        let e = || Experiment::named("e").fix("workload", ["tpcb"]);
        let secret = "postgresql://me:secret@db/x";
        for (wrong, want) in [
            (
                e().fix("clients", 0),
                "clients: it must be a whole number from 1 to 100000",
            ),
            (e().axis("duration", [1, 0]), "longer than nothing"),
            (e().fix("target", secret), "a password does not belong here"),
            (
                e().fix("settings.primary_conninfo", "host=a password=secret"),
                "settings.primary_conninfo: it looks like a password",
            ),
            (
                e().axis("settings.x.token", ["secret"]),
                "settings.x.token: it looks like a password",
            ),
            (e().fix("cleints", 1), "cleints: no such parameter"),
            (e().fix("clients", Value::Null), "clients: "),
            (
                e().fix("clients", 1).axis("clients", [2]),
                "clients is given twice",
            ),
            (
                e().exclude([("rate", vec![json!("x%")])]),
                "rate: expected a positive number",
            ),
            (
                e().repeats(0),
                "repeats: expected a whole number from 1 to 10000",
            ),
        ] {
            let failure = check(&wrong).unwrap_err().to_string();
            assert!(failure.contains(want), "{failure}");
            assert!(!failure.contains("secret"), "{failure}");
        }
        let right = e().fix("params.scale", 2).axis("rate", ["50%", "max"]);
        assert_eq!(check(&right), Ok(()));
    }
}
