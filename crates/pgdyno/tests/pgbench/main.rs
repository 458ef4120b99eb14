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
#[path = "../e2e/child.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of `run`, each of which uses a part"
)]
mod child;
mod compare;
mod diff;
mod fuzz;
mod generator;
mod mask;
mod programs;
mod streams;
#[path = "../cli/support.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of the other commands, each of which uses a part"
)]
mod support;
