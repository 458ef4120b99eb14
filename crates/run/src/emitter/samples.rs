//! What instruments read, while a run is under way: hundreds of figures a second, which a run of hours
//! would have a million times. They are written to a [`Spool`] and read when the run is over.

use std::io::{self, Read};

use pgdyno_model::observed::{Batch, Observed, Sample};
use pgdyno_platform::spool::Spool;

const SAMPLE_BYTES: usize = 24;
/// So many are read at a time.
const READ_SAMPLES: usize = 1000;

#[derive(Default)]
pub struct Samples {
    spool: Spool,
    count: usize,
}

impl Samples {
    pub fn keep(&mut self, samples: &[Sample]) {
        for sample in samples {
            self.spool.push(&bytes(sample));
        }
        self.count += samples.len();
    }

    /// Adds all of them to what was observed, where their series are.
    ///
    /// # Errors
    /// The spool's file cannot be read. Then none is added: some would make a shorter run of it.
    pub fn restore(self, observed: &mut Observed) -> io::Result<()> {
        let restored = self.add_to(observed);
        if restored.is_err() {
            for course in &mut observed.series {
                course.samples.clear();
            }
        }
        restored
    }

    fn add_to(self, observed: &mut Observed) -> io::Result<()> {
        let mut from = self.spool.into_reader()?;
        let mut left = self.count;
        while left > 0 {
            let some = left.min(READ_SAMPLES);
            let samples: io::Result<Vec<Sample>> = (0..some).map(|_| read(&mut from)).collect();
            observed.add(Batch {
                samples: samples?,
                ..Batch::default()
            });
            left -= some;
        }
        Ok(())
    }
}

fn bytes(sample: &Sample) -> [u8; SAMPLE_BYTES] {
    let mut bytes = [0; SAMPLE_BYTES];
    bytes[..8].copy_from_slice(&(sample.series as u64).to_le_bytes());
    bytes[8..16].copy_from_slice(&sample.at_us.to_le_bytes());
    bytes[16..].copy_from_slice(&sample.value.to_le_bytes());
    bytes
}

fn read(from: &mut impl Read) -> io::Result<Sample> {
    let mut part = || {
        let mut bytes = [0; 8];
        from.read_exact(&mut bytes).map(|()| bytes)
    };
    Ok(Sample {
        series: u64::from_le_bytes(part()?) as usize,
        at_us: i64::from_le_bytes(part()?),
        value: f64::from_le_bytes(part()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_model::observed::{Kind, NewSeries, Series};

    const SERIES: usize = 300;

    fn observed() -> Observed {
        let new = |number| NewSeries {
            number,
            instrument: 0,
            series: Series::new("test.figure", "1/s").of(number.to_string()),
            kind: Kind::Gauge,
        };
        let mut observed = Observed::default();
        observed.add(Batch {
            series: (0..SERIES).map(new).collect(),
            ..Batch::default()
        });
        observed
    }

    /// What is read in a second.
    fn second(number: usize) -> Vec<Sample> {
        let sample = |series| Sample {
            series,
            at_us: number as i64 * 1_000_000 - 1,
            value: (number * series) as f64 / 3.0,
        };
        (0..SERIES).map(sample).collect()
    }

    #[test]
    fn samples_come_back_to_their_series_in_their_order() {
        let (mut samples, mut expected, mut restored) =
            (Samples::default(), observed(), observed());
        for number in 0..20 {
            samples.keep(&second(number));
            expected.add(Batch {
                samples: second(number),
                ..Batch::default()
            });
        }
        samples.restore(&mut restored).unwrap();
        assert_eq!(restored.series[7].samples.len(), 20);
        assert_eq!(restored, expected);
    }

    #[test]
    fn of_samples_that_cannot_all_be_read_there_is_none() {
        let (mut samples, mut restored) = (Samples::default(), observed());
        (0..20).for_each(|number| samples.keep(&second(number)));
        samples.count += 1;
        samples.restore(&mut restored).unwrap_err();
        assert_eq!(restored, observed());
    }

    #[test]
    fn an_hour_of_samples_takes_no_more_memory_than_a_minute() {
        let mut samples = Samples::default();
        (0..60).for_each(|number| samples.keep(&second(number)));
        let of_a_minute = samples.spool.memory_bytes();
        (60..3600).for_each(|number| samples.keep(&second(number)));
        assert_eq!(samples.spool.memory_bytes(), of_a_minute);
        assert!(of_a_minute < 100_000, "{of_a_minute} bytes");
    }
}
