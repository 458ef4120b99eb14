//! One generator among the others of its trial.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pgdyno_drive::planted;
use pgdyno_model::document::ClockReading;
use pgdyno_model::notebook::{Meeting, Offer, Rendezvous, Whose, Word};
use pgdyno_platform::host;
use pgdyno_platform::interrupt::Interrupts;
use pgdyno_platform::process::Identity;
use pgdyno_spec::{
    Exit, Failure, Share, TrialSpec,
    generators::{self, GeneratorsSpec},
};
use serde::{Deserialize, Serialize};

use super::time::{OfHost, Time};
use super::{Clock, Filling, place};

/// What generators say. Of those in the first list each says its own, of those in the second one says it
/// for all.
pub(super) mod words {
    pub const ALIVE: &str = "alive";
    /// It will not measure, for this reason.
    pub const LEFT: &str = "left";
    pub const READY: &str = "ready";
    pub const DONE: &str = "done";

    /// It prepares what all need.
    pub const PREPARING: &str = "preparing";
    /// It has created tables that all may fill.
    pub const FILLING: &str = "filling";
    /// That is done, or why not.
    pub const PREPARED: &str = "prepared";
    /// When all begin, and who.
    pub const START: &str = "start";
    pub const STOP: &str = "stop";
    pub const MERGING: &str = "merging";
    pub const MERGED: &str = "merged";
    /// It decides what comes next.
    pub const CONDUCTING: &str = "conducting";
    pub const ORDER: &str = "order";
    /// Nothing comes next, or why it ended early.
    pub const OVER: &str = "over";
}

/// How often a generator says that it is alive: a step, counted by the notebook's clock since they met.
pub(super) const ALIVE: Duration = Duration::from_secs(4);
/// Who listens again hears steps that are at most so many older than the newest: clocks drift apart.
const RECENT: u32 = 15;
/// A generator of which nothing was heard for so long, while the notebook could be reached, has died.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// Who has not listened for so long, because the notebook was away, begins anew: others could not say that
/// they are alive either.
const DEAF_MAX: Duration = Duration::from_secs(10);
/// Between two looks into the notebook; more where many look.
const LOOK: Duration = Duration::from_millis(100);
/// So many looks a second of all generators together are no load for a notebook.
const LOOKS_PER_S: f64 = 2000.0;
/// While it is waited for others, it is heard so often who is alive, more seldom where many listen: each
/// hears all of them.
const LISTEN: Duration = Duration::from_secs(2);
const LISTEN_EACH: Duration = Duration::from_millis(8);
/// With fewer polls than this a generator counts as deaf: see `DEAF_MAX`.
const LISTEN_MAX: Duration = Duration::from_secs(8);
/// How long a notebook that is away is waited for when a trial has been measured.
const AWAY_MAX: Duration = Duration::from_secs(60);

/// What a generator says of itself when its clients are connected.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ready {
    pub clock: ClockReading,
}

/// When all begin, and who.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Start {
    pub at_us: u64,
    pub generators: Vec<u32>,
}

/// What a generator says when it has measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Part {
    /// Its own trial in the notebook.
    pub trial: i64,
    /// Whether it measured until its end.
    pub is_complete: bool,
    /// Whether all of it has arrived in the notebook.
    pub has_arrived: bool,
    /// How late after the agreed instant its clients began, in microseconds.
    pub began_late_us: Option<u64>,
    /// Its clock when they began.
    #[serde(default)]
    pub began_clock: Option<ClockReading>,
    /// Its clock after the trial.
    pub clock: Option<ClockReading>,
}

/// One generator and what it knows of the others.
pub struct Company {
    pub(super) time: Arc<dyn Time>,
    pub(super) room: Box<dyn Rendezvous>,
    pub(super) meeting: Meeting,
    pub(super) clock: Clock,
    /// Which it is, from 0.
    generator: u32,
    /// How long it waits for the others.
    deadline: Duration,
    interrupts: &'static Interrupts,
    interrupted_before: u32,
    listened: Heard,
}

/// When something was last heard of each generator.
pub(super) struct Heard {
    time: Arc<dyn Time>,
    pause: Duration,
    last: BTreeMap<u32, (u32, Instant)>,
    since: Option<Instant>,
    listened: Option<Instant>,
}

impl Heard {
    pub(super) fn new(time: &Arc<dyn Time>, generators: u32) -> Self {
        let each = LISTEN_EACH.saturating_mul(generators);
        Self {
            time: Arc::clone(time),
            pause: each.clamp(LISTEN, LISTEN_MAX),
            last: BTreeMap::new(),
            since: None,
            listened: None,
        }
    }

    pub(super) fn listen(&mut self, room: &dyn Rendezvous, meeting: &Meeting) {
        if self
            .listened
            .is_some_and(|at| self.time.since(at) > DEAF_MAX)
        {
            self.forget();
        }
        let steps = self.last.values().map(|(step, _)| *step);
        let from = steps.max().unwrap_or_default().saturating_sub(RECENT);
        let Ok(steps) = room.last_steps(meeting, words::ALIVE, from) else {
            // Who cannot be heard may be alive.
            self.forget();
            return;
        };
        let now = self.time.now();
        if self
            .listened
            .is_some_and(|at| self.time.since(at) > DEAF_MAX)
        {
            // The answer took long: who was silent meanwhile may have been heard of.
            self.forget();
        }
        self.listened = Some(now);
        self.since.get_or_insert(now);
        for (generator, step) in steps {
            match self.last.get_mut(&generator) {
                Some(last) if last.0 == step => {}
                Some(last) => *last = (step, now),
                None => {
                    self.last.insert(generator, (step, now));
                }
            }
        }
    }

    fn forget(&mut self) {
        planted!(9, return);
        self.last.clear();
        (self.since, self.listened) = (None, None);
    }

    /// Whether nothing was heard of a generator for long.
    pub(super) fn has_died(&self, generator: u32) -> bool {
        planted!(3, return false);
        // It may have been heard of since then.
        if self
            .listened
            .is_none_or(|at| self.time.since(at) > DEAF_MAX)
        {
            return false;
        }
        let last = self.last.get(&generator).map(|(_, at)| *at);
        let last = last.or(self.since);
        last.is_some_and(|at| self.time.since(at) > SILENCE_MAX)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = u32> {
        self.last.keys().copied()
    }

    /// Whether to listen again; more seldom than it is looked, where that is for all there are.
    pub(super) fn is_due(&self) -> bool {
        self.listened
            .is_none_or(|at| self.time.since(at) > self.pause)
    }
}

impl Company {
    /// Joins the trial that is meant. Gives the trial as all run it, too: with the seed of the first
    /// that came. The load is what was asked for, before anything was decided on this host.
    ///
    /// # Errors
    /// The notebook cannot be reached; another load has this key; there is no place for this generator.
    pub fn join(
        asked: &TrialSpec,
        content_sha256: &str,
        options: &GeneratorsSpec,
        room: Box<dyn Rendezvous>,
        interrupts: &'static Interrupts,
    ) -> Result<(Self, TrialSpec), Failure> {
        let whole = asked.clone().resolved();
        refuse(&whole)?;
        // Before generators meet: this many can share it.
        generators::share(&whole, 0, options.generators.unwrap_or(1))?;
        let load_sha256 = generators::load_sha256(asked, content_sha256);
        let spec = serde_json::to_string(&whole).unwrap_or_default();
        let company = Self::meet(load_sha256, spec, options, room, interrupts)?;
        let first: TrialSpec = serde_json::from_str(&company.meeting.spec).map_err(|e| {
            Failure::new(format!(
                "the trial of {} cannot be read: {e}",
                company.key()
            ))
        })?;
        let whole = TrialSpec {
            seed: first.seed,
            ..whole
        };
        Ok((company, whole))
    }

    /// Meets the others for something that is distinguished from others by its hash, and that all know by its text,
    /// an object of JSON.
    ///
    /// # Errors
    /// As [`Company::join`].
    pub fn meet(
        load_sha256: String,
        spec: String,
        options: &GeneratorsSpec,
        room: Box<dyn Rendezvous>,
        interrupts: &'static Interrupts,
    ) -> Result<Self, Failure> {
        Self::meet_in(
            OfHost::shared(),
            load_sha256,
            spec,
            options,
            room,
            interrupts,
        )
    }

    pub(super) fn meet_in(
        time: Arc<dyn Time>,
        load_sha256: String,
        spec: String,
        options: &GeneratorsSpec,
        room: Box<dyn Rendezvous>,
        interrupts: &'static Interrupts,
    ) -> Result<Self, Failure> {
        let count = options.generators.unwrap_or(1);
        let place = place::of(|name| std::env::var(name).ok())?;
        let generator = options.generator.or(place.generator);
        if let Some(generator) = generator.filter(|generator| *generator >= count) {
            return Err(generators::none_such(generator, count));
        }
        let offer = Offer {
            key: options.join.clone().or(place.job),
            generators: count,
            load_sha256,
            spec,
            age_max_us: options.join_deadline.as_micros() as u64,
        };
        let clock = Clock::read(&*room, &time)?;
        let meeting = room.meet(&offer, clock.now_us())?;
        check(&meeting, &offer)?;
        let claimed = room.claim(&meeting, &host_name(), generator)?;
        let generator = claimed.ok_or_else(|| taken(&meeting, generator))?;
        let company = Self {
            room,
            meeting,
            clock,
            generator,
            deadline: options.join_deadline,
            interrupts,
            // One that came while it joined is not lost.
            interrupted_before: 0,
            listened: Heard::new(&time, offer.generators),
            time,
        };
        let step = step_at(&company.meeting, &company.clock);
        company.say(words::ALIVE, Whose::Each, step, String::new())?;
        Ok(company)
    }

    /// The same generators meet for a trial of what they met for, the `step`th. Those that have gone are
    /// not waited for.
    ///
    /// # Errors
    /// The notebook cannot be reached; the trial cannot be shared.
    pub fn for_trial(&self, step: u32, whole: &TrialSpec, gone: &[u32]) -> Result<Self, Failure> {
        generators::share(whole, 0, self.generators())?;
        let room = self.room.again()?;
        let time = Arc::clone(&self.time);
        let clock = Clock::read(&*room, &time)?;
        let spec = serde_json::to_string(whole).unwrap_or_default();
        let offer = Offer {
            key: Some(format!("{} trial {}", self.meeting.key, step + 1)),
            generators: self.generators(),
            load_sha256: generators::load_sha256(whole, &self.meeting.load_sha256),
            spec,
            age_max_us: 0,
        };
        let meeting = room.meet(&offer, clock.now_us())?;
        check(&meeting, &offer)?;
        let claimed = room.claim(&meeting, &host_name(), Some(self.generator))?;
        claimed.ok_or_else(|| taken(&meeting, Some(self.generator)))?;
        let company = Self {
            room,
            meeting,
            clock,
            generator: self.generator,
            deadline: self.deadline,
            interrupts: self.interrupts,
            interrupted_before: self.interrupted_before,
            listened: Heard::new(&time, offer.generators),
            time,
        };
        let step = step_at(&company.meeting, &company.clock);
        company.say(words::ALIVE, Whose::Each, step, String::new())?;
        for generator in gone {
            let word = Word {
                generator: *generator,
                ..company.word(0, "it had gone before".to_owned())
            };
            let what = (words::LEFT, Whose::Each);
            say(&*company.room, &company.meeting, what, &word)?;
        }
        Ok(company)
    }

    /// Its part of a trial.
    ///
    /// # Errors
    /// There are fewer clients than generators.
    pub fn share(&self, whole: &TrialSpec) -> Result<Share, Failure> {
        generators::share(whole, self.generator, self.generators())
    }

    /// Which generator it is, from 0.
    pub fn generator(&self) -> u32 {
        self.generator
    }

    /// How many there are to be.
    pub fn generators(&self) -> u32 {
        self.meeting.generators
    }

    /// The name by which they found each other.
    pub fn key(&self) -> &str {
        &self.meeting.key
    }

    /// Whether it is the first generator of its host.
    ///
    /// # Errors
    /// The notebook cannot be reached.
    pub fn is_first_of_host(&self) -> Result<bool, Failure> {
        let (hosts, own) = (self.room.hosts(&self.meeting)?, host_name());
        let first = hosts.iter().find(|(_, host)| *host == own);
        Ok(first.is_none_or(|(generator, _)| *generator == self.generator()))
    }

    /// Does what is needed once: by the first generator to claim it, or by another when it has died. The others
    /// wait, and help each time that they are called. Whether it was this one.
    ///
    /// # Errors
    /// It went wrong, here or there.
    pub fn prepare_once(
        &mut self,
        prepare: impl FnOnce(&Filling<'_>) -> Result<(), Failure>,
        mut help: impl FnMut(&Filling<'_>),
    ) -> Result<bool, Failure> {
        let names = (words::PREPARING, words::PREPARED);
        let mut prepare = Some(prepare);
        let mut helped = None;
        let waiting = |company: &mut Self| {
            let call = company.heard(words::FILLING)?.pop().map(|word| word.step);
            if call > helped {
                help(&Filling::called(company))
            } else {
                company.pause()
            }
            helped = call;
            Ok(())
        };
        let outcome = self.once(names, waiting, |company| {
            let Some(prepare) = prepare.take() else {
                return Ok(String::new());
            };
            if let Err(failure) = prepare(&Filling::calling(company)) {
                let word = |text| company.say(words::PREPARED, Whose::First, 0, text);
                // The others need not find out themselves.
                let _ = word(failure.message.clone());
                return Err(failure);
            }
            Ok(String::new())
        })?;
        match outcome {
            (word, own) if word.text.is_empty() => Ok(own),
            (word, _) => Err(Failure::new(word.text).detail(format!(
                "generator {} could not prepare the trial",
                word.generator
            ))),
        }
    }

    /// This one will not measure, for this reason: no other needs to wait for it. Where it was asked to end
    /// and does not leave `alone`, all end.
    pub fn leave(&self, why: &Failure, alone: bool) {
        // The best that can be done.
        if matches!(why.exit, Exit::Interrupted(_)) && !alone {
            let _ = self.stop_all();
        }
        let _ = self.say(words::LEFT, Whose::Each, 0, why.message.clone());
    }

    /// All are to end.
    ///
    /// # Errors
    /// The notebook cannot be reached.
    pub fn stop_all(&self) -> Result<(), Failure> {
        let said = self.say(words::STOP, Whose::First, 0, String::new());
        said.map(|_| ())
    }

    /// This one has measured. Waits for a notebook that is away.
    ///
    /// # Errors
    /// The notebook cannot be reached.
    pub fn done(&self, mut part: Part) -> Result<(), Failure> {
        let began = self.time.now();
        loop {
            let clock = Clock::read(&*self.room, &self.time);
            part.clock = clock.ok().map(|clock| clock.reading);
            let text = serde_json::to_string(&part).unwrap_or_default();
            match self.say(words::DONE, Whose::Each, 0, text) {
                Err(_) if self.time.since(began) < AWAY_MAX => self.pause(),
                said => return said.map(|_| ()),
            }
        }
    }

    /// A trial of this one is its part.
    ///
    /// # Errors
    /// The notebook cannot be reached.
    pub fn keep_part(&self, trial: i64) -> Result<(), Failure> {
        let generator = Some(self.generator());
        self.room.keep_part(&self.meeting, trial, generator)
    }

    /// A trial is that of all of them, in place of one that another began to keep and died.
    ///
    /// # Errors
    /// The notebook cannot be reached.
    pub fn keep_whole(&self, trial: i64) -> Result<(), Failure> {
        self.room.keep_part(&self.meeting, trial, None)
    }

    /// Waits until all have measured or died, and has one of them add up what they kept, which gives the
    /// number of the trial that it kept. Whether it was this one.
    ///
    /// # Errors
    /// The notebook cannot be reached; adding up went wrong.
    pub fn merge_once(
        &mut self,
        merge: impl FnMut(&mut Self) -> Result<i64, Failure>,
    ) -> Result<(i64, bool), Failure> {
        self.wait_for_all()?;
        let mut merge = merge;
        let names = (words::MERGING, words::MERGED);
        let waiting = |company: &mut Self| {
            company.pause();
            Ok(())
        };
        let (word, own) = self.once(names, waiting, |company| {
            let number = merge(company)?;
            Ok(number.to_string())
        })?;
        let number = word.text.parse();
        Ok((number.map_err(|_| unreadable(words::MERGED))?, own))
    }

    /// Waits until all that began have measured or died.
    ///
    /// # Errors
    /// The notebook cannot be reached; an interrupt.
    pub fn wait_for_all(&mut self) -> Result<(), Failure> {
        let began = self.started()?.generators;
        loop {
            self.check_interrupt()?;
            // Counted is quickly; who it is matters when all may be there, and now and then.
            let count = |what| self.patiently(|room, it| room.count(it, what));
            let said = (count(words::DONE)? + count(words::LEFT)?) as usize;
            if said >= began.len() || self.listened.is_due() {
                self.listen();
                let by = |what| self.patiently(|room, it| room.last_steps(it, what, 0));
                let (done, left) = (by(words::DONE)?, by(words::LEFT)?);
                let is_over = |number: &u32| done.iter().chain(&left).any(|(by, _)| by == number);
                let mut missing = began.iter().filter(|number| !is_over(number));
                if missing.all(|number| self.has_died(*number)) {
                    return Ok(());
                }
            }
            self.pause();
        }
    }

    pub(super) fn started(&self) -> Result<Start, Failure> {
        let start = self.heard(words::START)?;
        let start = start
            .first()
            .and_then(|word| serde_json::from_str(&word.text).ok());
        start.ok_or_else(|| unreadable(words::START))
    }

    /// How long others are waited for before the start, from the moment in which the first came.
    pub(super) fn until_us(&self) -> u64 {
        self.meeting.created_us + self.deadline.as_micros() as u64
    }

    /// Says something for this generator.
    pub(super) fn say(
        &self,
        what: &str,
        whose: Whose,
        step: u32,
        text: String,
    ) -> Result<bool, Failure> {
        say(
            &*self.room,
            &self.meeting,
            (what, whose),
            &self.word(step, text),
        )
    }

    pub(super) fn word(&self, step: u32, text: String) -> Word {
        Word {
            step,
            generator: self.generator(),
            at_us: self.clock.now_us(),
            text,
        }
    }

    /// Waits a moment before the next look.
    pub(super) fn pause(&self) {
        self.time.sleep(look_pause(self.generators()));
    }

    /// Has one generator do what is to be done once, while the others are waiting. Gives what was said of it, and whether it was said
    /// here. The first step is said by one, the second too, so that a generator that was thought dead
    /// changes nothing.
    fn once(
        &mut self,
        (doing, done): (&str, &str),
        mut waiting: impl FnMut(&mut Self) -> Result<(), Failure>,
        mut work: impl FnMut(&mut Self) -> Result<String, Failure>,
    ) -> Result<(Word, bool), Failure> {
        loop {
            self.check_interrupt()?;
            if let Some(word) = self.heard(done)?.pop() {
                let own = word.generator == self.generator();
                return Ok((word, own));
            }
            if self.takes_over(doing)? {
                let text = work(self)?;
                self.say(done, Whose::First, 0, text)?;
            } else {
                waiting(self)?;
            }
        }
    }

    /// Whether this one is to do from now on what one does for all: no other does it, or that one has died.
    pub(super) fn takes_over(&mut self, doing: &str) -> Result<bool, Failure> {
        let last = self.heard(doing)?.pop();
        self.listen();
        let step = match &last {
            None => 0,
            Some(word) if self.has_died(word.generator) => word.step + 1,
            Some(_) => return Ok(false),
        };
        self.say(doing, Whose::First, step, String::new())
    }

    /// Whether another did before what this one does for all.
    pub(super) fn has_been(&self, doing: &str) -> Result<bool, Failure> {
        Ok(self.heard(doing)?.len() > 1)
    }

    /// Tells those who follow that nothing comes next, or why it ended early.
    ///
    /// # Errors
    /// The notebook cannot be reached.
    pub fn over(&self, failed: Option<&Failure>) -> Result<(), Failure> {
        let text = failed.map_or_else(String::new, |failure| failure.message.clone());
        let said = self.say(words::OVER, Whose::First, 0, text);
        said.map(|_| ())
    }

    /// What was said of this.
    pub(super) fn heard(&self, what: &str) -> Result<Vec<Word>, Failure> {
        self.patiently(|room, it| room.heard(it, what))
    }

    pub(super) fn interrupts(&self) -> &'static Interrupts {
        self.interrupts
    }

    /// Reads, and waits for a notebook that is away.
    fn patiently<T>(
        &self,
        read: impl Fn(&dyn Rendezvous, &Meeting) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let began = self.time.now();
        loop {
            match read(&*self.room, &self.meeting) {
                Err(_) if self.time.since(began) < AWAY_MAX => {
                    self.check_interrupt()?;
                    self.pause();
                }
                read => return read,
            }
        }
    }

    pub(super) fn check_interrupt(&self) -> Result<(), Failure> {
        if self.interrupts.count() == self.interrupted_before {
            return Ok(());
        }
        let code = self.interrupts.exit_code().unwrap_or(130);
        Err(Failure::with(Exit::Interrupted(code), "interrupted"))
    }

    /// From here on interrupts are those of the run.
    pub fn interrupted_before(&self) -> u32 {
        self.interrupted_before
    }

    /// Interrupts that came until now have done their work.
    pub fn forget_interrupts(&mut self) {
        self.interrupted_before = self.interrupts.count();
    }

    /// Hears who is alive, now and then: the answer is long where many have said it often.
    fn listen(&mut self) {
        if self.listened.is_due() {
            self.listened.listen(&*self.room, &self.meeting);
        }
    }

    /// Whether nothing was heard of a generator for long.
    fn has_died(&self, generator: u32) -> bool {
        self.listened.has_died(generator)
    }
}

/// Says something in a meeting.
pub(super) fn say(
    room: &dyn Rendezvous,
    meeting: &Meeting,
    (what, whose): (&str, Whose),
    word: &Word,
) -> Result<bool, Failure> {
    room.say(meeting, what, whose, word)
}

/// The step at which a generator says now that it is alive.
pub(super) fn step_at(meeting: &Meeting, clock: &Clock) -> u32 {
    let since_us = clock.now_us().saturating_sub(meeting.created_us);
    (since_us / ALIVE.as_micros() as u64) as u32
}

/// Between two looks of one of so many.
pub(super) fn look_pause(generators: u32) -> Duration {
    LOOK.max(Duration::from_secs_f64(f64::from(generators) / LOOKS_PER_S))
}

/// The name by which generators of one host know each other: a host's name, and what tells its boot from
/// those of others of that name.
fn host_name() -> String {
    let name = host::Host::read().name.unwrap_or_default();
    let boot = Identity::of_self().boot_id.unwrap_or_default();
    match boot.get(..8) {
        Some(boot) => format!("{name} {boot}"),
        None => name,
    }
}

/// Refuses what several generators cannot do.
fn refuse(whole: &TrialSpec) -> Result<(), Failure> {
    if whole.warmup.is_detected() {
        let text = "--warmup auto is not for several generators: each sees only its part";
        return Err(Failure::with(Exit::Usage, text).hint("--warmup 30s"));
    }
    Ok(())
}

fn check(meeting: &Meeting, offer: &Offer) -> Result<(), Failure> {
    let key = &meeting.key;
    if meeting.generators != offer.generators {
        let (there, here) = (meeting.generators, offer.generators);
        let text = format!("{key} is a trial of {there} generators, not of {here}");
        return Err(other(text));
    }
    if meeting.load_sha256 == offer.load_sha256 {
        return Ok(());
    }
    let differences = generators::differences(&meeting.spec, &offer.spec);
    let what = if differences.is_empty() {
        // Whether the first had a seed of its own is not kept.
        "its scripts have another content, or it has another --seed".to_owned()
    } else {
        differences.join(", ")
    };
    Err(other(format!("{key} is a trial of another load: {what}")))
}

fn other(text: String) -> Failure {
    Failure::with(Exit::Usage, text)
        .hint("the same command line on all generators makes one trial")
        .hint("another trial needs another --join KEY")
}

fn taken(meeting: &Meeting, generator: Option<u32>) -> Failure {
    let key = &meeting.key;
    let text = match generator {
        Some(generator) => format!("generator {generator} of {key} was there already"),
        None => format!("all {} generators of {key} have come", meeting.generators),
    };
    Failure::with(Exit::Usage, text)
        .detail("a generator that died cannot come back: its seconds would be missing")
        .hint("begin a new trial: --join with another key, on all generators")
}

fn unreadable(what: &str) -> Failure {
    Failure::new(format!("what generators say of \"{what}\" cannot be read"))
        .hint("have all generators the same pgdyno? pgdyno --version")
}
