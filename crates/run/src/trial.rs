//! One measured run: what it is, and running it.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pgdyno_drive::stamps::STAMP;
use pgdyno_drive::{Commits, Control, Drive, KeptSlots, Newcomers, Setup};
use pgdyno_measurement::{DriveError, Event, EventKind};
use pgdyno_platform::limits;
use pgdyno_script::sysbench;
use pgdyno_spec::{Share, Until};
use pgdyno_wire::{Candidate, shuffle};

use super::beforehand::Beforehand;
use super::disturb::own::Doing;
use super::disturb::{Disturbance, catalogue, surroundings};
use super::emitter::Emitter;
use super::own_quota::OwnQuota;
use super::own_sessions;
use super::prepare::Prepared;
use super::staleness::Probe;
use super::truth::Receipts;
use super::via::{Proxies, Via};
use super::{
    account, ceiling, checks, history, isolation, key_skew, pinning, reads, statements_of_pack,
    validity, warmup,
};
use crate::checks::Checks;
use pgdyno_database::open::Target;
use pgdyno_database::{cluster, counters, reach, trouble};

use pgdyno_model::event::Title;

use pgdyno_model::document::ServerCounters;
use pgdyno_model::{Fact, Findings, Observer, Observers, Outcome};
use pgdyno_observe::cluster::{AddEndpoint, Joining, PlainRead};
use pgdyno_observe::host::ThreadLags;
use pgdyno_observe::{Instrument, IsStopping, Scene};
use pgdyno_spec::{Exit, Failure, TrialSpec};

/// How long transactions in flight may take to finish when a run is ended early; then they are
/// cancelled.
const GRACE: Duration = Duration::from_secs(1);
/// When the asked duration is over, what is under way may take as long once more, and at least so long.
const LATE_MIN: Duration = Duration::from_secs(10);

/// What a trial has beside it: proxies, receipts, one more instrument, disturbances of pgdyno's own by the place of
/// their steps, and a probe of staleness.
type Beside<'a> = (
    Proxies,
    Option<&'a Receipts>,
    Option<Box<dyn Instrument>>,
    Vec<Option<Doing>>,
    Probe,
);
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
        let via = self
            .via(prepared)
            .map_err(|error| explain(&error, prepared))?;
        // What cannot be done is said before anything is.
        let acts = if self.share.is_some_and(|share| share.generator > 0) {
            Vec::new()
        } else {
            catalogue::acts(
                &self.spec.disturb,
                &catalogue::Scene::of(prepared, via.as_ref()),
            )?
        };
        history::begin((&self.spec, self.share), prepared, control)?;
        let receipts = Receipts::begin((&self.spec, self.share), prepared)?;
        let asks = !self.spec.no_checks && self.share.is_none_or(|share| share.generator == 0);
        let checks = asks.then(|| Checks::begin(prepared)).transpose()?;
        let sampler = checks.as_ref().and_then(|checks| checks.sampler(prepared));
        let mut beforehand = Beforehand::default();
        let counters = counters::before(
            &prepared.target,
            &prepared.facts.reached,
            dialect,
            |endpoint, session| beforehand.ask(endpoint, session, prepared),
        );
        let marked = receipts.as_ref();
        let probe = Probe::start((&self.spec, self.share), prepared, control)?;
        let measured = if account::is_due(prepared) && !control.is_stopping() {
            account::of(prepared, control, observer, |observer| {
                let beside = (via, marked, sampler, acts, probe);
                self.measure_with(beside, &beforehand, prepared, control, observer)
            })
        } else {
            let beside = (via, marked, sampler, acts, probe);
            self.measure_with(beside, &beforehand, prepared, control, observer)
        };
        let mut outcome = measured.map_err(|error| explain(&error, prepared))?;
        if let Some(receipts) = receipts {
            let truth = if control.is_stopping() {
                Fact::Unknown("the run was interrupted".to_owned())
            } else {
                receipts.ask(prepared, &outcome.recording)
            };
            outcome.notes.splice(..0, validity::truth(&truth));
            outcome.findings.put(&truth);
        }
        let recording = &outcome.recording;
        let all_went_well = recording.reasons.is_empty()
            && recording.warmup.is_none()
            && recording.clients.aborted == 0;
        let counters = counters.after(dialect, all_went_well);
        outcome.findings.put(&counters);
        if let Some(checked) = isolation::of_trial(prepared, &outcome) {
            outcome.findings.put(&checked);
        }
        if let Some(checks) = checks {
            let checks = checks.end(prepared, control);
            outcome.notes.extend(checks::notes(&checks));
            outcome.findings.put(&checks);
            outcome
                .notes
                .sort_by_key(|note| std::cmp::Reverse(note.severity));
        }
        Ok(outcome)
    }

    /// Runs what was prepared.
    ///
    /// # Errors
    /// Clients that cannot connect: nothing was measured then.
    pub fn measure(
        self,
        prepared: &Prepared,
        control: &Control,
        observer: &mut dyn Observer<Outcome>,
    ) -> Result<Outcome, DriveError> {
        let via = self.via(prepared)?;
        let beside = (via, None, None, Vec::new(), Probe::none());
        self.measure_with(beside, &Beforehand::default(), prepared, control, observer)
    }

    /// The same, through proxies, with receipts, with one more instrument beside it, with disturbances of
    /// pgdyno's own, and with a probe of staleness.
    fn measure_with(
        mut self,
        (via, receipts, instrument, acts, mut probe): Beside<'_>,
        beforehand: &Beforehand,
        prepared: &Prepared,
        control: &Control,
        observer: &mut dyn Observer<Outcome>,
    ) -> Result<Outcome, DriveError> {
        self.spec.query_mode = Some(prepared.query_mode());
        let host = ceiling::kept::host(&self.spec);
        // Where it cannot be raised, connecting says which client had no descriptor.
        let _ = limits::raise_open_files();
        let mut drive = self.drive(prepared, via.as_deref())?;
        drive.receipts = receipts.and_then(|receipts| receipts.of_drive(&prepared.names));
        drive.stamps = prepared
            .names
            .get(STAMP)
            .filter(|_| self.spec.roles.client_stamps);
        let mut lags = ThreadLags::default();
        let mut disturbance = self.disturbance(prepared, acts)?;
        let reads = self.plain_reads(prepared);
        let joining = { drive.newcomers.clone() }
            .map(|newcomers| Joining::new(self.target_of_clients(prepared), adding_to(newcomers)));
        let is_stopping: IsStopping = {
            let control = control.clone();
            Arc::new(move || control.is_stopping())
        };
        let mut instruments = self.observe.instruments(&Scene {
            target: prepared.observed.as_ref().unwrap_or(&prepared.target),
            way: &prepared.target,
            product: &prepared.product,
            facts: &prepared.facts,
            located: beforehand
                .located(&prepared.target)
                .filter(|_| prepared.observed.is_none()),
            clients: self.clients_total(),
            disks: &self.observe.spec.disk,
            lags: &lags,
            reads: &reads,
            is_stopping: &is_stopping,
            joining: joining.as_ref(),
        });
        let clients = self.clients_total() as u64;
        let crowded = own_sessions::give_way(&mut instruments, prepared, beforehand, clients);
        instruments.extend(disturbance.instrument());
        instruments.extend(instrument);
        let mut watch = warmup::Watch::new(&self.spec, control);
        let mut export = self.observe.prometheus_export.as_deref();
        // The warm-up's end is found first, so that no other observer delays it. Then come those of
        // the caller: the notebook before the screen. The lags of a second are left for their
        // instrument when all others have seen it.
        let observers = Observers::new([
            &mut watch,
            &mut disturbance,
            &mut probe,
            observer,
            &mut export,
            &mut lags,
        ]);
        let emitter = Emitter::start(&self.title(prepared), instruments, control, observers);
        let (quota, began) = (OwnQuota::begin(), Instant::now());
        let (mut recording, observed) = emitter.run(&drive, control)?;
        let disturbed = disturbance.end();
        let via = via.map(|via| via.note());
        let staleness = probe.end(&recording.endpoints);
        let warmup_ended = watch.ended(&recording.measured);
        let dialect = prepared.product.dialect;
        let cluster_after = cluster::after(&prepared.target, dialect, &prepared.facts);
        let warmup_us = recording.warmup.as_ref().map_or(0, |it| it.elapsed_us);
        // Where nothing was asked before, as for compatible commands, there is nothing to tell from it.
        for text in reach::replaced(&prepared.target, dialect, &prepared.facts.reached) {
            let event = Event {
                at_us: warmup_us + recording.measured.elapsed_us,
                kind: EventKind::ServerReplaced,
                text,
            };
            observer.event(&event);
            recording.events.push(event);
        }
        let held_back = quota.held_back(began.elapsed());
        let mut notes = prepared.notes(Some(&recording), warmup_ended, Some(&observed), held_back);
        notes.extend(staleness.iter().flat_map(validity::staleness));
        notes.extend(validity::server_replaced(
            &recording,
            !self.spec.disturb.is_empty(),
        ));
        notes.extend(crowded);
        validity::of_course(&mut notes, &self.spec, &recording);
        notes.splice(..0, disturbed.iter().flat_map(validity::disturbed));
        notes.extend(via);
        notes.extend(history::end(&drive, prepared, control, &mut recording));
        let mut findings = Findings::default();
        findings.put(&prepared.figures(&recording));
        findings.put(&Fact::<ServerCounters>::Unknown("not requested".to_owned()));
        let seed = self.spec.seed.unwrap_or_default();
        key_skew::by(prepared, &recording, seed).map(|it| findings.put(&it));
        cluster_after.map(|it| findings.put(&it));
        staleness.map(|it| findings.put(&it));
        disturbed.map(|it| findings.put(&it));
        warmup_ended.map(|it| findings.put(&it));
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
            spec: self.spec,
        })
    }

    /// What may be run once more after it; of several generators the first one does that.
    fn plain_reads(&self, prepared: &Prepared) -> Vec<PlainRead> {
        let is_first = self.share.is_none_or(|share| share.generator == 0);
        if is_first && prepared.product.dialect.explain.is_some() {
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

    /// The commands that disturb it: of several generators the first one runs them.
    fn disturbance(
        &self,
        prepared: &Prepared,
        acts: Vec<Option<Doing>>,
    ) -> Result<Disturbance, DriveError> {
        if self.share.is_some_and(|share| share.generator > 0) {
            return Ok(Disturbance::default());
        }
        let environment = surroundings(&prepared.target, &prepared.facts);
        let warmup = self.spec.warmup.longest();
        Disturbance::start(&self.spec.disturb, warmup, environment, acts)
            .map_err(DriveError::NoThread)
    }

    /// Its proxies, where it has some.
    fn via(&self, prepared: &Prepared) -> Result<Proxies, DriveError> {
        if !self.spec.via {
            return Ok(None);
        }
        if self.share.is_some() {
            let text = "--via is for one generator: each would have proxies of its own, and one of them would \
                        be disturbed";
            return Err(DriveError::Invalid(text.to_owned()));
        }
        let via = Via::start(&prepared.target);
        let via = via.map_err(|e| DriveError::Invalid(format!("--via: {e}")))?;
        Ok(Some(Arc::new(via)))
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

    /// The engine's part of it.
    fn drive(&self, prepared: &Prepared, via: Option<&Via>) -> Result<Drive, DriveError> {
        let (spec, target) = (&self.spec, &prepared.target);
        let compatible = &spec.compatible;
        if let Some(of) = spec.rate.as_ref().and_then(|rate| rate.of()) {
            let text =
                format!("the rate is shares of the capacity of {of}, which is not looked up");
            return Err(DriveError::Invalid(text));
        }
        let clients_go_to = self.target_of_clients(prepared);
        let clients_go_to = match via {
            Some(via) => via.through(clients_go_to),
            None => clients_go_to,
        };
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
            last_statement: self.last_statement(prepared),
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
            // The server tells what a session did when it ends.
            warmup_apart: account::is_due(prepared),
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
            history_bytes_max: spec.history.then_some(history::BYTES_MAX),
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

    /// Where the storage layer is accounted for, a session hands its statistics over at its end: the
    /// counters that are read after the trial have all of it in them then.
    fn last_statement(&self, prepared: &Prepared) -> Option<String> {
        if !account::is_due(prepared) {
            return None;
        }
        let (statement, since) = prepared.product.dialect.flush_statistics?;
        let is_there = prepared.product.known && prepared.product.is_since(since);
        is_there.then(|| statement.to_owned())
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
