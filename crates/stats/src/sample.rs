//! A figure over repeats, and its summary.

use std::fmt;

use crate::bootstrap::Bootstrap;
use crate::interval::Interval;
use crate::order;
use crate::outliers::{self, Outlier};

/// One figure for each repeat, in the order of the repeats; at least one, all finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    values: Vec<f64>,
    sorted: Vec<f64>,
}

/// Why figures make no sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SampleError {
    /// There is no figure at all.
    Empty,
    /// One is infinite or not a number.
    NotFinite { index: usize, value: f64 },
}

impl fmt::Display for SampleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "no repeat has this figure"),
            Self::NotFinite { index, value } => {
                write!(f, "the figure of repeat {} is {value}", index + 1)
            }
        }
    }
}

impl std::error::Error for SampleError {}

/// What is shown of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub n: usize,
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// Of the median, with at least [`crate::MIN_REPEATS_FOR_INTERVAL`] repeats.
    pub interval: Option<Interval>,
}

impl Sample {
    /// Takes one figure a repeat.
    pub fn new(values: &[f64]) -> Result<Self, SampleError> {
        if values.is_empty() {
            return Err(SampleError::Empty);
        }
        if let Some(index) = values.iter().position(|v| !v.is_finite()) {
            return Err(SampleError::NotFinite {
                index,
                value: values[index],
            });
        }
        Ok(Self {
            values: values.to_vec(),
            sorted: order::sorted(values),
        })
    }

    /// The figures in the order of the repeats.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The figures in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// Median over the repeats: one disturbed repeat does not move it far.
    pub fn median(&self) -> f64 {
        order::median(&self.sorted)
    }

    /// Median and range, with an interval of the median where there are enough repeats.
    pub fn summary(&self, bootstrap: &Bootstrap) -> Summary {
        Summary {
            n: self.sorted.len(),
            median: self.median(),
            min: self.sorted[0],
            max: self.sorted[self.sorted.len() - 1],
            interval: bootstrap.median_interval(&self.sorted),
        }
    }

    /// The repeats that lie far from the others; they stay part of every figure.
    pub fn outliers(&self) -> Vec<Outlier> {
        outliers::outliers(&self.values, &self.sorted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_figures_and_all_are_finite() {
        assert_eq!(Sample::new(&[]), Err(SampleError::Empty));
        let error = Sample::new(&[1.0, f64::INFINITY]).unwrap_err();
        assert_eq!(error.to_string(), "the figure of repeat 2 is inf");
        assert!(
            Sample::new(&[f64::NAN])
                .unwrap_err()
                .to_string()
                .contains("repeat 1 is NaN")
        );
    }

    #[test]
    fn fewer_than_six_repeats_have_a_range_and_no_interval() {
        let summary = Sample::new(&[5.0, 1.0, 4.0, 2.0, 3.0])
            .unwrap()
            .summary(&Bootstrap::default());
        let expected = Summary {
            n: 5,
            median: 3.0,
            min: 1.0,
            max: 5.0,
            interval: None,
        };
        assert_eq!(summary, expected);
    }
}
