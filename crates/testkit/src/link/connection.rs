//! One connection through a link: a thread that owns both sockets, so that closing one is closing it
//! at once.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::control::{Order, Orders};
use super::cut::{Cut, CutAt, How};
use super::pipe::{Pipe, Progress, swallow};
use super::{Direction, Side};
use crate::upstream::Socket;

/// After an orderly cut, so long the ends may take to close.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// By side; none where it is lost.
    sockets: [Option<Socket>; 2],
    /// By direction; none where it has ended.
    pipes: [Option<Pipe>; 2],
    /// When it is cut, where that is a time.
    cut: Option<(Instant, How)>,
    /// What a cut by bytes looks like.
    cut_how: How,
    orders: Orders,
}

impl Connection {
    pub(super) fn new(
        client: Socket,
        server: Socket,
        pipes: [Pipe; 2],
        cut: Option<Cut>,
        orders: Orders,
    ) -> Connection {
        let at = match cut {
            Some(Cut {
                at: CutAt::After(after),
                how,
            }) => Some((Instant::now() + after, how)),
            _ => None,
        };
        Connection {
            sockets: [Some(client), Some(server)],
            pipes: pipes.map(Some),
            cut: at,
            cut_how: cut.map_or(How::End, |cut| cut.how),
            orders,
        }
    }

    /// Carries bytes until it ends or is cut, or the link is dropped.
    pub(super) fn carry(mut self) {
        loop {
            loop {
                match self.orders.next() {
                    Ok(None) => break,
                    Ok(Some(Order::Block(direction, is_blocked))) => {
                        if let Some(pipe) = &mut self.pipes[direction as usize] {
                            pipe.block(is_blocked);
                        }
                    }
                    Ok(Some(Order::Lose(side))) => self.lose(side),
                    Ok(Some(Order::Cut(how))) => return self.cut(how),
                    Err(_) => return,
                }
            }
            let now = Instant::now();
            if let Some((_, how)) = self.cut.filter(|(at, _)| *at <= now) {
                return self.cut(how);
            }
            for direction in [Direction::ToServer, Direction::ToClient] {
                match self.hand_on(direction, now) {
                    Progress::Open => {}
                    Progress::Ended => self.pipes[direction as usize] = None,
                    Progress::Cut => {
                        let how = self.cut_how;
                        return self.cut(how);
                    }
                }
            }
            let is_half_open = self.sockets.iter().any(Option::is_none);
            if !is_half_open && self.pipes.iter().all(Option::is_none) {
                return;
            }
            if self.wait(now) == Progress::Ended {
                return;
            }
        }
    }

    fn hand_on(&mut self, direction: Direction, now: Instant) -> Progress {
        let sink = &mut self.sockets[1 - direction as usize];
        match (&mut self.pipes[direction as usize], sink) {
            (Some(pipe), Some(sink)) => pipe.hand_on(sink, now),
            _ => Progress::Open,
        }
    }

    /// Waits for bytes, room, orders or time, and takes in what has come.
    fn wait(&mut self, now: Instant) -> Progress {
        let is_half_open = self.sockets.iter().any(Option::is_none);
        let mut wanted = [PollFlags::empty(); 2];
        for (at, pipe) in self.pipes.iter().enumerate() {
            let Some(pipe) = pipe else { continue };
            if pipe.is_hungry(now) {
                wanted[at] |= PollFlags::IN;
            }
            if pipe.is_stuck() {
                wanted[1 - at] |= PollFlags::OUT;
            }
        }
        if is_half_open {
            wanted = [PollFlags::IN; 2];
        }
        let pipes = self.pipes.iter().flatten();
        let until = pipes.filter_map(Pipe::wakes_at).filter(|_| !is_half_open);
        let until = until.chain(self.cut.map(|(at, _)| at)).min();
        let limit = until.map(|until| {
            let left = until.saturating_duration_since(now);
            Timespec::try_from(left).unwrap_or(Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            })
        });
        let mut ready = [PollFlags::empty(); 2];
        let is_woken = {
            let mut fds = vec![PollFd::new(&self.orders.wake, PollFlags::IN)];
            let mut sides = Vec::with_capacity(2);
            for (side, socket) in self.sockets.iter().enumerate() {
                // What is not asked for is not polled: its end would be reported again and again.
                if let Some(socket) = socket.as_ref().filter(|_| !wanted[side].is_empty()) {
                    fds.push(PollFd::new(socket, wanted[side]));
                    sides.push(side);
                }
            }
            // Interrupted, nothing is ready.
            let _ = poll(&mut fds, limit.as_ref());
            for (fd, side) in fds[1..].iter().zip(sides) {
                ready[side] = fd.revents();
            }
            !fds[0].revents().is_empty()
        };
        if is_woken {
            self.orders.woken();
        }
        let now = Instant::now();
        let both = self.sockets.iter_mut().zip(&mut self.pipes);
        for (side, (socket, pipe)) in both.enumerate() {
            let can_read = wanted[side].contains(PollFlags::IN) && !ready[side].is_empty();
            let Some(socket) = socket.as_mut().filter(|_| can_read) else {
                continue;
            };
            if is_half_open && !swallow(socket) {
                return Progress::Ended;
            } else if let Some(pipe) = pipe.as_mut().filter(|_| !is_half_open) {
                pipe.take_in(socket, now);
            }
        }
        Progress::Open
    }

    /// Closes this side's socket; the other side is only listened to.
    fn lose(&mut self, side: Side) {
        self.sockets[side as usize] = None;
    }

    fn cut(self, how: How) {
        let sockets = self.sockets.into_iter().flatten();
        match how {
            How::Reset => sockets.for_each(Socket::reset),
            How::End => {
                let sockets: Vec<Socket> = sockets.collect();
                sockets.iter().for_each(Socket::end);
                sockets.into_iter().for_each(drain);
            }
        }
    }
}

/// Reads to the end: a socket that is closed with something unread resets its connection.
fn drain(mut socket: Socket) {
    let until = Instant::now() + CLOSE_MAX;
    let can_wait =
        socket.set_nonblocking(false).is_ok() && socket.set_read_timeout(CLOSE_MAX).is_ok();
    while can_wait && Instant::now() < until && swallow(&mut socket) {}
}
