//! A disturbance of pgdyno's own at work: on a thread, ended like a shell command, and put back
//! whatever comes of the trial.
//!
//! Not for: which there are (`catalogue`).

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pgdyno_model::document::MigrationRun;
use pgdyno_session::CancelHandle;

/// How long a request to cancel a statement may take.
const CANCEL_LIMIT: Duration = Duration::from_secs(1);

/// Something of the catalogue, ready to be done.
pub trait Act: Send {
    /// Makes ready what must be so before clients begin, in trials and in their controls; it is undone as what
    /// is done. Called at most once, before [`Act::run`].
    ///
    /// # Errors
    /// It could not be made ready; in a sentence. [`Act::undo`] is called then, too.
    fn prepare(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Does it. What lasts is ended, and put back where clients are to see that, before this returns: after
    /// its time, or when `control` says so. Called at most once.
    ///
    /// # Errors
    /// It was not done; in a sentence.
    fn run(&mut self, control: &Control) -> Result<(), String>;

    /// Puts back what is still changed when the trial is over: called once, also when [`Act::run`] failed,
    /// panicked or was never called. Gives what was done, if there was anything to do.
    ///
    /// # Errors
    /// Something is still changed: what, and how to put it back.
    fn undo(&mut self) -> Result<Option<String>, String> {
        Ok(None)
    }
}

/// What an act at work hears and says.
#[derive(Debug, Default)]
pub struct Control {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_over: bool,
    words: String,
    statement: Option<CancelHandle>,
    migration: Option<Box<MigrationRun>>,
}

impl Control {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing is half done when a holder panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line to what the trial keeps of it.
    pub fn say(&self, line: impl fmt::Display) {
        self.state().words.push_str(&format!("{line}\n"));
    }

    /// Keeps what a migration did with the trial.
    pub fn keep(&self, migration: MigrationRun) {
        self.state().migration = Some(Box::new(migration));
    }

    /// What was kept, which is taken.
    pub fn take_migration(&self) -> Option<Box<MigrationRun>> {
        self.state().migration.take()
    }

    /// Whether it is to end.
    pub fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Waits so long, or until it is to end.
    pub fn last(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.state();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.is_over || left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// From now on the statement of this session is cancelled when it is to end; `None`: none is.
    pub fn cancels(&self, statement: Option<CancelHandle>) {
        self.state().statement = statement;
    }

    fn end(&self) {
        let statement = {
            let mut state = self.state();
            state.is_over = true;
            state.statement.take()
        };
        self.changed.notify_all();
        if let Some(statement) = statement {
            // A server that is gone has nothing to cancel.
            let _ = statement.cancel_within(CANCEL_LIMIT);
        }
    }

    fn words(&self) -> String {
        self.state().words.clone()
    }
}

/// An act of a trial, from before it to after it. Dropped, it is undone.
pub struct Doing {
    act: Arc<Mutex<Box<dyn Act>>>,
    control: Arc<Control>,
    thread: Option<JoinHandle<Result<(), String>>>,
    is_ending: bool,
    is_undone: bool,
}

impl fmt::Debug for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doing")
            .field("control", &self.control)
            .finish_non_exhaustive()
    }
}

impl Doing {
    /// One that is not begun yet.
    pub fn new(act: Box<dyn Act>) -> Self {
        Self {
            act: Arc::new(Mutex::new(act)),
            control: Arc::default(),
            thread: None,
            is_ending: false,
            is_undone: false,
        }
    }

    /// Makes it ready.
    ///
    /// # Errors
    /// As [`Act::prepare`].
    pub fn prepare(&mut self) -> Result<(), String> {
        let mut act = self.act.lock().unwrap_or_else(PoisonError::into_inner);
        act.prepare()
    }

    /// Begins it.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start(&mut self) -> std::io::Result<()> {
        let (act, control) = (Arc::clone(&self.act), Arc::clone(&self.control));
        let thread = thread::Builder::new().name("disturb.own".to_owned());
        let run = move || {
            let mut act = act.lock().unwrap_or_else(PoisonError::into_inner);
            act.run(&control)
        };
        self.thread = Some(thread.spawn(run)?);
        Ok(())
    }

    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub fn end(&mut self) {
        self.is_ending = true;
        self.control.end();
    }

    /// Whether it was asked to end.
    pub fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// Waits for its end; whether it did what it was to do, and what it said.
    pub fn result(&mut self) -> (bool, String) {
        let result = match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err("it broke: this is a bug in pgdyno".to_owned()),
            None => Ok(()),
        };
        if let Err(why) = &result {
            self.control.say(why);
        }
        (result.is_ok(), self.control.words())
    }

    /// What it did, of a migration that has ended.
    pub fn migration(&self) -> Option<Box<MigrationRun>> {
        self.control.take_migration()
    }

    /// Puts back what is still changed.
    ///
    /// # Errors
    /// As [`Act::undo`].
    pub fn undo(&mut self) -> Result<Option<String>, String> {
        self.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if std::mem::replace(&mut self.is_undone, true) {
            return Ok(None);
        }
        let mut act = self.act.lock().unwrap_or_else(PoisonError::into_inner);
        let undone = panic::catch_unwind(AssertUnwindSafe(|| act.undo()));
        undone.unwrap_or_else(|_| Err("its undo broke: this is a bug in pgdyno".to_owned()))
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        // No caller is left for a report; what survives is in the journal.
        let _ = self.undo();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lasting {
        log: Arc<Mutex<Vec<&'static str>>>,
        breaks: bool,
    }

    impl Act for Lasting {
        fn run(&mut self, control: &Control) -> Result<(), String> {
            self.log.lock().unwrap().push("run");
            if self.breaks {
                std::panic::resume_unwind(Box::new("broken"));
            }
            control.last(Duration::from_secs(600));
            control.say("held");
            Ok(())
        }

        fn undo(&mut self) -> Result<Option<String>, String> {
            self.log.lock().unwrap().push("undo");
            Ok(Some("back".to_owned()))
        }
    }

    fn doing(breaks: bool) -> (Doing, Arc<Mutex<Vec<&'static str>>>) {
        let log = Arc::default();
        let act = Lasting {
            log: Arc::clone(&log),
            breaks,
        };
        (Doing::new(Box::new(act)), log)
    }

    #[test]
    fn a_lasting_disturbance_ends_on_request_and_is_undone_once() {
        let (mut one, log) = doing(false);
        one.start().unwrap();
        one.end();
        assert_eq!(one.result(), (true, "held\n".to_owned()));
        assert_eq!(one.undo(), Ok(Some("back".to_owned())));
        drop(one);
        assert_eq!(*log.lock().unwrap(), ["run", "undo"]);
    }

    #[test]
    fn it_is_undone_when_it_breaks_and_when_the_trial_does() {
        let (mut one, log) = doing(true);
        one.start().unwrap();
        let (is_done, words) = one.result();
        assert!(!is_done && words.contains("bug"), "{words}");
        drop(one);
        assert_eq!(*log.lock().unwrap(), ["run", "undo"]);
        let (mut one, log) = doing(false);
        one.start().unwrap();
        drop(one);
        assert_eq!(log.lock().unwrap().last(), Some(&"undo"));
    }
}
