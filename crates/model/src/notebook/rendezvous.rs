//! Where the generators of one trial meet: the notebook that they share. There is no leader: what must happen
//! once is done by the first generator to claim it, and when that one is gone by another.

use crate::Outcome;
use pgdyno_spec::Failure;

/// What a generator brings to a meeting.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Names the meeting; `None`: that of the same load which waits for more.
    pub key: Option<String>,
    /// How many generators there are to be.
    pub generators: u32,
    /// What tells the load from others: options, content of the pack or the scripts.
    pub load_sha256: String,
    /// The whole trial as JSON, without secrets, with a seed: that of the first to arrive counts.
    pub spec: String,
    /// How old a meeting may be that one without a key joins, in microseconds.
    pub age_max_us: u64,
}

/// A meeting that was joined. The first four fields are those of the first to arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meeting {
    pub uuid: String,
    pub key: String,
    /// How many generators there are to be.
    pub generators: u32,
    pub load_sha256: String,
    pub spec: String,
    /// When the first came, by the notebook's clock, in microseconds since 1970.
    pub created_us: u64,
}

/// A message of a generator in a meeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// For the how manieth time.
    pub step: u32,
    pub generator: u32,
    /// When, by the notebook's clock, in microseconds since 1970.
    pub at_us: u64,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Each,
    /// By the first generator, for all.
    First,
}

/// A notebook in which generators meet. Every method fails where it cannot be reached. What is written
/// is added and never changed: SELECT and INSERT suffice.
#[allow(clippy::missing_errors_doc, reason = "said once above")]
pub trait Rendezvous: Send {
    /// What it is called in messages.
    fn place(&self) -> String;

    /// The same by a connection of its own.
    fn again(&self) -> Result<Box<dyn Rendezvous>, Failure>;

    /// Its clock, in microseconds since 1970: one question and its answer.
    fn clock_us(&self) -> Result<u64, Failure>;

    /// Joins the meeting that is meant, or opens it.
    fn meet(&self, offer: &Offer, now_us: u64) -> Result<Meeting, Failure>;

    /// Takes a place for a generator on this host: that one, or the first that is free. Gives its number;
    /// `None` when it was taken before.
    fn claim(
        &self,
        meeting: &Meeting,
        host: &str,
        asked: Option<u32>,
    ) -> Result<Option<u32>, Failure>;

    /// Generators that came, with their hosts.
    fn hosts(&self, meeting: &Meeting) -> Result<Vec<(u32, String)>, Failure>;

    /// Says something. False when it was said before at this step: by this generator, or of what one
    /// says for all by one generator.
    fn say(
        &self,
        meeting: &Meeting,
        what: &str,
        whose: Whose,
        word: &Word,
    ) -> Result<bool, Failure>;

    /// What was said of this, in order of steps and generators.
    fn heard(&self, meeting: &Meeting, what: &str) -> Result<Vec<Word>, Failure>;

    /// How often something was said of this.
    fn count(&self, meeting: &Meeting, what: &str) -> Result<u32, Failure>;

    /// The last step at which each generator said this, of those from this step on.
    fn last_steps(
        &self,
        meeting: &Meeting,
        what: &str,
        from: u32,
    ) -> Result<Vec<(u32, u32)>, Failure>;

    /// A trial is this generator's part of a meeting's, or (`None`) what came of all parts: then one that
    /// was said to be that before is removed, for who kept it has died.
    fn keep_part(
        &self,
        meeting: &Meeting,
        trial: i64,
        generator: Option<u32>,
    ) -> Result<(), Failure>;

    /// Which trial is whose part.
    fn parts(&self, meeting: &Meeting) -> Result<Vec<(u32, i64)>, Failure>;

    /// All that is kept of a trial.
    fn outcome(&self, trial: i64) -> Result<Outcome, Failure>;

    /// Puts what instruments saw in one trial into another, too.
    fn copy_observed(&self, from: i64, to: i64) -> Result<(), Failure>;
}
