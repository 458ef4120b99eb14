//! Who is at the other end of a Unix socket.

use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::AsFd;

use rustix::net::sockopt::socket_peercred;

use crate::user::User;

/// The socket belongs to another user than the one that was asked for. In libpq's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongPeer {
    pub wanted: String,
    /// The user there: a login name, or an id in words where the system has no name for it.
    pub actual: String,
}

impl fmt::Display for WrongPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WrongPeer { wanted, actual } = self;
        write!(
            f,
            "requirepeer specifies \"{wanted}\", but actual peer user name is \"{actual}\""
        )
    }
}

impl Error for WrongPeer {}

/// That the server behind a connected Unix socket runs as the user called `wanted`. What is compared
/// is the login name of who called `listen`.
///
/// # Errors
/// [`WrongPeer`] as an [`io::Error`]; or what the system says when it does not tell.
pub fn check(socket: impl AsFd, wanted: &str) -> io::Result<()> {
    let uid = socket_peercred(socket)?.uid.as_raw();
    let actual = match User::with_uid(uid)? {
        Some(user) if user.name == wanted => return Ok(()),
        Some(user) => user.name,
        None => format!("user id {uid}, which has no name"),
    };
    Err(io::Error::other(WrongPeer {
        wanted: wanted.to_owned(),
        actual,
    }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::user;

    #[test]
    fn a_socket_of_this_process_belongs_to_it_alone() {
        let (near, _far) = UnixStream::pair().unwrap();
        let Some(own) = User::with_uid(user::uid()).unwrap() else {
            return;
        };
        check(&near, &own.name).unwrap();
        let wrong = check(&near, "no-such-user").unwrap_err();
        assert_eq!(
            wrong.to_string(),
            format!(
                "requirepeer specifies \"no-such-user\", but actual peer user name is \"{}\"",
                own.name
            )
        );
        assert!(wrong.get_ref().is_some_and(|inner| inner.is::<WrongPeer>()));
    }
}
