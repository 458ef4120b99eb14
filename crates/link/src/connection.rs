//! One connection through a link: a state machine that gets what is ready and the time, and tells
//! what it waits for. Its event loop owns the clock.

use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;

use super::cut::{Cut, CutAt, How};
use super::event_loop::Way;
use super::pipe::{Pipe, Progress, Taken, swallow, take_in};
use super::relay::{Outbox, Relay, Verdict};
use super::upstream::{Begun, Socket, Upstream};
use super::{Delay, Direction, Side};

/// How long the ends of a cut connection may take to close, and how long a server that does not answer is
/// still asked for a client that has gone.
const CLOSE_MAX: Duration = Duration::from_secs(1);
/// When a server with a full queue is asked again.
const AGAIN: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The way to the server is blocked, or its queue is full: it is connected to from then on.
    Waiting(Instant),
    /// The server has not answered yet. The client may have gone meanwhile: given up then.
    Connecting(Option<Instant>),
    Open,
    /// One side is lost; what the other sends is read and forgotten.
    HalfOpen,
    /// Cut in an orderly way: what is still sent is read until then, because a socket that is closed
    /// with something unread resets its connection.
    Ending(Instant),
}

/// Whether a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Open,
    /// All that is left to do is to drop it.
    Over,
}

#[derive(Debug)]
pub(super) struct Connection {
    /// Counted from 1 over a link; its draws depend on it.
    pub(super) number: u64,
    /// By side; none where it is lost, or not connected yet.
    pub(super) sockets: [Option<Socket>; 2],
    /// What each socket is watched for at present; the event loop's business.
    pub(super) watched: [Option<EventFlags>; 2],
    /// When the event loop has promised to look at it.
    pub(super) timer: Option<Instant>,
    /// By direction; none where it has ended.
    pipes: [Option<Pipe>; 2],
    state: State,
    /// When it is cut, where that is a time.
    cut: Option<(Instant, How)>,
    /// What a cut by bytes looks like.
    cut_how: How,
    /// Who reads along.
    relay: Option<Box<dyn Relay>>,
    outbox: Outbox,
}

impl Connection {
    pub(super) fn new(
        number: u64,
        client: Socket,
        ways: &[Way; 2],
        cut: Option<Cut>,
        relay: Option<Box<dyn Relay>>,
        now: Instant,
    ) -> Connection {
        let at = match cut {
            Some(Cut {
                at: CutAt::After(after),
                how,
            }) => Some((now + after, how)),
            _ => None,
        };
        let pipe = |direction: Direction| {
            Some(Pipe::new(
                ways[direction as usize].delay.for_connection(number),
                cut.and_then(|cut| cut.after_bytes(direction)),
            ))
        };
        Connection {
            number,
            sockets: [Some(client), None],
            watched: [None; 2],
            timer: None,
            pipes: Direction::BOTH.map(pipe),
            state: State::Waiting(now),
            cut: at,
            cut_how: cut.map_or(How::End, |cut| cut.how),
            relay,
            outbox: Outbox::default(),
        }
    }

    pub(super) fn set_delay(&mut self, direction: Direction, delay: &Delay) {
        if let Some(pipe) = &mut self.pipes[direction as usize] {
            pipe.set_delay(delay.for_connection(self.number));
        }
    }

    pub(super) fn free_line(&mut self, direction: Direction) {
        if let Some(pipe) = &mut self.pipes[direction as usize] {
            pipe.free_line();
        }
    }

    /// Does what can be done now. `ready`: what its sockets were reported for.
    pub(super) fn serve(
        &mut self,
        ready: [EventFlags; 2],
        (server, ways): (&Upstream, &[Way; 2]),
        buffer: &mut [u8],
        now: Instant,
    ) -> Fate {
        if let Some((_, how)) = self.cut.filter(|(at, _)| *at <= now) {
            self.cut = None;
            return self.cut(how, now);
        }
        match self.state {
            State::Waiting(from) => {
                if !ways[Direction::ToServer as usize].is_blocked && from <= now {
                    return self.connect(server, now);
                }
                Fate::Open
            }
            State::Connecting(give_up) => self.connecting(ready, give_up, now),
            State::HalfOpen | State::Ending(_) => self.forget(ready, buffer, now),
            State::Open => self.carry(ready, ways, buffer, now),
        }
    }

    fn connect(&mut self, server: &Upstream, now: Instant) -> Fate {
        match server.begin() {
            Ok(Begun::Socket(socket)) => {
                self.sockets[Side::Server as usize] = Some(socket);
                self.state = State::Connecting(None);
                Fate::Open
            }
            Ok(Begun::Later) => {
                self.state = State::Waiting(now + AGAIN);
                Fate::Open
            }
            Err(_) => self.cut(How::Reset, now),
        }
    }

    fn connecting(
        &mut self,
        ready: [EventFlags; 2],
        give_up: Option<Instant>,
        now: Instant,
    ) -> Fate {
        let [client, server] = ready;
        if !server.is_empty() {
            let opened = self.sockets[Side::Server as usize].as_ref();
            match opened.map(Socket::opened) {
                Some(Ok(())) => self.state = State::Open,
                _ => return self.cut(How::Reset, now),
            }
        } else if !client.is_empty() && give_up.is_none() {
            // It has closed, or says no more.
            self.state = State::Connecting(Some(now + CLOSE_MAX));
        } else if give_up.is_some_and(|give_up| give_up <= now) {
            return Fate::Over;
        }
        Fate::Open
    }

    fn carry(
        &mut self,
        ready: [EventFlags; 2],
        ways: &[Way; 2],
        buffer: &mut [u8],
        now: Instant,
    ) -> Fate {
        for direction in Direction::BOTH {
            let at = direction as usize;
            let [Some(client), Some(server)] = &mut self.sockets else {
                return Fate::Over;
            };
            let Some(pipe) = &mut self.pipes[at] else {
                continue;
            };
            let (source, sink) = match direction {
                Direction::ToServer => (client, server),
                Direction::ToClient => (server, client),
            };
            let mut progress = pipe.hand_on(sink, &ways[at], now);
            let may_read = !(ready[at] & !EventFlags::OUT).is_empty();
            if progress == Progress::Open && may_read && pipe.is_hungry(&ways[at], now) {
                let taken = take_in(source, &ways[at], buffer);
                let mut verdict = Verdict::Same;
                match (taken, &mut self.relay) {
                    (Taken::Bytes(count), Some(relay)) => {
                        let from = Side::of_source(direction);
                        verdict = relay.received(from, &buffer[..count], &mut self.outbox);
                    }
                    (Taken::End, Some(relay)) => {
                        relay.ended(Side::of_source(direction), &mut self.outbox);
                        verdict = Verdict::Instead;
                    }
                    _ => {}
                }
                if verdict != Verdict::Same {
                    self.post(ways, now);
                }
                if verdict == Verdict::Last {
                    return self.cut(How::End, now);
                }
                let [Some(client), Some(server)] = &mut self.sockets else {
                    return Fate::Over;
                };
                let sink = match direction {
                    Direction::ToServer => server,
                    Direction::ToClient => client,
                };
                let Some(pipe) = &mut self.pipes[at] else {
                    continue;
                };
                match taken {
                    Taken::Bytes(count) if verdict == Verdict::Same => {
                        progress = pipe.put(sink, &buffer[..count], &ways[at], now);
                    }
                    Taken::End => pipe.end(false, &ways[at], now),
                    Taken::Reset => pipe.end(true, &ways[at], now),
                    _ => {}
                }
                if progress == Progress::Open {
                    progress = pipe.hand_on(sink, &ways[at], now);
                }
            }
            match progress {
                Progress::Open => {}
                Progress::Ended => self.pipes[at] = None,
                Progress::Reset => return self.cut(How::Reset, now),
                Progress::Cut => {
                    let how = self.cut_how;
                    return self.cut(how, now);
                }
            }
        }
        if self.pipes.iter().all(Option::is_none) {
            Fate::Over
        } else {
            Fate::Open
        }
    }

    /// Sends what the relay has to send. What became of it shows when the pipe is next looked at.
    fn post(&mut self, ways: &[Way; 2], now: Instant) {
        for direction in Direction::BOTH {
            let at = direction as usize;
            let bytes = self.outbox.to(direction);
            if let (Some(pipe), Some(sink)) = (&mut self.pipes[at], &mut self.sockets[1 - at])
                && !bytes.is_empty()
            {
                pipe.put(sink, bytes, &ways[at], now);
                pipe.hand_on(sink, &ways[at], now);
            }
            bytes.clear();
        }
    }

    /// Reads what is still sent.
    fn forget(&mut self, ready: [EventFlags; 2], buffer: &mut [u8], now: Instant) -> Fate {
        for (socket, ready) in self.sockets.iter_mut().zip(ready) {
            let has_ended = match socket {
                Some(socket) if !ready.is_empty() => !swallow(socket, buffer),
                _ => false,
            };
            if has_ended {
                *socket = None;
            }
        }
        let is_late = matches!(self.state, State::Ending(until) if until <= now);
        if is_late || self.sockets.iter().all(Option::is_none) {
            Fate::Over
        } else {
            Fate::Open
        }
    }

    /// Closes this side's socket; the other side is only listened to.
    pub(super) fn lose(&mut self, side: Side) {
        self.sockets[side as usize] = None;
        self.state = State::HalfOpen;
        self.pipes = [None, None];
    }

    pub(super) fn cut(&mut self, how: How, now: Instant) -> Fate {
        match how {
            How::Reset => {
                let sockets = self.sockets.iter_mut().filter_map(Option::take);
                sockets.for_each(Socket::reset);
                Fate::Over
            }
            How::End => {
                self.sockets.iter().flatten().for_each(Socket::end);
                self.state = State::Ending(now + CLOSE_MAX);
                self.pipes = [None, None];
                Fate::Open
            }
        }
    }

    /// What each of its sockets is to be watched for. Not watched for anything, an end would be reported again
    /// and again: it is then not watched at all.
    pub(super) fn wanted(&self, ways: &[Way; 2], now: Instant) -> [Option<EventFlags>; 2] {
        let mut wanted = [EventFlags::empty(); 2];
        match self.state {
            State::Waiting(_) => {}
            State::Connecting(give_up) => {
                wanted[Side::Server as usize] = EventFlags::OUT;
                if give_up.is_none() {
                    wanted[Side::Client as usize] = EventFlags::RDHUP;
                }
            }
            State::HalfOpen | State::Ending(_) => wanted = [EventFlags::IN; 2],
            State::Open => {
                for (at, (pipe, way)) in self.pipes.iter().zip(ways).enumerate() {
                    let Some(pipe) = pipe else { continue };
                    if pipe.is_hungry(way, now) {
                        wanted[at] |= EventFlags::IN;
                    }
                    if pipe.is_stuck(way) {
                        wanted[1 - at] |= EventFlags::OUT;
                    }
                }
            }
        }
        wanted.map(|flags| (!flags.is_empty()).then_some(flags))
    }

    /// When there is something to do for it even if its sockets are quiet.
    pub(super) fn wakes_at(&self, ways: &[Way; 2], now: Instant) -> Option<Instant> {
        let own = match self.state {
            State::Waiting(from) => {
                (!ways[Direction::ToServer as usize].is_blocked).then_some(from)
            }
            State::Connecting(give_up) => give_up,
            State::Ending(until) => Some(until),
            State::HalfOpen | State::Open => None,
        };
        let pipes = self.pipes.iter().zip(ways);
        let pipes = pipes.filter_map(|(pipe, way)| pipe.as_ref()?.wakes_at(way, now));
        let pipes = pipes.filter(|_| self.state == State::Open);
        let cut = self.cut.map(|(at, _)| at);
        pipes.chain(own).chain(cut).min()
    }
}
