//! An experiment.

use pgdyno_model::document::page::ExperimentPage;

use crate::{answer, sections};

use super::{common, escaped, rate, table};
use pgdyno_spec::text as figures;

/// It, ready to be pasted.
pub fn experiment(document: &ExperimentPage) -> String {
    let points = document.points.iter().map(|point| {
        let figure = |name: &str| point.result.figures.get(name);
        let goodput = figure("goodput").and_then(|figure| figure.over_repeats.as_ref());
        let goodput = goodput.map(|spread| &spread.over);
        let (min, max) = (goodput.map(|s| s.min), goodput.map(|s| s.max));
        let together = |name| {
            let shown = figure(name).map(|figure| figure.percentile(figures::ms_as_shown));
            shown.unwrap_or_else(|| figures::DASH.to_owned())
        };
        let limit = point.limit.as_ref();
        vec![
            escaped(&point.result.title),
            rate(goodput.map(|s| s.median)),
            format!("{} to {}", rate(min), rate(max)),
            together("p50"),
            together("p99"),
            point.result.repeats.to_string(),
            limit.map_or_else(|| "–".to_owned(), |limit| escaped(&limit.name)),
        ]
    });
    let heading = [
        "point",
        "committed/s, median",
        "range",
        "p50, ms",
        "p99, ms",
        "repeats",
        "limited by",
    ];
    let points = table(&heading, &points.collect::<Vec<_>>());
    let answer = document.answer.as_ref().map(answer::markdown);
    common::begin(&document.common)
        + &answer.unwrap_or_default()
        + &sections::markdown(document.sections.as_deref().unwrap_or_default())
        + &points
        + &common::end(&document.common)
}
