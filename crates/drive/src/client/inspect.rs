//! What a simulation looks at from outside.

use super::{Client, Outage, State};
use pgdyno_platform::clock::Nanos;

impl Client {
    /// Whether a transaction of it has begun and has not ended.
    pub(crate) fn is_in_flight(&self) -> bool {
        let is_held = self.outage.as_ref().is_some_and(Outage::holds_transaction);
        is_held
            || !matches!(
                self.state,
                State::Idle
                    | State::Connecting(_)
                    | State::Reconnecting(_)
                    | State::Choose
                    | State::Schedule
                    | State::Throttled(_)
                    | State::Resting(_)
                    | State::Begin
                    | State::Thinking
                    | State::Leaving(_)
                    | State::Parting(_)
                    | State::Cancelled { was: None, .. }
                    | State::Finished
                    | State::Aborted
            )
    }

    /// Its rank among all clients.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// When the transaction that is under way has begun.
    pub(crate) fn begun(&self) -> Option<Nanos> {
        self.is_in_flight().then_some(self.begun)
    }

    pub(crate) fn rests_until(&self) -> Option<Nanos> {
        match self.state {
            State::Resting(until) => Some(until),
            _ => None,
        }
    }

    /// The moment that it waits for, if it waits for one.
    pub(crate) fn wakes_at(&self) -> Option<Nanos> {
        match &self.state {
            State::Connecting(attempt) => match attempt.wait() {
                super::Wait::Until(at) => Some(at),
                _ => None,
            },
            State::Reconnecting(at)
            | State::Leaving(at)
            | State::Parting(at)
            | State::Cancelled { until: at, .. }
            | State::Throttled(at)
            | State::Resting(at) => Some(*at),
            State::Sleeping | State::Thinking => Some(self.sleep_until),
            State::BackingOff { until, .. } => Some(*until),
            _ => None,
        }
    }

    /// Its state, for a message.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("client {}: {:?}", self.id, self.state);
        text.truncate(text.find(" {").unwrap_or(text.len()).min(60));
        text
    }
}
