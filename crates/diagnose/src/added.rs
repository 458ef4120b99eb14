//! What the generator itself adds to percentiles.

use pgdyno_measurement::{Added, Latencies, Recording};
use pgdyno_model::document::AddedRow;

/// From this share of a shown percentile on, a result is the client's too.
const ADDED_MAX_SHARE: f64 = 0.05;
/// Less is what waking a thread takes on an idle CPU (measured: bench/VERDICT.md): no load generator that
/// sleeps adds less.
const WAKE_UP_US: f64 = 50.0;

/// Of what is added to percentiles, that by which the client limits the result, if it does.
pub fn too_much(rows: &[AddedRow]) -> Option<&AddedRow> {
    let is_much = |row: &&AddedRow| row.share > ADDED_MAX_SHARE && row.adds_us > WAKE_UP_US;
    let much = rows.iter().filter(is_much);
    much.max_by(|a, b| a.share.total_cmp(&b.share))
}

/// The percentiles that are shown.
const SHOWN: [f64; 3] = [50.0, 99.0, 99.9];

/// By percentile, those that enough transactions were followed for: ten beyond it.
pub fn added(added: &Added) -> Vec<AddedRow> {
    let rows = SHOWN.iter().filter_map(|percentile| {
        let of = |latencies: &Latencies| latencies.percentile_us(*percentile).map(|us| us as f64);
        let shown_us = of(&added.shown)?;
        let adds_us = (shown_us - of(&added.without)?).max(0.0);
        let at_most_us = (shown_us - of(&added.without_max)?).max(adds_us);
        Some(AddedRow {
            percentile: *percentile,
            followed: added.shown.count(),
            shown_us,
            adds_us,
            at_most_us,
            share: if shown_us > 0.0 {
                adds_us / shown_us
            } else {
                0.0
            },
        })
    });
    rows.collect()
}

/// What the longest time in which pgdyno itself did not run is of the longest latency; none without such a time.
/// What was under way then has waited for all of it.
pub fn added_by_stops(recording: &Recording) -> Option<AddedRow> {
    let measured = &recording.measured;
    let origin_us = { recording.seconds.iter() }
        .find(|second| !second.warmup)
        .map_or(0, |second| second.start_us);
    let until_us = origin_us + measured.elapsed_us;
    let stops = recording.generator_stops.iter();
    let longest_us = stops
        .map(|stop| stop.within_us(origin_us, until_us))
        .max()
        .filter(|length_us| *length_us > 0)?;
    let all = measured.all();
    let shown = all.response.as_ref().unwrap_or(&all.service);
    let shown_us = shown.max_us() as f64;
    let adds_us = (longest_us as f64).min(shown_us);
    (shown_us > 0.0).then(|| AddedRow {
        percentile: 100.0,
        followed: shown.count(),
        shown_us,
        adds_us,
        at_most_us: adds_us,
        share: adds_us / shown_us,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_what_percentiles_would_be_less() {
        let mut of = Added::default();
        for at in 0..2000u64 {
            let is_late = at % 20 == 0;
            of.shown.record(if is_late { 9000 } else { 1000 });
            of.without.record(1000);
            of.without_max.record(900);
        }
        let rows = added(&of);
        // Two of two thousand lie beyond the last.
        assert_eq!(rows.len(), 2);
        assert!(rows[0].adds_us < 2.0 && rows[0].share < 0.01, "{rows:?}");
        assert!((rows[1].adds_us - 8000.0).abs() < 20.0, "{rows:?}");
        assert!((rows[1].at_most_us - 8100.0).abs() < 20.0, "{rows:?}");
        assert_eq!(too_much(&rows), Some(&rows[1]));
        assert_eq!(too_much(&rows[..1]), None);
    }

    #[test]
    fn too_few_say_nothing() {
        assert!(added(&Added::default()).is_empty());
    }
}
