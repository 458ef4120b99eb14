//! The testkit itself.
//! One program: each linked program costs seconds to build.

mod delay;
mod proxy;
mod skips;
