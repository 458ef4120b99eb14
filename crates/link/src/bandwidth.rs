//! How many bytes a second go one way, over all connections: a line that one chunk after another
//! occupies.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A chunk takes at most about this long, so that connections alternate on the line.
const CHUNK_MAX: Duration = Duration::from_millis(10);
/// What a packet on Ethernet carries: less makes a chunk no smoother.
const CHUNK_MIN_BYTES: usize = 1448;

/// A line of limited bandwidth.
#[derive(Debug)]
pub(super) struct Bandwidth {
    bytes_per_s: u64,
    /// When it has carried all that it was given.
    free: Mutex<Option<Instant>>,
}

impl Bandwidth {
    pub(super) fn new(bytes_per_s: u64) -> Bandwidth {
        Bandwidth {
            bytes_per_s: bytes_per_s.max(1),
            free: Mutex::new(None),
        }
    }

    /// How much to give it at a time.
    pub(super) fn chunk_bytes(&self) -> usize {
        let bytes = self.bytes_per_s as f64 * CHUNK_MAX.as_secs_f64();
        (bytes as usize).max(CHUNK_MIN_BYTES)
    }

    /// When so many bytes are through that were given to it at `now`.
    pub(super) fn carry(&self, bytes: usize, now: Instant) -> Instant {
        // The time in it is whole at any moment.
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = free.map_or(now, |free| free.max(now));
        let end = begin + Duration::from_secs_f64(bytes as f64 / self.bytes_per_s as f64);
        *free = Some(end);
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_waits_for_those_before_it_and_idle_time_is_not_saved_up() {
        let (line, now) = (Bandwidth::new(1000), Instant::now());
        let ms = Duration::from_millis;
        assert_eq!(line.carry(100, now), now + ms(100));
        assert_eq!(line.carry(100, now), now + ms(200));
        let later = now + ms(5000);
        assert_eq!(line.carry(1, later), later + ms(1));
    }

    #[test]
    fn chunks_fit_the_rate() {
        assert_eq!(Bandwidth::new(5_000_000).chunk_bytes(), 50_000);
        assert_eq!(Bandwidth::new(0).chunk_bytes(), CHUNK_MIN_BYTES);
    }
}
