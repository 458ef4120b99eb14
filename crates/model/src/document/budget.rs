//! Where the clients' time went: every client-second in exactly one part.

use serde::Serialize;

/// What a client's time can go into, in the order of a request's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "TimePart"))]
pub enum Part {
    /// Not one of the clients that are to work, where their number moves.
    Rest,
    /// Before the scheduled start of the next transaction.
    Schedule,
    Think,
    /// Making connections, and in pauses before another try.
    Between,
    /// pgdyno works for the client.
    GeneratorCpu,
    /// pgdyno could, and has no CPU, or is at other clients.
    GeneratorWait,
    /// No thread of pgdyno ran: it was stopped, frozen or suspended.
    GeneratorStopped,
    /// On the way there and back, answers that come bit by bit included.
    Wire,
    /// Sent, and no session of the server works on it.
    Queued,
    /// A session is on a CPU.
    ServerCpu,
    /// A session could be, and has no CPU.
    ServerWait,
    /// The SQL layer of a cluster's node is at the statement, beside its key-value requests.
    Sql,
    /// Requests of a statement are on their way between nodes.
    PassedOn,
    /// Requests wait until their node admits them.
    Admission,
    /// Nodes are at key-value requests, with all waits in them that have no part of their own.
    KeyValue,
    /// A session waits for a lock that another transaction holds.
    RowLocks,
    /// A session waits for what the server shares between sessions.
    LightweightLocks,
    /// A session waits for the log, or for a standby.
    Wal,
    /// A commit waits until the message to other nodes and their answers have come.
    Replication,
    /// A session waits for blocks that it reads.
    DataReads,
    /// A session waits for blocks that it writes.
    DataWrites,
    /// A session writes or reads temporary files.
    TemporaryFiles,
    /// A session waits for pages of transaction states.
    Slru,
    /// A session waits for a table to grow.
    Extension,
    /// A session waits for its client to take or to send more.
    ClientIo,
    /// A session waits for other processes of the server.
    Ipc,
    /// A session waits for something else.
    Others,
    NotAttributed,
}

impl Part {
    /// All of them, in their order.
    pub const ALL: [Part; 28] = [
        Part::Rest,
        Part::Schedule,
        Part::Think,
        Part::Between,
        Part::GeneratorCpu,
        Part::GeneratorWait,
        Part::GeneratorStopped,
        Part::Wire,
        Part::Queued,
        Part::ServerCpu,
        Part::ServerWait,
        Part::Sql,
        Part::PassedOn,
        Part::Admission,
        Part::KeyValue,
        Part::RowLocks,
        Part::LightweightLocks,
        Part::Wal,
        Part::Replication,
        Part::DataReads,
        Part::DataWrites,
        Part::TemporaryFiles,
        Part::Slru,
        Part::Extension,
        Part::ClientIo,
        Part::Ipc,
        Part::Others,
        Part::NotAttributed,
    ];

    /// For programs: the same word as in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Part::Rest => "rest",
            Part::Schedule => "schedule",
            Part::Think => "think",
            Part::Between => "between",
            Part::GeneratorCpu => "generator-cpu",
            Part::GeneratorWait => "generator-wait",
            Part::GeneratorStopped => "generator-stopped",
            Part::Wire => "wire",
            Part::Queued => "queued",
            Part::ServerCpu => "server-cpu",
            Part::ServerWait => "server-wait",
            Part::Sql => "sql",
            Part::PassedOn => "passed-on",
            Part::Admission => "admission",
            Part::KeyValue => "key-value",
            Part::RowLocks => "row-locks",
            Part::LightweightLocks => "lightweight-locks",
            Part::Wal => "wal",
            Part::Replication => "replication",
            Part::DataReads => "data-reads",
            Part::DataWrites => "data-writes",
            Part::TemporaryFiles => "temporary-files",
            Part::Slru => "slru",
            Part::Extension => "extension",
            Part::ClientIo => "client-io",
            Part::Ipc => "ipc",
            Part::Others => "others",
            Part::NotAttributed => "not-attributed",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Part::Rest => "Resting, as -c asks for fewer",
            Part::Schedule => "Waiting for the schedule",
            Part::Think => "Think time",
            Part::Between => "Between transactions",
            Part::GeneratorCpu => "Generator on a CPU",
            Part::GeneratorWait => "Generator waiting for a CPU",
            Part::GeneratorStopped => "Generator did not run",
            Part::Wire => "On the wire",
            Part::Queued => "Queued before the server",
            Part::ServerCpu => "Server on a CPU",
            Part::ServerWait => "Server waiting for a CPU",
            Part::Sql => "SQL layer of the nodes",
            Part::PassedOn => "Passed on to other nodes",
            Part::Admission => "Admission control",
            Part::KeyValue => "Key-value requests",
            Part::RowLocks => "Row locks",
            Part::LightweightLocks => "Lightweight locks",
            Part::Wal => "WAL and commit",
            Part::Replication => "Replication between nodes",
            Part::DataReads => "Data reads",
            Part::DataWrites => "Data writes",
            Part::TemporaryFiles => "Temporary files",
            Part::Slru => "SLRU",
            Part::Extension => "Relation extension",
            Part::ClientIo => "Client reads and writes",
            Part::Ipc => "IPC and parallel",
            Part::Others => "Other waits",
            Part::NotAttributed => "Not attributed",
        }
    }
}

/// The clients' time of a trial's measured time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimeBudget {
    pub clients: u64,
    pub elapsed_s: f64,
    /// All of it: what the parts are shares of.
    pub client_seconds: f64,
    /// Blocks of the trial that intervals are over.
    pub blocks: usize,
    /// In the order of a request's way; those that are nothing are left out.
    pub parts: Vec<BudgetPart>,
    pub phases: Vec<BudgetPhase>,
    /// Why the server's parts are not known, where they are not.
    pub unseen: Option<String>,
    /// What the generator itself adds to percentiles; empty where too few transactions were followed.
    pub added: Vec<AddedRow>,
}

impl TimeBudget {
    /// Whether every client worked from the beginning to the end, to half a percent: those that have
    /// ended before the last transaction of another one have no more time that could go anywhere.
    pub fn is_whole(&self) -> bool {
        let all_s = self.clients as f64 * self.elapsed_s;
        (all_s - self.client_seconds).abs() <= 0.005 * all_s
    }
}

/// A part of the clients' time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BudgetPart {
    pub part: Part,
    pub name: String,
    /// Of all of the time, 0 to 1.
    pub share: f64,
    /// 95 % of its mean over blocks; `null` below 2 %, or with fewer than five blocks.
    pub interval: Option<(f64, f64)>,
    pub client_s: f64,
    /// For each committed transaction; `null` without any.
    pub us_per_commit: Option<f64>,
    /// What it is known from.
    pub source: String,
}

/// The parts' shares in a phase of the trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BudgetPhase {
    /// `before`, `checkpoint`, `after`; or halves.
    pub name: String,
    /// When it begins, in microseconds since clients began to work.
    pub from_us: i64,
    pub to_us: i64,
    /// As the parts of the whole.
    pub shares: Vec<f64>,
}

/// What the generator itself adds to a percentile.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AddedRow {
    /// Such as 99; 100 is the longest of all, given where pgdyno itself did not run.
    pub percentile: f64,
    /// So many transactions were followed from their answers' arrival on: these figures are theirs.
    pub followed: u64,
    /// The percentile that they have as they are shown.
    pub shown_us: f64,
    pub adds_us: f64,
    /// The most that it can be.
    pub at_most_us: f64,
    /// The estimate as a share of what is shown, 0 to 1.
    pub share: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_its_place_and_the_same_code_everywhere() {
        for (at, part) in Part::ALL.into_iter().enumerate() {
            assert_eq!(part as usize, at);
            assert_eq!(serde_json::to_value(part).unwrap(), part.code());
        }
    }
}
