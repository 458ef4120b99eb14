//! The figures of a stretch of a trial, of all scripts together and of each.

use pgdyno_measurement::{PackedUnits, Recording, ScriptInterval, Units};
use serde::Serialize;

use super::{Counts, Latency, WarmupEnd, Work};

/// Work units of one operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct UnitFigures {
    pub operation: String,
    pub units: u64,
    pub units_per_s: f64,
    /// Rows that they found or changed.
    pub rows: u64,
    pub rows_per_s: f64,
    /// How long a unit took.
    pub latency: Latency,
}

impl UnitFigures {
    /// Those of which there were any, by the operations' order.
    fn all(operations: &[String], units: &[Units], elapsed_us: u64) -> Vec<Self> {
        let per_s = |number: u64| number as f64 * 1e6 / elapsed_us.max(1) as f64;
        let units = operations.iter().zip(units);
        let units = units.filter(|(_, units)| units.count() > 0);
        units
            .map(|(operation, units)| Self {
                operation: operation.clone(),
                units: units.count(),
                units_per_s: per_s(units.count()),
                rows: units.rows,
                rows_per_s: per_s(units.rows),
                latency: Latency::from(&units.latencies),
            })
            .collect()
    }
}

/// Figures of a script, or of all.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Figures {
    #[serde(flatten)]
    pub counts: Counts,
    /// Committed transactions a second of the asked duration.
    pub goodput_per_s: f64,
    /// From the start of a committed transaction's first try to its end.
    pub service: Latency,
    /// From the start of the try that was committed to its end; `null` where there is but one.
    pub attempt: Option<Latency>,
    /// From the scheduled start to the end; `null` without a rate.
    pub response: Option<Latency>,
    /// How late transactions started; `null` without a rate.
    pub schedule_lag: Option<Latency>,
    pub work: Work,
    /// Work units by operation; empty where none are counted.
    pub units: Vec<UnitFigures>,
}

impl Figures {
    fn of(
        operations: &[String],
        interval: &ScriptInterval,
        goodput_per_s: f64,
        elapsed_us: u64,
    ) -> Self {
        let latency = |latencies: &Option<_>| latencies.as_ref().map(Latency::from);
        Self {
            counts: Counts::from(&interval.counts),
            goodput_per_s,
            service: Latency::from(&interval.service),
            attempt: latency(&interval.attempt),
            response: latency(&interval.response),
            schedule_lag: latency(&interval.lag),
            work: Work::from(&interval.work),
            units: UnitFigures::all(operations, &interval.units, elapsed_us),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ScriptFigures {
    pub name: String,
    pub weight: u64,
    #[serde(flatten)]
    pub figures: Figures,
}

/// Figures of the measured time, or of the warm-up.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Phase {
    /// From its beginning to the end of its last transaction.
    pub elapsed_us: u64,
    /// Of these, from the end of the asked duration on: transactions ended, none began.
    pub drain_us: u64,
    /// Transactions committed in that time; they are in all figures but goodput.
    pub drain_committed: u64,
    #[serde(flatten)]
    pub all: Figures,
    pub scripts: Vec<ScriptFigures>,
}

impl Phase {
    /// A phase of this recording.
    pub fn of(recording: &Recording, phase: &pgdyno_measurement::Phase) -> Self {
        let figures = |interval: &ScriptInterval, goodput_per_s| {
            let elapsed_us = phase.elapsed_us;
            Figures::of(&recording.operations, interval, goodput_per_s, elapsed_us)
        };
        let scripts = recording.scripts.iter().zip(&phase.scripts);
        Self {
            elapsed_us: phase.elapsed_us,
            drain_us: phase.drain.elapsed_us,
            drain_committed: phase.drain.committed_total(),
            all: figures(&phase.all(), phase.goodput_per_s()),
            scripts: scripts
                .enumerate()
                .map(|(number, (record, interval))| ScriptFigures {
                    name: record.name.clone(),
                    weight: record.weight,
                    figures: figures(interval, phase.goodput_per_s_of(number)),
                })
                .collect(),
        }
    }
}

/// Figures of the warm-up, which are in no others.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Warmup {
    #[serde(flatten)]
    pub phase: Phase,
    /// How it ended; `null` where its time was given.
    pub detected: Option<WarmupEnd>,
}

/// One second of a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Second {
    /// When it began, in microseconds since clients began to work.
    pub start_us: u64,
    /// Its length; shorter at the end of a phase.
    pub length_us: u64,
    /// Whether it belongs to the warm-up.
    pub warmup: bool,
    /// Whether it lies after the asked duration.
    pub drain: bool,
    pub scripts: Vec<ScriptSecond>,
}

/// One script's part of a second.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ScriptSecond {
    pub name: String,
    #[serde(flatten)]
    pub counts: Counts,
    pub service: Latency,
    pub response: Option<Latency>,
    pub work: Work,
    pub units: Vec<UnitFigures>,
}

impl Second {
    pub fn all(recording: &Recording) -> Vec<Self> {
        let seconds = recording.seconds.iter();
        seconds.map(|second| Self::of(recording, second)).collect()
    }

    fn of(recording: &Recording, second: &pgdyno_measurement::Second) -> Self {
        let scripts = recording.scripts.iter().zip(&second.scripts);
        let scripts = scripts.map(|(record, script)| {
            let response = script.response.as_ref();
            let units: Vec<Units> = script.units.iter().map(PackedUnits::unpack).collect();
            ScriptSecond {
                name: record.name.clone(),
                counts: Counts::from(&script.counts),
                service: Latency::from(&script.service.unpack()),
                response: response.map(|packed| Latency::from(&packed.unpack())),
                work: Work::from(&script.work),
                units: UnitFigures::all(&recording.operations, &units, second.length_us),
            }
        });
        Self {
            start_us: second.start_us,
            length_us: second.length_us,
            warmup: second.warmup,
            drain: second.drain,
            scripts: scripts.collect(),
        }
    }
}
