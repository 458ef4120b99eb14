//! `--generators`: this process is one of several that measure a trial, or the trials of an experiment,
//! together.

use pgdyno_drive::Control;
use pgdyno_measurement::End;
use pgdyno_model::document::TargetKind;
use pgdyno_model::notebook::Rendezvous;
use pgdyno_model::{Observer, Outcome, Progress, State};
use pgdyno_output::{Said, Sink, Verbosity, print_document, remark, rescued};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_report::documents;
use pgdyno_run::experiment::plan::Plan;
use pgdyno_run::generators::{
    Company, Conductor, Filling, Followed, Follows, Means, Measured, Merged, Watch, follow,
    measure, merge, observed,
};
use pgdyno_run::prepare::{self, Prepared, prepare};
use pgdyno_run::trial::Trial;
use pgdyno_spec::{
    Exit, Failure, TargetSpec, TrialSpec,
    generators::{self, GeneratorsSpec},
    text,
};
use pgdyno_store::Store;
use serde_json::json;

use super::observing::observing;
use super::run::{ResultArgs, whole_paths};
use crate::screen::Screen;

/// Runs its part of a trial, and prints what all of them measured.
///
/// # Errors
/// It cannot join; the trial cannot be prepared, or came to nothing.
pub fn run(
    asked: TrialSpec,
    options: &GeneratorsSpec,
    args: &ResultArgs,
    verbosity: Verbosity,
) -> Result<Exit, Failure> {
    if args.keep.no_store {
        let text = "--generators needs the notebook: the generators meet there";
        return Err(Failure::with(Exit::Usage, text).hint("leave out --no-store"));
    }
    if args.history.is_some() {
        let text = "a history of several generators cannot be recorded: their clocks differ";
        return Err(Failure::with(Exit::Usage, text).hint("leave out --history or --generators"));
    }
    let json_to = args.json.open()?;
    let interrupts = pgdyno_run::interrupts()?;
    let content = prepare::check(&asked)?.content_sha256();
    let store = args.keep.store.open()?;
    store.check_writable()?;
    let _served = args.serve.start(&args.keep.store)?;
    let room = store.again()?;
    let (mut company, whole) = Company::join(&asked, &content, options, room, interrupts)?;
    introduce(&company, verbosity);
    let watch = Watch::start(&company, options.leave)?;
    let own = Own {
        whole,
        args,
        verbosity,
        watch,
        store,
        leaves: options.leave,
    };
    let measured = own.measure(&mut company, interrupts);
    let (prepared, measured) =
        measured.inspect_err(|failure| company.leave(failure, options.leave))?;
    let recording = &measured.outcome.recording;
    let exit = match recording.end {
        End::Interrupted => Exit::Interrupted(interrupts.exit_code().unwrap_or(130)),
        _ if recording.has_lost_server() => Exit::Connection,
        _ if recording.clients.aborted > 0 => Exit::Failed,
        _ => Exit::Ok,
    };
    let part = measured
        .kept
        .map_err(|unkept| rescued(unkept, &documents::whole(&measured.outcome)))?;
    let whole = own.add_up(&mut company, &prepared, json_to);
    let whole = whole.map_err(|failure| {
        let number = part.trial;
        failure.detail(format!(
            "what this generator measured is trial {number}: pgdyno show {number}"
        ))
    })?;
    Ok(match (whole, exit) {
        (State::Partial | State::Failed, Exit::Ok) => Exit::Failed,
        (_, exit) => exit,
    })
}

/// Says who it is.
pub fn introduce(company: &Company, verbosity: Verbosity) {
    let (number, count, key) = (company.generator(), company.generators(), company.key());
    if !verbosity.quiet {
        remark!("pgdyno: generator {number} of {count} of {key}");
    }
}

/// This generator's part.
struct Own<'a> {
    whole: TrialSpec,
    args: &'a ResultArgs,
    verbosity: Verbosity,
    watch: Watch,
    store: Store,
    /// A signal to this one is for it alone.
    leaves: bool,
}

impl Own<'_> {
    fn measure(
        &self,
        company: &mut Company,
        interrupts: &'static Interrupts,
    ) -> Result<(Prepared, Measured), Failure> {
        let whole = &self.whole;
        let progress = &mut self.verbosity.progress();
        let helping = &mut self.verbosity.progress();
        let mut prepared = None;
        let prepares = |others: &Filling<'_>| {
            let own = prepare::prepare_with(whole, progress, interrupts, Some(others))?;
            prepared = Some(all_reach(own)?);
            Ok(())
        };
        let observes = company.prepare_once(prepares, |others| {
            // The others do what is missing; an interrupt is seen by the wait.
            if let Err(why) = prepare::help(whole, helping, interrupts, others)
                && !matches!(why.exit, Exit::Interrupted(_))
            {
                helping.warning(&format!("does not load tables with the others: {why}"));
            }
        })?;
        let mut prepared = match prepared {
            Some(prepared) => prepared,
            None => all_reach(prepare(whole, helping, interrupts)?)?,
        };
        let share = company.share(whole)?;
        let mut spec = generators::part(whole, &share);
        spec.observe = observed(spec.observe, observes, company.is_first_of_host()?);
        // What the environment named is kept: run again, the trial finds the same server.
        if spec.target.urls.is_empty() {
            spec.target.urls = vec![prepared.target.address.clone().into()];
        }
        spec.workload = whole_paths(spec.workload);
        let trial = Trial {
            observe: observing(&spec.observe, self.verbosity)?,
            share: Some(share),
            spec,
        };
        let means = Means {
            notebook: &self.store,
            observer: &mut Screen::new(self.verbosity),
            interrupts,
            watch: &self.watch,
            leaves: self.leaves,
        };
        let control = Control::default();
        let measured = measure(company, trial, &mut prepared, &control, means)?;
        Ok((prepared, measured))
    }

    /// Waits for the others, has one of all add up, and prints what came of it. Gives how it ended.
    fn add_up(
        &self,
        company: &mut Company,
        prepared: &Prepared,
        json_to: Sink,
    ) -> Result<State, Failure> {
        let (number, own) = company.merge_once(|company| {
            let merged = merge(company, &self.whole, prepared)?;
            self.keep(company, prepared, &merged)
        })?;
        let trial = self.store.trial(&number.to_string())?;
        if own || !matches!(json_to, Sink::None) {
            let outcome = self.store.outcome(number)?;
            print_document(
                &documents::whole(&outcome),
                json_to,
                self.verbosity,
                Said::default(),
            )?;
        }
        if !self.verbosity.quiet {
            if !own {
                let committed = text::count(trial.committed.unwrap_or_default());
                let goodput = text::rate(trial.goodput_per_s.unwrap_or_default());
                let all = company.generators();
                remark!("pgdyno: all {all} generators: {committed} committed, {goodput}/s");
            }
            remark!("pgdyno: kept as trial {number} (pgdyno show {number})");
        }
        Ok(trial.state)
    }

    /// Keeps the whole. Gives its number.
    fn keep(
        &self,
        company: &Company,
        prepared: &Prepared,
        merged: &Merged,
    ) -> Result<i64, Failure> {
        let (store, outcome) = (&self.store, &merged.outcome);
        let mut writer = store.begin(&self.args.header(&outcome.spec, prepared))?;
        let (number, recording) = (writer.number(), &outcome.recording);
        // Stored first: another generator that takes over finds it.
        company.keep_whole(number)?;
        Observer::<Outcome>::begun(&mut writer, recording.started);
        for second in &recording.seconds {
            writer.keep_second(second.clone());
        }
        for event in &recording.events {
            writer.keep_event(event.kind.word(), event.at_us, &event.text);
        }
        if let Some(why) = writer.finish(outcome)?.waits {
            return Err(why.detail(format!(
                "trial {number}, which is what all measured, waits on this host: pgdyno store push"
            )));
        }
        store.copy_observed(merged.observed_by, number)?;
        Ok(number)
    }
}

/// Refuses a server that only this process has.
fn all_reach(prepared: Prepared) -> Result<Prepared, Failure> {
    if prepared.target.kind != TargetKind::Own {
        return Ok(prepared);
    }
    let text = "several generators need a server that all of them reach, not a private one each";
    Err(Failure::with(Exit::Usage, text).hint("name it: --url postgresql://…"))
}

/// Refuses to go on with what another generator began, where that cannot be done.
///
/// # Errors
/// It was begun.
pub fn check_new(goes_on: bool) -> Result<(), Failure> {
    if !goes_on {
        Ok(())
    } else {
        Err(Failure::new("the generator that conducted it has died")
            .hint("begin it again; a sweep's points can be gone on with"))
    }
}

/// The trials of a plan as this process asks for them, by point.
///
/// # Errors
/// A point that is no trial.
pub fn own_points(plan: &Plan, target: &TargetSpec) -> Result<Vec<TrialSpec>, Failure> {
    let points = plan.points.iter();
    points
        .map(|planned| planned.point.spec(target.clone(), None, 0))
        .collect()
}

/// A trial of this point with what is never shared: this process's secrets and its way to the server.
pub fn completed(own: &[TrialSpec], point: usize, spec: TrialSpec) -> TrialSpec {
    match own.get(point) {
        Some(own) => TrialSpec {
            target: own.target.clone(),
            params: own.params.clone(),
            ..spec
        },
        None => spec,
    }
}

/// An experiment of several generators.
pub struct Together<'a> {
    /// How many, and which.
    pub options: &'a GeneratorsSpec,
    /// What it is called, and what tells it from others.
    pub identity: (&'a str, &'a str),
    /// Where they meet.
    pub store: &'a Store,
    /// A trial of this point of it, with what is never shared: secrets, and the way to the server.
    pub complete: &'a dyn Fn(usize, TrialSpec) -> TrialSpec,
}

impl Together<'_> {
    /// Conducts it, alone or with the others, or follows who does. `conduct` learns whether another has
    /// begun it. `None`: another conducted it.
    ///
    /// # Errors
    /// What goes wrong with it; the notebook cannot be reached.
    pub fn conduct<T>(
        &self,
        verbosity: Verbosity,
        conduct: impl FnOnce(Option<Conductor<'_>>, bool) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        if self.options.generators.is_none() {
            return conduct(None, false).map(Some);
        }
        let interrupts = pgdyno_run::interrupts()?;
        let (name, sha256) = self.identity;
        let spec = json!({ "experiment": name }).to_string();
        let room = self.store.again()?;
        let mut company = Company::meet(sha256.to_owned(), spec, self.options, room, interrupts)?;
        introduce(&company, verbosity);
        let _alive = Watch::start(&company, true)?;
        let leaves = self.options.leave;
        let by = Follows {
            complete: self.complete,
            leaves,
            progress: &mut verbosity.progress(),
            notebook: self.store,
            observer: &mut Screen::new(verbosity),
        };
        match follow(&mut company, by)? {
            Followed::Over => {
                if !verbosity.quiet {
                    remark!("pgdyno: it is over: pgdyno show --experiment {name}");
                }
                Ok(None)
            }
            Followed::Conducts(goes_on) => {
                let conductor = Conductor::of(&mut company, leaves)?;
                let conducted = conduct(Some(conductor), goes_on);
                company.over(conducted.as_ref().err())?;
                conducted.map(Some)
            }
        }
    }
}
