//! What every page begins with.

use serde::Serialize;

use super::page::Served;
use super::{FORMAT, Verdict};
use crate::{Note, NoteOfTrials};

/// Fields of a page of any kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Common {
    /// The version of these types. The page refuses what it does not know.
    pub format: u32,
    /// The version of pgdyno that wrote the report.
    pub pgdyno: String,
    /// When the report was written, UTC.
    pub written: String,
    /// Small line above the title: `repeat 2 of 6 in “orders”, trial 7c41e9`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub eyebrow: Option<String>,
    /// What was measured: `tpcb at scale 50, 32 clients, 4,200/s requested`.
    pub title: String,
    /// The line below it, a fact each: server, isolation, query mode, how long, when.
    pub facts: Vec<String>,
    /// The command line that would do it again, or that made this.
    pub command: String,
    /// `null`: no diagnosis was made.
    pub verdict: Option<Verdict>,
    /// What a reader must know before believing it.
    pub notes: Vec<PageNote>,
    /// Only when a server gives the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub served: Option<Served>,
}

impl Common {
    /// A page of this title, written at this time (UTC) by this version of pgdyno: without a verdict
    /// and without notes.
    pub fn new(pgdyno: &str, written: String, title: String, facts: Vec<String>) -> Self {
        Self {
            format: FORMAT,
            pgdyno: pgdyno.to_owned(),
            written,
            eyebrow: None,
            title,
            facts,
            command: String::new(),
            verdict: None,
            notes: Vec::new(),
            served: None,
        }
    }
}

/// A validity note, with what the page adds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "Note"))]
pub struct PageNote {
    #[serde(flatten)]
    pub note: Note,
    /// Headline figures that it affects: goodput, p50, p99, p99.9, retries, failed, client.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    pub figures: Vec<&'static str>,
    /// A bold prefix, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub title: Option<String>,
    /// From when on it holds, in microseconds on the trial's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub from_us: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub to_us: Option<i64>,
}

impl From<NoteOfTrials> for PageNote {
    /// With the trials that have it in its sentence.
    fn from(of: NoteOfTrials) -> Self {
        let trials = pgdyno_spec::text::trials(&of.trials);
        Self::from(Note {
            sentence: format!("{trials}: {}", of.note.sentence),
            ..of.note
        })
    }
}

impl From<Note> for PageNote {
    fn from(note: Note) -> Self {
        Self {
            note,
            figures: Vec::new(),
            title: None,
            from_us: None,
            to_us: None,
        }
    }
}
