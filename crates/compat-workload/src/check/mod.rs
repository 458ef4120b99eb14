//! `check`: whether the tables hold what they ought to. Nothing is loaded: what is there is compared
//! with what was asked for.

mod bank;
mod ycsb;

use super::generator::Generator;
use super::{WorkloadOptions, tables};
use pgdyno_model::Failure;

/// Does it; gives the exit code.
///
/// # Errors
/// What is missing, or stands in the way.
pub fn open(options: &WorkloadOptions) -> Result<u8, Failure> {
    let generator = options.generator;
    if generator == Generator::Kv {
        return Err(Failure::new("no consistency checks defined for kv")
            .hint("its rows may have any value; bank and ycsb have checks"));
    }
    let interrupts = pgdyno_run::interrupts()?;
    let target = tables::target(options.place.urls())?;
    let (mut session, product) = tables::session(&target)?;
    tables::must_be_there(options, &mut session, &product)?;
    let (loaded, how) = tables::as_loaded(options, &target, &mut session, &product)?;
    match generator {
        Generator::Bank => bank::check(&mut session, &loaded)?,
        _ => ycsb::check(&mut session, (loaded, how), interrupts)?,
    }
    session.close();
    Ok(0)
}
