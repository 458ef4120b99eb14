//! Whether this kernel lets us work with io_uring as we do: it is tried, because a version number
//! tells neither what a container forbids nor what a distribution has left out.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{RecvFlags, SendFlags};

use super::super::{Event, Io, Socket};
use super::Uring;

/// So long a byte may take through a socket pair.
const PATIENCE: Duration = Duration::from_secs(2);

impl Uring {
    /// One for each of so many threads.
    ///
    /// # Errors
    /// Why io_uring cannot be used here, in words.
    pub fn many(count: usize) -> Result<Vec<Self>, String> {
        Self::probe()?;
        let rings = (0..count).map(|_| Self::new());
        let rings: io::Result<_> = rings.collect();
        rings.map_err(|error| explain(&error))
    }

    /// Receives a byte and sends one.
    ///
    /// # Errors
    /// Why io_uring cannot be used here, in words.
    pub fn probe() -> Result<(), String> {
        let mut uring = Self::new().map_err(|error| explain(&error))?;
        round_trip(&mut uring).map_err(|error| explain(&error))
    }
}

fn round_trip(uring: &mut Uring) -> io::Result<()> {
    let (near, far) = Socket::pair()?;
    uring.open(0, near)?;
    rustix::net::send(&far, b"!", SendFlags::empty())?;
    let mut buffer = [0; 8];
    // A wait may also end for other reasons.
    for _ in 0..10 {
        uring.wait_for(PATIENCE)?;
        if let Some((_, event)) = uring.next(&mut buffer) {
            match event {
                Event::Received(1) if buffer[0] == b'!' => return answer(uring, &far),
                Event::Failed(error) => return Err(error),
                _ => return Err(io::ErrorKind::Unsupported.into()),
            }
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// What was sent without a completion must arrive after the wait.
fn answer(uring: &mut Uring, far: &OwnedFd) -> io::Result<()> {
    uring.send(0, b"?")?;
    uring.wait_for(Duration::ZERO)?;
    let mut answer = [0; 8];
    let (_, count) = rustix::net::recv(far, &mut answer, RecvFlags::empty())?;
    if &answer[..count] == b"?" && uring.next(&mut [0; 8]).is_none() {
        Ok(())
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// What an error means for a user who requested io_uring.
fn explain(error: &io::Error) -> String {
    let why = match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has none, or a sandbox hides it",
        Some(libc::EPERM | libc::EACCES) => {
            "it is forbidden here: by the container's seccomp profile, or by the sysctl \
             kernel.io_uring_disabled"
        }
        Some(libc::EINVAL) => "this kernel is older than Linux 6.1",
        Some(libc::ENOMEM) => "the limit of locked memory (ulimit -l) is too low",
        Some(libc::EMFILE | libc::ENFILE) => "no file descriptor is left (ulimit -n)",
        _ => "this kernel lacks something of it",
    };
    format!("{why} ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_without_io_uring_is_a_sentence() {
        for (errno, words) in [
            (libc::ENOSYS, "has none"),
            (libc::EPERM, "seccomp"),
            (libc::EINVAL, "6.1"),
            (libc::ENOMEM, "ulimit -l"),
            (libc::EMFILE, "ulimit -n"),
            (libc::EIO, "lacks"),
        ] {
            let reported = explain(&io::Error::from_raw_os_error(errno));
            assert!(reported.contains(words), "{reported}");
        }
    }
}
