//! The simulated network and clock: an [`Io`] whose time passes only while an event loop waits, and
//! whose faults come from a plan.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

use pgdyno_platform::io::{Address, Event, Io, Key, Socket, Waker};
use pgdyno_script::Prng;

use super::FIRST_PORT;
use super::plan::{Fault, Plan};
use super::server::{self, Asked, Decoder, Rows, Session, Sql, Trouble};
use crate::clock::Clock;
use crate::homes::Homes;

const MS: u64 = 1_000_000;
/// More waits than any schedule needs.
const WAITS_MAX: u32 = 200_000;

#[derive(Debug)]
enum Arrival {
    Opens,
    Refuses,
    ToServer(Vec<u8>),
    ToClient(Vec<u8>),
    /// The server's end of the connection closes, or breaks.
    Ends(Option<io::ErrorKind>),
    /// The server ends the session by itself.
    Terminates,
}

/// One connection, from the moment that the client asked for it.
#[derive(Debug, Default)]
struct Connection {
    key: Key,
    endpoint: usize,
    is_closed_by_client: bool,
    is_broken: bool,
    is_silent: bool,
    /// When the last bytes of each direction arrive.
    to_server_at: u64,
    to_client_at: u64,
    session: Session,
    sent: Decoder,
    /// Whether a block was begun, and its end not sent.
    has_open_block: bool,
    has_said_goodbye: bool,
    /// When BEGIN was sent last, and a row.
    begun: u64,
    inserted: u64,
}

/// What the tries of one transaction looked like.
#[derive(Clone, Copy, Debug, Default)]
struct Tries {
    count: u64,
    first_begun: u64,
}

pub(super) struct World {
    pub(super) plan: Plan,
    random: Prng,
    now: Cell<u64>,
    /// What reading the clock takes.
    read_ns: u64,
    waker: Waker,
    connections: Vec<Connection>,
    /// The present connection of each key.
    of_key: Vec<Option<usize>>,
    /// By time, then in the order they were made.
    arrivals: BTreeMap<(u64, u64), (usize, Arrival)>,
    made: u64,
    ready: VecDeque<(usize, Event, Vec<u8>)>,
    pub(super) rows: Rows,
    tries: BTreeMap<u64, Tries>,
    faults: u64,
    /// Faults that the plan keeps for the run do not happen before it.
    pub(super) has_begun: bool,
    /// No transaction begins at or after this.
    pub(super) end: u64,
    pub(super) has_lost: bool,
    /// By endpoint, until when it is gone.
    down_until: Vec<u64>,
    /// Where clients return to, and the clock of that.
    pub(super) homes: Option<(Arc<Homes>, Clock)>,
    pub(super) is_silent: bool,
    pub(super) has_stepped: bool,
    pub(super) violation: Option<String>,
    waits: u32,
    /// Of all that happened, to see that a seed gives the same again.
    pub(super) trace: u64,
}

impl World {
    pub(super) fn new(plan: Plan, waker: Waker) -> Self {
        let coarse = plan.is_coarse == 1;
        Self {
            random: Prng::seed(plan.seed),
            down_until: vec![0; plan.endpoints as usize],
            now: Cell::new(1000 * MS),
            read_ns: if coarse { 0 } else { 37 },
            plan,
            waker,
            connections: Vec::new(),
            of_key: Vec::new(),
            arrivals: BTreeMap::new(),
            made: 0,
            ready: VecDeque::new(),
            rows: Rows::new(),
            tries: BTreeMap::new(),
            faults: 0,
            has_begun: false,
            end: u64::MAX,
            has_lost: false,
            homes: None,
            is_silent: false,
            has_stepped: false,
            violation: None,
            waits: 0,
            trace: 0,
        }
    }

    /// Whether nothing will ever happen by itself.
    pub(super) fn is_idle(&self) -> bool {
        self.arrivals.is_empty() && self.ready.is_empty()
    }

    /// Tries beyond the first that clients have sent.
    pub(super) fn retries(&self) -> u64 {
        self.tries.values().map(|tries| tries.count - 1).sum()
    }

    /// Lets the server do all that has been sent to it.
    pub(super) fn settle(&mut self) {
        while let Some(((at, _), (id, arrival))) = self.arrivals.pop_first() {
            self.now.set(self.now.get().max(at));
            self.arrive(id, arrival);
        }
    }

    fn violated(&mut self, text: String) {
        self.violation.get_or_insert(text);
    }

    fn fault(&mut self, fault: Fault) -> bool {
        let is_time = self.has_begun || self.plan.faults_early == 1;
        let happens = is_time
            && self.plan.has(fault)
            && self.faults < self.plan.faults
            && self.random.range_u64(1, 100) <= self.plan.fault_percent;
        self.faults += u64::from(happens);
        happens
    }

    fn delay(&mut self) -> u64 {
        match self.plan.is_coarse {
            0 => self.random.range_u64(1000, 8 * MS),
            _ => self.random.range_u64(0, 8) * MS,
        }
    }

    fn push(&mut self, at: u64, id: usize, arrival: Arrival) {
        self.made += 1;
        self.arrivals.insert((at, self.made), (id, arrival));
    }

    /// Cuts bytes into parts that arrive one after the other.
    fn parts(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut rest = bytes;
        let mut parts = Vec::new();
        while self.plan.splits == 1 && rest.len() > 1 && parts.len() < 4 {
            let length = self.random.range_u64(1, rest.len() as u64) as usize;
            let (part, others) = rest.split_at(length);
            parts.push(part.to_vec());
            rest = others;
        }
        if !rest.is_empty() {
            parts.push(rest.to_vec());
        }
        parts
    }

    fn reply(&mut self, id: usize, bytes: &[u8], delay: u64) {
        let mut at = (self.now.get() + delay).max(self.connections[id].to_client_at);
        for part in self.parts(bytes) {
            self.push(at, id, Arrival::ToClient(part));
            if self.plan.splits == 1 && self.random.range_u64(0, 3) == 0 {
                at += self.delay();
            }
        }
        self.connections[id].to_client_at = at;
    }

    fn breaks(&mut self, id: usize, delay: u64) {
        self.has_lost = true;
        let at = (self.now.get() + delay).max(self.connections[id].to_client_at);
        let kind = match self.random.range_u64(0, 2) {
            0 => None,
            1 => Some(io::ErrorKind::ConnectionReset),
            _ => Some(io::ErrorKind::TimedOut),
        };
        self.connections[id].session.is_over = true;
        self.push(at, id, Arrival::Ends(kind));
    }

    /// What a client sends is looked at as it leaves.
    fn observe(&mut self, id: usize, bytes: &[u8]) {
        let now = self.now.get();
        self.connections[id].sent.push(bytes);
        while let Some(asked) = self.connections[id].sent.next() {
            self.observe_parting(id, asked);
            let (Asked::Query(sql) | Asked::Execute(sql)) = asked else {
                continue;
            };
            self.trace = (self.trace ^ now ^ id as u64).wrapping_mul(0x100_0000_01b3);
            let slack = 100 * self.read_ns;
            let is_single = self.plan.script == 1;
            let connection = &mut self.connections[id];
            match sql {
                Sql::Begin => connection.begun = now,
                Sql::Insert(_) if is_single => connection.begun = now,
                Sql::Commit if self.plan.script == 2 && now < connection.inserted + 5 * MS => {
                    self.violated(format!("\\sleep ended early at {now}"));
                }
                _ => {}
            }
            let begun = self.connections[id].begun;
            if begun == now && matches!(sql, Sql::Begin | Sql::Insert(_)) {
                // What is prepared or connected first begins before it is sent.
                let is_sent_at_once = self.plan.mode < 2 && self.plan.connect_each == 0;
                let end = if is_sent_at_once { self.end } else { u64::MAX };
                if now >= end.saturating_add(slack) {
                    self.violated(format!("a try begins at {now}, after the end at {end}"));
                }
            }
            if let Sql::Insert(Some(row)) = sql {
                self.connections[id].inserted = now;
                let tries = self.tries.entry(row).or_default();
                tries.count += 1;
                if tries.count == 1 {
                    tries.first_begun = begun;
                }
                let (count, since) = (tries.count, begun - tries.first_begun);
                let is_at_once = self.plan.mode < 2 && self.plan.rate == 0;
                if count == 1 && is_at_once && begun == now {
                    self.observe_away(id);
                }
                if count > self.plan.max_tries {
                    self.violated(format!("transaction {row} is tried {count} times"));
                }
                let limit = self.plan.retry_deadline_ms * MS;
                if limit > 0 && since > limit + slack && !self.has_stepped {
                    self.violated(format!("transaction {row} is tried again after {since} ns"));
                }
            }
        }
    }

    /// A client that goes on leaves no connection within a transaction.
    fn observe_parting(&mut self, id: usize, asked: Asked) {
        let connection = &mut self.connections[id];
        connection.has_said_goodbye |= asked == Asked::Terminate;
        match asked {
            Asked::Query(Sql::Begin) | Asked::Execute(Sql::Begin) => {
                connection.has_open_block = true;
            }
            Asked::Query(Sql::Commit | Sql::Rollback)
            | Asked::Execute(Sql::Commit | Sql::Rollback) => connection.has_open_block = false,
            Asked::Terminate if connection.has_open_block => {
                let goes_on = self.plan.goes_on == 1 && self.plan.stop_ms == 0;
                if goes_on && !self.is_silent && !connection.session.is_over {
                    self.violated("a client left in the middle of a transaction".to_owned());
                }
            }
            _ => {}
        }
    }

    /// A client with a connection for each transaction asks for the next when the last session has ended.
    fn observe_connecting(&mut self, key: Key) {
        let of_key = |connection: &&Connection| connection.key == key;
        let Some(last) = self.connections.iter().rfind(of_key) else {
            return;
        };
        let has_ended = last.session.is_over || last.is_broken;
        let is_each = self.plan.connect_each == 1;
        let may_end = !last.is_silent && !self.is_silent && !self.has_stepped;
        if is_each && may_end && last.has_said_goodbye && !has_ended {
            self.violated(format!(
                "client {key} connects before its session has ended"
            ));
        }
    }

    /// A transaction begins at an endpoint that is not its client's own, though that is back.
    fn observe_away(&mut self, id: usize) {
        let Connection { key, endpoint, .. } = self.connections[id];
        let own = key as usize % self.down_until.len();
        let Some((homes, clock)) = self.homes.as_ref().filter(|_| endpoint != own) else {
            return;
        };
        let now = clock.since(self.now.get()).saturating_sub(MS);
        if homes.is_turn(own, key as usize, now) {
            self.violated(format!("client {key} has not returned to endpoint {own}"));
        }
    }

    /// Whether an endpoint is gone.
    pub(super) fn is_down(&self, endpoint: usize) -> bool {
        self.now.get() < self.down_until[endpoint]
    }

    /// A server goes, and with it its connections.
    fn goes_down(&mut self) {
        let last = self.down_until.len() as u64 - 1;
        let endpoint = self.random.range_u64(0, last) as usize;
        let length = self.random.range_u64(1, 2000) * MS;
        self.down_until[endpoint] = self.now.get() + length;
        self.has_lost = true;
        for id in self.of_key.clone().into_iter().flatten() {
            let connection = &self.connections[id];
            if connection.endpoint == endpoint && !connection.session.is_over {
                let delay = self.delay();
                self.breaks(id, delay);
            }
        }
    }

    /// The server does what has come and answers.
    fn serve(&mut self, id: usize) {
        loop {
            let mut out = Vec::new();
            let mut rows = std::mem::take(&mut self.rows);
            let mut session = std::mem::take(&mut self.connections[id].session);
            let mut executed = None;
            let goes_on = session.answer(&mut rows, &mut out, |sql| {
                executed = Some(sql);
                self.trouble(sql)
            });
            let is_over = session.is_over;
            self.rows = rows;
            self.connections[id].session = session;
            if !goes_on {
                return;
            }
            if out.is_empty() && is_over && !self.connections[id].is_silent {
                // Nothing is answered to Terminate.
                let at = (self.now.get() + MS).max(self.connections[id].to_client_at);
                return self.push(at, id, Arrival::Ends(None));
            }
            if out.is_empty() {
                // Nothing is answered before Sync.
                continue;
            }
            if executed.is_some() && self.fault(Fault::Notice) {
                let mut notice = Vec::new();
                server::error(&mut notice, b'N', "NOTICE", "00000");
                notice.append(&mut out);
                out = notice;
            }
            let mut delay = self.delay();
            if self.fault(Fault::Slow) {
                delay += self.random.range_u64(1, 3000) * MS;
            }
            if executed.is_some() && self.fault(Fault::Silent) {
                (self.connections[id].is_silent, self.is_silent) = (true, true);
            }
            if self.connections[id].is_silent {
                return;
            }
            if self.fault(Fault::LostAfter) {
                let kept = self.random.range_u64(0, out.len() as u64) as usize;
                self.reply(id, &out[..kept], delay);
                return self.breaks(id, delay);
            }
            self.reply(id, &out, delay);
            if is_over {
                return self.breaks(id, delay);
            }
        }
    }

    fn trouble(&mut self, sql: Sql) -> Option<Trouble> {
        if sql == Sql::Rollback {
            return None;
        }
        if sql != Sql::Begin {
            if self.fault(Fault::Retryable) {
                let states = ["40001", "40P01"];
                let state = states[self.random.range_u64(0, 1) as usize];
                return Some(Trouble::Error(state));
            }
            if self.fault(Fault::Fatal) {
                return Some(Trouble::Error("23505"));
            }
        }
        if sql == Sql::Commit && self.fault(Fault::Ambiguous) {
            return Some(Trouble::Ambiguous(self.random.range_u64(0, 1) == 0));
        }
        let is_looked_for = self.plan.checks_commit == 1;
        if sql == Sql::Commit && is_looked_for && self.fault(Fault::RolledBack) {
            return Some(Trouble::RollsBack);
        }
        if self.fault(Fault::Terminated) {
            return Some(Trouble::Fatal);
        }
        None
    }

    fn arrive(&mut self, id: usize, arrival: Arrival) {
        let connection = &mut self.connections[id];
        let mut tell = |event, bytes| {
            if !connection.is_closed_by_client {
                self.ready.push_back((id, event, bytes));
            }
        };
        match arrival {
            Arrival::Opens => tell(Event::Connected, Vec::new()),
            Arrival::Refuses => {
                let error = io::ErrorKind::ConnectionRefused.into();
                tell(Event::Failed(error), Vec::new());
            }
            Arrival::ToClient(bytes) => tell(Event::Received(bytes.len()), bytes),
            Arrival::Ends(kind) => {
                let event = kind.map_or(Event::Closed, |kind| Event::Failed(kind.into()));
                tell(event, Vec::new());
                connection.is_broken = true;
            }
            Arrival::ToServer(bytes) => {
                if connection.session.is_over || connection.is_broken {
                    return;
                }
                if self.fault(Fault::LostBefore) {
                    let delay = self.delay();
                    return self.breaks(id, delay);
                }
                self.connections[id].session.decoder.push(&bytes);
                self.serve(id);
            }
            Arrival::Terminates => {
                if connection.session.is_over || connection.is_silent {
                    return;
                }
                let mut out = Vec::new();
                server::error(&mut out, b'E', "FATAL", "57P01");
                let delay = self.delay();
                self.reply(id, &out, delay);
                self.breaks(id, delay);
            }
        }
    }
}

impl Io for World {
    fn now_ns(&self) -> u64 {
        self.now.set(self.now.get() + self.read_ns);
        self.now.get()
    }

    fn connect(&mut self, key: Key, address: Address<'_>) -> io::Result<bool> {
        self.observe_connecting(key);
        self.close(key);
        let id = self.connections.len();
        let Address::Tcp(address, _) = address else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let endpoint = usize::from(address.port() - FIRST_PORT);
        self.connections.push(Connection {
            key,
            endpoint,
            ..Connection::default()
        });
        if self.of_key.len() <= key as usize {
            self.of_key.resize(key as usize + 1, None);
        }
        let is_refused = self.is_down(endpoint) || self.fault(Fault::Refused);
        self.has_lost |= is_refused;
        if is_refused {
            match self.random.range_u64(0, 2) {
                0 => return Err(io::ErrorKind::ConnectionRefused.into()),
                1 => return Err(io::ErrorKind::WouldBlock.into()),
                _ => {}
            }
        }
        self.of_key[key as usize] = Some(id);
        let at = self.now.get() + self.delay();
        if is_refused {
            self.push(at, id, Arrival::Refuses);
        } else if self.random.range_u64(0, 3) == 0 {
            return Ok(false);
        } else {
            self.push(at, id, Arrival::Opens);
        }
        if self.fault(Fault::Terminated) {
            let at = at + self.delay() * 20;
            self.push(at, id, Arrival::Terminates);
        }
        Ok(true)
    }

    fn open(&mut self, _key: Key, _socket: Socket) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn close(&mut self, key: Key) {
        let Some(id) = self.of_key.get_mut(key as usize).and_then(Option::take) else {
            return;
        };
        self.connections[id].is_closed_by_client = true;
        self.ready.retain(|(of, ..)| *of != id);
    }

    fn send(&mut self, key: Key, bytes: &[u8]) -> io::Result<()> {
        let Some(id) = self.of_key.get(key as usize).copied().flatten() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        self.observe(id, bytes);
        if self.connections[id].is_broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut at = (self.now.get() + self.delay()).max(self.connections[id].to_server_at);
        for part in self.parts(bytes) {
            self.push(at, id, Arrival::ToServer(part));
            if self.random.range_u64(0, 3) == 0 {
                at += self.delay();
            }
        }
        self.connections[id].to_server_at = at;
        Ok(())
    }

    fn wait(&mut self, now_ns: u64, deadline_ns: Option<u64>) -> io::Result<()> {
        self.waits += 1;
        if self.waits > WAITS_MAX {
            self.violated("the event loop spins".to_owned());
        }
        if self.violation.is_some() {
            return Err(io::ErrorKind::Other.into());
        }
        if !self.ready.is_empty() {
            return Ok(());
        }
        let mut target = deadline_ns.unwrap_or(u64::MAX);
        if target <= now_ns {
            target = self.now.get();
        } else if target < u64::MAX && self.random.range_u64(0, 31) == 0 {
            // It may end earlier without anything having happened.
            target = self.now.get().max(now_ns + (target - now_ns) / 2);
        }
        while let Some(entry) = self.arrivals.first_entry()
            && entry.key().0 <= target
        {
            let at = entry.key().0;
            if !self.ready.is_empty() && at > self.now.get() {
                break;
            }
            self.now.set(self.now.get().max(at));
            let (id, arrival) = entry.remove();
            self.arrive(id, arrival);
        }
        if self.ready.is_empty() {
            if target == u64::MAX {
                self.violated("the event loop waits for ever".to_owned());
                return Err(io::ErrorKind::Other.into());
            }
            self.now.set(self.now.get().max(target));
        }
        if self.fault(Fault::ClockStep) {
            self.has_stepped = true;
            let step = self.random.range_u64(1, 1500) * MS;
            self.now.set(self.now.get() + step);
        }
        if self.fault(Fault::Down) {
            self.goes_down();
        }
        Ok(())
    }

    fn next(&mut self, buffer: &mut [u8]) -> Option<(Key, Event)> {
        let (id, event, bytes) = self.ready.pop_front()?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Some((self.connections[id].key, event))
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }
}
