//! Limits of this process: on open files, of which each client needs one, and on the size of files.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit on open files to the most this process may have and returns it;
/// `u64::MAX` means no limit.
///
/// # Errors
/// When the kernel refuses, which it does not for an ordinary process.
pub fn raise_open_files() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: limit.maximum,
                maximum: limit.maximum,
            },
        )?;
    }
    Ok(limit.maximum.unwrap_or(u64::MAX))
}

/// From now on a write beyond the limit on the size of files (`ulimit -f`) is an error (EFBIG), as on a full
/// disk; before, the signal SIGXFSZ ends the process without a word. Child processes are not concerned.
///
/// # Errors
/// When the handler cannot be installed.
pub fn fail_on_large_files() -> io::Result<()> {
    // A handler, since a signal that is ignored would stay so in child processes.
    let unread = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, unread).map(drop)
}

/// What to try when all files that this process may have are open.
pub const MORE_FILES: &str = "raise the limit on open files (ulimit -n)";

/// A library that opens a file needs as many at once, with those that go with it.
const TOGETHER: usize = 4;

/// Whether a file could not be opened because this process, or the host, has too many open already. For
/// libraries that do not say so.
pub fn are_all_files_open() -> bool {
    let opened: io::Result<Vec<File>> = (0..TOGETHER).map(|_| File::open("/dev/null")).collect();
    let too_many = [Errno::MFILE, Errno::NFILE].map(|errno| Some(errno.raw_os_error()));
    opened.is_err_and(|error| too_many.contains(&error.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_can_be_opened_are_not_too_many() {
        assert!(!are_all_files_open());
    }

    #[test]
    fn the_limit_is_the_hard_limit_afterwards() {
        let raised = raise_open_files().expect("allowed");
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert_eq!(limit.current.unwrap_or(u64::MAX), raised);
    }
}
