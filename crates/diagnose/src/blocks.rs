//! The trial in blocks: intervals over them say whether a difference is more than chance.

use pgdyno_model::Outcome;

use super::split::Parts;

/// Nothing is said of a difference over fewer.
pub const BLOCKS_MIN: usize = 5;
const BLOCKS_MAX: u64 = 30;
/// A second that is shorter is the rest of a phase: it belongs to the one before.
const SECOND_MIN_US: u64 = 500_000;

/// A stretch of the measured time, of whole seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// When it begins, on the clock of the seconds.
    pub from_us: i64,
    pub to_us: i64,
    pub parts: Parts,
}

impl Block {
    pub fn length_s(&self) -> f64 {
        (self.to_us - self.from_us) as f64 / 1e6
    }
}

/// Indices of the measured seconds that belong together, by block.
pub fn of_seconds(outcome: &Outcome) -> Vec<std::ops::Range<usize>> {
    let seconds = &outcome.recording.seconds;
    let first = seconds.iter().position(|second| !second.warmup);
    let Some(first) = first else {
        return Vec::new();
    };
    let whole = seconds[first..].iter();
    let whole = whole.filter(|second| second.length_us >= SECOND_MIN_US);
    let each = (whole.count() as u64).div_ceil(BLOCKS_MAX).max(1) as usize;
    let mut blocks: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, second) in seconds.iter().enumerate().skip(first) {
        match blocks.last_mut() {
            Some(last) if last.len() < each || second.length_us < SECOND_MIN_US => {
                last.end = at + 1;
            }
            _ => blocks.push(at..at + 1),
        }
    }
    // A last one that is much shorter than the others says too little by itself.
    if let [.., before, last] = &mut blocks[..]
        && 2 * last.len() < each
    {
        before.end = last.end;
        blocks.pop();
    }
    blocks
}

/// The mean of figures by block, and the half width of its 95 % interval (Student's t); `None` below
/// [`BLOCKS_MIN`].
pub fn mean(figures: &[f64]) -> (f64, Option<f64>) {
    let n = figures.len() as f64;
    if figures.is_empty() {
        return (0.0, None);
    }
    let mean = figures.iter().sum::<f64>() / n;
    if figures.len() < BLOCKS_MIN {
        return (mean, None);
    }
    let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
    let deviation = (squares / (n - 1.0)).sqrt();
    (mean, Some(t(n - 1.0) * deviation / n.sqrt()))
}

/// The 97.5 % quantile of Student's t, by its expansion about the normal one (Abramowitz and Stegun,
/// 26.7.5): right to 0.3 % from four degrees of freedom on.
fn t(freedom: f64) -> f64 {
    let x: f64 = 1.959_964;
    let first = (x.powi(3) + x) / 4.0;
    let second = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0;
    let third = (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0;
    x + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_is_as_in_tables() {
        for (freedom, expected) in [(4.0, 2.776), (9.0, 2.262), (29.0, 2.045)] {
            assert!(
                (t(freedom) - expected).abs() < 0.01,
                "{freedom} {}",
                t(freedom)
            );
        }
    }

    #[test]
    fn an_interval_needs_five_blocks() {
        assert_eq!(mean(&[1.0, 2.0, 3.0, 4.0]), (2.5, None));
        let (middle, half) = mean(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(middle, 3.0);
        assert!((half.unwrap() - 1.96).abs() < 0.02, "{half:?}");
    }
}
