//! What happens when there is no more memory: the process ends with a message and exit code 1. Without
//! this Rust aborts, with a message that does not say which program it is of.
//!
//! What cannot go on without memory has nothing to clean up: a notebook is as whole as after a kill.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, for `#[global_allocator]`.
#[derive(Debug)]
pub struct OrEnd;

// SAFETY: each call is passed on to the system's allocator as it came, whose promises are these; a null
// pointer is never returned.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises for `layout`.
        not_null(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        not_null(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as in `alloc`; `block` came from the system's allocator, for this one has no other.
        not_null(unsafe { System.realloc(block, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

fn not_null(block: *mut u8, bytes: usize) -> *mut u8 {
    if block.is_null() {
        end(bytes);
    }
    block
}

/// Takes no memory, no lock that another thread may hold, and runs nothing that is registered for an exit.
#[cold]
fn end(bytes: usize) -> ! {
    static ENDING: AtomicBool = AtomicBool::new(false);
    while ENDING.swap(true, Ordering::Relaxed) {
        // Another thread says it, and ends this one too.
        // SAFETY: the call touches no memory.
        unsafe { libc::pause() };
    }
    let mut text = [0; 200];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "pgdyno: error: out of memory: could not allocate {bytes} bytes\n\
         pgdyno: hint: raise the limit on memory (ulimit -v, a container's), or use fewer clients"
    );
    let left = rest.len();
    let said = text.len() - left;
    // SAFETY: the bytes are there; both calls touch no other memory.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), said);
        libc::_exit(1)
    }
}
