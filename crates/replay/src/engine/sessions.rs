//! Sessions of the event loop: connecting, sending what waits, taking answers, ending.

use std::io;
use std::sync::Arc;

use pgdyno_platform::io::{Address, Io, Key};
use pgdyno_recording::{Protocol, Session};
use pgdyno_session::CancelHandle;
use pgdyno_wire::{Addr, Candidate, Connecting, Established, frontend};

use super::Engine;
use crate::answer::{Answer, Inbox, Next};
use crate::client::{Client, InFlight, State, Waiting};
use crate::lateness::{Before, Slow, split};

impl<I: Io> Engine<'_, I> {
    pub(super) fn client(&mut self, key: Key) -> Option<&mut Client> {
        self.clients.get_mut(key as usize)?.as_mut()
    }

    /// The client of a session, made where there is none.
    pub(super) fn client_of(&mut self, session: &Arc<Session>) -> Key {
        if let Some(key) = self.by_session.get(&session.number) {
            return *key;
        }
        let client = Client::new(session.clone(), self.candidate_of(session));
        let key = match self.free.pop() {
            Some(key) => {
                self.clients[key as usize] = Some(client);
                key
            }
            None => {
                self.clients.push(Some(client));
                self.clients.len() as Key - 1
            }
        };
        self.by_session.insert(session.number, key);
        self.replayed.sessions += 1;
        let open = self.by_session.len() as u64;
        self.replayed.sessions_most = self.replayed.sessions_most.max(open);
        key
    }

    /// As whom and where a session connects.
    pub(super) fn candidate_of(&self, session: &Session) -> Candidate {
        let mut candidate = self.candidate.clone();
        let mut login = (*candidate.login).clone();
        if self.options.recorded_users && !session.user.is_empty() {
            login.user.clone_from(&session.user);
        }
        let mut set = |name: &str, value: &str| {
            login.parameters.retain(|(other, _)| other != name);
            login.parameters.push((name.to_owned(), value.to_owned()));
        };
        if self.options.recorded_databases && !session.database.is_empty() {
            set("database", &session.database);
        }
        if !session.application.is_empty() {
            set("application_name", &session.application);
        }
        candidate.login = Arc::new(login);
        candidate
    }

    pub(super) fn begins(&mut self, session: Arc<Session>) {
        let is_new = !self.by_session.contains_key(&session.number);
        let key = self.client_of(&session);
        if is_new {
            self.connect(key);
        }
    }

    pub(super) fn ends(&mut self, session: &Session) {
        let Some(key) = self.by_session.get(&session.number).copied() else {
            return;
        };
        if let Some(client) = self.client(key) {
            client.is_ending = true;
            if !client.is_at_work() {
                self.leave(key);
            }
        }
    }

    /// Ends a session that has nothing more to do.
    pub(super) fn leave(&mut self, key: Key) {
        let Some(mut client) = self.clients.get_mut(key as usize).and_then(Option::take) else {
            return;
        };
        if matches!(client.state, State::Idle) {
            self.out.clear();
            frontend::terminate(&mut self.out);
            let _ = send(&mut self.io, key, &mut client, &self.out, &mut self.sealed);
        }
        self.io.close(key);
        self.by_session.remove(&client.session.number);
        self.replayed.session_over(client.session.number);
        self.free.push(key);
    }

    pub(super) fn connect(&mut self, key: Key) {
        let now = self.io.now_ns();
        let Some(client) = self.clients.get_mut(key as usize).and_then(Option::as_mut) else {
            return;
        };
        let candidate = &client.candidate;
        let dialled = candidate.dialled();
        let address = match &dialled {
            Addr::Tcp(address) => Address::Tcp(*address, &candidate.socket),
            Addr::Unix(path) => Address::Unix(path, candidate.require_peer.as_deref()),
        };
        match self.io.connect(key, address) {
            Ok(is_connecting) => {
                let machine = Connecting::new(candidate.login.clone());
                client.state = State::Connecting(Box::new(machine), now);
                if !is_connecting {
                    self.is_open(key);
                }
            }
            // The queue of a Unix socket is full: again in a moment.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => client.state = State::Away,
            Err(error) => self.refused(key, error.to_string()),
        }
    }

    pub(super) fn is_open(&mut self, key: Key) {
        let Some(client) = self.clients.get_mut(key as usize).and_then(Option::as_mut) else {
            return;
        };
        let State::Connecting(machine, _) = &mut client.state else {
            return;
        };
        self.out.clear();
        let started = machine
            .start(&mut self.out)
            .map_err(|error| error.to_string());
        let sent = started.and_then(|()| self.io.send(key, &self.out).map_err(|e| e.to_string()));
        if let Err(text) = sent {
            self.refused(key, text);
        }
    }

    /// No connection was to be had. The statement that waited for it longest is not sent.
    pub(super) fn refused(&mut self, key: Key, text: String) {
        self.io.close(key);
        self.replayed.connections_refused += 1;
        let candidate = &self.candidate;
        let first = &mut self.replayed.first_refusal;
        first.get_or_insert_with(|| format!("connection to {candidate} failed: {text}"));
        let Some(client) = self.client(key) else {
            return;
        };
        client.is_lost();
        let is_dropped = client.backlog.pop_front().is_some();
        let is_over = client.is_ending && client.backlog.is_empty();
        self.replayed.unsent += u64::from(is_dropped);
        if is_over {
            self.leave(key);
        }
    }

    pub(super) fn received(&mut self, key: Key, bytes: &[u8]) {
        let Some(client) = self.clients.get_mut(key as usize).and_then(Option::as_mut) else {
            return;
        };
        if let State::Connecting(machine, _) = &mut client.state {
            self.out.clear();
            let received = machine.received(bytes, &mut self.out);
            let sent = self.io.send(key, &self.out);
            match (received, sent) {
                (Ok(Some(established)), _) => self.established(key, established),
                (Ok(None), Ok(())) => {}
                (Ok(None), Err(error)) => self.refused(key, error.to_string()),
                (Err(error), _) => self.refused(key, error.to_string()),
            }
            return;
        }
        if client.channel.is_plain() {
            client.inbox.push(bytes);
        } else {
            self.plain.clear();
            if let Err(error) = client.channel.open(bytes, &mut self.plain) {
                let error = io::Error::other(error.to_string());
                return self.closed(key, Some(&error));
            }
            client.inbox.push(&self.plain);
        }
        self.read(key);
    }

    pub(super) fn established(&mut self, key: Key, established: Established) {
        let at = self.answers_at;
        let Some(client) = self.client(key) else {
            return;
        };
        client.connected_at = at;
        client.channel = established.channel;
        client.cancel = (established.backend_pid, established.cancel_key);
        client.inbox = Inbox::new(established.leftover);
        client.state = State::Idle;
        self.goes_on(key);
    }

    /// A session is free: for its next statement, or to end.
    pub(super) fn goes_on(&mut self, key: Key) {
        let Some(client) = self.client(key) else {
            return;
        };
        if !client.backlog.is_empty() {
            self.send_next(key);
        } else if client.is_ending {
            self.leave(key);
        }
    }

    /// Sends the statement that has waited longest.
    pub(super) fn send_next(&mut self, key: Key) {
        let Some(client) = self.clients.get_mut(key as usize).and_then(Option::as_mut) else {
            return;
        };
        let Some(Waiting { planned, statement }) = client.backlog.pop_front() else {
            return;
        };
        self.out.clear();
        let preparing = client.write(&statement, &mut self.out);
        let started = self.io.now_ns().max(planned);
        let (waits, blame) = split(planned, started, client.connected_at, &client.before);
        let session = client.session.number;
        let text = self.replayed.text(&statement);
        self.replayed.started(text, session, waits, &blame);
        let slow = Slow {
            execution: self.executions,
            text,
            session,
            planned: planned - self.begin,
            took_ns: 0,
            recorded_ns: statement.duration_us.map(|us| us.saturating_mul(1000)),
        };
        self.executions += 1;
        client.before = Before {
            free_at: started,
            blame,
            slow: None,
        };
        client.state = State::Busy(InFlight {
            slow,
            sent: started,
            has_recorded_failure: statement.failed.is_some(),
            preparing,
            is_extended: statement.protocol == Protocol::Extended,
            answer: Answer::default(),
        });
        self.busy += 1;
        if let Err(error) = send(&mut self.io, key, client, &self.out, &mut self.sealed) {
            self.closed(key, Some(&error));
        }
    }

    /// Takes what the server has answered.
    pub(super) fn read(&mut self, key: Key) {
        let Some(client) = self.clients.get_mut(key as usize).and_then(Option::as_mut) else {
            return;
        };
        let mut aside = Answer::default();
        let (answer, is_extended) = match &mut client.state {
            State::Busy(in_flight) => (&mut in_flight.answer, in_flight.is_extended),
            // Notices, and the last words of a server that shuts down.
            _ => (&mut aside, false),
        };
        match client.inbox.read(answer) {
            Err(error) => {
                let error = io::Error::other(error.to_string());
                self.closed(key, Some(&error));
            }
            Ok(Next::More) => {}
            Ok(Next::CopyIn) => {
                self.out.clear();
                frontend::copy_fail(&mut self.out, "the rows were not recorded");
                if is_extended {
                    // The one that was sent was passed over as a part of the copy.
                    frontend::sync(&mut self.out);
                }
                match send(&mut self.io, key, client, &self.out, &mut self.sealed) {
                    Ok(()) => self.read(key),
                    Err(error) => self.closed(key, Some(&error)),
                }
            }
            Ok(Next::Ready) => {
                self.answered(key);
                self.goes_on(key);
            }
        }
    }

    pub(super) fn answered(&mut self, key: Key) {
        let answers_at = self.answers_at;
        let Some(client) = self.clients.get_mut(key as usize).and_then(Option::as_mut) else {
            return;
        };
        let State::Busy(mut in_flight) = std::mem::replace(&mut client.state, State::Idle) else {
            return;
        };
        self.busy -= 1;
        // What comes after the answer was there is the generator's.
        let free_at = answers_at.max(in_flight.sent);
        in_flight.slow.took_ns = free_at - in_flight.sent;
        let answer = &in_flight.answer;
        if answer.error.is_some()
            && let Some(name) = &in_flight.preparing
        {
            client.not_prepared(name);
        }
        client.before.free_at = free_at;
        client.before.slow = Some(in_flight.slow);
        self.replayed.rows += answer.rows;
        let (has_recorded_failure, error) = (in_flight.has_recorded_failure, answer.error.as_ref());
        self.replayed
            .answered(&in_flight.slow, has_recorded_failure, error);
    }

    /// A connection is gone.
    pub(super) fn closed(&mut self, key: Key, error: Option<&io::Error>) {
        let Some(client) = self.client(key) else {
            return;
        };
        if let State::Connecting(machine, _) = &client.state {
            let text = error.map_or_else(|| machine.closed().to_string(), ToString::to_string);
            return self.refused(key, text);
        }
        let was_busy = matches!(client.state, State::Busy(_));
        client.is_lost();
        let is_over = client.is_ending && client.backlog.is_empty();
        self.io.close(key);
        self.replayed.connections_lost += 1;
        self.replayed.unanswered += u64::from(was_busy);
        self.busy -= usize::from(was_busy);
        if is_over {
            self.leave(key);
        }
    }

    /// Ends all sessions; statements that still run are cancelled.
    pub(super) fn end_all(&mut self) {
        for client in self.clients.iter().flatten() {
            if matches!(client.state, State::Busy(_)) {
                self.replayed.unanswered += 1;
                let is_encrypted = !client.channel.is_plain();
                let cancel =
                    CancelHandle::new(&client.candidate, is_encrypted, client.cancel.clone());
                self.cancels.push(cancel);
            }
            self.replayed.unsent += client.backlog.len() as u64;
        }
        for cancel in std::mem::take(&mut self.cancels) {
            // One that has ended meanwhile has nothing to cancel.
            let _ = cancel.cancel();
        }
        for key in 0..self.clients.len() as u32 {
            self.leave(key);
        }
    }
}

fn send<I: Io>(
    io: &mut I,
    key: Key,
    client: &mut Client,
    bytes: &[u8],
    sealed: &mut Vec<u8>,
) -> io::Result<()> {
    if client.channel.is_plain() {
        return io.send(key, bytes);
    }
    sealed.clear();
    let done = client.channel.seal(bytes, sealed);
    done.map_err(|error| io::Error::other(error.to_string()))?;
    io.send(key, sealed)
}
