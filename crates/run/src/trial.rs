//! One measured run: what it is, and running it.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pgdyno_drive::{Commits, Control, Drive, KeptSlots, Newcomers, Setup};
use pgdyno_measurement::DriveError;
use pgdyno_platform::limits;
use pgdyno_script::sysbench;
use pgdyno_spec::{Share, Until};
use pgdyno_wire::{Candidate, shuffle};

use super::beforehand::Beforehand;
use super::companion::{Companions, Ending, Scene};
use super::emitter::Emitter;
use super::own_quota::OwnQuota;
use super::prepare::Prepared;
use super::{ceiling, own_sessions, pinning, reads, statements_of_pack, validity};
use pgdyno_database::open::Target;
use pgdyno_database::trouble;
use pgdyno_model::document::ServerCounters;
use pgdyno_model::event::Title;
use pgdyno_model::{Fact, Findings, Observer, Observers, Outcome};
use pgdyno_observe::IsStopping;
use pgdyno_observe::cluster::{AddEndpoint, Joining, PlainRead};
use pgdyno_observe::host::ThreadLags;
use pgdyno_spec::{Exit, Failure, TrialSpec};

/// How long transactions in flight may take to finish when a run is ended early; then they are
/// cancelled.
const GRACE: Duration = Duration::from_secs(1);
/// When the asked duration is over, what is under way may take as long once more, and at least so long.
const LATE_MIN: Duration = Duration::from_secs(10);

/// However much there is to do before a warm-up, a trial does not wait longer for it.
const BEFORE_WARMUP_MAX: Duration = Duration::from_secs(120);

/// One run: what it is, and what watches it.
#[derive(Debug, Clone)]
pub struct Trial {
    /// What it is, with nothing left open ([`TrialSpec::resolved`]).
    pub spec: TrialSpec,
    /// What is observed beside it.
    pub observe: pgdyno_observe::ObserveOptions,
    /// What part of it this is, where several generators share it.
    pub share: Option<Share>,
}

impl Trial {
    /// Runs what was prepared, with all that accompanies a trial.
    ///
    /// # Errors
    /// As [`Trial::measure`], put as the user of a native verb sees it.
    pub fn run(
        mut self,
        prepared: &Prepared,
        control: &Control,
        observer: &mut dyn Observer<Outcome>,
    ) -> Result<Outcome, Failure> {
        if !self.spec.warmup.longest().is_zero() {
            let pack = prepared.workload.pack.as_ref();
            let file = pack.and_then(|pack| pack.manifest.before_warmup.as_deref());
            let until = Instant::now() + BEFORE_WARMUP_MAX;
            statements_of_pack::run(prepared, control, ("before_warmup", file), until)?;
        }
        if let Some(pair) = prepared.target.pair() {
            // The last trial may have killed one of the two, and tables may have been loaded since.
            pair.make_ready().map_err(trouble::own_server)?;
        }
        self.spec.query_mode = Some(prepared.query_mode());
        let mut scene = self.scene(prepared, control);
        let companions = Companions::begin(&mut scene)?;
        let measured = self.measure_with(&scene, companions, observer);
        measured.map_err(|error| explain(&error, prepared))
    }

    /// Runs what was prepared, with nothing beside it.
    ///
    /// # Errors
    /// Clients that cannot connect: nothing was measured then.
    pub fn measure(
        mut self,
        prepared: &Prepared,
        control: &Control,
        observer: &mut dyn Observer<Outcome>,
    ) -> Result<Outcome, DriveError> {
        self.spec.query_mode = Some(prepared.query_mode());
        let scene = self.scene(prepared, control);
        let mut outcome = self.measure_with(&scene, Companions::default(), observer)?;
        let counters = Fact::<ServerCounters>::Unknown("not requested".to_owned());
        outcome.findings.put(&counters);
        Ok(outcome)
    }

    fn scene<'a>(&'a self, prepared: &'a Prepared, control: &'a Control) -> Scene<'a> {
        Scene {
            spec: &self.spec,
            share: self.share,
            prepared,
            control,
            via: None,
            beforehand: Beforehand::default(),
        }
    }

    fn measure_with(
        &self,
        scene: &Scene<'_>,
        mut companions: Companions<'_>,
        observer: &mut dyn Observer<Outcome>,
    ) -> Result<Outcome, DriveError> {
        let (prepared, control) = (scene.prepared, scene.control);
        let host = ceiling::kept::host(&self.spec);
        // Where it cannot be raised, connecting says which client had no descriptor.
        let _ = limits::raise_open_files();
        let mut drive = self.drive(prepared)?;
        companions.set_up(&mut drive);
        let mut lags = ThreadLags::default();
        let reads = self.plain_reads(scene);
        let joining = { drive.newcomers.clone() }
            .map(|newcomers| Joining::new(self.target_of_clients(prepared), adding_to(newcomers)));
        let is_stopping: IsStopping = {
            let control = control.clone();
            Arc::new(move || control.is_stopping())
        };
        let located = scene.beforehand.located(&prepared.target);
        let mut instruments = self.observe.instruments(&pgdyno_observe::Scene {
            target: prepared.observed.as_ref().unwrap_or(&prepared.target),
            way: &prepared.target,
            product: &prepared.product,
            facts: &prepared.facts,
            located: located.filter(|_| prepared.observed.is_none()),
            clients: self.clients_total(),
            disks: &self.observe.spec.disk,
            lags: &lags,
            reads: &reads,
            is_stopping: &is_stopping,
            joining: joining.as_ref(),
        });
        let clients = self.clients_total() as u64;
        let crowded =
            own_sessions::give_way(&mut instruments, prepared, &scene.beforehand, clients);
        instruments.extend(companions.instruments());
        let mut export = self.observe.prometheus_export.as_deref();
        // The lags of a second are left for their instrument when all others have seen it.
        let mut observers = companions.observers(&mut *observer);
        observers.push(&mut export);
        observers.push(&mut lags);
        let observers = Observers::of(observers);
        let emitter = Emitter::start(&self.title(prepared), instruments, control, observers);
        let (quota, began) = (OwnQuota::begin(), Instant::now());
        let (mut recording, observed) = emitter.run(&drive, control)?;
        let held_back = quota.held_back(began.elapsed());
        let mut end = Ending {
            scene,
            drive: &drive,
            recording: &mut recording,
            observed: &observed,
            observer,
            findings: Findings::default(),
            notes: Vec::new(),
        };
        companions.end(&mut end);
        let Ending {
            findings,
            mut notes,
            ..
        } = end;
        let warmup = findings.get();
        notes.extend(prepared.notes(Some(&recording), warmup, Some(&observed), held_back));
        notes.extend(crowded);
        validity::of_course(&mut notes, &self.spec, &recording);
        Ok(Outcome {
            workload: prepared.workload.name.clone(),
            pack_sha256: prepared
                .workload
                .pack
                .as_ref()
                .map(|pack| pack.content_hash()),
            variables: prepared.variables_kept().into_iter().collect(),
            target: prepared.target.title.clone(),
            target_kind: prepared.target.kind,
            facts: prepared.facts.clone(),
            host,
            recording,
            findings,
            observed,
            generators: None,
            notes,
            spec: self.spec.clone(),
        })
    }

    /// What may be run once more after it; of several generators the first one does that.
    fn plain_reads(&self, scene: &Scene<'_>) -> Vec<PlainRead> {
        let prepared = scene.prepared;
        if scene.is_first_generator() && prepared.product.dialect.explain.is_some() {
            reads::of(
                &prepared.scripts,
                &prepared.names,
                &prepared.variables,
                self.spec.seed.unwrap_or_default(),
            )
        } else {
            Vec::new()
        }
    }

    /// As observers see it before it runs.
    fn title(&self, prepared: &Prepared) -> Title {
        let scripts = prepared.scripts.iter();
        Title {
            workload: prepared.workload.name.clone(),
            target: prepared.target.title.clone(),
            clients: self.spec.clients() as usize,
            scripts: scripts
                .map(|script| script.program.script().name.clone())
                .collect(),
            warmup: self.spec.warmup.longest(),
            until: self.spec.until(),
        }
    }

    fn clients_total(&self) -> usize {
        let own = self.spec.clients() as usize;
        self.share.map_or(own, |share| share.clients_total)
    }

    /// The engine's part of it, without what its companions set up.
    fn drive(&self, prepared: &Prepared) -> Result<Drive, DriveError> {
        let (spec, target) = (&self.spec, &prepared.target);
        let compatible = &spec.compatible;
        if let Some(of) = spec.rate.as_ref().and_then(|rate| rate.of()) {
            let text =
                format!("the rate is shares of the capacity of {of}, which is not looked up");
            return Err(DriveError::Invalid(text));
        }
        let clients_go_to = self.target_of_clients(prepared);
        let per_client = compatible.transactions_per_client_max;
        Ok(Drive {
            roles: target
                .roles
                .iter()
                .map(|role| role.endpoints.len())
                .collect(),
            endpoints: self.endpoints(&clients_go_to),
            newcomers: spec.errors.new_nodes.then(Newcomers::default),
            // Clients with an order of their own have all hosts in it.
            tries_other_endpoints: spec.errors.reconnect
                && !target.load_balances
                && (target.endpoints.len() > 1
                    || !target.roles.is_empty()
                    || spec.errors.new_nodes),
            comes_back: spec.errors.fails_back() && !target.load_balances,
            retries_lost: spec.errors.reconnect && spec.retry.tries() != 1,
            scripts: prepared.scripts.clone(),
            names: prepared.names.clone(),
            variables: self.variables(prepared),
            last_statement: None,
            errors: prepared.errors,
            query_mode: prepared.query_mode(),
            clients: spec.clients() as usize,
            working: spec
                .moving_clients()
                .and_then(|clients| clients.moving().cloned()),
            share: self.share,
            threads: spec.threads() as usize,
            io: super::io::asked(spec.io).map_err(DriveError::Invalid)?,
            pin: pinning::cpus(spec).map_err(|e| DriveError::Invalid(e.message))?,
            until: spec.until(),
            transactions_max: per_client.and_then(NonZeroU64::new),
            one_more: compatible.one_more_transaction.unwrap_or(0) as usize,
            counts_committed: compatible.counts_committed,
            warmup: spec.warmup.longest(),
            warmup_apart: false,
            rate: spec.rate.as_ref().map(|rate| rate.profile().clone()),
            latency_limit: spec.latency_limit,
            statement_timeout: spec.statement_timeout,
            slots: (!spec.disturb.is_empty()).then_some(KeptSlots {
                within: spec.disturb.within,
            }),
            retries_every_error: spec.errors.retries_every_error,
            retries_duplicates: spec.errors.retries_duplicates,
            retry: spec.retry.retry(),
            max_tries: spec.retry.tries(),
            backoff: spec.retry.pauses(),
            retry_deadline: spec.retry.deadline(),
            checks_commit: !spec.errors.trusts_commit,
            on_last_try: spec.errors.on_last_try(),
            counts_as_pgbench: spec.errors.counts_as_pgbench,
            speaks_as_pgbench: spec.errors.counts_as_pgbench,
            on_error: spec.errors.on_error(),
            on_connection_loss: spec.errors.on_connection_loss(),
            exit_on_abort: spec.errors.exit_on_abort,
            verbose_errors: spec.errors.verbose_errors,
            connection_per_transaction: spec.connection_per_transaction,
            receipts: None,
            stamps: None,
            history_bytes_max: None,
            commits: compatible.commits.map(|commits| Commits {
                script: commits.script,
                every: commits.every,
            }),
            log: compatible.log_share,
            time_every_command: compatible.times_every_command,
            debug: compatible.debug,
            seed: spec.seed.unwrap_or_default(),
            sysbench_draws: compatible.sysbench_draws.map(|draws| sysbench::Start {
                threads_before: draws.threads_before,
                drawn: draws.drawn,
            }),
            grace: GRACE,
            // pgbench waits for what is slow.
            late_max: match spec.until() {
                Until::Elapsed(asked) if !spec.errors.counts_as_pgbench => {
                    Some(asked.max(LATE_MIN))
                }
                _ => None,
            },
        })
    }

    /// What every client begins with: the workload's variables, and for packs how many clients there
    /// are.
    fn variables(&self, prepared: &Prepared) -> Vec<(String, Setup)> {
        let text = |(name, value): (&String, &String)| (name.clone(), Setup::Text(value.clone()));
        let mut variables: Vec<_> = prepared.variables.iter().map(text).collect();
        if prepared.workload.pack.is_some() && !prepared.variables.contains_key("clients") {
            let clients = self.clients_total().to_string();
            variables.push(("clients".to_owned(), Setup::Text(clients)));
        }
        variables
    }

    /// The target as clients see it: what only concerns them is in their sessions alone.
    fn target_of_clients(&self, prepared: &Prepared) -> Target {
        let dialect = prepared.product.dialect;
        let mut settings = BTreeMap::new();
        if let (Ok(inject), true) = (&dialect.retries.inject, self.spec.retry.inject_retries) {
            settings.insert(inject.setting.to_owned(), "true".to_owned());
        }
        if let (Ok(reads), true) = (&dialect.cluster.follower_reads, self.spec.follower_reads) {
            let reads = reads.settings.iter();
            settings.extend(reads.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        }
        prepared.target.with_settings(dialect, &settings)
    }

    /// Those of the target, or for each client a list in an order of its own.
    fn endpoints(&self, target: &Target) -> Vec<Vec<Candidate>> {
        let endpoints = target.endpoints_of_all_roles();
        let candidates = endpoints.map(|endpoint| &endpoint.candidates);
        if !target.load_balances {
            return candidates.cloned().collect();
        }
        let seed = self.spec.seed.unwrap_or_default() as u64;
        let dealt = (0..u64::from(self.spec.clients())).zip(candidates.cycle());
        let order =
            |(client, list): (u64, &Vec<Candidate>)| shuffle(list, seed.wrapping_add(client));
        dealt.map(order).collect()
    }
}

/// Adds nodes that join the cluster to a run's endpoints.
fn adding_to(newcomers: Newcomers) -> AddEndpoint {
    Arc::new(move |candidates| {
        if newcomers.add(candidates) {
            Ok(())
        } else {
            let max = Newcomers::MAX;
            Err(format!("{max} nodes have joined, and a run takes no more"))
        }
    })
}

/// A failure of the engine as the user of a native verb sees it.
pub fn explain(error: &DriveError, prepared: &Prepared) -> Failure {
    match error {
        DriveError::Connect { .. } => {
            let failure = Failure::with(Exit::Connection, error.to_string());
            match prepared.facts.max_connections.known() {
                Some(max) if error.to_string().contains("too many clients") => failure.hint(
                    format!("max_connections is {max}: use fewer clients, or raise it"),
                ),
                _ => failure,
            }
        }
        DriveError::Interrupted => {
            let code = crate::interrupts().ok().and_then(|i| i.exit_code());
            Failure::with(Exit::Interrupted(code.unwrap_or(130)), error.to_string())
        }
        DriveError::EventLoop(_) => Failure::new(error.to_string())
            .hint("too many open files? raise the limit (ulimit -n), or use fewer clients"),
        DriveError::NoThread(reason) => Failure::no_thread("for the clients", reason),
        DriveError::NoUring(_) => Failure::new(error.to_string())
            .hint("--io=auto uses epoll if io_uring is not available"),
        DriveError::NotPinned { .. } => Failure::new(error.to_string())
            .hint("without --pin threads run where the kernel puts them"),
        DriveError::Invalid(_) => Failure::with(Exit::Usage, error.to_string()),
    }
}
