//! Memory that the kernel receives into: it takes a buffer when bytes arrive, or several that follow each other in
//! the ring for one completion (a bundle), and has them back when they have been read.
//!
//! Of a bundle a completion names the first buffer only; the others are found by their places in the ring. Completions
//! need not come in the order in which the kernel took the buffers, so a place is written again only when the buffer
//! that was put there is back: until then its entry says which buffer that was, and how much of it the kernel used.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;
use io_uring::{IoUring, cqueue};

/// The group's number within its ring.
pub(super) const GROUP: u16 = 0;
/// How many there are: a power of two. A connection that finds none is asked again.
const COUNT: u16 = 512;
/// The size of one. Beginnings a power of two apart would share a few sets of the cache.
const BYTES: usize = 2048 + 64;
const ENTRIES_BYTES: usize = COUNT as usize * size_of::<BufRingEntry>();
const MEMORY_BYTES: usize = ENTRIES_BYTES + COUNT as usize * BYTES;

/// The buffers of one ring, and the ring of those that the kernel may take.
pub(super) struct Buffers {
    /// Entries first, on a page of their own, then the buffers.
    memory: NonNull<u8>,
    tail: u16,
    /// Whether a completion may tell of several buffers.
    pub(super) in_bundles: bool,
    /// Where in the ring each buffer was put last.
    places: Box<[u16]>,
    /// By place, whether the buffer that was put there is back.
    is_back: Box<[bool]>,
    /// Those that are back and wait for the next place: as many as are marked in `is_back`.
    waiting: Vec<u16>,
}

/// Bytes that have arrived, as far as they have not been read: in the buffer `id`, and `beyond` it in those that were
/// put into the ring after it. All but the last one are full.
pub(super) struct Filled {
    id: u16,
    begin: usize,
    end: usize,
    beyond: usize,
}

impl Filled {
    pub(super) fn is_empty(&self) -> bool {
        self.begin == self.end && self.beyond == 0
    }
}

impl Buffers {
    /// Makes them and gives them all to the kernel. The ring must be gone before they are.
    pub(super) fn register(ring: &IoUring, in_bundles: bool) -> io::Result<Self> {
        // SAFETY: new memory, at no place in particular.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                MEMORY_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut buffers = Self {
            memory,
            tail: 0,
            in_bundles,
            places: vec![0; COUNT.into()].into(),
            is_back: vec![true; COUNT.into()].into(),
            waiting: (0..COUNT).rev().collect(),
        };
        let address = memory.as_ptr() as u64;
        // SAFETY: the memory holds so many entries and lives until `drop`, after the ring's end.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(address, COUNT, GROUP, 0)?;
        }
        buffers.hand_over();
        Ok(buffers)
    }

    fn bytes_of(&self, id: u16) -> *mut u8 {
        debug_assert!(id < COUNT);
        // SAFETY: within the memory for every id below COUNT.
        unsafe {
            self.memory
                .as_ptr()
                .add(ENTRIES_BYTES + usize::from(id) * BYTES)
        }
    }

    fn entries(&self) -> *mut BufRingEntry {
        self.memory.as_ptr().cast()
    }

    /// Puts those that wait into the ring, as far as its next places may be written again.
    fn hand_over(&mut self) {
        loop {
            let place = usize::from(self.tail % COUNT);
            if !self.is_back[place] {
                break;
            }
            let Some(id) = self.waiting.pop() else {
                break;
            };
            let bytes = self.bytes_of(id) as u64;
            // SAFETY: the index is below COUNT. The kernel reads an entry only after the tail has passed it, and has
            // read this one a round ago: it has used the buffer that was here, as that is back.
            let entry = unsafe { &mut *self.entries().add(place) };
            entry.set_addr(bytes);
            entry.set_len(BYTES as u32);
            entry.set_bid(id);
            self.is_back[place] = false;
            self.places[usize::from(id)] = place as u16;
            self.tail = self.tail.wrapping_add(1);
        }
        // SAFETY: the tail lies within the first entry, aligned, and is shared with the kernel only.
        let tail = unsafe { &*BufRingEntry::tail(self.entries()).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }

    /// The bytes that a completion tells of.
    pub(super) fn filled(&self, entry: &cqueue::Entry) -> Option<Filled> {
        let id = cqueue::buffer_select(entry.flags())?;
        let all = usize::try_from(entry.result()).unwrap_or(0);
        // A bundle of no bytes has taken no buffer.
        let is_there = id < COUNT && (all > 0 || !self.in_bundles);
        is_there.then(|| self.span(id, all))
    }

    /// So many bytes that begin in this buffer.
    fn span(&self, id: u16, all: usize) -> Filled {
        let place = usize::from(self.places[usize::from(id)]);
        assert!(!self.is_back[place], "buffer {id} was not the kernel's");
        let mut end = all.min(BYTES);
        if self.in_bundles {
            // The kernel may have shortened an entry, for less that it knew would come.
            // SAFETY: the index is below COUNT, and the kernel does not use the entry any more.
            let length = unsafe { (*self.entries().add(place)).len() };
            end = end.min((length as usize).max(1));
        }
        Filled {
            id,
            begin: 0,
            end,
            beyond: if self.in_bundles { all - end } else { 0 },
        }
    }

    /// Gives back the first buffer of several and goes on to the next.
    fn advance(&mut self, filled: &mut Filled) {
        let next = (self.places[usize::from(filled.id)] + 1) % COUNT;
        // SAFETY: the index is below COUNT; the entry is as it was written, as its buffer is not back.
        let id = unsafe { (*self.entries().add(next.into())).bid() };
        assert_eq!(self.places[usize::from(id)], next, "buffer {id}'s place");
        let rest = self.span(id, filled.beyond);
        self.take_back(filled.id);
        *filled = rest;
    }

    /// Copies as much as `to` holds and says how much that was.
    pub(super) fn read(&mut self, filled: &mut Filled, to: &mut [u8]) -> usize {
        let mut read = 0;
        loop {
            let count = (to.len() - read).min(filled.end - filled.begin);
            // SAFETY: the kernel has filled these bytes and leaves the buffer alone until it is given
            // back, which consumes what is `filled`.
            let bytes = unsafe {
                std::slice::from_raw_parts(self.bytes_of(filled.id).add(filled.begin), count)
            };
            to[read..read + count].copy_from_slice(bytes);
            filled.begin += count;
            read += count;
            if filled.begin < filled.end || filled.beyond == 0 {
                return read;
            }
            self.advance(filled);
        }
    }

    /// Lets the kernel use the buffers again.
    pub(super) fn give_back(&mut self, mut filled: Filled) {
        while filled.beyond > 0 {
            self.advance(&mut filled);
        }
        self.take_back(filled.id);
        self.hand_over();
    }

    /// One that the kernel has used and that has been read.
    fn take_back(&mut self, id: u16) {
        let place = usize::from(self.places[usize::from(id)]);
        self.is_back[place] = true;
        self.waiting.push(id);
    }

    /// How many the kernel has used, from the first on and modulo 2^16, when all of its events have been read.
    #[cfg(test)]
    pub(super) fn used(&self) -> u16 {
        let waiting = self.waiting.len() as u16;
        self.tail.wrapping_sub(COUNT).wrapping_add(waiting)
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: mapped by `register` with this length; the ring is gone, and its requests with it.
        unsafe {
            libc::munmap(self.memory.as_ptr().cast(), MEMORY_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_found_whole_when_a_later_buffer_was_back_before_it() {
        if let Err(reason) = super::super::Uring::probe() {
            pgdyno_testkit::skip!(
                "a_bundle_is_found_whole_when_a_later_buffer_was_back_before_it",
                format!("no io_uring: {reason}")
            );
        }
        let ring = IoUring::new(8).unwrap();
        let mut buffers = Buffers::register(&ring, true).unwrap();
        let mut bundle = buffers.span(0, 2 * BYTES);
        let later = buffers.span(2, 10);
        buffers.give_back(later);
        // The first place of the ring is the next to be written, and is the bundle's still.
        assert_eq!(buffers.tail, COUNT);
        buffers.advance(&mut bundle);
        assert_eq!((bundle.id, bundle.end, bundle.beyond), (1, BYTES, 0));
        buffers.give_back(bundle);
        assert_eq!((buffers.tail, buffers.used()), (COUNT + 3, 3));
        drop(ring);
    }
}
