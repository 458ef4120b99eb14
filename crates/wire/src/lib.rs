//! The frontend side of PostgreSQL's protocol 3.0 as bytes in, events out. No sockets, no files.
//!
//! - [`frontend`] appends messages to a buffer, [`backend`] takes the server's bytes apart in place.
//! - [`batch`] gathers messages, and puts those of one statement together in advance.
//! - [`answer`] checks that they are an answer, [`limits`] has how much of them is taken.
//! - [`Candidate`] says where and as whom to connect; [`Connecting`] is the whole start-up
//!   (encryption, authentication, checks of the session) as a state machine.
//! - [`Channel`] is what bytes pass through afterwards, plain or TLS.
//!
//! Reading host names, files and the environment is the session crate's job.

pub mod answer;
pub mod backend;
pub mod batch;
mod candidate;
mod chain;
mod channel;
mod connecting;
mod constraints;
pub mod cursor;
mod der;
mod error;
pub mod frontend;
#[doc(hidden)]
pub mod fuzz;
mod identity;
pub mod limits;
mod login;
mod md5_password;
pub mod redact;
mod require_auth;
mod revocation;
mod roots;
mod sasl;
mod scram;
mod server_error;
mod signature;
pub mod tls;
mod verifier;
mod x509;

pub use candidate::{Addr, Candidate, PASS, next_candidate, shuffle, without_tls};
pub use channel::{Channel, ChannelError};
pub use connecting::{Connecting, Established};
pub use error::{ConnectError, ConnectErrorKind, Retry};
pub use login::{ChannelBinding, Encryption, Login, ProtocolVersion, Secret, SessionAttrs};
pub use pgdyno_platform::io::TcpOptions;
pub use require_auth::RequireAuth;
pub use revocation::RevocationLists;
pub use scram::SCRAM_ITERATIONS_MAX;
pub use server_error::{Notice, ServerError};
