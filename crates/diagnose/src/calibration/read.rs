//! A calibration from the notebook.

use pgdyno_measurement::{Latencies, Recording};
use serde_json::Value;

use super::expect::Expectations;
use super::growth::Growth;
use pgdyno_model::client_bound::{CLIENT_BOUND_SHARE, limiting};
use pgdyno_model::document::Facts;
use pgdyno_model::document::calibration::{Grown, HostSpeed, Step};
use pgdyno_model::notebook::{ExperimentRow, Filter, Notebook};
use pgdyno_model::observed::Course;
use pgdyno_model::{Fact, Note, Outcome, State};
use pgdyno_spec::{
    Exit, Failure,
    experiment::{
        calibration::Measure, calibration::READ, calibration::SERVER_SIDE, calibration::UPDATE,
    },
};

pub struct Calibration {
    pub experiment: ExperimentRow,
    pub expectations: Expectations,
    /// What the host can do, where it is the yardstick.
    pub host: Fact<HostSpeed>,
    /// When more clients were to be no use.
    pub growth: Growth,
    /// What was chosen of the workload's parameters, `NAME=VALUE` each.
    pub params: Vec<String>,
    pub target: String,
    /// The server's product and version, for people.
    pub server: String,
    /// Why no commit was measured that does not wait for the disk, where the product has none.
    pub no_wait: Option<String>,
    /// The series of a trial that says how long nodes take to make their logs durable, where there is one.
    pub sync_series: Option<String>,
    /// What it said during commits, by node: the median of its seconds, in microseconds.
    pub log_syncs: Vec<(String, f64)>,
    /// What is known of the server.
    pub facts: Facts,
    /// Rows and the like: what the workload's clients started with.
    pub variables: Vec<(String, String)>,
    /// The way there and back.
    pub round_trip: Option<Measured>,
    pub commit: Option<Measured>,
    /// One that does not wait.
    pub commit_no_wait: Option<Measured>,
    pub read: Option<Measured>,
    pub update: Option<Measured>,
    /// Numbers of clients, from one on.
    pub steps: Vec<Step>,
}

/// What one kind of transaction came to.
pub struct Measured {
    pub trial: i64,
    /// Service times of those that were committed.
    pub latencies: Latencies,
    /// pgdyno's own CPU time for each transaction of the trial.
    pub client_us: f64,
    /// How long pgdyno waited for a CPU, for each transaction of the trial.
    pub client_waited_us: f64,
    /// The share of the time in which pgdyno's busiest thread had or wanted a CPU.
    pub client_share: f64,
    pub transactions: u64,
    pub server_side: Fact<Grown>,
    /// What a reader must know.
    pub notes: Vec<Note>,
    /// The same of each endpoint, by its name, in their order; none where there is one only.
    pub endpoints: Vec<(String, Measured)>,
}

impl Measured {
    /// Whether pgdyno itself was the limit.
    pub fn is_client_bound(&self) -> bool {
        self.client_share >= CLIENT_BOUND_SHARE
    }

    /// That of the endpoint where it takes longest on average.
    pub fn worst(&self) -> (Option<&str>, &Self) {
        let all = self.endpoints.iter();
        let worst = all.max_by(|(_, a), (_, b)| a.mean_us().total_cmp(&b.mean_us()));
        worst.map_or((None, self), |(name, at)| (Some(name), at))
    }

    /// That of the first endpoint, to which a single client connects.
    pub fn first(&self) -> &Self {
        self.endpoints.first().map_or(self, |(_, at)| at)
    }

    /// That of the endpoint of this name; `None` is the only one.
    pub fn at(&self, name: Option<&str>) -> &Self {
        let mut all = self.endpoints.iter();
        let named = all.find(|(other, _)| Some(other.as_str()) == name);
        named.map_or(self.first(), |(_, at)| at)
    }

    /// The mean in microseconds; there is one.
    pub fn mean_us(&self) -> f64 {
        self.latencies.mean_us().unwrap_or(0.0)
    }

    /// The median in microseconds, of however few there are: what is distinguished by it is a matter of
    /// milliseconds, and a few stalls of a busy host must not decide.
    pub fn median_us(&self) -> f64 {
        let median = self.latencies.histogram().quantile_us(0.5);
        median.unwrap_or(0).min(self.latencies.max_us()) as f64
    }
}

/// The calibration that an experiment is; `None` when it is none.
///
/// # Errors
/// The store cannot be read.
pub fn of_experiment(
    store: &dyn Notebook,
    experiment: &ExperimentRow,
) -> Result<Option<Calibration>, Failure> {
    let definition: Value = serde_json::from_str(&experiment.definition).unwrap_or_default();
    let definition = &definition["definition"]["calibration"];
    let growth: Option<Growth> = serde_json::from_value(definition["growth"].clone()).ok();
    let expectations: Option<Expectations> =
        serde_json::from_value(definition["expect"].clone()).ok();
    let Some((expectations, growth)) = expectations.zip(growth) else {
        return Ok(None);
    };
    let mut calibration = Calibration {
        params: serde_json::from_value(definition["params"].clone()).unwrap_or_default(),
        server: definition["server"].as_str().unwrap_or_default().to_owned(),
        host: serde_json::from_value(definition["host"].clone()).unwrap_or_default(),
        no_wait: definition["no_wait"].as_str().map(str::to_owned),
        sync_series: definition["sync_series"].as_str().map(str::to_owned),
        ..Calibration::new(experiment.clone(), expectations, growth)
    };
    let mut trials = store.trials(&Filter {
        experiment: Some(experiment.uuid.clone()),
        state: Some(State::Complete),
        ..Filter::default()
    })?;
    trials.retain(|trial| trial.excluded.is_none());
    trials.sort_by_key(|trial| trial.position);
    for trial in trials {
        let Some(measure) = trial.point.as_ref().and_then(Measure::at) else {
            continue;
        };
        let outcome = store.outcome(trial.number)?;
        let server_side = store.events(trial.number, SERVER_SIDE)?;
        let server_side = server_side
            .first()
            .and_then(|e| serde_json::from_str(e).ok());
        calibration.take(
            measure,
            trial.number,
            outcome,
            server_side.unwrap_or_default(),
        );
    }
    Ok(Some(calibration))
}

/// The calibration of this name (the newest), or whose UUID begins so.
///
/// # Errors
/// There is none, or it is another experiment.
pub fn called(store: &dyn Notebook, name: &str) -> Result<Calibration, Failure> {
    let experiment = store.experiment(name)?;
    of_experiment(store, &experiment)?.ok_or_else(|| {
        let text = format!("experiment {name} is no calibration");
        Failure::with(Exit::Usage, text)
            .hint("create one with pgdyno calibrate URL; list them with pgdyno ls --experiments")
    })
}

impl Calibration {
    /// One of which nothing has been measured yet, for tests.
    pub fn nothing_yet(name: &str, uuid: &str) -> Self {
        let experiment = ExperimentRow {
            number: 1,
            uuid: uuid.to_owned(),
            name: name.to_owned(),
            created: String::new(),
            definition: String::new(),
        };
        let growth = Growth {
            least: 0.1,
            clients_max: 8,
        };
        Self {
            target: "t".to_owned(),
            ..Self::new(experiment, Expectations::default(), growth)
        }
    }

    fn new(experiment: ExperimentRow, expectations: Expectations, growth: Growth) -> Self {
        Self {
            experiment,
            expectations,
            host: Fact::default(),
            growth,
            params: Vec::new(),
            target: String::new(),
            server: String::new(),
            no_wait: None,
            sync_series: None,
            log_syncs: Vec::new(),
            facts: Facts::unknown("nothing was measured"),
            variables: Vec::new(),
            round_trip: None,
            commit: None,
            commit_no_wait: None,
            read: None,
            update: None,
            steps: Vec::new(),
        }
    }

    fn take(&mut self, measure: Measure, trial: i64, outcome: Outcome, server_side: Fact<Grown>) {
        let recording = &outcome.recording;
        let named = |name: &str| {
            let place = recording.scripts.iter().position(|s| s.name == name)?;
            let latencies = recording.measured.scripts.get(place)?.service.clone();
            (latencies.count() > 0)
                .then(|| measured(trial, latencies, &outcome, server_side.clone()))
        };
        let all = || {
            let latencies = recording.measured.all().service;
            (latencies.count() > 0)
                .then(|| at_endpoints(trial, latencies, &outcome, server_side.clone()))
        };
        match measure {
            Measure::RoundTrip => self.round_trip = all(),
            Measure::Commit => {
                self.commit = all();
                self.log_syncs = self
                    .sync_series
                    .as_deref()
                    .map_or_else(Vec::new, |series| log_syncs(&outcome, series));
            }
            Measure::CommitNoWait => self.commit_no_wait = all(),
            Measure::Baseline => {
                self.read = named(READ);
                self.update = named(UPDATE);
                self.variables = outcome.variables.clone();
            }
            Measure::Clients(_) => {}
        }
        if measure.is_ycsb() {
            self.steps.push(step(measure, trial, recording));
        }
        self.target = outcome.target;
        self.facts = outcome.facts;
    }
}

/// By node the median of the seconds in which any log was written.
fn log_syncs(outcome: &Outcome, series: &str) -> Vec<(String, f64)> {
    let median_us = |course: &Course| {
        let samples = course.samples.iter().map(|(_, ms)| ms * 1000.0);
        let mut samples: Vec<f64> = samples.filter(|us| *us > 0.0).collect();
        samples.sort_by(f64::total_cmp);
        let median = samples.get(samples.len() / 2).copied()?;
        Some((course.of.series.label.clone(), median))
    };
    outcome.observed.all(series).filter_map(median_us).collect()
}

fn step(measure: Measure, trial: i64, recording: &Recording) -> Step {
    let all = recording.measured.all();
    Step {
        trial,
        clients: measure.clients(),
        goodput_per_s: recording.measured.goodput_per_s(),
        p50_us: all.service.percentile_us(50.0),
        p99_us: all.service.percentile_us(99.0),
        failed: all.counts.failed_total(),
        client_bound: limiting(&recording.threads).is_some(),
    }
}

fn client_share(recording: &Recording) -> f64 {
    let shares = recording.threads.iter().map(|t| t.wanted_share());
    shares.fold(0.0, f64::max)
}

/// All transactions of a trial, and those of each endpoint, where there are several that have a client.
fn at_endpoints(
    trial: i64,
    latencies: Latencies,
    outcome: &Outcome,
    server_side: Fact<Grown>,
) -> Measured {
    let endpoints = outcome.recording.endpoints.iter();
    let at = endpoints.filter(|endpoint| endpoint.service.count() > 0);
    let mut at: Vec<_> = at
        .map(|endpoint| {
            let latencies = endpoint.service.clone();
            let mut own = measured(trial, latencies, outcome, server_side.clone());
            own.transactions = endpoint.counts.total();
            (endpoint.name.clone(), own)
        })
        .collect();
    if at.len() == 1 {
        at.clear();
    }
    Measured {
        endpoints: at,
        ..measured(trial, latencies, outcome, server_side)
    }
}

fn measured(
    trial: i64,
    latencies: Latencies,
    outcome: &Outcome,
    server_side: Fact<Grown>,
) -> Measured {
    let recording = &outcome.recording;
    let transactions = recording.measured.all().counts.total();
    let (user_us, system_us) = recording.cpu_us();
    let waited_us: u64 = recording.threads.iter().map(|t| t.waited_us).sum();
    Measured {
        trial,
        latencies,
        client_us: (user_us + system_us) as f64 / transactions.max(1) as f64,
        client_waited_us: waited_us as f64 / transactions.max(1) as f64,
        client_share: client_share(recording),
        transactions,
        server_side,
        notes: outcome.notes.clone(),
        endpoints: Vec::new(),
    }
}
