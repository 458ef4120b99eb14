//! A course as a line of characters.

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A character a value, from the lowest to the highest of them; a space where there is none. Values
/// that are all the same are a flat line.
pub fn of(values: &[Option<f64>]) -> String {
    let known = || values.iter().flatten().copied();
    let (low, high) = (known().reduce(f64::min), known().reduce(f64::max));
    let (Some(low), Some(high)) = (low, high) else {
        return " ".repeat(values.len());
    };
    let level = |value: f64| {
        let share = if high > low {
            (value - low) / (high - low)
        } else {
            0.0
        };
        LEVELS[((share * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)]
    };
    let level = |value: &Option<f64>| value.map_or(' ', level);
    values.iter().map(level).collect()
}

/// What was read within these times, as so many means; `absent` is what it means when nothing was.
pub fn bins(
    samples: &[(i64, f64)],
    (from_us, to_us): (i64, i64),
    count: usize,
    absent: Option<f64>,
) -> Vec<Option<f64>> {
    let mut bins = vec![(0.0, 0u32); count];
    let length_us = (to_us - from_us).max(1) as f64;
    for (at_us, value) in samples {
        if (from_us..to_us).contains(at_us) {
            let place = (at_us - from_us) as f64 / length_us * count as f64;
            if let Some((sum, number)) = bins.get_mut(place as usize) {
                *sum += value;
                *number += 1;
            }
        }
    }
    let mean = |(sum, number): (f64, u32)| match number {
        0 => absent,
        _ => Some(sum / f64::from(number)),
    };
    bins.into_iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_is_low_and_the_highest_is_high() {
        let all: Vec<Option<f64>> = (0..8).map(|n| Some(f64::from(n))).collect();
        assert_eq!(of(&all), "▁▂▃▄▅▆▇█");
        assert_eq!(of(&[Some(-1.0), None, Some(1e9)]), "▁ █");
        assert_eq!(of(&[Some(5.0), Some(5.0)]), "▁▁");
        assert_eq!(of(&[None, None]), "  ");
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn a_bin_is_the_mean_of_what_was_read_in_it() {
        let samples = [(-1, 9.0), (0, 1.0), (4, 3.0), (5, 7.0), (10, 9.0)];
        assert_eq!(bins(&samples, (0, 10), 2, None), [Some(2.0), Some(7.0)]);
        let four = [Some(1.0), Some(3.0), Some(7.0), None];
        assert_eq!(bins(&samples, (0, 10), 4, None), four);
        assert_eq!(bins(&[], (0, 10), 2, Some(0.0)), [Some(0.0); 2]);
        assert_eq!(bins(&samples, (0, 0), 1, None), [None]);
    }
}
