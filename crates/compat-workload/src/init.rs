//! `init`: the database, if there is none, and the table, filled.

use super::{WorkloadOptions, tables};
use pgdyno_spec::Failure;

/// Does it; gives the exit code.
///
/// # Errors
/// What failed.
pub fn open(options: &WorkloadOptions) -> Result<u8, Failure> {
    let interrupts = pgdyno_run::interrupts()?;
    let target = tables::target(options.place.urls())?;
    let (mut session, product) = tables::session_in_new(options, &target)?;
    tables::tell_left_out(options, &product)?;
    tables::load(options, &target, &mut session, &product, interrupts)?;
    session.close();
    Ok(0)
}
