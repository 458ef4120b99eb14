//! Child processes that end when they should: with this process, or not before a request.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};

/// A signal that can be sent to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Terminate,
    Interrupt,
    Quit,
    /// SIGHUP, at which servers read their configuration again.
    Hangup,
    /// SIGKILL, which cannot be caught.
    Kill,
    /// SIGSTOP: the process does nothing more until it is continued or killed.
    Stop,
    /// SIGCONT: a stopped process goes on.
    Continue,
    /// SIGUSR1, whose meaning is the program's own.
    User1,
}

impl Signal {
    fn number(self) -> libc::c_int {
        match self {
            Signal::Terminate => libc::SIGTERM,
            Signal::Interrupt => libc::SIGINT,
            Signal::Quit => libc::SIGQUIT,
            Signal::Hangup => libc::SIGHUP,
            Signal::Kill => libc::SIGKILL,
            Signal::Stop => libc::SIGSTOP,
            Signal::Continue => libc::SIGCONT,
            Signal::User1 => libc::SIGUSR1,
        }
    }
}

/// Makes the kernel send `signal` to the child when its parent ends, however it ends
/// (PR_SET_PDEATHSIG).
///
/// "Parent" is the *thread* that starts the child, not the process: start the command with
/// [`spawn_from_lasting_thread`], or it is killed when the starting thread ends. The kernel
/// forgets the request when the child changes its user afterwards; [`crate::user::run_as`]
/// changes it before.
pub fn die_with_parent(command: &mut Command, signal: Signal) {
    let number = signal.number();
    let parent = std::process::id();
    // SAFETY: the closure runs in the child between fork and exec and only makes system calls
    // that are safe there; it allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, number as libc::c_ulong) != 0 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have ended before the request was made: then no signal comes.
            if libc::getppid() as u32 != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
}

/// Puts the child into a session of its own, so that neither Ctrl-C at the terminal nor the
/// closing of the terminal reaches it.
pub fn new_session(command: &mut Command) {
    // SAFETY: as in `die_with_parent`.
    unsafe {
        command.pre_exec(|| {
            if libc::setsid() == -1 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

/// Lets the child, and the children it starts, inherit the open `file`. A lock on the file
/// (flock) is then held until this process *and* all of them have closed it or ended.
///
/// The file must stay open until the command has been spawned.
pub fn inherit(command: &mut Command, file: &File) {
    let fd = file.as_raw_fd();
    // SAFETY: as in `die_with_parent`; a descriptor closed too early makes the spawn fail
    // with EBADF, which is no memory hazard.
    unsafe {
        command.pre_exec(move || {
            if libc::fcntl(fd, libc::F_SETFD, 0) == -1 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

/// Starts `command` from a thread that lives as long as this process, as
/// [`die_with_parent`] needs.
///
/// # Errors
/// Those of [`Command::spawn`], and of starting the thread the first time.
pub fn spawn_from_lasting_thread(command: Command) -> io::Result<Child> {
    type Request = (Command, Sender<io::Result<Child>>);
    static SPAWNER: OnceLock<Sender<Request>> = OnceLock::new();

    let spawner = match SPAWNER.get() {
        Some(spawner) => spawner,
        None => {
            let (requests, incoming) = mpsc::channel::<Request>();
            std::thread::Builder::new()
                .name("spawner".into())
                .spawn(move || {
                    // Ends only with the process: the sender lies in a static.
                    for (mut command, answer) in incoming {
                        // An asker that is gone has no use for the answer.
                        let _ = answer.send(command.spawn());
                    }
                })?;
            // When two threads come here at once, the loser's spawner thread ends unused.
            SPAWNER.get_or_init(|| requests)
        }
    };
    let (answer, answered) = mpsc::channel();
    let gone = || io::Error::other("the thread that starts children has ended");
    spawner.send((command, answer)).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

/// Sends `signal` to the process `pid`.
///
/// # Errors
/// `NotFound` when there is no such process, `PermissionDenied` when it is not ours to signal,
/// `InvalidInput` for an id that means a group or all processes to the kernel (0 or less).
pub fn send_signal(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid)
        .ok()
        .filter(|pid| *pid > 0)
        .ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: kill(2) touches no memory of ours.
    if unsafe { libc::kill(pid, signal.number()) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ESRCH) => Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("no process {pid}"),
        )),
        _ => Err(error),
    }
}

/// Sends `signal` to all processes of the group that `pid` leads: a child in a session of its own
/// ([`new_session`]) with the children that it has started.
///
/// # Errors
/// As [`send_signal`]; `NotFound` when none of the group is left.
pub fn send_signal_to_group(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid)
        .ok()
        .filter(|pid| *pid > 1)
        .ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: kill(2) touches no memory of ours.
    match unsafe { libc::kill(-pid, signal.number()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The processes that all threads of `pid` have started and that still run (proc_pid_task_children
/// in proc(5)). Complete only while `pid` starts none: stop it first.
///
/// # Errors
/// There is no such process, or the kernel does not tell.
pub fn children(pid: u32) -> io::Result<Vec<u32>> {
    let mut children = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("children"))?;
        children.extend(
            text.split_whitespace()
                .filter_map(|id| id.parse::<u32>().ok()),
        );
    }
    Ok(children)
}

/// Whether a process with this id runs (a zombie that its parent has not yet reaped does not).
pub fn is_running(pid: u32) -> bool {
    // The state is the first field after the command's name, which is in parentheses and may
    // itself contain any character (proc_pid_stat(5)).
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| {
            let after_name = stat.rsplit_once(')')?.1;
            after_name.trim_start().chars().next()
        })
        .is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    fn ends_within(child: &mut Child, limit: Duration) -> Option<std::process::ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < limit {
            if let Some(status) = child.try_wait().expect("own child") {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("60").stdout(Stdio::null());
        command
    }

    #[test]
    fn a_child_of_a_thread_that_ends_is_signalled() {
        let mut child = std::thread::spawn(|| {
            let mut command = sleeper();
            die_with_parent(&mut command, Signal::Terminate);
            command.spawn().expect("sleep starts")
        })
        .join()
        .expect("the thread does not panic");
        let status = ends_within(&mut child, Duration::from_secs(5)).expect("it is signalled");
        assert_eq!(status.signal(), Some(libc::SIGTERM));
    }

    #[test]
    fn a_child_of_the_lasting_thread_outlives_the_thread_that_asked() {
        let mut child = std::thread::spawn(|| {
            let mut command = sleeper();
            die_with_parent(&mut command, Signal::Kill);
            spawn_from_lasting_thread(command).expect("sleep starts")
        })
        .join()
        .expect("the thread does not panic");
        assert!(ends_within(&mut child, Duration::from_millis(200)).is_none());
        assert!(is_running(child.id()));
        // Not Quit: who starts the tests in the background may have had it ignored.
        send_signal(child.id(), Signal::Terminate).expect("ours to signal");
        let status = ends_within(&mut child, Duration::from_secs(5)).expect("it is signalled");
        assert_eq!(status.signal(), Some(libc::SIGTERM));
    }

    #[test]
    fn the_request_to_die_with_the_parent_survives_a_change_of_user() {
        if !crate::user::is_root() {
            pgdyno_testkit::skip!(
                "the_request_to_die_with_the_parent_survives_a_change_of_user",
                "only root can change the user"
            );
        }
        let nobody = crate::user::User::named("nobody")
            .expect("readable")
            .expect("exists");
        let mut child = std::thread::spawn(move || {
            let mut command = sleeper();
            command.current_dir("/");
            die_with_parent(&mut command, Signal::Kill);
            crate::user::run_as(&mut command, &nobody);
            command.spawn().expect("sleep starts")
        })
        .join()
        .expect("the thread does not panic");
        let status = ends_within(&mut child, Duration::from_secs(5)).expect("it is killed");
        assert_eq!(status.signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_lock_on_an_inherited_file_is_held_until_the_child_ends() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("lock");
        let file = File::create(&path).expect("created");
        file.try_lock().expect("free");
        let mut command = sleeper();
        inherit(&mut command, &file);
        let mut child = command.spawn().expect("sleep starts");
        drop(file);
        let other = File::open(&path).expect("opened");
        assert!(other.try_lock().is_err(), "the child holds the lock");
        child.kill().expect("ours");
        child.wait().expect("ours");
        // A child that another test starts in this moment has the file too until it executes its
        // program.
        let deadline = Instant::now() + Duration::from_secs(10);
        while other.try_lock().is_err() {
            assert!(Instant::now() < deadline, "free again");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_child_in_a_new_session_leads_it() {
        let mut command = Command::new("sh");
        command
            .args(["-c", "cut -d' ' -f1,6 /proc/$$/stat"])
            .stdout(Stdio::piped());
        new_session(&mut command);
        let mut child = command.spawn().expect("sh starts");
        let mut said = String::new();
        child
            .stdout
            .take()
            .expect("piped")
            .read_to_string(&mut said)
            .expect("readable");
        child.wait().expect("ours");
        assert_eq!(said.trim(), format!("{0} {0}", child.id()));
    }

    #[test]
    fn signals_to_process_0_or_to_all_processes_are_errors() {
        assert_eq!(
            send_signal(0, Signal::Terminate)
                .expect_err("a group")
                .kind(),
            io::ErrorKind::InvalidInput
        );
        assert_eq!(
            send_signal(u32::MAX, Signal::Terminate)
                .expect_err("all processes")
                .kind(),
            io::ErrorKind::InvalidInput
        );
        let mut child = Command::new("true").spawn().expect("true starts");
        let pid = child.id();
        child.wait().expect("ours");
        assert!(!is_running(pid));
        assert_eq!(
            send_signal(pid, Signal::Terminate)
                .expect_err("reaped")
                .kind(),
            io::ErrorKind::NotFound
        );
    }
}
