//! The thread of a link: waits for bytes, room, clients, orders and time, for all of its connections.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use super::Delay;
use super::bandwidth::Bandwidth;
use super::connection::{Connection, Fate};
use super::cut::Cut;
use super::orders::{Order, Orders};
use super::pipe::CHUNK_BYTES;
use super::relay::Relays;
use super::upstream::{Socket, Upstream};

const LISTENER: u64 = u64::MAX;
const ORDERS: u64 = u64::MAX - 1;
/// So many events one wait may bring; more wait for the next.
const EVENTS_MAX: usize = 256;
/// After a client could not be taken (no more descriptors), when it is tried again.
const ACCEPT_AGAIN: Duration = Duration::from_millis(20);

/// What one direction is like at present.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) delay: Delay,
    pub(super) bandwidth: Option<Arc<Bandwidth>>,
    pub(super) is_blocked: bool,
}

pub(super) struct EventLoop {
    epoll: OwnedFd,
    listener: TcpListener,
    /// Clients are taken again then; none where they are taken.
    accept_again: Option<Instant>,
    is_down: bool,
    orders: Orders,
    server: Upstream,
    ways: [Way; 2],
    cut: Option<Cut>,
    relays: Option<Arc<dyn Relays>>,
    /// Connections of all loops of the link so far.
    count: Arc<AtomicU64>,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// When which connection is looked at.
    timers: BinaryHeap<Reverse<(Instant, usize)>>,
    buffer: Vec<u8>,
}

impl EventLoop {
    pub(super) fn new(
        listener: TcpListener,
        server: Upstream,
        ways: [Way; 2],
        cut: Option<Cut>,
        relays: Option<Arc<dyn Relays>>,
        orders: Orders,
        count: Arc<AtomicU64>,
    ) -> io::Result<EventLoop> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let data = epoll::EventData::new_u64;
        epoll::add(&epoll, &listener, data(LISTENER), epoll::EventFlags::IN)?;
        epoll::add(&epoll, &orders, data(ORDERS), epoll::EventFlags::IN)?;
        Ok(EventLoop {
            epoll,
            listener,
            accept_again: None,
            is_down: false,
            orders,
            server,
            ways,
            cut,
            relays,
            count,
            connections: Vec::new(),
            free: Vec::new(),
            timers: BinaryHeap::new(),
            buffer: vec![0; CHUNK_BYTES],
        })
    }

    /// Carries bytes until the owner has gone.
    pub(super) fn run(mut self) {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        // Places that became free: an event of this round may still be for who had them.
        let mut over = Vec::new();
        loop {
            let limit = self.wait_limit();
            events.clear();
            // Interrupted, nothing is ready.
            let _ = epoll::wait(&self.epoll, spare_capacity(&mut events), limit.as_ref());
            let now = Instant::now();
            let mut is_listening = false;
            for event in events.drain(..) {
                match event.data.u64() {
                    LISTENER => is_listening = true,
                    ORDERS => {
                        if !self.obey(now, &mut over) {
                            return;
                        }
                    }
                    token => {
                        let mut ready = [epoll::EventFlags::empty(); 2];
                        ready[(token % 2) as usize] = event.flags;
                        self.serve((token / 2) as usize, ready, now, &mut over);
                    }
                }
            }
            while let Some(Reverse((at, key))) = self.timers.peek().copied()
                && at <= now
            {
                self.timers.pop();
                if let Some(Some(connection)) = self.connections.get_mut(key)
                    && connection.timer == Some(at)
                {
                    connection.timer = None;
                    self.serve(key, [epoll::EventFlags::empty(); 2], now, &mut over);
                }
            }
            if is_listening || self.accept_again.is_some_and(|again| again <= now) {
                self.accept(now, &mut over);
            }
            self.free.append(&mut over);
        }
    }

    /// Until the next moment at which something is due.
    fn wait_limit(&self) -> Option<Timespec> {
        let timer = self.timers.peek().map(|Reverse((at, _))| *at);
        let until = timer.into_iter().chain(self.accept_again).min()?;
        let left = until.saturating_duration_since(Instant::now());
        // Longer than it can say is no limit.
        Timespec::try_from(left).ok()
    }

    /// Takes the clients that wait.
    fn accept(&mut self, now: Instant, over: &mut Vec<usize>) {
        let listener = epoll::EventData::new_u64(LISTENER);
        if self.accept_again.take().is_some() {
            let _ = epoll::add(&self.epoll, &self.listener, listener, epoll::EventFlags::IN);
        }
        loop {
            let client = match self.listener.accept() {
                Ok((client, _)) => client,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    // It would be reported again at once.
                    let _ = epoll::delete(&self.epoll, &self.listener);
                    self.accept_again = Some(now + ACCEPT_AGAIN);
                    return;
                }
            };
            if self.is_down || client.set_nonblocking(true).is_err() {
                continue;
            }
            // Statements are small and each waits for its answer.
            let _ = client.set_nodelay(true);
            let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
            let client = Socket::Tcp(client);
            let relay = self.relays.as_ref().map(|relays| relays.relay(number));
            let connection = Connection::new(number, client, &self.ways, self.cut, relay, now);
            let key = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            self.connections[key] = Some(connection);
            self.serve(key, [epoll::EventFlags::empty(); 2], now, over);
        }
    }

    /// Does what the owner wants; false when the owner has gone.
    fn obey(&mut self, now: Instant, over: &mut Vec<usize>) -> bool {
        self.orders.woken();
        // Dropped when all is done: their owner waits for it.
        let mut carried_out = Vec::new();
        loop {
            let order = match self.orders.next() {
                Ok(None) => break,
                Ok(Some((order, pending))) => {
                    carried_out.push(pending);
                    order
                }
                Err(_) => return false,
            };
            match order {
                Order::Block(direction, is_blocked) => {
                    self.ways[direction as usize].is_blocked = is_blocked;
                }
                Order::Delay(direction, delay) => {
                    for connection in self.connections.iter_mut().flatten() {
                        connection.set_delay(direction, &delay);
                    }
                    self.ways[direction as usize].delay = delay;
                }
                Order::Bandwidth(direction, line) => {
                    for connection in self.connections.iter_mut().flatten() {
                        connection.free_line(direction);
                    }
                    self.ways[direction as usize].bandwidth = line;
                }
                Order::Lose(side) => {
                    for connection in self.connections.iter_mut().flatten() {
                        connection.watched[side as usize] = None;
                        connection.lose(side);
                    }
                }
                Order::Down(is_down) => self.is_down = is_down,
                Order::Cut(how) => {
                    for key in 0..self.connections.len() {
                        let connection = self.connections[key].as_mut();
                        if connection.is_some_and(|one| one.cut(how, now) == Fate::Over) {
                            self.connections[key] = None;
                            over.push(key);
                        }
                    }
                }
            }
        }
        for key in 0..self.connections.len() {
            self.serve(key, [epoll::EventFlags::empty(); 2], now, over);
        }
        true
    }

    /// Does what can be done for a connection, and waits for what it waits for.
    fn serve(
        &mut self,
        key: usize,
        ready: [epoll::EventFlags; 2],
        now: Instant,
        over: &mut Vec<usize>,
    ) {
        let Some(Some(connection)) = self.connections.get_mut(key) else {
            return;
        };
        let place = (&self.server, &self.ways);
        let fate = connection.serve(ready, place, &mut self.buffer, now);
        if fate == Fate::Over || watch(&self.epoll, key, connection, &self.ways, now).is_err() {
            self.connections[key] = None;
            over.push(key);
            return;
        }
        let Some(wakes_at) = connection.wakes_at(&self.ways, now) else {
            return;
        };
        if connection.timer.is_none_or(|promised| wakes_at < promised) {
            connection.timer = Some(wakes_at);
            self.timers.push(Reverse((wakes_at, key)));
        }
    }
}

/// Has its sockets watched for what it waits for.
fn watch(
    epoll: &OwnedFd,
    key: usize,
    connection: &mut Connection,
    ways: &[Way; 2],
    now: Instant,
) -> io::Result<()> {
    let wanted = connection.wanted(ways, now);
    for (side, wanted) in wanted.into_iter().enumerate() {
        let watched = &mut connection.watched[side];
        let Some(socket) = &connection.sockets[side] else {
            // Closed: the kernel watches it no more.
            *watched = None;
            continue;
        };
        let token = epoll::EventData::new_u64(2 * key as u64 + side as u64);
        match (*watched, wanted) {
            (None, Some(flags)) => epoll::add(epoll, socket, token, flags)?,
            (Some(old), Some(flags)) if old != flags => epoll::modify(epoll, socket, token, flags)?,
            (Some(_), None) => epoll::delete(epoll, socket)?,
            _ => {}
        }
        *watched = wanted;
    }
    Ok(())
}
