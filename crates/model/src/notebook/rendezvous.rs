//! Where the generators of one trial meet: the notebook that they share. Nobody leads: what must happen
//! once is done by whoever says so first, and when he is gone by another.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::TrialHeader;
use crate::{Failure, Outcome};

/// What a generator brings to a meeting.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Names the meeting; `None`: that of the same load which waits for more.
    pub key: Option<String>,
    /// How many generators there are to be.
    pub generators: u32,
    /// What tells the load from others: workload, content of its pack, options.
    pub load_sha256: String,
    /// The whole trial as JSON, with a seed: that of the first to arrive counts.
    pub spec: String,
    /// How old a meeting may be that one without a key joins, in microseconds.
    pub age_max_us: u64,
}

/// A meeting that was joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    /// Its number in the notebook.
    pub number: i64,
    /// Its name.
    pub key: String,
    /// Of the trial that comes of it.
    pub uuid: String,
    /// The trial as the first to arrive brought it.
    pub spec: String,
}

/// What somebody said in a meeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Which generator.
    pub generator: u32,
    /// For the how manieth time.
    pub step: u32,
    /// Further.
    pub text: String,
    /// When, by the notebook's clock, in microseconds since 1970.
    pub at_us: u64,
}

/// What was seen when the clock of a notebook was read: half of the way there and back is how wrong it
/// may be (RFC 5905: the offset of four stamps, of which the server's two are one).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// The notebook's clock minus this host's, in microseconds.
    pub offset_us: i64,
    /// At most so far from the truth.
    pub uncertainty_us: u64,
}

/// A generator's own trial.
#[derive(Debug, Clone)]
pub struct PartRow {
    /// Its number.
    pub number: i64,
    /// Whose.
    pub generator: u32,
    /// The name of its host, when it is known.
    pub host: Option<String>,
    /// Whether its end has arrived.
    pub has_ended: bool,
}

/// A notebook in which generators meet. Every method fails where it cannot be reached.
#[allow(clippy::missing_errors_doc, reason = "said once above")]
pub trait Rendezvous: Send {
    /// What it is called in messages.
    fn place(&self) -> String;

    /// The same by a connection of its own.
    fn again(&self) -> Result<Box<dyn Rendezvous>, Failure>;

    /// Joins the meeting that is meant, or opens it. Refuses another load under the same key.
    fn meet(&mut self, offer: &Offer) -> Result<Meeting, Failure>;

    /// Takes a place, once: that one, or the first that is free. Gives its number.
    fn claim(&mut self, meeting: &Meeting, generators: u32, asked: Option<u32>) -> Result<u32, Failure>;

    /// Says something. Whether nobody has said the same at this step: for what one says for all
    /// (`is_common`), nobody at all, else not this generator.
    fn say(
        &mut self,
        meeting: &Meeting,
        what: &str,
        (step, generator): (u32, u32),
        is_common: bool,
        text: &str,
    ) -> Result<bool, Failure>;

    /// What was said of this, in order of steps and generators.
    fn heard(&mut self, meeting: &Meeting, what: &str) -> Result<Vec<Word>, Failure>;

    /// Its clock, with this host's between whose stamps it was read.
    fn clock(&mut self) -> Result<SystemTime, Failure>;

    /// The number of the trial that comes of a meeting, put into the notebook by the first who asks.
    fn trial(&mut self, meeting: &Meeting, header: &TrialHeader) -> Result<i64, Failure>;

    /// What each generator measured itself, as far as it has arrived.
    fn parts(&mut self, trial: i64) -> Result<Vec<PartRow>, Failure>;

    /// All that is kept of a trial.
    fn outcome(&mut self, trial: i64) -> Result<Outcome, Failure>;

    /// Whether a trial has its end.
    fn has_ended(&mut self, trial: i64) -> Result<bool, Failure>;

    /// Keeps what came of all parts, once; what instruments saw is taken from that part.
    fn end(&mut self, trial: i64, outcome: &Outcome, observed_by: Option<i64>) -> Result<(), Failure>;
}
