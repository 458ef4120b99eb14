//! Validity notes: what a reader must know before believing a result.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Severity {
    /// Informational; the figures are valid.
    Notice,
    /// The figures are real but easily taken for something they are not.
    Warning,
    /// The figures do not measure what the run was for.
    Serious,
}

impl Severity {
    pub fn word(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Serious => "serious",
        }
    }
}

/// One note. The code is stable: programs may look for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "ValidityNote"))]
pub struct Note {
    pub code: Cow<'static, str>,
    pub severity: Severity,
    /// What is the case, with its figures.
    pub sentence: String,
    /// What to do about it.
    pub remedy: String,
}

/// A note on trials that a table, a comparison or a page is made from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NoteOfTrials {
    /// The first trial's, with its figures.
    #[serde(flatten)]
    pub note: Note,
    /// Numbers of the trials that have it, ascending.
    pub trials: Vec<i64>,
}

impl NoteOfTrials {
    /// `client-bound, trials 3 to 8: pgdyno's busiest thread …`.
    pub fn words(&self) -> String {
        let Note { code, sentence, .. } = &self.note;
        let trials = pgdyno_spec::text::trials(&self.trials);
        format!("{code}, {trials}: {sentence}")
    }
}

/// The measured time was not steady.
pub const DRIFTS: &str = "not-steady";
/// The database does not have what it acknowledged.
pub const LOST_WRITES: &str = "lost-writes";
/// Whether it has could not be found out.
pub const TRUTH_UNKNOWN: &str = "lost-writes-unknown";
/// There were times without service.
pub const STALLED: &str = "stalls";
/// What was measured begins with a warm-up.
pub const WARMUP_MEASURED: &str = "warm-up-measured";
/// A warm-up came to its limit before the trial was steady.
pub const WARMUP_CUT_SHORT: &str = "warm-up-cut-short";

impl Note {
    /// A note with a code of pgdyno's own.
    pub fn new(code: &'static str, severity: Severity, sentence: String, remedy: &str) -> Self {
        Self {
            code: Cow::Borrowed(code),
            severity,
            sentence,
            remedy: remedy.to_owned(),
        }
    }

    /// The first clause of the sentence, a line by itself: which figure is wrong, and by how much. What follows is
    /// detail.
    pub fn headline(&self) -> &str {
        first_clause(&self.sentence)
    }

    /// Whether it says that a trial was not in its steady state.
    pub fn is_of_steadiness(&self) -> bool {
        [DRIFTS, WARMUP_MEASURED, WARMUP_CUT_SHORT].contains(&&*self.code)
    }
}

/// A sentence up to the first colon or semicolon.
pub fn first_clause(sentence: &str) -> &str {
    let ends = [": ", "; "].iter().filter_map(|end| sentence.find(end));
    &sentence[..ends.min().unwrap_or(sentence.len())]
}
