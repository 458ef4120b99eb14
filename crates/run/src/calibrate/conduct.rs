//! Carrying a calibration out: its experiment is made for the server and run like any other. More
//! clients follow from what the trials so far came to.

use pgdyno_model::notebook::{Notebook, verdict};

use std::time::Duration;

use pgdyno_platform::interrupt::Interrupts;
use serde_json::{Value, json};

use super::measure::{self, Server};
use super::{host, server_side};
use crate::experiment::conduct::{self as runner, Means as RunnersMeans};
use crate::experiment::notebook::StoredExperiment;
use crate::experiment::plan::Plan;
use crate::experiment::schedule::Slot;
use crate::experiment::study::Study;
use crate::generators::Conductor;
use crate::prepare::{self, Prepared};
use crate::{reset, settings};
use pgdyno_database::dialect::{POSTGRESQL, Product};
use pgdyno_database::open::{self, Target};
use pgdyno_database::{facts, trouble};
use pgdyno_diagnose::calibration::expect::Expectations;
use pgdyno_diagnose::calibration::growth::Growth;
use pgdyno_diagnose::calibration::judge::Judged;
use pgdyno_diagnose::calibration::read;
use pgdyno_model::document::{Facts, TargetKind};
use pgdyno_model::event::{Finished, PlannedTrial, Role};
use pgdyno_spec::{
    TargetSpec,
    experiment::{
        calibration::Measure, calibration::READ, calibration::SERVER_SIDE, calibration::UPDATE,
        point::Point,
    },
    seed_from_clock,
};
use pgdyno_wire::Addr;

use pgdyno_model::{Observer, Observers, Outcome, Progress, State};
use pgdyno_spec::{Exit, Failure};

/// What comes after the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoOn {
    /// More clients when the baseline is met.
    WhenMet,
    Anyway,
    Never,
}

/// What to calibrate, and how.
#[derive(Debug, Clone)]
pub struct CalibrateOptions {
    /// What is observed beside trials.
    pub observe: pgdyno_observe::ObserveOptions,
    /// What the experiment is called; named after the target when nothing is said.
    pub name: Option<String>,
    /// How long reads and updates are measured at one client.
    pub duration: Duration,
    /// The workload's parameters, with their values as they were typed.
    pub params: Vec<(String, String)>,
    pub expectations: Expectations,
    pub go_on: GoOn,
    /// When more clients are no use.
    pub growth: Growth,
}

/// What it is carried out with.
pub struct Means<'a> {
    pub wanted: TargetSpec,
    pub notebook: &'a dyn Notebook,
    pub observer: &'a mut dyn Observer<Outcome>,
    /// Gets the steps before a trial, loads among them.
    pub progress: &'a mut dyn Progress,
    /// The other generators, where several measure each trial together and this one decides.
    pub generators: Option<Conductor<'a>>,
    pub interrupts: &'static Interrupts,
}

/// A calibration that was begun.
pub struct Conducted {
    /// Its UUID in the store.
    pub uuid: String,
    /// Why it ended before its end.
    pub early: Option<Failure>,
}

/// Runs the calibration.
///
/// # Errors
/// The target cannot be opened, the store cannot be written. What goes wrong with a trial ends the
/// calibration early instead: what was measured before is there to be shown.
pub fn conduct(options: &CalibrateOptions, means: Means<'_>) -> Result<Conducted, Failure> {
    // What can be wrong without a server is said before one is started.
    let of_any = Server {
        probes: &POSTGRESQL.probes,
        waits_not: false,
        may_time: false,
        endpoints: 1,
    };
    check_names(
        &options.plan("calibrate", &of_any, &means.wanted)?,
        &means.wanted,
    )?;
    let progress = means.progress;
    let target = open::open(&means.wanted, &mut |step| progress.step(&step.to_string()))?;
    for warning in &target.warnings {
        progress.warning(warning);
    }
    let (server, facts) = look(&target, means.interrupts)?;
    let name = options.name.clone().unwrap_or_else(|| named_after(&target));
    let mut plan = options.plan(&name, &server, &means.wanted)?;
    progress.step("measuring what this host can do: its own round trip and sync");
    let is_tcp = matches!(target.endpoints[0].candidates[0].addr, Addr::Tcp(_));
    let host = host::speed(&facts, server.probes, is_tcp);
    plan.identity.definition["calibration"] = options.to_json(&server, &facts);
    plan.identity.definition["calibration"]["host"] = json!(host);
    let notebook = StoredExperiment::new(means.notebook, &plan.identity);
    let mut calibration = Calibration {
        options,
        notebook: means.notebook,
        plan: &plan,
        growth: within(options.growth, &facts),
        target: target.clone(),
        server,
        counters: None,
    };
    let mut steps = Steps {
        interrupts: means.interrupts,
    };
    let journals = settings::directory()?;
    let ended = runner::conduct(
        &plan,
        RunnersMeans {
            wanted: means.wanted,
            target: Some(target.clone()),
            observe: options.observe.clone(),
            replace: false,
            journals: &journals,
            progress,
            observer: &mut Observers::new([means.observer, &mut steps]),
            study: &mut calibration,
            notebook: &notebook,
            generators: means.generators,
            interrupts: means.interrupts,
        },
    );
    let early = ended.map_or_else(Some, |ended| ended.early);
    let early = early.map(|failure| target.explain(failure));
    if !notebook.has_begun()
        && let Some(failure) = early
    {
        return Err(failure);
    }
    Ok(Conducted {
        uuid: notebook.uuid()?.to_owned(),
        early,
    })
}

impl CalibrateOptions {
    fn plan(&self, name: &str, server: &Server, wanted: &TargetSpec) -> Result<Plan, Failure> {
        let experiment = measure::experiment(name, self.duration, &self.params, server);
        Plan::new(experiment, wanted, seed_from_clock())
    }

    /// As it is kept, with what no trial tells of the product.
    fn to_json(&self, server: &Server, facts: &Facts) -> Value {
        let version = facts.version.known();
        let product = version.map(|version| Product::recognise(version).title());
        let params = self.params.iter();
        let params = params.map(|(name, value)| format!("{name}={value}"));
        json!({
            "expect": self.expectations,
            "duration_s": self.duration.as_secs_f64(),
            "params": params.collect::<Vec<_>>(),
            "growth": self.growth,
            "server": product.as_deref().unwrap_or("a server that does not say what it is"),
            "no_wait": server.probes.wait.as_ref().err(),
            "sync_series": server.probes.sync_series,
        })
    }
}

/// Figures are found by the names of the scripts.
fn check_names(plan: &Plan, wanted: &TargetSpec) -> Result<(), Failure> {
    let baseline = plan.slots.last().map(|slot| &slot.point);
    let Some(baseline) = baseline else {
        return Ok(());
    };
    let baseline = baseline.spec(wanted.clone(), None, 0)?;
    let scripts = prepare::check(&baseline)?.workload.scripts;
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

/// What the experiment depends on.
fn look(target: &Target, interrupts: &'static Interrupts) -> Result<(Server, Facts), Failure> {
    let interrupts_before = interrupts.count();
    let mut session = target.connect()?;
    let product = Product::ask(&mut session)
        .map_err(|e| trouble::server(&e, "could not read the server's version"))?;
    let facts = facts::collect(&mut session);
    session.close();
    if interrupts.count() > interrupts_before {
        let code = interrupts.exit_code().unwrap_or(130);
        let text = "interrupted while looking at the server";
        return Err(Failure::with(Exit::Interrupted(code), text));
    }
    let probes = &product.dialect.probes;
    let may_time = probes.timing.is_some_and(|(name, value)| {
        let timing = [(name.to_owned(), value.to_owned())].into();
        // A role that may not set it cannot begin a session with it.
        let session = target.with_settings(product.dialect, &timing).connect();
        session.map(|session| session.close()).is_ok()
    });
    let server = Server {
        probes,
        waits_not: facts
            .synchronous_commit
            .known()
            .is_some_and(|value| value == "off"),
        may_time,
        endpoints: target.endpoints.len() as u32,
    };
    Ok((server, facts))
}

fn named_after(target: &Target) -> String {
    let after = match target.kind {
        TargetKind::Named => place(&target.endpoints[0].name),
        TargetKind::Kept => "kept".to_owned(),
        TargetKind::Own => "own".to_owned(),
    };
    format!("calibrate-{after}")
}

/// An endpoint as part of a name.
fn place(endpoint: &str) -> String {
    // Of a Unix socket the port is enough: it is on this host.
    match endpoint.rsplit_once("/.s.PGSQL.") {
        Some((_, port)) => format!("local:{port}"),
        None => endpoint.replace(char::is_whitespace, "-"),
    }
}

/// Leaves connections for others: PostgreSQL keeps three for superusers by default, and pgdyno itself
/// has one or two.
fn within(growth: Growth, facts: &Facts) -> Growth {
    const SPARED: u32 = 10;
    let most = facts.max_connections.known();
    let most = most.map_or(u32::MAX, |all| all.saturating_sub(SPARED).max(1));
    Growth {
        clients_max: growth.clients_max.min(most),
        ..growth
    }
}

struct Calibration<'a> {
    options: &'a CalibrateOptions,
    notebook: &'a dyn Notebook,
    plan: &'a Plan,
    growth: Growth,
    target: Target,
    server: Server,
    /// Of the trial that runs.
    counters: Option<server_side::Before>,
}

impl Study for Calibration<'_> {
    fn before(&mut self, trial: &PlannedTrial, prepared: &Prepared) -> Result<(), Failure> {
        let is_commit = Measure::at(&trial.point) == Some(Measure::Commit);
        let timed = is_commit && self.server.may_time;
        self.counters = Some(server_side::before(&self.target, &prepared.product, timed));
        Ok(())
    }

    fn after(&mut self) -> Result<Option<(&'static str, Value)>, Failure> {
        let counters = self.counters.take();
        Ok(counters.map(|counters| (SERVER_SIDE, json!(counters.grown()))))
    }

    fn goes_on(&self) -> bool {
        true
    }

    /// Twice as many clients each time, until that is no use any more.
    fn more(&mut self, kept: &StoredExperiment<'_>) -> Result<Vec<Slot>, Failure> {
        let experiment = self.notebook.experiment(kept.uuid()?)?;
        let Some(calibration) = read::of_experiment(self.notebook, &experiment)? else {
            return Ok(Vec::new());
        };
        let goes_on = match self.options.go_on {
            GoOn::Anyway => true,
            GoOn::WhenMet => Judged::of(&calibration).is_met() == Some(true),
            GoOn::Never => false,
        };
        let clients = self.growth.next(&calibration.steps).filter(|_| goes_on);
        let baseline = self.plan.slots.last();
        let next = clients.zip(baseline).map(|(clients, baseline)| {
            let CalibrateOptions {
                duration, params, ..
            } = self.options;
            let own = measure::point(Measure::Clients(clients), *duration, params, &self.server);
            let mut values = self.plan.experiment.fixed.clone();
            values.extend(own);
            Slot {
                index: baseline.index,
                point: Point::new(values),
                role: Role::Point,
                repeat: 1,
            }
        });
        Ok(next.into_iter().collect())
    }

    fn keeps_tables(&self) -> bool {
        true
    }
}

/// Ends the calibration with the first trial that is not complete.
struct Steps {
    interrupts: &'static Interrupts,
}

impl Observer<Outcome> for Steps {
    fn trial_finished(&mut self, finished: &Finished<'_, Outcome>) -> Result<(), Failure> {
        let outcome = finished.outcome.map_err(Failure::clone)?;
        ended(&title(finished.trial), outcome, self.interrupts)
    }
}

/// What a trial of a calibration measures, for people.
pub fn title(trial: &PlannedTrial) -> String {
    Measure::at(&trial.point).map_or_else(|| trial.label.clone(), Measure::title)
}

/// Whether the trial ran to its end.
fn ended(title: &str, outcome: &Outcome, interrupts: &Interrupts) -> Result<(), Failure> {
    let recording = &outcome.recording;
    let (state, why) = verdict(recording);
    match state {
        State::Complete | State::Partial => Ok(()),
        State::Aborted => Err(reset::interrupted(interrupts)),
        _ => {
            let exit = if !recording.has_lost_server() {
                Exit::Failed
            } else {
                Exit::Connection
            };
            let text = format!("{title} could not be measured");
            let failure = Failure::with(exit, text).detail(why.unwrap_or_default());
            let first = recording.reasons.first().map(|reason| &reason.message);
            Err(match first {
                Some(message) => failure.detail(message.clone()),
                None => failure,
            })
        }
    }
}
