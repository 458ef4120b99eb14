//! What a recording says of itself: at its beginning where it comes from, at its end what is in it and
//! what is not. JSON, so that a field more breaks no reader.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The first block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    pub format: u32,
    /// The program and its version.
    pub made_by: String,
    /// Names of the files that it was made from, without their folders.
    pub sources: Vec<String>,
    /// What the times are known to, in microseconds.
    pub clock_us: u64,
}

impl About {
    /// Whether it has what only the wire shows: what statements returned, and times to the microsecond.
    pub fn is_of_the_wire(&self) -> bool {
        self.clock_us == 1
    }
}

/// The last block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ending {
    pub statements: u64,
    pub sessions: u64,
    /// Start of the first statement, end of the last one.
    pub begin_us: i64,
    pub end_us: i64,
    /// Statements by database and by user.
    pub databases: BTreeMap<String, u64>,
    pub users: BTreeMap<String, u64>,
    /// What the source could not say, by kind.
    pub unsaid: BTreeMap<String, u64>,
}
