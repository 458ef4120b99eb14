//! What a sweep of SLOB shows below its answer: a row a point, and where the caches end.

use pgdyno_model::document::section::{
    CurveLine, CurveMark, CurvePlace, FigureCurve, FigureTable, Section, SectionPart, TableCell,
    TableColumn, Tone,
};
use pgdyno_model::document::slob_sweep::{CacheEnd, ReadCosts, SlobPoint, SlobSweep};
use pgdyno_spec::experiment::slob_sweep::SlobVary;
use pgdyno_spec::text as figures;

use super::Results;

/// A mark so many times as far as all that was measured has no place on the axis.
const BEYOND: f64 = 1.5;

pub(super) fn sections(results: &Results, fit: &SlobSweep) -> Vec<Section> {
    let mut parts = curves(results, fit);
    parts.push(SectionPart::Table(table(results, fit)));
    vec![Section::new(
        "slob",
        "Cache fit",
        "Cache sizes and the cost of a read",
        parts,
    )]
}

fn dash(value: Option<f64>, text: impl Fn(f64) -> String) -> TableCell {
    value.map_or_else(|| figures::DASH.to_owned(), text).into()
}

fn table(results: &Results, fit: &SlobSweep) -> FigureTable {
    let sweep = results.document();
    let mut columns = TableColumn::named(
        fit.x.title.clone(),
        [
            "LIOPS",
            "range",
            "hit %",
            "misses/s",
            "device reads/s",
            "µs a read",
            "CPU µs",
            "cores",
            "log MB/s",
            "unit p99 ms",
        ],
    );
    columns[2] = TableColumn::figure("range").deep();
    columns.push(TableColumn::words("trials").deep());
    let mut table = FigureTable::new("", columns);
    "range and trials".clone_into(&mut table.fold);
    let rate = |of: Option<f64>| dash(of, figures::rate);
    let fine = |of: Option<f64>| dash(of, |value| format!("{value:.2}"));
    for (point, shown) in sweep.points.iter().zip(&fit.points) {
        let ends = shown.liops.as_ref().filter(|of| of.over.n > 1).map(|of| {
            of.over
                .interval
                .map_or((of.over.min, of.over.max), Into::into)
        });
        let ends = ends.map_or_else(
            || "one trial".to_owned(),
            |(low, high)| format!("{}–{}", figures::rate(low), figures::rate(high)),
        );
        table.row([
            name(sweep.sweep, point).into(),
            rate(point.liops).tone(Tone::Strong),
            TableCell::from(ends).tone(Tone::Quiet),
            fine(point.hit_ratio.map(|share| share * 100.0)),
            rate(point.misses_per_s),
            rate(point.device_reads_per_s),
            fine(point.us_per_logical_read),
            fine(point.cpu_us_per_logical_read),
            fine(point.cores_busy),
            fine(point.wal_bytes_per_s.map(|bytes| bytes / (1 << 20) as f64)),
            point
                .unit_p99_us
                .map_or_else(|| figures::DASH.to_owned(), figures::ms)
                .into(),
            TableCell::trials(shown.trials.iter().copied()),
        ]);
    }
    let failed: u32 = sweep.points.iter().map(|point| point.failed).sum();
    if failed > 0 {
        table.notes.push(format!(
            "{failed} trials failed and are not in the figures."
        ));
    }
    if let Some(caches) = &sweep.caches {
        let size = |bytes: u64| figures::bytes(bytes as f64);
        let memory = caches.memory_bytes.map_or_else(
            || "memory is not known".to_owned(),
            |memory| format!("memory is {}", size(memory)),
        );
        let of = |cache: &str, end, keeps, known: &str| {
            format!("{cache}: {} ({known}).", end_words(end, keeps))
        };
        let setting = format!("is {}", size(caches.shared_buffers_bytes));
        table.notes.push(of(
            "shared_buffers",
            caches.shared_buffers_end,
            caches.shared_buffers_keeps_bytes,
            &setting,
        ));
        table.notes.push(of(
            "page cache",
            caches.page_cache_end,
            caches.page_cache_keeps_bytes,
            &memory,
        ));
        let levels = levels(&caches.read_us);
        if !levels.is_empty() {
            table
                .notes
                .push(format!("a logical read: {}.", levels.join(", ")));
        }
    }
    table
}

fn name(sweep: SlobVary, point: &SlobPoint) -> String {
    match sweep {
        SlobVary::Size => figures::bytes(point.size_bytes.unwrap_or(0) as f64),
        SlobVary::Sessions => figures::count(point.value),
        SlobVary::Reads => format!("{} %", 100 - point.value.min(100)),
    }
}

/// Reads against what is swept, and what one costs.
fn curves(results: &Results, fit: &SlobSweep) -> Vec<SectionPart> {
    let sweep = results.document();
    let names: Vec<String> = sweep
        .points
        .iter()
        .map(|point| name(sweep.sweep, point))
        .collect();
    let line = |title: &str, color: usize, of: &dyn Fn(usize) -> Option<CurvePlace>| CurveLine {
        name: title.to_owned(),
        color,
        places: (0..fit.points.len()).filter_map(of).collect(),
    };
    let plain = |at: usize, value: Option<f64>, unit: &str| {
        value.map(|value| {
            CurvePlace::at(
                at,
                value,
                format!("{}: {}{unit}", names[at], figures::some(value)),
            )
        })
    };
    let liops = |at: usize| {
        let of = fit.points[at].liops.as_ref()?;
        let words = format!(
            "{}: {} logical reads a second",
            names[at],
            figures::some(of.over.median)
        );
        let (low, high) = of.over.interval.map(|[low, high]| (low, high)).unzip();
        let repeats = of.values.iter().copied().flatten().collect();
        Some(CurvePlace {
            low,
            high,
            repeats,
            ..CurvePlace::at(at, of.over.median, words)
        })
    };
    let reads = vec![
        line("logical reads", 1, &liops),
        line("misses", 5, &|at| {
            plain(at, fit.points[at].misses_per_s, " misses a second")
        }),
        line("device reads", 3, &|at| {
            plain(
                at,
                fit.points[at].device_reads_per_s,
                " device reads a second",
            )
        }),
    ];
    let cost = line("each", 1, &|at| {
        plain(
            at,
            fit.points[at].us_per_read.filter(|us| *us > 0.0),
            " µs for a logical read",
        )
    });
    let curve =
        |id: &str, title: String, note: &str, lines: Vec<CurveLine>, is_logarithmic| FigureCurve {
            id: id.to_owned(),
            title,
            note: note.to_owned(),
            axis: fit.x.title.clone(),
            places: names.clone(),
            lines: lines
                .into_iter()
                .filter(|line| !line.places.is_empty())
                .collect(),
            marks: marks(fit),
            is_logarithmic,
        };
    let title = format!("Reads against {}", fit.x.title);
    let mut curves = vec![curve(
        "slob-chart",
        title,
        "per second; dashed: where caches end",
        reads,
        false,
    )];
    if cost.places.len() > 1 {
        let title = "What a logical read costs".to_owned();
        curves.push(curve(
            "slob-cost",
            title,
            "µs of a session for one, log scale",
            vec![cost],
            true,
        ));
    }
    curves.into_iter().map(SectionPart::Curve).collect()
}

/// Where caches end on an axis of equally spaced places: between two of them by the logarithm.
fn marks(fit: &SlobSweep) -> Vec<CurveMark> {
    let xs: Vec<f64> = fit.points.iter().map(|point| point.x as f64).collect();
    let (Some(first), Some(last)) = (xs.first(), xs.last()) else {
        return Vec::new();
    };
    let place = |x: f64| match xs.iter().position(|of| *of >= x) {
        None => xs.len() as f64 - 0.6,
        Some(0) if x < *first => -0.4,
        Some(0) => 0.0,
        Some(right) => {
            let (a, b) = (xs[right - 1], xs[right]);
            let share = if a > 0.0 {
                (x / a).ln() / (b / a).ln()
            } else {
                (x - a) / (b - a)
            };
            right as f64 - 1.0 + share
        }
    };
    let near = fit
        .marks
        .iter()
        .filter(|mark| mark.x as f64 <= last * BEYOND);
    let marks = near.map(|mark| CurveMark {
        at: place(mark.x as f64),
        name: format!("{} ({})", mark.name, figures::bytes(mark.x as f64)),
    });
    marks.collect()
}

/// Where a cache ends, in words.
pub fn end_words(end: Option<CacheEnd>, keeps: Option<f64>) -> String {
    let size = figures::bytes;
    let ends = end.map(|end| (end.fits_bytes, end.spills_bytes));
    let mut text = match ends {
        None | Some((None, None)) => "size not known".to_owned(),
        Some((Some(fits), Some(spills))) => format!("{} fit, {} do not", size(fits), size(spills)),
        Some((None, Some(least))) => format!("{} do not fit; measure smaller sets", size(least)),
        Some((Some(most), None)) => format!("{} fit; the cache is larger", size(most)),
    };
    if let Some(keeps) = keeps {
        text += &format!("; larger sets find {} kept", size(keeps));
    }
    text
}

/// What a logical read costs on each level that is known.
pub fn levels(costs: &ReadCosts) -> Vec<String> {
    let levels = [
        ("shared_buffers", costs.shared_buffers),
        ("the page cache", costs.page_cache),
        ("the device", costs.device),
    ];
    let levels = levels
        .into_iter()
        .filter_map(|(from, us)| Some(format!("{:.2} µs from {from}", us?)));
    levels.collect()
}
