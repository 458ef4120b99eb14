//! The stamps of clients, one by one: which were acknowledged when, and which were shown by reads.
//!
//! Not for: what becomes of them (`run::staleness`).

/// What happened to a stamp. Times are microseconds since clients began to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampEvent {
    /// A transaction that wrote the client's stamp was acknowledged.
    Acknowledged {
        client: usize,
        /// Which of its stamps, from 1.
        number: u64,
        at_us: u64,
    },
    /// The client has read its stamp.
    Read {
        client: usize,
        /// The stamp that it was shown; 0: none.
        shown: u64,
        /// When the statement was sent.
        began_us: u64,
        ended_us: u64,
        /// The number of the role of the endpoint; 0: it has none.
        role: usize,
        /// The number of the server among [`super::Recording::endpoints`].
        place: usize,
        /// Whether it ended in the measured time.
        is_measured: bool,
    },
}
