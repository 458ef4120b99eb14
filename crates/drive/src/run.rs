//! A run from beginning to end: threads are started, what they record is collected, and what a
//! person wants to see meanwhile goes to a [`Live`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;
use std::thread;

use pgdyno_platform::io::Sockets;
use pgdyno_script::{Counters, Draws, Prng, Seeds, Slot, Vars, sysbench};

use crate::client::{Client, Home};
use crate::clock::{Clock, nanos};
use crate::collect::{Collector, Link};
use crate::context::Setup;
use crate::control::Control;
use crate::crew::Ranks;
use crate::deal::{Deal, Place};
use crate::drive::{Drive, Script, Setup as Variable};
use crate::endpoints::Endpoints;
use crate::event_loop;
use crate::homes::Homes;
use crate::live::Live;
use crate::places::Places;
use crate::record::{Executions, OwnHistory, OwnSlots, OwnStamps, Recorder, TransactionLog};
use crate::retry::random_of_pauses;
use crate::schedule::Schedule;
use crate::watchdog::Watchdog;
use pgdyno_measurement::{DriveError, Recording};
use pgdyno_spec::{Share, Until};

/// Between the seeds of two generators' threads: 2^64 divided by the golden ratio, as splitmix64 steps.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Ends the thread that asks endpoints, however the run ends.
struct Closes<'run>(&'run Homes);

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Drive {
    /// Does it. Returns when all clients have ended.
    ///
    /// # Errors
    /// [`DriveError`] only when nothing was measured; whatever goes wrong later is in the
    /// [`Recording`].
    pub fn run(&self, control: &Control, live: &mut dyn Live) -> Result<Recording, DriveError> {
        self.check()?;
        if self.warmup_apart && !self.warmup.is_zero() {
            return self.run_apart(control, live);
        }
        let settled = Drive {
            scripts: self.settled(),
            ..self.clone()
        };
        settled.run_at_once(control, live)
    }

    /// The scripts, with values in the place of variables that nothing sets once the run has begun.
    fn settled(&self) -> Vec<Script> {
        let given = self.variables.iter();
        let mut given: Vec<Slot> = given.filter_map(|(name, _)| self.names.get(name)).collect();
        let own = self.receipts.map(|receipts| receipts.slot);
        let own = own.into_iter().chain(self.stamps);
        let set = own.map(|slot| Some(vec![slot]));
        let set = set.chain(self.scripts.iter().map(|script| script.program.sets()));
        for set in set {
            match set {
                Some(set) => given.retain(|slot| !set.contains(slot)),
                None => given.clear(),
            }
        }
        if given.is_empty() {
            return self.scripts.clone();
        }
        // All clients begin with the same of these.
        let vars = self.given(Vars::new(&self.names));
        let known = |slot: Slot| {
            let is_known = given.contains(&slot);
            is_known.then(|| vars.value(slot).ok()).flatten()
        };
        let scripts = self.scripts.iter().map(|script| Script {
            program: Arc::new(script.program.settled(&known)),
            ..script.clone()
        });
        scripts.collect()
    }

    fn run_at_once(&self, control: &Control, live: &mut dyn Live) -> Result<Recording, DriveError> {
        let threads = self.threads.min(self.clients);
        let places = Places::of(self.all_endpoints());
        let clock = Clock::start();
        let seeds = self.seeds(threads);
        let share = self.share();
        let (generator, generators) = (share.generator.into(), share.generators.into());
        let counters = Counters::shared(&self.names, generator, generators);
        let opened = self.io.open(threads, self.clients.div_ceil(threads));
        let (mut sockets, mut io) = opened.map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => DriveError::NoUring(error),
            _ => DriveError::EventLoop(error),
        })?;
        let cpus = self.pin.as_deref().unwrap_or_default();
        io.pinned_cpus = cpus.iter().copied().take(threads).collect();
        let history_cut_ns = Arc::new(AtomicU64::new(u64::MAX));
        let (reports, inbox) = channel();
        let homes = self.homes();
        let _closes = homes.as_deref().map(Closes);
        if let Some(homes) = homes.clone() {
            let (first, joined) = (self.endpoints.clone(), self.newcomers.clone());
            let roles = self.roles.clone();
            let candidates = move |endpoint| {
                let (first, joined) = (&first[..], joined.as_ref());
                let roles = &roles[..];
                let endpoints = Endpoints {
                    first,
                    joined,
                    roles,
                };
                endpoints.candidates(endpoint).to_vec()
            };
            // Not waited for: it may be asking when the run is over.
            let thread = thread::Builder::new().name("scout".to_owned());
            let scout = thread.spawn(move || homes.scout(candidates, clock));
            scout.map_err(DriveError::NoThread)?;
        }
        let homes = homes.as_deref();
        let watchdog = Watchdog::new(clock);
        let watchdog = &watchdog;
        thread::scope(|scope| {
            let (_runs, over) = channel();
            let thread = thread::Builder::new().name("watchdog".to_owned());
            let watching = thread.spawn_scoped(scope, move || watchdog.watch(&over));
            watching.map_err(DriveError::NoThread)?;
            let mut clients = (share.clients_before..).zip(&seeds.clients);
            let mut links = Vec::with_capacity(threads);
            for (index, seeds_of_thread) in seeds.threads.iter().enumerate() {
                // As pgbench deals clients: the first threads get one more when they do not divide.
                let left = clients.size_hint().1.unwrap_or(0);
                let count = left.div_ceil(threads - index);
                let place = self.place(index, threads);
                let ranks = Ranks {
                    place,
                    first_id: share.clients_before + self.clients - left,
                    clients: count,
                    endpoints: self.endpoints.len(),
                };
                let clients = (0u32..).zip(clients.by_ref().take(count));
                let clients: Vec<Client> = clients
                    .map(|(key, (id, random))| {
                        let vars = self.vars(id, &seeds);
                        let random = (random.clone(), random_of_pauses(self.seed, id));
                        let draws = Draws::new(Arc::clone(&counters));
                        let homes = self.homes_of(id, &places);
                        Client::new(id, (key, count), homes, vars, random, draws)
                            .with_receipts(self.receipts.is_some())
                            .with_rank(ranks.of(key as usize))
                    })
                    .collect();
                let (recycle, recycled) = channel();
                let (recycle_log, recycled_log) = channel();
                let (recycle_executions, recycled_executions) = channel();
                let (recycle_history, recycled_history) = channel();
                let (recycle_stamps, recycled_stamps) = channel();
                let (start, go) = channel();
                let recorder = Recorder::new(
                    index,
                    (self.scripts.len(), places.count()),
                    (self.rate.is_some(), self.max_tries != 1),
                    self.latency_limit.map(|limit| limit.as_micros() as u64),
                    self.log.map(|share| {
                        TransactionLog::new(share, seeds_of_thread.sample.clone(), recycled_log)
                    }),
                    Executions::new(self.commands(), recycled_executions),
                    (reports.clone(), recycled),
                )
                .with_slots(self.own_slots());
                let schedule = self.schedule(place, seeds_of_thread.throttle.clone());
                let setup = Setup {
                    drive: self,
                    places: &places,
                    homes,
                    clock,
                    watchdog: Some(watchdog),
                    control: control.clone(),
                    choose: seeds_of_thread.choose.clone(),
                    schedule,
                    recorder,
                    history: { self.history_bytes_max }
                        .map(|_| OwnHistory::new(recycled_history, Arc::clone(&history_cut_ns))),
                    stamps: self.stamps.map(|_| OwnStamps::new(recycled_stamps)),
                    reports: reports.clone(),
                };
                let thread = thread::Builder::new().name(format!("clients-{index}"));
                let cpu = cpus.get(index).copied();
                // There are as many as threads.
                let spawned = match &mut sockets {
                    Sockets::Epoll(loops) => loops.pop().map(|io| {
                        thread.spawn_scoped(scope, move || {
                            event_loop::run(setup, clients, cpu, go, io)
                        })
                    }),
                    Sockets::Uring(loops) => loops.pop().map(|io| {
                        thread.spawn_scoped(scope, move || {
                            event_loop::run(setup, clients, cpu, go, io)
                        })
                    }),
                };
                spawned.transpose().map_err(DriveError::NoThread)?;
                links.push(Link {
                    start,
                    recycle,
                    recycle_log,
                    recycle_executions,
                    recycle_history,
                    recycle_stamps,
                    progress: 0,
                });
            }
            drop(reports);
            let collector = Collector {
                drive: self,
                places: &places,
                clock,
                watchdog: Some(watchdog),
                history_cut_ns,
                links,
                inbox,
            };
            let mut recording = collector.collect(io, control, live)?;
            let drawn = counters.drawn();
            recording.drawn = drawn
                .map(|(name, count)| (name.to_owned(), count))
                .collect();
            Ok(recording)
        })
    }

    pub(crate) fn place(&self, thread: usize, threads: usize) -> Place {
        let share = self.share();
        Place {
            thread,
            threads,
            generator: share.generator as usize,
            generators: share.generators as usize,
        }
    }

    /// The scheduled starts of a thread, which are drawn from these numbers.
    pub(crate) fn schedule(&self, place: Place, random: Prng) -> Option<Schedule> {
        let rate = self.rate.clone()?;
        let Some(working) = self.working.clone() else {
            return Some(Schedule::new(rate, place.threads, random));
        };
        // This generator's part of the rate is that of its clients.
        let share = self.share();
        let whole = rate.times(share.clients_total as f64 / self.clients as f64);
        let deal = Deal::new(place, working, self.seed as u64);
        Some(Schedule::dealt(whole, place, deal))
    }

    pub(crate) fn seeds(&self, threads: usize) -> Seeds {
        let mut given = self.variables.iter().map(|(name, _)| name);
        let has_default_seed = given.any(|name| name == "default_seed");
        let (seed, share) = (self.seed as u64, self.share());
        let mut seeds = Seeds::deal(seed, share.clients_total, threads, has_default_seed);
        if let Some(start) = self.sysbench_draws {
            let threads = sysbench::threads(self.seed as u32, start);
            seeds.clients = threads.take(share.clients_total).collect();
        }
        seeds.clients.drain(..share.clients_before);
        seeds.clients.truncate(self.clients);
        if share.generator > 0 {
            // It is not known how many threads the others have.
            let other = seed.wrapping_add(u64::from(share.generator).wrapping_mul(SEED_STEP));
            seeds.threads = Seeds::deal(other, 0, threads, true).threads;
        }
        seeds
    }

    /// Where its clients return to, if they do.
    pub(crate) fn homes(&self) -> Option<Arc<Homes>> {
        let clients = self.share().clients_total;
        let comes_back = self.comes_back && !self.connection_per_transaction;
        let (first, all) = (self.endpoints.len(), self.all_endpoints().count_max());
        (comes_back && all > 1).then(|| Arc::new(Homes::new(first, all, clients)))
    }

    /// A client's own endpoint and its place in each role that its scripts have.
    pub(crate) fn homes_of(&self, client: usize, places: &Places) -> Vec<Home> {
        let roles = self.roles_used().into_iter();
        let home = |role| {
            let own = self.all_endpoints().own(client, role);
            Home {
                role,
                own,
                place: places.number(own, 0),
            }
        };
        roles.map(home).collect()
    }

    /// Its endpoints, with those that have joined by now.
    pub(crate) fn all_endpoints(&self) -> Endpoints<'_> {
        Endpoints {
            first: &self.endpoints,
            joined: self.newcomers.as_ref(),
            roles: &self.roles,
        }
    }

    /// A thread's slots, if they are kept.
    fn own_slots(&self) -> Option<OwnSlots> {
        let kept = self.slots?;
        let length = match self.until {
            Until::Elapsed(time) => self.warmup + time,
            Until::Transactions(_) => self.warmup,
        };
        let within = kept.within.map(nanos);
        Some(OwnSlots::new(nanos(length), within, self.rate.is_some()))
    }

    /// Its share; all of it when there is no other generator.
    fn share(&self) -> Share {
        self.share.unwrap_or(Share {
            generator: 0,
            generators: 1,
            clients_before: 0,
            clients_total: self.clients,
        })
    }

    fn check(&self) -> Result<(), DriveError> {
        let invalid = |text: &str| Err(DriveError::Invalid(text.to_owned()));
        if self.scripts.iter().all(|script| script.weight == 0) {
            return invalid("there is no script to run: every weight is zero");
        }
        if self.endpoints.is_empty() || self.endpoints.iter().any(Vec::is_empty) {
            return invalid("there is no endpoint to connect to");
        }
        let in_roles: usize = self.roles.iter().sum();
        if self.roles.contains(&0) || in_roles >= self.endpoints.len() && in_roles > 0 {
            return invalid("each role must have endpoints, and there must be some without a role");
        }
        if self.scripts.iter().any(|s| s.role > self.roles.len()) {
            return invalid("a script has a role that no endpoint has");
        }
        if !self.roles.is_empty() && (self.newcomers.is_some() || self.commits.is_some()) {
            return invalid(
                "endpoints with roles do not go with joining nodes or with transactions that share blocks",
            );
        }
        if self.clients == 0 || self.threads == 0 {
            return invalid("there must be at least one client and one thread");
        }
        let pinned = self.pin.as_ref().map(Vec::len);
        if pinned.is_some_and(|cpus| cpus < self.threads.min(self.clients)) {
            return invalid("there are more threads than CPUs to keep them on");
        }
        if self.rate.as_ref().is_some_and(|rate| !rate.is_rate()) {
            return invalid("the rate must be a positive number of transactions a second");
        }
        if self.history_bytes_max.is_some() {
            if self.share.is_some() {
                return invalid(
                    "a history of several generators cannot be recorded: their clocks differ",
                );
            }
            if self.commits.is_some() {
                return invalid("a history cannot be recorded where transactions share a commit");
            }
            if self.warmup_apart && !self.warmup.is_zero() {
                return invalid(
                    "a history cannot be recorded where the warm-up has connections of its own",
                );
            }
        }
        if let Some(working) = &self.working {
            if !working.is_rate() || working.max() > self.share().clients_total as f64 {
                return invalid("no more clients can work than there are, nor fewer than none");
            }
            if matches!(self.until, Until::Transactions(_)) {
                return invalid(
                    "clients that rest never end their transactions: a number of clients that moves \
                     takes a duration",
                );
            }
        }
        if let (Some(rate), Until::Transactions(_)) = (&self.rate, self.until)
            && !rate.lasts()
        {
            return invalid(
                "the rate ends at 0: -t transactions per client might never be reached",
            );
        }
        Ok(())
    }

    /// One client's variables at the start.
    pub(crate) fn vars(&self, client: usize, seeds: &Seeds) -> Vars {
        let mut vars = Vars::new(&self.names);
        let own = [
            ("client_id", Some(client as i64)),
            ("random_seed", Some(seeds.random_seed)),
            ("default_seed", seeds.default_seed),
        ];
        for (name, value) in own {
            if let (Some(slot), Some(value)) = (self.names.get(name), value) {
                vars.set(slot, pgdyno_script::Value::Int(value));
            }
        }
        self.given(vars)
    }

    /// The same with those that all clients are given.
    fn given(&self, mut vars: Vars) -> Vars {
        for (name, variable) in &self.variables {
            // A variable without a slot is one that no script speaks of.
            let Some(slot) = self.names.get(name) else {
                continue;
            };
            match variable {
                Variable::Value(value) => vars.set(slot, *value),
                Variable::Text(text) => vars.set_text(slot, text),
            }
        }
        vars
    }
}
