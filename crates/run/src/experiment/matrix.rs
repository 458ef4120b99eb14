//! From an experiment to its points: axes multiplied, exclusions left out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use pgdyno_spec::{
    Experiment, Failure,
    experiment::{Axis, Exclude, point::Point},
};

/// More points than this are a mistake.
const POINTS_MAX: usize = 100_000;

/// All points, the axis written first turning slowest.
///
/// # Errors
/// Too many points or none, an exclusion that excludes nothing, values that contradict each other.
pub fn points(experiment: &Experiment) -> Result<Vec<Point>, Failure> {
    let mut axes = experiment.axes.iter();
    let total = axes.try_fold(1usize, |total, Axis(steps)| total.checked_mul(steps.len()));
    if total.is_none_or(|total| total > POINTS_MAX) {
        let lengths = experiment
            .axes
            .iter()
            .map(|Axis(steps)| steps.len().to_string());
        return Err(Failure::new(format!(
            "the matrix has more than {POINTS_MAX} points: {}",
            lengths.collect::<Vec<_>>().join(" × ")
        )));
    }
    let mut all = vec![experiment.fixed.clone()];
    for Axis(steps) in &experiment.axes {
        let multiplied = all.iter().flat_map(|point| {
            steps.iter().map(|step| {
                let mut point = point.clone();
                point.extend(step.iter().cloned());
                point
            })
        });
        all = multiplied.collect();
    }
    for exclude in &experiment.excludes {
        let before = all.len();
        all.retain(|point| !excludes(exclude, point));
        if all.len() == before {
            return Err(Failure::new(format!(
                "{}: this [[exclude]] excludes nothing",
                exclude.place.as_deref().unwrap_or(&experiment.name)
            ))
            .hint("no point that is left has these values; look for a typing error"));
        }
    }
    let mut seen = BTreeSet::new();
    // A value that is written twice is still one point.
    all.retain(|point| seen.insert(Point::new(point.clone()).key()));
    if all.is_empty() {
        return Err(Failure::new("the exclusions leave no point"));
    }
    all.into_iter()
        .map(|values| {
            let point = Point::new(values);
            point.check()?;
            Ok(point)
        })
        .collect()
}

fn excludes(exclude: &Exclude, point: &BTreeMap<String, Value>) -> bool {
    let matches = |(name, wanted): (&String, &Vec<Value>)| {
        point.get(name).is_some_and(|value| wanted.contains(value))
    };
    exclude.values.iter().all(matches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::reader;
    use crate::experiment::toml_text::Source;
    use std::path::Path;

    fn labels(text: &str) -> Result<Vec<String>, String> {
        let text = format!("workload = 'tpcb'\n{text}");
        let source = Source {
            name: "e",
            text: &text,
        };
        let e = reader::read(source, "e", Path::new("")).unwrap();
        let points = points(&e).map_err(|e| e.to_string())?;
        let varied = e
            .axes
            .iter()
            .flat_map(|Axis(s)| s[0].iter().map(|(n, _)| n.as_str()));
        let varied: Vec<&str> = varied.collect();
        Ok(points.iter().map(|p| p.label(&varied)).collect())
    }

    #[test]
    fn axes_multiply_zips_go_together_and_exclusions_leave_out() {
        let got = labels(
            "[matrix]\nparams.scale=[1, 2]\nclients=[1, 8]\n[[zip]]\nthreads=[1, 2]\nwarmup=[0, 1]\n\
             [[exclude]]\nclients=8\nparams.scale=[1]\n",
        );
        let want = [
            "scale 1, 1 client, 1 thread, warmup 0 s",
            "scale 1, 1 client, 2 threads, warmup 1 s",
            "scale 2, 1 client, 1 thread, warmup 0 s",
            "scale 2, 1 client, 2 threads, warmup 1 s",
            "scale 2, 8 clients, 1 thread, warmup 0 s",
            "scale 2, 8 clients, 2 threads, warmup 1 s",
        ];
        assert_eq!(got.unwrap(), want);
        assert_eq!(labels("clients=[1, 1]").unwrap(), ["1 client"]);
    }

    #[test]
    fn a_matrix_that_cannot_be_meant_is_refused() {
        let e = labels("[[exclude]]\nclients=3\n").unwrap_err();
        assert!(
            e.contains("e:2:1: this [[exclude]] excludes nothing"),
            "{e}"
        );
        let e = labels("clients=[1]\n[[exclude]]\nclients=1\n").unwrap_err();
        assert!(e.contains("leave no point"), "{e}");
        let many = (1..=400)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(",");
        let e = labels(&format!("clients=[{many}]\nthreads=[{many}]")).unwrap_err();
        assert!(e.contains("400 × 400"), "{e}");
        let e = labels("duration=1\ntransactions=1").unwrap_err();
        assert!(e.contains("duration and transactions"), "{e}");
    }
}
