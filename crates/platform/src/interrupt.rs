//! Ctrl-C, SIGTERM and SIGHUP: counts them and wakes threads that wait in the kernel.
//!
//! What an interrupt means (end the trial, print what was measured; a second one: now) is for
//! the reader to decide.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// The interrupts of this process, from [`Interrupts::install`] on.
#[derive(Debug)]
pub struct Interrupts {
    event: OwnedFd,
    count: AtomicU32,
    last: AtomicI32,
}

impl Interrupts {
    /// Catches SIGINT, SIGTERM and SIGHUP (a terminal that is closed; not under nohup) from now on to the end of the
    /// process; later calls return the same. Before the first call they end the process as usual.
    ///
    /// # Errors
    /// When no descriptor is left or the handler cannot be installed.
    pub fn install() -> io::Result<&'static Interrupts> {
        static INSTALLED: Mutex<Option<&'static Interrupts>> = Mutex::new(None);
        // The value is set in one step, so a panic elsewhere cannot have left it half set.
        let mut installed = INSTALLED.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(interrupts) = *installed {
            return Ok(interrupts);
        }
        // Never dropped: the handlers below use its descriptor to the end of the process.
        let interrupts: &'static Interrupts = Box::leak(Box::new(Self::without_signals()?));
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
            // SAFETY: the handler only touches atomics and makes one write(2) to an eventfd,
            // both allowed in a signal handler; it neither allocates nor locks nor panics.
            unsafe {
                signal_hook::low_level::register(signal, move || {
                    interrupts.last.store(signal, Ordering::Relaxed);
                    interrupts.count.fetch_add(1, Ordering::Release);
                    let _ = rustix::io::write(&interrupts.event, &1u64.to_ne_bytes());
                })?;
            }
        }
        *installed = Some(interrupts);
        Ok(interrupts)
    }

    /// Interrupts that no signal causes, only [`Interrupts::raise`]: for simulations.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn without_signals() -> io::Result<Self> {
        Ok(Self {
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            count: AtomicU32::new(0),
            last: AtomicI32::new(0),
        })
    }

    /// Counts one as if it were a SIGINT: another process was asked to end, and so is this one.
    pub fn raise(&self) {
        self.last
            .store(signal_hook::consts::SIGINT, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Release);
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    /// As if none had come. Not for those that signals cause: their readers have counted.
    pub fn forget(&self) {
        self.count.store(0, Ordering::Release);
    }

    /// How many interrupts have come so far.
    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// The exit code that shells give a process ended by the last interrupt (130 for SIGINT,
    /// 143 for SIGTERM, 129 for SIGHUP); `None` when none has come.
    pub fn exit_code(&self) -> Option<u8> {
        // Acquire in `count` pairs with the handler's Release, so that LAST is there to see.
        (self.count() > 0).then(|| 128u8.wrapping_add(self.last.load(Ordering::Relaxed) as u8))
    }

    /// A descriptor that is readable once an interrupt has come, and from then on for good:
    /// no reader empties it, so any number of event loops can watch it. Edge-triggered
    /// watching reports each further interrupt.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// Sleeps until there have been more than `seen` interrupts or `timeout` is over; returns
    /// how many there have been. Use this in place of a plain sleep.
    pub fn wait_beyond(&self, seen: u32, timeout: Duration) -> u32 {
        let end = std::time::Instant::now() + timeout;
        loop {
            let count = self.count();
            let left = end.saturating_duration_since(std::time::Instant::now());
            if count > seen || left.is_zero() {
                return count;
            }
            // After the first interrupt the descriptor stays readable: look again in a while.
            let step = if count == 0 {
                left
            } else {
                left.min(Duration::from_millis(20))
            };
            let timeout = Timespec {
                tv_sec: i64::try_from(step.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(step.subsec_nanos()),
            };
            if count == 0 {
                // A signal that interrupts the poll is what is waited for; the loop looks.
                let _ = poll(
                    &mut [PollFd::new(&self.event, PollFlags::IN)],
                    Some(&timeout),
                );
            } else {
                std::thread::sleep(step);
            }
        }
    }
}

/// Whether who started this process has it ignore a signal, as nohup(1) does with SIGHUP.
fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action sigaction(2) only fills in the present one, all of whose bits are valid as zeros.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::{Signal, send_signal};

    fn readable(fd: BorrowedFd<'_>) -> bool {
        let none = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&none)).expect("pollable") == 1
    }

    // One test: the counter belongs to the whole process.
    #[test]
    fn interrupts_are_counted_and_wake_a_poller() {
        let interrupts = Interrupts::install().expect("installed");
        assert!(std::ptr::eq(
            interrupts,
            Interrupts::install().expect("installed")
        ));
        assert_eq!(interrupts.count(), 0);
        assert_eq!(interrupts.exit_code(), None);
        assert!(!readable(interrupts.fd()));
        assert_eq!(interrupts.wait_beyond(0, Duration::from_millis(10)), 0);

        let waiter = std::thread::spawn(move || interrupts.wait_beyond(0, Duration::from_secs(20)));
        send_signal(std::process::id(), Signal::Interrupt).expect("ourselves");
        assert_eq!(waiter.join().expect("no panic"), 1);
        assert_eq!(interrupts.exit_code(), Some(130));
        assert!(readable(interrupts.fd()));
        assert!(readable(interrupts.fd()), "it stays readable");

        let waiter = std::thread::spawn(move || interrupts.wait_beyond(1, Duration::from_secs(20)));
        send_signal(std::process::id(), Signal::Terminate).expect("ourselves");
        assert_eq!(waiter.join().expect("no panic"), 2);
        assert_eq!(interrupts.exit_code(), Some(143));

        let waiter = std::thread::spawn(move || interrupts.wait_beyond(2, Duration::from_secs(20)));
        interrupts.raise();
        assert_eq!(waiter.join().expect("no panic"), 3);
        assert_eq!(interrupts.exit_code(), Some(130));
    }
}
