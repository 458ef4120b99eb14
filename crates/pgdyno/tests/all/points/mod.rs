//! A failure at every point: of commands that write, each call on a file and each start of a thread
//! fails once, in a run of its own; memory and open files end at every limit. No panic, an error that
//! names the file, and a notebook that opens (docs/internals/reliability.md).
//!
//! The short form takes some of the points. All of them: `make test-long PART=points`.

mod calls;
mod commands;
mod judge;
mod limits;
mod scene;
