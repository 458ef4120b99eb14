//! A program of which one system call fails, at every point in turn: a library preloaded into it
//! (`failing.c`) counts the calls that write to files or start a thread, and lets one fail.
//!
//! A run without a failure tells which calls there are ([`Call::all`]); [`Call::faults`] says how each
//! can fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::io::Errno;

use crate::preload;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// ENOSPC: the disk is full.
    NoSpace,
    /// EIO: the disk is broken.
    Io,
    /// EINTR: a signal came; the same call works when it is made again.
    Interrupted,
    /// No error: half of the bytes are written.
    Short,
    NoMemory,
    NoThread,
}

impl Fault {
    fn errno(self) -> i32 {
        match self {
            Fault::NoSpace => Errno::NOSPC.raw_os_error(),
            Fault::Io => Errno::IO.raw_os_error(),
            Fault::Interrupted => Errno::INTR.raw_os_error(),
            Fault::Short => 0,
            Fault::NoMemory => Errno::NOMEM.raw_os_error(),
            Fault::NoThread => Errno::AGAIN.raw_os_error(),
        }
    }

    /// Whether a program goes on after it as if it had not been: nothing is lost.
    pub fn is_harmless(self) -> bool {
        matches!(self, Fault::Interrupted | Fault::Short)
    }
}

#[derive(Debug)]
pub struct Failing {
    library: PathBuf,
}

impl Failing {
    /// Builds it in a folder. `None` without a C compiler (`cc`).
    ///
    /// # Panics
    /// It does not compile.
    pub fn build(folder: &Path) -> Option<Failing> {
        let library = preload::build(folder, "failing.so", include_bytes!("failing.c"))?;
        Some(Failing { library })
    }

    /// Has the command count its calls on files in the folder `under`, by their names as they are without
    /// symbolic links, into the file `log`, and call number `at` (0: none) fail. A log that exists is
    /// replaced.
    ///
    /// # Panics
    /// The log cannot be made.
    pub fn apply(
        &self,
        command: &mut Command,
        under: &Path,
        log: &Path,
        (at, fault): (u32, Fault),
    ) {
        fs::write(log, "").expect("a new log");
        let program = Path::new(command.get_program()).file_name();
        let program = program.expect("a program").to_owned();
        command
            .env("LD_PRELOAD", &self.library)
            .env("FAILING_PROGRAM", program)
            .env("FAILING_UNDER", under)
            .env("FAILING_LOG", log)
            .env("FAILING_AT", at.to_string())
            .env("FAILING_ERROR", fault.errno().to_string());
    }
}

/// A call that was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub number: u32,
    /// Its function, such as `pwrite64`.
    pub name: String,
    /// How many it was to write.
    pub bytes: usize,
    /// The file; of a thread the folder.
    pub path: PathBuf,
    /// Whether it was made to fail.
    pub failed: bool,
}

impl Call {
    /// The calls of a log.
    ///
    /// # Panics
    /// It is none.
    pub fn all(log: &Path) -> Vec<Call> {
        let text = fs::read_to_string(log).expect("a log");
        text.lines().map(Call::parse).collect()
    }

    fn parse(line: &str) -> Call {
        let (failed, rest) = match line.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let mut words = rest.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("no call: {line}"));
        Call {
            number: word().parse().expect("a number"),
            name: word().to_owned(),
            bytes: word().parse().expect("a number"),
            path: word().into(),
            failed,
        }
    }

    /// How it can fail. A sync is not interrupted: file systems of this host do not, and SQLite would not
    /// try it again.
    pub fn faults(&self) -> &'static [Fault] {
        use Fault::{Interrupted, Io, NoMemory, NoSpace, NoThread, Short};
        match self.name.as_str() {
            "write" | "pwrite" | "pwrite64" | "writev" if self.bytes > 1 => {
                &[NoSpace, Io, Interrupted, Short]
            }
            "write" | "pwrite" | "pwrite64" | "writev" | "open" | "ftruncate" | "ftruncate64" => {
                &[NoSpace, Io, Interrupted]
            }
            "fsync" | "fdatasync" | "rename" | "mkdir" => &[NoSpace, Io],
            "unlink" => &[Io],
            "mmap" => &[NoMemory],
            "pthread_create" => &[NoThread],
            other => panic!("how can {other} fail?"),
        }
    }
}
