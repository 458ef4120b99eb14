//! Where a client's time went for each commit, by what its session was seen to do.

use pgdyno_model::notebook::{Notebook, TrialRow};
use std::collections::BTreeMap;

use pgdyno_diagnose::Evidence;
use pgdyno_model::Failure;
use pgdyno_model::document::page::TimePerCommit;

/// A session that waits for nothing.
const CPU: &str = "CPU";
/// One that no statement of is at work: the answer or the next statement is on its way.
const CLIENT: &str = "Client";
/// Classes that are less than this share of both sides are put together.
const SHARE_MIN: f64 = 0.01;
const OTHER: &str = "Other";

/// By class, of both sides; `None` where one was not seen.
///
/// # Errors
/// The store cannot be read.
pub fn of(
    store: &dyn Notebook,
    a: &[&TrialRow],
    b: &[&TrialRow],
) -> Result<Option<Vec<TimePerCommit>>, Failure> {
    let (Some(a), Some(b)) = (side(store, a)?, side(store, b)?) else {
        return Ok(None);
    };
    Ok(Some(rows(&a, &b)))
}

/// Microseconds of a commit by class.
type Parts = BTreeMap<String, f64>;

/// Over all repeats together; `None` when one of them was not seen.
fn side(store: &dyn Notebook, trials: &[&TrialRow]) -> Result<Option<Parts>, Failure> {
    let mut all = Parts::new();
    let mut commits = 0;
    for trial in trials {
        let outcome = store.outcome(trial.number)?;
        let evidence = Evidence::of(&outcome);
        let Some((evidence, budget)) = evidence
            .as_ref()
            .and_then(|e| Some((e, e.budget.as_ref()?)))
        else {
            return Ok(None);
        };
        let elapsed_us = evidence.elapsed_s * 1e6;
        commits += evidence.all.counts.committed;
        for (event, sessions) in &budget.events {
            let class = event.split_once(':').map_or(CPU, |(class, _)| class);
            *all.entry(class.to_owned()).or_default() += sessions * elapsed_us;
        }
        // Samples may find a little more than there can be.
        let outside = (budget.busy - budget.active()).max(0.0);
        *all.entry(CLIENT.to_owned()).or_default() += outside * elapsed_us;
    }
    if commits == 0 {
        return Ok(None);
    }
    all.values_mut().for_each(|us| *us /= commits as f64);
    Ok(Some(all))
}

/// The greatest first.
fn rows(a: &Parts, b: &Parts) -> Vec<TimePerCommit> {
    let whole = |parts: &Parts| parts.values().sum::<f64>();
    let (whole_a, whole_b) = (whole(a), whole(b));
    let mut classes: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for class in a.keys().chain(b.keys()) {
        let of = |parts: &Parts| parts.get(class).copied().unwrap_or(0.0);
        let (us_a, us_b) = (of(a), of(b));
        let is_small = us_a < SHARE_MIN * whole_a && us_b < SHARE_MIN * whole_b;
        match is_small {
            false => classes.insert(class, (us_a, us_b)),
            true => None,
        };
    }
    let (shown_a, shown_b) = classes
        .values()
        .fold((0.0, 0.0), |(a, b), (us_a, us_b)| (a + us_a, b + us_b));
    let rest = ((whole_a - shown_a).max(0.0), (whole_b - shown_b).max(0.0));
    if rest.0 > 1e-6 * whole_a || rest.1 > 1e-6 * whole_b {
        let other = classes.entry(OTHER).or_default();
        *other = (other.0 + rest.0, other.1 + rest.1);
    }
    let mut rows: Vec<_> = classes.into_iter().collect();
    rows.sort_by(|(_, a), (_, b)| (b.0 + b.1).total_cmp(&(a.0 + a.1)));
    let rows = rows.into_iter().map(|(class, (a_us, b_us))| {
        let name = match class {
            CLIENT => "outside the server",
            class => class,
        };
        TimePerCommit {
            class: class.to_owned(),
            name: name.to_owned(),
            a_us,
            b_us,
        }
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parts(of: &[(&str, f64)]) -> Parts {
        of.iter()
            .map(|(name, us)| ((*name).to_owned(), *us))
            .collect()
    }

    #[test]
    fn small_classes_are_put_together_and_nothing_is_lost() {
        let a = parts(&[
            (CPU, 100.0),
            ("IO", 400.0),
            ("IPC", 1.0),
            ("BufferPin", 2.0),
        ]);
        let b = parts(&[(CPU, 90.0), (CLIENT, 300.0), ("IPC", 2.0)]);
        assert_eq!(
            serde_json::to_value(rows(&a, &b)).unwrap(),
            json!([
                { "class": "IO", "name": "IO", "a_us": 400.0, "b_us": 0.0 },
                { "class": "Client", "name": "outside the server", "a_us": 0.0, "b_us": 300.0 },
                { "class": "CPU", "name": "CPU", "a_us": 100.0, "b_us": 90.0 },
                { "class": "Other", "name": "Other", "a_us": 3.0, "b_us": 2.0 },
            ])
        );
    }
}
