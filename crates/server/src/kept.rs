//! The server that stays across runs of pgdyno: at most one per user and cache.
//!
//! A state file in the cache says where it is. Whether it runs says the lock of its instance,
//! which all of its processes hold, so a state left by a crash or a reboot is
//! recognised. Its data stay when it is stopped, for the next start, unless they are discarded.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pgdyno_platform::child::{self, Signal};
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::address::Address;
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::installation::Installation;
use crate::instance::{self, Instance};
use crate::postmaster::{self, Life, Plan, Status};
use crate::server::Options;
use crate::step::Step;
use crate::template;

/// A stopped server recovers from a crash before it is ready; that may take a while.
const START_LIMIT_MIN: Duration = Duration::from_secs(600);
/// How long a server may take to write its last checkpoint before it is stopped without.
const FAST_STOP_LIMIT: Duration = Duration::from_secs(120);
const HARD_STOP_LIMIT: Duration = Duration::from_secs(10);
/// How often a start looks whether the one before it has ended.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// How the kept server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerStatus {
    Running(Running),
    /// It neither runs nor is it stopped: it is starting, stopping or recovering.
    Busy {
        dir: PathBuf,
    },
    Stopped {
        /// Where its data are; `None` when it has none.
        data_dir: Option<PathBuf>,
    },
}

/// A kept server that takes connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    pub address: Address,
    /// Process id of its first process.
    pub pid: u32,
    /// Its version, such as `18.6`.
    pub version: String,
    pub data_dir: PathBuf,
    pub log_path: PathBuf,
    /// Whether its data lie in memory.
    pub data_in_memory: bool,
}

/// What the state file holds.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    dir: PathBuf,
    version: String,
    address: Address,
}

impl State {
    /// `None` when there is none, or it is not to be understood, which is the same to us: it is
    /// written in one step, so only another program can have damaged it.
    fn read(cache: &Cache) -> Option<State> {
        serde_json::from_slice(&fs::read(cache.kept_state()).ok()?).ok()
    }

    fn write(&self, cache: &Cache) -> Result<()> {
        let path = cache.kept_state();
        let new = path.with_extension("new");
        let text = serde_json::to_vec_pretty(self)
            .map_err(|e| Error::file("write", &path)(io::Error::other(e)))?;
        fs::write(&new, text).map_err(Error::file("write", &new))?;
        fs::rename(&new, &path).map_err(Error::file("write", &path))
    }
}

/// How the kept server of this cache is. Creates nothing.
pub fn status(cache: &Cache) -> ServerStatus {
    let Some(state) = State::read(cache) else {
        return ServerStatus::Stopped { data_dir: None };
    };
    let data_dir = state.dir.join("data");
    if !Instance::is_locked(&state.dir) {
        return ServerStatus::Stopped {
            data_dir: data_dir.exists().then_some(data_dir),
        };
    }
    match Status::of_running(&data_dir).filter(|status| status.ready) {
        None => ServerStatus::Busy { dir: state.dir },
        Some(status) => ServerStatus::Running(Running {
            address: state.address,
            pid: status.pid,
            version: state.version,
            data_in_memory: instance::is_in_memory(&data_dir),
            log_path: state.dir.join("log"),
            data_dir,
        }),
    }
}

/// Starts the kept server, on the data it left when it was last stopped if there are any. When
/// it runs already, it is returned as it is, whatever the options: `true` tells that it was
/// started now.
///
/// # Errors
/// As [`crate::Server::start`]; also when its data need another version of PostgreSQL, or another
/// start or stop does not end within the limit of a start.
pub fn start(options: &Options, on_step: &mut dyn FnMut(Step)) -> Result<(Running, bool)> {
    let cache = options.cache()?;
    let dir = directory(options, &cache)?;
    if let Some(running) = running_once_free(options, &cache, &dir)? {
        return Ok((running, false));
    }
    let account = Account::choose(options.user.as_deref())?;
    let bindir = options.bindir.as_deref();
    let installation = Installation::find(bindir, &account, &cache, options.interrupted, on_step)?;
    let busy = || Error::KeptBusy { path: dir.clone() };
    let instance = Instance::lasting(&dir, &account)?.ok_or_else(busy)?;
    if instance.data_dir().exists() {
        check_version(&instance.data_dir(), &installation)?;
    } else {
        on_step(Step::Initialising);
        template::create_cluster(&installation, &account, &cache, &instance)?;
    }
    on_step(Step::Starting);
    let address = options.address(&instance)?;
    // Before the start: were we killed in between, the server would run without a record.
    let state = State {
        dir: dir.clone(),
        version: installation.version.text.clone(),
        address: address.clone(),
    };
    state.write(&cache)?;
    let plan = Plan {
        installation: &installation,
        account: &account,
        settings: &options.settings,
        address: &address,
        life: Life::UntilStopped,
        limit: options.start_limit.max(START_LIMIT_MIN),
        interrupted: options.interrupted,
    };
    postmaster::start(&plan, &instance)?;
    match status(&cache) {
        ServerStatus::Running(running) => Ok((running, true)),
        _ => Err(busy()), // Another process stops it already.
    }
}

/// Waits while the server starts or stops, or processes of a start that was killed are about to end;
/// then gives the server if it runs.
fn running_once_free(options: &Options, cache: &Cache, dir: &Path) -> Result<Option<Running>> {
    let began = Instant::now();
    loop {
        let busy = match status(cache) {
            ServerStatus::Running(running) => return Ok(Some(running)),
            ServerStatus::Busy { dir } => dir,
            // A start that has not come as far as the state file holds the lock too.
            ServerStatus::Stopped { .. } if Instance::is_locked(dir) => dir.to_owned(),
            ServerStatus::Stopped { .. } => return Ok(None),
        };
        if (options.interrupted)() {
            return Err(Error::Interrupted);
        }
        if began.elapsed() > options.start_limit {
            return Err(Error::KeptBusy { path: busy });
        }
        std::thread::sleep(BUSY_PAUSE);
    }
}

/// Stops the kept server: clients are cut off, what is committed is on disk. With `discard` its
/// data are removed too. Returns how it was before.
///
/// # Errors
/// When it does not end, or its data cannot be removed.
pub fn stop(cache: &Cache, discard: bool) -> Result<ServerStatus> {
    let before = status(cache);
    let Some(state) = State::read(cache) else {
        return Ok(before);
    };
    if Instance::is_locked(&state.dir) {
        // Without a server, another pgdyno is about to start one.
        let busy = || Error::KeptBusy {
            path: state.dir.clone(),
        };
        let status = Status::of_running(&state.dir.join("data")).ok_or_else(busy)?;
        end(&state.dir, status.pid)?;
    }
    if discard {
        let path = cache.kept_state();
        if state.dir.exists() {
            let Some(instance) = Instance::reopen(&state.dir)? else {
                return Err(Error::KeptBusy { path: state.dir });
            };
            instance.discard()?;
        }
        fs::remove_file(&path).map_err(Error::file("remove", &path))?;
    }
    Ok(before)
}

/// Signals the server and waits until none of its processes is left.
fn end(dir: &Path, pid: u32) -> Result<()> {
    let mut reason = String::from("it still runs");
    let mut waited = Duration::ZERO;
    for (signal, patience) in [
        (Signal::Interrupt, FAST_STOP_LIMIT),
        (Signal::Quit, HARD_STOP_LIMIT),
    ] {
        match child::send_signal(pid, signal) {
            Ok(()) => {}
            // Its last process may be about to let the lock go.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => reason = e.to_string(),
        }
        let start = Instant::now();
        while start.elapsed() < patience {
            if !Instance::is_locked(dir) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        waited += patience;
    }
    Err(Error::Stop {
        pid,
        limit: waited,
        reason,
    })
}

/// The directory of the kept instance: where it was last, unless another parent is named.
fn directory(options: &Options, cache: &Cache) -> Result<PathBuf> {
    match State::read(cache) {
        Some(state) if options.data_parent.is_none() && state.dir.exists() => Ok(state.dir),
        _ => Ok(Instance::lasting_dir(&options.parent(cache)?)),
    }
}

fn check_version(data_dir: &Path, installation: &Installation) -> Result<()> {
    let path = data_dir.join("PG_VERSION");
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    if text.trim() == installation.version.major.to_string() {
        return Ok(());
    }
    Err(Error::OtherVersion {
        path: data_dir.to_path_buf(),
        data: text.trim().into(),
        binaries: installation.version.text.clone(),
    })
}
