//! CPU time that this process, the calling thread or ended children have used, user and system
//! apart.
//!
//! Not for wall-clock time: `std::time::Instant` is monotonic and enough for that.

use std::fs::File;
use std::ops::{Add, Sub};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::proc::task::{self, Scheduled};

/// CPU time in microseconds, as the kernel accounts it (getrusage(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTime {
    /// Time spent in the program itself.
    pub user_us: u64,
    /// Time the kernel spent on the program's behalf.
    pub system_us: u64,
}

impl CpuTime {
    /// User and system time together, in microseconds.
    pub fn total_us(self) -> u64 {
        self.user_us + self.system_us
    }
}

impl Sub for CpuTime {
    type Output = CpuTime;

    /// The time used between two readings; a part that seems to run backwards counts as zero,
    /// because the kernel scales user and system time apart and may correct one of them.
    fn sub(self, earlier: CpuTime) -> CpuTime {
        CpuTime {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
        }
    }
}

impl Add for CpuTime {
    type Output = CpuTime;

    fn add(self, other: CpuTime) -> CpuTime {
        CpuTime {
            user_us: self.user_us + other.user_us,
            system_us: self.system_us + other.system_us,
        }
    }
}

/// CPU time used so far by all threads of this process, those that have ended included.
pub fn process() -> CpuTime {
    usage_of(libc::RUSAGE_SELF)
}

/// CPU time used so far by the calling thread.
pub fn thread() -> CpuTime {
    usage_of(libc::RUSAGE_THREAD)
}

/// What the scheduler counts of one thread (proc(5), `schedstat`), read without allocating: half a
/// microsecond a reading. It stays that thread's when its id is used again.
#[derive(Debug)]
pub struct ThreadClock(File);

impl ThreadClock {
    /// Of the calling thread; `None` where the kernel keeps none.
    pub fn of_this_thread() -> Option<Self> {
        Self::at("/proc/thread-self/schedstat".as_ref())
    }

    /// Of the thread whose `schedstat` this is, of a process its first; `None` where the kernel keeps none.
    pub fn at(schedstat: &Path) -> Option<Self> {
        let clock = Self(File::open(schedstat).ok()?);
        clock.read().map(|_| clock)
    }

    /// How long it was on a CPU, and how long it could have run and had none.
    pub fn read(&self) -> Option<Scheduled> {
        let mut bytes = [0; 64];
        let length = self.0.read_at(&mut bytes, 0).ok()?;
        task::scheduled_of(&bytes[..length])
    }
}

/// CPU time used by the children of this process that have ended and been waited for, with that
/// of their own children likewise.
pub fn ended_children() -> CpuTime {
    usage_of(libc::RUSAGE_CHILDREN)
}

fn usage_of(who: libc::c_int) -> CpuTime {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a valid place for one rusage; all-zero bytes are a valid rusage, so it
    // may be read whatever the call returns. The call cannot fail for these values of `who`.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    CpuTime {
        user_us: micros(usage.ru_utime),
        system_us: micros(usage.ru_stime),
    }
}

fn micros(time: libc::timeval) -> u64 {
    // The kernel never reports negative CPU time.
    time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn burn(for_: Duration) {
        let start = Instant::now();
        let mut x = 1u64;
        while start.elapsed() < for_ {
            x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
        }
    }

    #[test]
    fn a_thread_that_works_is_charged_and_one_that_sleeps_is_not() {
        let (before, begun) = (thread(), Instant::now());
        // On a busy machine time passes without any of it being this thread's.
        while (thread() - before).total_us() < 10_000 {
            burn(Duration::from_millis(1));
            assert!(begun.elapsed() < Duration::from_secs(60), "never charged");
        }

        let before = thread();
        std::thread::sleep(Duration::from_millis(60));
        let slept = thread() - before;
        assert!(slept.total_us() < 10_000, "{slept:?}");
    }

    #[test]
    fn the_process_is_charged_for_threads_that_have_ended() {
        let before = process();
        let work = || {
            // On a busy machine time passes without any of it being the thread's.
            while thread().total_us() < 20_000 {
                burn(Duration::from_millis(1));
            }
        };
        std::thread::spawn(work)
            .join()
            .expect("the thread does not panic");
        assert!((process() - before).total_us() > 10_000);
    }

    #[test]
    fn the_scheduler_counts_what_a_thread_used() {
        let Some(clock) = ThreadClock::of_this_thread() else {
            return;
        };
        let before = clock.read().unwrap();
        let used = thread();
        while (thread() - used).total_us() < 20_000 {
            burn(Duration::from_millis(1));
        }
        let after = clock.read().unwrap();
        assert!(after.ran_ns - before.ran_ns > 10_000_000, "{after:?}");
        assert!(after.waited_ns >= before.waited_ns);
    }

    #[test]
    fn readings_that_run_backwards_count_as_zero() {
        let early = CpuTime {
            user_us: 10,
            system_us: 5,
        };
        let late = CpuTime {
            user_us: 30,
            system_us: 4,
        };
        assert_eq!(
            late - early,
            CpuTime {
                user_us: 20,
                system_us: 0
            }
        );
    }

    #[test]
    fn a_child_is_charged_once_it_has_been_waited_for() {
        let before = ended_children();
        // A shell that counts: some tens of milliseconds at least.
        let counts = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut child = std::process::Command::new("sh")
            .args(["-c", counts])
            .spawn()
            .expect("sh starts");
        assert!(child.wait().expect("own child").success());
        let used = ended_children() - before;
        assert!(used.total_us() > 10_000, "{used:?}");
    }
}
