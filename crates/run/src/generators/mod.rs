//! Several generators measure one trial: each runs the same command line, and they meet in the notebook
//! (docs/scale-out.md). There is no leader. What must happen once (loading, naming the start, adding up) is
//! done by the first generator to claim it, and by another when that one dies.
//!
//! - [`Company`]: joins a trial, prepares it once, and ends with what all measured.
//! - [`Filling`]: has all fill the tables that one prepares.
//! - [`Barrier`]: lets all begin at one instant.
//! - [`Watch`]: says that this one is alive, and passes an end on to all.
//! - [`measure`]: one generator's part of a trial.
//! - [`merge`]: adds up what each has kept.
//! - [`Conductor`]: of an experiment one generator decides what comes next; the others [`follow`].
//!
//! Not for: how the notebook keeps what they say (store).

mod barrier;
mod clock;
mod company;
mod conductor;
mod filling;
mod merge;
mod part;
mod place;
#[cfg(test)]
mod simulation;
mod time;
mod watch;

pub use barrier::Barrier;
pub use clock::Clock;
pub use company::{Company, Part};
pub use conductor::{Conductor, Followed, Follows, follow};
pub use filling::Filling;
pub use merge::{Merged, merge};
pub use part::{Means, Measured, measure, observed};
pub use watch::Watch;
