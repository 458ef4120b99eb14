//! Several generators measure one trial: what all of them together have done so far. Counts are added and
//! histograms merged, second by second and script by script; percentiles are never averaged.
//!
//! A second counts when every generator that lives has recorded it. Each generator's seconds are those of
//! its own clock, from the start that they agreed on; that one of them began late is known at the end only.

use std::collections::{BTreeMap, VecDeque};

use pgdyno_measurement::{End, Event, Phase, Recording, ScriptInterval, Second, sum_second};
use pgdyno_model::document::page::{GeneratorPart, PartOf};
use pgdyno_model::document::{Generator, GeneratorEnd, Generators};
use pgdyno_model::notebook::{LastSecond, Notebook};
use pgdyno_model::{Note, Outcome, State};
use pgdyno_spec::{Failure, TrialSpec, generators as shares};

use crate::growing::{Grown, now_us};

/// Of so many each has its own line over time, as in the result.
const SHOWN_MAX: u32 = 32;

/// The generators of a trial that is running.
pub struct Together {
    /// The number of one part.
    number: i64,
    asked: TrialSpec,
    generators: u32,
    parts: Vec<Part>,
    /// The trial whose instruments saw the most; fixed when the first second counts.
    observer: Option<i64>,
    /// Until when seconds count already.
    counted_us: u64,
}

/// What one generator has done so far.
struct Part {
    of: GeneratorPart,
    last: Option<LastSecond>,
    now_us: Option<u64>,
    /// Those that others have not recorded yet.
    waiting: VecDeque<Second>,
    committed: u64,
    measured_us: u64,
    committed_by_second: Vec<u64>,
    notes: Vec<Note>,
    events: Vec<Event>,
    /// It has ended, and all of it was read.
    is_read: bool,
}

impl Together {
    /// Reads all that there is. `number` is that of any part.
    ///
    /// # Errors
    /// The notebook cannot be read; it is no part of a trial of several generators.
    pub fn open(store: &dyn Notebook, number: i64) -> Result<(Self, Outcome), Failure> {
        let none = || {
            Failure::new(format!(
                "trial {number} is not a part of a trial with several generators"
            ))
        };
        let asked = store.asked_of_all(number)?.ok_or_else(none)?;
        let part = store.part_of(number)?.ok_or_else(none)?;
        let mut together = Self {
            number,
            generators: part.generators,
            parts: Vec::new(),
            observer: None,
            counted_us: 0,
            asked,
        };
        let mut outcome = store.outcome(number)?;
        outcome.spec = together.asked.clone();
        let recording = &mut outcome.recording;
        recording.seconds.clear();
        recording.events.clear();
        let count = recording.scripts.len();
        let phase = || Phase {
            scripts: vec![ScriptInterval::default(); count],
            ..Phase::default()
        };
        recording.measured = phase();
        recording.warmup = recording.warmup.as_ref().map(|_| phase());
        recording.end = End::Running;
        recording.clients.total = together.asked.clients() as usize;
        together.read(store, &part, &mut outcome)?;
        Ok((together, outcome))
    }

    /// Reads what has come since.
    ///
    /// # Errors
    /// The notebook cannot be read. What was read before stays.
    pub fn advance(
        &mut self,
        store: &dyn Notebook,
        outcome: &mut Outcome,
    ) -> Result<Grown, Failure> {
        let Some(part) = store.part_of(self.number)? else {
            return Ok(Grown::Over(State::Aborted));
        };
        if let Some(whole) = part.whole {
            let state = store.news(whole)?.state;
            if state != State::Running {
                return Ok(Grown::Over(state));
            }
        }
        // No generator is left to add them up.
        let has_come_to_nothing =
            |one: &GeneratorPart| matches!(one.state, State::Aborted | State::Failed);
        if part.whole.is_none() && part.newest().into_iter().all(has_come_to_nothing) {
            return Ok(Grown::Over(State::Aborted));
        }
        self.read(store, &part, outcome)
    }

    fn read(
        &mut self,
        store: &dyn Notebook,
        part: &PartOf,
        outcome: &mut Outcome,
    ) -> Result<Grown, Failure> {
        for of in part.newest() {
            let mut known = self.parts.iter();
            match known.position(|one| one.of.trial == of.trial) {
                Some(at) => self.parts[at].of = of.clone(),
                None => self.parts.push(Part::new(of.clone())),
            }
        }
        self.parts.sort_by_key(|one| one.of.generator);
        for one in self.parts.iter_mut().filter(|one| !one.is_read) {
            one.read(store)?;
        }
        self.observe(store, outcome)?;
        let seconds = self.counted();
        let count = seconds.len();
        outcome.add_seconds(seconds);
        outcome.generators = Some(self.document());
        outcome.notes = self.notes();
        outcome.recording.events = self.events();
        Ok(Grown::By(count))
    }

    /// The server is seen by one of them, a host by one of its generators: who sees most is shown.
    fn observe(&mut self, store: &dyn Notebook, outcome: &mut Outcome) -> Result<(), Failure> {
        if let (Some(observer), false) = (self.observer, outcome.recording.seconds.is_empty()) {
            let until_us = outcome.samples_until_us();
            let new = store.observed_after(observer, until_us)?;
            outcome.add_observed(until_us, new);
            return Ok(());
        }
        for one in &self.parts {
            let seen = store.observed_after(one.of.trial, None)?;
            if self.observer.is_none() || seen.series.len() > outcome.observed.series.len() {
                self.observer = Some(one.of.trial);
                outcome.observed = seen;
            }
        }
        Ok(())
    }

    /// Seconds that every generator that lives has recorded, which were not there before.
    fn counted(&mut self) -> Vec<Second> {
        let until_us = known_until_us(self.parts.iter().map(|one| (&one.of, one.now_us)));
        let gone_us = self.parts.iter().filter(|one| one.of.has_died());
        let gone_us = gone_us.map(|one| one.now_us.unwrap_or_default()).min();
        let mut new = Vec::new();
        for one in &mut self.parts {
            let count = one
                .waiting
                .iter()
                .take_while(|second| second.end_us() <= until_us);
            let count = count.count();
            // Those of one that counted as dead may come late: they are in the result.
            let counted_us = self.counted_us;
            let ready = one.waiting.drain(..count);
            new.extend(ready.filter(|second| second.start_us >= counted_us));
        }
        let mut seconds = sums(new);
        self.counted_us = seconds.last().map_or(self.counted_us, Second::end_us);
        // As in the result: what is done without one that has gone is no rate of all.
        for second in seconds.iter_mut().filter(|second| !second.warmup) {
            second.drain |= gone_us.is_some_and(|gone_us| second.end_us() > gone_us);
        }
        seconds
    }

    fn document(&self) -> Generators {
        let shows_seconds = self.generators <= SHOWN_MAX;
        let one = |part: &Part| Generator {
            generator: part.of.generator,
            end: match part.of.state {
                _ if part.of.has_died() => GeneratorEnd::Died,
                State::Running => GeneratorEnd::Running,
                _ => GeneratorEnd::Complete,
            },
            trial: Some(part.of.trial),
            host: None,
            clients: clients(&self.asked, part.of.generator, self.generators),
            committed: part.committed,
            goodput_per_s: part.committed as f64 * 1e6 / part.measured_us.max(1) as f64,
            cpu_us: None,
            busiest_share: None,
            lag_max_us: None,
            added_mean_us: None,
            began_late_us: None,
            clock: None,
            clock_drift_us: None,
            until_us: part.now_us.unwrap_or_default(),
            committed_by_second: if shows_seconds {
                part.committed_by_second.clone()
            } else {
                Vec::new()
            },
        };
        Generators {
            asked: self.generators,
            list: self.parts.iter().map(one).collect(),
            start_spread_us: None,
            start_uncertainty_us: None,
        }
    }

    fn notes(&self) -> Vec<Note> {
        let mut notes: Vec<Note> = Vec::new();
        for note in self.parts.iter().flat_map(|one| &one.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        notes
    }

    fn events(&self) -> Vec<Event> {
        let events = self.parts.iter().flat_map(|one| &one.events);
        let mut events: Vec<Event> = events.cloned().collect();
        events.sort_by_key(|event| event.at_us);
        events.truncate(Recording::EVENTS_MAX);
        events
    }
}

impl Part {
    fn new(of: GeneratorPart) -> Self {
        Self {
            of,
            last: None,
            now_us: None,
            waiting: VecDeque::new(),
            committed: 0,
            measured_us: 0,
            committed_by_second: Vec::new(),
            notes: Vec::new(),
            events: Vec::new(),
            is_read: false,
        }
    }

    fn read(&mut self, store: &dyn Notebook) -> Result<(), Failure> {
        let news = store.news(self.of.trial)?;
        let seconds = store.seconds_after(self.of.trial, self.last)?;
        // What ended before its seconds were read has no more of them.
        self.is_read = news.state != State::Running;
        self.last = LastSecond::of(&seconds).or(self.last);
        self.now_us = now_us(&seconds).or(self.now_us);
        (self.notes, self.events) = (news.notes, news.events);
        for second in seconds {
            if !second.warmup && !second.drain {
                self.committed += second.committed();
                self.measured_us += second.length_us;
            }
            second.add_committed(&mut self.committed_by_second);
            self.waiting.push_back(second);
        }
        Ok(())
    }
}

/// The clients of one of so many generators.
pub(crate) fn clients(asked: &TrialSpec, generator: u32, generators: u32) -> u32 {
    let share = shares::share(asked, generator, generators);
    share.map_or(0, |share| shares::part(asked, &share).clients())
}

/// Until when all is known: what the slowest generator has recorded of those that live and go on.
pub(crate) fn known_until_us<'a>(
    parts: impl Iterator<Item = (&'a GeneratorPart, Option<u64>)>,
) -> u64 {
    let parts = parts.filter(|(one, _)| one.goes_on());
    let known = parts.map(|(_, now_us)| now_us.unwrap_or_default());
    known.min().unwrap_or(u64::MAX)
}

/// What all recorded in each second, in order. A generator's seconds begin at the same moments as the others'.
pub(crate) fn sums(all: Vec<Second>) -> Vec<Second> {
    let mut by_start = BTreeMap::<(u64, bool), Vec<Second>>::new();
    for second in all {
        let same = by_start.entry((second.start_us, !second.warmup));
        same.or_default().push(second);
    }
    let seconds = by_start.into_values();
    seconds.filter_map(|same| sum_second(&same)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgdyno_measurement::{ClientTime, Counts, Latencies, ScriptSecond};

    fn second(start_us: u64, latencies_us: &[u64]) -> Second {
        let mut service = Latencies::default();
        latencies_us.iter().for_each(|us| service.record(*us));
        Second {
            start_us,
            length_us: 1_000_000,
            warmup: false,
            time: ClientTime::default(),
            drain: false,
            scripts: vec![ScriptSecond {
                counts: Counts {
                    committed: latencies_us.len() as u64,
                    ..Counts::default()
                },
                service: service.pack(),
                ..ScriptSecond::default()
            }],
        }
    }

    fn part(generator: u32, state: State, is_silent: bool, seconds: u64) -> Part {
        let of = GeneratorPart {
            generator,
            trial: i64::from(generator) + 1,
            state,
            is_silent,
        };
        let waiting =
            (0..seconds).map(|at| second(at * 1_000_000, &[1000_u64 << (4 * generator); 20]));
        Part {
            waiting: waiting.collect(),
            now_us: (seconds > 0).then_some(seconds * 1_000_000),
            ..Part::new(of)
        }
    }

    fn of(parts: Vec<Part>) -> Together {
        Together {
            number: 1,
            asked: TrialSpec::default(),
            generators: 3,
            parts,
            observer: None,
            counted_us: 0,
        }
    }

    #[test]
    fn a_second_counts_when_all_that_live_have_it_and_histograms_are_added() {
        let mut all = of(vec![
            part(0, State::Running, false, 3),
            part(1, State::Running, false, 2),
        ]);
        let seconds = all.counted();
        assert_eq!(seconds.len(), 2);
        assert_eq!(seconds[0].committed(), 40);
        let service = seconds[0].scripts[0].service.unpack();
        // Half of them take 1 ms and half 16: a mean of percentiles would be between.
        let percentile_us = |percent| service.percentile_us(percent).unwrap();
        assert!(percentile_us(40.0) < 1100 && percentile_us(60.0) > 15_000);
        assert_eq!(all.parts[0].waiting.len(), 1, "it waits for the other's");
        assert!(all.counted().is_empty(), "each counts once");
    }

    #[test]
    fn a_generator_that_has_died_holds_nothing_up_and_what_follows_is_no_rate_of_all() {
        for (state, is_silent) in [(State::Aborted, false), (State::Running, true)] {
            let dead = part(1, state, is_silent, 1);
            let mut all = of(vec![part(0, State::Running, false, 3), dead]);
            let seconds = all.counted();
            let of_each: Vec<(u64, bool)> = seconds
                .iter()
                .map(|second| (second.committed(), second.drain))
                .collect();
            assert_eq!(of_each, [(40, false), (20, true), (20, true)]);
            let ends: Vec<GeneratorEnd> = all.document().list.iter().map(|one| one.end).collect();
            assert_eq!(ends, [GeneratorEnd::Running, GeneratorEnd::Died]);
        }
    }

    #[test]
    fn before_a_generator_has_a_second_there_is_none_of_all() {
        let mut all = of(vec![
            part(0, State::Running, false, 2),
            part(1, State::Running, false, 0),
        ]);
        assert!(all.counted().is_empty());
    }
}
