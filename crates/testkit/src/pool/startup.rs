//! How a connection begins: what the client asks for, and a server's answer, recorded to be given to
//! clients who come later.

use std::io::{self, Write};

use super::message::{fatal, read, read_rest};
use crate::upstream::Socket;

const CANCEL: u32 = (1234 << 16) | 5678;
const TLS: u32 = (1234 << 16) | 5679;
const GSS: u32 = (1234 << 16) | 5680;

/// What a client's first message asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    Session(Startup),
    /// To cancel what the client with this key does.
    Cancel(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Startup {
    pub(super) bytes: Vec<u8>,
    /// Clients with the same user and database share sessions.
    pub(super) user_and_database: (String, String),
}

/// Reads the request; encryption is declined.
pub(super) fn request(client: &mut Socket) -> io::Result<Request> {
    loop {
        let bytes = read_rest(client, Vec::new())?;
        let code = bytes.get(4..8).and_then(|code| code.try_into().ok());
        match code.map(u32::from_be_bytes) {
            Some(TLS | GSS) => client.write_all(b"N")?,
            Some(CANCEL) => return Ok(Request::Cancel(bytes[8..].to_vec())),
            Some(_) => {
                let user_and_database = user_and_database(&bytes[8..]);
                let startup = Startup {
                    bytes,
                    user_and_database,
                };
                return Ok(Request::Session(startup));
            }
            None => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

fn user_and_database(parameters: &[u8]) -> (String, String) {
    let mut texts = parameters
        .split(|byte| *byte == 0)
        .map(String::from_utf8_lossy);
    let (mut user, mut database) = (String::new(), None);
    while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
        match &*name {
            "user" => user = value.into_owned(),
            "database" => database = Some(value.into_owned()),
            _ => {}
        }
    }
    let database = database.unwrap_or_else(|| user.clone());
    (user, database)
}

/// A server's answer to a startup message.
#[derive(Debug, Clone)]
pub(super) struct Welcome {
    /// Up to the first ReadyForQuery, without that and the key.
    pub(super) messages: Vec<u8>,
    /// What cancels the session's statements: the body of BackendKeyData.
    pub(super) key: Vec<u8>,
}

/// Why there is no session.
#[derive(Debug)]
pub(super) enum Refusal {
    /// An ErrorResponse for the client.
    Message(Vec<u8>),
    /// The server cannot be reached, or has hung up.
    Io,
}

impl From<io::Error> for Refusal {
    fn from(_: io::Error) -> Refusal {
        Refusal::Io
    }
}

/// Begins a session with the server.
pub(super) fn begin(server: &mut Socket, startup: &Startup) -> Result<Welcome, Refusal> {
    server.write_all(&startup.bytes)?;
    let mut welcome = Welcome {
        messages: Vec::new(),
        key: Vec::new(),
    };
    loop {
        let message = read(server)?;
        match (message[0], &message[5..]) {
            (b'Z', _) => return Ok(welcome),
            (b'E', _) => return Err(Refusal::Message(message)),
            (b'K', key) => welcome.key = key.to_vec(),
            (b'R', body) if body != [0; 4] => {
                let text = "the server asks the pooling proxy for a password, which it does not \
                            have: let the server trust it (pg_hba.conf)";
                return Err(Refusal::Message(fatal("28000", text)));
            }
            _ => welcome.messages.extend(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_the_users_where_none_is_named() {
        let of = |parameters: &[u8]| user_and_database(parameters);
        let pair = |user: &str, database: &str| (user.to_owned(), database.to_owned());
        assert_eq!(of(b"user\0ann\0\0"), pair("ann", "ann"));
        assert_eq!(
            of(b"application_name\0database\0user\0ann\0database\0shop\0\0"),
            pair("ann", "shop")
        );
    }
}
