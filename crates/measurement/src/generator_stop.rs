//! Times in which pgdyno itself did not run.

use super::Stall;

/// pgdyno was stopped, frozen or suspended: whatever takes long then is not the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeneratorStop {
    /// When it began, in microseconds since clients began to work.
    pub start_us: u64,
    /// Its length on the run's clock.
    pub length_us: u64,
    /// For so long the host was suspended, which the run's clock does not show. Of a trial from the notebook it
    /// is 0.
    pub suspended_us: u64,
}

/// A time without service is pgdyno's own from this share on that it did not run.
const OWN_SHARE: f64 = 0.5;

impl GeneratorStop {
    /// How much of it lies between these moments, in microseconds.
    pub fn within_us(&self, from_us: u64, until_us: u64) -> u64 {
        let end_us = (self.start_us + self.length_us).min(until_us);
        end_us.saturating_sub(self.start_us.max(from_us))
    }

    /// Takes away those times without service that are none of the server's.
    pub fn take_own(stops: &[Self], stalls: &mut Vec<Stall>) {
        stalls.retain(|stall| {
            let until_us = stall.start_us + stall.length_us;
            let stopped = stops.iter();
            let stopped = stopped.map(|stop| stop.within_us(stall.start_us, until_us));
            (stopped.sum::<u64>() as f64) < OWN_SHARE * stall.length_us as f64
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_service_that_the_generator_slept_through_is_its_own() {
        let stop = GeneratorStop {
            start_us: 3_000_000,
            length_us: 2_000_000,
            suspended_us: 0,
        };
        assert_eq!(stop.within_us(0, 3_000_000), 0);
        assert_eq!(stop.within_us(4_000_000, 9_000_000), 1_000_000);
        assert_eq!(stop.within_us(5_000_000, 9_000_000), 0);
        let stall = |start_us, length_us| Stall {
            start_us,
            length_us,
            is_over: true,
        };
        let servers = stall(1_000_000, 6_000_000);
        let mut stalls = vec![
            stall(2_990_000, 2_020_000),
            servers,
            stall(8_000_000, 900_000),
        ];
        GeneratorStop::take_own(&[stop], &mut stalls);
        assert_eq!(stalls, [servers, stall(8_000_000, 900_000)]);
    }
}
