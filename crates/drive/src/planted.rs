//! Faults planted by hand, a line each, to see that the simulation finds them: of this crate's engine
//! (`crate::simulation`), and in `pgdyno-run`, which has this file too, of several generators
//! (`crate::generators::simulation`). They exist only with the feature `planted` of the crate; without it the macro
//! expands to nothing.

#[cfg(feature = "planted")]
mod chosen {
    use std::cell::Cell;

    thread_local!(static CHOSEN: Cell<u32> = const { Cell::new(0) });

    /// Whether this fault is in force on this thread.
    pub(crate) fn is(number: u32) -> bool {
        CHOSEN.get() == number
    }

    /// Puts a fault in force on this thread; 0 none.
    #[cfg(test)]
    pub(crate) fn choose(number: u32) {
        CHOSEN.set(number);
    }
}

#[cfg(feature = "planted")]
pub(crate) use chosen::*;

/// `planted!(7, code)`: the code of fault 7.
#[cfg(feature = "planted")]
macro_rules! planted {
    ($number:literal, $($code:tt)*) => {
        if crate::planted::is($number) {
            $($code)*
        }
    };
}

/// Nothing.
#[cfg(not(feature = "planted"))]
macro_rules! planted {
    ($number:literal, $($code:tt)*) => {};
}
