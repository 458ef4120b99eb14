//! The parts of a trial's document beside its figures.

use std::collections::BTreeMap;

use pgdyno_measurement::{EndpointRecord, Recording, StatementRecord, StatementTotals};
use pgdyno_platform::host;
use serde::{Deserialize, Serialize};

use super::{Ceiling, Counts, Facts, Latency, Stall, TargetKind};
use crate::State;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Workload {
    pub name: String,
    /// The pack's content, when it is a pack.
    pub pack_sha256: Option<String>,
    /// Variables that every client started with.
    pub variables: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Target {
    pub title: String,
    pub kind: TargetKind,
    /// What is known about it.
    pub facts: Facts,
}

/// The machine that pgdyno ran on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Host {
    pub name: Option<String>,
    pub kernel: Option<String>,
    /// Model of its first CPU.
    pub cpu_model: Option<String>,
    /// CPUs that pgdyno might use.
    pub cpus: usize,
    pub memory_bytes: Option<u64>,
    /// What its load generator can do, by `pgdyno calibrate --self`; left out where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub ceiling: Option<Ceiling>,
}

impl Host {
    pub fn read() -> Self {
        let host = host::Host::read();
        Self {
            name: host.name,
            kernel: host.kernel,
            cpu_model: host.cpu_model,
            cpus: host.cpus,
            memory_bytes: host.memory_bytes,
            ceiling: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum End {
    Complete,
    Running,
    Interrupted,
    /// A client ended before its time, and the run with it.
    ClientAborted,
    /// Every client had ended before its time.
    AllClientsAborted,
    /// A script found an invariant broken, and the run ended with it.
    InvariantBroken,
}

impl From<pgdyno_measurement::End> for End {
    fn from(end: pgdyno_measurement::End) -> Self {
        match end {
            pgdyno_measurement::End::Complete => Self::Complete,
            pgdyno_measurement::End::Running => Self::Running,
            pgdyno_measurement::End::Interrupted => Self::Interrupted,
            pgdyno_measurement::End::ClientAborted { .. } => Self::ClientAborted,
            pgdyno_measurement::End::AllClientsAborted => Self::AllClientsAborted,
            pgdyno_measurement::End::InvariantBroken => Self::InvariantBroken,
        }
    }
}

/// The commands of a script.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ScriptStatements {
    pub script: String,
    pub commands: Vec<Statement>,
}

/// A command of a script, over the measured time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Statement {
    /// Its number in the script.
    pub command: usize,
    pub text: String,
    /// Whether it goes to the server.
    pub is_sql: bool,
    /// From sending to the end of the answer; of executions that went well. Within a pipeline only
    /// their number: the answer comes with its end.
    pub latency: Latency,
    /// Errors here after which the transaction was tried again.
    pub retries: u64,
    /// Errors here that ended the transaction.
    pub failures: u64,
}

impl Statement {
    fn of(command: usize, record: &StatementRecord, totals: &StatementTotals) -> Self {
        Self {
            command,
            text: record.text.clone(),
            is_sql: record.is_sql,
            latency: Latency::from(&totals.latencies),
            retries: totals.retries,
            failures: totals.failures + totals.aborts,
        }
    }
}

/// By command of a script, whether it is sent within a pipeline: its answer comes with
/// `\endpipeline`, so that it has no latency of its own.
pub fn in_pipeline(statements: &[StatementRecord]) -> Vec<bool> {
    let mut is_within = false;
    let of = |statement: &StatementRecord| {
        match statement.text.trim() {
            "\\startpipeline" => is_within = true,
            "\\endpipeline" => is_within = false,
            _ => return is_within && statement.is_sql,
        }
        false
    };
    statements.iter().map(of).collect()
}

impl ScriptStatements {
    pub fn all(recording: &Recording) -> Vec<Self> {
        let by_script = recording.scripts.iter().zip(&recording.statements);
        let by_script = by_script.map(|(record, totals)| {
            let pipelined = in_pipeline(&record.statements);
            let commands = record.statements.iter().zip(totals).enumerate();
            let commands = commands.map(|(at, (record, totals))| {
                let mut statement = Statement::of(at, record, totals);
                if pipelined[at] {
                    statement.latency = Latency {
                        count: statement.latency.count,
                        ..Latency::default()
                    };
                }
                statement
            });
            Self {
                script: record.name.clone(),
                commands: commands.collect(),
            }
        });
        by_script.collect()
    }
}

/// Connections made, apart from all latencies.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Connections {
    /// Until all clients were connected; 0 with a connection per transaction.
    pub initial_us: u64,
    pub latency: Latency,
}

impl From<&pgdyno_measurement::Connections> for Connections {
    fn from(connections: &pgdyno_measurement::Connections) -> Self {
        Self {
            initial_us: connections.initial_us,
            latency: Latency::from(&connections.latencies),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Outages {
    /// How often a client was without a connection.
    pub count: u64,
    /// Each from the loss until the client was connected again.
    pub length: Latency,
    /// Those that had not ended when the run did.
    pub unended: u64,
    /// Attempts to connect during all of them.
    pub attempts: u64,
    /// The share of their time that clients were without a connection while it was measured, 0 to 1.
    pub share: Option<f64>,
    /// Committed transactions a second of the time that clients were connected: goodput, divided by
    /// the rest of the share.
    pub connected_goodput_per_s: Option<f64>,
}

impl From<&Recording> for Outages {
    fn from(recording: &Recording) -> Self {
        let outages = &recording.outages;
        let share = recording.outage_share();
        let goodput_per_s = recording.measured.goodput_per_s();
        Self {
            share,
            connected_goodput_per_s: share
                .filter(|share| *share < 1.0)
                .map(|share| goodput_per_s / (1.0 - share)),
            count: outages.count,
            length: Latency::from(&outages.lengths),
            unended: outages.unended,
            attempts: outages.attempts,
        }
    }
}

/// A server that clients connected to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Endpoint {
    /// `host:port`, or the path of a Unix socket.
    pub name: String,
    /// The position of its node, where the cluster tells.
    pub locality: Option<String>,
    /// The part of its node in the cluster, as its nodes have it.
    pub role: Option<String>,
    /// Clients that try it first.
    pub clients: u64,
    /// Connections made there; like the three below over the whole run.
    pub connections: u64,
    /// Connections to it that broke.
    pub lost: u64,
    /// How often a client came here from another endpoint.
    pub arrived: u64,
    /// How often a client of this endpoint came back to it; among those that arrived.
    pub returned: u64,
    /// Transactions of the measured time, all scripts together.
    #[serde(flatten)]
    pub counts: Counts,
    pub service: Latency,
    pub response: Option<Latency>,
    /// Times in which nothing was committed there, a second or longer; only where there are several
    /// endpoints.
    pub stalls: Vec<Stall>,
}

impl From<&EndpointRecord> for Endpoint {
    fn from(endpoint: &EndpointRecord) -> Self {
        Self {
            name: endpoint.name.clone(),
            locality: None,
            role: None,
            clients: endpoint.clients,
            connections: endpoint.connections,
            lost: endpoint.lost,
            arrived: endpoint.arrived,
            returned: endpoint.returned,
            counts: Counts::from(&endpoint.counts),
            service: Latency::from(&endpoint.service),
            response: endpoint.response.as_ref().map(Latency::from),
            stalls: Stall::at(endpoint),
        }
    }
}

/// Something that happened to a connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConnectionEvent {
    /// When, in microseconds since clients began to work; 0: before.
    pub at_us: u64,
    /// `outage`, `reconnected`, `moved`, `returned`, `endpoint-down`, `endpoint-up`, `without-tls`, `server-replaced`.
    pub kind: String,
    pub text: String,
}

impl From<&pgdyno_measurement::Event> for ConnectionEvent {
    fn from(event: &pgdyno_measurement::Event) -> Self {
        Self {
            at_us: event.at_us,
            kind: event.kind.word().to_owned(),
            text: event.text.clone(),
        }
    }
}

/// One of the committed transactions that took longest.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SlowTransaction {
    pub script: Option<String>,
    /// The number of its client.
    pub client: usize,
    /// When it ended, in microseconds since clients began to work.
    pub ended_us: u64,
    /// How long it took; from the scheduled start where there is a rate.
    pub latency_us: u64,
}

impl SlowTransaction {
    pub fn all(recording: &Recording) -> Vec<Self> {
        let worst = recording.worst.iter();
        worst
            .map(|slow| Self {
                script: recording.scripts.get(slow.script).map(|s| s.name.clone()),
                client: slow.client,
                ended_us: slow.ended_us,
                latency_us: slow.latency_us,
            })
            .collect()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Clients {
    pub total: usize,
    /// Those that ended before their time, because of an error.
    pub aborted: usize,
    /// Of these, those whose connection broke or could not be made.
    pub disconnected: usize,
}

impl From<&pgdyno_measurement::ClientsEnd> for Clients {
    fn from(clients: &pgdyno_measurement::ClientsEnd) -> Self {
        Self {
            total: clients.total,
            aborted: clients.aborted,
            disconnected: clients.disconnected,
        }
    }
}

/// What pgdyno itself used in the measured time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientCpu {
    /// CPU time in user mode, all threads.
    pub user_us: u64,
    /// CPU time in the kernel.
    pub system_us: u64,
    /// Both for each transaction booked.
    pub us_per_transaction: Option<f64>,
    /// How sockets were waited for: `io_uring`, `epoll`; `null` in trials kept before it was known.
    pub io: Option<String>,
    /// Where io_uring was looked for without success: why.
    pub why_not_io_uring: Option<String>,
    /// By thread, the CPU that `--pin` kept it on; without that left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<usize>>"))]
    pub pinned_cpus: Vec<usize>,
    pub threads: Vec<ClientThread>,
}

/// What one thread of pgdyno used.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientThread {
    pub wall_us: u64,
    /// CPU time in user mode.
    pub user_us: u64,
    /// CPU time in the kernel.
    pub system_us: u64,
    /// Time in which it could have run and had no CPU.
    pub waited_us: u64,
    /// Share of wall time on a CPU.
    pub busy_share: f64,
    /// Share of wall time on a CPU or waiting for one.
    pub wanted_share: f64,
    /// Share of wall time waiting for one.
    pub waited_share: f64,
    /// How late the event loop was for a deadline, at worst.
    pub deadline_lag_max_us: u64,
    /// How late it was for answers and deadlines, the 99th percentile; `null` where too few say.
    pub event_loop_lag_p99_us: Option<u64>,
}

impl From<&Recording> for ClientCpu {
    fn from(recording: &Recording) -> Self {
        let (user_us, system_us) = recording.cpu_us();
        let io = recording.io.as_ref();
        let threads = recording.threads.iter().map(|thread| ClientThread {
            wall_us: thread.wall_us,
            user_us: thread.user_us,
            system_us: thread.system_us,
            waited_us: thread.waited_us,
            busy_share: thread.busy_share(),
            wanted_share: thread.wanted_share(),
            waited_share: thread.waited_share(),
            deadline_lag_max_us: thread.lag_max_us,
            event_loop_lag_p99_us: thread.lag_p99_us,
        });
        Self {
            user_us,
            system_us,
            us_per_transaction: recording.cpu_us_per_transaction(),
            io: io.map(|io| io.backend.name().to_owned()),
            why_not_io_uring: io.and_then(|io| io.why_not_uring.clone()),
            pinned_cpus: io.map_or_else(Vec::new, |io| io.pinned_cpus.clone()),
            threads: threads.collect(),
        }
    }
}

/// What the notebook knows of a trial beside its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Stored {
    pub number: i64,
    pub uuid: String,
    pub state: State,
    /// Why it did not end.
    pub reason: Option<String>,
    pub ended: Option<String>,
    /// The name of its experiment.
    pub experiment: Option<String>,
    /// Its place in the order of that.
    pub position: Option<u32>,
    #[cfg_attr(test, ts(type = "unknown"))]
    pub point: Option<serde_json::Value>,
    /// Which repeat of its point.
    pub repeat: Option<u32>,
    pub tags: Vec<String>,
    /// A note given by people.
    pub note: Option<String>,
    /// Why it does not count.
    pub excluded: Option<String>,
    pub command: String,
    /// The version of pgdyno that ran it.
    pub pgdyno: String,
}
