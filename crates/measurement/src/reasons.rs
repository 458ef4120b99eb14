//! Why tries failed, in the server's words: counted by reason, with one message of each. Everything
//! here happens after an error; nothing of it when all goes well.

use pgdyno_spec::ErrorClass;

/// One reason, over the measured phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What kind of trouble it is.
    pub class: ErrorClass,
    /// What people call it; of an error that no rule knows, its SQLSTATE.
    pub name: String,
    /// The SQLSTATE; empty when there was none.
    pub sqlstate: String,
    /// Tries lost to it after which the transaction was tried again.
    pub retried: u64,
    /// Tries lost to it that were the last of their transaction.
    pub ended: u64,
    /// One of its messages, whole: the first that was seen.
    pub message: String,
}

impl Reason {
    pub fn tries(&self) -> u64 {
        self.retried + self.ended
    }
}

/// Adds one thread's reasons to all, most frequent first.
pub fn merge_reasons(all: &mut Vec<Reason>, more: Vec<Reason>) {
    for reason in more {
        let same = |known: &&mut Reason| {
            (&known.name, &known.sqlstate) == (&reason.name, &reason.sqlstate)
        };
        match all.iter_mut().find(same) {
            Some(known) => {
                known.retried += reason.retried;
                known.ended += reason.ended;
            }
            None => all.push(reason),
        }
    }
    all.sort_by(|a, b| (b.tries(), &a.name).cmp(&(a.tries(), &b.name)));
}
