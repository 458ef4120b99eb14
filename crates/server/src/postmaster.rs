//! Starting the server's first process and knowing how it is, from its own files: no client
//! is needed.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use pgdyno_platform::child::{self, Signal};

use crate::account::Account;
use crate::address::Address;
use crate::config;
use crate::error::{Error, Result};
use crate::installation::Installation;
use crate::instance::Instance;
use crate::setting::Setting;

/// How long processes may take to end after SIGKILL.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// Whether the server ends with this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    WithUs,
    UntilStopped,
}

/// What a start needs beside the instance.
pub(crate) struct Plan<'a> {
    pub(crate) installation: &'a Installation,
    pub(crate) account: &'a Account,
    pub(crate) settings: &'a [Setting],
    pub(crate) address: &'a Address,
    pub(crate) life: Life,
    pub(crate) limit: Duration,
    pub(crate) interrupted: fn() -> bool,
}

impl Plan<'_> {
    /// The same, which no interrupt ends.
    pub(crate) fn to_its_end(&self) -> Self {
        Self {
            interrupted: || false,
            ..*self
        }
    }
}

/// Writes the configuration that this plan asks for, and returns where it is.
fn configure(plan: &Plan, instance: &Instance) -> Result<PathBuf> {
    let config = config::text(&instance.data_dir(), plan.address, plan.settings);
    let path = instance.config_path();
    fs::write(&path, config).map_err(Error::file("write", &path))?;
    Ok(path)
}

/// Has the server read its configuration again, written anew by this plan.
pub(crate) fn reload(plan: &Plan, instance: &Instance, child: &mut Child) -> Result<()> {
    configure(plan, instance)?;
    child::send_signal(child.id(), Signal::Hangup).map_err(|source| Error::Standby {
        what: "have the server read its configuration".into(),
        reason: source.to_string(),
    })
}

/// Starts the server on the instance's data and waits until it takes connections. On failure
/// no process is left.
pub(crate) fn start(plan: &Plan, instance: &Instance) -> Result<Child> {
    let config_path = configure(plan, instance)?;
    remove_stale_status(&instance.data_dir())?;
    let log_path = instance.log_path();
    let log = new_log(&log_path)?;
    let log_too = log
        .try_clone()
        .map_err(Error::file("write to", &log_path))?;

    let program = plan.installation.program("postgres");
    let mut command = plan.account.command(&program);
    let mut config_file = std::ffi::OsString::from("config_file=");
    config_file.push(&config_path);
    command
        .arg("-D")
        .arg(instance.data_dir())
        .arg("-c")
        .arg(config_file)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(log_too);
    child::new_session(&mut command);
    child::inherit(&mut command, instance.lock());
    if plan.life == Life::WithUs {
        // SIGQUIT makes the server end all its processes at once, without a checkpoint: the
        // data are thrown away.
        child::die_with_parent(&mut command, Signal::Quit);
    }
    let mut child = child::spawn_from_lasting_thread(command).map_err(|source| Error::Run {
        path: program,
        source,
    })?;
    let ready = wait_until_ready(plan, instance, &mut child);
    if ready.is_err() {
        end(&mut child);
    }
    ready.map(|()| child)
}

fn wait_until_ready(plan: &Plan, instance: &Instance, child: &mut Child) -> Result<()> {
    let start = Instant::now();
    let version = || plan.installation.version.text.clone();
    let said = || last_words(&instance.log_path());
    loop {
        let ended = child.try_wait().map_err(|source| Error::Run {
            path: plan.installation.program("postgres"),
            source,
        })?;
        if ended.is_some() {
            return Err(Error::Start {
                version: version(),
                said: said(),
            });
        }
        let status = Status::read(&instance.data_dir());
        if status.is_some_and(|status| status.pid == child.id() && status.ready) {
            return Ok(());
        }
        if (plan.interrupted)() {
            return Err(Error::Interrupted);
        }
        if start.elapsed() > plan.limit {
            return Err(Error::StartTimeout {
                version: version(),
                limit: plan.limit,
                said: said(),
            });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Stops a server of ours with a checkpoint, as `pg_ctl -m fast` does (SIGINT); false when it has not
/// ended within `limit`.
pub(crate) fn stop(child: &mut Child, limit: Duration) -> bool {
    ended(child, Signal::Interrupt, limit)
}

/// Ends a server of ours at once: SIGQUIT, and SIGKILL when that does not help. Returns false
/// when even that did not. The server itself kills its children 5 s after SIGQUIT, so it gets
/// a little longer.
pub(crate) fn end(child: &mut Child) -> bool {
    [
        (Signal::Quit, Duration::from_secs(8)),
        (Signal::Kill, Duration::from_secs(2)),
    ]
    .into_iter()
    .any(|(signal, patience)| ended(child, signal, patience))
}

/// Sends the signal and waits; whether it has ended.
fn ended(child: &mut Child, signal: Signal, patience: Duration) -> bool {
    let start = Instant::now();
    let mut signalled = false;
    while start.elapsed() < patience {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        // Until it has been waited for, its id cannot belong to another process.
        if !signalled {
            signalled = child::send_signal(child.id(), signal).is_ok();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Ends all processes of a server at the same time, as a loss of power does (SIGKILL): none of them says
/// farewell to a client or to a standby. They are stopped first, so that the first process cannot
/// begin a recovery and the others cannot notice that it is gone.
///
/// # Errors
/// It does not run, or its processes cannot be listed or signalled.
pub(crate) fn kill(child: &mut Child) -> io::Result<()> {
    let pid = child.id();
    if !matches!(child.try_wait(), Ok(None)) {
        return Err(io::Error::other("it had ended before"));
    }
    child::send_signal(pid, Signal::Stop)?;
    let children = child::children(pid);
    for id in children.iter().flatten() {
        // One that has ended meanwhile is what was wanted.
        let _ = child::send_signal(*id, Signal::Kill);
    }
    child::send_signal(pid, Signal::Kill)?;
    child.wait()?;
    // They end a moment after the signal, unless the kernel is busy for them.
    let until = Instant::now() + KILL_LIMIT;
    for id in children? {
        while child::is_running(id) {
            if Instant::now() > until {
                let limit = KILL_LIMIT.as_secs();
                return Err(io::Error::other(format!(
                    "process {id} still runs after {limit} s"
                )));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// Ends the first process alone (SIGKILL). The others notice by themselves and end; those that have not
/// after half of [`KILL_LIMIT`], since they are busy, are killed: the server cannot start before.
///
/// # Errors
/// As [`kill`].
pub(crate) fn kill_first(child: &mut Child) -> io::Result<()> {
    let pid = child.id();
    if !matches!(child.try_wait(), Ok(None)) {
        return Err(io::Error::other("it had ended before"));
    }
    child::send_signal(pid, Signal::Stop)?;
    let children = child::children(pid);
    child::send_signal(pid, Signal::Kill)?;
    child.wait()?;
    let begun = Instant::now();
    for id in children? {
        while child::is_running(id) {
            if begun.elapsed() > KILL_LIMIT {
                return Err(io::Error::other(format!("process {id} still runs")));
            }
            if begun.elapsed() > KILL_LIMIT / 2 {
                let _ = child::send_signal(id, Signal::Kill);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// Has a standby become a primary: what `pg_ctl promote` does (manual of PostgreSQL, pg_ctl).
pub(crate) fn promote(plan: &Plan, instance: &Instance, child: &mut Child) -> Result<()> {
    let path = instance.data_dir().join("promote");
    File::create(&path).map_err(Error::file("create", &path))?;
    plan.account.give(&path)?;
    child::send_signal(child.id(), Signal::User1).map_err(|source| Error::Standby {
        what: "promote the standby".into(),
        reason: source.to_string(),
    })
}

/// What the server's own status file (postmaster.pid in the data directory) says; its lines
/// are described in PostgreSQL's src/include/utils/pidfile.h.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) pid: u32,
    pub(crate) ready: bool,
}

impl Status {
    /// `None` when there is no such file, or it is only being written.
    pub(crate) fn read(data_dir: &Path) -> Option<Status> {
        Status::parse(&fs::read_to_string(data_dir.join("postmaster.pid")).ok()?)
    }

    /// The same, when the process is really the server of these data: a crash leaves the file
    /// behind, and its process id may by now belong to another process. A server's working directory
    /// is its data directory.
    pub(crate) fn of_running(data_dir: &Path) -> Option<Status> {
        let status = Status::read(data_dir)?;
        let works_in = fs::read_link(format!("/proc/{}/cwd", status.pid)).ok()?;
        (works_in == data_dir.canonicalize().ok()?).then_some(status)
    }

    fn parse(text: &str) -> Option<Status> {
        let mut lines = text.lines();
        let pid = lines.next()?.trim().parse().ok()?;
        // Line 8 is the state; "ready" is for a server that takes connections.
        let ready = lines.nth(6).is_some_and(|state| state.trim() == "ready");
        Some(Status { pid, ready })
    }
}

/// Removes the status file that a killed server left. We hold the lock, so no process of that
/// server lives; PostgreSQL itself could not tell when the process id belongs to another by now.
fn remove_stale_status(data_dir: &Path) -> Result<()> {
    let path = data_dir.join("postmaster.pid");
    match fs::remove_file(&path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::file("remove", &path)(e)),
        _ => Ok(()),
    }
}

/// A log that starts again. The last one is kept beside it, for anyone who wonders why a kept server
/// ended.
fn new_log(path: &Path) -> Result<File> {
    if path.exists() {
        let previous = path.with_extension("previous");
        fs::rename(path, &previous).map_err(Error::file("rename", path))?;
    }
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(Error::file("create", path))
}

/// The last lines of a log, for an error message.
pub(crate) fn last_words(log: &Path) -> String {
    const LINES: usize = 15;
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if lines.is_empty() {
        return "  (nothing)".into();
    }
    let last = &lines[lines.len().saturating_sub(LINES)..];
    let indented: Vec<String> = last.iter().map(|line| format!("  {line}")).collect();
    indented.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_file_tells_who_and_whether_ready() {
        let text = "4242\n/data\n1700000000\n5432\n/socket\n\n  123  0\nready   \n";
        let status = |pid, ready| Some(Status { pid, ready });
        assert_eq!(Status::parse(text), status(4242, true));
        let starting = text.replace("ready   ", "starting");
        assert_eq!(Status::parse(&starting), status(4242, false));
        assert_eq!(Status::parse("4242\n/data\n"), status(4242, false));
        assert_eq!(Status::parse(""), None);
        assert_eq!(Status::parse("-4242\n"), None, "a standalone backend");
    }

    #[test]
    fn last_words_are_the_end_of_the_log() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let log = dir.path().join("log");
        assert_eq!(last_words(&log), "  (nothing)");
        let text: String = (1..=20).map(|n| format!("line {n}\n\n")).collect();
        fs::write(&log, text).expect("written");
        let words = last_words(&log);
        assert!(words.starts_with("  line 6\n"), "{words}");
        assert!(words.ends_with("  line 20"), "{words}");
    }
}
