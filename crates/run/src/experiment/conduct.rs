//! Carrying out a plan: one trial after the other, each prepared and run as `pgdyno run` does it,
//! with the server's settings, its tables and its tidiness seen to before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use pgdyno_drive::Control;
use pgdyno_measurement::{Level, Message};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_session::Session;

use super::capacity;
use super::estimate::{Learnt, LoadedTables, estimate, keys};
use super::notebook::{Circumstances, StoredExperiment, state_after};
use super::plan::{Plan, Tables};
use super::schedule::{Key, Slot};
use super::study::Study;
use crate::generators::Conductor;
use crate::interrupt::EndOnInterrupt;
use crate::prepare::{self, Prepared};
use crate::reset;
use crate::settings::{self, Changes, Restart, Way};
use crate::trial::Trial;
use pgdyno_database::dialect::{Dialect, Product};
use pgdyno_database::open::{self, Target};
use pgdyno_database::trouble;
use pgdyno_diagnose::capacity::seconds_over;
use pgdyno_model::document::{Disturbed, TargetKind};
use pgdyno_model::event::{Finished, Notice, PlannedTrial, Role};
use pgdyno_model::notebook::state;
use pgdyno_model::progress::{Progress, WarningsOnly};
use pgdyno_model::{Observer, Observers, Outcome, State};
use pgdyno_spec::{
    Exit, Failure, TargetSpec, TrialSpec,
    experiment::{Reset, point::Point, point::PointRate},
};
use pgdyno_workload::loader::{self, How, Leave, Loaded, Watch};
use pgdyno_workload::pack::Pack;

/// How long a server is waited for that a disturbance took away, and how often it is looked for.
const SERVER_BACK_MAX: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// Why a trial is not run whose rate is a share of a maximum that is not known.
const NO_MAXIMUM: &str = "not run, like all trials whose rate is a share of this maximum: it could not be \
 measured";

/// What a sweep needs beside its plan.
pub struct Means<'a> {
    /// The target of points that name none.
    pub wanted: TargetSpec,
    /// The same where it is open already.
    pub target: Option<Target>,
    /// What is observed beside trials.
    pub observe: pgdyno_observe::ObserveOptions,
    /// Whether tables may be dropped that pgdyno loaded for something else.
    pub replace: bool,
    /// Where journals of settings go.
    pub journals: &'a Path,
    /// Gets the steps before a trial, loads among them.
    pub progress: &'a mut dyn Progress,
    /// Who watches the experiment and its trials, beside the notebook.
    pub observer: &'a mut dyn Observer<Outcome>,
    /// What is done besides the plan's trials.
    pub study: &'a mut dyn Study,
    pub notebook: &'a StoredExperiment<'a>,
    /// The other generators, where several measure each trial together and this one decides.
    pub generators: Option<Conductor<'a>>,
    pub interrupts: &'static Interrupts,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ended {
    /// Trials that are complete, those of earlier sessions included.
    pub complete: usize,
    /// Trials that failed just now.
    pub failed: usize,
    /// How many there are, with those that the first ones asked for.
    pub trials: usize,
    /// Whether one of them failed because the server was lost.
    pub lost_server: bool,
    pub early: Option<Failure>,
}

impl Ended {
    /// The failure of a sweep with failed trials, with its exit code.
    pub fn of_failed(&self) -> Failure {
        let exit = if !self.lost_server {
            Exit::Failed
        } else {
            Exit::Connection
        };
        Failure::with(exit, format!("{} trials failed", self.failed))
    }
}

/// Carries out what is not complete.
///
/// # Errors
/// A server cannot do what the trials ask for, which is checked before the first one; the notebook or a result cannot be written, or settings could not be put back.
pub fn conduct<'a>(plan: &'a Plan, means: Means<'a>) -> Result<Ended, Failure> {
    let done = means.notebook.done().iter();
    let done = done.map(|done| (done.key.clone(), done.goodput_per_s));
    let mut sweep = Sweep {
        plan,
        slots: plan.slots.clone(),
        keys: keys(&plan.slots),
        interrupts_seen: means.interrupts.count(),
        means,
        done: done.collect(),
        places: BTreeMap::new(),
        loaded: LoadedTables::default(),
        learnt: Learnt::default(),
    };
    let ended = sweep
        .look_ahead()
        .and_then(|()| sweep.means.notebook.begin().map(|_| ()))
        .and_then(|()| sweep.put_back_where_all_is_done())
        .and_then(|()| sweep.all());
    // Whatever happened, the server is left as it was found.
    let restored = sweep.restore();
    let ended = ended?;
    restored?;
    Ok(ended)
}

/// A server that trials run on.
struct Place {
    target: Target,
    dialect: &'static Dialect,
    changes: Changes,
    ways: BTreeMap<String, Way>,
    /// Tables that trials have written to since they were last vacuumed.
    written: BTreeSet<String>,
}

/// Whether a disturbance that did what it was to do took the server away until the end of the trial.
fn is_lost_by_disturbance(slot: &Slot, outcome: &Outcome) -> bool {
    let disturbed: Option<Disturbed> = outcome.findings.get();
    slot.point.is_disturbed()
        && outcome.recording.has_lost_server()
        && disturbed.is_some_and(|it| it.began_us.is_some() && it.troubles().is_empty())
}

struct Sweep<'a> {
    plan: &'a Plan,
    /// The plan's trials, and those that were added.
    slots: Vec<Slot>,
    keys: Vec<Key>,
    means: Means<'a>,
    done: BTreeMap<Key, f64>,
    places: BTreeMap<String, Place>,
    loaded: LoadedTables,
    learnt: Learnt,
    /// Interrupts before the sweep began; any more end it.
    interrupts_seen: u32,
}

/// What one trial came to.
struct Ran {
    outcome: Outcome,
    total_s: f64,
}

impl Sweep<'_> {
    fn all(&mut self) -> Result<Ended, Failure> {
        let mut ended = self.those_from(0)?;
        while ended.complete == self.slots.len() {
            let known = self.slots.len();
            let more = self.more()?;
            if more.is_empty() {
                break;
            }
            self.keys.extend(keys(&more));
            self.slots.extend(more);
            let added = self.those_from(known)?;
            ended.complete += added.complete;
            ended.failed += added.failed;
            ended.early = added.early;
        }
        ended.trials = self.slots.len();
        Ok(ended)
    }

    /// Trials that follow from those so far, which are complete.
    fn more(&mut self) -> Result<Vec<Slot>, Failure> {
        let notebook = self.means.notebook;
        match self.plan.experiment.capacity {
            Some(capacity) => {
                let results = notebook.results()?;
                let points: Vec<&Point> = self.plan.points.iter().map(|p| &p.point).collect();
                let kept = capacity::stored_steps(&points, &self.slots, &results);
                if !kept.is_empty() {
                    return Ok(kept);
                }
                let seconds = seconds_over(notebook.notebook(), &results, capacity)?;
                let next = capacity::next_step(&points, capacity, &results, &seconds);
                Ok(next.into_iter().collect())
            }
            None => self.means.study.more(notebook),
        }
    }

    /// The trials from this number on.
    fn those_from(&mut self, first: usize) -> Result<Ended, Failure> {
        let mut ended = Ended::default();
        // Maxima that failed, of which the first trial that needs them was reported.
        let mut unknown = BTreeSet::new();
        for (number, slot) in self.slots.clone().iter().enumerate().skip(first) {
            if self.done.contains_key(&slot.key()) {
                ended.complete += 1;
                continue;
            }
            let Some(rate) = self.rate(slot) else {
                let maximum = slot.point.at_maximum().key();
                if unknown.insert(maximum) {
                    self.means
                        .observer
                        .trial_skipped(&self.planned(number, slot), NO_MAXIMUM);
                }
                ended.failed += 1;
                continue;
            };
            let planned = self.planned(number, slot);
            let left = self.left(number);
            self.means.observer.trial_announced(&planned, left);
            let mut circumstances = Circumstances::default();
            let result = self.trial((number, slot), rate, &mut circumstances)?;
            let (state, error) = match &result {
                Ok(ran) => state(&ran.outcome),
                Err(failure) => (state_after(failure), Some(failure.message.clone())),
            };
            self.means.observer.trial_finished(&Finished {
                trial: &planned,
                state,
                outcome: result.as_ref().map(|ran| &ran.outcome),
                error: error.as_deref(),
                before: &circumstances.to_json(),
            })?;
            match (state, result) {
                (State::Complete, Ok(ran)) => {
                    let goodput = ran.outcome.recording.measured.goodput_per_s();
                    let measured_s = ran.outcome.recording.measured.elapsed_us as f64 / 1e6;
                    self.learnt.ran(slot, ran.total_s, measured_s);
                    self.done.insert(slot.key(), goodput);
                    ended.complete += 1;
                }
                (_, Ok(ran)) if is_lost_by_disturbance(slot, &ran.outcome) => {
                    // What the laboratory wanted to know. The next trial begins when the server is there again.
                    ended.complete += 1;
                    self.wait_for_server();
                }
                (State::Failed | State::Partial, result) => {
                    ended.failed += 1;
                    ended.lost_server |= result
                        .as_ref()
                        .is_ok_and(|ran| ran.outcome.recording.has_lost_server());
                    // Nothing that follows can go better without the server, nor is a disturbance that is refused
                    // once taken later: controls alone are for nothing.
                    if let Err(failure) = result
                        && (failure.exit == Exit::Connection
                            || failure.exit == Exit::Usage && slot.point.is_disturbed())
                    {
                        ended.early = Some(failure);
                        return Ok(ended);
                    }
                }
                _ => {}
            }
            if self.means.interrupts.count() > self.interrupts_seen {
                let code = self.means.interrupts.exit_code().unwrap_or(130);
                let failure =
                    Failure::with(Exit::Interrupted(code), "the experiment was interrupted");
                ended.early = Some(failure);
                return Ok(ended);
            }
        }
        Ok(ended)
    }

    /// Waits until the server answers that a disturbance has ended, for the time that it may take to be undone.
    fn wait_for_server(&self) {
        let until = Instant::now() + SERVER_BACK_MAX;
        let is_there = || {
            self.places.values().all(|place| {
                let mut endpoints = place.target.endpoints.iter();
                endpoints.any(|endpoint| endpoint.connect().is_ok())
            })
        };
        while self.means.interrupts.count() == self.interrupts_seen
            && !is_there()
            && Instant::now() < until
        {
            thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Whether trials may follow from those that are over.
    fn goes_on(&self) -> bool {
        self.plan.experiment.capacity.is_some() || self.means.study.goes_on()
    }

    fn planned(&self, number: usize, slot: &Slot) -> PlannedTrial {
        PlannedTrial {
            position: number + 1,
            trials: (!self.goes_on()).then_some(self.slots.len()),
            label: self.plan.label(slot),
            role: slot.role,
            point: slot.point.to_json(),
            repeat: slot.repeat,
        }
    }

    /// How long the trials from this one on take that are not done.
    fn left(&self, number: usize) -> Duration {
        let left = self.slots[number..].iter().zip(&self.keys[number..]);
        let left = left.filter(|(_, key)| !self.done.contains_key(*key));
        estimate(self.plan, left, self.loaded.clone(), &self.learnt).time
    }

    /// Runs a trial and keeps it: outside, that it could not be kept; inside, what became of it.
    fn trial(
        &mut self,
        (number, slot): (usize, &Slot),
        rate: Option<pgdyno_spec::Rate>,
        before: &mut Circumstances,
    ) -> Result<Result<Ran, Failure>, Failure> {
        let began = Instant::now();
        // With the same arrivals at each rate all steps of a search would be off alike, which its
        // interval cannot show.
        let own = match self.plan.experiment.capacity {
            Some(_) => number as i64 + 1,
            None => i64::from(slot.repeat),
        };
        let seed = self.plan.identity.seed.wrapping_add(own);
        let trial = Trial {
            share: None,
            spec: TrialSpec {
                observe: self.means.observe.spec.clone(),
                ..slot.point.spec(self.means.wanted.clone(), rate, seed)?
            },
            observe: self.means.observe.clone(),
        };
        let spec = &trial.spec;
        let place = (slot, number as u32 + 1);
        let notebook = self.means.notebook;
        let (mut prepared, load_s) = match self.make_ready(slot, spec, before) {
            Ok(prepared) => prepared,
            Err(failure) => {
                let target = self.places.get(slot.point.target().unwrap_or_default());
                let target = target.map(|place| &place.target);
                notebook.not_begun(place, spec, target, before, &failure)?;
                return Ok(Err(failure));
            }
        };
        let interrupts = self.means.interrupts;
        let control = Control::default();
        let mut writer = notebook.begin_trial(place, spec, &mut prepared)?;
        writer.keep_event("before", 0, &before.to_json().to_string());
        let planned = self.planned(number, slot);
        if let Err(failure) = self.means.study.before(&planned, &prepared) {
            writer.end_with(&failure)?;
            return Ok(Err(failure));
        }
        let mut generators = self.means.generators.as_mut();
        let outcome = match generators.take_if(|all| all.can_share(&trial.spec)) {
            None => {
                let until_then = EndOnInterrupt::on(&control, interrupts, self.interrupts_seen)?;
                // The notebook first: what is seen is kept already.
                let mut observers = Observers::new([
                    &mut *writer as &mut dyn Observer<Outcome>,
                    self.means.observer,
                ]);
                let outcome = trial.run(&prepared, &control, &mut observers);
                drop(until_then);
                outcome
            }
            Some(all) => {
                let observer: &mut dyn Observer<Outcome> = &mut *self.means.observer;
                let means = (notebook.notebook(), observer);
                all.run(
                    trial,
                    (slot.index, &mut prepared),
                    &control,
                    &mut *writer,
                    means,
                )
            }
        };
        let after = self.means.study.after();
        if let Ok(Some((kind, text))) = &after {
            writer.keep_event(kind, 0, &text.to_string());
        }
        let ended = match outcome {
            Ok(outcome) => {
                let ended = writer.finish(&outcome)?;
                let reported = [
                    ended.waits.map(|why| ("waits on this host", why)),
                    ended
                        .without_history
                        .map(|why| ("is kept without its history", why)),
                ];
                for (what, why) in reported.into_iter().flatten() {
                    let text = format!("trial {number} {what}: {}", why.message);
                    let level = Level::Error;
                    self.means.observer.message(&Message { level, text });
                }
                let total_s = began.elapsed().as_secs_f64() - load_s;
                Ok(Ok(Ran { outcome, total_s }))
            }
            Err(failure) => {
                writer.end_with(&failure)?;
                Ok(Err(failure))
            }
        };
        after.and(ended)
    }

    /// All that comes before a trial; the time that loading took.
    fn make_ready(
        &mut self,
        slot: &Slot,
        spec: &TrialSpec,
        before: &mut Circumstances,
    ) -> Result<(Prepared, f64), Failure> {
        let planned = &self.plan.points[slot.index];
        // Also looks at script files again: they may have gone since the plan was made.
        let checked = prepare::check(spec)?;
        let name = slot.point.target().unwrap_or_default().to_owned();
        self.open(&name, &spec.target)?;
        let interrupts = self.means.interrupts;
        let Some(place) = self.places.get_mut(&name) else {
            return Err(Failure::new("the target is not open"));
        };
        let (of_session, of_system) = place.split(slot.point.settings());
        let mut session = place.target.administer()?;
        place
            .changes
            .switch(&mut session, &of_system, self.means.journals)?;
        let mut administration = None;
        if place.target.is_administered_apart() {
            administration = Some(std::mem::replace(&mut session, place.target.connect()?));
        }
        let settings = of_session.iter().chain(&of_system);
        before.settings.extend(settings.map(|(name, value)| {
            let way = place.ways.get(name).copied().unwrap_or(Way::Session);
            (name.clone(), value.clone(), way.word())
        }));

        let mut load_s = 0.0;
        if let Some(tables) = &planned.tables {
            let leave = leave(self.plan, self.means.replace);
            let loaded = place.load(&mut session, tables, leave, &mut self.means)?;
            if loaded.how == How::LoadedNow {
                let rows = loaded.rows.iter().map(|(_, rows)| rows).sum();
                load_s = loaded.elapsed.as_secs_f64();
                self.learnt.loaded(rows, load_s);
                before.loaded = Some((rows, load_s));
            }
            let key = (name, tables.pack.tables_pack().name().to_owned());
            self.loaded.0.insert(key, loaded.variables);
        }

        let pack = planned.tables.as_ref().map(|tables| &tables.made);
        let wanted = &self.plan.experiment.reset;
        let limits = (interrupts, self.interrupts_seen);
        let observer = &mut *self.means.observer;
        let sessions = (&mut session, administration.as_mut());
        let record = place.tidy(sessions, pack, wanted, limits, observer)?;
        before.reset = Some(record);
        session.close();
        administration.into_iter().for_each(Session::close);

        let target = place.target.with_settings(place.dialect, &of_session);
        // What it would load is loaded already.
        let mut progress = WarningsOnly(&mut *self.means.progress);
        let by = (&mut progress as &mut dyn Progress, interrupts);
        let prepared = prepare::prepare_on(target, checked, spec, by, None)?;
        if planned.writes {
            let names = pack.into_iter().flat_map(|pack| pack.tables());
            place.written.extend(names.map(|table| table.name.clone()));
            place.written.extend(wanted.truncate.iter().cloned());
        }
        Ok((prepared, load_s))
    }

    /// Transactions a second to schedule; `None` when it is a share of a maximum that is not known.
    fn rate(&self, slot: &Slot) -> Option<Option<pgdyno_spec::Rate>> {
        match slot.point.rate() {
            PointRate::Max => Some(None),
            PointRate::Asked(rate) => Some(Some(rate)),
            PointRate::Share(share) => {
                let key = (Role::Maximum, slot.point.at_maximum().key(), 0);
                let maximum = self.done.get(&key).filter(|maximum| **maximum > 0.0)?;
                Some(Some((maximum * share).into()))
            }
        }
    }

    /// Opens a target once for all its trials: a server of the sweep's own lives as long as it.
    fn open(&mut self, name: &str, wanted: &TargetSpec) -> Result<(), Failure> {
        if self.places.contains_key(name) {
            return Ok(());
        }
        let target = match &self.means.target {
            Some(target) if name.is_empty() => target.clone(),
            _ => open::open(wanted, &mut |step| {
                self.means.progress.step(&step.to_string());
            })?,
        };
        let target = if self.plan.experiment.gives("allow_shell") {
            target.with_all_rights()
        } else {
            target
        };
        for warning in &target.warnings {
            self.means
                .observer
                .notice(&Notice::Warning(warning.clone()));
        }
        let mut session = target.administer()?;
        self.put_back(&target, &mut session)?;
        session.close();
        let (dialect, ways) = look(&mut target.connect()?, self.plan, name, target.kind)?;
        let of_system = ways.iter().find(|(_, way)| **way != Way::Session);
        if let (Some((setting, _)), 2..) = (of_system, target.endpoints.len()) {
            return Err(Failure::new(format!(
                "settings.{setting} is a server setting: with {} endpoints it would change on \
                 only one",
                target.endpoints.len()
            ))
            .hint("name one endpoint, or leave the setting out"));
        }
        let place = Place {
            changes: Changes::none(&target, self.restart(&target, &ways)),
            dialect,
            ways,
            written: BTreeSet::new(),
            target,
        };
        self.try_settings(name, &place)?;
        self.places.insert(name.to_owned(), place);
        Ok(())
    }

    /// Puts back what sweeps that died have left changed on this server.
    fn put_back(&mut self, target: &Target, session: &mut Session) -> Result<(), Failure> {
        for restored in settings::put_back_for(self.means.journals, target, session)? {
            let text = format!("a sweep that died had left settings changed: {restored}");
            self.means.observer.notice(&Notice::Done(text));
        }
        Ok(())
    }

    /// A session that was killed may have run the last trial on a server and not put its settings back:
    /// nothing else would open that server.
    fn put_back_where_all_is_done(&mut self) -> Result<(), Failure> {
        let left = settings::left_changed(self.means.journals)?;
        if left.is_empty() {
            return Ok(());
        }
        let mut seen = BTreeSet::new();
        for planned in &self.plan.points {
            let name = planned.point.target().unwrap_or_default();
            if self.places.contains_key(name) || !seen.insert(name) {
                continue;
            }
            let target = match &self.means.target {
                Some(target) if name.is_empty() => Some(target.clone()),
                // Where none is found now, `pgdyno restore` is the way.
                _ => open::existing(&planned.spec.target).ok().flatten(),
            };
            let Some(target) =
                target.filter(|target| left.contains(target.administration_address()))
            else {
                continue;
            };
            let connected = target.administer();
            let done = connected.and_then(|mut session| self.put_back(&target, &mut session));
            done.map_err(|failure| {
                failure.hint("settings that an earlier session changed there: pgdyno restore")
            })?;
        }
        Ok(())
    }

    /// What restarts a server, with the settings that need it; `None`: there are none.
    fn restart(
        &self,
        target: &Target,
        ways: &BTreeMap<String, Way>,
    ) -> Option<(Restart, BTreeSet<String>)> {
        let needing = ways.iter().filter(|(_, way)| **way == Way::Restart);
        let needing: BTreeSet<String> = needing.map(|(name, _)| name.clone()).collect();
        let how = match (target.kind, &self.plan.experiment.restart) {
            (TargetKind::Own, _) => Restart::Own,
            (_, command) => Restart::Command(command.clone()?),
        };
        (!needing.is_empty()).then_some((how, needing))
    }

    /// A value that the server does not take is found now, not after hours.
    fn try_settings(&self, name: &str, place: &Place) -> Result<(), Failure> {
        let mut tried = BTreeSet::new();
        for planned in &self.plan.points {
            let is_here = planned.point.target().unwrap_or_default() == name;
            let (of_session, _) = place.split(planned.point.settings());
            if is_here && !of_session.is_empty() && tried.insert(of_session.clone()) {
                place
                    .target
                    .with_settings(place.dialect, &of_session)
                    .connect()?
                    .close();
            }
        }
        Ok(())
    }

    fn restore(&mut self) -> Result<(), Failure> {
        let restored = self
            .places
            .values_mut()
            .map(|place| place.changes.restore());
        // Each one, even if another cannot be put back.
        restored.collect::<Vec<_>>().into_iter().collect()
    }
}

impl Place {
    /// The tables of a trial.
    fn load(
        &mut self,
        session: &mut Session,
        tables: &Tables,
        leave: Leave<'_>,
        means: &mut Means<'_>,
    ) -> Result<Loaded, Failure> {
        let mut watch = Watch {
            endpoints: &self.target.endpoints,
            progress: &mut *means.progress,
            interrupts: Some(means.interrupts),
            others: None,
        };
        let (pack, chosen) = (&tables.pack, &tables.chosen);
        let loaded = if means.study.keeps_tables() {
            loader::ensure_loaded(session, pack, chosen, &mut watch)?
        } else {
            loader::load_as_asked(session, pack, chosen, leave, &mut watch)?
        };
        if loaded.how == How::LoadedNow {
            for remark in &loaded.remarks {
                means.observer.notice(&Notice::Note(remark.clone()));
            }
            for way in &loaded.means {
                let text = format!("loaded: {way}");
                means.observer.notice(&Notice::Note(text));
            }
            for table in tables.made.tables() {
                self.written.remove(&table.name);
            }
        }
        Ok(loaded)
    }

    /// What happens between trials; what could not be done is reported.
    fn tidy(
        &mut self,
        sessions: (&mut Session, Option<&mut Session>),
        pack: Option<&Pack>,
        wanted: &Reset,
        limits: (&'static Interrupts, u32),
        observer: &mut dyn Observer<Outcome>,
    ) -> Result<reset::Record, Failure> {
        let written = &mut self.written;
        let record = reset::tidy(sessions, self.dialect, pack, wanted, written, limits)?;
        for gap in record.gaps() {
            observer.notice(&Notice::Warning(gap));
        }
        if let Some(why) = &record.left_alone {
            let text = format!("nothing was tidied up: {why}");
            observer.notice(&Notice::Note(text));
        }
        Ok(record)
    }

    /// Settings of the trial's sessions, and those of the whole server.
    fn split(
        &self,
        settings: BTreeMap<String, String>,
    ) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
        settings
            .into_iter()
            .partition(|(name, _)| self.ways.get(name).is_none_or(|way| *way == Way::Session))
    }
}

/// What must be known of a server before the first trial on it.
fn look(
    session: &mut Session,
    plan: &Plan,
    name: &str,
    kind: TargetKind,
) -> Result<(&'static Dialect, BTreeMap<String, Way>), Failure> {
    let product = Product::ask(session)
        .map_err(|e| trouble::server(&e, "could not read the server's version"))?;
    let here = plan.points.iter().map(|planned| &planned.point);
    let here = here.filter(|point| point.target().unwrap_or_default() == name);
    let names: BTreeSet<String> = here
        .flat_map(|point| point.settings().into_keys())
        .collect();
    let ways = if names.is_empty() {
        BTreeMap::new()
    } else {
        let restarts = kind == TargetKind::Own || plan.experiment.restart.is_some();
        settings::ways(session, names.iter().map(String::as_str), restarts)?
    };
    Ok((product.dialect, ways))
}

/// What its trials may drop; `replace`: the user's leave.
fn leave(plan: &Plan, replace: bool) -> Leave<'_> {
    Leave {
        experiment: &plan.identity.name,
        replace,
        replace_pgbench: plan.experiment.reset.replace_pgbench_tables,
    }
}

/// The time a plan will take from the start, for people.
pub fn whole_time(plan: &Plan) -> (Duration, String) {
    let (loaded, keys) = (LoadedTables::default(), keys(&plan.slots));
    let slots = plan.slots.iter().zip(&keys);
    let all = estimate(plan, slots, loaded, &Learnt::default());
    (all.time, all.words())
}

mod ahead;
#[cfg(test)]
mod tests;
