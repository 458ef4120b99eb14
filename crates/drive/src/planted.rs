//! Faults planted by hand, a line each, to see that the simulation finds them: of this crate's engine
//! (`crate::simulation`), and in `pgdyno-run`, which has this file too, of several generators
//! (`crate::generators::simulation`). They exist only in the crate's own tests; elsewhere the macro
//! expands to nothing.

#[cfg(test)]
pub(crate) use chosen::*;

/// `planted!(7, code)`: the code of fault 7.
#[cfg(test)]
macro_rules! planted {
    ($number:literal, $($code:tt)*) => {
        if crate::planted::is($number) {
            $($code)*
        }
    };
}

#[cfg(not(test))]
macro_rules! planted {
    ($number:literal, $($code:tt)*) => {};
}

#[cfg(test)]
mod chosen {
    use std::cell::Cell;
    use std::sync::Once;

    thread_local!(static CHOSEN: Cell<u32> = const { Cell::new(0) });

    /// Whether this fault is in force on this thread.
    pub(crate) fn is(number: u32) -> bool {
        CHOSEN.get() == number
    }

    /// Puts a fault in force on this thread; 0 none. Of a thread with a fault no panic is printed from now on:
    /// some faults show as thousands of them.
    pub(crate) fn choose(number: u32) {
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
}
