//! A pack's script that is run once before a trial, statement by statement: before a warm-up (`before_warmup`)
//! it reads what transactions read, for instance, which brings it into the caches sooner than random reads
//! do; before a history is recorded (`before_history`) it empties the tables.

use std::time::Instant;

use pgdyno_drive::Control;

use super::prepare::Prepared;
use pgdyno_database::{admin, trouble};
use pgdyno_spec::Failure;
use pgdyno_workload::statements;

/// Runs the script of this key and file, if there is a file, until it ends, its time is up or the trial is
/// stopped.
///
/// # Errors
/// A mistake in the script, or a statement that the server refuses.
pub fn run(
    prepared: &Prepared,
    control: &Control,
    (key, file): (&str, Option<&str>),
    until: Instant,
) -> Result<(), Failure> {
    let pack = prepared.workload.pack.as_ref();
    let Some((pack, file)) = pack.zip(file) else {
        return Ok(());
    };
    let dialect = prepared.product.dialect.name;
    let statements = statements::of_file(pack, file, dialect, &prepared.variables);
    let statements = statements.map_err(Failure::new)?;
    if statements.is_empty() {
        return Ok(());
    }
    let mut session = prepared.target.connect()?;
    for statement in statements {
        if control.is_stopping() || Instant::now() > until {
            break;
        }
        admin::run(&mut session, &statement).map_err(|e| {
            let place = &pack.place;
            trouble::server(&e, &format!("could not run {key} ({place}/{file})"))
        })?;
    }
    session.close();
    Ok(())
}
