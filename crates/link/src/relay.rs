//! Who reads along on a link, and may change what it carries: for what must know the protocol, which a link
//! does not.

use std::fmt;

use crate::{Direction, Side};

/// Reads along on one connection.
pub trait Relay: Send + fmt::Debug {
    /// Bytes have come from one side.
    fn received(&mut self, from: Side, bytes: &[u8], out: &mut Outbox) -> Verdict;

    /// One side sends no more: what is still to be sent to the other before it learns of it.
    fn ended(&mut self, from: Side, out: &mut Outbox);
}

/// Makes the relay of each connection, by its number in the link, from 1.
pub trait Relays: Send + Sync + fmt::Debug {
    fn relay(&self, connection: u64) -> Box<dyn Relay>;
}

/// What is done with bytes that have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// They go to the other side as they are.
    Same,
    /// What is in the outbox goes in their place.
    Instead,
    /// The same, and the connection ends.
    Last,
}

/// What a relay sends, by direction.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: [Vec<u8>; 2],
}

impl Outbox {
    pub fn to(&mut self, direction: Direction) -> &mut Vec<u8> {
        &mut self.bytes[direction as usize]
    }
}
