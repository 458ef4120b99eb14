//! What was found beside a trial and has no field of its own.

use serde::Serialize;

/// What a companion of the trial found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NamedFinding {
    pub name: String,
    /// The same in words.
    pub text: String,
    /// As it was found: the ends of names are units.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub value: serde_json::Value,
}
