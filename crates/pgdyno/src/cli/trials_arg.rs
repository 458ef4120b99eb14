//! Sets of trials as they are named on command lines: an experiment, `tag:NAME`, `3-8`, `3,5,7`.

use pgdyno_model::notebook::{Filter, TrialRow};
use pgdyno_model::{Exit, Failure, State};
use pgdyno_store::Store;

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
fn numbers(text: &str) -> Result<Option<Vec<i64>>, Failure> {
    if !text
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b',' || b == b'-')
    {
        return Ok(None);
    }
    let wrong = || {
        Failure::with(Exit::Usage, format!("\"{text}\" is no list of trials"))
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
    fn trials_are_named_by_numbers_and_ranges() {
        assert_eq!(numbers("3-5,9").unwrap(), Some(vec![3, 4, 5, 9]));
        assert_eq!(numbers("before").unwrap(), None);
        for wrong in ["3-", "5-3", ",", "1--2", "1-999999999"] {
            let failure = numbers(wrong).unwrap_err();
            assert!(
                failure.to_string().contains("no list of trials"),
                "{failure}"
            );
        }
    }
}
