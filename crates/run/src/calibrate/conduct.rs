//! Carrying a calibration out: its experiment is made for the server and run like any other. More
//! clients follow from what the trials so far came to.

use pgdyno_model::notebook::{Notebook, verdict};

use std::time::Duration;

use pgdyno_platform::interrupt::Interrupts;
use serde_json::{Value, json};

use super::expect::Expectations;
use super::growth::Growth;
use super::judge::Judged;
use super::measure::{self, Measure, READ, Server, UPDATE};
use super::{read, server_side};
use crate::experiment::conduct::{self as runner, Means as RunnersMeans};
use crate::experiment::notebook::Kept;
use crate::experiment::plan::Plan;
use crate::experiment::point::Point;
use crate::experiment::schedule::Slot;
use crate::experiment::study::Study;
use crate::prepare::{self, Prepared};
use crate::{reset, settings};
use pgdyno_database::dialect::{POSTGRESQL, Product};
use pgdyno_database::open::{self, Target};
use pgdyno_database::{facts, trouble};
use pgdyno_model::document::{Facts, TargetKind};
use pgdyno_model::event::{Finished, PlannedTrial, Role};
use pgdyno_model::spec::{TargetSpec, seed_from_clock};
use pgdyno_model::{Exit, Failure, Observer, Observers, Outcome, Progress, State};

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
    pub observe: pgdyno_observe::Asked,
    /// What the experiment is called; named after the target when nothing is said.
    pub name: Option<String>,
    /// How long reads and updates are measured at one client.
    pub duration: Duration,
    /// The workload's parameters, with their values as they were typed.
    pub params: Vec<(String, String)>,
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
    pub wanted: TargetSpec,
    /// Where trials are kept.
    pub notebook: &'a dyn Notebook,
    /// Who watches its trials.
    pub observer: &'a mut dyn Observer<Outcome>,
    /// Who is told the steps before a trial, loads among them.
    pub progress: &'a mut dyn Progress,
    /// Ctrl-C.
    pub interrupts: &'static Interrupts,
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
    let of_any = Server {
        probes: &POSTGRESQL.probes,
        waits_not: false,
        may_time: false,
    };
    check_names(
        &asked.plan("calibrate", &of_any, &means.wanted)?,
        &means.wanted,
    )?;
    let progress = means.progress;
    let target = open::open(&means.wanted, &mut |step| progress.step(&step.to_string()))?;
    for warning in &target.warnings {
        progress.warning(warning);
    }
    let (server, facts) = look(&target, means.interrupts)?;
    let name = asked.name.clone().unwrap_or_else(|| named_after(&target));
    let mut plan = asked.plan(&name, &server, &means.wanted)?;
    plan.identity.definition["calibration"] = asked.to_json();
    let notebook = Kept::begin(means.notebook, &plan.identity)?;
    let mut calibration = Calibration {
        asked,
        notebook: means.notebook,
        plan: &plan,
        growth: asked.growth.within(&facts),
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
            observe: asked.observe.clone(),
            journals: &journals,
            progress,
            observer: &mut Observers::new([means.observer, &mut steps]),
            study: &mut calibration,
            notebook: &notebook,
            interrupts: means.interrupts,
        },
    );
    let early = ended.map_or_else(Some, |ended| ended.early);
    Ok(Conducted {
        uuid: notebook.uuid().to_owned(),
        early: early.map(|failure| target.explain(failure)),
    })
}

impl Asked {
    fn plan(&self, name: &str, server: &Server, wanted: &TargetSpec) -> Result<Plan, Failure> {
        let experiment = measure::experiment(name, self.duration, &self.params, server);
        Plan::new(experiment, wanted, seed_from_clock())
    }

    /// As it is kept.
    fn to_json(&self) -> Value {
        let params = self.params.iter();
        let params = params.map(|(name, value)| format!("{name}={value}"));
        json!({
            "expect": self.expectations,
            "duration_s": self.duration.as_secs_f64(),
            "params": params.collect::<Vec<_>>(),
            "growth": self.growth,
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
    let mut session = target.connect_unless_interrupted(interrupts)?;
    let product = Product::ask(&mut session)
        .map_err(|e| trouble::server(&e, "could not ask the server for its version"))?;
    let facts = facts::collect(&mut session);
    session.close();
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

impl Growth {
    /// Leaves connections for others: PostgreSQL keeps three for superusers by default, and pgdyno
    /// itself has one or two.
    fn within(self, facts: &Facts) -> Growth {
        const SPARED: u32 = 10;
        let most = facts.max_connections.known();
        let most = most.map_or(u32::MAX, |all| all.saturating_sub(SPARED).max(1));
        Growth {
            clients_max: self.clients_max.min(most),
            ..self
        }
    }
}

struct Calibration<'a> {
    asked: &'a Asked,
    notebook: &'a dyn Notebook,
    plan: &'a Plan,
    growth: Growth,
    target: Target,
    server: Server,
    /// Of the trial that runs.
    counters: Option<server_side::Before>,
}

impl Study for Calibration<'_> {
    fn before(&mut self, trial: &PlannedTrial, prepared: &Prepared) {
        let is_commit = Measure::at(&trial.point) == Some(Measure::Commit);
        let timed = is_commit && self.server.may_time;
        self.counters = Some(server_side::before(&self.target, &prepared.product, timed));
    }

    fn after(&mut self) -> Option<(&'static str, Value)> {
        let counters = self.counters.take()?;
        Some((server_side::EVENT, json!(counters.grown())))
    }

    /// Twice as many clients each time, until that is no use any more.
    fn more(&mut self, kept: &Kept<'_>) -> Result<Vec<Slot>, Failure> {
        let experiment = self.notebook.experiment(kept.uuid())?;
        let Some(calibration) = read::of_experiment(self.notebook, &experiment)? else {
            return Ok(Vec::new());
        };
        let goes_on = match self.asked.go_on {
            GoOn::Anyway => true,
            GoOn::WhenMet => Judged::of(&calibration).is_met() == Some(true),
            GoOn::Never => false,
        };
        let clients = self.growth.next(&calibration.steps).filter(|_| goes_on);
        let baseline = self.plan.slots.last();
        let next = clients.zip(baseline).map(|(clients, baseline)| {
            let Asked {
                duration, params, ..
            } = self.asked;
            let own = Measure::Clients(clients).point(*duration, params, &self.server);
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
        State::Complete => Ok(()),
        State::Aborted => Err(reset::interrupted(interrupts)),
        _ => {
            let exit = match recording.has_lost_server() {
                false => Exit::Failed,
                true => Exit::Connection,
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
