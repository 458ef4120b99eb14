//! What disturbs a trial: its commands are run beside it, on a thread of their own, each at its
//! moment; and undone, whatever comes of the trial.
//!
//! Not for: what is asked for (`spec::DisturbSpec`), figures of what it did to clients.

mod shell;
mod surroundings;

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use pgdyno_database::pair::Pair;
use pgdyno_model::document::{CommandEnd, CommandRun, Disturbed};
use pgdyno_model::observed::Gap;
use pgdyno_model::spec::command::ShellCommand;
use pgdyno_model::spec::{DisturbSpec, FAILOVER, Step};
use pgdyno_model::{Observer, Outcome, text};
use pgdyno_observe::{Instrument, Readings};

use self::shell::Running;
pub use self::surroundings::surroundings;

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
    /// The trial is over.
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
    /// Prepares them, where something disturbs the trial. `warmup`: how long clients work before
    /// measuring begins.
    ///
    /// # Errors
    /// There is no thread for them.
    pub fn start(
        spec: &DisturbSpec,
        warmup: Duration,
        environment: Vec<(String, String)>,
        pair: Option<Arc<Pair>>,
    ) -> io::Result<Self> {
        if spec.is_empty() {
            return Ok(Self::default());
        }
        let shared = Arc::<Shared>::default();
        let commands = Commands {
            spec: spec.clone(),
            warmup,
            environment,
            pair,
            shared: Arc::clone(&shared),
        };
        let thread = thread::Builder::new().name("disturb".to_owned());
        let thread = thread.spawn(move || commands.run())?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// An instrument that tells what happens as events of the trial.
    pub fn instrument(&self) -> Option<Box<dyn Instrument>> {
        self.thread.as_ref()?;
        Some(Box::new(Events(Arc::clone(&self.shared))))
    }

    /// The trial is over: ends what still runs, undoes what was done, and gives what became of it.
    pub fn end(mut self) -> Option<Disturbed> {
        self.finish()
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
        // Whoever broke held nothing half done.
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
    /// What [`FAILOVER`] is about.
    pair: Option<Arc<Pair>>,
    shared: Arc<Shared>,
}

/// A command at its place in the result.
struct AtWork {
    index: usize,
    running: Running,
    /// Why it was told to end.
    told: CommandEnd,
}

impl Commands {
    fn run(self) -> Disturbed {
        let steps = self.spec.steps();
        let due_us = |at: Duration| (self.warmup + at).as_micros() as u64;
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
        self.work(anchor, &steps, &mut result);
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
        result
    }

    /// Runs what is due until the trial is over and nothing is at work any more.
    fn work(&self, anchor: Instant, steps: &[Step], result: &mut Disturbed) {
        let measuring = anchor + self.warmup;
        let ends = self.spec.ends().map(|ends| measuring + ends);
        let mut pending = steps.iter().enumerate().peekable();
        let mut at_work: Vec<AtWork> = Vec::new();
        loop {
            let next = match (at_work.is_empty(), pending.peek()) {
                (true, Some((_, step))) => measuring + step.at,
                (true, None) => return,
                (false, _) => Instant::now() + LOOK_INTERVAL,
            };
            let is_over =
                match at_work.iter().all(|one| one.running.is_told()) && !at_work.is_empty() {
                    // They have been told, and nothing new is to be heard before they end.
                    true => {
                        thread::sleep(LOOK_INTERVAL);
                        self.shared.state().stop
                    }
                    false => self.shared.is_over_by(next),
                };
            let now = Instant::now();
            if is_over {
                pending = steps[steps.len()..].iter().enumerate().peekable();
            }
            while let Some((index, step)) = pending.next_if(|(_, step)| measuring + step.at <= now)
            {
                let run = &mut result.commands[index];
                if step.is_failover() {
                    self.fail_over(run, anchor);
                    continue;
                }
                match Running::start(&step.command, &self.environment) {
                    Ok(running) => {
                        run.began_us = Some(since(anchor, running.began));
                        at_work.push(AtWork {
                            index,
                            running,
                            told: CommandEnd::Exited,
                        });
                    }
                    Err(e) => run.reason = Some(format!("it cannot be started: {e}")),
                }
            }
            for one in at_work.iter_mut().filter(|one| !one.running.is_told()) {
                let limit = self.spec.command_timeout;
                let why = if limit.is_some_and(|limit| now >= one.running.began + limit) {
                    CommandEnd::TimedOut
                } else if ends.is_some_and(|ends| now >= ends) {
                    CommandEnd::Ended
                } else if is_over {
                    CommandEnd::NeverEnded
                } else {
                    continue;
                };
                one.told = why;
                one.running.end();
            }
            at_work.retain_mut(|one| {
                let Some(status) = one.running.ended() else {
                    return true;
                };
                let run = &mut result.commands[one.index];
                self.book(run, (&one.running, status), one.told, anchor);
                false
            });
        }
    }

    fn undo(&self, command: &ShellCommand, anchor: Instant) -> CommandRun {
        let mut run = not_run(command, None, "");
        let mut running = match Running::start(command, &self.environment) {
            Ok(running) => running,
            Err(e) => {
                run.reason = Some(format!("it cannot be started: {e}"));
                return run;
            }
        };
        run.began_us = Some(since(anchor, running.began));
        let limit = running.began + self.spec.undo_limit();
        let mut told = CommandEnd::Exited;
        let status = loop {
            if let Some(status) = running.ended() {
                break status;
            }
            if Instant::now() >= limit && !running.is_told() {
                told = CommandEnd::TimedOut;
                running.end();
            }
            thread::sleep(LOOK_INTERVAL);
        };
        self.book(&mut run, (&running, status), told, anchor);
        run
    }

    /// [`FAILOVER`]: it is over when the standby takes writes.
    fn fail_over(&self, run: &mut CommandRun, anchor: Instant) {
        let began = Instant::now();
        let done = match &self.pair {
            Some(pair) => pair.fail_over().map_err(|e| e.to_string()),
            None => Err("there is no private server with a standby".to_owned()),
        };
        let took = began.elapsed();
        run.began_us = Some(since(anchor, began));
        run.ended_us = Some(since(anchor, began + took));
        (run.end, run.reason) = (CommandEnd::Exited, None);
        run.exit_code = Some(i32::from(done.is_err()));
        let time = |time: Duration| text::time(time.as_micros() as f64);
        run.output = match done {
            Ok(done) => format!(
                "the primary was gone after {}, and the standby took writes {} later\n",
                time(done.killed),
                time(done.promoted)
            ),
            Err(why) => format!("{why}\n"),
        };
        let happened = Happened {
            from: began,
            length: took,
            text: format!("{FAILOVER}: {}", run.output.trim_end()),
        };
        self.shared.state().happened.push(happened);
    }

    /// A command has ended.
    fn book(
        &self,
        run: &mut CommandRun,
        (running, status): (&Running, ExitStatus),
        told: CommandEnd,
        anchor: Instant,
    ) {
        use std::os::unix::process::ExitStatusExt;
        let now = Instant::now();
        run.ended_us = Some(since(anchor, now));
        run.end = told;
        run.reason = None;
        run.exit_code = status.code();
        run.signal = status.signal();
        (run.output, run.output_left_out) = running.output();
        let said = match (run.exit_code, run.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "not known how it ended".to_owned(),
        };
        let happened = Happened {
            from: running.began,
            length: now.saturating_duration_since(running.began),
            text: format!("{}: {said}", run.command.replace('\n', " ")),
        };
        self.shared.state().happened.push(happened);
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
