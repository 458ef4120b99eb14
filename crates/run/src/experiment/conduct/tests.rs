//! What observers learn of an experiment.

use super::*;
use crate::experiment::reader;
use crate::experiment::study::TrialsAlone;
use crate::experiment::toml_text::Source;
use pgdyno_model::progress::Silent;
use pgdyno_store::Store;

/// Writes down what it receives, one line an event.
#[derive(Default)]
struct Written {
    lines: Vec<String>,
    /// Whether there is no room for results.
    is_full: bool,
}

impl Observer<Outcome> for Written {
    fn starting(&mut self, title: &pgdyno_model::event::Title) {
        self.lines.push(format!("starting with {}", title.clients));
    }

    fn ended(
        &mut self,
        _: Result<&pgdyno_measurement::Recording, &pgdyno_measurement::DriveError>,
    ) {
        self.lines.push("ended".to_owned());
    }

    fn trial_announced(&mut self, trial: &PlannedTrial, _left: Duration) {
        let PlannedTrial {
            position,
            trials,
            label,
            ..
        } = trial;
        let trials = trials.map_or_else(String::new, |trials| format!(" of {trials}"));
        self.lines.push(format!("{position}{trials}: {label}"));
    }

    fn trial_skipped(&mut self, trial: &PlannedTrial, _why: &str) {
        self.lines.push(format!("skipped {}", trial.label));
    }

    fn trial_finished(&mut self, finished: &Finished<'_, Outcome>) -> Result<(), Failure> {
        let committed = finished.outcome.map_or_else(
            |failure| failure.message.clone(),
            |outcome| {
                outcome
                    .recording
                    .measured
                    .all()
                    .counts
                    .committed
                    .to_string()
            },
        );
        let state = finished.state.name();
        self.lines.push(format!("{state}: {committed}"));
        if self.is_full {
            Err(Failure::new("the disk is full"))
        } else {
            Ok(())
        }
    }
}

/// Conducts an experiment of a script with these lines of TOML on the shared server.
fn conducted(script: &str, toml: &str, written: &mut Written) -> Result<Ended, Failure> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.sql"), script).unwrap();
    let text = format!(
        "workload = [['one.sql']]\ntransactions = 3\nreset.settle = 0\norder = 'sequential'\n{toml}"
    );
    let source = Source {
        name: "e.toml",
        text: &text,
    };
    let experiment = reader::read(source, "e", folder.path()).unwrap();
    let wanted = TargetSpec::at(pgdyno_testkit::postgres().address().url());
    let plan = Plan::new(experiment, &wanted, 1).unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    let notebook = StoredExperiment::new(&store, &plan.identity);
    conduct(
        &plan,
        Means {
            wanted,
            target: None,
            observe: pgdyno_observe::ObserveOptions::default(),
            replace: false,
            journals: folder.path(),
            progress: &mut Silent,
            observer: written,
            study: &mut TrialsAlone,
            notebook: &notebook,
            generators: None,
            interrupts: Interrupts::install().unwrap(),
        },
    )
}

#[test]
fn an_observer_is_called_before_and_after_each_trial() {
    let mut written = Written::default();
    let ended = conducted("SELECT 1;\n", "clients = [1, 2]\n", &mut written).unwrap();
    assert_eq!((ended.complete, ended.trials), (2, 2));
    assert_eq!(
        written.lines,
        [
            "1 of 2: 1 client",
            "starting with 1",
            "ended",
            "complete: 3",
            "2 of 2: 2 clients",
            "starting with 2",
            "ended",
            "complete: 6",
        ]
    );
}

#[test]
fn trials_that_need_a_maximum_that_failed_are_skipped_with_one_word() {
    let mut written = Written::default();
    let toml = "rate = ['50%', '70%']\n";
    let ended = conducted("SELECT 1 / 0;\n", toml, &mut written).unwrap();
    assert_eq!((ended.complete, ended.failed, ended.trials), (0, 3, 3));
    let skipped = written.lines.iter().filter(|l| l.starts_with("skipped"));
    assert_eq!(skipped.count(), 1, "{:?}", written.lines);
    assert!(
        written.lines.contains(&"failed: 0".to_owned()),
        "{:?}",
        written.lines
    );
}

#[test]
fn a_result_that_cannot_be_written_ends_the_experiment() {
    let mut written = Written {
        is_full: true,
        ..Written::default()
    };
    let ended = conducted("SELECT 1;\n", "clients = [1, 2]\n", &mut written);
    assert_eq!(ended.unwrap_err().message, "the disk is full");
    assert_eq!(written.lines.len(), 4, "{:?}", written.lines);
}
