//! A client without a connection that is to have one again: it tries until it succeeds or the run is
//! over, and the time without is recorded as an outage.

use pgdyno_platform::io::Io;

use super::reply::Reply;
use super::{Client, State};
use crate::context::Context;
use pgdyno_measurement::{EventKind, Failure};
use pgdyno_platform::clock::Nanos;

/// The pause after the first attempt that fails; it doubles with each other one.
const PAUSE_MIN_NS: Nanos = 10_000_000;
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
    Choose,
    /// With the one that waits for its schedule.
    Throttled,
    /// With the one that is about to begin.
    Begin,
    /// With the one that was lost with the connection, once more.
    Retry,
}

impl Outage {
    /// Whether a transaction waits for its end to be tried again.
    pub(super) fn holds_transaction(&self) -> bool {
        matches!(self.resume, Resume::Retry)
    }

    /// It is over: the client is connected again, or ends without.
    pub(super) fn book<I: Io>(&self, cx: &mut Context<'_, I>, is_connected: bool) {
        cx.recorder.outage_over(self.begun, cx.now, is_connected);
    }
}

impl Client {
    /// The connection is gone; `words` says how. What was under way is booked, and the client
    /// connects again.
    pub(super) fn begin_outage<I: Io>(&mut self, cx: &mut Context<'_, I>, words: &str) {
        let place = self.to_place(cx);
        let text = format!("client {} lost its connection{place}: {words}", self.id);
        cx.happened(EventKind::Outage, text);
        let resume = match self.state {
            State::Throttled(_) => {
                let failure = self.present_failure();
                cx.recorder.has_failed(cx.now, self.place, failure);
                Resume::Throttled
            }
            State::Choose | State::Schedule | State::Resting(_) => Resume::Choose,
            State::Begin => Resume::Begin,
            _ => {
                planted!(5, self.error = None; self.link = None; self.disconnect(cx); self.draws.end(); return self.state = State::Choose);
                if self.lose_transaction(cx, words) {
                    Resume::Retry
                } else {
                    Resume::Choose
                }
            }
        };
        if !matches!(resume, Resume::Retry) {
            self.error = None;
        }
        self.last_cause = None;
        self.reply = Reply::default();
        self.link = None;
        self.disconnect(cx);
        // With its last transaction behind it the client needs no connection any more.
        if self.has_ended_all(cx) && !matches!(resume, Resume::Retry) {
            return self.finish(cx);
        }
        cx.recorder.outage_begun();
        self.outage = Some(Outage {
            begun: cx.now,
            attempts: 0,
            pause: PAUSE_MIN_NS,
            resume,
        });
        self.state = State::Reconnecting(cx.now);
    }

    /// An attempt to connect that began at `begun` has failed: an outage begins, or lasts.
    /// `is_between` says whether the client was between two transactions, `refused` what each endpoint
    /// that was tried said.
    pub(super) fn not_connected<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        (begun, is_between): (Nanos, bool),
        words: &str,
        refused: &[(usize, Failure)],
    ) {
        cx.now = cx.clock_now();
        for (place, failure) in refused {
            cx.recorder.has_failed(cx.now, *place, *failure);
        }
        let outage = self.outage.get_or_insert_with(|| {
            let text = format!("client {} gets no connection: {words}", self.id);
            cx.happened(EventKind::Outage, text);
            cx.recorder.outage_begun();
            cx.recorder.outage_attempt();
            Outage {
                begun,
                attempts: 1,
                pause: PAUSE_MIN_NS,
                resume: if is_between {
                    Resume::Choose
                } else {
                    Resume::Begin
                },
            }
        });
        self.state = State::Reconnecting(cx.now + outage.pause);
        outage.pause = (outage.pause * 2).min(PAUSE_MAX_NS);
    }

    pub(super) fn count_attempt<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if let Some(outage) = &mut self.outage {
            outage.attempts += 1;
            cx.recorder.outage_attempt();
        }
    }

    /// The client is at another endpoint than before, without having lost a connection.
    fn tell_move<I: Io>(&self, cx: &Context<'_, I>, failures: &str) {
        let place = self.to_place(cx);
        // libpq's texts go over several lines.
        let why: Vec<&str> = failures.split_whitespace().collect();
        let why = match why.as_slice() {
            [] if self.is_new => "its endpoint has joined".to_owned(),
            [] => "its endpoint accepts connections again".to_owned(),
            words => words.join(" "),
        };
        let text = format!("client {} is connected{place}: {why}", self.id);
        cx.happened(self.kind_of_move(), text);
    }

    /// Whether the endpoint that it came to is its own, where it was before.
    fn kind_of_move(&self) -> EventKind {
        if self.has_returned() {
            EventKind::Returned
        } else {
            EventKind::Moved
        }
    }

    /// The endpoint of a client, if there is more than one.
    fn to_place<I: Io>(&self, cx: &Context<'_, I>) -> String {
        if cx.places.count() > 1 {
            format!(" to {}", cx.places.name(self.place))
        } else {
            String::new()
        }
    }

    /// There is a connection; where one was missed, the client goes on where it stood. `failures`
    /// says why it is not at the endpoint that it was at before, if it is not.
    pub(super) fn end_outage<I: Io>(&mut self, cx: &mut Context<'_, I>, failures: Option<&str>) {
        let Some(outage) = self.outage.take() else {
            if let Some(failures) = failures {
                self.tell_move(cx, failures);
            }
            return;
        };
        let length = cx.now.saturating_sub(outage.begun);
        outage.book(cx, true);
        let attempts = match outage.attempts {
            1 => "1 attempt".to_owned(),
            attempts => format!("{attempts} attempts"),
        };
        let text = format!(
            "client {} is connected again{} after {:.3} s ({attempts})",
            self.id,
            self.to_place(cx),
            length as f64 / 1e9
        );
        let kind = match failures {
            Some(_) => self.kind_of_move(),
            None => EventKind::Reconnected,
        };
        cx.happened(kind, text);
        self.state = match outage.resume {
            Resume::Choose => State::Choose,
            Resume::Throttled => State::Throttled(self.scheduled),
            // The last attempt may have taken all the time there was.
            Resume::Begin if cx.is_time_up() => return self.finish(cx),
            Resume::Begin => State::Begin,
            Resume::Retry => return self.try_again(cx),
        };
    }
}
