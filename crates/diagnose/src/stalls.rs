//! Seconds in which a checkpoint or a vacuum was under way, beside those in which none was.

use super::ratio::ratio;
use pgdyno_model::Outcome;

/// So many seconds of each kind it takes to set them side by side.
const SECONDS_MIN: usize = 3;
/// A second that an event only touches is not one of it.
const OVERLAP_MIN_US: i64 = 200_000;
/// Shorter ones are the rest of a phase.
const SECOND_MIN_US: u64 = 900_000;
/// With so many of them in the measured time, they were forced.
const FORCED_MIN: usize = 3;
/// A checkpoint each so many seconds is none that a server makes by itself at any sane setting.
const FREQUENT_S: f64 = 20.0;

/// What events of the server cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Stalls {
    /// Of the transactions that the quiet seconds would have made in all of the time, those missing.
    pub share: f64,
    /// Checkpoints in the measured time.
    pub checkpoints: usize,
    /// Vacuums of the server's own in it.
    pub vacuums: usize,
    /// The share of the time in which any was under way.
    pub time_share: f64,
    /// Committed a second with one under way and without, where both are known.
    pub goodput: Option<(f64, f64)>,
    /// Checkpoints came so often that they belong to all of the time, whatever they cost.
    pub is_frequent: bool,
}

impl Stalls {
    /// Of a trial; `None` when events of the server were not read.
    pub fn of(outcome: &Outcome, measured_us: (i64, i64)) -> Option<Self> {
        let observed = &outcome.observed;
        let has_read = |name: &str| observed.instruments.iter().any(|row| row.name == name);
        if !has_read("pg.events") {
            return None;
        }
        let (from_us, to_us) = measured_us;
        let spans = |kinds: &[&str]| -> Vec<(i64, i64)> {
            let events = observed.events.iter();
            let events = events.filter(|event| kinds.contains(&event.kind.as_str()));
            let spans = events.map(|event| {
                let length_us = event.length_us.unwrap_or(0).cast_signed();
                (
                    event.at_us.max(from_us),
                    (event.at_us + length_us).min(to_us),
                )
            });
            spans.filter(|(from, to)| from <= to).collect()
        };
        let checkpoints = spans(&["checkpoint"]);
        let vacuums = spans(&["autovacuum", "vacuum"]);
        let all: Vec<(i64, i64)> = checkpoints.iter().chain(&vacuums).copied().collect();
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for second in &outcome.recording.seconds {
            if second.warmup || second.length_us < SECOND_MIN_US {
                continue;
            }
            let begin_us = second.start_us as i64;
            let end_us = begin_us + second.length_us as i64;
            let overlap = |(from, to): &(i64, i64)| to.min(&end_us) - from.max(&begin_us);
            let rate = second.committed() as f64 * 1e6 / second.length_us as f64;
            if all.iter().any(|span| overlap(span) >= OVERLAP_MIN_US) {
                with.push(rate)
            } else {
                without.push(rate)
            }
        }
        let seconds = (with.len() + without.len()) as f64;
        let time_share = ratio(with.len() as f64, seconds);
        let (share, goodput) = cost(&with, &without);
        Some(Self {
            share,
            checkpoints: checkpoints.len(),
            vacuums: vacuums.len(),
            time_share,
            goodput,
            is_frequent: checkpoints.len() >= FORCED_MIN
                && (to_us - from_us) as f64 / 1e6 / (checkpoints.len() as f64) < FREQUENT_S,
        })
    }
}

/// The share of transactions that the seconds with an event cost, and the goodput with and without.
/// Nothing when the seconds with one are not clearly the slower ones.
fn cost(with: &[f64], without: &[f64]) -> (f64, Option<(f64, f64)>) {
    if with.len() < SECONDS_MIN.min(2) || without.len() < SECONDS_MIN {
        return (0.0, None);
    }
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
    let mut quiet = without.to_vec();
    quiet.sort_by(f64::total_cmp);
    // Slower than nine tenths of the quiet ones: not what chance does to the mean of several.
    let low = quiet[quiet.len() / 10];
    let (mean_with, mean_without) = (mean(with), mean(without));
    let goodput = Some((mean_with, mean_without));
    if mean_with >= low || mean_without <= 0.0 {
        return (0.0, goodput);
    }
    let missing = (mean_without - mean_with) * with.len() as f64;
    let possible = mean_without * (with.len() + without.len()) as f64;
    (missing / possible, goodput)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_with_an_event_cost_what_they_lack_to_the_quiet_ones() {
        let (share, goodput) = cost(&[20.0, 20.0], &[100.0, 100.0, 100.0, 100.0, 90.0, 110.0]);
        assert!((share - 0.2).abs() < 1e-9, "{share}");
        assert_eq!(goodput, Some((20.0, 100.0)));
    }

    #[test]
    fn chance_is_not_taken_for_a_cost() {
        assert_eq!(cost(&[95.0, 99.0], &[100.0, 90.0, 110.0, 95.0]).0, 0.0);
        // Too few to compare with.
        assert_eq!(cost(&[1.0, 1.0], &[100.0, 100.0]), (0.0, None));
        assert_eq!(cost(&[1.0], &[100.0; 9]), (0.0, None));
    }
}
