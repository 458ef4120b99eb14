//! The server's clock beside ours: when something happened that the server reports the time of, and
//! whether its clock jumps.

use std::time::{Duration, Instant};

/// A clock that is set by slowing it down or speeding it up stays well within.
const JUMP_MIN: Duration = Duration::from_millis(500);

/// What the server's clock shows as compared with ours.
#[derive(Debug, Default)]
pub struct ServerClock {
    last: Option<Compared>,
    largest_jump_us: i64,
}

#[derive(Debug, Clone, Copy)]
struct Compared {
    here: Instant,
    there_us: i64,
    /// By how much `here` may be wrong.
    uncertain_us: i64,
}

impl ServerClock {
    /// The server's clock showed this (microseconds since 1970) at some moment between these two.
    pub fn compare(&mut self, before: Instant, there_us: i64, after: Instant) {
        let half = (after - before) / 2;
        let now = Compared {
            here: before + half,
            there_us,
            uncertain_us: half.as_micros() as i64,
        };
        if let Some(last) = self.last {
            let here_us = (now.here - last.here).as_micros() as i64;
            let jump = (now.there_us - last.there_us) - here_us;
            let doubt = now.uncertain_us + last.uncertain_us + JUMP_MIN.as_micros() as i64;
            if jump.abs() > doubt && jump.abs() > self.largest_jump_us.abs() {
                self.largest_jump_us = jump;
            }
        }
        self.last = Some(now);
    }

    /// When the server's clock showed this, here; `None` before the first comparison.
    pub fn here(&self, there_us: i64) -> Option<Instant> {
        let last = self.last?;
        let apart = Duration::from_micros(there_us.abs_diff(last.there_us));
        if there_us >= last.there_us {
            last.here.checked_add(apart)
        } else {
            last.here.checked_sub(apart)
        }
    }

    /// The largest jump in seconds; forward is more than 0, none is 0.
    pub fn jump_s(&self) -> f64 {
        self.largest_jump_us as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_server_are_found_here() {
        let now = Instant::now() + Duration::from_secs(100);
        let mut clock = ServerClock::default();
        assert_eq!(clock.here(0), None);
        clock.compare(now, 5_000_000, now + Duration::from_millis(2));
        let middle = now + Duration::from_millis(1);
        assert_eq!(clock.here(5_000_000), Some(middle));
        assert_eq!(clock.here(3_000_000), Some(middle - Duration::from_secs(2)));
        assert_eq!(clock.here(6_000_000), Some(middle + Duration::from_secs(1)));
    }

    #[test]
    fn a_clock_jump_is_reported_and_a_slow_answer_is_none() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut clock = ServerClock::default();
        clock.compare(at(0), 0, at(1));
        // Answered late: it may have looked at its clock at any time in between.
        clock.compare(at(1_000), 1_000_000, at(4_000));
        clock.compare(at(5_000), 5_000_000, at(5_001));
        assert_eq!(clock.jump_s(), 0.0);
        clock.compare(at(6_000), 4_000_000, at(6_001));
        clock.compare(at(7_000), 5_100_000, at(7_001));
        assert!((clock.jump_s() + 2.0).abs() < 0.01, "{}", clock.jump_s());
    }
}
