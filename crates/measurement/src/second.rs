//! One second of a run, as reports and stores read it.

use super::{
    ClientTime, Counts, Interval, Latencies, Packed, PackedUnits, ScriptInterval, Units, Work,
};

/// One second of a run (shorter at the end of a phase), all threads together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Second {
    /// When it began, in microseconds since clients began to work.
    pub start_us: u64,
    pub length_us: u64,
    /// Whether it belongs to the warm-up.
    pub warmup: bool,
    pub time: ClientTime,
    /// Whether it lies after the asked duration: transactions end, none begins.
    pub drain: bool,
    pub scripts: Vec<ScriptSecond>,
}

/// What is left of a second at the end of a phase, when it is shorter, is no second.
const SECOND_MIN_US: u64 = 900_000;

impl Second {
    /// When it ended, in microseconds since clients began to work.
    pub fn end_us(&self) -> u64 {
        self.start_us + self.length_us
    }

    /// Committed transactions of all scripts.
    pub fn committed(&self) -> u64 {
        let scripts = self.scripts.iter();
        scripts.map(|script| script.counts.committed).sum()
    }

    /// Adds what it committed to its place among counts by second, unless it is too short to be one.
    pub fn add_committed(&self, by_second: &mut Vec<u64>) {
        if self.length_us < SECOND_MIN_US {
            return;
        }
        let at = (self.start_us / 1_000_000) as usize;
        if by_second.len() <= at {
            by_second.resize(at + 1, 0);
        }
        by_second[at] += self.committed();
    }
}

/// One script's part of a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptSecond {
    /// Transactions by how they ended.
    pub counts: Counts,
    /// Service times of committed transactions.
    pub service: Packed,
    /// Times of the tries that were committed; only where there may be several.
    pub attempt: Option<Packed>,
    /// Response times from the schedule; with a rate only.
    pub response: Option<Packed>,
    /// How late transactions started; with a rate only.
    pub lag: Option<Packed>,
    pub work: Work,
    pub units: Vec<PackedUnits>,
}

impl From<&ScriptInterval> for ScriptSecond {
    fn from(script: &ScriptInterval) -> Self {
        Self {
            counts: script.counts.clone(),
            service: script.service.pack(),
            attempt: script.attempt.as_ref().map(Latencies::pack),
            response: script.response.as_ref().map(Latencies::pack),
            lag: script.lag.as_ref().map(Latencies::pack),
            work: script.work.clone(),
            units: script.units.iter().map(Units::pack).collect(),
        }
    }
}

impl ScriptSecond {
    /// The same in the form that adds up; tries that came to nothing are not kept by second.
    pub fn unpack(&self) -> ScriptInterval {
        ScriptInterval {
            counts: self.counts.clone(),
            service: self.service.unpack(),
            attempt: self.attempt.as_ref().map(Packed::unpack),
            response: self.response.as_ref().map(Packed::unpack),
            lag: self.lag.as_ref().map(Packed::unpack),
            work: self.work.clone(),
            units: self.units.iter().map(PackedUnits::unpack).collect(),
            ..ScriptInterval::default()
        }
    }
}

impl From<&Interval> for Second {
    fn from(interval: &Interval) -> Self {
        Self {
            start_us: interval.start_ns / 1000,
            length_us: interval.length_ns / 1000,
            warmup: interval.warmup,
            time: interval.time,
            drain: interval.drain,
            scripts: interval.scripts.iter().map(ScriptSecond::from).collect(),
        }
    }
}
