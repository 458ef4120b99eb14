//! `check`: whether the tables hold what they ought to. Nothing is loaded: what is there is compared
//! with what was asked for.

mod bank;
mod tpcc;
mod ycsb;

use super::generator::TransactionGenerator;
use super::{WorkloadOptions, options, tables};
use pgdyno_spec::Failure;

/// Does it; gives the exit code.
///
/// # Errors
/// What is missing, or what failed.
pub fn open(wanted: &WorkloadOptions) -> Result<u8, Failure> {
    let generator = wanted.generator;
    if !generator.has_check() {
        let name = generator.name();
        return Err(
            Failure::new(format!("no consistency checks defined for {name}"))
                .hint("its rows may have any value; bank, tpcc and ycsb have checks"),
        );
    }
    let interrupts = pgdyno_run::interrupts()?;
    let target = tables::target(wanted.place.urls())?;
    let (mut session, product) = tables::session(&target)?;
    tables::must_be_there(wanted, &mut session, &product)?;
    let (loaded, how) = tables::as_loaded(wanted, &target, &mut session, &product)?;
    match generator {
        TransactionGenerator::Bank => bank::check(&mut session, &loaded)?,
        TransactionGenerator::Tpcc => {
            let all = options::checks_all(&wanted.parsed);
            tpcc::check(&mut session, &product, &loaded, all)?;
        }
        _ => ycsb::check(&mut session, (loaded, how), interrupts)?,
    }
    session.close();
    Ok(0)
}
