//! Why a session could not be started.

use std::io;

use pgdyno_platform::peer::WrongPeer;

use crate::backend::ProtocolError;
use crate::server_error::ServerError;

/// Why one attempt at a session failed. `Display` is the reason alone, in libpq's words where it
/// has some; [`crate::Candidate::failure`] puts the endpoint before it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{kind}")]
pub struct ConnectError {
    kind: ConnectErrorKind,
    retry: Retry,
}

/// What kind of failure it was.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectErrorKind {
    /// No connection to the address; the text is the system's.
    #[error("{0}")]
    Unreachable(String),
    /// The server runs as another user than `requirepeer` names.
    #[error("{0}")]
    WrongPeer(String),
    /// The time for start-up is over.
    #[error("timeout expired")]
    TimedOut,
    /// The server hung up in the middle of start-up.
    #[error(
        "server closed the connection unexpectedly\n\tThis probably means the server terminated \
         abnormally\n\tbefore or while processing the request."
    )]
    Closed,
    /// The server refused, and said why.
    #[error("{}", refusal(.error, .password_file.as_deref()))]
    Refused {
        error: ServerError,
        /// The password file, if the refused password came from one.
        password_file: Option<String>,
    },
    /// TLS could not be set up, or the server's certificate does not stand the check.
    #[error("{0}")]
    Tls(String),
    /// What arrived is not protocol 3.0.
    #[error("{0}")]
    Protocol(String),
    /// The server asked for a method that `require_auth` or `channel_binding` forbids, or that is
    /// not supported.
    #[error("{0}")]
    AuthNotAllowed(String),
    /// The server asked for a password and none is known.
    #[error("fe_sendauth: no password supplied")]
    PasswordMissing,
    /// The server asked for a password, and none is sent to it, because a file named it.
    #[error("the server asks for a password, and none is sent to a server that only a file names")]
    PasswordWithheld,
    /// The role is a superuser, and a file named the server.
    #[error(
        "user \"{0}\" is a superuser there, who can run programs, and only a file names this server"
    )]
    Superuser(String),
    /// The authentication exchange went wrong; for instance the server does not know the password.
    #[error("{0}")]
    Authentication(String),
    /// The session is not what `target_session_attrs` asks for.
    #[error("{0}")]
    SessionAttrs(String),
}

fn refusal(error: &ServerError, password_file: Option<&str>) -> String {
    let mut text = error.libpq_text(None);
    if let Some(file) = password_file {
        text.push_str(&format!("\npassword retrieved from file \"{file}\""));
    }
    text
}

/// What may be tried after a failed attempt, by libpq's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Nothing: any other attempt would hide the problem or ask for it again.
    Stop,
    /// The same address with the other encryption, if `sslmode` leaves a choice.
    OtherEncryption,
    /// The host's next address, or the next host.
    NextAddress,
    NextHost,
}

impl ConnectError {
    pub(crate) fn new(kind: ConnectErrorKind, retry: Retry) -> ConnectError {
        ConnectError { kind, retry }
    }

    pub(crate) fn protocol(text: impl Into<String>) -> ConnectError {
        ConnectError::new(ConnectErrorKind::Protocol(text.into()), Retry::Stop)
    }

    /// `connect()` failed, in libpq's words. `unix` says that the address is a Unix socket.
    pub fn unreachable(error: &io::Error, unix: bool) -> ConnectError {
        if error.get_ref().is_some_and(|e| e.is::<WrongPeer>()) {
            let kind = ConnectErrorKind::WrongPeer(error.to_string());
            return ConnectError::new(kind, Retry::Stop);
        }
        let reason = os_text(error);
        let hint = match (unix, error.kind()) {
            (true, io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                "\n\tIs the server running locally and accepting connections on that socket?"
            }
            (true, _) => "",
            (false, _) => {
                "\n\tIs the server running on that host and accepting TCP/IP connections?"
            }
        };
        ConnectError::new(
            ConnectErrorKind::Unreachable(format!("{reason}{hint}")),
            Retry::NextAddress,
        )
    }

    /// Reading or writing failed while the session was starting.
    pub fn broken(error: &io::Error) -> ConnectError {
        match error.kind() {
            io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof => {
                ConnectError::new(ConnectErrorKind::Closed, Retry::Stop)
            }
            _ => ConnectError::new(
                ConnectErrorKind::Unreachable(format!(
                    "could not receive data from server: {}",
                    os_text(error)
                )),
                Retry::Stop,
            ),
        }
    }

    /// The time for start-up is over.
    pub fn timed_out() -> ConnectError {
        ConnectError::new(ConnectErrorKind::TimedOut, Retry::NextAddress)
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> &ConnectErrorKind {
        &self.kind
    }

    /// What may be tried next.
    pub fn retry(&self) -> Retry {
        self.retry
    }

    /// Whether any other candidate may be tried; [`crate::next_candidate`] says which.
    pub fn may_try_next_candidate(&self) -> bool {
        self.retry != Retry::Stop
    }

    /// What the server said, if it was the server that refused.
    pub fn server(&self) -> Option<&ServerError> {
        match &self.kind {
            ConnectErrorKind::Refused { error, .. } => Some(error),
            _ => None,
        }
    }

    /// The server's SQLSTATE, if it sent one.
    pub fn sqlstate(&self) -> Option<&str> {
        self.server()
            .map(ServerError::sqlstate)
            .filter(|s| !s.is_empty())
    }
}

impl From<ProtocolError> for ConnectError {
    fn from(error: ProtocolError) -> ConnectError {
        ConnectError::protocol(error.to_string())
    }
}

/// The system's text for an error, without Rust's "(os error N)".
fn os_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}
