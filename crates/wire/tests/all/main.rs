//! The protocol against scripted and hostile servers.
//! One program: each linked program costs seconds to build.
#![allow(clippy::unwrap_used)]

mod answers;
mod hostile_bytes;
mod start_up;
