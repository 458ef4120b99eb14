//! The mark that pgdyno leaves on tables and procedures, as their comment: it tells pgdyno's own
//! from all others, and how they were made. Without it nothing is ever dropped.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a comment of pgdyno's begins with; JSON follows.
const PREFIX: &str = "made by pgdyno: ";

/// How a table was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// The pack that describes the table.
    pub pack: String,
    pub state: State,
    /// The parameters that made the tables what they are.
    pub params: BTreeMap<String, String>,
    pub pack_sha256: String,
    pub pgdyno: String,
    /// The experiment that loaded them; none: `pgdyno load`, or a run of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
    /// The files that they were loaded from, each with what it was.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// How far the load came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Begun: set with the table's creation.
    Loading,
    /// Every table filled and counted.
    Complete,
}

impl Mark {
    pub fn comment(&self) -> String {
        comment(self)
    }

    /// Reads a comment; `None` when it is not a mark that this version understands whole.
    pub fn read(comment: &str) -> Option<Mark> {
        read(comment)
    }

    /// Whether both are of the same load, by any command.
    pub fn is_same_load(&self, other: &Mark) -> bool {
        let anyones = |mark: &Mark| Mark {
            experiment: None,
            ..mark.clone()
        };
        anyones(self) == anyones(other)
    }
}

/// The mark on a procedure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcedureMark {
    /// The pack whose scripts call it.
    pub pack: String,
    /// SHA-256 in hexadecimal of the text that created it.
    pub sha256: String,
    pub pgdyno: String,
}

impl ProcedureMark {
    pub fn comment(&self) -> String {
        comment(self)
    }

    /// Reads a comment; `None` when it is not a mark that this version understands whole.
    pub fn read(comment: &str) -> Option<ProcedureMark> {
        read(comment)
    }
}

fn comment(mark: &impl Serialize) -> String {
    // Maps of strings cannot fail to become JSON.
    let json = serde_json::to_string(mark).unwrap_or_default();
    format!("{PREFIX}{json}")
}

fn read<M: DeserializeOwned>(comment: &str) -> Option<M> {
    serde_json::from_str(comment.strip_prefix(PREFIX)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_and_nothing_else_is_taken_for_one() {
        let mark = Mark {
            pack: "tpcb".to_owned(),
            state: State::Loading,
            params: BTreeMap::from([("scale".to_owned(), "3".to_owned())]),
            pack_sha256: "ab".to_owned(),
            pgdyno: "0.1.0".to_owned(),
            experiment: None,
            files: BTreeMap::new(),
        };
        assert_eq!(Mark::read(&mark.comment()), Some(mark.clone()));
        let of_one = Mark {
            experiment: Some("scales".to_owned()),
            ..mark.clone()
        };
        assert_eq!(Mark::read(&of_one.comment()), Some(of_one.clone()));
        assert!(of_one.is_same_load(&mark) && of_one != mark);
        for other in [
            "",
            "a table",
            "made by pgdyno: ",
            "made by pgdyno: {\"pack\":\"x\"}",
        ] {
            assert_eq!(Mark::read(other), None, "{other}");
        }
    }
}
