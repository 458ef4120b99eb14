//! A PostgreSQL of pgdyno's own, for real.
//! One program: each linked program costs seconds to build.

mod download;
mod find;
mod kept;
mod server;
mod standby;
mod template;
