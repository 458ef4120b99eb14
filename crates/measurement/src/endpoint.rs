//! What happened at each endpoint, and what happened to connections.

use super::{Counts, EndpointSeconds, Latencies, Stall};

/// A server that clients connect to, by the name its user gave it.
#[derive(Clone, Debug, Default)]
pub struct EndpointRecord {
    /// `host:port`, or the path of a Unix socket.
    pub name: String,
    /// Clients that try it first.
    pub clients: u64,
    /// Connections made there; like the three below over the whole run, warm-up included.
    pub connections: u64,
    /// Connections to it that broke.
    pub lost: u64,
    /// How often a client came here from another endpoint.
    pub arrived: u64,
    /// How often a client of this endpoint came back; these are among those that arrived.
    pub returned: u64,
    /// Transactions of the measured phase, all scripts together: each one booked where its client
    /// was connected when it ended, or had been last.
    pub counts: Counts,
    /// Service times of those that were committed.
    pub service: Latencies,
    /// Their response times; with a rate only.
    pub response: Option<Latencies>,
    /// Times of a second and longer in which nothing was committed there, as [`Recording::stalls`];
    /// where there are several endpoints.
    ///
    /// [`Recording::stalls`]: super::Recording::stalls
    pub stalls: Vec<Stall>,
    /// What happened there by second; where there are several endpoints.
    pub seconds: EndpointSeconds,
}

impl EndpointRecord {
    pub fn with_rate(with_rate: bool) -> Self {
        Self {
            response: with_rate.then(Latencies::default),
            ..Self::default()
        }
    }

    /// Forgets the transactions of the warm-up.
    pub fn end_warmup(&mut self) {
        self.counts = Counts::default();
        self.service.clear();
        self.response.iter_mut().for_each(Latencies::clear);
    }

    /// It has joined while the run went on: that nothing was committed there before is no outage.
    pub fn has_joined(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        let seconds = &self.seconds;
        let first = seconds.committed.iter().position(|count| *count > 0);
        let first_us = first.map(|second| seconds.from_us + second as u64 * 1_000_000);
        self.stalls
            .retain(|stall| first_us.is_some_and(|first_us| stall.start_us >= first_us));
    }

    /// Adds what another thread has counted.
    pub fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.lost += other.lost;
        self.arrived += other.arrived;
        self.returned += other.returned;
        self.counts.merge(&other.counts);
        self.service.merge(&other.service);
        if let (Some(mine), Some(theirs)) = (&mut self.response, &other.response) {
            mine.merge(theirs);
        }
        self.seconds.merge(&other.seconds);
    }
}

/// What an [`Event`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A client has lost its connection, or gets none, and tries again.
    Outage,
    /// It is connected again where it was.
    Reconnected,
    /// It is connected to another endpoint than before, which is not its own.
    Moved,
    /// It is connected to its own endpoint again, after another one.
    Returned,
    /// A client of an endpoint gets no connection there and goes to another one: the first of them.
    EndpointDown,
    /// That endpoint accepts connections again, and its clients return.
    EndpointUp,
    /// Sessions go without TLS, as TLS failed and `sslmode` allows it.
    WithoutTls,
    /// A new connection meets another server than those before it: of another version, or role.
    ServerReplaced,
}

impl EventKind {
    pub const ALL: [Self; 8] = [
        Self::Outage,
        Self::Reconnected,
        Self::Moved,
        Self::Returned,
        Self::EndpointDown,
        Self::EndpointUp,
        Self::WithoutTls,
        Self::ServerReplaced,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Outage => "outage",
            Self::Reconnected => "reconnected",
            Self::Moved => "moved",
            Self::Returned => "returned",
            Self::EndpointDown => "endpoint-down",
            Self::EndpointUp => "endpoint-up",
            Self::WithoutTls => "without-tls",
            Self::ServerReplaced => "server-replaced",
        }
    }
}

/// Something that happened to a connection in the course of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in microseconds since clients began to work; 0 for what happened before.
    pub at_us: u64,
    pub kind: EventKind,
    /// The same for people, with the client's number.
    pub text: String,
}
