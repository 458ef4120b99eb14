//! Memory that the kernel receives into: it takes a buffer when bytes arrive, and has it back when
//! they have been read.

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
}

/// Bytes that have arrived, as far as they have not been read.
pub(super) struct Filled {
    id: u16,
    begin: usize,
    end: usize,
}

impl Filled {
    pub(super) fn is_empty(&self) -> bool {
        self.begin == self.end
    }
}

impl Buffers {
    /// Makes them and gives them all to the kernel. The ring must be gone before they are.
    pub(super) fn register(ring: &IoUring) -> io::Result<Self> {
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
        let mut buffers = Self { memory, tail: 0 };
        let address = memory.as_ptr() as u64;
        // SAFETY: the memory holds so many entries and lives until `drop`, after the ring's end.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(address, COUNT, GROUP, 0)?;
        }
        (0..COUNT).for_each(|id| buffers.add(id));
        buffers.publish();
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

    fn add(&mut self, id: u16) {
        let bytes = self.bytes_of(id) as u64;
        // SAFETY: the index is below COUNT; the kernel reads an entry only after `publish`, and no
        // more than COUNT are with it, so that it does not read this one now.
        let entry = unsafe { &mut *self.entries().add(usize::from(self.tail % COUNT)) };
        entry.set_addr(bytes);
        entry.set_len(BYTES as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&mut self) {
        // SAFETY: the tail lies within the first entry, aligned, and is shared with the kernel only.
        let tail = unsafe { &*BufRingEntry::tail(self.entries()).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }

    /// The bytes that a completion tells of.
    pub(super) fn filled(&self, entry: &cqueue::Entry) -> Option<Filled> {
        let id = cqueue::buffer_select(entry.flags())?;
        let end = usize::try_from(entry.result()).unwrap_or(0).min(BYTES);
        (id < COUNT).then_some(Filled { id, begin: 0, end })
    }

    /// Copies as much as `to` holds and says how much that was.
    pub(super) fn read(&self, filled: &mut Filled, to: &mut [u8]) -> usize {
        let count = to.len().min(filled.end - filled.begin);
        // SAFETY: the kernel has filled these bytes and leaves the buffer alone until it is given
        // back, which consumes what is `filled`.
        let bytes = unsafe {
            std::slice::from_raw_parts(self.bytes_of(filled.id).add(filled.begin), count)
        };
        to[..count].copy_from_slice(bytes);
        filled.begin += count;
        count
    }

    /// Lets the kernel use a buffer again.
    pub(super) fn give_back(&mut self, filled: Filled) {
        self.add(filled.id);
        self.publish();
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
