//! While a generator is there: it says that it is alive, hears that all are to end, and says so when it
//! was asked to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pgdyno_drive::{Control, planted};
use pgdyno_model::notebook::{Meeting, Rendezvous, Whose, Word};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_spec::Failure;

use super::Clock;
use super::company::{ALIVE, Company, look_pause, say, step_at, words};
use super::time::Time;

/// How often it looks whether all are to end; more seldom where many look.
const LOOK: Duration = Duration::from_millis(500);

/// Ends with it. Nothing waits for its thread.
pub struct Watch {
    is_over: Arc<AtomicBool>,
    phase: Arc<Mutex<Phase>>,
}

/// What there is to end.
#[derive(Clone)]
enum Phase {
    /// It prepares, or waits for another that does.
    Before,
    Runs(Control),
    /// It has measured: the others have to go on until they have, too.
    After,
}

impl Watch {
    /// Begins. `leaves`: an end of this one is not the end of all.
    ///
    /// # Errors
    /// The notebook cannot be reached; there is no thread.
    pub fn start(company: &Company, leaves: bool) -> Result<Self, Failure> {
        let watch = Self {
            is_over: Arc::default(),
            phase: Arc::new(Mutex::new(Phase::Before)),
        };
        let work = Work {
            room: company.room.again()?,
            meeting: company.meeting.clone(),
            time: Arc::clone(&company.time),
            clock: company.clock.clone(),
            generator: company.generator(),
            leaves,
            interrupts: company.interrupts(),
            interrupted_before: company.interrupted_before(),
            phase: watch.phase.clone(),
        };
        let (is_over, pause) = (
            watch.is_over.clone(),
            LOOK.max(look_pause(company.generators())),
        );
        let work = Box::new(move || work.work(&is_over, pause));
        let spawned = company.time.spawn("generators", work);
        spawned.map_err(|e| Failure::no_thread("that listens to other generators", &e))?;
        Ok(watch)
    }

    /// A run has begun, which this ends.
    pub fn run(&self, control: &Control) {
        self.set(Phase::Runs(control.clone()));
    }

    /// The run has ended by itself.
    pub fn run_ended(&self) {
        self.set(Phase::After);
    }

    fn set(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

struct Work {
    time: Arc<dyn Time>,
    room: Box<dyn Rendezvous>,
    meeting: Meeting,
    clock: Clock,
    generator: u32,
    leaves: bool,
    interrupts: &'static Interrupts,
    interrupted_before: u32,
    phase: Arc<Mutex<Phase>>,
}

impl Work {
    fn work(self, is_over: &AtomicBool, pause: Duration) {
        let (mut step, mut said) = (0, self.time.now());
        let mut has_passed_on = false;
        while !is_over.load(Ordering::Relaxed) {
            self.time.sleep(pause);
            if self.time.since(said) >= ALIVE {
                step = step_at(&self.meeting, &self.clock).max(step + 1);
                said = self.time.now();
                // A notebook that is away is reported later.
                let _ = self.say((words::ALIVE, Whose::Each), step);
            }
            let phase = self.phase();
            if has_passed_on || matches!(phase, Phase::After) {
                continue;
            }
            planted!(
                10,
                if matches!(&phase, Phase::Runs(control) if control.is_stopping()) {
                    has_passed_on = self.say((words::STOP, Whose::First), 0).is_ok();
                    continue;
                }
            );
            // Not that a run ends: one that came too late is ended before it begins, and the others go on.
            if self.interrupts.count() > self.interrupted_before {
                planted!(5, continue);
                has_passed_on = self.leaves || self.say((words::STOP, Whose::First), 0).is_ok();
            } else if self
                .room
                .count(&self.meeting, words::STOP)
                .is_ok_and(|n| n > 0)
            {
                // Another phase may have begun while the notebook was asked.
                match self.phase() {
                    Phase::Before => self.interrupts.raise(),
                    Phase::Runs(control) => control.finish(),
                    Phase::After => {}
                }
                has_passed_on = true;
            }
        }
    }

    fn phase(&self) -> Phase {
        let phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        phase.clone()
    }

    fn say(&self, what: (&str, Whose), step: u32) -> Result<bool, Failure> {
        let word = Word {
            step,
            generator: self.generator,
            at_us: self.clock.now_us(),
            text: String::new(),
        };
        say(&*self.room, &self.meeting, what, &word)
    }
}
