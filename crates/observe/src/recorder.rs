//! From what instruments read to figures on one clock: counters become rates and totals, readings
//! that fail become gaps.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use super::Readings;
use super::readings::Value;
use pgdyno_model::observed::{
    Batch, Gap, InstrumentRow, Kind, NewSeries, ObservedEvent, Sample, Series, Span, Total,
};

/// So many events of a trial are kept.
const EVENTS_MAX: usize = 1000;

/// What has been read, by instrument. Times are microseconds since `epoch` until
/// [`Recorder::take`] moves them onto the trial's clock.
pub(super) struct Recorder {
    epoch: Instant,
    batch: Batch,
    instruments: Vec<Progress>,
    series: HashMap<(usize, Series), usize>,
    courses: Vec<Course>,
    gaps: usize,
    /// Rates are over no less, in microseconds.
    rate_over_us: i64,
    events: usize,
}

/// The first reading comes before clients begin, and the last after they have gone: both may be a
/// moment away from another, in which a counter that grows in steps (CPU time does, by a hundredth
/// of a second) gives a rate that never was. What came in so short a time counts with what follows.
const RATE_OVER_US: i64 = 100_000;

/// How far an instrument has come.
#[derive(Default)]
struct Progress {
    /// When it last read something.
    last_us: Option<i64>,
    /// Gaps that have not ended, by the part that they are about.
    open: BTreeMap<String, Span>,
}

/// How a series went on.
struct Course {
    kind: Kind,
    total: Total,
    /// The last reading as it came; `after` has what resets took away.
    raw: f64,
    /// When the last rate was reported, and what `after` was then.
    reported_at_us: i64,
    reported: f64,
}

impl Recorder {
    pub(super) fn new(epoch: Instant) -> Self {
        Self {
            epoch,
            batch: Batch::default(),
            instruments: Vec::new(),
            series: HashMap::new(),
            courses: Vec::new(),
            gaps: 0,
            rate_over_us: RATE_OVER_US,
            events: 0,
        }
    }

    /// Rates may be over any time: for tests of instruments, which do not wait.
    #[cfg(test)]
    pub(super) fn hurries(&mut self) {
        self.rate_over_us = 0;
    }

    /// One more instrument; gives its number.
    pub(super) fn instrument(&mut self, name: String, source: String) -> usize {
        let number = self.instruments.len();
        self.instruments.push(Progress::default());
        self.batch.instruments.push(InstrumentRow {
            number,
            name,
            source,
        });
        number
    }

    /// An instrument has ended, and used so much CPU time.
    pub(super) fn cpu(&mut self, instrument: usize, cpu_us: u64) {
        self.batch.cpu.push((instrument, cpu_us));
    }

    /// A reading of an instrument, and how it ended at this time.
    pub(super) fn reading(
        &mut self,
        instrument: usize,
        readings: Readings,
        result: Result<(), Gap>,
        at: Instant,
    ) {
        let now_us = self.us(at);
        for value in readings.values {
            self.value(instrument, value);
        }
        for event in readings.events {
            self.events += 1;
            if self.events > EVENTS_MAX {
                continue;
            }
            let at_us = self.us(event.from);
            self.batch.events.push(ObservedEvent {
                instrument,
                at_us,
                length_us: event.length.map(|length| length.as_micros() as u64),
                kind: event.kind,
                text: event.text,
            });
        }
        let statements = readings.statements.into_iter();
        self.batch
            .statements
            .extend(statements.map(|s| (instrument, s)));
        let facts = readings.facts.into_iter();
        let facts = facts.map(|(name, value)| (instrument, name, value));
        self.batch.facts.extend(facts);
        self.batch.notes.extend(readings.notes);
        let is_read = result.is_ok();
        let mut missing: BTreeMap<String, Gap> = readings.gaps.into_iter().collect();
        if self.events > EVENTS_MAX {
            let gap = Gap::because(format!("only the first {EVENTS_MAX} events are kept"));
            missing.entry("events".to_owned()).or_insert(gap);
        }
        if let Err(gap) = result {
            missing.insert(String::new(), gap);
        }
        self.gaps(instrument, missing, is_read, now_us);
        if is_read {
            self.instruments[instrument].last_us = Some(now_us);
        }
    }

    /// Closes the gaps that are none any more and opens those that are new. What a reading that
    /// failed as a whole says nothing of stays as it is.
    fn gaps(
        &mut self,
        instrument: usize,
        missing: BTreeMap<String, Gap>,
        is_read: bool,
        now_us: i64,
    ) {
        let progress = &mut self.instruments[instrument];
        if is_read {
            progress.open.retain(|label, span| {
                let stays = missing.contains_key(label);
                if !stays {
                    span.to_us = Some(now_us);
                    self.batch.gaps.push(span.clone());
                }
                stays
            });
        }
        for (label, gap) in missing {
            let from_us = progress.last_us;
            progress.open.entry(label).or_insert_with_key(|label| {
                let span = Span {
                    number: self.gaps,
                    instrument,
                    label: label.clone(),
                    from_us,
                    to_us: None,
                    gap,
                };
                self.gaps += 1;
                self.batch.gaps.push(span.clone());
                span
            });
        }
    }

    fn value(&mut self, instrument: usize, value: Value) {
        let at_us = self.us(value.at);
        let read = value.value;
        let key = (instrument, value.series);
        let Some(&number) = self.series.get(&key) else {
            let number = self.courses.len();
            self.batch.series.push(NewSeries {
                number,
                instrument,
                series: key.1.clone(),
                kind: value.kind,
            });
            self.series.insert(key, number);
            self.courses
                .push(Course::begin(number, value.kind, at_us, read));
            if matches!(value.kind, Kind::Gauge | Kind::Sparse) {
                self.sample(number, at_us, read);
            }
            return;
        };
        let course = &mut self.courses[number];
        let shown = match course.kind {
            Kind::Gauge | Kind::Sparse => Some(read),
            Kind::Counter => course.rate(at_us, read, self.rate_over_us),
            Kind::BeforeAfter => None,
        };
        course.go_on(at_us, read);
        if let Some(shown) = shown {
            self.sample(number, at_us, shown);
        }
    }

    fn sample(&mut self, series: usize, at_us: i64, value: f64) {
        self.batch.samples.push(Sample {
            series,
            at_us,
            value,
        });
    }

    /// Nothing more comes: adds how things stood before and after.
    pub(super) fn end(&mut self) {
        let courses = self.courses.iter();
        let ended = courses.filter(|course| {
            matches!(course.kind, Kind::Counter | Kind::BeforeAfter)
                // Read once only: there is no after.
                && course.total.after_at_us > course.total.before_at_us
        });
        self.batch.totals = ended.map(|course| course.total).collect();
    }

    /// What has come since the last time, on the clock that began then.
    pub(super) fn take(&mut self, anchor: Instant) -> Batch {
        let mut batch = std::mem::take(&mut self.batch);
        batch.shift(-self.us(anchor));
        batch
    }

    fn us(&self, at: Instant) -> i64 {
        match at.checked_duration_since(self.epoch) {
            Some(since) => since.as_micros() as i64,
            None => -(self.epoch.duration_since(at).as_micros() as i64),
        }
    }
}

impl Course {
    fn begin(series: usize, kind: Kind, at_us: i64, read: f64) -> Self {
        Self {
            kind,
            raw: read,
            reported_at_us: at_us,
            reported: read,
            total: Total {
                series,
                before_at_us: at_us,
                before: read,
                after_at_us: at_us,
                after: read,
                resets: 0,
            },
        }
    }

    /// How fast a counter grew since a rate was reported; `None` when not enough time has passed.
    fn rate(&mut self, at_us: i64, read: f64, over_us: i64) -> Option<f64> {
        let past_us = at_us - self.reported_at_us;
        if past_us <= 0 || past_us < over_us {
            return None;
        }
        let after = self.total.after + self.grown(read);
        let grown = after - self.reported;
        (self.reported_at_us, self.reported) = (at_us, after);
        Some(grown * 1e6 / past_us as f64)
    }

    /// One that fell was reset: it started again from zero.
    fn grown(&self, read: f64) -> f64 {
        if read < self.raw {
            read
        } else {
            read - self.raw
        }
    }

    fn go_on(&mut self, at_us: i64, read: f64) {
        if self.kind == Kind::Counter {
            self.total.after += self.grown(read);
            self.total.resets += u32::from(read < self.raw);
        } else {
            self.total.after = read;
        }
        self.raw = read;
        self.total.after_at_us = at_us;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const PAGES: Series = Series::new("pg.pages", "1/s");

    fn read(recorder: &mut Recorder, at: Instant, fill: impl FnOnce(&mut Readings)) {
        let mut readings = Readings::starting(at);
        fill(&mut readings);
        recorder.reading(0, readings, Ok(()), at);
    }

    fn recorder(epoch: Instant) -> Recorder {
        let mut recorder = Recorder::new(epoch);
        recorder.instrument("pg".to_owned(), String::new());
        recorder
    }

    #[test]
    fn a_moment_has_no_rate_and_what_came_in_it_counts_with_what_follows() {
        let epoch = Instant::now();
        let mut recorder = recorder(epoch);
        for (ms, value) in [(0, 0.0), (5, 10.0), (1000, 20.0), (1005, 30.0)] {
            let at = epoch + Duration::from_millis(ms);
            read(&mut recorder, at, |out| out.counter(PAGES, value));
        }
        recorder.end();
        let batch = recorder.take(epoch);
        let rates: Vec<_> = batch.samples.iter().map(|s| (s.at_us, s.value)).collect();
        assert_eq!(rates, [(1_000_000, 20.0)]);
        assert_eq!((batch.totals[0].before, batch.totals[0].after), (0.0, 30.0));
    }

    #[test]
    fn a_counter_becomes_rates_and_a_total_and_its_reset_loses_nothing() {
        let epoch = Instant::now();
        let second = |s| epoch + Duration::from_secs(s);
        let mut recorder = recorder(epoch);
        for (s, value) in [(0, 100.0), (1, 110.0), (3, 150.0), (4, 7.0), (5, 8.0)] {
            read(&mut recorder, second(s), |out| out.counter(PAGES, value));
        }
        recorder.end();
        let batch = recorder.take(second(1));
        let rates: Vec<_> = batch.samples.iter().map(|s| (s.at_us, s.value)).collect();
        let expected = [
            (0, 10.0),
            (2_000_000, 20.0),
            (3_000_000, 7.0),
            (4_000_000, 1.0),
        ];
        assert_eq!(rates, expected);
        let total = batch.totals[0];
        assert_eq!((total.before, total.after, total.resets), (100.0, 158.0, 1));
        assert_eq!(
            (total.before_at_us, total.after_at_us),
            (-1_000_000, 4_000_000)
        );
    }

    #[test]
    fn gauges_are_kept_as_they_are_and_what_is_read_twice_as_a_total() {
        let epoch = Instant::now();
        let later = epoch + Duration::from_secs(1);
        let mut recorder = recorder(epoch);
        let size = Series::new("pg.size", "bytes");
        let waits = Series::new("pg.waits", "sessions").of("IO:DataFileRead");
        let once = Series::new("pg.once", "bytes");
        read(&mut recorder, epoch, |out| {
            out.gauge(PAGES, 3.0);
            out.gauge(PAGES.of("none"), f64::NAN);
            out.before_after(size.clone(), 10.0);
            out.before_after(once, 1.0);
        });
        read(&mut recorder, later, |out| {
            out.gauge(PAGES, 2.0);
            out.sparse(waits, 1.5);
            out.before_after(size, 8.0);
        });
        recorder.end();
        let batch = recorder.take(epoch);
        let labels: Vec<_> = batch.series.iter().map(|s| &*s.series.label).collect();
        assert_eq!(labels, ["", "", "", "IO:DataFileRead"]);
        let values: Vec<_> = batch.samples.iter().map(|s| (s.series, s.value)).collect();
        assert_eq!(values, [(0, 3.0), (0, 2.0), (3, 1.5)]);
        let [total] = batch.totals[..] else {
            panic!("{:?}", batch.totals);
        };
        assert_eq!((total.series, total.before, total.after), (1, 10.0, 8.0));
        assert!(recorder.take(epoch).series.is_empty());
    }

    #[test]
    fn the_first_events_are_stored_and_the_rest_are_counted() {
        let epoch = Instant::now();
        let mut recorder = recorder(epoch);
        for second in 0..3 {
            let at = epoch + Duration::from_secs(second);
            read(&mut recorder, at, |out| {
                let length = Some(Duration::from_secs(2));
                (0..400).for_each(|_| out.event("vacuum", at, length, "of a table"));
            });
        }
        let batch = recorder.take(epoch + Duration::from_secs(1));
        assert_eq!(batch.events.len(), EVENTS_MAX);
        let first = &batch.events[0];
        assert_eq!(
            (first.at_us, first.length_us),
            (-1_000_000, Some(2_000_000))
        );
        let reported: Vec<_> = batch
            .gaps
            .iter()
            .map(|gap| (&*gap.label, gap.from_us))
            .collect();
        assert_eq!(reported, [("events", Some(0))]);
    }

    #[test]
    fn a_gap_lasts_from_the_last_reading_to_the_next_that_succeeds() {
        let epoch = Instant::now();
        let second = |s| epoch + Duration::from_secs(s);
        let mut recorder = recorder(epoch);
        read(&mut recorder, second(1), |out| out.gauge(PAGES, 1.0));
        for s in [2, 3] {
            let gone = Gap::because("gone").remedy("start it");
            recorder.reading(0, Readings::default(), Err(gone), second(s));
        }
        let opened = recorder.take(epoch).gaps;
        assert_eq!(opened.len(), 1);
        assert_eq!(
            (opened[0].from_us, opened[0].to_us),
            (Some(1_000_000), None)
        );
        read(&mut recorder, second(4), |out| {
            out.gauge(PAGES, 1.0);
            out.gap("node 2", Gap::because("refused"));
        });
        let gaps = recorder.take(epoch).gaps;
        assert_eq!(
            (gaps[0].number, gaps[0].to_us),
            (opened[0].number, Some(4_000_000))
        );
        assert_eq!(
            (&*gaps[1].label, gaps[1].from_us),
            ("node 2", Some(1_000_000))
        );
        // The whole being gone says nothing of the part.
        recorder.reading(0, Readings::default(), Err(Gap::because("gone")), second(5));
        read(&mut recorder, second(6), |_| {});
        let gaps = recorder.take(epoch).gaps;
        let reported: Vec<_> = gaps
            .iter()
            .map(|g| (&*g.label, g.from_us, g.to_us))
            .collect();
        let expected = [
            ("", Some(4_000_000), None),
            ("", Some(4_000_000), Some(6_000_000)),
            ("node 2", Some(1_000_000), Some(6_000_000)),
        ];
        assert_eq!(reported, expected);
    }
}
