//! The monotonic clock as a number, read with one call and no arithmetic: it is in the path of
//! every transaction. Elsewhere `std::time::Instant` is the better choice.

/// A time or a length in nanoseconds.
pub type Nanos = u64;

/// Whole microseconds, rounded to the nearest.
#[inline]
pub fn micros(nanos: Nanos) -> u64 {
    (nanos + 500) / 1000
}

/// Nanoseconds of the monotonic clock (CLOCK_MONOTONIC) since a moment that all of the machine's
/// processes share.
#[inline]
pub fn monotonic_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC)
}

/// The same of a clock that also runs while the machine is suspended (CLOCK_BOOTTIME).
pub fn boottime_ns() -> u64 {
    read_ns(libc::CLOCK_BOOTTIME)
}

#[inline]
fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid place for one timespec. The call cannot fail for these clocks.
    unsafe {
        libc::clock_gettime(clock, &raw mut now);
    }
    // Neither part is ever negative; 584 years fit.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_as_fast_as_the_standard_librarys_and_never_backwards() {
        let (begin, before) = (std::time::Instant::now(), monotonic_ns());
        std::thread::sleep(std::time::Duration::from_millis(5));
        let (after, elapsed) = (monotonic_ns(), begin.elapsed());
        assert!(after - before >= 5_000_000);
        assert!(u128::from(after - before) <= elapsed.as_nanos());
    }
}
