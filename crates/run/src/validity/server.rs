//! Notes from what instruments saw of the server over the measured part.

use pgdyno_model::{Note, Severity};
use pgdyno_spec::text;

use pgdyno_model::observed::{Course, Observed};

const READINGS_MIN: usize = 9;
/// From this share of blocks on that were not in the server's cache, a cache can be said to warm.
const MISSES_MIN: f64 = 0.01;
/// By the last third the share must have fallen to this part of that of the first.
const FALLEN_TO: f64 = 0.75;

/// Whether the share of blocks that were not found in the server's cache still fell while it was
/// measured.
pub fn cache_warming(observed: &Observed, from_us: i64) -> Option<Note> {
    let mut reads = observed.all("pg.blocks.read");
    reads.find_map(|read| {
        let mut hits = observed.all("pg.blocks.hit");
        let hit = hits.find(|hit| hit.of.series.label == read.of.series.label)?;
        let (first, last) = misses(read, hit, from_us)?;
        let is_warming = first >= MISSES_MIN && last <= first * FALLEN_TO;
        is_warming.then(|| {
            Note::new(
                "cache-warming",
                Severity::Warning,
                format!(
                    "the server's cache was still filling: {} of the blocks missed it in the first third of the \
                     measured time, {} in the last third",
                    text::share(first),
                    text::share(last)
                ),
                "use a longer warm-up (--warmup) or a longer trial",
            )
        })
    })
}

/// The share of misses in the first and the last third of the measured time.
fn misses(read: &Course, hit: &Course, from_us: i64) -> Option<(f64, f64)> {
    // Both come of one reading each second. A rate is of the time before it.
    let mut both = Vec::new();
    for (at_us, read) in read.samples.iter().filter(|(at_us, _)| *at_us > from_us) {
        let hit = hit.samples.iter().find(|(at, _)| at == at_us)?.1;
        both.push((*read, hit));
    }
    if both.len() < READINGS_MIN {
        return None;
    }
    let share = |of: &[(f64, f64)]| {
        let (read, hit) = of
            .iter()
            .fold((0.0, 0.0), |(r, h), (read, hit)| (r + read, h + hit));
        (read + hit > 0.0).then(|| read / (read + hit))
    };
    let third = both.len() / 3;
    Some((share(&both[..third])?, share(&both[both.len() - third..])?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::observed::{Kind, NewSeries, Series};

    fn observed(shares: &[f64]) -> Observed {
        let course = |name, of: fn(f64) -> f64| Course {
            of: NewSeries {
                number: 0,
                instrument: 0,
                series: Series::new(name, "1/s"),
                kind: Kind::Counter,
            },
            samples: (1..)
                .zip(shares)
                .map(|(second, share)| (second * 1_000_000, of(*share) * 1e4))
                .collect(),
            total: None,
        };
        Observed {
            series: vec![
                course("pg.blocks.read", |share| share),
                course("pg.blocks.hit", |share| 1.0 - share),
            ],
            ..Observed::default()
        }
    }

    #[test]
    fn a_cache_that_warms_is_noted_and_one_that_is_warm_or_stays_cold_is_not() {
        let warming = [0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02];
        let note = cache_warming(&observed(&warming), 0).unwrap();
        assert_eq!(note.code, "cache-warming");
        let reported = "40.0 % of the blocks missed it in the first third of the measured time, \
                        3.0 % in the last third";
        assert!(note.sentence.ends_with(reported), "{}", note.sentence);
        assert_eq!(cache_warming(&observed(&[0.3; 12]), 0), None);
        assert_eq!(
            cache_warming(&observed(&warming.map(|share| share / 100.0)), 0),
            None
        );
        // Too short, or warm by the end of the warm-up.
        assert_eq!(cache_warming(&observed(&warming[..8]), 0), None);
        let warmed: Vec<f64> = warming.into_iter().chain([0.02; 9]).collect();
        assert_eq!(cache_warming(&observed(&warmed), 9_000_000), None);
        assert_eq!(cache_warming(&Observed::default(), 0), None);
    }
}
