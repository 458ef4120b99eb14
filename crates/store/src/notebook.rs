//! The store as the runner and reports see it.

use pgdyno_drive::record::{Latencies, Second};
use pgdyno_model::notebook::{
    ExperimentHeader, ExperimentRow, Filter, KeptTrial, Kind, Notebook, TrialHeader, TrialRow,
};
use pgdyno_model::{Failure, Note, Outcome};

use super::{Store, TrialWriter};

impl Notebook for Store {
    fn place(&self) -> String {
        self.place()
    }

    fn trials(&self, filter: &Filter) -> Result<Vec<TrialRow>, Failure> {
        self.trials(filter)
    }

    fn experiment(&self, called: &str) -> Result<ExperimentRow, Failure> {
        self.experiment(called)
    }

    fn experiments_named(&self, name: &str) -> Result<Vec<ExperimentRow>, Failure> {
        self.experiments_named(name)
    }

    fn will_read(&self, numbers: &[i64]) {
        self.db.will_read(numbers);
    }

    fn outcome(&self, number: i64) -> Result<Outcome, Failure> {
        self.outcome(number)
    }

    fn notes(&self, number: i64) -> Result<Vec<Note>, Failure> {
        self.notes(number)
    }

    fn events(&self, number: i64, kind: &str) -> Result<Vec<String>, Failure> {
        self.events(number, kind)
    }

    fn happened(&self, number: i64, kind: &str, instrument: &str) -> Result<Option<u64>, Failure> {
        self.happened(number, kind, instrument)
    }

    fn seconds(&self, number: i64) -> Result<Vec<Second>, Failure> {
        self.seconds(number)
    }

    fn latencies(
        &self,
        number: i64,
        script: Option<usize>,
        kind: Kind,
    ) -> Result<Latencies, Failure> {
        self.latencies(number, script, kind)
    }

    fn answer(&self, query: &str) -> Option<String> {
        self.answer_of_server(query)
    }

    fn latencies_by_second(
        &self,
        number: i64,
        kind: Kind,
    ) -> Result<Vec<(u64, Latencies)>, Failure> {
        self.latencies_by_second(number, kind)
    }

    fn begin_experiment(&self, header: &ExperimentHeader) -> Result<ExperimentRow, Failure> {
        self.begin_experiment(header)
    }

    fn begin(&self, header: &TrialHeader) -> Result<Box<dyn KeptTrial>, Failure> {
        Ok(Box::new(self.begin(header)?))
    }
}

impl KeptTrial for TrialWriter {
    fn number(&self) -> i64 {
        self.number()
    }

    fn keep_event(&mut self, kind: &'static str, at_us: u64, text: &str) {
        self.keep_event(kind, at_us, text);
    }

    fn keep_second(&mut self, second: Second) {
        self.keep_second(second);
    }

    fn finish(self: Box<Self>, outcome: &Outcome) -> Result<Option<Failure>, Failure> {
        (*self).finish(outcome)
    }

    fn end_with(self: Box<Self>, failure: &Failure) -> Result<(), Failure> {
        (*self).end_with(failure)
    }
}
