//! How a client that has done all it was told to takes its leave: with the last statement, if there
//! is one, whose answer shows that the server has executed it.

use pgdyno_platform::io::Io;
use pgdyno_wire::backend::TransactionStatus;

use super::{Client, State};
use crate::clock::{Nanos, nanos};
use crate::context::Context;

impl Client {
    /// Nothing more is to be run on this connection.
    pub(super) fn part<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let link = self.link.as_mut().filter(|link| link.awaited() == 0);
        let Some(link) = link else {
            return self.leave(cx);
        };
        let until = match (link.status(), &cx.drive.last_statement) {
            (TransactionStatus::InTransaction, _) if cx.drive.commits.is_some() => {
                link.commit();
                // However long it takes: it is the run's own work.
                Nanos::MAX
            }
            (TransactionStatus::Idle, Some(text)) => {
                link.simple(text);
                cx.now.saturating_add(nanos(cx.drive.grace))
            }
            _ => return self.leave(cx),
        };
        self.parting = cx.now;
        self.state = State::Parting(until);
        if link
            .transmit(&mut cx.io, self.socket, &mut cx.sealed)
            .is_err()
        {
            self.disconnect(cx);
            self.leave(cx);
        }
    }

    /// Has nothing more to do, and gives its session back at once, as pgbench's clients do: another may wait for
    /// it in a pooler, or at a limit of connections.
    pub(super) fn leave<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        if matches!(self.state, State::Parting(_)) {
            self.parting = cx.now.saturating_sub(self.parting);
        }
        cx.deadlines.clear(self.key);
        self.state = State::Finished;
        self.disconnect_all(cx);
    }
}
