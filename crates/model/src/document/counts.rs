//! How transactions ended, and what their tries cost.

use std::collections::BTreeMap;

use serde::Serialize;

/// Transactions by how they ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Counts {
    pub committed: u64,
    /// Ended badly: certainly not committed.
    pub failed: u64,
    /// The same by SQLSTATE, or a word.
    pub failed_by_class: BTreeMap<String, u64>,
    /// Never started: already later than the latency limit.
    pub skipped: u64,
    pub unknown: u64,
    /// Committed, but later than the latency limit.
    pub late: u64,
    /// Tries beyond the first, of all transactions.
    pub retries: u64,
    /// Transactions that were tried more than once.
    pub retried: u64,
}

impl Counts {
    pub fn total(&self) -> u64 {
        self.committed + self.failed + self.skipped + self.unknown
    }
}

impl From<&pgdyno_measurement::Counts> for Counts {
    fn from(counts: &pgdyno_measurement::Counts) -> Self {
        let by_class = counts.failed.iter();
        Self {
            committed: counts.committed,
            failed: counts.failed_total(),
            failed_by_class: by_class
                .map(|(failure, number)| (failure.code().to_owned(), *number))
                .collect(),
            skipped: counts.skipped,
            unknown: counts.unknown,
            late: counts.late,
            retries: counts.retries,
            retried: counts.retried,
        }
    }
}

/// What tries cost: those that were committed, and those that were thrown away.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Work {
    /// Time in tries that were committed, in microseconds.
    pub kept_us: u64,
    pub kept_statements: u64,
    /// Tries that failed, whether another followed or not.
    pub lost_tries: u64,
    /// Time in them until they were rolled back, in microseconds.
    pub lost_us: u64,
    pub lost_statements: u64,
    /// The share of the time in tries that was thrown away, 0 to 1; `null` without any.
    pub lost_time_share: Option<f64>,
    /// The share of statements that were thrown away, 0 to 1; `null` without any.
    pub lost_statement_share: Option<f64>,
    /// Pauses between tries, in microseconds: in no other figure here.
    pub backoff_us: u64,
    /// Transactions that failed with an error that might be tried again, after their last try.
    pub given_up: u64,
    /// Those that would have been tried again, had the trial not been over.
    pub cut_off: u64,
    /// Retries that the server made itself, as committed transactions report.
    pub server_retries: u64,
}

impl From<&pgdyno_measurement::Work> for Work {
    fn from(work: &pgdyno_measurement::Work) -> Self {
        Self {
            kept_us: work.kept_us,
            kept_statements: work.kept_statements,
            lost_tries: work.lost_tries,
            lost_us: work.lost_us,
            lost_statements: work.lost_statements,
            lost_time_share: work.lost_time_share(),
            lost_statement_share: work.lost_statement_share(),
            backoff_us: work.backoff_us,
            given_up: work.given_up,
            cut_off: work.cut_off,
            server_retries: work.server_retries,
        }
    }
}

/// Why tries of the measured time failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Reason {
    /// What kind of trouble it is.
    pub class: String,
    /// What people call it; of an error that no rule knows, its SQLSTATE.
    pub reason: String,
    /// The SQLSTATE; `null` when there was none.
    pub sqlstate: Option<String>,
    pub tries: u64,
    /// Of these, those after which the transaction was tried again.
    pub tries_retried: u64,
    /// Of these, those that were the last of their transaction.
    pub tries_ended: u64,
    /// One of its messages, whole: the first that was seen.
    pub message: String,
    /// The statement it mostly came to. Not recorded yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub statement: Option<String>,
}

impl From<&pgdyno_measurement::Reason> for Reason {
    fn from(reason: &pgdyno_measurement::Reason) -> Self {
        let sqlstate = Some(&reason.sqlstate).filter(|code| !code.is_empty());
        Self {
            class: reason.class.name().to_owned(),
            reason: reason.name.clone(),
            sqlstate: sqlstate.cloned(),
            tries: reason.tries(),
            tries_retried: reason.retried,
            tries_ended: reason.ended,
            message: reason.message.clone(),
            statement: None,
        }
    }
}
