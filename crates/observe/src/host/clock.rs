//! Whether the wall clock of this host keeps time: beside the monotonic clock, which cannot be set.

use std::time::{Duration, Instant, SystemTime};

/// A step of less may be a slow clock being brought forward (at most 0.5 ms a second), or this thread
/// losing its CPU between two looks.
const JUMP_MIN: Duration = Duration::from_millis(50);
/// Two looks at one clock around a look at the other must be no further apart.
const LOOK_MAX: Duration = Duration::from_millis(5);
const LOOKS_MAX: usize = 5;

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    monotonic: Instant,
    wall: SystemTime,
}

impl Moment {
    /// Now; `None` when this thread is not let to look at both at once.
    pub fn now() -> Option<Self> {
        (0..LOOKS_MAX).find_map(|_| {
            let before = Instant::now();
            let wall = SystemTime::now();
            let is_one = before.elapsed() <= LOOK_MAX;
            is_one.then_some(Self {
                monotonic: before,
                wall,
            })
        })
    }

    /// By how many seconds the wall clock was set forward (or, below zero, back) since then.
    pub fn jump_s(self, earlier: Self) -> Option<f64> {
        let passed = (self.monotonic - earlier.monotonic).as_secs_f64();
        let reported = match self.wall.duration_since(earlier.wall) {
            Ok(forward) => forward.as_secs_f64(),
            Err(back) => -back.duration().as_secs_f64(),
        };
        let jump = reported - passed;
        (jump.abs() >= JUMP_MIN.as_secs_f64()).then_some(jump)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_jump_is_reported_and_a_steady_clock_is_not() {
        let early = Moment::now().unwrap();
        let later = |monotonic_ms: u64, wall_ms: i64| Moment {
            monotonic: early.monotonic + Duration::from_millis(monotonic_ms),
            wall: match u64::try_from(wall_ms) {
                Ok(ms) => early.wall + Duration::from_millis(ms),
                Err(_) => early.wall - Duration::from_millis(wall_ms.unsigned_abs()),
            },
        };
        assert_eq!(later(1000, 1000).jump_s(early), None);
        assert_eq!(later(1000, 1001).jump_s(early), None);
        assert_eq!(later(1000, 3000).jump_s(early), Some(2.0));
        assert_eq!(later(1000, -500).jump_s(early), Some(-1.5));
    }
}
