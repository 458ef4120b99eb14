//! Why a run did not begin.

use std::io;

/// Why there is nothing to show for a run.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// A client could not be connected before the run.
    #[error("could not create connection for client {client}: {text}")]
    Connect { client: usize, text: String },
    /// It was stopped before it began.
    #[error("interrupted before the run began")]
    Interrupted,
    /// The operating system did not give what an event loop needs.
    #[error("the event loop cannot work: {0}")]
    EventLoop(#[source] io::Error),
    /// The operating system gave no thread.
    #[error("cannot start a thread for the clients: {0}")]
    NoThread(#[source] io::Error),
    /// io_uring was asked for, and cannot be used.
    #[error("{0}")]
    NoUring(io::Error),
    /// The operating system does not keep a thread on a CPU.
    #[error("cannot keep a thread of the clients on CPU {cpu}: {error}")]
    NotPinned {
        cpu: usize,
        #[source]
        error: io::Error,
    },
    #[error("{0}")]
    Invalid(String),
}
