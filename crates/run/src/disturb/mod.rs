//! What disturbs a trial: its commands are run beside it, on a thread of their own, each at its
//! moment; and undone, whatever comes of the trial.
//!
//! Not for: what is asked for (`spec::DisturbSpec`), figures of what it did to clients.

pub mod catalogue;
pub mod migrate;
pub mod own;
mod shell;
mod surroundings;

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use pgdyno_model::document::{CommandEnd, CommandRun, Disturbed, MigrationRun};
use pgdyno_model::observed::Gap;
use pgdyno_model::{Observer, Outcome};
use pgdyno_observe::{Instrument, Readings};
use pgdyno_spec::{DisturbSpec, Failure, OWN, Step, command::ShellCommand};

use self::own::Doing;
use self::shell::Running;
use self::surroundings::surroundings;
use crate::companion::{Begun, Companion, Ending, Scene};
use crate::validity;

/// How often commands at work are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// The commands of a trial: started by [`Disturbance::start`], they wait for clients to begin. When
/// it is dropped, what runs is ended and what was done is undone.
#[derive(Debug, Default)]
pub struct Disturbance {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Disturbed>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// When clients began to work.
    anchor: Option<Instant>,
    stop: bool,
    /// What has happened and was not read yet.
    happened: Vec<Happened>,
}

/// An event of the time line.
#[derive(Debug)]
struct Happened {
    from: Instant,
    length: Duration,
    text: String,
}

impl Disturbance {
    /// Prepares them. `warmup`: how long clients work before
    /// measuring begins. `acts`: of each step that is pgdyno's own, by its place.
    ///
    /// # Errors
    /// There is no thread for them.
    pub fn start(
        spec: &DisturbSpec,
        warmup: Duration,
        environment: Vec<(String, String)>,
        acts: Vec<Option<Doing>>,
    ) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let commands = Commands {
            spec: spec.clone(),
            warmup,
            environment,
            acts,
            shared: Arc::clone(&shared),
        };
        let thread = thread::Builder::new().name("disturb".to_owned());
        let thread = thread.spawn(move || commands.run())?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    fn finish(&mut self) -> Option<Disturbed> {
        self.shared.change(|state| state.stop = true);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Disturbance {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Starts the commands, where something disturbs the trial: of several generators the first one runs them.
///
/// # Errors
/// One of pgdyno's own cannot be done there; no thread.
pub fn begin<'a>(scene: &mut Scene<'a>) -> Begun<'a> {
    let (spec, prepared) = (&scene.spec.disturb, scene.prepared);
    if spec.is_empty() || !scene.is_first_generator() {
        return Ok(None);
    }
    let place = catalogue::Scene::of(prepared, scene.via.as_ref());
    let acts = catalogue::acts(spec, &place)?;
    let environment = surroundings(&prepared.target, &prepared.facts);
    let started = Disturbance::start(spec, scene.spec.warmup.longest(), environment, acts);
    let started = started.map_err(|e| Failure::no_thread("for the disturbance", &e))?;
    Ok(Some(Box::new(started)))
}

impl Companion for Disturbance {
    fn instrument(&self) -> Option<Box<dyn Instrument>> {
        Some(Box::new(Events(Arc::clone(&self.shared))))
    }

    /// What still runs is ended, and what was done is undone.
    fn end(mut self: Box<Self>, end: &mut Ending<'_>) {
        if let Some(disturbed) = self.finish() {
            end.notes.extend(validity::disturbed(&disturbed));
            end.findings.put(&disturbed);
        }
    }
}

/// Its commands count from when clients begin.
impl Observer<Outcome> for Disturbance {
    fn begun(&mut self, _started: SystemTime) {
        let now = Instant::now();
        self.shared.change(|state| {
            state.anchor.get_or_insert(now);
        });
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked left nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits for the end of the trial, at most until then; gives whether it is over.
    fn is_over_by(&self, until: Instant) -> bool {
        let mut state = self.state();
        loop {
            let wait = until.saturating_duration_since(Instant::now());
            if state.stop || wait.is_zero() {
                return state.stop;
            }
            let waited = self.changed.wait_timeout(state, wait);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the end of the trial.
    fn wait_for_end(&self) {
        let mut state = self.state();
        while !state.stop {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// When clients began; `None` when the trial is over before.
    fn anchor(&self) -> Option<Instant> {
        let mut state = self.state();
        while !state.stop && state.anchor.is_none() {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.anchor
    }
}

/// What the thread of the commands has.
struct Commands {
    spec: DisturbSpec,
    warmup: Duration,
    environment: Vec<(String, String)>,
    /// Of each step that is pgdyno's own, until it is begun.
    acts: Vec<Option<Doing>>,
    shared: Arc<Shared>,
}

/// A command at its place in the result.
struct AtWork {
    index: usize,
    began: Instant,
    work: Work,
    /// Why it was asked to end.
    command_end: CommandEnd,
}

enum Work {
    Shell(Running),
    Own(Doing),
}

#[derive(Default)]
struct Ended {
    code: Option<i32>,
    signal: Option<i32>,
    output: String,
    left_out: u64,
    migration: Option<Box<MigrationRun>>,
}

impl Work {
    fn end(&mut self) {
        match self {
            Self::Shell(running) => running.end(),
            Self::Own(doing) => doing.end(),
        }
    }

    fn is_ending(&self) -> bool {
        match self {
            Self::Shell(running) => running.is_ending(),
            Self::Own(doing) => doing.is_ending(),
        }
    }

    /// How it ended, once it has.
    fn ended(&mut self) -> Option<Ended> {
        use std::os::unix::process::ExitStatusExt;
        match self {
            Self::Shell(running) => {
                let status = running.ended()?;
                let (output, left_out) = running.output();
                Some(Ended {
                    code: status.code(),
                    signal: status.signal(),
                    output,
                    left_out,
                    migration: None,
                })
            }
            Self::Own(doing) if !doing.has_ended() => None,
            Self::Own(doing) => {
                let (is_done, output) = doing.result();
                Some(Ended {
                    code: Some(i32::from(!is_done)),
                    output,
                    migration: doing.migration(),
                    ..Ended::default()
                })
            }
        }
    }
}

impl Commands {
    fn run(mut self) -> Disturbed {
        let steps = self.spec.steps();
        let warmup = self.warmup;
        let due_us = |at: Duration| (warmup + at).as_micros() as u64;
        let mut result = Disturbed {
            control: self.spec.control,
            due_us: due_us(self.spec.begins()),
            ..Disturbed::default()
        };
        if self.spec.control {
            let anchor = self.shared.anchor();
            let began = anchor.is_some_and(|anchor| {
                !self
                    .shared
                    .is_over_by(anchor + self.warmup + self.spec.begins())
            });
            result.began_us = began.then_some(result.due_us);
            let ends = self.spec.ends().filter(|_| began);
            result.ended_us = ends.map(due_us);
            // What its disturbed trials are prepared with, it is, too.
            self.shared.wait_for_end();
            return result;
        }
        result.commands = steps
            .iter()
            .map(|step| {
                not_run(
                    &step.command,
                    Some(due_us(step.at)),
                    "the trial was over before",
                )
            })
            .collect();
        let Some(anchor) = self.shared.anchor() else {
            return result;
        };
        let done = self.work(anchor, &steps, &mut result);
        // What is undone would disturb clients again.
        self.shared.wait_for_end();
        result.began_us = result.commands.iter().filter_map(|run| run.began_us).min();
        let last = result.commands.iter().filter_map(|run| run.ended_us).max();
        let asked = self.spec.ends().map(due_us);
        result.ended_us = asked.filter(|_| result.began_us.is_some()).or(last);
        let undo = self
            .spec
            .undo
            .as_ref()
            .filter(|_| result.began_us.is_some());
        result.undo = undo.map(|undo| self.undo(undo, anchor));
        // The user's comes first: it may be what starts the server again. Then the last first.
        for (index, mut doing) in done.into_iter().rev() {
            let run = &mut result.commands[index];
            if !put_back(&mut doing, &mut run.output) {
                (run.end, run.exit_code) = (CommandEnd::Exited, Some(1));
            }
        }
        result
    }

    /// Runs what is due until the trial is over and nothing is at work any more; gives what of pgdyno's own
    /// was begun, by its place in the result.
    fn work(
        &mut self,
        anchor: Instant,
        steps: &[Step],
        result: &mut Disturbed,
    ) -> Vec<(usize, Doing)> {
        let mut done = Vec::new();
        let measuring = anchor + self.warmup;
        let ends = self.spec.ends().map(|ends| measuring + ends);
        let mut pending = steps.iter().enumerate().peekable();
        let mut at_work: Vec<AtWork> = Vec::new();
        loop {
            let next = match (at_work.is_empty(), pending.peek()) {
                (true, Some((_, step))) => measuring + step.at,
                (true, None) => return done,
                (false, _) => Instant::now() + LOOK_INTERVAL,
            };
            let is_over = if at_work.iter().all(|one| one.work.is_ending()) && !at_work.is_empty() {
                // They have been reported, and nothing new is to be heard before they end.
                thread::sleep(LOOK_INTERVAL);
                self.shared.state().stop
            } else {
                self.shared.is_over_by(next)
            };
            let now = Instant::now();
            if is_over {
                pending = steps[steps.len()..].iter().enumerate().peekable();
            }
            while (at_work.is_empty() || !self.spec.one_by_one)
                && let Some((index, step)) = pending.next_if(|(_, step)| measuring + step.at <= now)
            {
                let run = &mut result.commands[index];
                if self.spec.one_by_one && ends.is_some_and(|ends| now >= ends) {
                    run.reason = Some("those before it took too long".to_owned());
                    continue;
                }
                match self.begin(index, step) {
                    Ok(work) => {
                        let began = match &work {
                            Work::Shell(running) => running.began,
                            Work::Own(_) => now,
                        };
                        run.began_us = Some(since(anchor, began));
                        at_work.push(AtWork {
                            index,
                            began,
                            work,
                            command_end: CommandEnd::Exited,
                        });
                    }
                    Err(e) => run.reason = Some(format!("it cannot be started: {e}")),
                }
            }
            for one in at_work.iter_mut().filter(|one| !one.work.is_ending()) {
                let limit = self.spec.command_timeout;
                let why = if limit.is_some_and(|limit| now >= one.began + limit) {
                    CommandEnd::TimedOut
                } else if ends.is_some_and(|ends| now >= ends) {
                    CommandEnd::Ended
                } else if is_over {
                    CommandEnd::NeverEnded
                } else {
                    continue;
                };
                one.command_end = why;
                one.work.end();
            }
            let mut at = 0;
            while at < at_work.len() {
                let Some(mut ended) = at_work[at].work.ended() else {
                    at += 1;
                    continue;
                };
                let mut one = at_work.swap_remove(at);
                if let Work::Own(doing) = &mut one.work
                    && self.spec.one_by_one
                    && !put_back(doing, &mut ended.output)
                {
                    (one.command_end, ended.code) = (CommandEnd::Exited, Some(1));
                }
                let run = &mut result.commands[one.index];
                self.book(run, (one.began, ended), one.command_end, anchor);
                if let Work::Own(doing) = one.work {
                    done.push((one.index, doing));
                }
            }
        }
    }

    fn begin(&mut self, index: usize, step: &Step) -> io::Result<Work> {
        if step.own().is_none() {
            return Running::start(&step.command, &self.environment).map(Work::Shell);
        }
        let doing = self.acts.get_mut(index).and_then(Option::take);
        let mut doing =
            doing.ok_or_else(|| io::Error::other("this command has no disturbances"))?;
        doing.start()?;
        Ok(Work::Own(doing))
    }

    fn undo(&self, command: &ShellCommand, anchor: Instant) -> CommandRun {
        let mut run = not_run(command, None, "");
        let mut work = match Running::start(command, &self.environment) {
            Ok(running) => Work::Shell(running),
            Err(e) => {
                run.reason = Some(format!("it cannot be started: {e}"));
                return run;
            }
        };
        let began = Instant::now();
        run.began_us = Some(since(anchor, began));
        let limit = began + self.spec.undo_limit();
        let mut command_end = CommandEnd::Exited;
        let ended = loop {
            if let Some(ended) = work.ended() {
                break ended;
            }
            if Instant::now() >= limit && !work.is_ending() {
                command_end = CommandEnd::TimedOut;
                work.end();
            }
            thread::sleep(LOOK_INTERVAL);
        };
        self.book(&mut run, (began, ended), command_end, anchor);
        run
    }

    fn book(
        &self,
        run: &mut CommandRun,
        (began, ended): (Instant, Ended),
        command_end: CommandEnd,
        anchor: Instant,
    ) {
        let now = Instant::now();
        run.ended_us = Some(since(anchor, now));
        run.end = command_end;
        run.reason = None;
        (run.exit_code, run.signal) = (ended.code, ended.signal);
        (run.output, run.output_left_out) = (ended.output, ended.left_out);
        run.migration = ended.migration;
        let own = run.command.trim_start().starts_with(OWN);
        let said = match (run.exit_code, run.signal) {
            (Some(0), _) if own => run.output.trim_end().replace('\n', "; "),
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "not known how it ended".to_owned(),
        };
        let happened = Happened {
            from: began,
            length: now.saturating_duration_since(began),
            text: format!("{}: {said}", run.command.replace('\n', " ")),
        };
        self.shared.state().happened.push(happened);
    }
}

/// Undoes it, and says so; whether nothing is left changed.
fn put_back(doing: &mut Doing, output: &mut String) -> bool {
    match doing.undo() {
        Ok(None) => true,
        Ok(Some(what)) => {
            output.push_str(&format!("undone: {what}\n"));
            true
        }
        Err(why) => {
            output.push_str(&format!("NOT UNDONE: {why}\n"));
            false
        }
    }
}

fn since(anchor: Instant, at: Instant) -> u64 {
    at.saturating_duration_since(anchor).as_micros() as u64
}

fn not_run(command: &ShellCommand, due_us: Option<u64>, why: &str) -> CommandRun {
    CommandRun {
        command: command.public(),
        due_us,
        began_us: None,
        ended_us: None,
        end: CommandEnd::NotRun,
        exit_code: None,
        signal: None,
        reason: Some(why.to_owned()),
        output: String::new(),
        output_left_out: 0,
        migration: None,
    }
}

/// What happens, on the trial's time line.
struct Events(Arc<Shared>);

impl Instrument for Events {
    fn name(&self) -> &str {
        "disturb"
    }

    fn source(&self) -> String {
        "the commands that disturb the trial".to_owned()
    }

    fn begin(&mut self, _out: &mut Readings) -> Result<(), Gap> {
        Ok(())
    }

    fn read(&mut self, out: &mut Readings) -> Result<(), Gap> {
        for happened in self.0.state().happened.drain(..) {
            let Happened { from, length, text } = happened;
            out.event("disturbance", from, Some(length), text);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
