//! Orders from the owner of a link to its connections.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Direction, How, Side};

/// What a connection is to do.
#[derive(Debug, Clone, Copy)]
pub(super) enum Order {
    Block(Direction, bool),
    Cut(How),
    Lose(Side),
}

/// The owner's end.
#[derive(Debug, Default)]
pub(super) struct Control(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    is_blocked: [bool; 2],
    is_down: bool,
    connections: Vec<(Sender<Order>, UnixStream)>,
}

/// A connection's end.
#[derive(Debug)]
pub(super) struct Orders {
    orders: Receiver<Order>,
    /// Readable when there is an order, or no owner any more.
    pub(super) wake: UnixStream,
}

impl Control {
    /// For a new connection: the orders that hold, and those to come.
    pub(super) fn join(&self) -> io::Result<Orders> {
        let (waker, wake) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        wake.set_nonblocking(true)?;
        let (sender, orders) = channel();
        let mut state = self.state();
        if state.is_down {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        for direction in [Direction::ToServer, Direction::ToClient] {
            let is_blocked = state.is_blocked[direction as usize];
            // The receiver is right here.
            let _ = sender.send(Order::Block(direction, is_blocked));
        }
        state.connections.push((sender, waker));
        Ok(Orders { orders, wake })
    }

    pub(super) fn block(&self, direction: Direction, is_blocked: bool) {
        self.state().is_blocked[direction as usize] = is_blocked;
        self.order(Order::Block(direction, is_blocked));
    }

    /// From now on there are no new connections, or there are again.
    pub(super) fn set_down(&self, is_down: bool) {
        self.state().is_down = is_down;
    }

    /// To all connections that there are.
    pub(super) fn order(&self, order: Order) {
        let send = |(orders, waker): &mut (Sender<Order>, UnixStream)| {
            let is_there = orders.send(order).is_ok();
            // If it is full, the connection will wake up all the same.
            let _ = waker.write(&[1]);
            is_there
        };
        self.state().connections.retain_mut(send);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in it is ever half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Orders {
    /// The next one; an error when the owner has gone.
    pub(super) fn next(&mut self) -> Result<Option<Order>, TryRecvError> {
        match self.orders.try_recv() {
            Ok(order) => Ok(Some(order)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(gone) => Err(gone),
        }
    }

    /// Takes note of having been woken.
    pub(super) fn woken(&mut self) {
        while self.wake.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
    }
}
