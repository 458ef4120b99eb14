//! One measured run: what it is, and running it.

use std::num::NonZeroU64;
use std::time::{SystemTime, UNIX_EPOCH};

use pgdyno_drive::{
    Control, Drive, DriveError, OnConnectionLoss, QueryMode, Recording, Retry, Script, Setup, Until,
};
use pgdyno_platform::host::Host;
use pgdyno_platform::limits;
use pgdyno_script::{Language, Names, Slot};
use pgdyno_wire::{Candidate, shuffle};

use super::account;
use super::emitter::Emitter;
use super::isolation::Isolation;
use super::prepare::Prepared;
use super::touched::Touched;
use super::warmup;
use crate::accounting::Accounting;
use crate::observe::host::ThreadLags;
use crate::observe::{self, Scene};
use crate::target::counters::{self, ServerCounters};
use crate::target::dialect::RESTART_SAVEPOINT;
use crate::target::facts::Facts;
use crate::target::open::{Target, Wanted};
use crate::workload::mix::WeightedScript;
use pgdyno_model::event::Title;
use pgdyno_model::observed::Observed;
use pgdyno_model::{Exit, Fact, Failure, Note, Observer, Observers};

/// What one run is to be.
#[derive(Debug, Clone)]
pub struct Trial {
    /// A workload's name or folder, or script files with weights.
    pub workload: Vec<String>,
    /// One of the workload's mixes.
    pub mix: Option<String>,
    /// `NAME=VALUE` each.
    pub params: Vec<String>,
    /// How statements are to travel; `None`: as the workload needs it, else simple.
    pub query_mode: Option<QueryMode>,
    /// Where the database is.
    pub target: Wanted,
    /// The isolation level asked for; none: what the server has by default.
    pub isolation: Option<Isolation>,
    /// Have the server fail transactions on purpose, so that a retry policy can be seen at work.
    pub inject_retries: bool,
    /// How it is driven: clients, pace, length, what follows errors. Its endpoints, scripts,
    /// variables and query mode are those of the target and the workload, filled in when it runs.
    pub drive: Drive,
    /// Whether the warm-up ends when the trial is steady; its time in `drive` is the limit then.
    pub detects_warmup: bool,
    /// What is observed beside it.
    pub observe: observe::Asked,
}

/// What a trial came to.
pub struct Outcome {
    /// The trial.
    pub trial: Trial,
    /// The workload's name.
    pub workload: String,
    /// The pack's content, when it is a pack.
    pub pack_sha256: Option<String>,
    /// Variables that every client started with.
    pub variables: Vec<(String, String)>,
    /// Threads that ran.
    pub threads: usize,
    /// Where it ran, for people.
    pub target: String,
    /// Whose server that is.
    pub target_kind: crate::target::open::Kind,
    /// What is known about the server.
    pub facts: Facts,
    /// What the server counted of restarts itself.
    pub server_counters: Fact<ServerCounters>,
    /// The host that pgdyno ran on.
    pub host: Host,
    /// What was measured.
    pub recording: Recording,
    /// What its draws came to, where scripts say which rows they are about.
    pub touched: Option<Touched>,
    /// What the storage layer did, where the workload is about that.
    pub accounting: Option<Accounting>,
    /// How the warm-up ended, where that was to be found.
    pub warmup_ended: Option<warmup::Ended>,
    /// What instruments saw.
    pub observed: Observed,
    /// What a reader must know.
    pub notes: Vec<Note>,
}

impl Trial {
    /// Runs what was prepared.
    ///
    /// # Errors
    /// As [`Trial::measure`], put as the user of a native verb sees it.
    pub fn run(
        self,
        prepared: &Prepared,
        control: &Control,
        observer: &mut dyn Observer<Outcome>,
    ) -> Result<Outcome, Failure> {
        let dialect = prepared.product.dialect;
        let counters = counters::before(&prepared.target, &prepared.facts.reached, dialect);
        let measured = match account::is_due(prepared) {
            true => account::measure(self, prepared, control, observer),
            false => self.measure(prepared, control, observer),
        };
        let mut outcome = measured.map_err(|error| explain(&error, prepared))?;
        let recording = &outcome.recording;
        let all_went_well = recording.reasons.is_empty()
            && recording.warmup.is_none()
            && recording.clients.aborted == 0;
        outcome.server_counters = counters.after(dialect, all_went_well);
        Ok(outcome)
    }

    /// Runs what was prepared.
    ///
    /// # Errors
    /// Clients that cannot connect: nothing was measured then.
    pub fn measure(
        mut self,
        prepared: &Prepared,
        control: &Control,
        observer: &mut dyn Observer<Outcome>,
    ) -> Result<Outcome, DriveError> {
        self.drive.query_mode = prepared.query_mode();
        let host = Host::read();
        // Where it cannot be raised, connecting says which client had no descriptor.
        let _ = limits::raise_open_files();
        let drive = self.drive(prepared)?;
        let mut lags = ThreadLags::default();
        let instruments = self.observe.instruments(&Scene {
            target: &prepared.target,
            product: &prepared.product,
            facts: &prepared.facts,
            clients: self.drive.clients,
            disks: &self.observe.disks,
            lags: &lags,
        });
        let mut watch = warmup::Watch::new(&self, control);
        let mut board = self.observe.board.as_deref();
        // The warm-up's end is found first, so that no other observer delays it. Then come those of
        // the caller: the notebook before the screen. The lags of a second are left for their
        // instrument when all others have seen it.
        let observers = Observers::new([&mut watch, observer, &mut board, &mut lags]);
        let emitter = Emitter::start(&self.title(prepared), instruments, control, observers);
        let (recording, observed) = emitter.run(&drive, control)?;
        let warmup_ended = watch.ended(&recording.measured);
        let notes = prepared.notes(Some(&recording), warmup_ended, Some(&observed));
        let touched = Touched::by(prepared, &recording, self.drive.seed);
        Ok(Outcome {
            workload: prepared.workload.name.clone(),
            pack_sha256: prepared
                .workload
                .pack
                .as_ref()
                .map(|pack| pack.content_hash()),
            variables: prepared.variables.clone().into_iter().collect(),
            threads: recording.threads.len(),
            target: prepared.target.title.clone(),
            target_kind: prepared.target.kind,
            facts: prepared.facts.clone(),
            server_counters: Fact::Unseen("nobody asked".to_owned()),
            host,
            recording,
            touched,
            accounting: None,
            warmup_ended,
            observed,
            notes,
            trial: self,
        })
    }

    /// As observers see it before it runs.
    fn title(&self, prepared: &Prepared) -> Title {
        let scripts = prepared.scripts.iter();
        Title {
            workload: prepared.workload.name.clone(),
            target: prepared.target.title.clone(),
            clients: self.drive.clients,
            scripts: scripts
                .map(|script| script.program.script().name.clone())
                .collect(),
            warmup: self.drive.warmup,
            until: self.drive.until,
        }
    }

    fn drive(&self, prepared: &Prepared) -> Result<Drive, DriveError> {
        let target = &prepared.target;
        let reconnects = self.drive.on_connection_loss == OnConnectionLoss::Reconnect;
        Ok(Drive {
            endpoints: self.endpoints(&self.target_of_clients(prepared)),
            io: super::io::asked(self.drive.io).map_err(DriveError::Invalid)?,
            // Clients with an order of their own have all hosts in it.
            tries_other_endpoints: reconnects
                && !target.load_balances
                && target.endpoints.len() > 1,
            errors: prepared.errors,
            scripts: prepared.scripts.clone(),
            names: prepared.names.clone(),
            variables: self.variables(prepared),
            last_statement: self.last_statement(prepared),
            ..self.drive.clone()
        })
    }

    /// What every client begins with: the workload's variables, and for packs how many clients there
    /// are.
    fn variables(&self, prepared: &Prepared) -> Vec<(String, Setup)> {
        let text = |(name, value): (&String, &String)| (name.clone(), Setup::Text(value.clone()));
        let mut variables: Vec<_> = prepared.variables.iter().map(text).collect();
        if prepared.workload.pack.is_some() && !prepared.variables.contains_key("clients") {
            let clients = self.drive.clients.to_string();
            variables.push(("clients".to_owned(), Setup::Text(clients)));
        }
        variables
    }

    /// For workloads about the server's counters: read after the trial, they have all of it in them
    /// then.
    fn last_statement(&self, prepared: &Prepared) -> Option<String> {
        let pack = prepared.workload.pack.as_ref();
        pack.filter(|pack| pack.manifest.flushes_statistics)?;
        let (statement, since) = prepared.product.dialect.flush_statistics?;
        let is_there = prepared.product.known && prepared.product.is_since(since);
        is_there.then(|| statement.to_owned())
    }

    /// The target as clients see it: what only concerns them is in their sessions alone.
    fn target_of_clients(&self, prepared: &Prepared) -> Target {
        match (
            &prepared.product.dialect.retries.inject,
            self.inject_retries,
        ) {
            (Ok(inject), true) => {
                let setting = (inject.setting.to_owned(), "true".to_owned());
                prepared
                    .target
                    .with_settings(prepared.product.dialect, &[setting].into())
            }
            _ => prepared.target.clone(),
        }
    }

    /// Those of the target, or for each client a list in an order of its own.
    fn endpoints(&self, target: &Target) -> Vec<Vec<Candidate>> {
        let endpoints = target.endpoints.iter();
        let candidates = endpoints.map(|endpoint| &endpoint.candidates);
        if !target.load_balances {
            return candidates.cloned().collect();
        }
        let dealt = (0..self.drive.clients as u64).zip(candidates.cycle());
        let order = |(client, list): (u64, &Vec<Candidate>)| {
            shuffle(list, (self.drive.seed as u64).wrapping_add(client))
        };
        dealt.map(order).collect()
    }
}

/// What a native verb's drive begins with: pgbench's defaults, but for what pgbench does not look at.
pub fn native_drive() -> Drive {
    Drive {
        checks_commit: true,
        ..Drive::default()
    }
}

/// Makes the scripts ready to be run, with the names of their variables.
///
/// # Errors
/// A script with an error, told with its file, or one that cannot be sent in this mode or retried in
/// this way.
pub fn compile(
    scripts: &[WeightedScript],
    mode: QueryMode,
    retry: Retry,
) -> Result<(Vec<Script>, Names), Failure> {
    let mut names = Names::new();
    let mut parsed = Vec::new();
    for script in scripts {
        let text = Language::Pgdyno.parse(&script.file, &script.text, &mut names);
        let mut text = text.map_err(|error| Failure::new(error.to_string()))?;
        // Mistakes are told by file, results by name.
        text.name.clone_from(&script.name);
        parsed.push((text, u64::from(script.weight)));
    }
    // Where nothing but the server's answer speaks of it, the script does not have it yet.
    let told = scripts.iter().map(|script| script.retries.as_deref());
    let told: Vec<Option<Slot>> = told
        .map(|name| name.map(|name| names.intern(name)))
        .collect();
    let savepoint = (retry == Retry::Savepoint).then_some(RESTART_SAVEPOINT);
    let compiled = Drive::compile(parsed, mode, savepoint);
    let mut compiled = compiled.map_err(|error| Failure::new(error.to_string()))?;
    for ((script, told), text) in compiled.iter_mut().zip(told).zip(scripts) {
        script.server_retries = told;
        script.must_find = text.must_find;
    }
    Ok((compiled, names))
}

/// A failure of the engine as the user of a native verb sees it.
pub fn explain(error: &DriveError, prepared: &Prepared) -> Failure {
    match error {
        DriveError::Connect { .. } => {
            let failure = Failure::with(Exit::Connection, error.to_string());
            match prepared.facts.max_connections.seen() {
                Some(max) if error.to_string().contains("too many clients") => failure.hint(
                    format!("max_connections is {max}: use fewer clients, or raise it"),
                ),
                _ => failure,
            }
        }
        DriveError::Interrupted => Failure::with(Exit::Interrupted(130), error.to_string()),
        DriveError::EventLoop(_) => Failure::new(error.to_string())
            .hint("too many open files? raise the limit (ulimit -n), or use fewer clients"),
        DriveError::NoUring(_) => {
            Failure::new(error.to_string()).hint("--io=auto uses epoll where there is no io_uring")
        }
        DriveError::Invalid(_) => Failure::with(Exit::Usage, error.to_string()),
    }
}

/// `-t` as the engine takes it.
pub fn transactions(count: u64) -> Option<Until> {
    NonZeroU64::new(count).map(Until::Transactions)
}

/// A seed that nobody chose: from the clock, and short enough to be typed again. Results show it.
pub fn seed_from_clock() -> i64 {
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    since_epoch.as_micros() as i64 & i64::from(u32::MAX)
}
