//! What goes wrong between the notebook and what keeps it.

use std::fmt;

/// A failure of a file, of a server, or of what was read.
#[derive(Debug)]
pub enum Error {
    File(rusqlite::Error),
    /// A server's, or of the way to it.
    Server(Box<pgdyno_session::Error>),
    /// A value is not what the table's description says.
    Unreadable(String),
    /// There should have been a row.
    NoRow,
}

pub type Result<T> = std::result::Result<T, Error>;

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::QueryReturnedNoRows => Self::NoRow,
            error => Self::File(error),
        }
    }
}

impl From<pgdyno_session::Error> for Error {
    fn from(error: pgdyno_session::Error) -> Self {
        Self::Server(Box::new(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Server(error) => error.fmt(f),
            Self::Unreadable(what) => f.write_str(what),
            Self::NoRow => f.write_str("a row that should be there is not"),
        }
    }
}

impl std::error::Error for Error {}

/// That there is no row may be an answer.
pub trait Optional<T> {
    /// `None` for no row.
    ///
    /// # Errors
    /// Any other failure.
    fn optional(self) -> Result<Option<T>>;
}

impl<T> Optional<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Ok(row) => Ok(Some(row)),
            Err(Error::NoRow) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
