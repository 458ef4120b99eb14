//! The testkit itself.
//! One program: each linked program costs seconds to build.

mod delay;
mod link;
mod pool;
mod proxy;
mod skips;
