//! Sessions with a real server.
//! One program: each linked program costs seconds to build.
#![allow(clippy::unwrap_used)]

mod certificates;
mod common;
mod connect;
mod conninfo;
mod hostile;
mod patience;
mod settings;
mod talk;
mod tls;
