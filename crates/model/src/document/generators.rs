//! The generators of a trial that several have measured.

use serde::{Deserialize, Serialize};

use pgdyno_spec::text;

/// What was seen when the clock of a notebook was read: half of the way there and back is how wrong it
/// may be (RFC 5905: the offset of four stamps, of which the server's two are one).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClockReading {
    /// The notebook's clock minus this host's, in microseconds.
    pub offset_us: i64,
    /// At most so far from the truth.
    pub uncertainty_us: u64,
}

/// What became of a generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum GeneratorEnd {
    /// It measures: the trial has not ended.
    Running,
    /// It measured to the end.
    Complete,
    /// It was interrupted, or its clients ended early.
    Early,
    /// It measured to its end, and some of its seconds still wait on its host.
    Waits,
    /// It was not heard of any more.
    Died,
    /// It had not arrived when the others began.
    NeverArrived,
}

impl GeneratorEnd {
    /// What became of it, behind its number.
    pub fn words(self) -> &'static str {
        match self {
            Self::Running => "measures",
            Self::Complete => "measured to the end",
            Self::Early => "ended early",
            Self::Waits => "could not send all of its seconds",
            Self::Died => "died",
            Self::NeverArrived => "never arrived",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Generator {
    pub generator: u32,
    pub end: GeneratorEnd,
    /// Its own trial in the notebook.
    pub trial: Option<i64>,
    /// The name of its host.
    pub host: Option<String>,
    pub clients: u32,
    /// Transactions it committed in the measured time.
    pub committed: u64,
    pub goodput_per_s: f64,
    /// CPU time of its engine, in microseconds; `null` when it is not known.
    pub cpu_us: Option<u64>,
    /// How much of the time its busiest thread wanted a CPU, 0 to 1.
    pub busiest_share: Option<f64>,
    /// How late its event loops were at worst, in microseconds.
    pub lag_max_us: Option<u64>,
    /// Mean of what it added to a latency itself, in microseconds; `null` when too few were followed.
    pub added_mean_us: Option<f64>,
    /// How late after the agreed instant its clients began, in microseconds, by its own clock.
    pub began_late_us: Option<u64>,
    /// Its clock beside the notebook's, before the trial.
    pub clock: Option<ClockReading>,
    /// How far that had moved after the trial, in microseconds.
    pub clock_drift_us: Option<i64>,
    /// Until when it measured, in microseconds since clients began to work.
    pub until_us: u64,
    /// Transactions it committed in each second, warm-up included, a second at each whole second; empty
    /// where there are more than 32 generators.
    pub committed_by_second: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Generators {
    /// How many there were to be.
    pub asked: u32,
    pub list: Vec<Generator>,
    /// From the first that began to the last, in microseconds, by their own clocks.
    pub start_spread_us: Option<u64>,
    /// How wrong that may be, by how the clocks were compared.
    pub start_uncertainty_us: Option<u64>,
}

impl Generators {
    /// Those that begin further apart measure each a bit of time in which not all of them work.
    pub const APART_MAX_US: u64 = 10_000;

    /// Who was not there all the time; `None` when all were.
    pub fn missing(&self) -> Option<String> {
        let missing = self
            .list
            .iter()
            .filter(|one| !matches!(one.end, GeneratorEnd::Complete | GeneratorEnd::Running));
        let words: Vec<String> = missing.map(Generator::missing).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

impl Generator {
    /// `generator 3 died: nothing of it after 12.0 s`.
    fn missing(&self) -> String {
        let until = text::fixed(self.until_us as f64 / 1e6, 1);
        let (number, words) = (self.generator, self.end.words());
        match self.until_us {
            0 => format!("generator {number} {words}"),
            _ => format!("generator {number} {words}: nothing of it after {until} s"),
        }
    }
}
