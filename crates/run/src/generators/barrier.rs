//! All generators begin at one instant.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pgdyno_drive::{Control, planted};
use pgdyno_model::Observer;
use pgdyno_model::document::ClockReading;
use pgdyno_model::notebook::{Meeting, Rendezvous, Whose, Word};
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_spec::{Exit, Failure};

use super::Clock;
use super::company::{Company, Heard, Ready, Start, look_pause, say, words};
use super::time::Time;

/// The start is agreed on so much before it: besides, all must have looked.
const NOTICE: Duration = Duration::from_millis(500);
/// The last part of the wait is not slept, but looked at: a sleep ends late.
const AWAKE: Duration = Duration::from_micros(200);
/// While it waits it asks the clock so often, more seldom where many look: clocks drift.
const ASK: Duration = Duration::from_secs(1);
/// A look is four questions at most, and the way there and back is twice what is in doubt of a clock.
const LOOK_WAYS: u64 = 8;
/// How long a notebook that is away keeps clients that are connected.
const AWAY_MAX: Duration = Duration::from_secs(60);

/// An observer: when its clients are connected it holds them until the instant that all have agreed on.
pub struct Barrier {
    time: Arc<dyn Time>,
    room: Box<dyn Rendezvous>,
    meeting: Meeting,
    generator: u32,
    generators: u32,
    until_us: u64,
    control: Control,
    interrupts: &'static Interrupts,
    passed: Passed,
}

#[derive(Debug, Clone, Copy)]
pub struct Began {
    /// How late after the agreed instant, in microseconds.
    pub late_us: u64,
    /// The clock by which it was.
    pub clock: ClockReading,
}

#[derive(Clone, Default)]
pub struct Passed(Arc<Mutex<Option<Result<Began, Failure>>>>);

impl Passed {
    /// How it went on, or why it did not. `None` before.
    pub fn get(&self) -> Option<Result<Began, Failure>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, result: Result<Began, Failure>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }
}

impl Barrier {
    /// For a run that this control ends.
    ///
    /// # Errors
    /// The notebook cannot be reached.
    pub fn of(company: &Company, control: &Control) -> Result<Self, Failure> {
        Ok(Self {
            time: Arc::clone(&company.time),
            room: company.room.again()?,
            meeting: company.meeting.clone(),
            generator: company.generator(),
            generators: company.generators(),
            until_us: company.until_us(),
            control: control.clone(),
            interrupts: company.interrupts(),
            passed: Passed::default(),
        })
    }

    pub fn passed(&self) -> Passed {
        self.passed.clone()
    }

    /// Waits. Gives how it went on.
    fn pass(&self) -> Result<Began, Failure> {
        let mut clock = Clock::read(&*self.room, &self.time)?;
        let ready = Ready {
            clock: clock.reading,
        };
        let text = serde_json::to_string(&ready).unwrap_or_default();
        self.say((words::READY, Whose::Each), &clock, text)?;
        let start = self.start(&mut clock)?;
        if !start.generators.contains(&self.generator) {
            let (number, key) = (self.generator, &self.meeting.key);
            let text = format!("{key} began without generator {number}, which came late");
            return Err(Failure::new(text).hint("--join-deadline says how long they wait"));
        }
        let at = clock.when(start.at_us);
        while let Some(left) = at.checked_duration_since(self.time.now()) {
            match left.checked_sub(AWAKE) {
                Some(sleep) if !sleep.is_zero() => self.time.sleep(sleep),
                _ => self.time.spin(),
            }
        }
        Ok(Began {
            late_us: clock.now_us().saturating_sub(start.at_us),
            clock: clock.reading_now(),
        })
    }

    /// The start that all agree on: named by the first who sees that all are there, or that the time to
    /// come is over.
    fn start(&self, clock: &mut Clock) -> Result<Start, Failure> {
        let pause = look_pause(self.generators);
        let mut asked = self.time.now();
        let (mut reached, mut heard) = (self.time.now(), Heard::new(&self.time, self.generators));
        loop {
            if self.control.is_stopping() {
                // Here, or where another was.
                let code = self.interrupts.exit_code().unwrap_or(130);
                let text = "interrupted before the start";
                return Err(Failure::with(Exit::Interrupted(code), text));
            }
            planted!(8, asked = self.time.now());
            if self.time.since(asked) >= ASK.max(pause) {
                // A notebook that is away is seen by the look.
                let _ = clock.freshen(&*self.room);
                asked = self.time.now();
            }
            match self.look(clock, &mut heard) {
                Ok(Some(start)) => return Ok(start),
                Ok(None) => reached = self.time.now(),
                Err(failure) if self.time.since(reached) > AWAY_MAX => return Err(failure),
                Err(_) => {}
            }
            self.time.sleep(pause);
        }
    }

    fn look(&self, clock: &Clock, heard: &mut Heard) -> Result<Option<Start>, Failure> {
        let (room, meeting) = (&*self.room, &self.meeting);
        if let Some(word) = room.heard(meeting, words::START)?.first() {
            let start = serde_json::from_str(&word.text);
            return start.map(Some).map_err(|e| {
                Failure::new(format!("the start of {} cannot be read: {e}", meeting.key))
            });
        }
        let there = room.count(meeting, words::READY)? + room.count(meeting, words::LEFT)?;
        let may_come = clock.now_us() < self.until_us;
        if there < self.generators && may_come && !heard.is_due() {
            return Ok(None);
        }
        let ready_words = room.heard(meeting, words::READY)?;
        let ready = said_by(&ready_words);
        let left = said_by(&room.heard(meeting, words::LEFT)?);
        // Who has come may still connect, after a preparation that took long, unless it has died.
        heard.listen(room, meeting);
        let is_awaited = |generator: &u32| !ready.contains(generator) && !left.contains(generator);
        let (died, alive): (Vec<u32>, Vec<u32>) = heard
            .all()
            .filter(is_awaited)
            .partition(|generator| heard.has_died(*generator));
        let came = ready.union(&left).count() + died.len();
        if !alive.is_empty() || may_come && came < self.generators as usize {
            return Ok(None);
        }
        let ready = ready.difference(&left).copied().collect();
        let notice = NOTICE + 2 * look_pause(self.generators);
        // Far from the notebook it takes longer to hear of it.
        let clocks = ready_words.iter().filter_map(|word| {
            let ready: Ready = serde_json::from_str(&word.text).ok()?;
            Some(ready.clock.uncertainty_us)
        });
        let heard_us = LOOK_WAYS * clocks.max().unwrap_or_default();
        let start = Start {
            at_us: clock.now_us() + notice.as_micros() as u64 + heard_us,
            generators: ready,
        };
        let text = serde_json::to_string(&start).unwrap_or_default();
        planted!(
            4,
            return self
                .say((words::START, Whose::Each), clock, text)
                .map(|_| None)
        );
        // Another may have been faster: the next look shows what counts.
        self.say((words::START, Whose::First), clock, text)?;
        Ok(None)
    }

    fn say(&self, what: (&str, Whose), clock: &Clock, text: String) -> Result<bool, Failure> {
        let word = Word {
            step: 0,
            generator: self.generator,
            at_us: clock.now_us(),
            text,
        };
        say(&*self.room, &self.meeting, what, &word)
    }
}

fn said_by(words: &[Word]) -> BTreeSet<u32> {
    words.iter().map(|word| word.generator).collect()
}

impl<O> Observer<O> for Barrier {
    fn ready(&mut self) {
        let passed = self.pass();
        if passed.is_err() {
            self.control.stop_now();
        }
        self.passed.set(passed);
    }
}
