//! A warm-up on connections of its own, so that what a server counts of a session, and tells when
//! the session ends, is of the measured time alone.

use std::time::{Duration, Instant, SystemTime};

use crate::control::Control;
use crate::drive::Drive;
use crate::live::Live;
use pgdyno_measurement::{
    DriveError, End, Event, Interval, LoggedTransaction, Message, Outages, Recording,
};
use pgdyno_spec::Until;

/// The random numbers of the warm-up are others than those of the measured time: the same keys
/// again would all be in the cache.
const SEED_OF_WARMUP: i64 = 0x5eed_0f3a;

impl Drive {
    pub(crate) fn run_apart(
        &self,
        control: &Control,
        live: &mut dyn Live,
    ) -> Result<Recording, DriveError> {
        let warmup = Drive {
            until: Until::Elapsed(Duration::ZERO),
            transactions_max: None,
            warmup_apart: false,
            log: None,
            seed: self.seed.wrapping_add(SEED_OF_WARMUP),
            ..self.clone()
        };
        let measured = Drive {
            warmup: Duration::ZERO,
            warmup_apart: false,
            ..self.clone()
        };
        let mut first = First { live, begun: None };
        let ramp = warmup.run(control, &mut first)?;
        if ramp.end != End::Complete || ramp.clients.aborted > 0 {
            return Ok(ramp);
        }
        let begun = first.begun;
        let mut second = Second {
            live,
            begun,
            shift_us: 0,
        };
        let mut recording = measured.run(control, &mut second)?;
        let shift_us = second.shift_us;
        recording.started = ramp.started;
        recording.warmup = ramp.warmup;
        let its_seconds = std::mem::take(&mut recording.seconds);
        recording.seconds = ramp.seconds.into_iter().filter(|s| s.warmup).collect();
        recording
            .seconds
            .extend(its_seconds.into_iter().map(|mut s| {
                s.start_us += shift_us;
                s
            }));
        for event in &mut recording.events {
            event.at_us += shift_us;
        }
        for stall in &mut recording.stalls {
            stall.start_us += shift_us;
        }
        for stop in &mut recording.generator_stops {
            stop.start_us += shift_us;
        }
        for closing in &mut recording.connections.closings {
            closing.at_us += shift_us;
        }
        recording.events.splice(0..0, ramp.events);
        recording.events.truncate(Recording::EVENTS_MAX);
        recording.outages.merge(&Outages {
            measured_us: 0,
            ..ramp.outages
        });
        Ok(recording)
    }
}

/// Shows the warm-up, and not what was under way at its end.
struct First<'a> {
    live: &'a mut dyn Live,
    begun: Option<Instant>,
}

impl Live for First<'_> {
    fn begun(&mut self, started: SystemTime) {
        self.begun = Some(Instant::now());
        self.live.begun(started);
    }

    fn second(&mut self, interval: &Interval) {
        if interval.warmup {
            self.live.second(interval);
        }
    }

    fn message(&mut self, message: &Message) {
        self.live.message(message);
    }

    fn event(&mut self, event: &Event) {
        self.live.event(event);
    }
}

/// Shows what comes after it, on the same clock.
struct Second<'a> {
    live: &'a mut dyn Live,
    begun: Option<Instant>,
    /// Its own beginning on that clock.
    shift_us: u64,
}

impl Live for Second<'_> {
    fn ready(&mut self) {
        self.live.ready();
    }

    fn begun(&mut self, _started: SystemTime) {
        let since = self.begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        self.shift_us = since.as_micros() as u64;
    }

    fn second(&mut self, interval: &Interval) {
        let mut shifted = interval.clone();
        shifted.start_ns += self.shift_us * 1000;
        self.live.second(&shifted);
    }

    fn message(&mut self, message: &Message) {
        self.live.message(message);
    }

    fn event(&mut self, event: &Event) {
        let mut shifted = event.clone();
        shifted.at_us += self.shift_us;
        self.live.event(&shifted);
    }

    fn logged(&mut self, thread: usize, transactions: &[LoggedTransaction]) {
        self.live.logged(thread, transactions);
    }

    fn thread_ended(&mut self, thread: usize, at_us: u64) {
        self.live.thread_ended(thread, at_us + self.shift_us);
    }
}
