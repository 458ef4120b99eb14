//! Getting a connection: candidates in order, each with its own time, without blocking.

use std::io;

use pgdyno_platform::io::{Address, Io};
use pgdyno_wire::backend::TransactionStatus;
use pgdyno_wire::{
    Addr, Candidate, ConnectError, ConnectErrorKind, Connecting, next_candidate, without_tls,
};

use super::link::Link;
use super::{Client, State, Wait};
use crate::clock::nanos;
use crate::context::Context;
use crate::endpoints::Newcomers;
use pgdyno_measurement::{DriveError, EventKind, Failure};
use pgdyno_platform::clock::Nanos;
use pgdyno_spec::OnConnectionLoss;

/// How soon to knock again at a Unix socket whose queue is full.
const AGAIN_NS: Nanos = 1_000_000;
/// For how long to do so when the candidate sets no limit.
const PATIENCE_NS: Nanos = 10_000_000_000;

/// The least time of an address among several endpoints.
const IMPATIENCE_NS: Nanos = 1_000_000_000;
/// For how long a run that has not begun waits for each address when the candidate sets no limit.
const BEFORE_RUN_NS: Nanos = 30_000_000_000;

/// One client on its way to a connection.
#[derive(Debug)]
pub(super) struct Attempt {
    endpoint: usize,
    /// How many endpoints were tried before this one.
    step: usize,
    candidate: usize,
    /// Not there while the server's queue is full.
    machine: Option<Connecting>,
    /// When the first candidate was tried.
    begun: Nanos,
    deadline: Option<Nanos>,
    again: Option<Nanos>,
    /// Whether the socket is open.
    is_open: bool,
    /// What became of the candidates before, a line each.
    failures: String,
    /// The places that were tried, and what each said.
    refused: Vec<(usize, Failure)>,
    /// Why the candidate that is tried is without TLS, where that is a second try.
    without_tls: Option<String>,
    before: Before,
}

/// What a client is to do when it is connected, where no outage says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// To wait for the run.
    Run,
    /// To choose its next transaction.
    Choose,
    /// To begin with the one that it has chosen.
    Begin,
}

impl Attempt {
    pub(super) fn wait(&self) -> Wait {
        self.again
            .or(self.deadline)
            .map_or(Wait::Input, Wait::Until)
    }

    /// An outage lasts no longer than the run.
    pub(super) fn end_by(&mut self, end: Nanos) {
        if end < Nanos::MAX {
            self.deadline = Some(self.deadline.map_or(end, |at| at.min(end)));
        }
    }

    pub(super) fn is_before_run(&self) -> bool {
        self.before == Before::Run
    }

    /// Whether no transaction waits for it.
    pub(super) fn is_between(&self) -> bool {
        self.before == Before::Choose
    }

    /// Which candidate of which endpoint is tried, and since when the first was.
    pub(super) fn waits_for(&self) -> ((usize, usize), Nanos) {
        ((self.endpoint, self.candidate), self.begun)
    }
}

impl Client {
    /// Connects before the run begins; the event loop learns how it went.
    pub(crate) fn connect_before_run<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.connect_first(cx, Before::Run);
    }

    #[inline(never)]
    pub(super) fn connect<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.connect_first(cx, Before::Begin);
    }

    /// Whether it is connected to another endpoint than its own, which may have joined since, and is to
    /// return.
    #[inline]
    pub(super) fn is_away<I: Io>(&mut self, cx: &Context<'_, I>) -> bool {
        self.look_for_own(cx);
        self.is_away
    }

    /// An endpoint that has joined may be its own.
    #[inline]
    fn look_for_own<I: Io>(&mut self, cx: &Context<'_, I>) {
        let joined = cx.drive.newcomers.as_ref().map_or(0, Newcomers::count);
        if joined != self.joined {
            self.joined = joined;
            self.belongs_to(cx, cx.drive.all_endpoints().own(self.id, self.role));
        }
    }

    fn belongs_to<I: Io>(&mut self, cx: &Context<'_, I>, own: usize) {
        let old = std::mem::replace(&mut self.own, own);
        if own == old {
            return;
        }
        self.is_new = true;
        if let Some(homes) = cx.homes {
            let is_away = !self.is_at_own();
            let was_away = std::mem::replace(&mut self.is_away, is_away);
            homes.rehomed((old, was_away), (own, is_away), cx.now);
        }
    }

    /// Whether the client is between two transactions, away from its endpoint, and may return.
    pub(super) fn may_return<I: Io>(&self, cx: &Context<'_, I>) -> bool {
        planted!(20, return false);
        let is_idle = self.link.as_ref().map(Link::status) == Some(TransactionStatus::Idle);
        is_idle
            && cx
                .homes
                .is_some_and(|homes| homes.is_turn(self.own, self.id, cx.now))
    }

    /// Returns to its endpoint; to another one if it is not there after all.
    #[inline(never)]
    pub(super) fn go_home<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        self.disconnect(cx);
        self.connect_first(cx, Before::Choose);
    }

    /// Whether the endpoint that it was connected to last is its own.
    pub(super) fn is_at_own(&self) -> bool {
        self.endpoint.is_none_or(|endpoint| endpoint == self.own)
    }

    /// Whether it is at its own endpoint after it was at another, and not there for the first time because
    /// that has joined.
    pub(super) fn has_returned(&self) -> bool {
        self.is_at_own() && !self.is_new
    }

    fn connect_first<I: Io>(&mut self, cx: &mut Context<'_, I>, before: Before) {
        let begun = cx.clock_now();
        self.look_for_own(cx);
        self.count_attempt(cx);
        let attempt = Attempt {
            endpoint: self.own,
            step: 0,
            candidate: 0,
            machine: None,
            begun,
            deadline: None,
            again: None,
            is_open: false,
            failures: String::new(),
            refused: Vec::new(),
            without_tls: None,
            before,
        };
        self.begin_candidate(cx, Box::new(attempt));
    }

    /// Begins with a candidate that has all of its time before it.
    fn begin_candidate<I: Io>(&mut self, cx: &mut Context<'_, I>, mut attempt: Box<Attempt>) {
        let candidates = cx.drive.all_endpoints().candidates(attempt.endpoint);
        let candidate = &candidates[attempt.candidate];
        let mut limit = candidate.connect_timeout.map(nanos);
        if cx.drive.tries_other_endpoints {
            // Where it waits no longer for a statement, another endpoint is better than this one.
            let patience = cx.drive.statement_timeout.map_or(PATIENCE_NS, nanos);
            limit = limit.or(Some(patience.clamp(IMPATIENCE_NS, PATIENCE_NS)));
        }
        if attempt.is_before_run() {
            limit = limit.or(Some(BEFORE_RUN_NS));
        }
        attempt.deadline = limit.map(|limit| cx.clock_now().saturating_add(limit));
        if self.outage.is_some() || attempt.is_between() {
            attempt.end_by(cx.end);
        }
        self.try_candidate(cx, attempt);
    }

    fn try_candidate<I: Io>(&mut self, cx: &mut Context<'_, I>, mut attempt: Box<Attempt>) {
        let candidates = cx.drive.all_endpoints().candidates(attempt.endpoint);
        let candidate = &candidates[attempt.candidate];
        (attempt.again, attempt.is_open) = (None, false);
        let now = cx.clock_now();
        let is_unix = candidate.via.is_none() && matches!(candidate.addr, Addr::Unix(_));
        let address = match (&candidate.via, &candidate.addr) {
            (Some(address), _) | (None, Addr::Tcp(address)) => {
                Address::Tcp(*address, &candidate.socket)
            }
            (None, Addr::Unix(path)) => Address::Unix(path, candidate.require_peer.as_deref()),
        };
        match cx.io.connect(self.socket, address) {
            Ok(is_connecting) => {
                attempt.machine = Some(Connecting::new(candidate.login.clone()));
                self.state = State::Connecting(attempt);
                if !is_connecting {
                    self.connection_open(cx);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let give_up = attempt.deadline.unwrap_or(attempt.begun + PATIENCE_NS);
                if now >= give_up {
                    planted!(17, return);
                    self.state = State::Connecting(attempt);
                    return self.connect_failed(cx, ConnectError::unreachable(&error, is_unix));
                }
                attempt.again = Some((now + AGAIN_NS).min(give_up));
                self.state = State::Connecting(attempt);
            }
            Err(error) => {
                self.state = State::Connecting(attempt);
                self.connect_failed(cx, ConnectError::unreachable(&error, is_unix));
            }
        }
    }

    /// The socket is open: start-up begins.
    pub(crate) fn connection_open<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        let State::Connecting(attempt) = &mut self.state else {
            return;
        };
        let Some(machine) = &mut attempt.machine else {
            return;
        };
        attempt.is_open = true;
        cx.sealed.clear();
        let started = machine.start(&mut cx.sealed);
        self.connect_step(cx, started.map(|()| None));
    }

    pub(super) fn connecting_received<I: Io>(&mut self, cx: &mut Context<'_, I>, bytes: &[u8]) {
        let State::Connecting(attempt) = &mut self.state else {
            return;
        };
        let Some(machine) = &mut attempt.machine else {
            return;
        };
        cx.sealed.clear();
        let step = machine.received(bytes, &mut cx.sealed);
        self.connect_step(cx, step);
    }

    fn connect_step<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        step: Result<Option<pgdyno_wire::Established>, ConnectError>,
    ) {
        // What start-up has to say is sent even when it ends with an error (a TLS alert, say).
        let sent = cx.io.send(self.socket, &cx.sealed);
        match step {
            Err(error) => self.connect_failed(cx, error),
            Ok(None) => {
                if let Err(error) = sent {
                    self.connect_failed(cx, ConnectError::broken(&error));
                }
            }
            Ok(Some(established)) => {
                let State::Connecting(attempt) = &mut self.state else {
                    return;
                };
                cx.deadlines.clear(self.key);
                cx.now = cx.clock_now();
                let (endpoint, before) = (attempt.endpoint, attempt.before);
                let failures = std::mem::take(&mut attempt.failures);
                let without_tls = attempt.without_tls.take();
                self.candidate = attempt.candidate;
                self.place = cx.places.number(endpoint, attempt.candidate);
                let latency = cx.now.saturating_sub(attempt.begun);
                self.say_without_tls(cx, endpoint, without_tls);
                let is_first = before == Before::Run;
                let parameters = &established.parameters;
                let replaced = cx.control.server_replaced(self.place, parameters, is_first);
                if let Some(server) = replaced {
                    let name = cx.places.name(self.place);
                    let text = format!("{name} is another server now: {server}");
                    cx.happened(EventKind::ServerReplaced, text);
                }
                cx.recorder.connected(self.place, latency);
                let moved = self.arrive(cx, endpoint).then_some(failures);
                for notice in &established.notices {
                    cx.notice(|| notice.clone());
                }
                self.units.booked.backend_pid = established.backend_pid;
                self.link = Some(Link::new(established));
                self.state = match before {
                    Before::Run => State::Idle,
                    Before::Choose => State::Choose,
                    Before::Begin => State::Begin,
                };
                self.end_outage(cx, moved.as_deref());
                self.is_new &= !self.is_at_own();
                self.read_leftover(cx);
                if before == Before::Run {
                    // The run begins when it has a connection in each of its roles.
                    if self.turn_to_unconnected() {
                        self.connect_first(cx, Before::Run)
                    } else {
                        cx.client_connected()
                    }
                }
            }
        }
    }

    /// Says once in a run that sessions are without TLS though it is preferred, and why.
    fn say_without_tls<I: Io>(&self, cx: &Context<'_, I>, endpoint: usize, failed: Option<String>) {
        let candidate = &cx.drive.all_endpoints().candidates(endpoint)[self.candidate];
        let why = failed.or_else(|| candidate.login.without_tls.clone());
        if let Some(why) = why.filter(|_| cx.control.is_first_without_tls()) {
            let name = cx.places.name(self.place);
            let text = format!("sessions with {name} are without TLS (sslmode=prefer): {why}");
            cx.happened(EventKind::WithoutTls, text);
        }
    }

    /// The client is connected to this endpoint; whether it was at another before.
    fn arrive<I: Io>(&mut self, cx: &mut Context<'_, I>, endpoint: usize) -> bool {
        let own = self.own;
        let before = self.endpoint.unwrap_or(own);
        self.endpoint = Some(endpoint);
        let has_moved = before != endpoint;
        let is_at_home = self.is_at_own();
        if has_moved {
            cx.recorder.arrived(self.place, self.has_returned());
        }
        if let Some(homes) = cx.homes {
            let was_away = std::mem::replace(&mut self.is_away, !is_at_home);
            match is_at_home {
                true if was_away => {
                    if let Some((lost_at, back_at)) = homes.returned(endpoint, cx.now) {
                        let name = cx.places.name(self.place);
                        let length_s = back_at.saturating_sub(lost_at) as f64 / 1e9;
                        let text = format!(
                            "{name} accepts connections again, {length_s:.3} s after it was lost"
                        );
                        cx.happened_at(back_at, EventKind::EndpointUp, text);
                    }
                }
                true => {}
                false if homes.left(own, was_away, cx.now) => {
                    let name = cx.places.name(cx.places.number(own, 0));
                    let text = format!("{name} is lost: its clients go to other endpoints");
                    cx.happened(EventKind::EndpointDown, text);
                }
                false => {}
            }
        }
        has_moved
    }

    pub(super) fn connecting_closed<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        error: Option<&io::Error>,
    ) {
        let State::Connecting(attempt) = &self.state else {
            return;
        };
        let error = match (error, &attempt.machine) {
            (Some(error), _) if attempt.is_open => ConnectError::broken(error),
            // Only TCP says later how it went.
            (Some(error), _) => ConnectError::unreachable(error, false),
            (None, Some(machine)) => machine.closed(),
            (None, None) => return,
        };
        self.connect_failed(cx, error);
    }

    /// A deadline of an attempt has come.
    pub(super) fn connecting_due<I: Io>(&mut self, cx: &mut Context<'_, I>) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Connecting(attempt) if attempt.again.is_some() => {
                self.try_candidate(cx, attempt)
            }
            State::Connecting(attempt) => {
                self.state = State::Connecting(attempt);
                self.connect_failed(cx, ConnectError::timed_out());
            }
            other => self.state = other,
        }
    }

    fn connect_failed<I: Io>(&mut self, cx: &mut Context<'_, I>, error: ConnectError) {
        cx.io.close(self.socket);
        cx.deadlines.clear(self.key);
        let State::Connecting(mut attempt) = std::mem::replace(&mut self.state, State::Idle) else {
            return;
        };
        let endpoints = cx.drive.all_endpoints();
        let candidates = endpoints.candidates(attempt.endpoint);
        let failed = &candidates[attempt.candidate];
        let mut text = std::mem::take(&mut attempt.failures);
        text.push_str(&failed.failure(&error));
        let next = next_candidate(candidates, attempt.candidate, &error);
        let address = |candidate: &Candidate| (candidate.host_index, candidate.address_index);
        let is_same_address =
            next.is_some_and(|next| address(&candidates[next]) == address(failed));
        if !is_same_address {
            let place = cx.places.number(attempt.endpoint, attempt.candidate);
            attempt.refused.push((place, failure_of(&error)));
        }
        attempt.without_tls = next.and_then(|next| without_tls(failed, &error, &candidates[next]));
        if let Some(next) = next {
            text.push('\n');
            attempt.failures = text;
            attempt.candidate = next;
            attempt.machine = None;
            // The time is one address's, whatever is tried there.
            return if is_same_address {
                self.try_candidate(cx, attempt)
            } else {
                self.begin_candidate(cx, attempt)
            };
        }
        let step = attempt.step + 1;
        let other = endpoints.at(self.id, self.own, step);
        if let Some(other) = other.filter(|_| cx.drive.tries_other_endpoints) {
            text.push('\n');
            self.count_attempt(cx);
            attempt.failures = text;
            attempt.machine = None;
            (attempt.endpoint, attempt.step, attempt.candidate) = (other, step, 0);
            return self.begin_candidate(cx, attempt);
        }
        if attempt.is_before_run() {
            self.is_disconnected = true;
            self.state = State::Aborted;
            return cx.client_not_connected(DriveError::Connect {
                client: self.id,
                text,
            });
        }
        if cx.drive.on_connection_loss == OnConnectionLoss::EndClient {
            self.note_refusal(cx, &error);
        }
        let refused = std::mem::take(&mut attempt.refused);
        self.stays_without(cx, (attempt.begun, attempt.is_between()), (&text, &refused));
    }

    /// The attempt that began then, and whether no transaction waits for it, is given up, whatever else
    /// could be tried.
    pub(super) fn connects_in_vain<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        attempt: (Nanos, bool),
        words: &str,
    ) {
        cx.io.close(self.socket);
        cx.deadlines.clear(self.key);
        let refused = [(self.place, Failure::ConnectionRefused)];
        self.stays_without(cx, attempt, (words, &refused));
    }

    /// It has not got the connection that it wanted in the course of the run.
    fn stays_without<I: Io>(
        &mut self,
        cx: &mut Context<'_, I>,
        attempt: (Nanos, bool),
        (words, refused): (&str, &[(usize, Failure)]),
    ) {
        match cx.drive.on_connection_loss {
            OnConnectionLoss::Reconnect => self.not_connected(cx, attempt, words, refused),
            OnConnectionLoss::EndClient => self.abort_disconnected(cx, words),
        }
    }
}

/// What an attempt that failed counts as.
fn failure_of(error: &ConnectError) -> Failure {
    match error.kind() {
        ConnectErrorKind::Refused { error, .. } => Failure::from_sqlstate(error.sqlstate()),
        ConnectErrorKind::SessionAttrs(_) => Failure::WrongServer,
        _ => Failure::ConnectionRefused,
    }
}
