//! Sessions of the event loop: connecting, sending what waits, taking answers, ending.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pgdyno_platform::io::{Address, Io, Key};
use pgdyno_recording::result::Column;
use pgdyno_recording::{Protocol, Session, Statement};
use pgdyno_session::{CancelHandle, Session as Connection};
use pgdyno_wire::{Addr, Candidate, Connecting, Established, frontend};

use super::Engine;
use crate::answer::{Answer, Inbox, Next, Translate};
use crate::client::{Client, InFlight, State, Waiting};
use crate::keys::{Catalog, Domain, Keys, Learned, Uses};
use crate::lateness::{Before, Slow, split};
use crate::order::Point;
use crate::outcome::Came;

/// For how long a database's catalog may be asked.
const CATALOG_LIMIT: Duration = Duration::from_secs(60);

impl<I: Io> Engine<'_, I> {
    /// Asks the server which columns have keys, where the recording has results.
    pub(super) fn know_keys(&mut self, recording: &Path) -> Result<(), pgdyno_recording::Error> {
        let timeline = pgdyno_recording::Timeline::open(recording)?;
        if !timeline.about().is_of_the_wire() {
            return Ok(());
        }
        let databases = match timeline.ending() {
            Some(ending) if self.options.recorded_databases => {
                ending.databases.keys().cloned().collect()
            }
            _ => vec![String::new()],
        };
        let mut catalogs = Vec::new();
        let mut first: Domain = 1;
        for database in databases {
            let session = Session {
                database: database.clone(),
                ..Session::default()
            };
            let candidate = self.candidate_of(&session);
            let asked =
                Connection::connect(&[candidate], Some(CATALOG_LIMIT)).and_then(|mut of| {
                    of.set_answer_timeout(Some(CATALOG_LIMIT));
                    let asked = Catalog::read(&mut of, first);
                    of.close();
                    asked
                });
            match asked {
                Ok((catalog, count)) => {
                    catalogs.push((database, catalog));
                    first += count;
                }
                Err(error) => {
                    let unknown = &mut self.replayed.keys.unknown;
                    unknown.get_or_insert_with(|| error.to_string());
                }
            }
        }
        self.keys = Keys::new(catalogs);
        Ok(())
    }

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
        for (name, value) in &session.settings {
            set(name, value);
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
        self.order.session_over(client.session.number);
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
        let dropped = client.backlog.pop_front();
        let is_over = client.is_ending && client.backlog.is_empty();
        let was_parked = std::mem::take(&mut client.is_parked);
        if let Some(Waiting {
            statement, point, ..
        }) = dropped
        {
            self.replayed.unsent += 1;
            if was_parked {
                self.order.unpark(statement.start_us, key);
            }
            self.reached(point);
        }
        if is_over {
            self.leave(key);
        }
    }

    /// Others wait for it no more.
    pub(super) fn reached(&mut self, point: Option<Point>) {
        let Some(point) = point else {
            return;
        };
        self.order.reached(point);
        while let Some(key) = self.order.next_released() {
            self.release(key);
        }
    }

    /// The next statement of a session has nothing to wait for any more.
    pub(super) fn release(&mut self, key: Key) {
        let now = self.answers_at;
        let Some(client) = self.client(key) else {
            return;
        };
        client.is_parked = false;
        client.released_at = now;
        if matches!(client.state, State::Idle) {
            self.send_next(key);
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
        let Some(first) = client.backlog.front() else {
            return;
        };
        let start_us = first.statement.start_us;
        if !client.is_forced && self.order.must_wait(start_us) {
            if !std::mem::replace(&mut client.is_parked, true) {
                self.order.park(start_us, key);
                self.replayed.order.waited += 1;
            }
            return;
        }
        let Some(Waiting {
            planned,
            statement,
            point,
        }) = client.backlog.pop_front()
        else {
            return;
        };
        self.out.clear();
        let uses = self.keys.uses(&statement);
        let preparing = client.write(&statement, &uses, &mut self.keys, &mut self.out);
        let started = self.io.now_ns().max(planned);
        let released_at = std::mem::take(&mut client.released_at);
        let connected_at = client.connected_at;
        let (waits, blame) = split(planned, started, connected_at, released_at, &client.before);
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
        let wire = statement.wire.as_deref();
        let result = wire.and_then(|wire| wire.result.as_ref());
        let answer = Answer::new(
            wire.is_some_and(|wire| wire.is_pipelined),
            result.map_or(Vec::new(), |result| result.columns.clone()),
        );
        client.state = State::Busy(Box::new(InFlight {
            slow,
            sent: started,
            statement,
            uses,
            domains: Vec::new(),
            point,
            preparing,
            answer,
        }));
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
        let (next, is_extended) = match &mut client.state {
            State::Busy(in_flight) => {
                let mut reading = Reading {
                    keys: &self.keys,
                    learned: &client.learned,
                    last_insert: client.last_insert,
                    statement: &in_flight.statement,
                    uses: &in_flight.uses,
                    domains: &mut in_flight.domains,
                };
                let next = client.inbox.read(&mut in_flight.answer, &mut reading);
                let is_extended = in_flight.statement.protocol == Protocol::Extended;
                (next, is_extended)
            }
            // Notices, and the last words of a server that shuts down.
            _ => (client.inbox.pass_over(), false),
        };
        match next {
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
            Ok(Next::WantsSync) => {
                self.out.clear();
                frontend::sync(&mut self.out);
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
        self.moved_at = self.now;
        // What comes after the answer was there is the generator's.
        let free_at = answers_at.max(in_flight.sent);
        in_flight.slow.took_ns = free_at - in_flight.sent;
        let InFlight {
            slow,
            statement,
            uses,
            domains,
            point,
            preparing,
            answer,
            ..
        } = *in_flight;
        if answer.error.is_some()
            && let Some(name) = &preparing
        {
            client.not_prepared(name);
        }
        client.before.free_at = free_at;
        client.before.slow = Some(slow);
        client.is_in_transaction = answer.is_in_transaction;
        client.is_forced &= answer.is_in_transaction;
        client.holds_locks = answer.is_in_transaction && (client.holds_locks || uses.locks);
        if !answer.is_in_transaction {
            self.order.settled(client.session.number);
        }
        let result = statement
            .wire
            .as_deref()
            .and_then(|wire| wire.result.as_ref());
        if answer.error.is_none()
            && let Some(result) = result
        {
            let columns = result.columns.iter();
            let keys_of: Vec<Domain> = columns
                .map(|column| domains.get(usize::from(*column)).copied().unwrap_or(0))
                .collect();
            let has_written = !matches!(&*statement.text.command(), "SELECT" | "FETCH" | "VALUES")
                || uses.is_volatile;
            self.keys.learn(
                &mut client.learned,
                has_written,
                &keys_of,
                &result.hashes,
                &answer.values,
            );
        }
        let checksum = answer.checksum(|column, hash| match domains.get(column) {
            Some(domain) if *domain != 0 => self.keys.then(&client.learned, *domain, hash),
            _ => hash,
        });
        let came = Came {
            rows: answer.summing.rows(),
            checksum: checksum.filter(|_| !uses.is_volatile),
            error: answer.error.as_ref(),
        };
        self.replayed.answered(&slow, &statement, &came);
        self.reached(point);
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
        let (was_busy, point) = match &client.state {
            State::Busy(in_flight) => (true, in_flight.point),
            _ => (false, None),
        };
        client.is_lost();
        let is_over = client.is_ending && client.backlog.is_empty();
        self.io.close(key);
        self.replayed.connections_lost += 1;
        self.replayed.unanswered += u64::from(was_busy);
        self.busy -= usize::from(was_busy);
        if is_over {
            self.leave(key);
        }
        self.reached(point);
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

/// Keys in the result of a statement under way.
struct Reading<'a> {
    keys: &'a Keys,
    learned: &'a Learned,
    last_insert: Domain,
    statement: &'a Statement,
    uses: &'a Uses,
    domains: &'a mut Vec<Domain>,
}

impl Translate for Reading<'_> {
    fn described(&mut self, columns: &[Column]) {
        *self.domains = self
            .keys
            .domains(self.statement, self.uses, self.last_insert, columns);
    }

    fn then(&self, column: usize, hash: u32) -> u32 {
        match self.domains.get(column) {
            Some(domain) if *domain != 0 => self.keys.then(self.learned, *domain, hash),
            _ => hash,
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
