//! Ctrl-C during a load, between rows. Within a statement the session sees it.

use pgdyno_platform::interrupt::Interrupts;

/// Whether an interrupt has come since the load began.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    interrupts: Option<&'static Interrupts>,
    seen_before: u32,
}

impl Stop {
    /// Counts from now on; without interrupts it never asks.
    pub fn new(interrupts: Option<&'static Interrupts>) -> Stop {
        Stop {
            interrupts,
            seen_before: interrupts.map_or(0, |i| i.count()),
        }
    }

    pub fn asked(&self) -> bool {
        self.interrupts
            .is_some_and(|i| i.count() > self.seen_before)
    }

    /// The exit code of the interrupt, when there was one.
    pub fn exit_code(&self) -> Option<u8> {
        self.interrupts
            .filter(|_| self.asked())
            .and_then(|i| i.exit_code())
    }
}
