//! How much load a system takes: latency against load, the highest load that keeps the limit, and
//! where the curve bends. For people and for programs.

use pgdyno_stats::{Bootstrap, Estimate, Knee, Sample};
use serde_json::{Value, json};

use super::table::Table;
use crate::plan::experiment::capacity::{Ladder, Load, ladders};
use crate::plan::experiment::point::Point;
use crate::store::TrialRow;
use pgdyno_model::text as figures;

/// Characters of the longest bar.
const BAR: f64 = 24.0;

/// What was found.
pub struct Found<'a> {
    slo_us: f64,
    ladders: Vec<(String, Ladder<'a>)>,
}

impl<'a> Found<'a> {
    /// From the complete trials of an experiment: its points as they were planned, what varies in
    /// them, and the limit in microseconds.
    pub fn new(
        points: impl IntoIterator<Item = &'a Point>,
        varied: &[String],
        slo_us: f64,
        trials: &'a [TrialRow],
    ) -> Found<'a> {
        let varied: Vec<&str> = varied.iter().map(String::as_str).collect();
        let varied: Vec<&str> = varied.into_iter().filter(|name| *name != "rate").collect();
        let ladders = ladders(points, trials).into_iter();
        Found {
            slo_us,
            ladders: ladders
                .map(|ladder| (ladder.point.label(&varied), ladder))
                .collect(),
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let limit = ms(self.slo_us);
        let mut text = format!(
            "How much load keeps p99 within {limit} ms (response times: from when a transaction was to \
             start)\n"
        );
        for (label, ladder) in &self.ladders {
            text += &format!("\n{label}\n");
            text += &table(ladder, self.slo_us);
            let (curve, gaps) = ladder.curve();
            for gap in gaps {
                text += &format!("left out: {gap}\n");
            }
            match curve {
                Ok(curve) => {
                    let bootstrap = Bootstrap::default();
                    text += &self.capacity_words(ladder, curve.capacity(self.slo_us, &bootstrap));
                    text += &knee_words(curve.knee(&bootstrap));
                }
                Err(why) => text += &format!("no curve: {why}\n"),
            }
        }
        text
    }

    fn capacity_words(&self, ladder: &Ladder<'_>, capacity: pgdyno_stats::Capacity) -> String {
        use pgdyno_stats::Capacity::{At, AtLeast, Below};
        let limit = ms(self.slo_us);
        match capacity {
            At(estimate) => {
                let mut text = format!(
                    "capacity  {} transactions/s keep p99 within {limit} ms{}\n",
                    figures::rate(estimate.load),
                    interval(&estimate)
                );
                if let Some(load) = self.kept(ladder, estimate.load) {
                    text += &format!(
                        "          measured at {}/s: {} done, p99 {} ms\n",
                        figures::rate(load.rate_per_s),
                        figures::rate(median(goodputs(load)).unwrap_or(0.0)),
                        median(load.p99_us().unwrap_or_default()).map_or_else(String::new, ms),
                    );
                }
                text
            }
            Below(load) => format!(
                "capacity  below {} transactions/s, the lowest rate: measure lower ones\n",
                figures::rate(load)
            ),
            AtLeast(load) => format!(
                "capacity  {} transactions/s or more: no rate broke the limit; measure higher ones\n",
                figures::rate(load)
            ),
        }
    }

    /// The highest load up to this one that was measured.
    fn kept<'l>(&self, ladder: &'l Ladder<'a>, up_to: f64) -> Option<&'l Load<'a>> {
        let loads = ladder.loads.iter().rev();
        loads
            .filter(|load| load.p99_us().is_ok())
            .find(|load| load.rate_per_s <= up_to)
    }

    /// What tells each ladder from the others, for people.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.ladders.iter().map(|(title, _)| title.as_str())
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let bootstrap = Bootstrap::default();
        let ladders = self.ladders.iter().map(|(_, ladder)| {
            let (curve, gaps) = ladder.curve();
            let loads = ladder.loads.iter().map(|load| {
                let trials = load.trials.iter();
                json!({
                    "rate_per_s": load.rate_per_s,
                    "trials": trials.clone().map(|t| t.number).collect::<Vec<_>>(),
                    "goodput_per_s": trials.clone().map(|t| t.goodput_per_s).collect::<Vec<_>>(),
                    "response_p50_us": trials.clone().map(|t| t.response.p50_us).collect::<Vec<_>>(),
                    "response_p99_us": trials.clone().map(|t| t.response.p99_us).collect::<Vec<_>>(),
                    "failed": trials.map(|t| t.failed).collect::<Vec<_>>(),
                })
            });
            let found = curve.as_ref().ok();
            json!({
                "point": ladder.point.to_json(),
                "loads": loads.collect::<Vec<_>>(),
                "capacity": found.map(|curve| capacity_json(curve.capacity(self.slo_us, &bootstrap))),
                "knee": found.map(|curve| knee_json(curve.knee(&bootstrap))),
                "gaps": gaps,
            })
        });
        json!({ "slo_us": self.slo_us, "ladders": ladders.collect::<Vec<_>>() })
    }
}

fn table(ladder: &Ladder<'_>, slo_us: f64) -> String {
    let p99s = ladder.loads.iter().filter_map(|load| load.p99_us().ok());
    let p99s: Vec<f64> = p99s.filter_map(median).collect();
    let (least, most) = p99s
        .iter()
        .fold((f64::MAX, 1.0f64), |(l, m), p| (l.min(*p), m.max(*p)));
    let mut table = Table::default();
    table.row([
        "offered/s",
        "done/s",
        "failed",
        "p50 ms",
        "p99 ms",
        "of repeats",
        "kept",
        "",
    ]);
    for load in &ladder.loads {
        let p50s = load.trials.iter().filter_map(|t| t.response.p50_us);
        let p50 = median(p50s.map(|us| us as f64).collect());
        let failed: u64 = load.trials.iter().filter_map(|t| t.failed).sum();
        let (mut p99, mut range, mut kept, mut bar) =
            ("–".to_owned(), String::new(), "–".to_owned(), String::new());
        if let Ok(p99s) = load.p99_us()
            && let Some(of_all) = median(p99s.clone())
        {
            let (low, high) = ends(&p99s);
            p99 = ms(of_all);
            range = format!("{}–{}", ms(low), ms(high));
            let keeping = p99s.iter().filter(|p99| **p99 <= slo_us).count();
            kept = format!("{keeping} of {}", p99s.len());
            // Logarithmic: overload is a hundred times what is normal.
            let share = (of_all / least).ln() / (most / least).ln().max(1e-9);
            bar = "█".repeat(1 + (share * (BAR - 1.0)).round() as usize);
        }
        table.row([
            figures::rate(load.rate_per_s),
            median(goodputs(load)).map_or_else(|| "–".to_owned(), figures::rate),
            figures::count(failed),
            p50.map_or_else(|| "–".to_owned(), ms),
            p99,
            range,
            kept,
            // Figures stand to the right, a bar grows to the right.
            format!("{bar:<width$}", width = BAR as usize),
        ]);
    }
    table.text(100)
}

fn knee_words(knee: Knee) -> String {
    match knee {
        Knee::At(estimate) => format!(
            "knee      {} transactions/s{}: beyond it latency grows faster than load\n",
            figures::rate(estimate.load),
            interval(&estimate)
        ),
        Knee::AtOrBelow(load) => format!(
            "knee      {} transactions/s or less: latency grows faster than load from there on\n",
            figures::rate(load)
        ),
        Knee::AboveHighest(load) => format!(
            "knee      above {} transactions/s: measure higher rates\n",
            figures::rate(load)
        ),
    }
}

fn capacity_json(capacity: pgdyno_stats::Capacity) -> Value {
    use pgdyno_stats::Capacity::{At, AtLeast, Below};
    match capacity {
        At(estimate) => estimate_json("at", &estimate),
        Below(load) => json!({ "is": "below", "per_s": load }),
        AtLeast(load) => json!({ "is": "at-least", "per_s": load }),
    }
}

fn knee_json(knee: Knee) -> Value {
    match knee {
        Knee::At(estimate) => estimate_json("at", &estimate),
        Knee::AtOrBelow(load) => json!({ "is": "at-or-below", "per_s": load }),
        Knee::AboveHighest(load) => json!({ "is": "above", "per_s": load }),
    }
}

fn estimate_json(is: &str, estimate: &Estimate) -> Value {
    let interval = estimate.interval.map(
        |interval| json!({ "low": interval.low, "high": interval.high, "level": interval.level }),
    );
    json!({ "is": is, "per_s": estimate.load, "interval": interval })
}

fn interval(estimate: &Estimate) -> String {
    match estimate.interval {
        Some(interval) => format!(
            " ({} interval {} to {})",
            figures::roughly(interval.level),
            figures::rate(interval.low),
            figures::rate(interval.high)
        ),
        None => " (no interval: it takes six repeats)".to_owned(),
    }
}

fn goodputs(load: &Load<'_>) -> Vec<f64> {
    load.trials.iter().filter_map(|t| t.goodput_per_s).collect()
}

fn median(values: Vec<f64>) -> Option<f64> {
    Sample::new(&values).ok().map(|sample| sample.median())
}

fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::MAX, 0.0), |(low, high), v| {
        (low.min(*v), high.max(*v))
    })
}

fn ms(us: f64) -> String {
    figures::ms(us.round() as u64)
}
