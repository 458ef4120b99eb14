//! An experiment's points for programs: docs/json.md.

use pgdyno_stats::Bootstrap;
use serde_json::{Map, Value, json};

use super::{Point, Summary};
use crate::report::comparison::METRICS;
use crate::store::Kind;

impl Summary {
    /// For programs: docs/json.md.
    pub fn to_json(&self) -> Value {
        let experiment = &self.experiment;
        json!({
            "experiment": {
                "number": experiment.number,
                "uuid": experiment.uuid,
                "name": experiment.name,
                "created": experiment.created,
            },
            "points": self.points.iter().map(Point::to_json).collect::<Vec<_>>(),
            "maxima": self.maxima,
        })
    }
}

impl Point {
    fn to_json(&self) -> Value {
        let trials = self.trials.iter();
        let trials = trials.map(|trial| json!({ "trial": trial.number, "repeat": trial.repeat }));
        let left_out = self.left_out.iter().map(
            |(trial, why)| json!({ "trial": trial.number, "repeat": trial.repeat, "why": why }),
        );
        let outliers = self.outliers().into_iter().map(|(metric, outlier)| {
            let trial = &self.trials[outlier.index];
            json!({
                "figure": metric.figure.name,
                "trial": trial.number,
                "repeat": trial.repeat,
                "value": outlier.value,
                "modified_z_score": outlier.score,
            })
        });
        let unsteady = self.unsteady.iter().map(|(index, note)| {
            let trial = &self.trials[*index];
            json!({
                "trial": trial.number,
                "repeat": trial.repeat,
                "code": note.code,
                "sentence": note.sentence,
            })
        });
        let figures = METRICS.iter().map(|metric| {
            let name = metric.figure.name;
            let summary = self.sample(metric).map(|sample| {
                let summary = sample.summary(&Bootstrap::default());
                json!({
                    "n": summary.n,
                    "median": summary.median,
                    "min": summary.min,
                    "max": summary.max,
                    "interval": summary.interval.map(|interval| [interval.low, interval.high]),
                    "values": sample.values(),
                })
            });
            let mut figure = Map::new();
            figure.insert("over_repeats".to_owned(), json!(summary));
            if name.starts_with('p') {
                figure.insert("together_us".to_owned(), json!(self.percentile_us(name)));
            }
            (name.to_owned(), Value::Object(figure))
        });
        json!({
            "title": self.title,
            "varied": self.varied,
            "workload": self.workload,
            "point": self.trials.first().or(self.left_out.first().map(|(t, _)| t))
                .and_then(|trial| trial.point.clone()),
            "repeats": self.trials.len(),
            "trials": trials.collect::<Vec<_>>(),
            "latency": match self.kind {
                Kind::Response => "response",
                _ => "service",
            },
            "figures": figures.collect::<Map<_, _>>(),
            "committed": self.total(|trial| trial.committed),
            "failed": self.total(|trial| trial.failed),
            "retries": self.total(|trial| trial.retries),
            "outliers": outliers.collect::<Vec<_>>(),
            "unsteady": unsteady.collect::<Vec<_>>(),
            "uneven": self.uneven,
            "left_out": left_out.collect::<Vec<_>>(),
        })
    }
}
