//! The table of locks beside real servers.
#![allow(clippy::unwrap_used)]

mod forms;
