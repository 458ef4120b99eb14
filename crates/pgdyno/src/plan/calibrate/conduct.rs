//! Carrying a calibration out: trial by trial, each kept when it is over.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pgdyno_drive::Control;
use pgdyno_platform::interrupt::Interrupts;
use serde_json::json;

use super::expect::Expectations;
use super::growth::{Growth, Step};
use super::judge::Judged;
use super::measure::{Measure, READ, UPDATE};
use super::{read, server_side};
use crate::observe;
use crate::plan::brake::Brake;
use crate::plan::hygiene;
use crate::plan::prepare::{self, Prepared};
use crate::plan::trial::{Outcome, Trial};
use crate::report::live::{Form, Screen};
use crate::store::{ExperimentHeader, ExperimentRow, Store, TrialHeader, verdict};
use crate::target::dialect::Product;
use crate::target::facts::Facts;
use crate::target::open::{self, Kind, Target, Wanted};
use crate::target::own;
use crate::workload::progress::Progress;
use pgdyno_model::experiment::Hygiene;
use pgdyno_model::{Exit, Failure, Observers, State};

/// What comes after the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoOn {
    /// More clients when the baseline is met.
    WhenMet,
    /// More clients either way.
    Anyway,
    /// Nothing.
    Never,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What is observed beside trials.
    pub observe: observe::Asked,
    /// What the experiment is called; named after the target when nothing is said.
    pub name: Option<String>,
    /// How long reads and updates are measured at one client.
    pub duration: Duration,
    /// `NAME=VALUE` each, of the workload.
    pub params: Vec<String>,
    /// What is expected.
    pub expectations: Expectations,
    /// What comes after it.
    pub go_on: GoOn,
    /// When more clients are no use.
    pub growth: Growth,
}

/// What it is carried out with.
pub struct Means<'a> {
    /// Where the database is.
    pub wanted: Wanted,
    /// Where trials are kept.
    pub store: &'a Path,
    /// How trials are shown while they run.
    pub screen: Form,
    /// How a load reports.
    pub progress: &'a dyn Fn() -> Progress,
    /// Ctrl-C.
    pub interrupts: &'static Interrupts,
    /// Interrupts before the verb began; any more end it.
    pub interrupts_seen: u32,
}

/// A calibration that was begun.
pub struct Conducted {
    /// Its UUID in the store.
    pub uuid: String,
    /// Why it ended before its end.
    pub early: Option<Failure>,
}

/// Does it.
///
/// # Errors
/// The target cannot be opened, the store cannot be written. What goes wrong with a trial ends the
/// calibration early instead: what was measured before is there to be shown.
pub fn conduct(asked: &Asked, means: Means<'_>) -> Result<Conducted, Failure> {
    // What can be wrong without a server is said before one is started.
    for measure in [Measure::Commit, Measure::Baseline] {
        let trial = measure.trial(&means.wanted, asked.duration, &asked.params);
        let checked = prepare::check(&trial)?;
        if measure == Measure::Baseline {
            check_names(&checked)?;
        }
    }
    let quiet = means.screen == Form::Quiet;
    let target = open::open(&means.wanted, &mut |step| own::tell(&step, quiet))?;
    for warning in &target.warnings {
        crate::say::remark!("pgdyno: warning: {warning}");
    }
    target.connect_unless_interrupted(means.interrupts)?.close();
    let store = Store::open(means.store)?;
    let experiment = store.begin_experiment(&header(asked, &target))?;
    let mut calibration = Calibration {
        asked,
        store: store.path().to_owned(),
        means,
        target,
        experiment,
        position: 0,
        facts: None,
        product: None,
    };
    let early = calibration.all().err();
    Ok(Conducted {
        uuid: calibration.experiment.uuid,
        early,
    })
}

/// Figures are found by the names of the scripts.
fn check_names(checked: &prepare::Checked) -> Result<(), Failure> {
    let scripts = &checked.workload.scripts;
    for name in [READ, UPDATE] {
        if !scripts.iter().any(|script| script.name == name) {
            return Err(Failure::new(format!(
                "with these parameters the workload has no script {name}, and its time is what is \
                 calibrated"
            )));
        }
    }
    Ok(())
}

fn header(asked: &Asked, target: &Target) -> ExperimentHeader {
    let after = match target.kind {
        Kind::Named => place(&target.endpoints[0].name),
        Kind::Kept => "kept".to_owned(),
        Kind::Own => "own".to_owned(),
    };
    let definition = json!({
        "calibration": {
            "expect": asked.expectations.to_json(),
            "duration_s": asked.duration.as_secs_f64(),
            "params": asked.params,
            "growth": asked.growth,
        },
    });
    ExperimentHeader {
        name: asked
            .name
            .clone()
            .unwrap_or_else(|| format!("calibrate-{after}")),
        definition: definition.to_string(),
    }
}

/// A trial about to begin.
struct Ready {
    prepared: Prepared,
    /// Whether its sessions have the server time its syncs.
    timed: bool,
    /// What was tidied up before it.
    tidied: Option<hygiene::Record>,
}

/// An endpoint as part of a name.
fn place(endpoint: &str) -> String {
    // Of a Unix socket the port is enough: it is on this host.
    match endpoint.rsplit_once("/.s.PGSQL.") {
        Some((_, port)) => format!("local:{port}"),
        None => endpoint.replace(char::is_whitespace, "-"),
    }
}

struct Calibration<'a> {
    asked: &'a Asked,
    means: Means<'a>,
    store: PathBuf,
    target: Target,
    experiment: ExperimentRow,
    position: u32,
    /// As the first trial found them.
    facts: Option<Facts>,
    product: Option<Product>,
}

impl Calibration<'_> {
    fn all(&mut self) -> Result<(), Failure> {
        self.trial(Measure::RoundTrip)?;
        self.trial(Measure::Commit)?;
        let has_wait = self
            .product
            .as_ref()
            .is_some_and(|product| product.dialect.probes.wait.is_ok());
        if has_wait {
            self.trial(Measure::CommitNoWait)?;
        }
        self.trial(Measure::Baseline)?;
        let store = Store::existing(&self.store)?;
        let calibration = read::of_experiment(&store, &self.experiment)?;
        let is_met = calibration.is_some_and(|c| Judged::of(&c).is_met() == Some(true));
        match self.asked.go_on {
            GoOn::Anyway => self.more_clients(&store),
            GoOn::WhenMet if is_met => self.more_clients(&store),
            GoOn::WhenMet | GoOn::Never => Ok(()),
        }
    }

    /// Twice as many clients each time, until that is no use any more.
    fn more_clients(&mut self, store: &Store) -> Result<(), Failure> {
        let mut growth = self.asked.growth;
        if let Some(connections) = self
            .facts
            .as_ref()
            .and_then(|facts| facts.max_connections.seen())
        {
            growth.clients_max = growth
                .clients_max
                .min(connections.saturating_sub(CONNECTIONS_SPARED).max(1));
        }
        loop {
            let steps: Vec<Step> = match read::of_experiment(store, &self.experiment)? {
                Some(calibration) => calibration.steps,
                None => return Ok(()),
            };
            match growth.next(&steps) {
                Some(clients) => self.trial(Measure::Clients(clients))?,
                None => return Ok(()),
            }
        }
    }

    /// Runs a trial and keeps it.
    fn trial(&mut self, measure: Measure) -> Result<(), Failure> {
        let interrupts = self.means.interrupts;
        if interrupts.count() > self.means.interrupts_seen {
            return Err(hygiene::interrupted(interrupts));
        }
        if self.means.screen != Form::Quiet {
            crate::say::remark!("pgdyno: {}", measure.title());
        }
        let asked = self.asked;
        let trial = Trial {
            observe: asked.observe.clone(),
            ..measure.trial(&self.means.wanted, asked.duration, &asked.params)
        };
        let Ready {
            prepared,
            timed,
            tidied,
        } = self.prepare(measure, &trial)?;
        self.position += 1;
        let header = TrialHeader {
            experiment: Some(self.experiment.number),
            point: Some(measure.point()),
            repeat: Some(1),
            position: Some(self.position),
            ..TrialHeader::of(&trial, &prepared)
        };
        let mut writer = Store::open(&self.store)?.begin(&header)?;
        if let Some(record) = tidied {
            writer.keep_event("before", 0, &json!({ "hygiene": record }).to_string());
        }
        let control = Control::default();
        let mut screen = Screen::new(self.means.screen);
        let counters = server_side::before(&self.target, &prepared.product, timed);
        let brake = Brake::on(&control, interrupts, self.means.interrupts_seen);
        let mut observers = Observers::new([&mut writer, &mut screen]);
        let outcome = trial.run(&prepared, &control, &mut observers);
        drop(brake);
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(failure) => {
                writer.end_with(&failure)?;
                return Err(failure);
            }
        };
        writer.keep_event(server_side::EVENT, 0, &json!(counters.grown()).to_string());
        writer.finish(&outcome)?;
        self.facts.get_or_insert(outcome.facts.clone());
        self.product.get_or_insert(prepared.product);
        ended(measure, &outcome, interrupts)
    }

    /// All that comes before it.
    fn prepare(&self, measure: Measure, trial: &Trial) -> Result<Ready, Failure> {
        let interrupts = self.means.interrupts;
        let (mut target, mut timed) = (self.target.clone(), false);
        if let Some(product) = &self.product {
            let (dialect, probes) = (product.dialect, &product.dialect.probes);
            let waits_not = self.waits_not();
            target = target.with_settings(dialect, &measure.settings(probes, waits_not));
            if measure == Measure::Commit
                && let Some((name, value)) = probes.timing
            {
                let timing = [(name.to_owned(), value.to_owned())].into();
                let with_timing = target.with_settings(dialect, &timing);
                // A role that may not set it cannot begin a session with it.
                if let Ok(session) = with_timing.connect() {
                    session.close();
                    (target, timed) = (with_timing, true);
                }
            }
        }
        let checked = prepare::check(trial)?;
        let progress = (self.means.progress)();
        let prepared = prepare::prepare_on(target, checked, trial, progress, interrupts)?;
        let tidied = match measure {
            // What loading has left to be written must not be written meanwhile.
            Measure::Commit | Measure::Baseline => Some(self.tidy(&prepared)?),
            _ => None,
        };
        Ok(Ready {
            prepared,
            timed,
            tidied,
        })
    }

    fn waits_not(&self) -> bool {
        let setting = self
            .facts
            .as_ref()
            .and_then(|facts| facts.synchronous_commit.seen());
        setting.is_some_and(|value| value == "off")
    }

    fn tidy(&self, prepared: &Prepared) -> Result<hygiene::Record, Failure> {
        let interrupts = self.means.interrupts;
        let mut session = self.target.connect_unless_interrupted(interrupts)?;
        let wanted = Hygiene {
            settle: Duration::ZERO,
            ..Hygiene::default()
        };
        let record = hygiene::tidy(
            &mut session,
            prepared.product.dialect,
            prepared.workload.pack.as_ref(),
            &wanted,
            &mut Default::default(),
            (interrupts, self.means.interrupts_seen),
        )?;
        session.close();
        Ok(record)
    }
}

/// Connections left for others: PostgreSQL keeps three for superusers by default, and pgdyno itself
/// has one or two.
const CONNECTIONS_SPARED: u32 = 10;

/// Whether the trial ran to its end.
fn ended(measure: Measure, outcome: &Outcome, interrupts: &Interrupts) -> Result<(), Failure> {
    let recording = &outcome.recording;
    let (state, why) = verdict(recording);
    match state {
        State::Complete => Ok(()),
        State::Aborted => Err(hygiene::interrupted(interrupts)),
        _ => {
            let exit = match recording.clients.disconnected {
                0 => Exit::Failed,
                _ => Exit::Connection,
            };
            let text = format!("{} could not be measured", measure.title());
            let failure = Failure::with(exit, text).detail(why.unwrap_or_default());
            let first = recording.reasons.first().map(|reason| &reason.message);
            Err(match first {
                Some(message) => failure.detail(message.clone()),
                None => failure,
            })
        }
    }
}
