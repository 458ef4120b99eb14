//! What a migration did in the middle of a load: its statements, their locks, whom it waited for, who waited for it.

use serde::{Deserialize, Serialize};

/// A migration that was run beside a trial. Times are microseconds since it began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MigrationRun {
    pub file: String,
    /// The tool whose transactions it was run in.
    pub tool: String,
    /// `as-written`, `lock-timeout` or `online`.
    pub form: String,
    /// Whether all of it was committed.
    pub is_done: bool,
    /// How often transactions were begun again because of `lock_timeout`.
    pub retries: u64,
    /// The last `lock_timeout` that was set; `null`: none.
    pub lock_timeout_ms: Option<u64>,
    /// What ended it before; `null`: nothing did.
    pub error: Option<String>,
    /// What of it is left in the database, where that is not all or nothing.
    pub left: Option<String>,
    pub statements: Vec<MigrationStatement>,
    /// Sessions that it waited for.
    pub holders: Vec<MigrationHolder>,
    /// Sessions that waited behind it, the longest first, twenty at most.
    pub victims: Vec<MigrationVictim>,
    /// How many there were.
    pub victims_total: u64,
    /// How many sessions waited behind it, each time when that changed: when, and how many.
    pub queue: Vec<(u64, u64)>,
    /// Standbys that streamed from the server when it began.
    #[serde(default)]
    pub standbys: Vec<MigrationStandby>,
    /// How often the server was asked for that.
    pub polls: u64,
    /// Polls that failed; what failed first.
    pub unseen: Option<String>,
}

/// A statement, at its last try.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MigrationStatement {
    pub file: String,
    pub line: u64,
    pub statement: String,
    pub began_us: u64,
    pub ended_us: u64,
    /// Until when its locks were held: the end of its transaction.
    pub held_until_us: u64,
    /// How long it waited for locks; the last of a transaction at its commit also for a synchronous standby.
    pub waited_us: u64,
    /// Locks on relations that its transaction has had since it: what the statement added.
    pub locks: Vec<MigrationLock>,
    /// Whether they were read at its end; else while it ran, so that short ones may be missing.
    pub locks_are_whole: bool,
    /// Tables and indexes with a new file.
    pub rewritten: Vec<String>,
    /// What the server said of rows that it wrote anew or read, and its notices.
    pub says: Vec<String>,
    /// WAL of the whole server meanwhile, the clients' too; `null`: the server does not say.
    pub wal_bytes: Option<u64>,
    pub error: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MigrationLock {
    pub relation: String,
    /// As SQL has it.
    pub mode: String,
}

/// A session, or a prepared transaction, that had what the migration waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MigrationHolder {
    /// `null`: a prepared transaction.
    pub pid: Option<i32>,
    pub application: String,
    /// `idle in transaction`, `active`, `prepared transaction`, `standby` (the commit waits for it) …
    pub state: String,
    /// Its statement, or the prepared transaction's identifier.
    pub query: String,
    /// How old its transaction was when it was first seen.
    pub transaction_us: Option<u64>,
    /// What the migration waited for: a relation, or another kind of lock.
    pub on: String,
    /// The mode that the migration asked for, as SQL has it.
    pub mode: String,
    pub from_us: u64,
    pub to_us: u64,
}

/// A session that waited behind the migration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MigrationVictim {
    pub pid: i32,
    pub application: String,
    pub query: String,
    pub on: String,
    pub mode: String,
    /// The longest of its waits.
    pub waited_us: u64,
}

/// A standby while the migration ran, and until it had replayed it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MigrationStandby {
    /// Its `application_name`, or of one that `--url` names its place.
    pub name: String,
    /// Most that it had not replayed of what the server had written.
    pub behind_bytes_max: u64,
    /// For how long, at most, it had not replayed something that the server had written; looked at every 100 ms.
    pub behind_us_max: u64,
    /// From the migration's end until it had replayed all of it; `null`: not before the trial was over.
    pub replayed_after_us: Option<u64>,
    /// Queries that its replay cancelled from the migration's begin on (`pg_stat_database_conflicts`); `null`:
    /// `--url` does not name it, so it was not asked.
    pub cancelled: Option<u64>,
    /// Of these, those that were in the way of a replayed lock.
    pub cancelled_by_lock: Option<u64>,
}

impl MigrationRun {
    /// The longest wait behind it.
    pub fn longest_wait_us(&self) -> u64 {
        self.victims
            .iter()
            .map(|it| it.waited_us)
            .max()
            .unwrap_or(0)
    }

    /// When its last transaction was over.
    pub fn ended_us(&self) -> u64 {
        let ends = self.statements.iter().map(|it| it.held_until_us);
        ends.max().unwrap_or(0)
    }

    /// How long it waited for locks.
    pub fn waited_us(&self) -> u64 {
        self.statements.iter().map(|it| it.waited_us).sum()
    }

    /// Most sessions that waited behind it at the same time.
    pub fn queue_max(&self) -> u64 {
        self.queue
            .iter()
            .map(|(_, count)| *count)
            .max()
            .unwrap_or(0)
    }

    /// The holder that it waited for longest.
    pub fn holder(&self) -> Option<&MigrationHolder> {
        self.holders.iter().max_by_key(|it| it.to_us - it.from_us)
    }
}

impl MigrationHolder {
    /// `psql, pid 4711, idle in transaction`.
    pub fn words(&self) -> String {
        let name = if self.application.is_empty() {
            "a session"
        } else {
            &self.application
        };
        match self.pid {
            Some(pid) => format!("{name}, pid {pid}, {}", self.state),
            None => format!("the prepared transaction {}", self.query),
        }
    }
}
