//! `pgdyno sweep` and `pgdyno restore` from end to end on a real PostgreSQL: matrices, what is
//! written down, and what is left after Ctrl-C and SIGKILL.

#[path = "../e2e/child.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of run, which use all of it"
)]
mod child;
#[path = "../cli/support.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of the other commands, each of which uses a part"
)]
mod support;

mod ahead;
mod capacity;
mod command_line;
mod examples;
mod interrupted;
mod points;
mod settings;
mod trials;
mod written;
