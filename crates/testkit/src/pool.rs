//! A pooling proxy: many clients share a few sessions of the server, each for the length of one
//! transaction (transaction pooling). It understands no more of the protocol than that takes: a
//! session is free again at ReadyForQuery outside of a transaction.
//!
//! What it does not do: TLS, passwords (the server must trust it), startup parameters other than
//! user and database (those of the first client hold for a session), and what clients leave behind
//! in a session (SET, prepared statements, LISTEN): the next client finds it there.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! let server = pgdyno_testkit::postgres().address().socket_path();
//! // One session for all: transactions run one after the other.
//! let pool = pgdyno_testkit::pool::PoolingProxy::start(&*server, 1)?;
//! let url = pool.url("postgres");
//! # Ok(())
//! # }
//! ```

mod client;
mod message;
mod sessions;
mod startup;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use crate::Upstream;
use crate::listen::Listener;
use sessions::Pools;

/// A pooling proxy at work. When dropped it closes its port; clients that are connected stay.
#[derive(Debug)]
pub struct PoolingProxy {
    listener: Listener,
    pools: Arc<Pools>,
}

impl PoolingProxy {
    /// Starts one with at most so many sessions for each user and database.
    ///
    /// # Errors
    /// It cannot listen.
    ///
    /// # Panics
    /// With no sessions.
    pub fn start(server: impl Into<Upstream>, sessions: usize) -> io::Result<PoolingProxy> {
        assert!(sessions > 0, "a pool needs a session");
        let pools = Arc::new(Pools::new(server.into(), sessions));
        let shared = Arc::clone(&pools);
        let listener = Listener::start(move |client| {
            let pools = Arc::clone(&shared);
            // To the client a failure looks like a server that hangs up.
            thread::spawn(move || client::serve(client, &pools));
        })?;
        Ok(PoolingProxy { listener, pools })
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The URL by which a database is reached through it.
    pub fn url(&self, database: &str) -> String {
        let address = self.address();
        format!("postgresql://postgres@{address}/{database}?sslmode=disable")
    }

    /// How many transactions had to wait for a session.
    pub fn waited(&self) -> u64 {
        self.pools.waited()
    }
}
