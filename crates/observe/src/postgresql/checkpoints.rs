//! Checkpoints as events: when one began and how long it took, as far as the server reports without its
//! log.
//!
//! The control file names the latest checkpoint that is complete, and the second in which it began;
//! the counters of its write and sync times grow when it is over.

use std::time::{Duration, Instant};

use super::clock::ServerClock;
use super::place::Rows;
use crate::Readings;

/// Documented: all roles may call pg_control_checkpoint(). Its time is the start's, in whole seconds.
const LATEST: &str = "SELECT checkpoint_lsn, \
    (extract(epoch FROM checkpoint_time) * 1000000)::bigint, ";

const OF_BGWRITER: &str = "checkpoints_timed, checkpoints_req, \
    checkpoint_write_time + checkpoint_sync_time, buffers_checkpoint \
    FROM pg_control_checkpoint(), pg_stat_bgwriter";

const OF_CHECKPOINTER: &str = "num_timed + restartpoints_timed, \
    num_requested + restartpoints_req, write_time + sync_time, buffers_written \
    FROM pg_control_checkpoint(), pg_stat_checkpointer";

/// So long after the control file the counters may come: the checkpointer reports them when it is
/// done, and until 14 it takes another process half a second to write them down.
const COUNTED_WITHIN: Duration = Duration::from_secs(2);

/// The checkpoints since the first reading.
#[derive(Debug, Default)]
pub struct Checkpoints {
    last: Option<State>,
    /// One whose counters have not grown yet: they come a moment after the control file.
    pending: Option<Pending>,
    count: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct State {
    lsn: String,
    began_us: i64,
    timed: f64,
    requested: f64,
    time_ms: f64,
    buffers: f64,
}

#[derive(Debug)]
struct Pending {
    before: State,
    seen: Instant,
}

impl Checkpoints {
    /// The question, for a server of this major version.
    pub fn sql(major: u32) -> String {
        let rest = if major < 17 {
            OF_BGWRITER
        } else {
            OF_CHECKPOINTER
        };
        format!("{LATEST}{rest}")
    }

    /// Takes the answer, and tells what has been completed since the last time.
    pub fn read(&mut self, mut rows: Rows, clock: &ServerClock, out: &mut Readings) {
        if let Some(state) = rows.pop().and_then(State::read) {
            self.take(state, Instant::now(), clock, out);
        }
    }

    fn take(&mut self, state: State, now: Instant, clock: &ServerClock, out: &mut Readings) {
        let pending = self.pending.take().or_else(|| {
            let before = self.last.clone().filter(|last| last.lsn != state.lsn)?;
            Some(Pending { before, seen: now })
        });
        if let Some(pending) = pending {
            let is_counted = state.time_ms > pending.before.time_ms
                || state.timed + state.requested > pending.before.timed + pending.before.requested;
            // Counters may have been reset meanwhile.
            if is_counted || now.saturating_duration_since(pending.seen) >= COUNTED_WITHIN {
                self.tell(&pending, &state, clock, out);
            } else {
                self.pending = Some(pending);
            }
        }
        self.last = Some(state);
    }

    fn tell(&mut self, pending: &Pending, now: &State, clock: &ServerClock, out: &mut Readings) {
        let before = &pending.before;
        let grown = |of: fn(&State) -> f64| (of(now) - of(before)).max(0.0);
        let length = Duration::from_secs_f64(grown(|s| s.time_ms) / 1e3);
        let from = begin(clock, now.began_us, pending.seen, length);
        let (timed, requested) = (grown(|s| s.timed), grown(|s| s.requested));
        let why = match (timed > 0.0, requested > 0.0) {
            (true, false) => "timed",
            (false, true) => "requested",
            (true, true) => "timed and requested",
            (false, false) => "of unknown cause",
        };
        let several = match timed + requested {
            n if n > 1.0 => format!("up to {n:.0} checkpoints, "),
            _ => String::new(),
        };
        let buffers = grown(|s| s.buffers);
        self.count += 1;
        out.event(
            "checkpoint",
            from,
            Some(length),
            format!("{several}{why}, {buffers:.0} buffers written"),
        );
    }

    /// At the end: reports what is not yet counted, and how many there were.
    pub fn conclude(&mut self, clock: &ServerClock, out: &mut Readings) -> u64 {
        if let (Some(pending), Some(last)) = (self.pending.take(), self.last.clone()) {
            self.tell(&pending, &last, clock, out);
        }
        self.count
    }
}

/// The server tells the second in which it began; that it was over when `seen`, after so long, says
/// when within that second.
fn begin(clock: &ServerClock, second_us: i64, seen: Instant, length: Duration) -> Instant {
    let at_latest = seen.checked_sub(length).unwrap_or(seen);
    match (clock.here(second_us), clock.here(second_us + 999_999)) {
        (Some(first), Some(last)) => at_latest.min(last).max(first),
        _ => at_latest,
    }
}

impl State {
    fn read(row: Vec<Option<String>>) -> Option<Self> {
        let mut row = row.into_iter().flatten();
        let lsn = row.next()?;
        let began_us = row.next()?.parse().ok()?;
        let mut number = || row.next()?.parse().ok();
        Some(Self {
            lsn,
            began_us,
            timed: number()?,
            requested: number()?,
            time_ms: number()?,
            buffers: number()?,
        })
    }
}
