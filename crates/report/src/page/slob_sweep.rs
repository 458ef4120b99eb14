//! The cache fit of a sweep of slob: logical reads against what is swept, and where the caches end.

use pgdyno_stats::{Bootstrap, Sample};

use crate::slob_sweep::{Point, Results, end_words, levels};
use pgdyno_model::document::Accounting;
use pgdyno_model::document::repeats::Spread;
use pgdyno_model::document::slob_sweep::{SlobAxis, SlobKnee, SlobMark, SlobSweep, SlobSweepPoint};
use pgdyno_spec::{experiment::slob_sweep::SlobVary, text::bytes};

pub fn document(results: &Results) -> SlobSweep {
    let (title, unit) = match results.vary {
        SlobVary::Size => ("active set", "bytes"),
        SlobVary::Sessions => ("sessions", "sessions"),
        SlobVary::Reads => ("share of reads", "%"),
    };
    let points = results.points.iter();
    let points = points.map(|(value, point)| of_point(place(results, *value), point));
    let mut document = SlobSweep {
        x: SlobAxis {
            title: title.to_owned(),
            unit: unit.to_owned(),
        },
        points: points.collect(),
        marks: Vec::new(),
        knees: Vec::new(),
        sentences: None,
    };
    if results.vary == SlobVary::Size {
        add_caches(&mut document, results);
    }
    document
}

/// Where the caches end, of a sweep of sizes.
fn add_caches(document: &mut SlobSweep, results: &Results) {
    let caches = results.caches();
    let marks = [
        (Some(caches.shared_buffers_bytes), "shared_buffers"),
        (caches.memory_bytes, "memory"),
    ];
    for (bytes, name) in marks {
        document.marks.extend(bytes.map(|bytes| SlobMark {
            x: bytes,
            name: name.to_owned(),
        }));
    }
    let ends = [
        (
            "shared_buffers",
            caches.shared_buffers_end,
            caches.shared_buffers_keeps_bytes,
        ),
        (
            "The page cache",
            caches.page_cache_end,
            caches.page_cache_keeps_bytes,
        ),
    ];
    let mut sentences = Vec::new();
    for (cache, end, keeps) in ends {
        let Some(found) = end else { continue };
        let words = format!("{cache}: {}", end_words(end, keeps));
        sentences.push(format!("{words}."));
        if let (Some(fits), Some(_)) = (found.fits_bytes, found.spills_bytes) {
            document.knees.push(SlobKnee {
                x: fits,
                sentence: words,
            });
        }
    }
    let levels = levels(&caches.read_us);
    if !levels.is_empty() {
        sentences.push(format!("A logical read costs {}.", levels.join(", ")));
    }
    let sizes = results.points.keys();
    if sentences.is_empty()
        && let Some((least, most)) = sizes.clone().next().zip(sizes.last())
    {
        let size = |blocks: &u64| bytes((blocks * results.room.block) as f64);
        sentences.push(format!(
            "Sets from {} to {}: too few to find a cache size.",
            size(least),
            size(most)
        ));
    }
    document.sentences = Some(sentences);
}

/// Where a value is on the axis.
fn place(results: &Results, value: u64) -> u64 {
    match results.vary {
        SlobVary::Size => value * results.room.block,
        SlobVary::Sessions => value,
        SlobVary::Reads => 100 - value.min(100),
    }
}

fn of_point(x: u64, point: &Point) -> SlobSweepPoint {
    let each: Vec<Option<f64>> = point.accounts.iter().map(Accounting::liops).collect();
    let all: Option<Vec<f64>> = each.iter().copied().collect();
    let sample = all.and_then(|all| Sample::new(&all).ok());
    SlobSweepPoint {
        x,
        liops: sample.map(|sample| Spread {
            over: (&sample.summary(&Bootstrap::default())).into(),
            values: each,
        }),
        hit_share: point.median(Accounting::hit_ratio),
        misses_per_s: point.median(Accounting::misses_per_s),
        device_reads_per_s: point.median(Accounting::device_reads_per_s),
        p50_us: point.units.percentile_us(50.0),
        p99_us: point.units.percentile_us(99.0),
        us_per_read: point.median(Accounting::us_per_logical_read),
        trials: point.numbers.clone(),
    }
}
