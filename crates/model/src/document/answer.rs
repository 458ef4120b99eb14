//! The answer to the question that an experiment asked: what its page, the terminal, Markdown and JSON
//! begin with, in the same words and figures.

use serde::Serialize;

use super::Proof;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Answer {
    /// What was asked, in some words: `What was asked: tpcb with 1 to 64 clients`.
    pub question: String,
    /// The answer, one sentence without its full stop. `` `code` `` is between backquotes.
    pub sentence: String,
    pub state: AnswerState,
    /// Whether what was found is harm in itself (lost writes, a broken promise), and not a doubt.
    pub is_harm: bool,
    /// The figures that it rests on, the strongest first.
    pub evidence: Vec<Proof>,
    /// What a reader would else take for granted: `clusters ran serializable, the others read committed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub careful: Option<String>,
    /// Who is ahead where, at a glance.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub ranking: Option<Ranking>,
    /// How sure it is: the answer's own checks.
    pub sure: Vec<Sure>,
    /// What to do next, or what would tell, a sentence each, commands between backquotes.
    #[serde(rename = "try")]
    pub remedies: Vec<String>,
}

/// Who is ahead, within each workload and where all else is equal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Ranking {
    /// `Best at each number of clients`.
    pub title: String,
    /// Where, in words: `8 clients`.
    pub columns: Vec<String>,
    pub rows: Vec<RankingRow>,
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RankingRow {
    pub workload: String,
    /// By column; `null`: fewer than two were measured there.
    pub cells: Vec<Option<RankingCell>>,
}

/// Who is in front at one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RankingCell {
    /// Those that cannot be distinguished, the best first.
    pub names: Vec<String>,
    /// Whether the first of them is surely ahead.
    pub is_sure: bool,
}

/// Whether an answer could be given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum AnswerState {
    #[default]
    Known,
    /// It was measured, and what differs may be chance, time, or something else than what was asked for.
    CannotTell,
    /// Too little was measured to say anything of it.
    NotKnown,
}

/// One check of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Sure {
    pub state: SureState,
    /// What was checked, in a few words without a stop: `Repeats`, `No drift`.
    pub name: String,
    /// What came of it with its figures, without a full stop: `6 of each point`.
    pub text: String,
}

impl Sure {
    pub fn held(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::of(SureState::Held, name, text)
    }

    /// A check that failed: it says what the answer must not be taken for.
    pub fn failed(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::of(SureState::Failed, name, text)
    }

    /// Where what is known ends.
    pub fn limit(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::of(SureState::Limit, name, text)
    }

    fn of(state: SureState, name: impl Into<String>, text: impl Into<String>) -> Self {
        let (name, text) = (name.into(), text.into());
        Self { state, name, text }
    }
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum SureState {
    Held,
    Failed,
    /// ○ what is not known, or holds only so far.
    Limit,
}
