//! Sets of trials as they are named on command lines: an experiment or some of its points
//! (`NAME:clients=4`), `tag:NAME`, `3-8`, `3,5,7`.

use std::collections::BTreeSet;

use pgdyno_model::State;
use pgdyno_model::notebook::{Filter, TrialRow};
use pgdyno_report::comparison::Set;
use pgdyno_report::points;
use pgdyno_spec::{Exit, Failure, experiment::words};
use pgdyno_store::Store;

/// The set that this names, for a comparison: as [`trials`], and `NAME:clients=4,scale=10` for the
/// points of an experiment that have these values.
///
/// # Errors
/// As [`trials`], or no point has such a value.
pub fn set(store: &Store, called: &str) -> Result<Set, Failure> {
    let Some((name, wanted)) = chosen(called) else {
        return Ok(Set {
            trials: trials(store, called)?,
            chosen: BTreeSet::new(),
        });
    };
    let mut set = Set {
        trials: trials(store, name)?,
        chosen: BTreeSet::new(),
    };
    for (parameter, value) in wanted {
        let found = in_points(&set.trials, parameter)?;
        let there: BTreeSet<&String> = found.iter().map(|(_, value)| value).collect();
        if !there.contains(&value.to_owned()) {
            let there: Vec<&str> = there.into_iter().map(String::as_str).collect();
            let text = format!("\"{called}\": no point has {parameter} {value}");
            return Err(
                Failure::with(Exit::Usage, text).hint(format!("there are: {}", there.join(", ")))
            );
        }
        let (paths, is_wanted): (Vec<String>, Vec<bool>) = found
            .into_iter()
            .map(|(path, found)| (path, found == value))
            .unzip();
        let mut is_wanted = is_wanted.into_iter();
        set.trials.retain(|_| is_wanted.next().unwrap_or(false));
        set.chosen.extend(paths);
    }
    Ok(set)
}

/// Values by parameter, and the name before them.
fn chosen(called: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let is_name = |name: &str| {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        !name.is_empty() && name.chars().all(is_letter)
    };
    let at = called.char_indices().filter(|(_, c)| *c == ':');
    let mut splits = at.map(|(at, _)| (&called[..at], &called[at + 1..]));
    splits.find_map(|(name, values)| {
        let values = values.split(',').map(|one| {
            let (parameter, value) = one.split_once('=')?;
            is_name(parameter).then_some((parameter, value))
        });
        Some((name, values.collect::<Option<Vec<_>>>()?)).filter(|(name, _)| !name.is_empty())
    })
}

/// Where each trial has this parameter, with its value. `scale` is `params.scale`, too.
fn in_points(trials: &[TrialRow], parameter: &str) -> Result<Vec<(String, String)>, Failure> {
    let mut found = Vec::new();
    for trial in trials {
        let values = points::values(trial);
        let paths = [
            parameter.to_owned(),
            format!("params.{parameter}"),
            format!("settings.{parameter}"),
        ];
        let path = paths.into_iter().find(|path| values.contains_key(path));
        let Some(path) = path else {
            let there: Vec<&str> = values.keys().map(String::as_str).collect();
            let text = format!("trial {} has no parameter {parameter}", trial.number);
            return Err(
                Failure::with(Exit::Usage, text).hint(format!("there are: {}", there.join(", ")))
            );
        };
        let value = words::value(&values[&path]);
        found.push((path, value));
    }
    Ok(found)
}

/// The complete trials that this names, without those that are excluded.
///
/// # Errors
/// It names none, or nothing that the store has.
pub fn trials(store: &Store, called: &str) -> Result<Vec<TrialRow>, Failure> {
    let filter = Filter {
        state: Some(State::Complete),
        ..Filter::default()
    };
    let trials = if let Some(tag) = called.strip_prefix("tag:") {
        store.trials(&Filter {
            tags: vec![tag.to_owned()],
            ..filter
        })?
    } else if let Some(numbers) = numbers(called)? {
        let trials: Result<Vec<TrialRow>, Failure> = numbers
            .iter()
            .map(|number| store.trial(&number.to_string()))
            .collect();
        trials?
    } else {
        store.trials(&Filter {
            experiment: Some(called.to_owned()),
            ..filter
        })?
    };
    let counts = |trial: &TrialRow| {
        let is_maximum = trial.tags.iter().any(|tag| tag == "maximum");
        trial.state == State::Complete && trial.excluded.is_none() && !is_maximum
    };
    let trials: Vec<TrialRow> = trials.into_iter().filter(counts).collect();
    if trials.is_empty() {
        return Err(Failure::with(
            Exit::Usage,
            format!("\"{called}\" names no complete trial that counts"),
        )
        .hint("pgdyno ls lists trials"));
    }
    Ok(trials)
}

/// `3-8` and `3,5,7`; `None` when it is no list of numbers.
pub(super) fn numbers(text: &str) -> Result<Option<Vec<i64>>, Failure> {
    if !text
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b',' || b == b'-')
    {
        return Ok(None);
    }
    let wrong = || {
        Failure::with(Exit::Usage, format!("\"{text}\" is not a list of trials"))
            .hint("trials are named so: 12, 3-8, 3,5,7")
    };
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: i64 = first.parse().map_err(|_| wrong())?;
        let last: i64 = last.parse().map_err(|_| wrong())?;
        if first > last || last - first > 100_000 {
            return Err(wrong());
        }
        numbers.extend(first..=last);
    }
    Ok(Some(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_an_experiment_are_named_by_their_values() {
        assert_eq!(
            chosen("disks:clients=4,params.scale=10"),
            Some(("disks", vec![("clients", "4"), ("params.scale", "10")]))
        );
        assert_eq!(
            chosen("a: b:work_mem=64MB"),
            Some(("a: b", vec![("work_mem", "64MB")]))
        );
        for plain in ["disks", "tag:x", "disks: ssd", "tag:a=", "3-8"] {
            let found = chosen(plain);
            assert!(found.is_none() || plain == "tag:a=", "{found:?}");
        }
    }

    #[test]
    fn trials_are_named_by_numbers_and_ranges() {
        assert_eq!(numbers("3-5,9").unwrap(), Some(vec![3, 4, 5, 9]));
        assert_eq!(numbers("before").unwrap(), None);
        for wrong in ["3-", "5-3", ",", "1--2", "1-999999999"] {
            let failure = numbers(wrong).unwrap_err();
            assert!(
                failure.to_string().contains("not a list of trials"),
                "{failure}"
            );
        }
    }
}
