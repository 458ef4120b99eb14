//! A server that lives as long as its [`Server`] value, and never longer than this process.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::account::Account;
use crate::address::{Address, Listen};
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::installation::{Installation, Version};
use crate::instance::{self, Instance};
use crate::postmaster::{self, Life, Plan};
use crate::setting::Setting;
use crate::step::Step;
use crate::template;

/// The port of a server whose socket has a directory of its own.
const USUAL_PORT: u16 = 5432;

/// How to start a server. The default is right for most.
#[derive(Debug, Clone)]
pub struct Options {
    /// Directory of the programs (`--pg-bindir`); none: see [`Installation::find`].
    pub bindir: Option<PathBuf>,
    /// User to run it as when we are root (`--pg-user`); none: see [`Account::choose`].
    pub user: Option<String>,
    /// Settings (`--pg-set`), the last of a name wins. What differs from PostgreSQL's defaults
    /// without them: `max_connections` is 1000, so that usual numbers of clients fit, and
    /// `cluster_name` is pgdyno. Durability is PostgreSQL's own: everything on.
    pub settings: Vec<Setting>,
    /// Whether it listens on TCP too.
    pub listen: Listen,
    /// Directory in which the server's directory is made; none: in the cache, or in /var/tmp
    /// when the cache lies in memory.
    pub data_parent: Option<PathBuf>,
    pub cache: Option<Cache>,
    /// How long the server may take until it is ready.
    pub start_limit: Duration,
    /// Asked while there is something to wait for; true gives up with [`Error::Interrupted`].
    pub interrupted: fn() -> bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            bindir: None,
            user: None,
            settings: Vec::new(),
            listen: Listen::SocketOnly,
            data_parent: None,
            cache: None,
            start_limit: Duration::from_secs(60),
            interrupted: || false,
        }
    }
}

impl Options {
    pub(crate) fn cache(&self) -> Result<Cache> {
        self.cache.clone().map_or_else(Cache::from_env, Ok)
    }

    pub(crate) fn parent(&self, cache: &Cache) -> Result<PathBuf> {
        match &self.data_parent {
            Some(path) => instance::named_parent(path),
            None => cache.servers(),
        }
    }

    /// Where the server of `instance` is to listen.
    pub(crate) fn address(&self, instance: &Instance) -> Result<Address> {
        let socket_dir = instance.socket_dir();
        let (port, loopback) = match self.listen {
            Listen::SocketOnly => (USUAL_PORT, false),
            Listen::Loopback(0) => (free_port()?, true),
            Listen::Loopback(port) => (port, true),
        };
        Ok(Address {
            socket_dir,
            port,
            loopback,
        })
    }
}

/// A port that was free a moment ago. Another process may take it before the server does; then the
/// server says so.
fn free_port() -> Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(Error::file("find a free port on", Path::new("127.0.0.1")))
}

/// A running PostgreSQL with a fresh, empty cluster.
///
/// Dropped, it is stopped at once and its data are removed. When this process ends without that,
/// be it by SIGKILL, the kernel stops the server, and the next start removes the data.
#[derive(Debug)]
pub struct Server {
    // `drop` ends the processes; the instance, dropped after it, removes the directory.
    child: Mutex<Child>,
    instance: Instance,
    installation: Installation,
    address: Address,
    account: Account,
    options: Options,
    /// Settings that were changed while it ran; the last of a name wins, over those of the options too.
    changed: Mutex<Vec<Setting>>,
}

impl Server {
    /// Finds the programs, creates a cluster, starts the server, and returns when it takes
    /// connections. `on_step` learns what is being done.
    ///
    /// # Errors
    /// All that can go wrong on that way; no process and no directory is left then.
    pub fn start(options: &Options, on_step: &mut dyn FnMut(Step)) -> Result<Server> {
        let account = Account::choose(options.user.as_deref())?;
        let cache = options.cache()?;
        let bindir = options.bindir.as_deref();
        let installation =
            Installation::find(bindir, &account, &cache, options.interrupted, on_step)?;
        let instance = Instance::create(&options.parent(&cache)?, &account)?;
        on_step(Step::Initialising);
        template::create_cluster(&installation, &account, &cache, &instance)?;
        if (options.interrupted)() {
            return Err(Error::Interrupted);
        }
        on_step(Step::Starting);
        Server::on(instance, &installation, &account, options.clone())
    }

    /// Starts one on the data of an instance.
    pub(crate) fn on(
        instance: Instance,
        installation: &Installation,
        account: &Account,
        options: Options,
    ) -> Result<Server> {
        let address = options.address(&instance)?;
        let plan = plan(&options, &options.settings, installation, account, &address);
        let child = postmaster::start(&plan, &instance)?;
        Ok(Server {
            child: Mutex::new(child),
            instance,
            installation: installation.clone(),
            address,
            account: account.clone(),
            options,
            changed: Mutex::default(),
        })
    }

    /// Changes settings that need no restart (manual of PostgreSQL: context sighup or below). The server
    /// reads them a moment later; they stay when it is restarted.
    ///
    /// # Errors
    /// It does not run, or its configuration cannot be written.
    pub fn set(&self, settings: &[Setting]) -> Result<()> {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.extend_from_slice(settings);
        drop(changed);
        self.with_plan(postmaster::reload)
    }

    /// Takes changes of [`Server::set`] back: these settings are what the server was started with.
    ///
    /// # Errors
    /// As [`Server::set`].
    pub fn unset(&self, names: &[&str]) -> Result<()> {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.retain(|setting| !names.contains(&setting.name()));
        drop(changed);
        self.with_plan(postmaster::reload)
    }

    /// What is to be done with its first process.
    pub(crate) fn with_plan<T>(
        &self,
        act: impl FnOnce(&Plan, &Instance, &mut Child) -> Result<T>,
    ) -> Result<T> {
        let mut settings = self.options.settings.clone();
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        settings.extend_from_slice(&changed);
        drop(changed);
        let plan = plan(
            &self.options,
            &settings,
            &self.installation,
            &self.account,
            &self.address,
        );
        act(&plan, &self.instance, &mut self.child())
    }

    /// From now on these are the settings that differ from those it was started with; they are in effect
    /// when it is started again.
    pub(crate) fn forget_changes(&self, settings: Vec<Setting>) {
        *self.changed.lock().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    pub(crate) fn instance(&self) -> &Instance {
        &self.instance
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// Stops it as `pg_ctl -m fast` does, with a checkpoint, and starts it on the same data and
    /// address; settings that need a restart are in effect then. Connections are lost.
    ///
    /// # Errors
    /// It does not start, be it for a setting that it does not take: it is stopped then.
    pub fn restart(&self) -> Result<()> {
        self.with_plan(|plan, instance, child| {
            if !postmaster::stop(child, plan.limit) && !postmaster::end(child) {
                return Err(not_ended(child));
            }
            *child = postmaster::start(plan, instance)?;
            Ok(())
        })
    }

    /// Starts it where it does not run, also when there was an interrupt: what was done to it is undone.
    ///
    /// # Errors
    /// It does not start.
    pub fn start_again(&self) -> Result<()> {
        self.with_plan(|plan, instance, child| {
            if matches!(child.try_wait(), Ok(None)) {
                return Ok(());
            }
            *child = postmaster::start(&plan.to_its_end(), instance)?;
            Ok(())
        })
    }

    /// Stops it as `pg_ctl -m immediate` does, without a checkpoint, and starts it again: it recovers.
    ///
    /// # Errors
    /// As [`Server::restart`].
    pub fn restart_at_once(&self) -> Result<()> {
        self.with_plan(|plan, instance, child| {
            if !postmaster::end(child) {
                return Err(not_ended(child));
            }
            *child = postmaster::start(plan, instance)?;
            Ok(())
        })
    }

    /// Kills its first process alone (SIGKILL) and returns when the others have noticed and ended;
    /// [`Server::restart`] starts it again, which recovers the data.
    ///
    /// # Errors
    /// It does not run, or a process of it does not end.
    pub fn kill_first(&self) -> Result<()> {
        self.with_plan(|_, _, child| {
            postmaster::kill_first(child).map_err(|e| Error::Standby {
                what: "kill the server's first process".into(),
                reason: e.to_string(),
            })
        })
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        // Nothing is half done when a holder panics.
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Process id of its first process, the postmaster.
    pub fn pid(&self) -> u32 {
        self.child().id()
    }

    pub fn version(&self) -> &Version {
        &self.installation.version
    }

    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    pub fn data_dir(&self) -> PathBuf {
        self.instance.data_dir()
    }

    /// Whether its data lie in memory, which makes figures for anything that writes worthless.
    pub fn data_in_memory(&self) -> bool {
        instance::is_in_memory(self.instance.dir())
    }

    pub fn last_words(&self) -> String {
        postmaster::last_words(&self.instance.log_path())
    }

    pub fn is_running(&self) -> bool {
        matches!(self.child().try_wait(), Ok(None))
    }

    /// Stops it at once and removes its data.
    ///
    /// # Errors
    /// When it does not end; its data stay then.
    pub fn stop(self) -> Result<()> {
        let mut child = self.child();
        if postmaster::end(&mut child) {
            Ok(())
        } else {
            Err(not_ended(&child))
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let has_ended = postmaster::end(&mut self.child());
        if !has_ended {
            self.instance.leave(); // The next start sweeps it, when its processes are gone.
        }
    }
}

fn plan<'a>(
    options: &'a Options,
    settings: &'a [Setting],
    installation: &'a Installation,
    account: &'a Account,
    address: &'a Address,
) -> Plan<'a> {
    Plan {
        installation,
        account,
        settings,
        address,
        life: Life::WithUs,
        limit: options.start_limit,
        interrupted: options.interrupted,
    }
}

pub(crate) fn not_ended(child: &Child) -> Error {
    Error::Stop {
        pid: child.id(),
        limit: Duration::from_secs(10),
        reason: "not even SIGKILL ended it".into(),
    }
}
