//! For tests of instruments: what they give, without a trial.

use std::time::{Duration, Instant};

use super::recorder::Recorder;
use super::{Instrument, Readings, catalog};
use pgdyno_model::observed::{Batch, Gap};

/// An instrument on the workbench: read when the test says so.
pub struct Bench<I> {
    pub instrument: I,
    recorder: Recorder,
    began: Instant,
}

impl<I: Instrument> Bench<I> {
    pub fn new(instrument: I) -> Self {
        let began = Instant::now();
        let mut recorder = Recorder::new(began);
        recorder.hurries();
        recorder.instrument(instrument.name().to_owned(), instrument.source());
        Self {
            instrument,
            recorder,
            began,
        }
    }

    fn step(
        &mut self,
        of: impl FnOnce(&mut I, &mut Readings) -> Result<(), Gap>,
    ) -> Result<(), Gap> {
        // So that rates have a time to be over.
        std::thread::sleep(Duration::from_millis(1));
        let mut out = Readings::default();
        let result = of(&mut self.instrument, &mut out);
        let reported = result.clone();
        self.recorder.reading(0, out, result, Instant::now());
        reported
    }

    pub fn begin(&mut self) -> Result<(), Gap> {
        self.step(|instrument, out| instrument.begin(out))
    }

    pub fn read(&mut self) -> Result<(), Gap> {
        self.step(|instrument, out| instrument.read(out))
    }

    /// As after the trial; gives all that was read since [`Bench::new`], times from there on.
    ///
    /// # Panics
    /// A series is not in the catalog as it was given.
    pub fn end(mut self) -> (Result<(), Gap>, Batch) {
        let result = self.step(|instrument, out| instrument.end(out));
        self.recorder.end();
        let batch = self.recorder.take(self.began);
        // Those of an endpoint are named by the scraped endpoint.
        let is_own = !self.instrument.name().starts_with("scrape.");
        for new in batch.series.iter().filter(|_| is_own) {
            let listed = catalog::row(&new.series.name);
            let is_listed =
                listed.is_some_and(|row| row.unit == new.series.unit && row.kind == new.kind);
            assert!(is_listed, "{new:?} is not what the catalog has: {listed:?}");
        }
        (result, batch)
    }
}

/// The figures of a batch, by the name and label of their series.
pub trait Figures {
    /// The samples of a series, in order.
    fn values(&self, name: &str, label: &str) -> Vec<f64>;

    /// How much a counter or size grew.
    ///
    /// # Panics
    /// There is no such total.
    fn grown(&self, name: &str, label: &str) -> f64;
}

impl Figures for Batch {
    fn values(&self, name: &str, label: &str) -> Vec<f64> {
        let number = number(self, name, label);
        let of = self.samples.iter().filter(|sample| sample.series == number);
        of.map(|sample| sample.value).collect()
    }

    fn grown(&self, name: &str, label: &str) -> f64 {
        let number = number(self, name, label);
        let total = self.totals.iter().find(|total| total.series == number);
        let total = total.unwrap_or_else(|| panic!("there is no total of {name} {label}"));
        total.after - total.before
    }
}

fn number(batch: &Batch, name: &str, label: &str) -> usize {
    let mut series = batch.series.iter();
    let found = series.find(|new| new.series.name == name && new.series.label == label);
    found
        .unwrap_or_else(|| panic!("there is no series {name} {label}"))
        .number
}
