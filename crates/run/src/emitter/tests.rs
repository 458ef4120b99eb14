//! What an observer learns of a short trial.

use std::num::NonZeroU64;
use std::time::Duration;

use pgdyno_model::observed::{Gap, Series};
use pgdyno_spec::{QueryMode, Retry, Until};

use super::*;
use crate::compile::compile;
use pgdyno_database::open;
use pgdyno_observe::{Instrument, Readings};
use pgdyno_spec::TargetSpec;
use pgdyno_workload::mix::WeightedScript;

/// Writes down what it receives, one word an event; what a second may come in between is left out.
#[derive(Default)]
struct Written {
    words: Vec<String>,
    transactions: u64,
    samples: Vec<f64>,
    totals: usize,
}

impl<O> Observer<O> for Written {
    fn starting(&mut self, title: &Title) {
        self.words.push(format!("starting {}", title.workload));
    }

    fn ready(&mut self) {
        self.words.push("ready".to_owned());
    }

    fn begun(&mut self, _started: SystemTime) {
        self.words.push("begun".to_owned());
    }

    fn second(&mut self, interval: &Interval) {
        assert_eq!(
            self.totals, 0,
            "the last observation comes after all seconds"
        );
        self.transactions += interval.all().counts.committed;
    }

    fn observed(&mut self, batch: &Batch) {
        self.samples.extend(batch.samples.iter().map(|s| s.value));
        self.totals += batch.totals.len();
    }

    fn message(&mut self, message: &Message) {
        self.words.push(format!("message {}", message.text));
    }

    fn thread_ended(&mut self, thread: usize, _at_us: u64) {
        self.words.push(format!("thread {thread} ended"));
    }

    fn ended(&mut self, result: Result<&Recording, &DriveError>) {
        self.words.push(match result {
            Ok(recording) => format!("ended {:?}", recording.end),
            Err(error) => format!("failed: {error}"),
        });
    }
}

/// Does not want to know anything.
struct Indifferent;

impl<O> Observer<O> for Indifferent {}

/// Counts how often it was read.
#[derive(Default)]
struct Reads(f64);

impl Instrument for Reads {
    fn name(&self) -> &str {
        "test.reads"
    }

    fn source(&self) -> String {
        "a test".to_owned()
    }

    fn begin(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.read(out)
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        self.0 += 1.0;
        out.gauge(Series::new("test.reads", ""), self.0);
        out.counter(Series::new("test.counted", "1/s"), self.0);
        Ok(())
    }
}

fn title() -> Title {
    Title {
        workload: "one".to_owned(),
        target: "a test".to_owned(),
        clients: 1,
        scripts: vec!["one".to_owned()],
        warmup: Duration::ZERO,
        until: Until::Elapsed(Duration::ZERO),
    }
}

/// One client that does this ten times.
fn drive(url: &str, text: &str) -> Drive {
    let script = WeightedScript::plain("one", text.to_owned(), 1);
    let (scripts, names) = compile(
        &[script],
        QueryMode::Simple,
        Retry::default(),
        false,
        (false, false),
    )
    .unwrap();
    let target = open::existing(&TargetSpec::at(url)).unwrap().unwrap();
    let endpoints = target.endpoints.iter();
    Drive {
        endpoints: endpoints.map(|e| e.candidates.clone()).collect(),
        scripts,
        names,
        until: Until::Transactions(NonZeroU64::new(10).unwrap()),
        checks_commit: true,
        ..Drive::default()
    }
}

/// What two observers receive, with one between them that does not listen.
fn observed(drive: &Drive) -> ([Written; 2], Result<(Recording, Observed), DriveError>) {
    let (mut one, mut other) = (Written::default(), Written::default());
    let mut indifferent = Indifferent;
    let observers = Observers::new([&mut one, &mut indifferent, &mut other]);
    let control = Control::default();
    let emitter = Emitter::start(
        &title(),
        vec![Box::new(Reads::default())],
        &control,
        observers,
    );
    let result = emitter.run(drive, &control);
    ([one, other], result)
}

#[test]
fn a_trials_events_come_to_all_observers_in_their_order() {
    let url = pgdyno_testkit::postgres().address().url();
    let text = "SELECT 1;\n\\set x debug(7)\n";
    let (written, result) = observed(&drive(&url, text));
    let (recording, observed) = result.unwrap();
    for written in written {
        let said: Vec<_> = written
            .words
            .iter()
            .filter(|w| w.starts_with("message"))
            .collect();
        assert_eq!(said.len(), 10, "{said:?}");
        let words: Vec<_> = written
            .words
            .iter()
            .filter(|w| !w.starts_with("message"))
            .collect();
        assert_eq!(
            words,
            [
                "starting one",
                "ready",
                "begun",
                "thread 0 ended",
                "ended Complete"
            ]
        );
        assert_eq!(written.transactions, 10);
        assert_eq!(recording.measured.all().counts.committed, 10);
        // What is handed on is what is kept.
        let kept = observed.series.iter().map(|course| course.samples.len());
        assert_eq!(written.samples.len(), kept.sum::<usize>());
        assert_eq!(written.samples.first(), Some(&1.0));
        assert_eq!(written.totals, 1);
    }
}

#[test]
fn clients_that_cannot_connect_end_the_trial_before_it_is_ready() {
    let url = format!(
        "postgres://postgres@{}/postgres",
        pgdyno_testkit::closed_address()
    );
    let (written, result) = observed(&drive(&url, "SELECT 1;\n"));
    let error = result.map(drop).unwrap_err();
    assert!(matches!(error, DriveError::Connect { .. }), "{error}");
    for written in written {
        assert_eq!(
            written.words,
            ["starting one".to_owned(), format!("failed: {error}")]
        );
        assert_eq!((written.samples.len(), written.totals), (0, 0));
    }
}
