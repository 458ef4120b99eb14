//! A client that was given up while the server owed it an answer: the statement is cancelled, and the session
//! ends when that has been answered. A pooler finds the statement to cancel by its client's connection: if the
//! client closes that first, the statement goes on.

use pgdyno_platform::io::Io;
use pgdyno_wire::backend::{Frame, tag};

use super::link::Link;
use super::{Client, State, Wait};
use crate::context::Context;
use pgdyno_measurement::Level;
use pgdyno_platform::clock::Nanos;

/// So long the answer is waited for.
const CANCELLED_MAX_NS: Nanos = 1_000_000_000;

impl Client {
    /// Whether the server owes an answer.
    pub(super) fn is_owed(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.awaited() > 0)
    }

    /// The statement is being cancelled; `was` is where the client goes on without its connection.
    pub(super) fn await_cancel<I: Io>(
        &mut self,
        cx: &Context<'_, I>,
        was: Option<Box<State>>,
    ) -> Wait {
        let until = cx.now.saturating_add(CANCELLED_MAX_NS);
        self.state = State::Cancelled { until, was };
        Wait::Until(until)
    }

    /// Takes a message of the cancelled statement's answer; whether it was the last.
    pub(super) fn cancelled_frame<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        frame: &Frame<'_>,
    ) -> bool {
        if frame.tag != tag::READY_FOR_QUERY {
            return false;
        }
        let is_last = self.link.as_mut().is_none_or(Link::is_passed_by);
        if is_last {
            self.end_cancelled(cx);
        }
        is_last
    }

    /// The answer has not come in time.
    pub(super) fn cancel_in_vain<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if !std::mem::replace(&mut cx.has_cancelled_in_vain, true) {
            let seconds = CANCELLED_MAX_NS / 1_000_000_000;
            cx.say(
                Level::Error,
                format!("client {}: its statement may still run on the server: no answer to its cancelling within {seconds} s", self.id),
            );
        }
        self.end_cancelled(cx);
    }

    /// The statement has ended, or nothing more is to be done about it.
    pub(super) fn end_cancelled<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        match std::mem::replace(&mut self.state, State::Finished) {
            State::Cancelled { was: Some(was), .. } => {
                self.state = *was;
                self.lose_connection(cx, None);
            }
            _ => self.leave(cx),
        }
    }
}
