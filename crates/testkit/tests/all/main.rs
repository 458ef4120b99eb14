//! The testkit itself.
//! One program: each linked program costs seconds to build.

mod delay;
mod pool;
mod proxy;
mod skips;
