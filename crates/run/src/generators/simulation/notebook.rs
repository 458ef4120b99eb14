//! The simulated notebook: what the store keeps of a meeting, in memory, behind a network.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use pgdyno_measurement::{End, Phase, Recording, ScriptInterval, ScriptRecord, Second};
use pgdyno_model::document::{Facts, Host, TargetKind};
use pgdyno_model::notebook::{Ended, KeptTrial, Meeting, Offer, Rendezvous, Whose, Word};
use pgdyno_model::{Findings, Observer, Outcome};
use pgdyno_spec::{Failure, TrialSpec};

use super::plan::{MS, S};
use super::world::World;

/// A statement that gets no answer is given up after so long.
const PATIENCE: u64 = 300 * MS;

#[derive(Default)]
pub(super) struct Book {
    meeting: Option<Meeting>,
    pub(super) hosts: BTreeMap<u32, String>,
    /// By what, step and place; of what one says for all the place is -1.
    pub(super) words: BTreeMap<(String, u32, i64), Word>,
    pub(super) parts: Vec<(u32, i64)>,
    /// The trial that comes of all parts.
    pub(super) whole: Option<i64>,
    pub(super) trials: Vec<StoredTrial>,
    pub(super) asked: Vec<Asked>,
}

/// A statement that the notebook answered.
pub(super) struct Asked {
    pub(super) at: u64,
    pub(super) what: What,
    /// How many rows it has to read.
    pub(super) rows: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum What {
    Write,
    Read,
    Clock,
}

#[derive(Default, Clone)]
pub(super) struct StoredTrial {
    pub(super) seconds: Vec<Second>,
    pub(super) is_complete: bool,
}

impl Book {
    /// The statement that is being answered reads so many rows.
    fn reads(&mut self, rows: usize) {
        if let Some(asked) = self.asked.last_mut() {
            asked.rows = rows;
        }
    }

    pub(super) fn meet(&mut self, offer: &Offer, now_us: u64) -> Meeting {
        let first = || Meeting {
            uuid: "meeting".to_owned(),
            key: offer.key.clone().unwrap_or_default(),
            generators: offer.generators,
            load_sha256: offer.load_sha256.clone(),
            spec: offer.spec.clone(),
            created_us: now_us,
        };
        self.meeting.get_or_insert_with(first).clone()
    }

    pub(super) fn claim(&mut self, host: &str, count: u32, asked: Option<u32>) -> Option<u32> {
        let is_free = |number: &u32| !self.hosts.contains_key(number);
        let number = match asked {
            Some(asked) => Some(asked).filter(is_free),
            None => (0..count).find(is_free),
        }?;
        self.hosts.insert(number, host.to_owned());
        Some(number)
    }

    pub(super) fn say(&mut self, what: &str, whose: Whose, word: &Word) -> bool {
        let place = match whose {
            Whose::Each => i64::from(word.generator),
            Whose::First => -1,
        };
        let key = (what.to_owned(), word.step, place);
        let is_new = !self.words.contains_key(&key);
        self.words.entry(key).or_insert_with(|| word.clone());
        is_new
    }

    pub(super) fn heard(&self, what: &str) -> Vec<Word> {
        let from = (what.to_owned(), 0, i64::MIN);
        let words = self.words.range(from..);
        let words = words.take_while(|((of, ..), _)| of == what);
        let mut words: Vec<Word> = words.map(|(_, word)| word.clone()).collect();
        words.sort_by_key(|word| (word.step, word.generator));
        words
    }

    pub(super) fn last_steps(&self, what: &str, from: u32) -> Vec<(u32, u32)> {
        let words = self.heard(what).into_iter();
        let words = words.filter(|word| word.step >= from);
        let last: BTreeMap<u32, u32> = words.map(|word| (word.generator, word.step)).collect();
        last.into_iter().collect()
    }

    pub(super) fn outcome(&self, trial: i64) -> Outcome {
        let kept = &self.trials[trial as usize];
        outcome(kept.seconds.clone(), kept.is_complete)
    }
}

/// A trial that came to this.
pub(super) fn outcome(seconds: Vec<Second>, is_complete: bool) -> Outcome {
    let mut all = ScriptInterval::default();
    for script in seconds.iter().flat_map(|second| &second.scripts) {
        all.merge(&script.unpack());
    }
    Outcome {
        spec: TrialSpec::of("simulated"),
        workload: "simulated".to_owned(),
        pack_sha256: None,
        variables: Vec::new(),
        target: "simulated".to_owned(),
        target_kind: TargetKind::Named,
        facts: Facts::unknown("simulated"),
        host: host(),
        recording: Recording {
            scripts: vec![ScriptRecord {
                name: "simulated".to_owned(),
                weight: 1,
                statements: Vec::new(),
            }],
            measured: Phase {
                elapsed_us: seconds.iter().map(|second| second.length_us).sum(),
                scripts: vec![all],
                ..Phase::default()
            },
            seconds,
            end: if is_complete {
                End::Complete
            } else {
                End::Interrupted
            },
            ..Recording::default()
        },
        findings: Findings::default(),
        observed: Default::default(),
        generators: None,
        notes: Vec::new(),
    }
}

fn host() -> Host {
    Host {
        name: None,
        kernel: None,
        cpu_model: None,
        cpus: 1,
        memory_bytes: None,
        ceiling: None,
    }
}

/// The notebook as one host reaches it.
#[derive(Clone)]
pub(super) struct Room {
    pub(super) world: Arc<World>,
    pub(super) book: Arc<Mutex<Book>>,
    pub(super) host: usize,
}

impl Room {
    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    fn is_away(&self) -> bool {
        let now = self.world.now();
        let away = self.world.plan.away;
        away.is_some_and(|(from, until)| (from..until).contains(&now))
    }

    fn way(&self, mean: u64) -> u64 {
        // Half of it at least, and now and then a queue on the way.
        self.world.draw(|draw| {
            let more = if draw.one_in(20) { 4 * mean } else { mean };
            draw.range(mean / 2, mean / 2 + more)
        })
    }

    fn is_lost(&self) -> bool {
        let permille = self.world.plan.lost_permille;
        self.world.draw(|draw| draw.range(1, 1000) <= permille)
    }

    fn ask<T>(&self, what: What, answer: impl FnOnce(&mut Book) -> T) -> Result<T, Failure> {
        let (out, back) = self.world.plan.hosts[self.host].ways;
        self.world.wait(self.way(out));
        if self.is_away() || self.is_lost() {
            self.world.wait(PATIENCE);
            return Err(Failure::new("the notebook is away"));
        }
        let answer = {
            let mut book = self.book();
            book.asked.push(Asked {
                at: self.world.now(),
                what,
                rows: 0,
            });
            answer(&mut book)
        };
        if self.is_lost() {
            self.world.wait(PATIENCE);
            return Err(Failure::new("the notebook's answer is lost"));
        }
        self.world.wait(self.way(back));
        Ok(answer)
    }
}

impl Rendezvous for Room {
    fn place(&self) -> String {
        "simulated".to_owned()
    }

    fn again(&self) -> Result<Box<dyn Rendezvous>, Failure> {
        self.ask(What::Read, |_| ())?;
        Ok(Box::new(self.clone()))
    }

    fn clock_us(&self) -> Result<u64, Failure> {
        self.ask(What::Clock, |_| self.world.notebook_us())
    }

    fn meet(&self, offer: &Offer, now_us: u64) -> Result<Meeting, Failure> {
        self.ask(What::Write, |book| book.meet(offer, now_us))
    }

    fn claim(
        &self,
        meeting: &Meeting,
        host: &str,
        asked: Option<u32>,
    ) -> Result<Option<u32>, Failure> {
        self.ask(What::Write, |book| {
            book.claim(host, meeting.generators, asked)
        })
    }

    fn hosts(&self, _: &Meeting) -> Result<Vec<(u32, String)>, Failure> {
        self.ask(What::Read, |book| {
            book.reads(book.hosts.len());
            book.hosts.clone().into_iter().collect()
        })
    }

    fn say(&self, _: &Meeting, what: &str, whose: Whose, word: &Word) -> Result<bool, Failure> {
        self.ask(What::Write, |book| book.say(what, whose, word))
    }

    fn heard(&self, _: &Meeting, what: &str) -> Result<Vec<Word>, Failure> {
        self.ask(What::Read, |book| {
            let heard = book.heard(what);
            book.reads(heard.len());
            heard
        })
    }

    fn count(&self, _: &Meeting, what: &str) -> Result<u32, Failure> {
        self.ask(What::Read, |book| {
            let count = book.heard(what).len();
            book.reads(count);
            count as u32
        })
    }

    fn last_steps(&self, _: &Meeting, what: &str, from: u32) -> Result<Vec<(u32, u32)>, Failure> {
        self.ask(What::Read, |book| {
            let words = book.heard(what).into_iter();
            book.reads(words.filter(|word| word.step >= from).count());
            book.last_steps(what, from)
        })
    }

    fn keep_part(&self, _: &Meeting, trial: i64, generator: Option<u32>) -> Result<(), Failure> {
        self.ask(What::Write, |book| match generator {
            Some(generator) => book.parts.push((generator, trial)),
            None => book.whole = Some(trial),
        })
    }

    fn parts(&self, _: &Meeting) -> Result<Vec<(u32, i64)>, Failure> {
        self.ask(What::Read, |book| {
            let mut parts = book.parts.clone();
            parts.sort_unstable();
            book.reads(parts.len());
            parts
        })
    }

    fn outcome(&self, trial: i64) -> Result<Outcome, Failure> {
        self.ask(What::Read, |book| book.outcome(trial))
    }

    fn copy_observed(&self, _: i64, _: i64) -> Result<(), Failure> {
        self.ask(What::Write, |_| ())
    }
}

/// A trial on its way into the notebook: its seconds wait on the host while that is away.
pub(super) struct Writer {
    room: Room,
    number: i64,
}

impl Room {
    /// Waits for a notebook that is away, as commands do when they open it.
    pub(super) fn begin(&self) -> Writer {
        while self.is_away() {
            self.world.wait(S / 5);
        }
        let mut book = self.book();
        book.trials.push(StoredTrial::default());
        Writer {
            number: book.trials.len() as i64 - 1,
            room: self.clone(),
        }
    }

    /// What a generator has measured so far arrives, unless the notebook is away.
    pub(super) fn arrives(&self, trial: i64, seconds: &[Second]) {
        if !self.is_away() {
            self.book().trials[trial as usize].seconds = seconds.to_vec();
        }
    }
}

impl Observer<Outcome> for Writer {}

impl KeptTrial for Writer {
    fn number(&self) -> i64 {
        self.number
    }

    fn keep_event(&mut self, _: &'static str, _: u64, _: &str) {}

    fn keep_second(&mut self, _: Second) {}

    fn finish(self: Box<Self>, outcome: &Outcome) -> Result<Ended, Failure> {
        while self.room.is_away() {
            self.room.world.wait(S / 5);
        }
        let mut book = self.room.book();
        book.trials[self.number as usize] = StoredTrial {
            seconds: outcome.recording.seconds.clone(),
            is_complete: outcome.recording.end == End::Complete,
        };
        Ok(Ended::default())
    }

    fn end_with(self: Box<Self>, _: &Failure) -> Result<(), Failure> {
        Ok(())
    }
}
