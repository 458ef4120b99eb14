//! A client without a connection that is to have one again: it tries until it succeeds or the run is
//! over, and the time without is recorded as an outage.

use pgdyno_platform::io::Io;

use super::reply::Reply;
use super::{Client, State};
use crate::clock::Nanos;
use crate::event_loop::Context;
use crate::message::Level;
use crate::record::{Failure, Then};

/// The pause after the first attempt that fails; it doubles with each other one.
const PAUSE_MIN_NS: Nanos = 10_000_000;
/// No pause is longer.
const PAUSE_MAX_NS: Nanos = 1_000_000_000;

/// A time without a connection.
#[derive(Debug)]
pub(super) struct Outage {
    begun: Nanos,
    attempts: u64,
    /// How long to wait after the next attempt that fails.
    pause: Nanos,
    resume: Resume,
}

/// How a client goes on when it is connected again.
#[derive(Clone, Copy, Debug)]
enum Resume {
    /// With another transaction.
    Choose,
    /// With the one that waits for its schedule.
    Throttled,
    /// With the one that is about to begin.
    Begin,
}

impl Client {
    /// The connection is gone; `words` says how. What was under way is booked, and the client
    /// connects again.
    pub(super) fn begin_outage<I: Io>(&mut self, cx: &mut Context<'_, I>, words: &str) {
        let text = format!("client {} lost its connection: {words}", self.id);
        cx.say(Level::Info, text);
        let resume = match self.state {
            State::Throttled => Resume::Throttled,
            State::Choose | State::Schedule => Resume::Choose,
            State::Begin => Resume::Begin,
            _ => {
                self.count_error(cx, Then::Fail);
                self.book_broken_off(cx, Failure::ConnectionLost);
                Resume::Choose
            }
        };
        self.error = None;
        self.last_cause = None;
        self.reply = Reply::default();
        self.link = None;
        self.disconnect(cx);
        cx.recorder.outage_begun();
        self.outage = Some(Outage {
            begun: cx.now,
            attempts: 0,
            pause: PAUSE_MIN_NS,
            resume,
        });
        if self.has_ended_all(cx) {
            self.finish(cx);
        } else {
            self.state = State::Reconnecting(cx.now);
        }
    }

    /// An attempt to connect that began at `begun` has failed: an outage begins, or lasts.
    pub(super) fn not_connected<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        begun: Nanos,
        words: &str,
    ) {
        cx.now = cx.clock.now();
        let outage = self.outage.get_or_insert_with(|| {
            cx.say(
                Level::Info,
                format!("client {} gets no connection: {words}", self.id),
            );
            cx.recorder.outage_begun();
            cx.recorder.outage_attempt();
            Outage {
                begun,
                attempts: 1,
                pause: PAUSE_MIN_NS,
                resume: Resume::Begin,
            }
        });
        self.state = State::Reconnecting(cx.now + outage.pause);
        outage.pause = (outage.pause * 2).min(PAUSE_MAX_NS);
    }

    /// Another attempt begins.
    pub(super) fn count_attempt<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if let Some(outage) = &mut self.outage {
            outage.attempts += 1;
            cx.recorder.outage_attempt();
        }
    }

    /// There is a connection; where one was missed, the client goes on where it stood.
    pub(super) fn end_outage<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let Some(outage) = self.outage.take() else {
            return;
        };
        let length = cx.now.saturating_sub(outage.begun);
        cx.recorder.outage_over(Some(length));
        let attempts = match outage.attempts {
            1 => "1 attempt".to_owned(),
            attempts => format!("{attempts} attempts"),
        };
        let text = format!(
            "client {} is connected again after {:.3} s ({attempts})",
            self.id,
            length as f64 / 1e9
        );
        cx.say(Level::Info, text);
        self.state = match outage.resume {
            Resume::Choose => State::Choose,
            Resume::Throttled => State::Throttled,
            // The last attempt may have taken all the time there was.
            Resume::Begin if cx.is_time_up() => return self.finish(cx),
            Resume::Begin => State::Begin,
        };
    }
}
