//! The store as the runner and reports see it.

use pgdyno_measurement::{Latencies, Second};
use pgdyno_model::document::page::PartOf;
use pgdyno_model::notebook::{
    Ended, ExperimentHeader, ExperimentRow, Filter, KeptTrial, Kind, LastSecond, ListedTrial, News,
    Notebook, PlacedTrial, SecondLatencies, TrialHeader, TrialRow,
};
use pgdyno_model::observed::Observed;
use pgdyno_model::{Note, Outcome};
use pgdyno_spec::{Failure, TrialSpec};

use super::{Store, TrialWriter};

impl Notebook for Store {
    fn place(&self) -> String {
        self.place()
    }

    fn trials(&self, filter: &Filter) -> Result<Vec<TrialRow>, Failure> {
        self.trials(filter)
    }

    fn listed(&self, filter: &Filter) -> Result<Vec<ListedTrial>, Failure> {
        self.listed(filter)
    }

    fn count(&self, filter: &Filter) -> Result<u64, Failure> {
        self.count(filter)
    }

    fn experiments(&self, limit: Option<u64>) -> Result<Vec<(ExperimentRow, u64, u64)>, Failure> {
        self.experiments(limit)
    }

    fn count_experiments(&self) -> Result<u64, Failure> {
        self.count_experiments()
    }

    fn placed(&self, experiment: i64) -> Result<Vec<PlacedTrial>, Failure> {
        self.placed(experiment)
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

    fn seconds_after(&self, number: i64, last: Option<LastSecond>) -> Result<Vec<Second>, Failure> {
        self.seconds_after(number, last)
    }

    fn last_seconds(&self, number: i64, within_us: u64) -> Result<Vec<Second>, Failure> {
        self.last_seconds(number, within_us)
    }

    fn observed_after(&self, number: i64, after_us: Option<i64>) -> Result<Observed, Failure> {
        self.observed_after(number, after_us)
    }

    fn news(&self, number: i64) -> Result<News, Failure> {
        self.news(number)
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
    ) -> Result<Vec<SecondLatencies>, Failure> {
        self.latencies_by_second(number, kind)
    }

    fn cannot_stop(&self, number: i64) -> Result<Option<String>, Failure> {
        self.cannot_stop(number)
    }

    fn is_gone(&self, number: i64) -> Result<bool, Failure> {
        self.is_gone(number)
    }

    fn asked_of_all(&self, number: i64) -> Result<Option<TrialSpec>, Failure> {
        self.asked_of_all(number)
    }

    fn part_of(&self, number: i64) -> Result<Option<PartOf>, Failure> {
        self.part_of(number)
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

    fn finish(self: Box<Self>, outcome: &Outcome) -> Result<Ended, Failure> {
        (*self).finish(outcome)
    }

    fn end_with(self: Box<Self>, failure: &Failure) -> Result<(), Failure> {
        (*self).end_with(failure)
    }
}
