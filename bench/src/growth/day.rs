//! `pgdyno-bench day NOTEBOOK NEW SECONDS`: keeps a trial of so many seconds in a new notebook as a run does, with a
//! simulated clock: the seconds of the first trial of a notebook, and what its instruments read in them, come again
//! and again, each to the writer of trials as from the clients; at the end the trial has all of them in memory, as
//! a run has that reports its result. Not for what clients do meanwhile.

use std::path::Path;
use std::thread;
use std::time::Duration;

use pgdyno_measurement::Second;
use pgdyno_model::notebook::TrialHeader;
use pgdyno_model::observed::{Batch, Course, Observed, Sample};
use pgdyno_model::{Observer, Outcome};
use pgdyno_store::{Store, TrialWriter};

use crate::Error;

const SECOND_US: u64 = 1_000_000;
/// The last second of a trial may be cut off.
const WHOLE_MIN_US: u64 = 990_000;
/// A run gives the writer a second each second: here no more wait for it than these.
const AHEAD_MAX_S: u64 = 60;

/// # Errors
/// The arguments are wrong; the trial has no whole second; a notebook cannot be read or written.
pub fn open(arguments: &[String]) -> Result<(), Error> {
    let [from, to, seconds] = arguments else {
        return Err("usage: pgdyno-bench day NOTEBOOK NEW SECONDS".into());
    };
    let seconds: u64 = seconds.parse()?;
    let source = Store::existing(Path::new(from)).map_err(|e| e.to_string())?;
    let mut outcome = source.outcome(1).map_err(|e| e.to_string())?;
    let turn = DayTurn::of(&mut outcome)?;
    let store = Store::open(Path::new(to)).map_err(|e| e.to_string())?;
    let mut writer = store.begin(&header(&outcome)).map_err(|e| e.to_string())?;
    Observer::<Outcome>::begun(&mut writer, outcome.recording.started);
    tell(&mut writer, &turn.first());
    for at in 0..seconds {
        writer.keep_second(turn.second(at));
        tell(&mut writer, &turn.batch(at));
        if at % AHEAD_MAX_S == AHEAD_MAX_S - 1 {
            wait_for(&store, at)?;
        }
    }
    // As the engine and the instruments give them back when a run is over.
    outcome.recording.seconds = (0..seconds).map(|at| turn.second(at)).collect();
    outcome.recording.measured.elapsed_us = seconds * SECOND_US;
    for at in 0..seconds {
        outcome.observed.add(turn.batch(at));
    }
    writer.finish(&outcome).map_err(|e| e.to_string())?;
    Ok(())
}

/// What comes again and again.
struct DayTurn {
    seconds: Vec<Second>,
    observed: Observed,
    /// What was read in each second.
    samples: Vec<Vec<Sample>>,
}

impl DayTurn {
    /// The whole seconds of a trial, of which it then has none, nor anything that was read.
    fn of(outcome: &mut Outcome) -> Result<Self, Error> {
        let mut seconds = std::mem::take(&mut outcome.recording.seconds);
        seconds.retain(|s| !s.warmup && !s.drain && s.length_us >= WHOLE_MIN_US);
        if seconds.is_empty() {
            return Err("the first trial has no whole second".into());
        }
        let mut samples = vec![Vec::new(); seconds.len()];
        for (series, course) in outcome.observed.series.iter_mut().enumerate() {
            for (at_us, value) in std::mem::take(&mut course.samples) {
                let second = u64::try_from(at_us).ok().map(|at| at / SECOND_US);
                if let Some(second) = second.and_then(|at| samples.get_mut(at as usize)) {
                    second.push(Sample {
                        series,
                        at_us: at_us % SECOND_US as i64,
                        value,
                    });
                }
            }
        }
        let observed = outcome.observed.clone();
        Ok(Self {
            seconds,
            observed,
            samples,
        })
    }

    /// Before the first second.
    fn first(&self) -> Batch {
        let series = |course: &Course| course.of.clone();
        Batch {
            instruments: self.observed.instruments.clone(),
            series: self.observed.series.iter().map(series).collect(),
            ..Batch::default()
        }
    }

    fn second(&self, at: u64) -> Second {
        Second {
            start_us: at * SECOND_US,
            ..self.seconds[at as usize % self.seconds.len()].clone()
        }
    }

    fn batch(&self, at: u64) -> Batch {
        let read = self.samples[at as usize % self.samples.len()].iter();
        let begun_us = (at * SECOND_US) as i64;
        let samples = read.map(|sample| Sample {
            at_us: begun_us + sample.at_us,
            ..*sample
        });
        Batch {
            samples: samples.collect(),
            ..Batch::default()
        }
    }
}

fn header(outcome: &Outcome) -> TrialHeader {
    TrialHeader {
        experiment: None,
        point: None,
        repeat: None,
        position: None,
        tags: Vec::new(),
        note: None,
        workload: outcome.workload.clone(),
        pack_sha256: outcome.pack_sha256.clone(),
        variables: outcome.variables.iter().cloned().collect(),
        target: outcome.target.clone(),
        target_kind: outcome.target_kind,
        facts: outcome.facts.clone(),
        host: outcome.host.clone(),
        notes: outcome.notes.clone(),
        command: "pgdyno-bench day".to_owned(),
        spec: outcome.spec.clone(),
        scripts: outcome.recording.scripts.clone(),
        operations: outcome.recording.operations.clone(),
    }
}

fn tell(writer: &mut TrialWriter, batch: &Batch) {
    Observer::<Outcome>::observed(writer, batch);
}

/// Until the notebook has the second before this one: what was read in it goes with the next.
fn wait_for(store: &Store, at: u64) -> Result<(), Error> {
    let sql = format!(
        "SELECT 1 FROM second WHERE trial = 1 AND start_us = {}",
        at * SECOND_US
    );
    while store
        .query(&sql)
        .map_err(|e| e.to_string())?
        .rows
        .is_empty()
    {
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    use pgdyno_measurement::{ClientTime, Counts, Latencies, ScriptSecond};
    use pgdyno_model::observed::{InstrumentRow, Kind, NewSeries, Series};

    /// A notebook of one trial of three seconds, with as many transactions and readings in each as its number.
    fn three_seconds(path: &Path) {
        let store = Store::open(path).unwrap();
        let mut writer = store.begin(&pgdyno_store::example()).unwrap();
        let first = Batch {
            instruments: vec![InstrumentRow {
                number: 0,
                name: "host.cpu".to_owned(),
                source: "here".to_owned(),
            }],
            series: vec![NewSeries {
                number: 0,
                instrument: 0,
                series: Series::new("host.cpu.busy", "1"),
                kind: Kind::Gauge,
            }],
            ..Batch::default()
        };
        tell(&mut writer, &first);
        for at in 0..3 {
            let count = at + 1;
            let mut service = Latencies::default();
            (0..count).for_each(|_| service.record(500));
            writer.keep_second(Second {
                start_us: at * SECOND_US,
                length_us: SECOND_US,
                warmup: false,
                time: ClientTime::default(),
                drain: false,
                scripts: vec![ScriptSecond {
                    counts: Counts {
                        committed: count,
                        ..Counts::default()
                    },
                    service: service.pack(),
                    ..ScriptSecond::default()
                }],
            });
            let samples = (0..count).map(|n| Sample {
                series: 0,
                at_us: (at * SECOND_US + n) as i64,
                value: count as f64,
            });
            let samples = samples.collect();
            tell(
                &mut writer,
                &Batch {
                    samples,
                    ..Batch::default()
                },
            );
        }
        writer.fail("over").unwrap();
    }

    #[test]
    fn seconds_and_what_was_read_in_them_come_again() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        three_seconds(&from);
        let words = [from, to.clone()].map(|path| path.display().to_string());
        let [from, new] = words;
        open(&[from, new, "200".to_owned()]).unwrap();
        let store = Store::existing(&to).unwrap();
        let outcome = store.outcome(1).unwrap();
        assert_eq!(outcome.recording.seconds.len(), 200);
        let committed = outcome.recording.seconds.iter();
        let committed = committed.map(|second| second.scripts[0].counts.committed);
        assert_eq!(committed.clone().take(4).collect::<Vec<_>>(), [1, 2, 3, 1]);
        let samples = &outcome.observed.series[0].samples;
        assert_eq!(samples.len() as u64, committed.sum::<u64>());
        assert!(samples.contains(&(100_000_001, 2.0)) && samples.is_sorted_by_key(|(at, _)| *at));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let empty = dir.path().join("empty");
        let store = Store::open(&empty).unwrap();
        let writer = store.begin(&pgdyno_store::example()).unwrap();
        writer.fail("over").unwrap();
        let empty = empty.display().to_string();
        for (words, named) in [
            (vec![], "usage"),
            (vec!["/no/such/file", "/no/such/new", "5"], "/no/such/file"),
            (vec![empty.as_str(), "/no/such/new", "5"], "no whole second"),
            (
                vec![empty.as_str(), "/no/such/new", "many"],
                "invalid digit",
            ),
        ] {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            let error = open(&words).unwrap_err().to_string();
            assert!(error.contains(named), "{words:?}: {error}");
        }
    }
}
