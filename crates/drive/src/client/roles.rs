//! A client whose scripts go to endpoints of several roles has a connection for each. It uses one at a time:
//! that of its present transaction. The others are parked.
//!
//! Not for: which endpoints a role has (`endpoints.rs`).

use std::mem::{replace, swap, take};

use pgdyno_platform::io::{Io, Key};

use super::link::Link;
use super::{Client, State};
use crate::context::Context;
use pgdyno_spec::OnConnectionLoss;

/// A client's own endpoint in a role.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Home {
    /// The number of the role; 0: that of scripts without one.
    pub(crate) role: usize,
    pub(crate) own: usize,
    /// The place of its first candidate.
    pub(crate) place: usize,
}

/// Where a client is in a role that it does not use now: the same as its fields of these names.
#[derive(Debug)]
pub(super) struct Parked {
    role: usize,
    socket: Key,
    link: Option<Link>,
    own: usize,
    endpoint: Option<usize>,
    is_away: bool,
    place: usize,
    candidate: usize,
}

impl Parked {
    pub(super) fn at(home: &Home, socket: Key) -> Self {
        Self {
            role: home.role,
            socket,
            link: None,
            own: home.own,
            endpoint: None,
            is_away: false,
            place: home.place,
            candidate: 0,
        }
    }
}

impl Client {
    /// Goes on with its connection of this role, which may not be made yet. Nothing is under way.
    #[inline]
    pub(super) fn turn_to(&mut self, role: usize) {
        if role != self.role {
            self.exchange(self.role);
            self.exchange(role);
        }
    }

    /// What is parked for a role, and what the client uses, change places.
    fn exchange(&mut self, role: usize) {
        let Some(parked) = self.parked.iter_mut().find(|parked| parked.role == role) else {
            return;
        };
        self.role = role;
        swap(&mut self.socket, &mut parked.socket);
        swap(&mut self.link, &mut parked.link);
        swap(&mut self.own, &mut parked.own);
        swap(&mut self.endpoint, &mut parked.endpoint);
        swap(&mut self.is_away, &mut parked.is_away);
        swap(&mut self.place, &mut parked.place);
        swap(&mut self.candidate, &mut parked.candidate);
    }

    /// Turns to a role in which it has no connection; false when it has all.
    pub(super) fn turn_to_unconnected(&mut self) -> bool {
        let without = |parked: &&Parked| parked.role != self.role && parked.link.is_none();
        let Some(role) = self.parked.iter().find(without).map(|parked| parked.role) else {
            return false;
        };
        self.turn_to(role);
        true
    }

    /// Whether this is its present connection.
    #[inline]
    pub(crate) fn uses(&self, socket: Key) -> bool {
        self.socket == socket
    }

    /// The server says something that was not asked for, on a connection that is parked.
    pub(crate) fn parked_received<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        socket: Key,
        bytes: &[u8],
    ) {
        self.on_parked(socket, |client| client.read(cx, bytes));
    }

    /// A parked connection has ended. The next transaction that needs it connects again, or finds out, as
    /// in pgbench, that there is none.
    pub(crate) fn parked_closed<I: Io>(&mut self, cx: &mut Context<'_, I>, socket: Key) {
        self.on_parked(socket, |client| {
            cx.io.close(client.socket);
            if cx.drive.on_connection_loss == OnConnectionLoss::Reconnect && client.link.is_some() {
                cx.recorder.lost(client.place);
                client.link = None;
            }
        });
    }

    /// Does something on a parked connection, between two transactions of it, and leaves what is under way on
    /// the present one as it is.
    fn on_parked<T>(&mut self, socket: Key, work: impl FnOnce(&mut Self) -> T) {
        let Some(parked) = self.parked.iter().find(|parked| parked.socket == socket) else {
            return;
        };
        let (role, present) = (parked.role, self.role);
        let state = replace(&mut self.state, State::Idle);
        let reply = take(&mut self.reply);
        let words = (self.last_words.take(), self.last_cause, self.error.take());
        self.turn_to(role);
        work(self);
        self.turn_to(present);
        (self.last_words, self.last_cause, self.error) = words;
        (self.state, self.reply) = (state, reply);
    }

    /// Closes all of its connections.
    pub(crate) fn disconnect_all<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.disconnect(cx);
        for number in 0..self.parked.len() {
            let role = self.parked[number].role;
            if role != self.role {
                self.turn_to(role);
                self.disconnect(cx);
            }
        }
    }
}
