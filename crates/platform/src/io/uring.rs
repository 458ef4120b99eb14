//! [`Io`] over io_uring: what is to be sent is gathered and handed to the kernel with the wait, all
//! in one system call; what arrives comes with its bytes (multishot receives into buffers that the
//! kernel chooses), without a system call.
//!
//! The ring belongs to one thread (single issuer), and the kernel does its work when that thread
//! waits (deferred task run). Linux 6.1 or later, and only where io_uring is allowed: see
//! [`Uring::probe`].

mod alarm;
mod buffers;
mod connection;
mod probe;

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::types::{CancelBuilder, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, squeue};

use super::{Event, Io, Key, Socket, Waker};
use alarm::Alarm;
use buffers::{Buffers, Filled};
use connection::{Connection, Kind, Token};

/// Entries for the kernel that one system call takes; more need another.
const SUBMISSIONS: u32 = 512;
/// What the kernel may have to tell between two waits without keeping a list of its own.
const COMPLETIONS: u32 = 4096;
/// The waker's token; no connection has it.
const WAKER: u64 = u64::MAX;
/// How often a submission that the kernel has no memory for is tried again, a millisecond apart.
const SUBMIT_TRIES_MAX: u32 = 1000;

/// The sockets of one event loop, driven by io_uring.
pub struct Uring {
    /// Dropped before what the kernel writes to and reads from.
    ring: IoUring,
    /// The ring works for the thread that waits first.
    is_enabled: bool,
    buffers: Buffers,
    alarm: Alarm,
    waker: Waker,
    is_waker_armed: bool,
    connections: Vec<Connection>,
    /// Connections with requests to the kernel for the next wait.
    dirty: Vec<Key>,
    /// What has arrived and did not fit in the buffer given to [`Io::next`].
    rest: Option<(Token, Filled)>,
}

// SAFETY: the raw pointers inside lead to memory that the value owns; nothing of it is shared.
unsafe impl Send for Uring {}

impl Uring {
    /// A ring that works for the thread that calls [`Io::wait`] first.
    ///
    /// # Errors
    /// What the kernel says where it cannot or may not: `ENOSYS`, `EPERM`, `EINVAL` (too old),
    /// `ENOMEM`.
    pub fn new() -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_r_disabled()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)?;
        let params = ring.params();
        if !(params.is_feature_ext_arg() && params.is_feature_skip_cqe_on_success()) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let bundles = params.is_feature_recvsend_bundle() && bundles_are_whole();
        let buffers = Buffers::register(&ring, bundles)?;
        Ok(Self {
            ring,
            is_enabled: false,
            buffers,
            alarm: Alarm::unset(),
            waker: Waker::new()?,
            is_waker_armed: false,
            connections: Vec::new(),
            dirty: Vec::new(),
            rest: None,
        })
    }

    /// How many buffers the kernel has used, modulo 2^16: by its events, and by its answer to a query (Linux 6.8).
    #[cfg(test)]
    pub(super) fn buffers_used(&self) -> (u16, Option<u16>) {
        // `struct io_uring_buf_status`: the group, the place of the next buffer to be used, and room for more.
        let mut status = [0_u32; 10];
        status[0] = buffers::GROUP.into();
        const REGISTER_PBUF_STATUS: i32 = 26;
        // SAFETY: the kernel writes no more than the struct, which is as long as the array.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_io_uring_register,
                self.ring.as_raw_fd(),
                REGISTER_PBUF_STATUS,
                status.as_mut_ptr(),
                1,
            )
        };
        (
            self.buffers.used(),
            (answer == 0).then_some(status[1] as u16),
        )
    }

    fn connection(&mut self, key: Key) -> &mut Connection {
        let index = key as usize;
        if index >= self.connections.len() {
            self.connections.resize_with(index + 1, Connection::default);
        }
        &mut self.connections[index]
    }

    /// The connection that a token speaks of, unless its socket is gone.
    fn current(&mut self, token: Token) -> Option<&mut Connection> {
        let connection = self.connections.get_mut(token.key as usize)?;
        let is_it = connection.socket.is_some() && connection.generation == token.generation;
        is_it.then_some(connection)
    }

    /// Registers this connection with the kernel at the next wait.
    fn touch(&mut self, key: Key) {
        let connection = &mut self.connections[key as usize];
        if !std::mem::replace(&mut connection.is_dirty, true) {
            self.dirty.push(key);
        }
    }

    /// Queues an entry.
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        loop {
            // SAFETY: what an entry points to is a connection's `flying` or the alarm's time, which
            // stay as they are until the kernel has taken the entry: before a wait ends, or this
            // value is dropped.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.submit()?;
        }
    }

    /// Hands all queued entries to the kernel. A send is over when this returns: it is flagged not to
    /// wait for room.
    fn submit(&mut self) -> io::Result<()> {
        for _ in 0..SUBMIT_TRIES_MAX {
            let submitted = self.ring.submit();
            if self.ring.submission().is_empty() {
                return Ok(());
            }
            match submitted {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_passing(&error) => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::OutOfMemory.into())
    }

    /// Hands queued entries to the kernel and has it do its work, without waiting for more of it.
    fn submit_and_look(&self) -> io::Result<usize> {
        let no_time = Timespec::new();
        let arguments = SubmitArgs::new().timespec(&no_time);
        self.ring.submitter().submit_with_args(1, &arguments)
    }

    /// Queues requests to the kernel.
    fn queue(&mut self) -> io::Result<()> {
        if !self.is_waker_armed {
            self.is_waker_armed = true;
            let fd = io_uring::types::Fd(self.waker.fd().as_raw_fd());
            let poll = io_uring::opcode::PollAdd::new(fd, libc::POLLIN as u32).multi(true);
            self.push(&poll.build().user_data(WAKER))?;
        }
        // Not drained: nothing is added here, and the memory stays.
        for index in 0..self.dirty.len() {
            let key = self.dirty[index];
            let connection = &mut self.connections[key as usize];
            connection.is_dirty = false;
            let bundles = self.buffers.in_bundles;
            while let Some(entry) = self.connections[key as usize].next_entry(key, bundles) {
                self.push(&entry)?;
            }
        }
        self.dirty.clear();
        Ok(())
    }

    /// Lets the kernel finish what is over, such as receives of sockets that were shut down. What is not
    /// finished when all is cancelled is gone over once for each that is: quadratic in the connections.
    fn settle(&mut self) {
        // What is queued still would begin.
        if !self.ring.submission().is_empty() {
            return;
        }
        for _ in 0..=self.connections.len() {
            let _ = self.submit_and_look();
            let mut is_settled = true;
            while let Some(entry) = self.ring.completion().next() {
                is_settled = false;
                if let Some(filled) = self.buffers.filled(&entry) {
                    self.buffers.give_back(filled);
                }
            }
            if is_settled {
                return;
            }
        }
    }

    /// Takes note of one completion and says what it means for the user of this loop, if anything.
    fn completed(&mut self, entry: &cqueue::Entry) -> Option<(Key, Event)> {
        match entry.user_data() {
            WAKER => {
                self.waker.drain();
                self.is_waker_armed = cqueue::more(entry.flags());
                return None;
            }
            alarm::TOKEN => {
                self.alarm.rang();
                return None;
            }
            alarm::CHANGE => return None,
            _ => {}
        }
        let token = Token::from(entry.user_data());
        let filled = self.buffers.filled(entry);
        let Some(connection) = self.current(token) else {
            if let Some(filled) = filled {
                self.buffers.give_back(filled);
            }
            return None;
        };
        let event = match token.kind {
            Kind::Receive => connection.received(entry.result(), cqueue::more(entry.flags())),
            Kind::Send => connection.not_sent(entry.result()),
            Kind::Room => connection.has_room(),
        };
        if connection.has_entry() {
            self.touch(token.key);
        }
        match filled {
            Some(filled) if !filled.is_empty() => self.rest = Some((token, filled)),
            Some(filled) => self.buffers.give_back(filled),
            None => {}
        }
        event.map(|event| (token.key, event))
    }

    /// The part of what has arrived that fits.
    fn read(&mut self, buffer: &mut [u8]) -> Option<(Key, Event)> {
        let (token, mut filled) = self.rest.take()?;
        if self.current(token).is_none() {
            self.buffers.give_back(filled);
            return None;
        }
        let count = self.buffers.read(&mut filled, buffer);
        if filled.is_empty() {
            self.buffers.give_back(filled);
        } else {
            self.rest = Some((token, filled));
        }
        Some((token.key, Event::Received(count)))
    }
}

impl Io for Uring {
    fn open(&mut self, key: Key, socket: Socket) -> io::Result<()> {
        self.close(key);
        // A socket that does not block has the kernel answer at once that nothing has arrived.
        rustix::io::ioctl_fionbio(&socket.fd, false)?;
        self.connection(key).open(socket);
        self.touch(key);
        Ok(())
    }

    fn close(&mut self, key: Key) {
        self.connection(key).close();
    }

    fn send(&mut self, key: Key, bytes: &[u8]) -> io::Result<()> {
        let connection = &mut self.connections[key as usize];
        if connection.socket.is_none() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        connection.unsent.extend_from_slice(bytes);
        self.touch(key);
        Ok(())
    }

    fn wait(&mut self, now_ns: u64, deadline_ns: Option<u64>) -> io::Result<()> {
        if !self.is_enabled {
            self.ring.submitter().register_enable_rings()?;
            self.is_enabled = true;
        }
        self.queue()?;
        let has_more = self.rest.is_some();
        let waited = if has_more || deadline_ns.is_some_and(|at| at <= now_ns) {
            self.submit_and_look()
        } else {
            if let Some(entry) = deadline_ns.and_then(|at| self.alarm.entry_for(at)) {
                self.push(&entry)?;
            }
            self.ring.submit_and_wait(1)
        };
        match waited {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        if self.ring.submission().is_empty() {
            return Ok(());
        }
        self.submit()
    }

    fn next(&mut self, buffer: &mut [u8]) -> Option<(Key, Event)> {
        loop {
            if let Some(event) = self.read(buffer) {
                return Some(event);
            }
            let entry = self.ring.completion().next()?;
            if let Some(event) = self.completed(&entry) {
                return Some(event);
            }
        }
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.is_enabled {
            self.settle();
            // Nothing more shall be written to the buffers. Only what was never begun cannot be
            // cancelled, and the ring's end forgets that.
            let patience = Timespec::from(Duration::from_secs(1));
            let _ = self
                .ring
                .submitter()
                .register_sync_cancel(Some(patience), CancelBuilder::any());
        }
    }
}

/// Whether this kernel is younger than those that may put the bytes of a bundle into other buffers than they say
/// (axboe/liburing issues 1409 and 1411: up to 6.15).
fn bundles_are_whole() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    release.is_ok_and(|release| is_at_least_6_17(&release))
}

fn is_at_least_6_17(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next()?.parse::<u32>().ok();
    number().zip(number()) >= Some((6, 17))
}

/// Whether the kernel may have means later.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_are_left_to_kernels_without_gaps() {
        for young in ["6.17.0", "6.18.44-fc", "7.0-rc1", "10.1.2"] {
            assert!(is_at_least_6_17(young), "{young}");
        }
        for old in ["6.16.12-arch1", "6.9.1", "5.15.0-101-generic", "", "six"] {
            assert!(!is_at_least_6_17(old), "{old}");
        }
    }
}
