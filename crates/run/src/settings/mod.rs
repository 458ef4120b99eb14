//! Settings of the server that a trial is to run with: through the connection where the server
//! allows it, else for the whole server (ALTER SYSTEM and a reload), written down before and put
//! back afterwards.

mod change;
mod journal;
mod restart;
mod restore;

pub use change::{Changes, Way, ways};
pub use journal::{Header, Journal};
pub use restart::Restart;
pub use restore::{Restored, left_changed, put_back_for, restore_all, unmount};

use std::path::PathBuf;

use pgdyno_server::Cache;

use pgdyno_database::trouble;
use pgdyno_spec::Failure;

/// Where the journals of this user are.
///
/// # Errors
/// Nothing says where.
pub fn directory() -> Result<PathBuf, Failure> {
    let cache = Cache::from_env().map_err(trouble::own_server)?;
    Ok(cache.path().join("settings"))
}
