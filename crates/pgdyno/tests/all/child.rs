//! A run in the background: signalled, watched, and never waited for without end.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pgdyno_platform::child::{Signal, send_signal};

use crate::support::Ran;

/// No run of these tests takes so long: one that does hangs.
const HANGS: Duration = Duration::from_secs(180);

pub struct Running {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

fn gather(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("it is read");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Running {
    pub fn start(command: &mut Command) -> Running {
        Running::start_silent(command.stdout(Stdio::piped()))
    }

    /// With its standard output where the command says.
    pub fn start_silent(command: &mut Command) -> Running {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        Running {
            stdout: child.stdout.take().map(gather),
            stderr: child.stderr.take().map(gather),
            child,
        }
    }

    pub fn signal(&self, signal: Signal) {
        send_signal(self.child.id(), signal).expect("it runs");
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("our child").is_some()
    }

    /// How it ended; one that hangs is killed, and the test fails.
    #[track_caller]
    pub fn ended(mut self) -> Ran {
        let began = Instant::now();
        while !self.is_over() {
            assert!(began.elapsed() < HANGS, "it hangs: {:?}", self.child);
            std::thread::sleep(Duration::from_millis(5));
        }
        let status = self.child.wait().expect("our child");
        // As a shell tells it.
        let code = status.code().or_else(|| Some(128 + status.signal()?));
        let text = |thread: Option<JoinHandle<String>>| {
            thread.map_or_else(String::new, |t| t.join().expect("it only reads"))
        };
        Ran {
            code,
            stdout: text(self.stdout.take()),
            stderr: text(self.stderr.take()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is so.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    loop {
        let asked = Instant::now();
        if is_so() {
            return;
        }
        assert!(began.elapsed() < HANGS, "never came: {what}");
        // Some start a program to know it: what is waited for needs the CPU more.
        let pause = (3 * asked.elapsed()).max(Duration::from_millis(20));
        std::thread::sleep(pause.min(Duration::from_millis(500)));
    }
}

/// Processes of servers whose data lie below `dir`: all that a server starts works in its data
/// directory.
pub fn server_processes(dir: &Path) -> Vec<u32> {
    let works_below = |pid: &u32| {
        let cwd: Option<PathBuf> = std::fs::read_link(format!("/proc/{pid}/cwd")).ok();
        cwd.is_some_and(|cwd| cwd.starts_with(dir))
    };
    std::fs::read_dir("/proc")
        .expect("mounted")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(works_below)
        .collect()
}
