//! What is to be measured: trials, and the way from a trial to its outcome. Commands make trials;
//! nothing here knows how they were typed.

mod account;
mod beforehand;
pub mod calibrate;
pub mod ceiling;
mod checks;
pub mod command_line;
mod companion;
mod compile;
mod counters;
pub mod disturb;
mod dry_run;
mod emitter;
pub mod experiment;
mod follower_reads;
pub mod generators;
pub mod header;
mod history;
pub mod interrupt;
pub mod io;
mod isolation;
mod key_skew;
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
mod servers_after;
pub mod settings;
pub mod shared;
pub mod shell;
mod staleness;
mod statements_of_pack;
pub mod trial;
mod truth;
pub mod validity;
mod via;
mod warmup;

use pgdyno_platform::interrupt::Interrupts;
use pgdyno_spec::Failure;

/// Catches Ctrl-C and SIGTERM from here on, so that they end what is under way in good order.
///
/// # Errors
/// The system refuses it.
pub fn interrupts() -> Result<&'static Interrupts, Failure> {
    Interrupts::install().map_err(|e| Failure::new(format!("could not catch interrupts: {e}")))
}
