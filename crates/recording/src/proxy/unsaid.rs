//! What a recording from the wire does not have, by kind.

use std::collections::BTreeMap;

pub const LOST: &str = "sessions that could not be followed to their end";
pub const REPLICATION: &str = "sessions of replication";
pub const CALLS: &str = "calls of the fastpath protocol (large objects)";
pub const NO_END: &str = "ends of statements that were under way at the end";
pub const REFUSED: &str = "logins that the server refused";
pub const OPEN: &str = "ends of sessions that were open at the end";

#[derive(Debug, Default)]
pub struct Unsaid(BTreeMap<&'static str, u64>);

impl Unsaid {
    pub fn add(&mut self, kind: &'static str) {
        *self.0.entry(kind).or_default() += 1;
    }

    pub fn by_kind(self) -> BTreeMap<String, u64> {
        let counts = self.0.into_iter();
        counts
            .map(|(kind, count)| (kind.to_owned(), count))
            .collect()
    }
}
