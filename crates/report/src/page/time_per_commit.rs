//! Where a client's time went for each commit, of two sides beside each other.

use pgdyno_model::notebook::{Notebook, TrialRow};
use std::collections::BTreeMap;

use pgdyno_diagnose::diagnose;
use pgdyno_model::document::Part;
use pgdyno_model::document::page::TimePerCommit;
use pgdyno_spec::Failure;

/// Parts that are less than this share of both sides are put together.
const SHARE_MIN: f64 = 0.01;
const OTHER: &str = "other";

/// By part, of both sides; `None` where the server's parts of one were not seen.
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

/// Microseconds of a commit by part.
type Parts = BTreeMap<Part, f64>;

/// Over all repeats together; `None` when one of them was not seen.
fn side(store: &dyn Notebook, trials: &[&TrialRow]) -> Result<Option<Parts>, Failure> {
    let mut all = Parts::new();
    let mut commits = 0;
    for trial in trials {
        let outcome = store.outcome(trial.number)?;
        let budget = diagnose(&outcome).map(|(budget, _)| budget);
        let Some(budget) = budget.filter(|budget| budget.unseen.is_none()) else {
            return Ok(None);
        };
        commits += outcome.recording.measured.all().counts.committed;
        for part in &budget.parts {
            *all.entry(part.part).or_default() += part.client_s * 1e6;
        }
    }
    if commits == 0 {
        return Ok(None);
    }
    all.values_mut().for_each(|us| *us /= commits as f64);
    Ok(Some(all))
}

fn rows(a: &Parts, b: &Parts) -> Vec<TimePerCommit> {
    let whole = |parts: &Parts| parts.values().sum::<f64>();
    let (whole_a, whole_b) = (whole(a), whole(b));
    let mut rows = Vec::new();
    let mut rest = (0.0, 0.0);
    for part in Part::ALL {
        let of = |parts: &Parts| parts.get(&part).copied().unwrap_or(0.0);
        let (a_us, b_us) = (of(a), of(b));
        if a_us < SHARE_MIN * whole_a && b_us < SHARE_MIN * whole_b {
            rest = (rest.0 + a_us, rest.1 + b_us);
        } else {
            rows.push(row(part.code(), part.name(), (a_us, b_us)));
        }
    }
    if rest != (0.0, 0.0) {
        rows.push(row(OTHER, "Others, each less than 1 %", rest));
    }
    rows.sort_by(|a, b| (b.a_us + b.b_us).total_cmp(&(a.a_us + a.b_us)));
    rows
}

fn row(class: &str, name: &str, (a_us, b_us): (f64, f64)) -> TimePerCommit {
    TimePerCommit {
        class: class.to_owned(),
        name: name.to_owned(),
        a_us,
        b_us,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn small_parts_are_put_together_and_nothing_is_lost() {
        let a = Parts::from([
            (Part::ServerCpu, 100.0),
            (Part::Wal, 400.0),
            (Part::Ipc, 1.0),
            (Part::Slru, 2.0),
        ]);
        let b = Parts::from([
            (Part::ServerCpu, 90.0),
            (Part::Wire, 300.0),
            (Part::Ipc, 2.0),
        ]);
        let others = "Others, each less than 1 %";
        assert_eq!(
            serde_json::to_value(rows(&a, &b)).unwrap(),
            json!([
                { "class": "wal", "name": "WAL and commit", "a_us": 400.0, "b_us": 0.0 },
                { "class": "wire", "name": "On the wire", "a_us": 0.0, "b_us": 300.0 },
                { "class": "server-cpu", "name": "Server on a CPU", "a_us": 100.0, "b_us": 90.0 },
                { "class": "other", "name": others, "a_us": 3.0, "b_us": 2.0 },
            ])
        );
    }
}
