//! The whole of a run, as reports and stores read it.

use std::collections::BTreeMap;
use std::time::SystemTime;

use pgdyno_platform::io::Used;

use super::{
    Activity, Added, ClientReceipts, ClientStall, ClientTime, ClientUnits, EndpointRecord, Event,
    GeneratorStop, Interval, Latencies, Reason, RecordedHistory, ScriptInterval, Second, Slots,
    SlowTransaction, Stall,
};

/// Everything that a run produced; by default, of a run in which nothing happened.
#[derive(Clone, Debug)]
pub struct Recording {
    /// When clients began to work (connections stood).
    pub started: SystemTime,
    /// What was run, in the order that every list by script has.
    pub scripts: Vec<ScriptRecord>,
    /// The operations whose work units were counted, in the order that lists of units have.
    pub operations: Vec<String>,
    /// Warm-up, when there was one: never part of the figures.
    pub warmup: Option<Phase>,
    pub measured: Phase,
    /// Second by second, warm-up included.
    pub seconds: Vec<Second>,
    /// By script and command, over the measured phase. A command that is no SQL statement has its
    /// own execution time.
    pub statements: Vec<Vec<StatementTotals>>,
    /// Why tries failed in the measured phase, most frequent first.
    pub reasons: Vec<Reason>,
    /// Connections made, apart from all latencies.
    pub connections: Connections,
    /// Times without a connection, when clients connect again after a loss. Counted over the whole
    /// run, warm-up included.
    pub outages: Outages,
    /// By server, in the order in which they were named: those that were reached, and those that
    /// an endpoint names while nothing of it was reached.
    pub endpoints: Vec<EndpointRecord>,
    /// What happened to connections, the first [`Recording::EVENTS_MAX`].
    pub events: Vec<Event>,
    /// What the threads of the engine used during the measured phase.
    pub threads: Vec<ThreadUse>,
    /// What the generator itself added to the latencies of the measured phase.
    pub added: Added,
    /// Times in which pgdyno itself did not run, in their order.
    pub generator_stops: Vec<GeneratorStop>,
    /// Times without service within the asked duration, in their order: see [`Stall`]. Those in which pgdyno
    /// itself did not run are none.
    pub stalls: Vec<Stall>,
    /// The longest times in which one client got no commit, the longest first; begun in the measured
    /// phase.
    pub client_stalls: Vec<ClientStall>,
    /// The committed transactions of the measured phase that took longest, the longest first.
    pub worst: Vec<SlowTransaction>,
    /// What became of transactions by the time at which they were to start, and what happened when,
    /// in slots of 100 ms, warm-up included; only where it was asked for ([`crate::Drive::slots`]).
    pub slots: Option<Slots>,
    /// How their sockets were waited for; `None` where it was not recorded.
    pub io: Option<Used>,
    pub clients: ClientsEnd,
    /// What each client did of the operations, by its number; empty where there are none. A warm-up
    /// is in it unless it had connections of its own.
    pub by_client: Vec<ClientUnits>,
    /// What each client knows of its receipts ([`crate::Drive::receipts`]), by its number, over the whole
    /// run; of a trial from the notebook, or without receipts, there are none.
    pub receipts: Vec<ClientReceipts>,
    /// What transactions observed ([`crate::Drive::history_bytes_max`]), warm-up included; of a trial from
    /// the notebook there is none.
    pub history: Option<RecordedHistory>,
    /// How many numbers were drawn from each counter of the scripts, by its name; of a trial from the
    /// notebook it is empty. A warm-up is in it unless it had connections of its own.
    pub drawn: BTreeMap<String, u64>,
    /// Transactions that were booked as committed and rolled back later, with the block that they
    /// shared ([`crate::Commits`]); of a trial from the notebook 0.
    pub undone: u64,
    /// Committed transactions that found no row, of scripts that have this counted
    /// ([`crate::Script::counts_missing`]), warm-up included; of a trial from the notebook 0.
    pub missing_rows: u64,
    /// Transactions that the schedule had for the measured time, as drawn; `None` without a rate or
    /// an asked duration, and of a trial from the notebook.
    pub due: Option<u64>,
    pub end: End,
    /// The invariant that ended it: script, line and the script's own words.
    pub broken_invariant: Option<String>,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            started: SystemTime::UNIX_EPOCH,
            scripts: Vec::new(),
            operations: Vec::new(),
            warmup: None,
            measured: Phase::default(),
            seconds: Vec::new(),
            statements: Vec::new(),
            reasons: Vec::new(),
            connections: Connections::default(),
            outages: Outages::default(),
            endpoints: Vec::new(),
            events: Vec::new(),
            threads: Vec::new(),
            added: Added::default(),
            generator_stops: Vec::new(),
            stalls: Vec::new(),
            client_stalls: Vec::new(),
            worst: Vec::new(),
            slots: None,
            io: None,
            clients: ClientsEnd::default(),
            by_client: Vec::new(),
            receipts: Vec::new(),
            history: None,
            drawn: BTreeMap::new(),
            undone: 0,
            missing_rows: 0,
            due: None,
            end: End::default(),
            broken_invariant: None,
        }
    }
}

impl Recording {
    /// So many events are kept: a thousand clients that lose their server all say the same.
    pub const EVENTS_MAX: usize = 1000;

    /// Adds what another's schedule had.
    pub fn add_due(&mut self, theirs: Option<u64>) {
        self.due = match (self.due, theirs) {
            (Some(mine), Some(theirs)) => Some(mine + theirs),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// CPU time of the engine's threads in the measured phase, in microseconds: user, system.
    pub fn cpu_us(&self) -> (u64, u64) {
        let user_us = self.threads.iter().map(|thread| thread.user_us).sum();
        let system_us = self.threads.iter().map(|thread| thread.system_us).sum();
        (user_us, system_us)
    }

    /// The same for each transaction booked, user and system together; `None` when there is none.
    pub fn cpu_us_per_transaction(&self) -> Option<f64> {
        let booked: u64 = self.measured.scripts.iter().map(|s| s.counts.total()).sum();
        let (user_us, system_us) = self.cpu_us();
        (booked > 0).then(|| (user_us + system_us) as f64 / booked as f64)
    }
}

/// A script that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptRecord {
    pub name: String,
    pub weight: u64,
    pub statements: Vec<StatementRecord>,
}

/// A command of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementRecord {
    pub text: String,
    /// Whether it goes to the server.
    pub is_sql: bool,
}

/// Totals of a stretch of the run.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    /// From its beginning to the end of its last transaction.
    pub elapsed_us: u64,
    pub time: ClientTime,
    pub scripts: Vec<ScriptInterval>,
    /// Of these, what came after the asked duration.
    pub drain: Drain,
}

/// From the end of the asked duration to the end of the last transaction that was under way then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drain {
    pub elapsed_us: u64,
    /// Transactions committed in it, by script; fewer when there are none of the last ones.
    pub committed: Vec<u64>,
}

impl Phase {
    /// Adds the phase's next second.
    pub fn add_second(&mut self, second: &Second) {
        self.elapsed_us += second.length_us;
        self.time.merge(&second.time);
        if second.drain {
            let committed = second.scripts.iter().map(|s| s.counts.committed);
            self.drain.add(second.length_us, committed);
        }
        let count = self.scripts.len().max(second.scripts.len());
        self.scripts.resize_with(count, ScriptInterval::default);
        for (all, script) in self.scripts.iter_mut().zip(&second.scripts) {
            all.merge(&script.unpack());
        }
    }

    pub fn all(&self) -> ScriptInterval {
        let mut all = ScriptInterval::default();
        self.scripts.iter().for_each(|script| all.merge(script));
        all
    }

    /// Without the drain: of a run of so many transactions, all of it.
    pub fn asked_us(&self) -> u64 {
        self.elapsed_us.saturating_sub(self.drain.elapsed_us)
    }

    /// Committed transactions a second of the asked duration, without the drain.
    pub fn goodput_per_s(&self) -> f64 {
        let scripts = 0..self.scripts.len();
        scripts.map(|script| self.goodput_per_s_of(script)).sum()
    }

    /// The same of one script.
    pub fn goodput_per_s_of(&self, script: usize) -> f64 {
        let committed = self.scripts.get(script).map_or(0, |s| s.counts.committed);
        let drained = self.drain.committed.get(script).copied().unwrap_or(0);
        match self.asked_us() {
            0 => 0.0,
            asked_us => committed.saturating_sub(drained) as f64 * 1e6 / asked_us as f64,
        }
    }

    pub fn add(&mut self, interval: &Interval) {
        for (mine, theirs) in self.scripts.iter_mut().zip(&interval.scripts) {
            mine.merge(theirs);
        }
        self.time.merge(&interval.time);
        let elapsed_us = interval.length_ns / 1000;
        self.elapsed_us += elapsed_us;
        if interval.drain {
            let committed = interval.scripts.iter().map(|s| s.counts.committed);
            self.drain.add(elapsed_us, committed);
        }
    }
}

impl Drain {
    /// Adds a stretch of it.
    pub fn add(&mut self, elapsed_us: u64, committed: impl Iterator<Item = u64>) {
        self.elapsed_us += elapsed_us;
        for (script, committed) in committed.enumerate() {
            let count = self.committed.len().max(script + 1);
            self.committed.resize(count, 0);
            self.committed[script] += committed;
        }
    }

    pub fn committed_total(&self) -> u64 {
        self.committed.iter().sum()
    }
}

/// One command over the measured phase.
#[derive(Clone, Debug, Default)]
pub struct StatementTotals {
    /// From sending to the end of the answer; of executions that went well.
    pub latencies: Latencies,
    /// Errors here after which the transaction was tried again.
    pub retries: u64,
    /// Errors here that ended the transaction, after which the client went on.
    pub failures: u64,
    /// Errors here that ended the client.
    pub aborts: u64,
    /// From sending to the end of the answer; of executions with an error. Of a trial from the
    /// notebook there are none.
    pub failed: Latencies,
    /// The same of executions that found no row where the script must find one.
    pub missing: Latencies,
}

#[derive(Clone, Debug, Default)]
pub struct Connections {
    /// From the beginning until all clients were connected; 0 with a connection per transaction.
    pub initial_us: u64,
    /// Each connection, from opening the socket until the server was ready.
    pub latencies: Latencies,
    /// The last closing of each client, in no order. Of a trial from the notebook there is none.
    pub closings: Vec<Closing>,
}

/// How a client closed its connection: the farewell to the server, and the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closing {
    /// When it was closed, in microseconds since clients began to work.
    pub at_us: u64,
    pub latency_us: u64,
}

/// Connections that were lost, or not to be had, and what became of them
/// ([`crate::OnConnectionLoss::Reconnect`]).
#[derive(Clone, Debug, Default)]
pub struct Outages {
    /// How often a client was without a connection.
    pub count: u64,
    /// Each time from the loss until the client was connected again, in microseconds.
    pub lengths: Latencies,
    /// Those that had not ended when the run did.
    pub unended: u64,
    /// Attempts to connect during all outages.
    pub attempts: u64,
    /// How long clients were without a connection while it was measured: the sum over all of them,
    /// in microseconds, those included that had not ended.
    pub measured_us: u64,
}

impl Recording {
    /// Clients that did not rest, on average over the measured time: all of them where their number does
    /// not move.
    pub fn working_clients(&self) -> f64 {
        let rested_us = self.measured.time.at(Activity::Rest) as f64 / 1000.0;
        let rested = match self.measured.elapsed_us {
            0 => 0.0,
            elapsed_us => rested_us / elapsed_us as f64,
        };
        (self.clients.total as f64 - rested).max(0.0)
    }

    /// The share of their time that clients were without a connection while it was measured, 0 to 1;
    /// `None` when no connection was lost.
    pub fn outage_share(&self) -> Option<f64> {
        let all_us = self.working_clients() * self.measured.elapsed_us as f64;
        let lost_us = self.outages.measured_us as f64;
        (all_us > 0.0 && self.outages.count > 0).then(|| (lost_us / all_us).min(1.0))
    }

    /// Whether clients were without their server when the run ended: they ended for it, or still
    /// tried to connect again.
    pub fn has_lost_server(&self) -> bool {
        self.clients.disconnected > 0 || self.outages.unended > 0
    }
}

impl Outages {
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.lengths.merge(&other.lengths);
        self.unended += other.unended;
        self.attempts += other.attempts;
        self.measured_us += other.measured_us;
    }
}

/// What one thread of the engine used in the measured phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUse {
    pub wall_us: u64,
    /// CPU time in user mode.
    pub user_us: u64,
    /// CPU time in the kernel.
    pub system_us: u64,
    /// Time in which it could have run and had no CPU; 0 where the kernel does not report.
    pub waited_us: u64,
    /// How late the event loop was for a deadline, at worst.
    pub lag_max_us: u64,
    /// How late the event loop was for answers and deadlines: the 99th percentile, where at least
    /// ten lie beyond it.
    pub lag_p99_us: Option<u64>,
}

impl ThreadUse {
    /// The share of wall time that the thread was on a CPU, 0 to 1.
    pub fn busy_share(&self) -> f64 {
        self.share(self.user_us + self.system_us)
    }

    /// The share of wall time that the thread was on a CPU or waited for one, 0 to 1. Near 1 the
    /// thread itself was the limit, or the process that took its CPU.
    pub fn wanted_share(&self) -> f64 {
        self.share(self.user_us + self.system_us + self.waited_us)
    }

    /// The share of wall time that the thread could have run and had no CPU, 0 to 1.
    pub fn waited_share(&self) -> f64 {
        self.share(self.waited_us)
    }

    /// What shares of the thread's time are of, in microseconds. It cannot have used more time than
    /// has passed, but the clocks are read one after another: where the parts are more than the wall
    /// time, they are all of it.
    pub fn whole_us(&self) -> u64 {
        let parts_us = self.user_us + self.system_us + self.waited_us;
        self.wall_us.max(parts_us)
    }

    fn share(&self, part_us: u64) -> f64 {
        match self.wall_us {
            0 => 0.0,
            _ => part_us as f64 / self.whole_us() as f64,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientsEnd {
    pub total: usize,
    /// Those that ended before their time, because of an error.
    pub aborted: usize,
    /// Of these, those whose connection broke or could not be made.
    pub disconnected: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It ran to its end.
    #[default]
    Complete,
    /// It has none yet: it was read from its notebook while it ran.
    Running,
    Interrupted,
    /// Every client had ended before its time.
    AllClientsAborted,
    /// A client ended before its time, and the run with it ([`crate::Drive::exit_on_abort`]).
    ClientAborted {
        /// The number of that client's thread.
        thread: usize,
    },
    /// A script found an invariant broken (`\error`), and the run with it.
    InvariantBroken,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_never_busy_for_more_than_all_of_the_time() {
        // Its CPU time was read a moment after the clock.
        let late = ThreadUse {
            wall_us: 1000,
            user_us: 600,
            system_us: 200,
            waited_us: 240,
            ..ThreadUse::default()
        };
        assert_eq!(late.wanted_share(), 1.0);
        assert_eq!(late.busy_share() + late.waited_share(), 1.0);
        let idle = ThreadUse {
            user_us: 300,
            system_us: 0,
            ..late
        };
        assert_eq!((idle.busy_share(), idle.wanted_share()), (0.3, 0.54));
        assert_eq!(ThreadUse::default().busy_share(), 0.0);
    }
}
