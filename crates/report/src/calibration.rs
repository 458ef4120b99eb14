//! The documents of a calibration, alone and beside others. How each verdict is computed:
//! `docs/calibrate.md`.

mod answer;
mod text;

pub use text::{WIDTH, systems as systems_text};

use pgdyno_measurement::Latencies;
use pgdyno_model::document::answer::Answer;
use pgdyno_model::document::calibration::{
    Bar, Baseline, Calibration, CalibrationLine, Calibrations, Concurrency, LineAt, What,
};
use pgdyno_model::document::section::Section;

use crate::lab::Lab;
use pgdyno_diagnose::calibration::growth::bend;
use pgdyno_diagnose::calibration::judge::{Judged, Line};
use pgdyno_diagnose::calibration::read;
use pgdyno_spec::text as figures;
use serde_json::{Value, json};

/// Grows when a field changes its meaning or goes.
const FORMAT: u32 = 1;

impl Lab for Calibration {
    fn facts(&self) -> Option<(&'static str, Value)> {
        Some(("calibrations", json!([self])))
    }

    fn title(&self, _: &str) -> String {
        format!("Calibration of {}", figures::shown(&self.target))
    }

    fn answer(&self) -> Option<Answer> {
        Some(answer::answer(self))
    }

    fn heading(&self) -> String {
        text::heading(self)
    }

    fn sections(&self) -> Vec<Section> {
        text::sections(self)
    }
}

/// What a calibration came to (`docs/calibrate.md`).
pub fn document(c: &read::Calibration) -> Calibration {
    let judged = Judged::of(c);
    Calibration {
        format: FORMAT,
        calibration: c.experiment.name.clone(),
        uuid: c.experiment.uuid.clone(),
        created: c.experiment.created.clone(),
        target: c.target.clone(),
        server: c.server.clone(),
        facts: c.facts.clone(),
        params: c.params.clone(),
        variables: c.variables.iter().cloned().collect(),
        baseline: judged.is_met().map(|is_met| {
            if is_met {
                Baseline::Met
            } else {
                Baseline::Missed
            }
        }),
        lines: judged.lines.iter().map(line).collect(),
        sync: judged.sync.clone(),
        host: c.host.clone(),
        concurrency: (c.steps.len() > 1).then(|| concurrency(c)),
    }
}

fn line(line: &Line<'_>) -> CalibrationLine {
    let latencies = &line.measured.latencies;
    let (parts, endpoints) = (line.parts.iter(), line.endpoints.iter());
    CalibrationLine {
        line: line.what,
        trial: line.measured.trial,
        endpoint: line.endpoint.map(str::to_owned),
        endpoints: endpoints
            .map(|(name, at, verdict)| LineAt {
                name: (*name).to_owned(),
                count: at.latencies.count(),
                p50_us: at.latencies.percentile_us(50.0),
                mean_us: at.mean_us(),
                verdict: *verdict,
            })
            .collect(),
        count: latencies.count(),
        min_us: min_us(latencies),
        p50_us: latencies.percentile_us(50.0),
        p95_us: latencies.percentile_us(95.0),
        p99_us: latencies.percentile_us(99.0),
        max_us: latencies.max_us(),
        mean_us: line.measured.mean_us(),
        expected: line.expected,
        yardstick: line.yardstick,
        verdict: line.verdict,
        without_round_trip_us: line.without_round_trip.map(|(us, _)| us),
        without_round_trip_within: line.without_round_trip.map(|(_, within)| within),
        parts: parts
            .map(|(part, us)| (format!("{}_us", part.name()), *us))
            .collect(),
        cause: line.cause.clone(),
        doubts: line.doubts.clone(),
        server_side: line.measured.server_side.clone(),
    }
}

/// The least of all, to three digits.
fn min_us(latencies: &Latencies) -> Option<u64> {
    latencies.histogram().min_us()
}

fn concurrency(c: &read::Calibration) -> Concurrency {
    let bend = bend(&c.steps);
    Concurrency {
        steps: c.steps.clone(),
        least_growth: c.growth.least,
        throughput_stops: c.growth.saturation(&c.steps),
        p99_bends: bend.as_ref().ok().copied(),
        p99_unknown: bend.err(),
    }
}

/// Systems side by side: each one's document, and a list of bars a line.
pub fn systems(systems: &[read::Calibration]) -> Calibrations {
    let systems: Vec<Calibration> = systems.iter().map(document).collect();
    let bars = [What::RoundTrip, What::Commit, What::Read, What::Update].map(|what| {
        let bars = systems.iter().filter_map(|c| {
            let line = c.lines.iter().find(|line| line.line == what)?;
            Some(Bar {
                system: text::label(c, &systems),
                uuid: c.uuid.clone(),
                mean_us: line.mean_us,
                p99_us: line.p99_us,
                without_round_trip_us: line.without_round_trip_us,
                expected: line.expected,
                verdict: line.verdict,
            })
        });
        (what, bars.collect())
    });
    Calibrations {
        format: FORMAT,
        bars: bars.into(),
        systems,
    }
}
