//! The timer that ends waits. It is set once for each deadline, by a request of its own, and not with
//! each wait: a wait that takes its time along sets and cancels a timer, and that costs microseconds
//! where the timer is the next one of its CPU and the machine is a virtual one.

use io_uring::types::{TimeoutFlags, Timespec};
use io_uring::{opcode, squeue};

/// The alarm's token; no connection has it.
pub(super) const TOKEN: u64 = u64::MAX - 1;
/// That of a change that came too late, because it has just gone off: nothing to be done.
pub(super) const CHANGE: u64 = u64::MAX - 2;

const NEVER: u64 = u64::MAX;

/// The one alarm of a ring, on the monotonic clock.
pub(super) struct Alarm {
    at_ns: u64,
    /// Where the kernel reads the time when it takes an entry.
    time: Box<Timespec>,
}

impl Alarm {
    pub(super) fn unset() -> Self {
        Self {
            at_ns: NEVER,
            time: Box::default(),
        }
    }

    /// The request to the kernel that makes it fire at `at_ns` at the latest. One that is set to
    /// an earlier time is left: it is cheaper to look without success once than to set it again.
    pub(super) fn entry_for(&mut self, at_ns: u64) -> Option<squeue::Entry> {
        if self.at_ns <= at_ns {
            return None;
        }
        let was_set = self.at_ns < NEVER;
        self.at_ns = at_ns;
        *self.time = Timespec::new()
            .sec(at_ns / 1_000_000_000)
            .nsec((at_ns % 1_000_000_000) as u32);
        let time: *const Timespec = &raw const *self.time;
        Some(if was_set {
            let change = opcode::TimeoutUpdate::new(TOKEN, time).flags(TimeoutFlags::ABS);
            let change = change.build().user_data(CHANGE);
            change.flags(squeue::Flags::SKIP_SUCCESS)
        } else {
            let alarm = opcode::Timeout::new(time).flags(TimeoutFlags::ABS);
            alarm.build().user_data(TOKEN)
        })
    }

    pub(super) fn rang(&mut self) {
        self.at_ns = NEVER;
    }
}
