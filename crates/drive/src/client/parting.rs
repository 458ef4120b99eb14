//! How a client that has done all it was told to takes its leave: with the last statement, if there
//! is one, whose answer shows that the server has executed it.

use pgdyno_platform::io::Io;
use pgdyno_wire::backend::TransactionStatus;

use super::link::Link;
use super::{Client, State};
use crate::clock::nanos;
use crate::context::Context;

impl Client {
    /// Nothing more is to be run on this connection.
    pub(super) fn part<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let is_idle =
            |link: &&mut Link| link.status() == TransactionStatus::Idle && link.awaited() == 0;
        let (Some(text), Some(link)) =
            (&cx.drive.last_statement, self.link.as_mut().filter(is_idle))
        else {
            return self.leave(cx);
        };
        link.simple(text);
        self.state = State::Parting(cx.now.saturating_add(nanos(cx.drive.grace)));
        if link.transmit(&mut cx.io, self.key, &mut cx.sealed).is_err() {
            self.disconnect(cx);
            self.leave(cx);
        }
    }

    /// Has nothing more to do. The connection stays until all clients of the thread have ended: that a
    /// server ends many sessions would slow down those that still work.
    pub(super) fn leave<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        cx.deadlines.clear(self.key);
        self.state = State::Finished;
    }
}
