//! What a page has when a server gives it (`pgdyno serve`) and no file.

use serde::Serialize;

use crate::State;

/// Where a page comes from, and what may be done from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Served {
    /// Where the notebook is, without secrets.
    pub notebook: String,
    /// Whether trials may be tagged, noted, excluded and stopped.
    pub may_change: bool,
    /// The path where changes of this page are sent as server-sent events: `/trial/12/events`; `null`:
    /// nothing will change.
    pub events: Option<String>,
    /// Of a trial that is still running.
    pub live: Option<Live>,
    /// Of a trial that is what one of several generators measured.
    pub part: Option<PartOf>,
    /// Whether the page is of all generators together; `part` then says who they are.
    pub together: bool,
}

/// Which part of a trial of several generators a trial is, and what has become of all parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PartOf {
    /// Which generator's it is, from 0.
    pub generator: u32,
    /// How many generators the trial has.
    pub generators: u32,
    /// The number of the trial that all of them gave; `null`: they have not been added up.
    pub whole: Option<i64>,
    /// Parts that have begun, in the order of their generators; this one is among them.
    pub parts: Vec<GeneratorPart>,
}

/// What one of several generators measures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct GeneratorPart {
    pub generator: u32,
    /// The number of its trial.
    pub trial: i64,
    /// What has become of it.
    pub state: State,
    /// Whether it runs, and nothing was heard of it for so long that it counts as dead.
    pub is_silent: bool,
}

impl GeneratorPart {
    /// Whether its process has ended before its time, as far as is known.
    pub fn has_died(&self) -> bool {
        self.is_silent || matches!(self.state, State::Aborted | State::Failed)
    }

    /// Whether it runs still, as far as is known.
    pub fn goes_on(&self) -> bool {
        self.state == State::Running && !self.has_died()
    }
}

impl PartOf {
    /// The part of each generator: of one that began twice the later one.
    pub fn newest(&self) -> Vec<&GeneratorPart> {
        let mut newest: Vec<&GeneratorPart> = Vec::new();
        for part in &self.parts {
            match newest.last_mut() {
                Some(last) if last.generator == part.generator => *last = part,
                _ => newest.push(part),
            }
        }
        newest
    }

    /// In words: `generator 0 of 2; generator 1 (trial 6) has ended before its time`.
    pub fn words(&self) -> String {
        let others = self
            .parts
            .iter()
            .filter(|part| part.generator != self.generator);
        let died: Vec<&GeneratorPart> = others.filter(|part| part.has_died()).collect();
        let died = have_died(&died, "others ");
        format!("generator {} of {}{died}", self.generator, self.generators)
    }
}

/// `; generator 1 (trial 6) has ended before its time`; nothing of none.
fn have_died(died: &[&GeneratorPart], others: &str) -> String {
    match died {
        [] => String::new(),
        [one] => format!(
            "; generator {} (trial {}) has ended before its time",
            one.generator, one.trial
        ),
        _ => format!("; {} {others}have ended before their time", died.len()),
    }
}

/// A trial that is running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Live {
    /// Its number in the notebook.
    pub number: i64,
    /// Actions are asked for with it.
    pub uuid: String,
    /// Where the last second ended that is known, in microseconds on the clock of its seconds; `null`:
    /// there is none yet.
    pub now_us: Option<u64>,
    /// How long warm-up and measured time take together, in microseconds; `null`: it ends by
    /// transactions.
    pub planned_us: Option<u64>,
    /// Why it cannot be stopped from here, and how else; `null`: it can.
    pub cannot_stop: Option<String>,
    /// For how many seconds nothing has come from it, though something should, in steps of five;
    /// `null`: less than 15 s.
    pub silent_s: Option<u64>,
    /// Whether its process, which ran on this host, has ended without a word.
    pub is_gone: bool,
}
