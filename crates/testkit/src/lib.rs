//! What the tests share: a real PostgreSQL, stock pgbench, a recording proxy, a pooler ([`pool`]), a hostile server, system calls that fail ([`failing`]), a server that is a
//! little slower ([`slow`]), skips that are
//! counted. For tests only: what goes
//! wrong here panics, with the reason.
//!
//! ```no_run
//! // In a test: a server that all tests of this process share …
//! let url = pgdyno_testkit::postgres().address().url();
//! // … or one of its own.
//! let server = pgdyno_testkit::postgres_with(&["default_transaction_isolation=serializable"]);
//! // What a client sends, message by message.
//! let proxy = pgdyno_testkit::RecordingProxy::start(server.address().socket_path());
//! let client_connects_to = proxy.tcp_address();
//! let sent = proxy.connections();
//! ```

mod certificate;
mod certs;
mod closed;
mod debian;
mod delay;
pub mod failing;
mod free;
mod home;
pub mod hostile;
mod https;
mod listen;
pub mod lock_queue;
mod memory;
mod messages;
mod middlebox;
mod pgbouncer;
pub mod planted;
pub mod pool;
mod postgres;
mod preload;
mod proxy;
mod queue;
mod skips;
pub mod slow;
mod stalling;
mod stock;
mod timed;
mod tools;
mod upstream;
mod versions;

pub use pgdyno_link::Upstream;
pub use pgdyno_stats::SplitMix64;

pub use certificate::certify;
pub use certs::Certs;
pub use closed::closed_address;
pub use debian::debian;
pub use delay::DelayingProxy;
pub use free::free_ports;
pub use home::{home, own_cache};
pub use hostile::HostileServer;
pub use https::HttpsServer;
pub use memory::status_kib;
pub use messages::{Connection, Kind, Message};
pub use middlebox::Middlebox;
pub use postgres::{
    cache, installation, installation_with_tls, postgres, postgres_with, postgres_with_tls,
};
pub use proxy::RecordingProxy;
pub use queue::QueueServer;
pub use skips::record_skip;
pub use stalling::{Passes, StallingProxy};
pub use stock::{stock_bindir, stock_pgbench};
pub use timed::{Spent, TimedServer, Times};
pub use tools::tools_dir;
pub use versions::{MAJORS, installation_of, postgres_of, postgres_of_with};
