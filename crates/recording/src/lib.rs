//! Recorded traffic of a server: who sent which statement when, how long it took and what became of it.
//!
//! - [`Writer`] writes the file, [`Reader`] reads it block by block, [`Timeline`] in the order of time.
//!   Memory is that of a few blocks, whatever the file's size. `crates/recording/FORMAT.md` has the format.
//! - [`log`] makes recordings of PostgreSQL's logs, [`proxy`] of what passes between clients and a server.
//! - [`Text`] is what statements have in common that differ in their values alone.
//!
//! Not here: sending, and what is shown to people.

mod about;
mod block;
mod bytes;
mod event;
pub mod log;
pub mod proxy;
mod reader;
pub mod result;
mod secret;
mod shape;
mod summary;
mod timeline;
mod writer;

pub use about::{About, Ending};
pub use event::{Begin, End, Event, Obstacle, Protocol, Session, SqlState, Statement, Wire};
pub use reader::{Block, Losses, Reader};
pub use shape::{COMMENT, Text, VALUE, command, fill, fill_with, readable, split};
pub use summary::{OfText, Summary, summary};
pub use timeline::Timeline;
pub use writer::{NewFile, NewStatement, Writer, part_of};

/// Why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("this is not a recording of pgdyno's")]
    NotARecording,
    #[error("the recording has format {0}, and this pgdyno reads format {FORMAT}")]
    Format(u32),
}

/// Grows when older programs cannot read what is written.
pub const FORMAT: u32 = 2;
