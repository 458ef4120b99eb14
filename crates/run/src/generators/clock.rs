//! The notebook's clock, as this host sees it.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pgdyno_drive::planted;
use pgdyno_model::document::ClockReading;
use pgdyno_model::notebook::Rendezvous;
use pgdyno_spec::Failure;

use super::time::Time;

/// So often it is asked: the answer that came back fastest counts (RFC 5905, section 10).
const QUESTIONS: usize = 8;

/// Two clocks that nothing corrects go apart by so many parts in a million at most: 200 each. (One that NTP
/// corrects: 15, RFC 5905.)
const DRIFT_PPM: u64 = 400;

/// The notebook's clock. Between readings it goes on with this host's monotonic clock, so that a step of
/// the host's time does not matter.
#[derive(Clone)]
pub struct Clock {
    time: Arc<dyn Time>,
    /// When it was read, and what it said.
    read: Instant,
    notebook_us: u64,
    /// For people: beside this host's wall clock.
    pub reading: ClockReading,
}

impl Clock {
    /// Reads it over one connection.
    ///
    /// # Errors
    /// The notebook cannot be reached.
    pub(super) fn read(room: &dyn Rendezvous, time: &Arc<dyn Time>) -> Result<Self, Failure> {
        let mut best: Option<(Duration, Self)> = None;
        for _ in 0..QUESTIONS {
            let (took, clock) = Self::ask(room, time)?;
            if best.as_ref().is_none_or(|(fastest, _)| took < *fastest) {
                best = Some((took, clock));
            }
        }
        best.map(|(_, clock)| clock)
            .ok_or_else(|| Failure::new("the notebook's clock was not read"))
    }

    /// One question, and how long its answer took.
    fn ask(room: &dyn Rendezvous, time: &Arc<dyn Time>) -> Result<(Duration, Self), Failure> {
        let (sent, wall) = (time.now(), time.wall());
        let notebook_us = room.clock_us()?;
        let took = time.since(sent);
        Ok((took, Self::of(time, (sent, wall), took, notebook_us)))
    }

    /// Asks once more: of what was read before and now, what is less in doubt counts from here on.
    ///
    /// # Errors
    /// The notebook cannot be reached.
    pub(super) fn freshen(&mut self, room: &dyn Rendezvous) -> Result<(), Failure> {
        let (_, fresh) = Self::ask(room, &self.time)?;
        if fresh.reading_now().uncertainty_us <= self.reading_now().uncertainty_us {
            *self = fresh;
        }
        Ok(())
    }

    /// What was read, with the doubt that has come since.
    pub(super) fn reading_now(&self) -> ClockReading {
        let age_us = self.time.since(self.read).as_micros() as u64;
        ClockReading {
            uncertainty_us: self.reading.uncertainty_us + (age_us * DRIFT_PPM).div_ceil(1_000_000),
            ..self.reading
        }
    }

    /// The answer was made between sending and receiving: in the middle, half of the time in doubt.
    fn of(
        time: &Arc<dyn Time>,
        (sent, wall): (Instant, SystemTime),
        took: Duration,
        notebook_us: u64,
    ) -> Self {
        let half = took / 2;
        let here = (wall + half).duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            time: Arc::clone(time),
            read: sent + half,
            notebook_us,
            reading: ClockReading {
                offset_us: notebook_us as i64 - here.as_micros() as i64,
                uncertainty_us: half.as_micros() as u64,
            },
        }
    }

    /// What it says now, in microseconds since 1970.
    pub fn now_us(&self) -> u64 {
        self.at(self.time.now())
    }

    pub fn when(&self, at_us: u64) -> Instant {
        planted!(1, return self.when_by_wall(at_us));
        planted!(
            2,
            return self.read - Duration::from_micros(self.reading.uncertainty_us)
                + Duration::from_micros(at_us - self.notebook_us)
        );
        self.read + Duration::from_micros(at_us.saturating_sub(self.notebook_us))
    }

    /// What a fault makes of it.
    #[cfg(test)]
    fn when_by_wall(&self, at_us: u64) -> Instant {
        let wall = self.time.wall().duration_since(UNIX_EPOCH);
        let wall_us = wall.unwrap_or_default().as_micros() as i64 + self.reading.offset_us;
        self.time.now() + Duration::from_micros((at_us as i64 - wall_us).max(0) as u64)
    }

    pub fn at(&self, when: Instant) -> u64 {
        self.notebook_us + when.saturating_duration_since(self.read).as_micros() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::time::OfHost;
    use super::*;

    #[test]
    fn an_offset_is_known_to_half_of_the_way_there_and_back() {
        let (sent, wall) = (Instant::now(), UNIX_EPOCH + Duration::from_secs(100));
        let clock = Clock::of(
            &OfHost::shared(),
            (sent, wall),
            Duration::from_millis(20),
            160_000_000,
        );
        assert_eq!(clock.reading.offset_us, 59_990_000);
        assert_eq!(clock.reading.uncertainty_us, 10_000);
        let later = clock.when(161_000_000);
        assert_eq!(later, sent + Duration::from_millis(1010));
        assert_eq!(clock.at(later), 161_000_000);
    }
}
