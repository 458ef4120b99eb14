//! pgdyno called by the name of pgbench, beside stock pgbench 18: the same command lines, the same
//! texts, exit codes and statements.
//!
//! `PGDYNO_PGBENCH_UNDER_TEST` names another program to put in pgdyno's place: stock pgbench
//! itself, say, to see that these tests find no difference where there is none.

mod cases;
#[path = "../e2e/child.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of `run`, each of which uses a part"
)]
mod child;
mod compare;
mod diff;
mod generator;
mod mask;
mod programs;
mod seeds;
mod streams;
#[path = "../doors/support.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of the other doors, each of which uses a part"
)]
mod support;
