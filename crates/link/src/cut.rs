//! When a connection is cut, and what its ends see of it.

use std::time::Duration;

use super::Direction;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// An orderly end (FIN), after all that was handed on.
    End,
    Reset,
}

/// When each connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutAt {
    /// After exactly so many bytes of this direction.
    Bytes(Direction, u64),
    /// So long after it was made.
    After(Duration),
}

/// A cut that is to come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) at: CutAt,
    pub(super) how: How,
}

impl Cut {
    /// The bytes that go this way before it, where it is about them.
    pub(super) fn after_bytes(self, direction: Direction) -> Option<u64> {
        match self.at {
            CutAt::Bytes(counted, bytes) if counted == direction => Some(bytes),
            _ => None,
        }
    }
}
