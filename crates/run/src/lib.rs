//! What is to be measured: trials, and the way from a trial to its outcome. Commands make trials;
//! nothing here knows how they were typed.

mod beforehand;
pub mod calibrate;
pub mod ceiling;
pub mod command_line;
mod companion;
mod compile;
pub mod disturb;
mod dry_run;
mod emitter;
pub mod experiment;
mod follower_reads;
pub mod generators;
pub mod header;
pub mod interrupt;
pub mod io;
mod new_nodes;
mod observed;
mod own_quota;
mod own_sessions;
mod pinning;
pub mod prepare;
mod reads;
mod replayed;
pub mod reset;
pub mod retries;
mod roles;
pub mod settings;
pub mod shared;
pub mod shell;
mod statements_of_pack;
pub mod trial;
pub mod validity;

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_spec::Failure;

/// Catches Ctrl-C and SIGTERM from here on, so that they end what is under way in good order.
///
/// # Errors
/// The system refuses it.
pub fn interrupts() -> Result<&'static Interrupts, Failure> {
    Interrupts::install().map_err(|e| Failure::new(format!("could not catch interrupts: {e}")))
}
