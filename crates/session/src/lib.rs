//! Naming a server by libpq's conventions, and one blocking conversation with it for administration.
//!
//! - [`conninfo`] turns what the user typed, the environment and libpq's files into a
//!   [`ConnInfo`], and that into candidates to connect to.
//! - [`Session`] is a simple client over a blocking socket. The load is not driven through it: the
//!   engine has event loops of its own.

pub mod conninfo;
mod copy;
mod env;
mod error;
mod kept;
mod patience;
mod quote;
mod session;
mod settings;
mod socket;

pub use conninfo::{Candidates, ConnInfo, ConnInfoError, Given, names_a_target, resolve};
pub use copy::CopyIn;
pub use env::Env;
pub use error::Error;
pub use patience::{Patience, Slow, Watcher, Watching};
pub use quote::{quote_ident, quote_literal};
pub use session::{
    CancelHandle, Column, NOTICES_MAX, Outcome, RESULT_BYTES_MAX, Session, TakeRow, TakeRowOf,
    answers,
};
pub use settings::{MARK, is_pglite};
