//! Ends another thread's wait: an eventfd that its event loop watches.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// Wakes one event loop. Cheap to clone and safe to use from any thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// # Errors
    /// No file descriptor to be had.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self(Arc::new(eventfd(0, flags)?)))
    }

    /// Ends the loop's present wait, or its next one when it is not waiting.
    pub fn wake(&self) {
        // The only failure is a full counter, and then the loop is awake anyway.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }

    pub(super) fn drain(&self) {
        let mut count = [0u8; 8];
        // Nothing to read means that another thread drained it first.
        let _ = rustix::io::read(&*self.0, &mut count);
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
