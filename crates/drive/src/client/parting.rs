//! How a client ends a session: after all that it was asked to do with the last statement, if there is one,
//! whose answer shows that the server has executed it; after each transaction, where each has a connection of
//! its own, so that the server has ended the session before the client asks for the next.

use pgdyno_platform::io::Io;
use pgdyno_wire::backend::TransactionStatus;

use super::{Client, State};
use crate::clock::nanos;
use crate::context::Context;
use pgdyno_platform::clock::Nanos;

/// So long a client waits until the server has ended a session before it asks for the next.
pub(super) const LEAVING_MAX_NS: Nanos = 1_000_000_000;
/// Each time in a row that a server has not, the client waits for so many times less: some peers leave it to
/// the client to close the connection.
const LEAVING_LESS: Nanos = 8;

impl Client {
    /// The transaction that had this connection is over. A session counts at the server's limits until its
    /// process has ended, and that closes the connection: another one before that can be one too many.
    pub(super) fn end_session<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let begun = cx.clock_now();
        let is_said = match &mut self.link {
            Some(link) => link.say_goodbye(&mut cx.io, self.socket, &mut cx.sealed),
            None => false,
        };
        planted!(21, {
            self.disconnect(cx);
            return self.choose_next(cx);
        });
        if !is_said {
            self.disconnect(cx);
            return self.choose_next(cx);
        }
        self.link = None;
        self.note_closing(cx, begun);
        self.state = State::Leaving(begun.saturating_add(self.leaving_max));
    }

    /// The server has ended the session.
    pub(super) fn has_left<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.leaving_max = LEAVING_MAX_NS;
        self.disconnect(cx);
        self.choose_next(cx);
    }

    /// The server has not closed the connection: the client does.
    pub(super) fn gives_up_leaving<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.leaving_max /= LEAVING_LESS;
        self.disconnect(cx);
        self.choose_next(cx);
    }

    /// Nothing more is to be run on this connection.
    pub(super) fn part<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let link = self.link.as_mut().filter(|link| link.awaited() == 0);
        let Some(link) = link else {
            if std::mem::take(&mut self.is_cancelled) {
                self.await_cancel(cx, None);
                return;
            }
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
