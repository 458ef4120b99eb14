//! Orders from the owner of a link to its event loops.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use super::bandwidth::Bandwidth;
use super::{Delay, Direction, How, Side};

/// What an event loop is to do.
#[derive(Debug, Clone)]
pub(super) enum Order {
    Block(Direction, bool),
    Delay(Direction, Delay),
    Bandwidth(Direction, Option<Arc<Bandwidth>>),
    /// To all connections that there are.
    Cut(How),
    /// To all connections that there are.
    Lose(Side),
    /// Hang up on new clients, or take them again.
    Down(bool),
}

/// An order that is not carried out yet: who gave it waits until it is dropped.
pub(super) type Pending = Sender<()>;

/// The owner's end. When it is dropped, the event loop ends.
#[derive(Debug)]
pub(super) struct Master {
    orders: Sender<(Order, Pending)>,
    waker: UnixStream,
}

#[derive(Debug)]
pub(super) struct Orders {
    orders: Receiver<(Order, Pending)>,
    /// Readable when there is an order, or no owner any more.
    wake: UnixStream,
}

/// Both ends.
///
/// # Errors
/// There are no more descriptors.
pub(super) fn orders() -> io::Result<(Master, Orders)> {
    let (waker, wake) = UnixStream::pair()?;
    waker.set_nonblocking(true)?;
    wake.set_nonblocking(true)?;
    let (sender, receiver) = channel();
    let master = Master {
        orders: sender,
        waker,
    };
    let orders = Orders {
        orders: receiver,
        wake,
    };
    Ok((master, orders))
}

impl Master {
    /// Gives an order. What is returned ends when it is carried out.
    pub(super) fn order(&self, order: Order) -> Receiver<()> {
        let (pending, done) = channel();
        // A loop that has ended carries nothing that could obey.
        let _ = self.orders.send((order, pending));
        // If it is full, the loop will wake up all the same.
        let _ = (&self.waker).write(&[1]);
        done
    }
}

impl Orders {
    /// The next one; an error when the owner has gone.
    pub(super) fn next(&mut self) -> Result<Option<(Order, Pending)>, TryRecvError> {
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

impl AsFd for Orders {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
