//! What came of a replay.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use pgdyno_recording::{Losses, Obstacle, Statement};

use crate::answer::Failed;
use crate::lateness::{Blame, Cause, Nanos, Part, Slow, Waits};

/// Texts that are counted apart; further ones are one.
const TEXTS_MAX: usize = 5000;
/// Statements to which most lateness is charged.
const WORST_MAX: usize = 5;
/// Kinds of errors that are counted apart.
const ERRORS_MAX: usize = 100;
/// Started as recorded, as people understand it.
const ON_TIME_NS: Nanos = 1_000_000;

/// Times in microseconds.
#[derive(Clone, Debug)]
pub struct Times {
    pub count: u64,
    pub sum_us: u64,
    histogram: Histogram<u32>,
}

impl Default for Times {
    fn default() -> Self {
        let histogram = Histogram::new(2);
        Self {
            count: 0,
            sum_us: 0,
            histogram: histogram.unwrap_or_else(|_| unreachable!("two digits are allowed")),
        }
    }
}

impl Times {
    fn add(&mut self, us: u64) {
        self.count += 1;
        self.sum_us += us;
        // Longer than a day is a day.
        let _ = self.histogram.record(us.min(86_400_000_000));
    }

    pub fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_us as f64 / self.count as f64)
    }

    pub fn percentile_us(&self, percent: f64) -> u64 {
        self.histogram.value_at_quantile(percent / 100.0)
    }
}

/// Statements that differ in their values alone.
#[derive(Clone, Debug)]
pub struct TextResult {
    pub text: String,
    pub fingerprint: u64,
    pub statements: u64,
    /// Of those whose time was recorded, and which failed neither then nor now: then and now.
    pub then: Times,
    pub now: Times,
    pub failed: u64,
    /// Those that returned or affected another number of rows, or other values.
    pub other_rows: u64,
    pub other_values: u64,
    /// Lateness that they caused by taking longer.
    pub charged_ns: Nanos,
}

/// An execution that caused lateness.
#[derive(Clone, Copy, Debug)]
pub struct Worst {
    pub slow: Slow,
    pub charged_ns: Nanos,
    /// Statements that it made late.
    pub statements: u64,
}

/// All lateness, by what statements waited for and by what caused it. Both add up to the total.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    pub total_ns: Nanos,
    pub on_time: u64,
    pub waits: Waits,
    pub generator_ns: Nanos,
    pub connection_ns: Nanos,
    pub order_ns: Nanos,
    pub slow_ns: Nanos,
    /// In microseconds, of all statements.
    pub times: Times,
    /// The most charged first.
    pub worst: Vec<Worst>,
    /// Executions that more lateness may still be charged to, by session.
    charging: BTreeMap<u32, Vec<Worst>>,
}

/// Errors by whether they were recorded.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// Failed then and now, with the same code; with another one; failed then alone.
    pub same: u64,
    pub other: u64,
    pub gone: u64,
    /// Failed now alone: by code, how many and the first one's words.
    pub new: BTreeMap<String, (u64, String)>,
}

/// Answers of statements that failed neither then nor now, beside the recording's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Whose rows were counted then.
    pub compared: u64,
    /// Of those: another number of rows.
    pub other_rows: u64,
    /// Of those with as many rows: whose values were summed up, and were others.
    pub values_compared: u64,
    pub other_values: u64,
}

/// Keys that the server gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyCounts {
    /// Keys in results that were others, and values of statements that were replaced for it.
    pub differed: u64,
    pub replaced: u64,
    /// Why it is not known which columns have keys.
    pub unknown: Option<String>,
}

/// Waits for other sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderCounts {
    pub waited: u64,
    /// Waits that closed a cycle with locks, and were broken.
    pub broken: u64,
    /// Pairs of a statement and another session's commit whose order the recording does not say.
    pub undetermined: u64,
}

/// What came of a statement.
pub(crate) struct Came<'a> {
    pub rows: u64,
    /// `None` where it cannot be compared.
    pub checksum: Option<u64>,
    pub error: Option<&'a Failed>,
}

#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// Statements that were sent, and answered.
    pub sent: u64,
    pub answered: u64,
    /// Due and not sent: no connection, or stopped before.
    pub unsent: u64,
    /// Statements whose connection was lost, or which were given up.
    pub unanswered: u64,
    pub rows: u64,
    pub sessions: u64,
    pub sessions_most: u64,
    pub connections_lost: u64,
    /// Attempts that failed, and the first one's words.
    pub connections_refused: u64,
    pub first_refusal: Option<String>,
    pub lateness: Lateness,
    pub errors: Errors,
    pub answers: Answers,
    pub keys: KeyCounts,
    pub order: OrderCounts,
    pub texts: Vec<TextResult>,
    /// What was left out of the recording, and why.
    pub obstacles: BTreeMap<Obstacle, u64>,
    pub others: u64,
    pub losses: Losses,
    pub length: Duration,
    /// CPU time of the thread that sends.
    pub cpu_us: u64,
    pub is_interrupted: bool,
    by_fingerprint: BTreeMap<u64, u32>,
}

impl Replayed {
    /// The number of a statement's text.
    pub(crate) fn text(&mut self, statement: &Statement) -> u32 {
        if let Some(number) = self.by_fingerprint.get(&statement.text.fingerprint) {
            return *number;
        }
        let is_full = self.texts.len() >= TEXTS_MAX;
        let number = if is_full {
            TEXTS_MAX - 1
        } else {
            let is_last = self.texts.len() == TEXTS_MAX - 1;
            let text = if is_last {
                "(all other statements)".to_owned()
            } else {
                statement.text.readable()
            };
            self.texts.push(TextResult {
                text,
                fingerprint: statement.text.fingerprint,
                statements: 0,
                then: Times::default(),
                now: Times::default(),
                failed: 0,
                other_rows: 0,
                other_values: 0,
                charged_ns: 0,
            });
            self.texts.len() - 1
        } as u32;
        if !is_full {
            self.by_fingerprint
                .insert(statement.text.fingerprint, number);
        }
        number
    }

    /// A statement was sent.
    pub(crate) fn started(&mut self, text: u32, session: u32, waits: Waits, blame: &Blame) {
        self.sent += 1;
        self.texts[text as usize].statements += 1;
        let late_ns = waits.total_ns();
        let lateness = &mut self.lateness;
        lateness.total_ns += late_ns;
        lateness.on_time += u64::from(late_ns <= ON_TIME_NS);
        lateness.times.add(late_ns / 1000);
        lateness.waits.connection_ns += waits.connection_ns;
        lateness.waits.earlier_ns += waits.earlier_ns;
        lateness.waits.order_ns += waits.order_ns;
        lateness.waits.generator_ns += waits.generator_ns;
        for part in blame.parts() {
            match &part.cause {
                Cause::Generator => lateness.generator_ns += part.ns,
                Cause::Connection => lateness.connection_ns += part.ns,
                Cause::Order => lateness.order_ns += part.ns,
                Cause::Slow(slow) => {
                    lateness.slow_ns += part.ns;
                    self.texts[slow.text as usize].charged_ns += part.ns;
                }
            }
        }
        lateness.charge(session, blame);
    }

    /// A statement was answered.
    pub(crate) fn answered(&mut self, slow: &Slow, statement: &Statement, came: &Came<'_>) {
        self.answered += 1;
        self.rows += came.rows;
        let result = &mut self.texts[slow.text as usize];
        result.failed += u64::from(came.error.is_some());
        match (came.error, statement.failed) {
            (None, None) => {
                if let Some(recorded_ns) = slow.recorded_ns {
                    result.then.add(recorded_ns / 1000);
                    result.now.add(slow.took_ns / 1000);
                }
                self.compare(slow.text, statement, came);
            }
            (Some(error), Some(state)) => {
                // Zero bytes: a log that does not say how.
                if state == [0; 5] || error.state.as_bytes() == state {
                    self.errors.same += 1;
                } else {
                    self.errors.other += 1;
                }
            }
            (None, Some(_)) => self.errors.gone += 1,
            (Some(error), None) => {
                let new = &mut self.errors.new;
                let is_known = new.contains_key(&error.state) || new.len() < ERRORS_MAX;
                let state = if is_known { &*error.state } else { "others" };
                let entry = new.entry(state.to_owned());
                entry.or_insert_with(|| (0, error.message.clone())).0 += 1;
            }
        }
    }

    fn compare(&mut self, text: u32, statement: &Statement, came: &Came<'_>) {
        let Some(rows) = statement.rows else {
            return;
        };
        let (answers, result) = (&mut self.answers, &mut self.texts[text as usize]);
        answers.compared += 1;
        if rows != came.rows {
            answers.other_rows += 1;
            result.other_rows += 1;
            return;
        }
        let then = statement
            .wire
            .as_deref()
            .and_then(|wire| wire.result.as_ref());
        if let (Some(then), Some(now)) = (then, came.checksum) {
            let is_other = then.checksum != now;
            answers.values_compared += 1;
            answers.other_values += u64::from(is_other);
            result.other_values += u64::from(is_other);
        }
    }

    /// No more statements of this session come.
    pub(crate) fn session_over(&mut self, session: u32) {
        let ended = self.lateness.charging.remove(&session);
        ended
            .into_iter()
            .flatten()
            .for_each(|worst| self.lateness.keep(worst));
    }

    /// No more statements come.
    pub(crate) fn finish(&mut self) {
        let lateness = &mut self.lateness;
        let ended = std::mem::take(&mut lateness.charging);
        ended
            .into_values()
            .flatten()
            .for_each(|worst| lateness.keep(worst));
    }
}

impl Lateness {
    /// Charges executions with a statement's lateness. Those that it does not wait for any more are over:
    /// what comes later in the session inherits nothing of theirs.
    fn charge(&mut self, session: u32, blame: &Blame) {
        let slow = |part: &Part| match part.cause {
            Cause::Slow(slow) => Some((slow, part.ns)),
            _ => None,
        };
        let parts: Vec<(Slow, Nanos)> = blame.parts().iter().filter_map(slow).collect();
        if parts.is_empty() && !self.charging.contains_key(&session) {
            return;
        }
        let charging = self.charging.entry(session).or_default();
        for (slow, ns) in &parts {
            let known = charging
                .iter()
                .position(|worst| worst.slow.execution == slow.execution);
            let place = known.unwrap_or_else(|| {
                charging.push(Worst {
                    slow: *slow,
                    charged_ns: 0,
                    statements: 0,
                });
                charging.len() - 1
            });
            charging[place].charged_ns += ns;
            charging[place].statements += 1;
        }
        let is_over = |worst: &mut Worst| {
            !parts
                .iter()
                .any(|(slow, _)| slow.execution == worst.slow.execution)
        };
        let over: Vec<Worst> = charging.extract_if(.., is_over).collect();
        if charging.is_empty() {
            self.charging.remove(&session);
        }
        over.into_iter().for_each(|worst| self.keep(worst));
    }

    fn keep(&mut self, worst: Worst) {
        let place = self
            .worst
            .partition_point(|other| other.charged_ns >= worst.charged_ns);
        self.worst.insert(place, worst);
        self.worst.truncate(WORST_MAX);
    }
}
