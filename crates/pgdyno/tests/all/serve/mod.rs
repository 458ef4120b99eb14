//! `pgdyno serve` and `--serve` as browsers and strangers meet them: who comes in, what is limited, what
//! may be done, and the live feed of real trials.

mod actions;
mod client;
mod cost;
mod entry;
mod live;
mod pages;
mod together;
