//! What can go wrong in a session, in words that users of libpq and psql know.

use std::time::Duration;

use pgdyno_wire::backend::ProtocolError;
use pgdyno_wire::{ChannelError, ConnectError, ServerError};

/// A session could not be started, or a request in it failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No candidate led to a session.
    #[error("{}", attempts.join("\n"))]
    Connect {
        /// Each attempt with its endpoint and reason, in libpq's words.
        attempts: Vec<String>,
        last: Box<ConnectError>,
    },
    /// The server refused a request. The session goes on unless the severity is FATAL or PANIC.
    #[error("{0}")]
    Server(Box<ServerError>),
    #[error("{0}")]
    Lost(String),
    /// The server did not answer in time. The session cannot be used any more.
    #[error("no answer from the server within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The same for one of pgdyno's own limits on queries.
    #[error("the server has sent nothing for {} s in answer to: {statement}{}", limit.as_secs_f64(),
        waited_for.as_ref().map_or(String::new(), |what| format!(" ({what})")))]
    Silent {
        limit: Duration,
        statement: String,
        /// What it waited for, if that is known.
        waited_for: Option<String>,
    },
    /// Ctrl-C or SIGTERM. The session can only be used to clean up.
    #[error("{}", said.as_ref().map_or_else(|| "interrupted".to_owned(), ToString::to_string))]
    Interrupted {
        /// As shells tell it: 130 for SIGINT, 143 for SIGTERM.
        exit_code: u8,
        /// What the server said when the statement was cancelled, if it did.
        said: Option<Box<ServerError>>,
    },
    /// What arrived is not the protocol.
    #[error("{0}")]
    Protocol(String),
    /// The request does not fit the call, for example a query without rows where one is needed.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// What the server said, when or after connecting.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Error::Server(error) => Some(error),
            Error::Interrupted { said, .. } => said.as_deref(),
            Error::Connect { last, .. } => last.server(),
            _ => None,
        }
    }

    /// The server's SQLSTATE, if it sent one.
    pub fn sqlstate(&self) -> Option<&str> {
        self.server()
            .map(ServerError::sqlstate)
            .filter(|s| !s.is_empty())
    }

    /// An interrupt, and nothing from the server.
    pub(crate) fn interrupted(exit_code: u8) -> Error {
        Error::Interrupted {
            exit_code,
            said: None,
        }
    }

    /// The server hung up: libpq's words for it.
    pub fn closed() -> Error {
        Error::Lost(
            "server closed the connection unexpectedly\n\tThis probably means the server terminated \
             abnormally\n\tbefore or while processing the request."
                .to_owned(),
        )
    }
}

impl From<ProtocolError> for Error {
    fn from(error: ProtocolError) -> Error {
        Error::Protocol(error.to_string())
    }
}

impl From<ChannelError> for Error {
    fn from(error: ChannelError) -> Error {
        Error::Lost(error.to_string())
    }
}
