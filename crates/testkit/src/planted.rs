//! Which fault that is planted in the code (`pgdyno_drive::planted!`) is in force, to see that a simulation finds it.

use std::cell::Cell;
use std::sync::Once;

thread_local!(static CHOSEN: Cell<u32> = const { Cell::new(0) });

/// Whether this fault is in force on this thread.
pub fn is(number: u32) -> bool {
    CHOSEN.get() == number
}

/// Puts a fault in force on this thread; 0 none. Of a thread with a fault no panic is printed from now on:
/// some faults show as thousands of them.
pub fn choose(number: u32) {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if is(0) {
                usual(panic);
            }
        }));
    });
    CHOSEN.set(number);
}
