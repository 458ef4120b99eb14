//! `pgdyno serve` and `--serve` as browsers and strangers meet them: who comes in, what is limited, what
//! may be done, and the live feed of real trials.

mod actions;
#[path = "../e2e/child.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of run, which use all of it"
)]
mod child;
mod client;
mod cost;
mod entry;
mod live;
mod pages;
#[path = "../cli/support.rs"]
#[allow(
    dead_code,
    reason = "shared with the tests of the other commands, each of which uses a part"
)]
mod support;
mod together;
mod top;
