//! What the engine is to run.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use pgdyno_measurement::{ScriptRecord, StatementRecord};
use pgdyno_platform::io::Choice;
use pgdyno_script::{Names, Slot, Value, sysbench};
use pgdyno_spec::{
    Backoff, ErrorRule, OnConnectionLoss, OnError, OnLastTry, PGBENCH_RULES, Profile, QueryMode,
    Retry, Share, Until,
};
use pgdyno_wire::Candidate;

use crate::endpoints::Newcomers;
use crate::program::{CompileError, Numbers, Program, StatementNames};
use crate::receipts::Receipts;

/// When a client commits what its transactions did in a block that they share: JDBC without
/// autocommit. The first statement outside of a block begins one; an error rolls it back, and with it
/// what was booked as committed ([`pgdyno_measurement::Recording::undone`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commits {
    /// The number of the script that writes.
    pub script: usize,
    /// After so many of its transactions; all that is left is committed when the client has done all
    /// it was asked to.
    pub every: NonZeroU64,
}

/// A compiled script and how often it is chosen.
#[derive(Clone, Debug)]
pub struct Script {
    pub program: Arc<Program>,
    /// Its share among the weights of all scripts.
    pub weight: u64,
    /// The variable that tells, at the end of a committed transaction, how often the server has tried
    /// it again by itself.
    pub server_retries: Option<Slot>,
    /// Where it goes: the number of a role of [`Drive::roles`], from 1; 0: to the endpoints without one.
    pub role: usize,
    /// Whether a transaction has failed, though nothing is undone, when a statement of it says that
    /// it has found, changed or added no row.
    pub must_find: bool,
    /// Whether such transactions are counted ([`pgdyno_measurement::Recording::missing_rows`]), and are committed all
    /// the same.
    pub counts_missing: bool,
}

impl Script {
    /// What there is to say of it before it runs.
    pub fn record(&self) -> ScriptRecord {
        let text = self.program.script();
        let statement = |command: &pgdyno_script::Command| StatementRecord {
            text: command.text.clone(),
            is_sql: matches!(command.op, pgdyno_script::Op::Sql(_)),
        };
        ScriptRecord {
            name: text.name.clone(),
            weight: self.weight,
            statements: text.commands.iter().map(statement).collect(),
        }
    }
}

/// A variable that every client has from the start.
#[derive(Clone, Debug)]
pub enum Setup {
    /// A value of the script language.
    Value(Value),
    /// Text as the user gave it (pgbench's `-D`).
    Text(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptSlots {
    /// What a transaction may take from its scheduled start to count as within the limit.
    pub within: Option<Duration>,
}

/// One run of the engine.
#[derive(Clone, Debug)]
pub struct Drive {
    /// Where client *i* connects: the candidates at `i` modulo the number of endpoints, tried in
    /// order. At least one endpoint with one candidate.
    pub endpoints: Vec<Vec<Candidate>>,
    /// Roles of endpoints: how many of the last of [`Drive::endpoints`] each has, in their order. Those
    /// before them have none. A client has a connection for each role of its scripts.
    pub roles: Vec<usize>,
    /// Endpoints that join while it runs: of the *n* that there are then each takes every *n*th client,
    /// which goes there when it connects again, with [`Drive::comes_back`] between two transactions.
    pub newcomers: Option<Newcomers>,
    /// Whether a client that gets no connection at its own endpoint tries the others: the clients
    /// of one endpoint begin with different ones, so that they spread evenly. Each address is then
    /// given at most ten seconds, or [`Drive::statement_timeout`], unless its candidate says otherwise.
    pub tries_other_endpoints: bool,
    /// Whether a client that is at another endpoint returns to its own, between two transactions, once
    /// that accepts connections again. (With a connection for each transaction it does in any case.)
    pub comes_back: bool,
    pub scripts: Vec<Script>,
    /// The names of all variables of all scripts.
    pub names: Names,
    /// Variables set before the first transaction. Those that a run defines itself (`client_id`,
    /// `random_seed`, `default_seed`) are set unless they stand here.
    pub variables: Vec<(String, Setup)>,
    pub query_mode: QueryMode,
    /// Connections, each with its own client. At least one.
    pub clients: usize,
    /// How many clients work, those of all generators: a number that moves from the end of the warm-up on.
    /// The others rest, connected, between two transactions. Without it all work.
    pub working: Option<Profile>,
    /// Where these clients stand among those of several generators: they have the numbers and the
    /// random numbers that they would have if one generator had all of them.
    pub share: Option<Share>,
    /// Event loops; more than there are clients are not started.
    pub threads: usize,
    /// How their sockets are waited for.
    pub io: Choice,
    /// The CPUs that the event loops' threads are kept on, the first thread on the first; as many as threads at
    /// least. Without it they run where the kernel puts them.
    pub pin: Option<Vec<usize>>,
    /// When the run ends by itself.
    pub until: Until,
    /// Each client has ended after so many transactions even if the time of [`Until::Elapsed`] is not
    /// over then.
    pub transactions_max: Option<NonZeroU64>,
    /// So many clients, the first ones, end after one transaction more: for a total that clients do
    /// not divide.
    pub one_more: usize,
    /// Transactions that failed do not count for these two: another one follows.
    pub counts_committed: bool,
    /// Measured apart, before the figures that count; at most so long, less when
    /// [`crate::Control::end_warmup`] is called in it. `Until` counts from its end.
    pub warmup: Duration,
    /// The warm-up has connections of its own, which end with it: what a server counts of the others
    /// is then of the measured time alone.
    pub warmup_apart: bool,
    /// Transactions a second, over all clients: an open loop. What moves does so from the end of the
    /// warm-up on. Without it each client starts the
    /// next transaction when the last has ended.
    pub rate: Option<Profile>,
    /// A transaction that takes longer is late; with a rate, one that is so late before it starts
    /// is skipped.
    pub latency_limit: Option<Duration>,
    /// What errors of the server mean: which may be tried again, above all. The first that fits
    /// counts.
    pub errors: &'static [ErrorRule],
    /// Every error of the server may be tried again, unless it leaves open what was committed
    /// (YCSB's inserts).
    pub retries_every_error: bool,
    /// A duplicate key (SQLSTATE 23505) may be tried again (sysbench).
    pub retries_duplicates: bool,
    /// How a transaction is tried again.
    pub retry: Retry,
    /// Tries of a transaction, the first included; 0 sets no limit.
    pub max_tries: u32,
    pub backoff: Option<Backoff>,
    /// No try begins so long after the first one of its transaction began.
    pub retry_deadline: Option<Duration>,
    /// A COMMIT that the server answers with ROLLBACK has failed. (pgbench does not look.)
    pub checks_commit: bool,
    /// What to do when the last of them has failed.
    pub on_last_try: OnLastTry,
    /// Forget what pgbench does not count: a transaction whose try fails, but not its client, when the
    /// time is over already; retries of a transaction that ends its client. Otherwise they are booked
    /// like any other.
    pub counts_as_pgbench: bool,
    /// Messages about clients are pgbench's, which count scripts and commands; else they name the script's file
    /// and line.
    pub speaks_as_pgbench: bool,
    /// What to do after other errors.
    pub on_error: OnError,
    /// Each transaction on a connection of its own (pgbench's `--connect`).
    pub connection_per_transaction: bool,
    /// Transactions of a client share blocks, as with a driver that does not commit by itself.
    pub commits: Option<Commits>,
    /// Transactions leave receipts: the statement that has the variable in it writes them
    /// ([`crate::receipts`]).
    pub receipts: Option<Receipts>,
    /// Clients write and read stamps ([`crate::stamps`]): the variable [`crate::stamps::STAMP`].
    pub stamps: Option<Slot>,
    /// What statements do is recorded as a history (`\observe`), up to about so many bytes; transactions that
    /// begin later are not in it then.
    pub history_bytes_max: Option<usize>,
    /// Report each retried error (pgbench's `--verbose-errors`).
    pub verbose_errors: bool,
    /// Hand each measured transaction that ends to [`crate::Live::logged`], or this share of them
    /// (0 to 1), drawn as pgbench's `--sampling-rate` draws it.
    pub log: Option<f64>,
    /// Time every command, also those that only compute (pgbench's `-r`).
    pub time_every_command: bool,
    /// Report every step, as pgbench's `--debug` does, in messages of [`pgdyno_measurement::Level::Trace`].
    pub debug: bool,
    /// End the whole run at once when a client ends before its time.
    pub exit_on_abort: bool,
    /// What to do about lost connections.
    pub on_connection_loss: OnConnectionLoss,
    /// With [`OnConnectionLoss::Reconnect`]: a transaction whose connection was lost before anything was
    /// sent that may commit is tried again when its client is connected again, within
    /// [`Drive::max_tries`] and the other limits of retries.
    pub retries_lost: bool,
    /// Where the random numbers come from: the same seed gives the same transactions.
    pub seed: i64,
    /// Clients draw the numbers of sysbench's threads with this seed.
    pub sysbench_draws: Option<sysbench::Start>,
    /// What each client asks of the server when it has done all it was asked to, before it
    /// disconnects: the server reports its statistics of a session late otherwise. What comes of it
    /// does not matter.
    pub last_statement: Option<String>,
    /// A client that waits longer for the answer to a statement gives its connection up, as if it had been
    /// lost, and has the statement cancelled. Looked at a few times within this time.
    pub statement_timeout: Option<Duration>,
    /// Whether it is kept what became of transactions by the time at which they were to start, in slots
    /// of 100 ms ([`pgdyno_measurement::Slots`]).
    pub slots: Option<KeptSlots>,
    /// How long transactions in flight may take to finish after [`crate::Control::finish`].
    pub grace: Duration,
    /// How long they may take when the time of [`Until::Elapsed`] is over, while their server answers new
    /// connections; clients of one that does not are given up after two seconds in any case.
    pub late_max: Option<Duration>,
}

impl Default for Drive {
    /// pgbench's defaults: one client, ten transactions, one try. There is nothing to run yet, and
    /// nowhere.
    fn default() -> Self {
        Self {
            endpoints: Vec::new(),
            roles: Vec::new(),
            newcomers: None,
            tries_other_endpoints: false,
            comes_back: false,
            scripts: Vec::new(),
            names: Names::new(),
            variables: Vec::new(),
            query_mode: QueryMode::Simple,
            clients: 1,
            working: None,
            share: None,
            threads: 1,
            io: Choice::Auto,
            pin: None,
            until: Until::Transactions(const { NonZeroU64::new(10).unwrap() }),
            transactions_max: None,
            one_more: 0,
            counts_committed: false,
            warmup: Duration::ZERO,
            warmup_apart: false,
            rate: None,
            latency_limit: None,
            statement_timeout: None,
            slots: None,
            errors: PGBENCH_RULES,
            retries_every_error: false,
            retries_duplicates: false,
            retry: Retry::Restart,
            max_tries: 1,
            backoff: None,
            retry_deadline: None,
            checks_commit: false,
            on_last_try: OnLastTry::FailOnly,
            counts_as_pgbench: false,
            speaks_as_pgbench: true,
            on_error: OnError::EndClient,
            connection_per_transaction: false,
            commits: None,
            receipts: None,
            stamps: None,
            history_bytes_max: None,
            verbose_errors: false,
            log: None,
            time_every_command: false,
            debug: false,
            exit_on_abort: false,
            on_connection_loss: OnConnectionLoss::EndClient,
            retries_lost: false,
            seed: 0,
            sysbench_draws: None,
            last_statement: None,
            grace: Duration::from_secs(5),
            late_max: None,
        }
    }
}

impl Drive {
    /// A run of these scripts with the defaults.
    pub fn new(endpoints: Vec<Vec<Candidate>>, scripts: Vec<Script>, names: Names) -> Self {
        Self {
            endpoints,
            scripts,
            names,
            ..Self::default()
        }
    }

    /// The roles of its scripts, in order; a client has a connection for each.
    pub(crate) fn roles_used(&self) -> Vec<usize> {
        let drawn = self.scripts.iter().filter(|script| script.weight > 0);
        let mut roles: Vec<usize> = drawn.map(|script| script.role).collect();
        roles.sort_unstable();
        roles.dedup();
        roles
    }

    /// Whether transactions leave no receipts, and tell of no retries of the server.
    pub(crate) fn is_plain(&self) -> bool {
        let mut scripts = self.scripts.iter();
        self.receipts.is_none() && scripts.all(|script| script.server_retries.is_none())
    }

    /// How many commands each script has.
    pub(crate) fn commands(&self) -> impl Iterator<Item = usize> {
        self.scripts.iter().map(|script| script.program.commands())
    }

    /// What is asked for, where that moves: transactions a second, clients.
    pub(crate) fn moving_loads(&self) -> Vec<&Profile> {
        let loads = [self.rate.as_ref(), self.working.as_ref()].into_iter();
        let moving = |load: &&Profile| load.constant().is_none();
        loads.flatten().filter(moving).collect()
    }

    /// Compiles scripts with their weights, in order; for [`Retry::Savepoint`] with the savepoint's
    /// name.
    ///
    /// # Errors
    /// A script that cannot be sent in this mode, or not be replayed from a savepoint.
    pub fn compile(
        scripts: Vec<(pgdyno_script::Script, u64)>,
        mode: QueryMode,
        savepoint: Option<&str>,
    ) -> Result<Vec<Script>, CompileError> {
        Self::compile_with(scripts, mode, savepoint, StatementNames::Pgbench)
    }

    /// The same, with these names for prepared statements in place of pgbench's.
    ///
    /// # Errors
    /// As [`Drive::compile`].
    pub fn compile_with(
        scripts: Vec<(pgdyno_script::Script, u64)>,
        mode: QueryMode,
        savepoint: Option<&str>,
        names: StatementNames,
    ) -> Result<Vec<Script>, CompileError> {
        let mut numbers = Numbers::new(names);
        let compile = |(script, weight)| {
            let program = Arc::new(Program::compile(script, mode, savepoint, &mut numbers)?);
            Ok(Script {
                program,
                weight,
                server_retries: None,
                role: 0,
                must_find: false,
                counts_missing: false,
            })
        };
        scripts.into_iter().map(compile).collect()
    }
}

/// The operations whose work units the scripts of a run count, in the order that lists of units have.
pub fn operations(scripts: &[Script]) -> Vec<String> {
    let mut operations = Vec::new();
    let programs = scripts.iter().map(|script| &script.program);
    for (number, name) in programs.flat_map(|program| program.operations()) {
        if operations.len() <= number {
            operations.resize(number + 1, String::new());
        }
        name.clone_into(&mut operations[number]);
    }
    operations
}
