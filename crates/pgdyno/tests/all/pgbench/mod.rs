//! pgdyno called by the name of pgbench, beside stock pgbench 18: the same command lines, the same
//! texts, exit codes and statements.
//!
//! `PGDYNO_PGBENCH_UNDER_TEST` names another program to put in pgdyno's place: stock pgbench
//! itself, say, to see that these tests find no difference where there is none.
//!
//! Differences that are known and meant, and have no case here: values that C's `atof` takes for
//! numbers though they make no sense (`-R inf`, `-L nan`); an option that is not ASCII (pgbench
//! names its first byte); the place in a complaint about a connection option that is no number; a
//! warning about the password file, which pgbench says for each connection and pgdyno once; progress
//! lines of a load that the server has refused already; messages of the server that are not UTF-8,
//! which are shown with U+FFFD.

mod cases;
mod compare;
pub(crate) mod diff;
mod fuzz;
mod generator;
pub(crate) mod mask;
mod programs;
mod streams;
